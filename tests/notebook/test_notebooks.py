"""The example notebooks run clean in a real kernel, and are saved without outputs."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (extra: test)")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (extra: test)")

#: What a cell shows; where the compiler took long, the line that said so has become the report.
SHOWN = ("execute_result", "display_data")
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))
needs_cython = [
    pytest.mark.cython,
    pytest.mark.skipif(not importlib.util.find_spec("Cython"), reason="Cython is not installed (extra: cython)"),
]
needs_dask = pytest.mark.skipif(
    not importlib.util.find_spec("distributed"), reason="Dask's distributed is not installed (extra: test)"
)
needs_numba = pytest.mark.skipif(not importlib.util.find_spec("numba"), reason="Numba is not installed (extra: numba)")
needs_scipy = pytest.mark.skipif(not importlib.util.find_spec("scipy"), reason="SciPy is not installed (extra: test)")
MARKS: dict[str, Any] = {
    "02_cython": needs_cython,
    "03_cuda_device": needs_numba,
    "04_dask": needs_dask,
    "06_everywhere": needs_scipy,
}
#: Those that can run here.
RUN = [pytest.param(path, marks=MARKS.get(path.stem, ()), id=path.stem) for path in EXAMPLES]


@pytest.fixture(autouse=True)
def _small_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with a hundred million elements are run with fewer."""
    monkeypatch.setenv("UFUNC_MAGIC_EXAMPLE_SIZE", "3_000_000")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_notebook_is_saved_without_outputs(path: Path) -> None:
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert [cell.id for cell in cells if cell.outputs or cell.execution_count is not None] == []


@pytest.mark.kernel
@pytest.mark.slow
@pytest.mark.parametrize("path", RUN)
def test_notebook_runs_clean(path: Path, tmp_path: Path) -> None:
    notebook = run_notebook(path, folder=tmp_path)
    expected = [cell.id for cell in notebook.cells if "raises-exception" in cell.metadata.get("tags", ())]
    assert [cell.id for cell in notebook.cells if has(cell, "error")] == expected
    assert [text_of(cell, "stderr") for cell in notebook.cells if text_of(cell, "stderr")] == []


@pytest.mark.kernel
@pytest.mark.slow
def test_first_notebook_shows_what_it_promises(tmp_path: Path) -> None:
    cells = run_notebook(EXAMPLES[0], folder=tmp_path).cells
    by_text = {cell.source: cell for cell in cells}

    def cell(part: str) -> Any:
        return next(by_text[source] for source in by_text if part in source)

    assert "text/html" in next(o.data for o in cell("double logit").outputs if o.output_type in SHOWN)
    assert text_of(cell("_ = speak"), "stdout") == "3 bottles\n2 bottles\n1 bottles\n"
    error = next(o for o in cell("raduis").outputs if o.output_type == "error")
    assert error.ename == "CompileError"
    assert "raduis" in "\n".join(error.traceback)
    assert cell("void polar").outputs == []


@pytest.mark.kernel
@pytest.mark.slow
@pytest.mark.cython
@pytest.mark.skipif(not importlib.util.find_spec("Cython"), reason="Cython is not installed (extra: cython)")
def test_cython_notebook_shows_what_it_promises(tmp_path: Path) -> None:
    cells = run_notebook(EXAMPLES[1], folder=tmp_path).cells

    def cell(part: str) -> Any:
        return next(cell for cell in cells if cell.cell_type == "code" and part in cell.source)

    def shown(part: str) -> str:
        return str(next(o.data for o in cell(part).outputs if o.output_type in SHOWN)["text/plain"])

    def error(part: str) -> Any:
        return next(o for o in cell(part).outputs if o.output_type == "error")

    for part in ("def integrate_f", "great_circle(double", "cpdef cSum"):
        assert "Python" in shown(part)
    assert "NumPy" in shown("cpdef cSum")
    assert text_of(cell("print(primes"), "stdout").startswith("[2, 3, 5, 7, 11,")
    assert "Hamburg        0" in text_of(cell("towns ="), "stdout")
    assert text_of(cell("print(polar"), "stdout") == "['ff->ff', 'dd->dd']\n"
    raised = error("x[700_000] = -2")
    assert (raised.ename, raised.evalue) == ("ValueError", "-2.0 has no real root")
    assert text_of(cell("out=out"), "stdout") == "-2.0 has no real root\n"
    assert error("raduis").ename == "CompileError"
    assert cell("column_means(double").outputs == []


@pytest.mark.kernel
@pytest.mark.slow
@needs_dask
def test_dask_notebook_shows_what_it_promises(tmp_path: Path) -> None:
    cells = run_notebook(next(path for path in EXAMPLES if path.stem == "04_dask"), folder=tmp_path).cells

    def cell(part: str) -> Any:
        return next(cell for cell in cells if cell.cell_type == "code" and part in cell.source)

    def shown(part: str) -> str:
        return str(next(o.data for o in cell(part).outputs if o.output_type in SHOWN))

    assert shown("def compilers") == "{'text/plain': '[[], []]'}"
    assert "100% Completed" in text_of(cell("progress("), "stdout")
    assert "3,000,000 orbits" in text_of(cell("progress("), "stdout")
    assert shown("def bars").count("background:#4477aa") == 19
    assert "first call with ufunc_magic" in shown("def first_call_of_numba")


@pytest.mark.kernel
@pytest.mark.slow
@needs_numba
def test_cuda_notebook_says_where_it_ran(tmp_path: Path) -> None:
    cells = run_notebook(next(path for path in EXAMPLES if path.stem == "03_cuda_device"), folder=tmp_path).cells

    def cell(part: str) -> Any:
        return next(cell for cell in cells if cell.cell_type == "code" and part in cell.source)

    first = text_of(cell("device.available()"), "stdout")
    assert re.search(r"(?m)^GPU: (none \(.+\)|\w+.*)$", first)
    emulated = "CPU emulation" in first
    report = str(next(o.data for o in cell("void philox").outputs if o.output_type in SHOWN)["text/plain"])
    assert ("CPU emulation" in report) == emulated
    assert any("image/png" in o.data for o in cell("png(image)").outputs if o.output_type in SHOWN)
    wrong = next(o for o in cell('astype("f4")').outputs if o.output_type == "error")
    assert "the kernel takes uint8 *" in wrong.evalue


@pytest.mark.kernel
@pytest.mark.slow
@needs_scipy
def test_notebook_of_borders_shows_what_it_promises(tmp_path: Path) -> None:
    cells = run_notebook(next(path for path in EXAMPLES if path.stem == "06_everywhere"), folder=tmp_path).cells

    def cell(part: str) -> Any:
        return next(cell for cell in cells if cell.cell_type == "code" and part in cell.source)

    def shown(part: str) -> str:
        return str(next(o.data for o in cell(part).outputs if o.output_type in SHOWN)["text/plain"])

    _, area, _, exact = text_of(cell("integrate.quad"), "stdout").splitlines()[0].split()
    assert area == exact
    assert text_of(cell("prototype(packet)"), "stdout") == "double (*)(double)\n"
    assert shown("acquire()") == "np.float32(-1.0)"
    assert text_of(cell("class Frame"), "stdout") == "[4. 5.]\nthe frame is given back\n"
    refused = text_of(cell("for wrong in"), "stdout")
    assert [part in refused for part in ("null", "not aligned", "has 20")] == [True, True, True]


@pytest.mark.kernel
@pytest.mark.slow
def test_comparing_notebook_shows_what_it_promises(tmp_path: Path) -> None:
    cells = run_notebook(next(path for path in EXAMPLES if path.stem == "05_compare"), folder=tmp_path).cells

    def shown(part: str) -> Any:
        cell = next(cell for cell in cells if cell.cell_type == "code" and part in cell.source)
        return next(o.data for o in cell.outputs if o.output_type in SHOWN)

    assert "DISAGREES" in shown("wrong = um.compare")["text/plain"]
    assert "DISAGREES" not in shown('"C": wave,\n}, x)')["text/plain"]
    drawn = shown("over_sizes = um.compare")
    assert drawn["text/html"].count("<title") == 1 + 2 * 5  # of the picture, and of each point
    assert "100,000" in drawn["text/plain"]


def run_notebook(path: Path, *, folder: Path) -> Any:
    """The notebook after a run in a kernel of this very Python."""
    notebook = nbformat.read(path, as_version=4)
    with warnings.catch_warnings():
        # jupyter_client, pyzmq and tornado warn about event loops and paths on some platforms.
        warnings.simplefilter("ignore")
        client = nbclient.NotebookClient(
            notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
        )
        client.create_kernel_manager()
        client.km.kernel_cmd = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        asyncio.run(client.async_execute())
    return notebook


def has(cell: Any, kind: str) -> bool:
    return any(output.output_type == kind for output in cell.get("outputs", ()))


def text_of(cell: Any, stream: str) -> str:
    return "".join(o.text for o in cell.get("outputs", ()) if o.output_type == "stream" and o.name == stream)
