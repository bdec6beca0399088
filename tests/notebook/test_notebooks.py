"""The example notebooks: their saved outputs are of their cells, and they run clean in a real kernel."""

from __future__ import annotations

import importlib.util
import re
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support import REPOSITORY

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (extra: test)")
pytest.importorskip("nbclient", reason="nbclient is not installed (extra: test)")

#: What a cell shows; where the compiler took long, the line that said so has become the report.
SHOWN = ("execute_result", "display_data")
FOLDER = REPOSITORY / "examples"
EXAMPLES = sorted(FOLDER.glob("*.ipynb"))


def needs(*modules: str) -> Any:
    missing = [name for name in modules if not importlib.util.find_spec(name)]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)} (extra: examples)")


MARKS: dict[str, Any] = {
    "03_options": [needs("matplotlib", "scipy")],
    "04_random_walks": [pytest.mark.cython, needs("matplotlib", "Cython")],
    "05_c_library": [needs("matplotlib", "scipy")],
    "06_dask": [needs("matplotlib", "distributed")],
}


def execute_py() -> ModuleType:
    spec = importlib.util.spec_from_file_location("examples_execute", FOLDER / "execute.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


EXECUTE = execute_py()


@pytest.fixture(autouse=True)
def _small_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with a hundred million elements are run with fewer."""
    monkeypatch.setenv("UFUNC_MAGIC_EXAMPLE_SIZE", "3_000_000")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_saved_outputs_are_those_of_the_cells(path: Path) -> None:
    notebook = saved(path)
    stamp = notebook.metadata.get(EXECUTE.STAMP, {})
    assert stamp.get("cells") == EXECUTE.stamp(notebook)["cells"], f"run: python examples/execute.py {path.stem}"
    assert None not in [cell.execution_count for cell in EXECUTE.code_cells(notebook)]
    assert_clean(notebook)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_saved_outputs_show_pictures_and_are_small(path: Path) -> None:
    assert pictures(saved(path)) >= 1
    assert path.stat().st_size <= EXECUTE.MOST_BYTES


def test_an_edited_cell_makes_its_outputs_old() -> None:
    notebook = nbformat.read(EXAMPLES[0], as_version=4)
    EXECUTE.code_cells(notebook)[-1].source += " "
    assert notebook.metadata[EXECUTE.STAMP]["cells"] != EXECUTE.stamp(notebook)["cells"]


@pytest.mark.kernel
@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=MARKS.get(path.stem, [needs("matplotlib")]), id=path.stem) for path in EXAMPLES],
)
def test_notebook_runs_clean(path: Path, tmp_path: Path) -> None:
    notebook = run_notebook(path, folder=tmp_path)
    assert_clean(notebook)
    PROMISES[path.stem](notebook)


def promises_of_first_ufunc(notebook: Any) -> None:
    assert "ufunc, 1 thread" in shown(notebook, "double planck(double wavelength")
    assert shown(notebook, "radiance.shape") == "(4, 500)"
    for line in text_of(cell_with(notebook, "measured ="), "stdout").splitlines():
        power, law = re.findall(r"\d+\.\d+", line)
        assert power == law
    error = next(o for o in cell_with(notebook, "raduis").outputs if o.output_type == "error")
    assert error.ename == "CompileError"
    assert "raduis" in "\n".join(error.traceback)


def promises_of_images(notebook: Any) -> None:
    assert shown(notebook, "noisy.shape") == "(320, 320, 3)"
    assert "bilateral(image, spatial, tonal)" in shown(notebook, "void bilateral")
    assert pictures(notebook) == 2


def promises_of_options(notebook: Any) -> None:
    assert "was not timed" not in shown(notebook, "double implied")
    for part in ("over_sizes = um.compare", "def implied_scipy"):
        assert "DISAGREES" not in shown(notebook, part)
    drawn = next(o.data for o in cell_with(notebook, "over_sizes =").outputs if o.output_type in SHOWN)
    assert "image/png" in drawn


def promises_of_random_walks(notebook: Any) -> None:
    assert "ufunc, 1 thread" in shown(notebook, "photon(uint64_t")
    assert shown(notebook, "collisions.sum()") == "'81,227,469 collisions'"
    assert shown(notebook, "(again ==") == "True"


def promises_of_c_library(notebook: Any) -> None:
    assert "frexp" in text_of(cell_with(notebook, "libm = um.wrap_header"), "stdout")
    rows = text_of(cell_with(notebook, "um.c_ufunc(zlib_cell"), "stdout")
    assert rows == "rows that differ: [3]\n" or "not installed" in rows
    assert "DISAGREES" not in shown(notebook, "um.interop.lowlevel(packet")


def promises_of_dask(notebook: Any) -> None:
    assert shown(notebook, "def compilers") == "[[], []]"
    mean, theory = re.findall(r"(\d\.\d+)(?:,|\n)", text_of(cell_with(notebook, "da.histogram"), "stdout"))
    assert float(mean) == pytest.approx(float(theory), abs=2e-3)
    assert "kB travel" in text_of(cell_with(notebook, "def first_result_of_numba"), "stdout")


def promises_of_cuda_device(notebook: Any) -> None:
    from ufunc_magic.languages.cuda import device

    emulated = "CPU emulation" in shown(notebook, "void philox")
    assert emulated == (not device.is_available())
    assert text_of(cell_with(notebook, "philox(0, 0)"), "stdout") == "6627e8d5\n"
    error = next(o for o in cell_with(notebook, 'astype("f8")').outputs if o.output_type == "error")
    assert "float" in error.evalue


PROMISES = {
    "01_first_ufunc": promises_of_first_ufunc,
    "02_images": promises_of_images,
    "03_options": promises_of_options,
    "04_random_walks": promises_of_random_walks,
    "05_c_library": promises_of_c_library,
    "06_dask": promises_of_dask,
    "07_cuda_device": promises_of_cuda_device,
}


def saved(path: Path) -> Any:
    notebook = nbformat.read(path, as_version=4)
    if not any(cell.outputs for cell in EXECUTE.code_cells(notebook)):
        pytest.skip(f"saved without outputs so far: python examples/execute.py {path.stem}")
    return notebook


def run_notebook(path: Path, *, folder: Path) -> Any:
    with warnings.catch_warnings():
        # jupyter_client, pyzmq and tornado warn about event loops and paths on some platforms.
        warnings.simplefilter("ignore")
        return EXECUTE.execute(path.stem, folder=folder)


def assert_clean(notebook: Any) -> None:
    """Errors only where a tag expects one, and nothing on stderr."""
    expected = [cell.id for cell in notebook.cells if "raises-exception" in cell.metadata.get("tags", ())]
    assert [cell.id for cell in notebook.cells if has(cell, "error")] == expected
    assert [text_of(cell, "stderr") for cell in notebook.cells if text_of(cell, "stderr")] == []


def pictures(notebook: Any) -> int:
    outputs = [output for cell in EXECUTE.code_cells(notebook) for output in cell.outputs]
    return sum(bool({"image/png", "image/jpeg"} & set(output.get("data", {}))) for output in outputs)


def cell_with(notebook: Any, part: str) -> Any:
    return next(cell for cell in EXECUTE.code_cells(notebook) if part in cell.source)


def shown(notebook: Any, part: str) -> str:
    outputs = cell_with(notebook, part).outputs
    return str(next(o.data for o in outputs if o.output_type in SHOWN)["text/plain"])


def has(cell: Any, kind: str) -> bool:
    return any(output.output_type == kind for output in cell.get("outputs", ()))


def text_of(cell: Any, stream: str) -> str:
    return "".join(o.text for o in cell.get("outputs", ()) if o.output_type == "stream" and o.name == stream)
