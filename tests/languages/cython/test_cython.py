"""Whole Cython cells: those in tests/cells/cython, what %%cython binds and takes, and what a cell is to a session.

A header of comments says what is expected of a cell, as in test_cells.py::

    # options: cplus=True                          keywords of compile_cython
    # types: f dd->d, g (n)->() d->d, h *          every ufunc that is bound, its core signature, its rows
    # given: x = np.linspace(0, 1)                 a statement
    # expect: f(x, 2) == 2*x within 1e-13          relative; or: exactly
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from support import CELLS, catch_message, check_expectation, list_loops, python_path, read_header
from ufunc_magic.model import Options
from ufunc_magic.runtime import find_ufunc

pytestmark = [
    pytest.mark.cython,
    pytest.mark.skipif(not importlib.util.find_spec("Cython"), reason="Cython is not installed (extra: cython)"),
]

CYTHON_CELLS = CELLS / "cython"
COUNTS = """
cdef double f(double x):
    return x + 1


def g(x):
    return 2 * x
"""


#: One of each kind of thing that people write; the others are slow tests.
QUICK = {"extension_types", "great_circle", "sums"}


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.name, marks=() if path.stem in QUICK else pytest.mark.slow)
        for path in sorted(CYTHON_CELLS.glob("*.pyx"))
    ],
)
def test_good_cell(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)  # where local headers are looked for
    text = path.read_bytes().decode()
    header = read_header(text)
    made = um.compile_cython(text, **eval(f"dict({','.join(header.get('options', []))})"))
    said = {
        name: rows
        for name, *rows in (word.split() for line in header["types"] for word in re.split(r", (?=\w+ )", line))
    }
    ufuncs = {name: ufunc for name, f in made.items() if (ufunc := find_ufunc(f)) is not None}
    bound = {name: ["*"] if said.get(name) == ["*"] else list_loops(f) for name, f in ufuncs.items()}
    assert bound == said
    names = {"np": np, "raises": catch_message, "missing": lambda name: name not in made, **made}
    for statement in header.get("given", []):
        exec(statement, names)
    for expectation in header["expect"]:
        check_expectation(expectation, names)
    assert [d for d in made.diagnostics if "__pyx" in str(d) or "_ufm" in str(d)] == []


# What %%cython takes on its line


@pytest.fixture
def forgotten_modules() -> Iterator[None]:
    """Modules that a test imports under names of its own are taken out of sys.modules again."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("um_test_"):
            del sys.modules[name]


def test_named_module_can_be_imported(forgotten_modules: None) -> None:
    built = um.compile_cython("def f(x):\n    return 2 * x\n", name="um_test_named")
    module = importlib.import_module("um_test_named")
    assert module.f(10) == 20
    assert built.f is module.f
    assert built.f.__module__ == "um_test_named"


@pytest.mark.slow
def test_named_module_is_the_newest_of_its_name(forgotten_modules: None) -> None:
    um.compile_cython("def f(x):\n    return 2 * x\n", name="um_test_renewed")
    um.compile_cython("def f(x):\n    return 3 * x\n", name="um_test_renewed")
    assert importlib.import_module("um_test_renewed").f(10) == 30


def test_name_that_no_module_can_have_names_the_cell_in_messages_only() -> None:
    built = um.compile_cython(COUNTS, name="In[3]")
    assert built.name == "In[3]"
    assert built.g.__module__.rpartition(".")[2].isidentifier()


LEVELS = "def f(int x):\n    return 2 / x\n\n\ndef call(x):\n    return f(*(x,))\n"


@pytest.mark.slow
def test_language_level_is_3_unless_the_cell_or_the_line_says_2() -> None:
    three, two = um.compile_cython(LEVELS), um.compile_cython(LEVELS, language_level=2)
    inside = um.compile_cython(f"# cython: language_level=2\n{LEVELS}")
    assert [(b.f(10), b.call(10)) for b in (three, two, inside)] == [(0.2, 0.2), (0, 0), (0, 0)]


@pytest.mark.parametrize(("level", "quotient"), [(2, "a // b"), (3, "a / b")])
def test_python_form_divides_as_the_language_level_says(level: int, quotient: str, tmp_path: Path) -> None:
    from ufunc_magic.languages.cython import cython_unit  # only with Cython

    source, options = "cdef double half(int a, int b):\n    return a / b\n", Options(language_level=level)
    (function,) = cython_unit.compile(source, options=options, name="In[3]", folder=tmp_path).report_data.functions
    assert function.python == f"def half(a, b):\n    return {quotient}\n"


@pytest.mark.slow
def test_ufunc_with_core_dimensions_has_a_python_form(tmp_path: Path) -> None:
    from ufunc_magic.languages.cython import cython_unit  # only with Cython

    source = (
        "cdef double total(double[:] v):\n    cdef double s = 0\n    cdef int i\n"
        "    for i in range(v.shape[0]):\n        s += v[i]\n    return s\n"
    )
    (function,) = cython_unit.compile(source, options=Options(), name="In[3]", folder=tmp_path).report_data.functions
    assert (function.core, function.notes) == ("(n)->()", ())
    assert "for i in range(len(v)):" in function.python
    assert function.vector == "def total(v):\n    return v.sum(axis=-1)\n"


def test_typed_def_calls_itself_and_others_as_a_function_inside_the_cell() -> None:
    built = um.compile_cython(LEVELS)
    assert built.f.types == ["i->d"]
    assert built.f(np.array([5, 10])).tolist() == [0.4, 0.2]
    assert built.call(5) == 0.4


def test_libraries_are_linked() -> None:
    built = um.compile_cython("from libc.math cimport sin\nx = sin(0.0)\n", lib=["m"])
    assert dict(built) == {"x": 0.0}


def test_source_file_and_include_folder_are_compiled_along_and_watched(tmp_path: Path) -> None:
    header, source = tmp_path / "scale.h", tmp_path / "scale.c"
    header.write_text("double scaled(double x);\n#define OFFSET 1\n")
    source.write_text('#include "scale.h"\ndouble scaled(double x) { return 2 * x; }\n')
    cell = """
cdef extern from "scale.h":
    double scaled(double x) nogil
    int OFFSET


cdef double f(double x) noexcept nogil:
    return scaled(x) + OFFSET
"""
    options = {"src": [str(source)], "include": [str(tmp_path)]}
    assert um.compile_cython(cell, **options).f(3.0) == 7
    assert um.compile_cython(cell, **options).cached
    header.write_text("double scaled(double x);\n#define OFFSET 5\n")
    assert um.compile_cython(cell, **options).f(3.0) == 11
    source.write_text('#include "scale.h"\ndouble scaled(double x) { return 3 * x; }\n')
    assert um.compile_cython(cell, **options).f(3.0) == 14


def test_edited_pxd_and_pxi_are_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "um_test_rules.pxd").write_text("cdef inline double rule(double x) noexcept nogil:\n    return x + 1\n")
    (tmp_path / "um_test_more.pxi").write_text("cdef double shift = 10\n")
    cell = """
from um_test_rules cimport rule
include "um_test_more.pxi"


cdef double f(double x) noexcept nogil:
    return rule(x) + shift
"""
    assert um.compile_cython(cell).f(1.0) == 12
    assert um.compile_cython(cell).cached
    (tmp_path / "um_test_rules.pxd").write_text("cdef inline double rule(double x) noexcept nogil:\n    return x + 2\n")
    assert um.compile_cython(cell).f(1.0) == 13
    (tmp_path / "um_test_more.pxi").write_text("cdef double shift = 20\n")
    assert um.compile_cython(cell).f(1.0) == 23


@pytest.mark.slow
def test_compiler_arguments_and_macros_reach_the_compiler() -> None:
    cell = "cdef extern from *:\n    int SCALE\n\n\ncdef int f(int x):\n    return SCALE * x\n"
    assert um.compile_cython(cell, compile_args=["-DSCALE=3"]).f(2) == 6
    assert um.compile_cython(f"# distutils: define_macros=SCALE=4\n{cell}").f(2) == 8
    assert um.compile_cython(f"# distutils: extra_compile_args=-DSCALE=5\n{cell}").f(2) == 10


def test_compiler_directives_in_the_first_comment_are_followed() -> None:
    cell = "cdef int f(int a, int b) except? -1:\n    return a % b\n"
    assert um.compile_cython(cell).f(-7, 3) == 2
    assert um.compile_cython(f"# cython: cdivision=True\n{cell}").f(-7, 3) == -1


def test_force_compiles_again() -> None:
    first = um.compile_cython(COUNTS)
    assert not um.compile_cython(COUNTS, force=True).cached
    assert um.compile_cython(COUNTS).f(1.0) == first.f(1.0) == 2


TRAINED = f"""{LEVELS}

def main():
    for _ in range(100):
        call(5)


trained = "_pgo_" in __name__
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="profiles need gcc or clang")
def test_profile_guided_cell_gives_the_same_answers() -> None:
    built = um.compile_cython(TRAINED, pgo=True)
    assert (built.f(10), built.call(10), built.main(), built.trained) == (0.2, 0.2, None, False)
    assert um.compile_cython(TRAINED, pgo=True).cached


def test_options_of_other_languages_are_refused() -> None:
    with pytest.raises(um.OptionError, match="types"):
        um.compile_cython(COUNTS, types="f4,f8")
    with pytest.raises(um.OptionError, match="pgo"):
        um.compile_c("double f(double x) { return x; }", pgo=True)


# What a cell is to a session


def test_module_body_runs_once_and_all_its_public_names_are_there() -> None:
    built = um.compile_cython("import math\nfrom math import tau as full\nx = [1, 2]\nx.append(3)\n_hidden = 4\n")
    assert set(built) == {"math", "full", "x"}
    assert built.math is importlib.import_module("math")
    assert built.x == [1, 2, 3]


def test_same_cell_again_gives_the_same_objects_without_running_its_body_again() -> None:
    source = f"{COUNTS}\nstate = []\n"
    first = um.compile_cython(source)
    first.state.append(1)
    again = um.compile_cython(source)
    assert again.cached
    assert again.f is first.f
    assert again.g is first.g
    assert again.state == [1]


def test_two_cells_keep_their_own_globals_and_functions_of_the_same_name() -> None:
    one, two = (um.compile_cython(f"K = {k}\n\n\ncdef double f(double x):\n    return x + K\n") for k in (1, 2))
    assert (one.f(0.0), two.f(0.0), one.K, two.K) == (1, 2, 1, 2)


def test_exception_of_the_module_body_reaches_the_caller_each_time() -> None:
    cell = "def f(x):\n    return x\n\n\nraise LookupError('not today', 7)\n"
    for _ in range(2):
        with pytest.raises(LookupError) as caught:
            um.compile_cython(cell)
        assert caught.value.args == ("not today", 7)


def test_name_of_the_notebook_is_unknown_to_the_cell_and_the_error_says_so() -> None:
    with pytest.raises(um.CompileError) as caught:
        um.compile_cython("def f(double x):\n    return x * alpha\n")
    assert [(d.line, d.column) for d in caught.value.diagnostics if d.severity == "error"] == [(2, 16)]
    assert "alpha" in str(caught.value)
    assert "a cell cannot use the notebook's names" in str(caught.value)


def test_error_of_the_c_compiler_is_an_error_at_the_line_of_the_cell() -> None:
    cell = 'cdef extern from *:\n    """\n    xxx a = 1;\n    """\n    int a\n\n\ndef f():\n    return a\n'
    with pytest.raises(um.CompileError) as caught:
        um.compile_cython(cell)
    assert "xxx" in str(caught.value)
    assert any(0 < d.line <= cell.count("\n") for d in caught.value.diagnostics)


@pytest.mark.slow
def test_missing_library_is_a_link_error() -> None:
    with pytest.raises(um.LinkError, match="um_no_such_library"):
        um.compile_cython(COUNTS, lib=["um_no_such_library"])


def test_warning_of_the_c_compiler_is_told_now_and_from_the_cache() -> None:
    cell = """
cdef extern from *:
    \"\"\"
    #warning "told by the cell"
    static int a = 42;
    \"\"\"
    int a


def f():
    return a
"""
    for _ in range(2):
        assert "told by the cell" in " ".join(map(str, um.compile_cython(cell).diagnostics))


def test_nothing_is_written_into_the_folder_of_the_notebook_and_nothing_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "notebook"
    folder.mkdir()
    monkeypatch.chdir(folder)
    um.compile_cython(f"{COUNTS}\n# quiet\n")
    assert list(folder.iterdir()) == []
    assert tuple(capfd.readouterr()) == ("", "")


def test_object_code_says_what_each_function_is() -> None:
    code = um.compile_cython(COUNTS).object_code
    assert code.language == "cython"
    assert {f.name: (f.kind, bool(f.reason)) for f in code.functions} == {"f": ("ufunc", False), "g": ("python", True)}
    f = next(f for f in code.functions if f.name == "f")
    assert (f.parameters, f.line) == (("x",), 2)
    assert f.source.startswith("cdef double f(double x):")


def test_classes_of_the_cell_are_pickled_by_their_module() -> None:
    built = um.compile_cython(
        "cdef class Point:\n    cdef public double x\n\n    def __init__(self, x):\n        self.x = x\n"
    )
    assert pickle.loads(pickle.dumps(built.Point(3.0))).x == 3


def test_cell_without_any_function_is_fine() -> None:
    assert dict(um.compile_cython("answer = 42\n")) == {"answer": 42}


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n"])
def test_cell_without_any_name_binds_nothing(text: str) -> None:
    assert dict(um.compile_cython(text)) == {}


@pytest.mark.slow
def test_generators_coroutines_and_closures_work() -> None:
    cell = """
import asyncio


def squares(int n):
    cdef int i
    for i in range(n):
        yield i * i


async def later(double x):
    await asyncio.sleep(0)
    return 2 * x


def counter():
    count = 0

    def step():
        nonlocal count
        count += 1
        return count
    return step
"""
    built = um.compile_cython(cell)
    assert list(built.squares(4)) == [0, 1, 4, 9]
    with asyncio.Runner() as runner:
        assert runner.run(built.later(3.0)) == 6
    step = built.counter()
    assert [step(), step()] == [1, 2]


def _in_new_process(script: str, **environment: str) -> str:
    # The very package under test, wherever this was started: another copy has other objects.
    environment = {**os.environ, "PYTHONPATH": python_path(), **environment}
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.slow
def test_hit_in_another_process_imports_no_cython_and_starts_no_process() -> None:
    source = f"{COUNTS}# for another process\n"
    assert not um.compile_cython(source).cached
    script = (
        "import subprocess, sys\n"
        "subprocess.Popen = None\n"
        "import ufunc_magic as um\n"
        f"b = um.compile_cython({source!r})\n"
        "print(b.cached, b.f(1.0), b.g(2), sorted(m for m in sys.modules if m.split('.')[0] in\n"
        "      ('Cython', 'tree_sitter', 'cffi', 'setuptools', 'distutils')))"
    )
    assert _in_new_process(script) == "True 2.0 4 []\n"


def test_without_cython_the_error_names_what_to_install() -> None:
    script = (
        "import sys, importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name.split('.')[0] == 'Cython' else find(name, *a)\n"
        "sys.modules['Cython'] = None\n"
        "import ufunc_magic as um\n"
        "try:\n"
        "    um.compile_cython('cdef double f(double x): return x')\n"
        "except um.ToolchainError as error:\n"
        "    print('ufunc_magic[cython]' in str(error))"
    )
    assert _in_new_process(script) == "True\n"


@pytest.mark.slow
def test_threads_build_different_cells_at_the_same_time() -> None:
    cells = [f"cdef double f(double x):\n    return x + {n}\n" for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        built = list(pool.map(um.compile_cython, cells))
    assert [b.f(0.0) for b in built] == [0, 1, 2, 3]
