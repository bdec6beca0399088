"""What only adds comfort never fails a cell: a fault is put into each such part, and the cell is bound all the same."""

from __future__ import annotations

import html
import importlib
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from ufunc_magic.model import Comfort, OptionError

pytestmark = pytest.mark.usefixtures("shared_cache")

C = "double {name}(double x) {{ return 2 * x + 1; }}"
CYTHON = "cdef double {name}(double x) noexcept nogil:\n    return 2 * x + 1\n"
CUDA = "__device__ double {name}(double x) {{ return 2 * x + 1; }}"
CELLS = {"c_ufunc": C, "cython_ufunc": CYTHON, "cuda_device": CUDA}

#: Magic, option line, module and name of what fails, and what the report says of it.
EVERYWHERE = [
    ("", "bench.elementwise", "sample_inputs", "was not timed"),
    ("", "bench.judging", "measure", "was not timed"),
    ("", "bench.judging", "judge_rows", "was not timed"),
    ("", "bench.cell_report", "load_forms", "the Python form of"),
    ("", "bench.cell_report", "Report", "the rest of the report is missing"),
    ("", "bench.cell_report", "Pressure", "the timing is missing"),
    ("--vs numpy,vectorize", "bench.rivals", "Candidate", "numpy is missing"),
    ("--sizes 10:1e3", "bench.cell_report", "make_groups", "was not timed over sizes"),
    ("", "render.report", "write_text_block", "the table of"),
    ("", "render.report", "write_html_page", "the table in HTML is missing"),
    ("--sizes 10:1e3", "render.comparison", "write_figure", "the table in HTML is missing"),
]
OF_C = [
    ("", "forms.function_form", "write_texts", "the Python form of"),
    ("", "forms.function_form", "write_numpy", "the NumPy expression of"),
    ("--show vec", "render.source_views", "show_vectorization", "what --show=vec shows is missing"),
    ("--show asm", "compilers.compiler_texts", "read_compiler_texts", "what --show=asm shows is missing"),
    ("-a", "render.source_views", "find_hot_loops", "what --show=annotate shows is missing"),
]
OF_CYTHON = [
    ("", "forms.dynamic_form", "write_texts", "the Python form of"),
    ("", "forms.dynamic_form", "write_numpy", "the NumPy expression of"),
    ("", "languages.cython.translate", "lower", "the cell's IR is missing"),
    ("-a", "languages.cython.annotate", "read", "the annotated source is missing"),
]
OF_CUDA = [
    ("", "forms.function_form", "write_texts", "the Python form of"),
    ("", "languages.cuda.cuda_language", "CudaLanguage.list_notices", "what the session is told once is missing"),
]
FAULTS = [
    *(("c_ufunc", *fault) for fault in (*EVERYWHERE, *OF_C)),
    *(pytest.param("cython_ufunc", *fault, marks=pytest.mark.cython) for fault in OF_CYTHON),
    *(pytest.param("cython_ufunc", *f, marks=(pytest.mark.cython, pytest.mark.slow)) for f in EVERYWHERE),
    *(("cuda_device", *fault) for fault in OF_CUDA),
    *(pytest.param("cuda_device", *fault, marks=pytest.mark.slow) for fault in EVERYWHERE),
]


def planted(*args: Any, **keywords: Any) -> Any:
    raise OverflowError("planted here")


@pytest.mark.nightly
@pytest.mark.parametrize(("magic", "line", "module", "name", "words"), FAULTS)
def test_a_fault_in_comfort_is_a_note(
    loaded: InteractiveShell,
    monkeypatch: pytest.MonkeyPatch,
    magic: str,
    line: str,
    module: str,
    name: str,
    words: str,
) -> None:
    if magic == "cython_ufunc":
        pytest.importorskip("Cython")
    monkeypatch.setattr(f"ufunc_magic.{module}.{name}", planted)
    if name == "read_compiler_texts":  # a name that the room hands out
        monkeypatch.setattr(importlib.import_module("ufunc_magic.compilers"), name, planted, raising=False)
    function = f"cf_{magic[:2]}_{name.replace('.', '_')}"
    report = loaded.run_cell_magic(magic, f"--force {line}", CELLS[magic].format(name=function))
    assert loaded.user_ns[function](3.0) == 7.0
    shown = report._repr_mimebundle_()
    assert function in shown["text/plain"]
    assert function in shown["text/html"]
    whole = " ".join(html.unescape(shown["text/plain"] + shown["text/html"]).split())
    assert words in whole
    assert "OverflowError: planted here" in whole


def test_a_user_s_slip_and_an_interrupt_are_no_notes(loaded: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError):
        loaded.run_cell_magic("c_ufunc", "--ref no_such_name", C.format(name="cf_slip"))
    assert "cf_slip" not in loaded.user_ns
    part = importlib.import_module("ufunc_magic.bench.judging")

    def stop(*args: Any, **keywords: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(part, "measure", stop)
    with pytest.raises(KeyboardInterrupt):
        loaded.run_cell_magic("c_ufunc", "", C.format(name="cf_stop"))


def test_a_note_says_where_and_how_to_report() -> None:
    notes: list[str] = []
    with Comfort("a part", notes):
        int("x" * 500)
    with Comfort("a part", notes):
        raise MemoryError
    assert notes[0].startswith("a part is missing: ValueError: invalid literal for int()")
    assert "Please report it with the cell and the output of %ufunc_doctor." in notes[0]
    assert len(notes[0]) < 500
    assert notes[1] == "a part is missing: MemoryError"
