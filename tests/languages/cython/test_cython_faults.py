"""Cython's and the C compiler's words about a Cython cell point at the cell's lines, and say what to do."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import ufunc_magic as um
from support import run_python
from ufunc_magic import compilers
from ufunc_magic.compilers import GENERATED, find_places, read_linker, toolchain
from ufunc_magic.compilers.diagnostics import read_compiler
from ufunc_magic.compilers.hints import advise_in_cython
from ufunc_magic.compilers.line_map import restore
from ufunc_magic.model import CompileError, Diagnostic, Options as CellOptions, ToolchainError

pytest.importorskip("Cython", reason="Cython is not installed")

from Cython.Compiler import Errors, Main, Options, Pipeline
from Cython.Compiler.StringEncoding import EncodedString

from ufunc_magic.languages.cython import cython_errors as faults, cython_unit
from ufunc_magic.shortcuts import driver_programs

pytestmark = pytest.mark.cython

NAME = "In[3]"
MODULE = "_ufm_0123456789abcdef"


def run(path: Path, *, cplus: bool = False, folders: tuple[str, ...] = ()) -> Path:
    """Cython's pipeline on a file; the C file it writes."""
    options = Main.CompilationOptions(
        Options.default_options, language_level=3, cplus=cplus, output_file=str(path.with_suffix(".c"))
    )
    options.include_path = list(folders)
    options.configure_language_defaults("pyx")
    context = Main.Context.from_options(options)
    source = Main.CompilationSource(
        Main.FileSourceDescriptor(str(path), NAME), EncodedString(path.stem), str(path.parent)
    )
    result = Main.create_default_resultobj(source, options)
    Pipeline.run_pipeline(Pipeline.create_pyx_pipeline(context, options, result), source)
    return path.with_suffix(".c")


def hear(cell: str, folder: Path, **options: object) -> faults.Listening:
    path = folder / f"{MODULE}.pyx"
    path.write_bytes(cell.encode())
    with faults.Listening(path) as heard:
        run(path, **options)
    return heard


def error_of(cell: str, folder: Path, **options: object) -> CompileError:
    heard = hear(cell, folder, **options)
    assert heard.errors, "Cython takes this cell"
    return faults.compile_error(heard.errors, name=NAME, cell=cell)


def warnings_of(cell: str, folder: Path, **options: object) -> list[str]:
    heard = hear(cell, folder, **options)
    assert not heard.errors
    return [str(d) for d in faults.read_warnings(heard.warnings, name=NAME, cell=cell)]


def told(error: CompileError) -> list[tuple[int, int, str]]:
    return [(d.line, d.column, d.message) for d in error.diagnostics]


# -------------------------------------------------------------------------------------- listening


def test_nothing_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hear("cdef int f(int x):\n    cdef int y\n    return y + z && 3\n", tmp_path)
    hear("DEF N = 1\nIF N:\n    x = 3\n", tmp_path)
    assert capfd.readouterr() == ("", "")


def test_positions_count_from_one(tmp_path: Path) -> None:
    (heard,) = hear("cdef double f(double x):\n    return y\n", tmp_path).errors
    assert (heard.file, heard.line, heard.column) == ("", 2, 12)


def test_the_threads_own_state_comes_back(tmp_path: Path) -> None:
    Errors.init_thread()
    Errors.threadlocal.cython_errors_count = 7
    Errors.threadlocal.cython_errors_warn_once_seen.add("seen")
    held = Errors.hold_errors()
    try:
        assert hear("x = = 3", tmp_path).errors
        assert held == []
        assert Errors.threadlocal.cython_errors_stack == [held]
        assert Errors.threadlocal.cython_errors_count == 7
        assert Errors.threadlocal.cython_errors_warn_once_seen == {"seen"}
    finally:
        Errors.init_thread()


def test_another_thread_hears_only_its_own(tmp_path: Path) -> None:
    heard: dict[int, faults.Listening] = {}
    folders = [tmp_path / str(n) for n in range(3)]
    for folder in folders:
        folder.mkdir()

    def listen(number: int) -> None:
        heard[number] = hear(f"cdef int f(int x):\n    return name{number}\n", folders[number])

    threads = [threading.Thread(target=listen, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = {n: [f"undeclared name not builtin: name{n}"] for n in range(3)}
    assert {n: [c.message for c in listening.errors] for n, listening in heard.items()} == expected


def test_a_second_run_repeats_warnings_that_cython_gives_once(tmp_path: Path) -> None:
    cell = "cdef extern from *:\n    int g(int) nogil except -1\n"
    first = warnings_of(cell, tmp_path)
    assert first
    assert warnings_of(cell, tmp_path) == first


def test_an_exception_inside_of_cython_is_an_error_and_goes_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AttributeError("no such node")

    monkeypatch.setattr("Cython.Compiler.Parsing.p_module", fail)
    error = error_of("x = 3\n", tmp_path)
    assert "AttributeError: no such node" in str(error)
    assert "Cython itself crashes here" in str(error)
    assert "Traceback" not in str(error)


def test_an_interrupt_passes(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), faults.Listening(tmp_path / "x.pyx"):
        raise KeyboardInterrupt


@pytest.mark.slow
def test_a_deeply_nested_cell_is_refused_in_words(tmp_path: Path) -> None:
    error = error_of(f"x = {'[' * 1500}{']' * 1500}\n", tmp_path)
    assert "RecursionError" in str(error)
    assert len(str(error)) < 1000


# ------------------------------------------------------------------------------ what is an error of its own


def test_an_undeclared_name_is_said_once(tmp_path: Path) -> None:
    error = error_of("def f(x):\n    return y + y\ndef g(x):\n    return y\n", tmp_path)
    assert told(error) == [(2, 12, "undeclared name not builtin: y")]


def test_what_follows_from_a_missing_module_is_left_out(tmp_path: Path) -> None:
    error = error_of("from no.where cimport a, b\ndef f(double x):\n    return a(x) + b(x)\n", tmp_path)
    assert told(error) == [(1, 1, "'no/where.pxd' not found")]


def test_a_line_that_needs_the_gil_is_said_once(tmp_path: Path) -> None:
    error = error_of("cdef double f(double x) nogil:\n    print(x, [x])\n    return x\n", tmp_path)
    assert told(error) == [(2, 10, "Calling gil-requiring function not allowed without gil")]


def test_errors_come_in_the_order_of_lines_and_are_counted(tmp_path: Path) -> None:
    error = error_of("def f(int i):\n    return a\ncdef b g(int i):\n    return i\n", tmp_path)
    assert error.message == "In[3] does not compile: 2 errors."
    assert [d.line for d in error.diagnostics] == [2, 3]


def test_more_than_ten_errors_are_counted(tmp_path: Path) -> None:
    error = error_of("def f(int i):\n" + "".join(f"    y{n} = x{n}\n" for n in range(14)), tmp_path)
    assert error.diagnostics[-1].message == "... and 4 more"


def test_an_error_in_a_declaration_file_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "mine.pxd").write_text("cdef int g(int x)\ncdef nothere h(int x)\n")
    error = error_of("cimport mine\n", tmp_path, folders=(str(tmp_path),))
    (found,) = error.diagnostics
    assert (found.file, found.line, found.text) == (str(tmp_path / "mine.pxd"), 2, "cdef nothere h(int x)")


def test_an_error_in_an_included_file_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "mine.pxi").write_text("\ncdef int f(int x):\n    return y\n")
    error = error_of('include "mine.pxi"\n', tmp_path, folders=(str(tmp_path),))
    assert str(error).splitlines()[1].startswith(f"{tmp_path / 'mine.pxi'}:3:12: error: undeclared")


def test_columns_count_characters_and_tabs_stay(tmp_path: Path) -> None:
    error = error_of('def f(int i):\n\té = "äöü"; return nix\n', tmp_path)
    assert str(error.diagnostics[0]).splitlines()[1:3] == ['  \té = "äöü"; return nix', "  \t" + " " * 18 + "^"]


def test_lines_end_as_on_windows_too(tmp_path: Path) -> None:
    error = error_of("def f(int i):\r\n    return nix\r\n", tmp_path)
    assert str(error.diagnostics[0]).splitlines()[1:3] == ["      return nix", "             ^"]


# -------------------------------------------------------------------------------------- warnings


def test_a_warning_is_on_the_cells_line(tmp_path: Path) -> None:
    (said,) = warnings_of("cdef int f(int x):\n    cdef int y\n    return y + x\n", tmp_path)
    assert said.startswith("In[3]:3:12: warning: local variable 'y' referenced before assignment")


def test_the_same_warning_is_said_once(tmp_path: Path) -> None:
    (said,) = warnings_of("DEF N = 1\nIF N:\n    x = 3\nIF N:\n    y = 3\n", tmp_path)
    assert said.startswith("In[3]:2:1: warning: The 'IF' statement is deprecated")


def test_numpy_and_cythons_own_files_make_no_noise(tmp_path: Path) -> None:
    cell = "cimport numpy as np\nfrom libcpp cimport bool\ndef f(np.ndarray[double] x):\n    return x[0]\n"
    assert warnings_of(cell, tmp_path) == []


def test_a_performance_hint_says_what_to_do_in_its_hint(tmp_path: Path) -> None:
    cell = "cdef void g(int x) nogil:\n    pass\ndef f(int x):\n    with nogil:\n        g(x)\n"
    said, _ = warnings_of(cell, tmp_path)
    assert "\n  hint: Declare 'g' as 'noexcept'" in said
    assert "Possible solutions" not in said


# ---------------------------------------------------------------------------------------- advice

F = "cdef double f(double x):\n"


@pytest.mark.parametrize(
    ("cell", "place", "message", "hint"),
    [
        (
            "cdef double f(double x)\n    return x\n",
            (1, 24),
            "Expected ':' at the end of the line",
            "End a line that opens a block with a colon",
        ),
        (
            "cdef long f(long x) except -1\n    cdef long y\n",
            (1, 30),
            "Expected ':'",
            "End a line that opens a block with a colon",
        ),
        (
            F + "    if x > 1\n        return 1\n",
            (2, 13),
            "Expected ':' at the end of the line",
            "End a line that opens a block with a colon",
        ),
        (F + "    y = x\n      z = x\n", (3, 7), "Unexpected indentation", "The line above opens no block"),
        (F + "    return (x\n", (2, 12), "( is never closed", ""),
        (F + "    return [x)\n", (2, 14), "Expected ']'", ""),
        (F + "    return x)\n", (2, 13), ") closes nothing", ""),
        ("def f(x:\n    return x\n", (1, 6), "( is never closed", ""),
        (F + "    '''text\n    return x\n", (2, 5), "''' is never closed", ""),
        ("cdef double f(double x) {\n    return x;\n}\n", (1, 25), "Syntax error", "%%c_ufunc"),
        ("double f(double x) {\n    return x;\n}\n", (1, 8), "Syntax error", "%%c_ufunc"),
        ("double f(double x)\n{\n    return x;\n}\n", (1, 8), "Syntax error", ""),
        ("double f(double x):\n    return x\n", (1, 8), "Syntax error", "starts with cdef"),
        (F + "    int i = 0\n", (2, 9), "Syntax error", "declared with cdef"),
        (F + "    return (int) x\n", (2, 18), "Syntax error", "<double>x"),
        (F + "    x++\n", (2, 8), "Expected an identifier", "i += 1"),
        (F + "    return x\u00a0+ 1\u2019\n", (2, 13), "Unrecognized character '\\xa0'", ""),
    ],
)
def test_what_was_meant(cell: str, place: tuple[int, int], message: str, hint: str, tmp_path: Path) -> None:
    (found,) = error_of(cell, tmp_path).diagnostics
    assert (found.line, found.column) == place
    assert found.message.startswith(message)
    assert hint in found.hint
    assert hint or not found.hint


@pytest.mark.parametrize(
    ("cell", "hint"),
    [
        (F + "    return sqrt(x)\n", "from libc.math cimport sqrt"),
        (F + "    return x * M_PI\n", "from libc.math cimport M_PI"),
        ("def f():\n    return malloc(3)\n", "from libc.stdlib cimport malloc"),
        ("cdef uint8_t f(int x):\n    return x\n", "from libc.stdint cimport uint8_t"),
        ("cdef vector[int] f(int x):\n    return x\n", "from libcpp.vector cimport vector"),
        (F + "    return np.sin(x)\n", "from libc.math cimport exp"),
        (F + "    return np.interp(x, [1], [2])\n", "import numpy as np"),
        ("cdef np.int32_t f(int x):\n    return x\n", "cimport numpy as np"),
        ("cdef double half(double x): return x/2\n" + F + "    return hafl(x)\n", "Did you mean half?"),
        (F + "    return weird(x)\n", "cannot use the notebook's names"),
        ("from libc.maths cimport sqrt\n", "from libc.math"),
        ("from math cimport sqrt\n", "libc.math"),
        (F + "    cdef int i = x\n", "<int>x"),
        ("from libc.stdlib cimport malloc\ndef f():\n    cdef double *p = malloc(8)\n", "<double *>malloc(...)"),
        (F + "    return x ^ 2\n", "x**2"),
        ("cimport cython\n@cython.wraparond(False)\ndef f(x): return x\n", "Did you mean wraparound?"),
    ],
)
def test_what_to_do(cell: str, hint: str, tmp_path: Path) -> None:
    assert hint in error_of(cell, tmp_path).diagnostics[0].hint


GOOD = """# a cell with a bit of everything
from libc.math cimport sqrt, exp
cimport numpy as np
cdef extern from *:
    '''
    static double twice(double x) { return 2*x; }
    '''
    double twice(double) nogil
ctypedef fused real:
    float
    double
cdef struct Point:
    double x, y
cdef class Box:
    cdef double side
    def area(self):
        return self.side**2
cdef real norm(real x, real y) except -1:
    if x < 0:
        raise ValueError("negative")
    return sqrt(x*x + y*y)
def total(double[:, ::1] a):
    cdef Py_ssize_t i
    cdef double s = 0
    for i in range(a.shape[0]):
        s += a[i, 0] if a[i, 0] > 0 else exp(-a[i, 0])
    return s
"""


@pytest.mark.nightly
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    start=st.integers(0, len(GOOD)), length=st.integers(1, 12), put=st.sampled_from(["", "(", "'", ":", "\n", "}", "*"])
)
def test_a_damaged_cell_is_refused_in_words_or_compiles(start: int, length: int, put: str, tmp_path: Path) -> None:
    cell = GOOD[:start] + put + GOOD[start + length :]
    heard = hear(cell, tmp_path)
    if heard.errors:
        error = faults.compile_error(heard.errors, name=NAME, cell=cell)
        assert all(0 <= d.line <= cell.count("\n") + 1 for d in error.diagnostics)
        assert any(d.line for d in error.diagnostics)
        assert "Traceback" not in str(error)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cell=st.text(max_size=40))
def test_no_text_raises_anything_else(cell: str, tmp_path: Path) -> None:
    cell = cell.encode(errors="replace").decode()
    heard = hear(cell, tmp_path)
    if heard.errors:
        assert str(faults.compile_error(heard.errors, name=NAME, cell=cell)).startswith("In[3] does not compile")


# ------------------------------------------------------------------------ the C compiler's words


@pytest.fixture
def translated(tmp_path: Path) -> Callable[[str], tuple[str, Sequence[int]]]:
    def translate(cell: str) -> tuple[str, Sequence[int]]:
        assert not hear(cell, tmp_path).errors
        text = (tmp_path / f"{MODULE}.c").read_text()
        return text, find_places(text, module=MODULE, name=NAME, cell=cell)

    return translate


CELL = """cdef extern from "mine.h":
    double mine(double) nogil
cdef extern from *:
    '''
    #define TWICE(x) (2*(x))
    static int add(int a,
                   int b) { return a + b; }
    '''
    int add(int, int)
cdef double f(double x):
    cdef double y = mine(x)
    return add(3, 4) + y
"""


def line_of(text: str, part: str, places: Sequence[int]) -> int:
    (number,) = (n for n, line in enumerate(text.split("\n")) if part in line and "*" not in line[:3])
    return places[number]


def test_code_is_for_the_line_that_the_comment_above_it_marks(translated) -> None:
    text, lines = translated(CELL)
    assert line_of(text, "= mine(__pyx_v_x)", lines) == 11
    assert line_of(text, "(add(3, 4) + __pyx_v_y)", lines) == 12


def test_lines_of_c_that_the_cell_holds_are_negative(translated) -> None:
    text, lines = translated(CELL)
    assert line_of(text, "#define TWICE(x)", lines) == -5
    assert line_of(text, "static int add(int a,", lines) == -6
    assert line_of(text, "int b) { return a + b; }", lines) == -7


def test_the_rest_is_for_no_line(translated) -> None:
    text, lines = translated(CELL)
    assert len(lines) == text.count("\n") + 1
    assert line_of(text, '#include "Python.h"', lines) == 0
    tail = text.split("\n").index("/* #### Code section: pystring_table ### */")
    assert not any(lines[tail:])
    assert max(map(abs, lines)) <= CELL.count("\n")


def read(output: str, cell: str, lines: Sequence[int]) -> tuple[Diagnostic, ...]:
    return read_compiler(output, name=NAME, cell=cell, places=lines)


def test_an_error_in_generated_c_is_on_the_cells_line_with_the_cells_names() -> None:
    output = f"<stdin>:3:15: error: incompatible types when assigning to '__pyx_v_y' from '{mangled('f', 'g')}'\n"
    (found,) = read(output, "cdef double f(double x):\n    y = g\n", [0, 1, 2])
    assert str(found).splitlines()[:2] == [
        "In[3]:2: error: incompatible types when assigning to 'y' from 'g'",
        "      y = g",
    ]


def mangled(kind: str, name: str) -> str:
    return f"__pyx_{kind}_{len(MODULE)}{MODULE}_{name}"


def test_a_column_holds_in_the_cells_own_c() -> None:
    cell = "cdef extern from *:\n    '''\n    int g(void) { return z; }\n    '''\n"
    (found,) = read("<stdin>:1:26: error: 'z' undeclared (first use in this function)\n", cell, [-3])
    assert (found.line, found.column, found.text) == (3, 26, "    int g(void) { return z; }")


def test_a_variable_is_placed_where_the_function_declares_it() -> None:
    cell = "cdef double f(double x):\n    cdef nosuch y\n    return x\n"
    (found,) = read("<stdin>:1:3: error: unknown type name 'nosuch'\n", cell, [1])
    assert found.line == 2


def test_an_error_for_no_line_is_placed_by_the_name_it_quotes() -> None:
    cell = "x = 3\ncdef public double y0(double x):\n    return x\n"
    (found,) = read("<stdin>:9:3: error: conflicting types for 'y0'; have 'double(double)'\n", cell, [0] * 9)
    assert found.line == 2
    assert "Rename" in found.hint


def test_an_error_in_a_header_names_the_line_that_includes_it() -> None:
    output = "In file included from <stdin>:2:\nmine.h:7:3: error: expected ';' before 'x'\n"
    error, note = read(output, 'cdef extern from "mine.h":\n    pass\n', [0, 1])
    assert (error.file, error.line, note.file, note.line) == ("mine.h", 7, NAME, 1)


def test_an_error_in_our_loops_says_so() -> None:
    (found,) = read(f"{GENERATED}:4:1: error: expected ';'\n", "x = 3\n", [1] * 9)
    assert (found.file, found.line) == (GENERATED, 0)


@pytest.mark.parametrize(
    ("warning", "line"),
    [
        ("unused variable '__pyx_t_5' [-Wunused-variable]", 1),
        ("'__pyx_f_3abc_f' defined but not used [-Wunused-function]", 1),
        ("'__pyx_t_3' may be used uninitialized [-Wmaybe-uninitialized]", 1),
        ("'__pyx_t_3' is used uninitialized [-Wuninitialized]", 1),
        ("comparison of integer expressions of different signedness [-Wsign-compare]", 1),
        ("passing argument 1 of 'PyObject_Call' from incompatible pointer type [-Wincompatible-pointer-types]", 1),
        ("division by zero [-Wdiv-by-zero]", 2),
    ],
)
def test_warnings_about_cythons_way_of_writing_c_are_not_shown(warning: str, line: int) -> None:
    assert read(f"<stdin>:{line}:3: warning: {warning}\n", "cdef int f(int x): return x\n", [1, 0]) == ()


@pytest.mark.parametrize(
    "warning",
    [
        "division by zero [-Wdiv-by-zero]",
        "passing argument 1 of 'abs' makes integer from pointer without a cast [-Wint-conversion]",
    ],
)
def test_warnings_about_what_the_cell_says_are_shown(warning: str) -> None:
    (found,) = read(f"<stdin>:1:3: warning: {warning}\n", "cdef int f(int x): return x\n", [1])
    assert (found.file, found.line, found.severity) == (NAME, 1, "warning")


def test_numpys_warning_about_its_old_interface_is_not_shown() -> None:
    header = "/venv/lib/python3.11/site-packages/numpy/_core/include/numpy/npy_1_7_deprecated_api.h"
    output = f'{header}:17:2: warning: #warning "Using deprecated NumPy API" [-Wcpp]\n'
    assert read(output, "x = 3\n", [1]) == ()


def test_a_cplus_error_is_not_told_again_inside_of_its_library() -> None:
    output = (
        "<stdin>:1:3: error: no matching function for call to 'S::S()'\n"
        "<stdin>:2:3: note: candidate: 'S::S(int)'\n"
        "<stdin>:2:3: note:   candidate expects 1 argument, 0 provided\n"
        "<stdin>:2:3: note: candidate: 'constexpr S::S(const S&)'\n"
        "/usr/include/c++/12/bits/stl_construct.h:119:7: error: no matching function for call to 'S::S()'\n"
    )
    found = read(output, "cdef S s\nstruct S { S(int); };\n", [1, -2])
    assert [(d.severity, d.line) for d in found] == [("error", 1), ("note", 2)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("__pyx_v_x", "x"),
        (mangled("f", "logit"), "logit"),
        (mangled("v", "table"), "table"),
        (mangled("t", "Point"), "Point"),
        (f"__pyx_f_{len(MODULE)}{MODULE}_3Box_area", "area"),
        (f"__pyx_fuse_1{mangled('f', 'norm')}", "norm"),
        (mangled("f", "__ufm_def_logit"), "logit"),
        (f"__pyx_pw_{len(MODULE)}{MODULE}_1total", "total"),
        ("__pyx_t_3", "a value of this line"),
        ("__pyx_r", "the result"),
    ],
)
def test_names_are_the_cells(name: str, expected: str) -> None:
    assert restore(f"'{name}' undeclared") in (f"'{expected}' undeclared", f"{expected} undeclared")


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("implicit declaration of function 'cbrt'", 'cdef extern from "math.h":'),
        ("implicit declaration of function 'gsl_sf_erf'", "-l gsl"),
        ("'mystery' undeclared (first use in this function)", "No header of the cell declares mystery"),
        ("vector: No such file or directory", "-+"),
        ("'mine.h' file not found", "-I FOLDER"),
        ("too few arguments to function 'hypot'", "cdef extern declaration"),
        ("'struct tm' has no member named 'x'", "cdef extern declaration"),
    ],
)
def test_hints_are_for_cython(message: str, hint: str) -> None:
    assert hint in advise_in_cython(message)


@pytest.mark.parametrize(
    ("symbol", "shown"), [("foo", "foo"), ("_Z3foodd", "foo"), ("_ZN4mine3fooEd", "mine::foo"), ("_Zzz", "_Zzz")]
)
def test_a_symbol_that_cannot_be_opened_is_placed_at_its_use(symbol: str, shown: str) -> None:
    cell = "cdef extern from *:\n    double foo(double) nogil\ncdef double f(double x):\n    return foo(x)\n"
    (found,) = read_linker(f"/tmp/cell.so: undefined symbol: {symbol}", name=NAME, cell=cell)
    assert found.message == f"{shown!r} is used but not defined"
    assert found.line == (0 if symbol == "_Zzz" else 4)


# ------------------------------------------------------------------------------- what is not installed


def test_missing_python_headers_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cython_unit.sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(ToolchainError, match=re.escape(f"no Python.h in {tmp_path}")) as caught:
        cython_unit.compile(GOOD, options=CellOptions(), name=NAME, folder=tmp_path)
    assert "python3-dev" in caught.value.remedy


@pytest.mark.slow
def test_an_old_or_missing_cython_is_named() -> None:
    """In a new process, which has not imported Cython's private names."""
    program = """
        import sys, Cython.Compiler.Version as theirs
        import ufunc_magic as um
        def compile():
            try:
                um.compile_cython("def f(double x): return x")
            except um.ToolchainError as error:
                print(str(error).replace("\\n", " "))
        for theirs.version in ("0.29.37", "3.0.12"):
            compile()
        sys.modules["Cython.Compiler"] = None
        compile()
    """
    old, less_old, missing = run_python(program).stdout.splitlines()
    assert "0.29.37 is installed" in old
    assert "3.0.12 is installed" in less_old
    assert [word for word in ("need Cython", "pip install", "cython>=3.1") if word not in missing] == []


def test_a_cell_whose_c_is_wrong_is_compiled_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """With loops, and without to learn whose fault it is; a slip in the cell's own C is no reason for a third time."""
    cell = 'cdef extern from *:\n    """\n    #define twice(x) (2 * y)\n    """\n    double twice(double)\n\n'
    cell += "def f(double x):\n    return twice(x)\n\ndef g(double x):\n    return x + 1\n"
    units: list[str] = []
    run_command = compilers.run_command

    def counting(command: Sequence[str], text: str, *arguments: Any, **keywords: Any) -> Any:
        units.extend(["unit"] * ("PyInit_" in text))
        return run_command(command, text, *arguments, **keywords)

    monkeypatch.setattr(driver_programs, "run_command", counting)
    monkeypatch.setattr(toolchain, "run_command", counting)
    with pytest.raises(um.CompileError, match="undeclared"):
        um.compile_cython(cell)
    assert len(units) == 2
