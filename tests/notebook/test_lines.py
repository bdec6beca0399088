"""Messages name the line that the editor shows; the library counts the source's own."""

from __future__ import annotations

import json
import linecache
import pickle
import traceback
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import ufunc_magic as um
from support import run_python
from ufunc_magic.model import CellPlace, Diagnostic, ObjectCode, Target, mark_line
from ufunc_magic.notebook.magics import find_first_line

BROKEN = "double f(double x)\n{\n    return y;\n}\n"
ASSERTS = "#include <assert.h>\ndouble f(double x)\n{\n    assert(x < 100);\n    return x;\n}\n"
RAISES = "def f(double x):\n    y = x\n    raise ValueError(y)\n"


def fails(shell: InteractiveShell, cell: str) -> BaseException:
    """The exception of a cell."""
    result = shell.run_cell(cell, store_history=True)
    error: BaseException | None = result.error_before_exec or result.error_in_exec
    assert error is not None
    return error


# -- where a source stands


@pytest.mark.parametrize(
    ("running", "line"),
    [
        ("%%c_ufunc -q\n{}", 2),
        ("\n\n%%c_ufunc\n{}", 4),
        ("%%time\n%%c_ufunc\n{}", 3),
        ("    %%c_ufunc\n    double f(double x)\n    {{\n        return y;\n    }}", 2),
        ("source = '''\n{}'''\nget_ipython().run_cell_magic('c_ufunc', '', source)", 1),
        ("compile_it()", 1),
        ("", 1),
    ],
)
def test_a_source_stands_where_the_running_cell_has_it(running: str, line: int) -> None:
    assert find_first_line(BROKEN, running.format(BROKEN)) == line


def test_a_place_turns_marks_into_the_lines_of_its_reader() -> None:
    text = f"f (line {mark_line(3)}), f3 of line {mark_line(12)}"
    assert CellPlace("<c>").replace_marks(text) == "f (line 3), f3 of line 12"
    assert CellPlace("In[3]", 2).replace_marks(text) == "f (line 4), f3 of line 13"


def test_only_lines_of_the_cell_are_counted_anew() -> None:
    place = CellPlace("In[3]", 2)
    assert Diagnostic("error", "no", "In[3]", 3).count_from(place).line == 4
    assert Diagnostic("error", "no", "helper.h", 3).count_from(place).line == 3
    assert Diagnostic("error", "no", "In[3]", 0).count_from(place).line == 0


def test_object_code_tells_a_worker_where_its_cell_stood() -> None:
    code = ObjectCode(b"", Target("elf", "linux", "x86_64"), (), name="In[3]", first_line=2)
    assert ObjectCode.from_bytes(code.to_bytes()).place == CellPlace("In[3]", 2)


# -- C


def test_an_error_names_the_line_of_the_gutter_and_keeps_that_of_the_source(loaded: InteractiveShell) -> None:
    error = fails(loaded, f"%%c_ufunc -q\n{BROKEN}")
    assert isinstance(error, um.CompileError)
    assert ":4:12: error" in str(error)
    assert [d.line for d in error.diagnostics if d.severity == "error"] == [3]
    assert error.place.first_line == 2
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.slow
def test_an_error_below_two_magics_and_of_a_function_that_runs_one(loaded: InteractiveShell) -> None:
    # As %%time, which shows an error itself in older IPython.
    loaded.register_magic_function(lambda _, cell: loaded.ex(loaded.transform_cell(cell)), "cell", "outer")
    assert ":5:12: error" in str(fails(loaded, f"%%outer\n%%c_ufunc -q\n{BROKEN}"))
    loaded.user_ns["run"] = lambda: loaded.run_cell_magic("c_ufunc", "-q", BROKEN)
    assert ":3:12: error" in str(fails(loaded, "run()"))


def test_the_library_counts_the_lines_of_the_source() -> None:
    with pytest.raises(um.CompileError, match=":3:12: error"):
        um.compile_c(BROKEN)


def test_a_hit_from_the_other_side_counts_as_its_reader_does(loaded: InteractiveShell) -> None:
    loaded.run_cell(f"%%c_ufunc -q\n{ASSERTS}", store_history=True)
    in_notebook, name = loaded.user_ns["f"], f"In[{loaded.execution_count - 1}]"
    with pytest.raises(um.CellAssertionError, match=rf"on line 5 of {name.replace('[', '.')}"):
        in_notebook(200.0)
    build = um.compile_c(ASSERTS)
    assert build.cached
    assert "on line 4." in build.notes[0]
    with pytest.raises(um.CellAssertionError, match="on line 4 of <c>"):
        build.f(200.0)
    report = loaded.run_cell(f"%%c_ufunc --no-time -v\n{ASSERTS}", store_history=True).result
    assert "on line 5." in report.notes[0]
    with pytest.raises(um.CellAssertionError, match="on line 5 of In"):
        build.f(200.0)


def test_the_report_has_lines_of_the_editor_in_text_and_of_the_source_in_its_values(loaded: InteractiveShell) -> None:
    report = loaded.run_cell(
        "%%c_ufunc --no-time\ndouble f(double x)\n{\n    int unused;\n    return x;\n}", store_history=True
    ).result
    assert ":4:9: warning: unused variable" in str(report)
    assert ":4:9: warning: unused variable" in report._repr_html_()
    values: dict[str, Any] = json.loads(report.to_json())
    assert (values["first_line"], values["diagnostics"][0]["line"]) == (2, 3)


def test_a_function_that_crashes_is_placed_where_the_editor_has_it(loaded: InteractiveShell) -> None:
    cell = "double good(double x) { return x; }\nint f(int x)\n{\n    return *(volatile int *)0 + x;\n}\n"
    report = loaded.run_cell(f"%%c_ufunc --no-time\n{cell}", store_history=True).result
    assert ":5: error: f is not bound" in str(report)
    assert report.diagnostics[0].line == 4
    with pytest.raises(um.CellCrashed, match="on line 4 of <c>"):
        um.compile_c(cell)["f"]


def test_signatures_that_do_not_fit_are_placed_in_the_editor(loaded: InteractiveShell) -> None:
    cell = "// ufunc: (n)->()\ndouble f(double *x, double *y, int n) { return 1; }\n"
    assert str(fails(loaded, f"%%c_ufunc -q\n{cell}")).startswith("f (line 3): ")
    with pytest.raises(um.SignatureError, match=r"^f \(line 2\): "):
        um.compile_c(cell)


@pytest.mark.slow
def test_views_of_the_source_have_the_lines_of_the_editor(loaded: InteractiveShell) -> None:
    loop = "for (int i = 0; i < n; i++) s += x[i];"
    cell = f"double f(const double *x, int n)\n{{\n    double s = 0;\n    {loop}\n    return s;\n}}"
    report = loaded.run_cell(f"%%c_ufunc --no-time -a --show asm,vec\n{cell}", store_history=True).result
    vec, asm, annotated = sorted(report.views, key=lambda view: "vectorized" not in view.title)
    text = "\n".join(view.to_text() for view in (vec, asm, annotated))
    assert "line 5: this loop" in text
    assert "  line 5    for (int i" in text
    assert any(row.startswith("   5 ") and "for (int i" in row for row in text.split("\n"))


# -- Cython


def _frames(error: BaseException) -> list[tuple[str, int, str | None]]:
    return [(f.filename, f.lineno or 0, f.line) for f in traceback.extract_tb(error.__traceback__)]


@pytest.mark.slow
@pytest.mark.cython
def test_tracebacks_of_cython_follow_the_cell_that_has_the_function(
    loaded: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linecache, "cache", {})  # other tests may have used the names
    loaded.run_cell(f"%%cython_ufunc -q\n{RAISES}", store_history=True)
    assert (f"In[{loaded.execution_count - 1}]", 4, "raise ValueError(y)") in _frames(fails(loaded, "f(1.0)"))
    build = um.compile_cython(RAISES)
    assert build.cached
    with pytest.raises(ValueError, match=r"^1\.0$") as caught:
        build.f(1.0)
    assert _frames(caught.value)[-1] == ("<cython>", 3, "raise ValueError(y)")
    other = um.compile_cython("def g(double x):\n\n\n    raise TypeError(x)\n")
    with pytest.raises(TypeError) as caught:
        other.g(1.0)
    assert _frames(caught.value)[-1][1:] == (4, "raise TypeError(x)")
    with pytest.raises(ValueError, match=r"^1\.0$") as caught:  # each has its own text
        build.f(1.0)
    assert _frames(caught.value)[-1][1:] == (3, "raise ValueError(y)")
    loaded.run_cell(f"\n%%cython_ufunc -q\n{RAISES}", store_history=True)
    assert (f"In[{loaded.execution_count - 1}]", 5, "raise ValueError(y)") in _frames(fails(loaded, "f(1.0)"))


@pytest.mark.cython
def test_an_exception_of_a_cells_statement_is_shown_without_our_frames(
    loaded: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("Cython", reason="Cython is not installed (extra: cython)")
    error = fails(loaded, "%%cython_ufunc -q\ndef f():\n    raise ValueError('hello')\nf()\n")
    assert [frame[1:] for frame in _frames(error)[-2:]] == [(4, "f()"), (3, "raise ValueError('hello')")]
    shown = capsys.readouterr().out
    assert "hello" in shown
    assert str(Path(um.__file__).parent) not in shown


@pytest.mark.cython
def test_a_cython_that_writes_tracebacks_anew_costs_the_lines_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("Cython", reason="Cython is not installed (extra: cython)")
    monkeypatch.setattr("ufunc_magic.languages.cython.translate.add_place", lambda c, **_: c)
    build = um.compile_cython("def of_a_new_cython(double x):\n    raise ValueError(x)\n", time=False)
    assert "tracebacks count the lines without the magic's, because ufunc_magic does not recognize" in build.notes[0]
    with pytest.raises(ValueError, match=r"^1\.0$"):
        build.of_a_new_cython(1.0)


@pytest.mark.slow
@pytest.mark.cython
def test_statements_and_annotated_lines_of_cython_have_the_lines_of_the_editor(loaded: InteractiveShell) -> None:
    error = fails(loaded, "%%cython_ufunc -q\ndef f(double x):\n    return x\n1 / 0\n")
    assert _frames(error)[-1][1:] == (4, "1 / 0")
    annotated = loaded.run_cell(
        "%%cython_ufunc --no-time -a\ndef f(double x):\n    return [x]\n", store_history=True
    ).result
    assert "\n   3 " in str(annotated)
    assert ":3:12: error: undeclared name" in str(fails(loaded, "%%cython_ufunc\ndef f(double x):\n    return z\n"))


@pytest.mark.slow
@pytest.mark.cython
def test_another_session_finds_the_cell_in_the_cache_and_says_its_own_lines(loaded: InteractiveShell) -> None:
    source = f"{RAISES}# of another session\n"  # no test before has it in memory
    loaded.run_cell(f"%%cython_ufunc -q\n{source}", store_history=True)
    program = (
        "import traceback, ufunc_magic as um\n"
        f"b = um.compile_cython({source!r})\n"
        "try: b.f(1.0)\n"
        "except ValueError: print(b.cached, traceback.format_exc().splitlines()[-3:])"
    )
    # -P: the package that the tests import, not the one of the working folder, whose cells are others in the cache.
    done = run_python(program)
    assert done.stdout.startswith("True ")
    assert 'File "<cython>", line 3' in done.stdout
    assert "raise ValueError(y)" in done.stdout


# -- CUDA


@pytest.mark.slow
def test_an_emulated_kernel_fails_on_the_line_of_the_editor(loaded: InteractiveShell) -> None:
    cell = "#include <assert.h>\n__global__ void k(int n, float *x)\n{\n    assert(n < 50);\n    x[0] = 1;\n}\n"
    loaded.run_cell(f"%%cuda_device -q --device cpu\n{cell}", store_history=True)
    loaded.run_cell("import numpy as np")
    assert f"In[{loaded.execution_count - 1}]:5: assertion" in str(fails(loaded, "k[1, 1](60, np.zeros(1, 'f4'))"))
    with pytest.raises(um.CompileError, match=":2:38: error"):
        um.compile_cuda("\n__device__ float f(float x) { return y; }", device="cpu")
    assert ":3:38: error" in str(fails(loaded, "%%cuda_device\n\n__device__ float f(float x) { return y; }"))
