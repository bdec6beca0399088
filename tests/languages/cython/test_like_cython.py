"""A cell that works with ``%%cython`` works as well here: help, faults, profilers, levels of optimisation."""

from __future__ import annotations

import importlib.util
import os
import pickle
import pydoc
import signal
import sys
from fractions import Fraction
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import IPython
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import ufunc_magic as um
from support import compile_in, run_cell, run_python
from ufunc_magic.compilers.diagnostics import read_compiler
from ufunc_magic.languages.cython import cython_settings
from ufunc_magic.model import Options
from ufunc_magic.runtime import Build

pytestmark = [
    pytest.mark.cython,
    pytest.mark.skipif(not importlib.util.find_spec("Cython"), reason="Cython is not installed (extra: cython)"),
]

CELL = '''# cython: linetrace=True
# distutils: define_macros=CYTHON_TRACE_NOGIL=1
cpdef double factorial(double x):
    """The product of the numbers up to x."""
    return 1 if x < 2 else x * factorial(x - 1)

def shifted(double x, int n=3):
    """The factorial and n."""
    return factorial(x) + n

def quiet(double x):
    return x
'''


@pytest.fixture(scope="module")
def cell(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, CELL, language="cython")


@pytest.mark.parametrize("name", ["factorial", "shifted"])
def test_help_shows_the_docstring(name: str, cell: Build) -> None:
    function = cell[name]
    assert function.__doc__ in pydoc.render_doc(function, renderer=pydoc.plaintext)
    assert cell.quiet.__doc__ is None


@pytest.fixture(
    scope="module",
    params=["plain", "traced"],
)
def recursive(request: pytest.FixtureRequest, shared_cache_folder: Path) -> Build:
    text = CELL if request.param == "traced" else CELL.split("\n", 2)[2]
    return compile_in(shared_cache_folder, text, language="cython")


@pytest.mark.parametrize("value", [10**30, 2.0**100, Fraction(10**30)], ids=["int", "float", "fraction"])
def test_endless_recursion_is_named_whatever_the_argument_is(value: Any, recursive: Build) -> None:
    with pytest.raises(um.CellCrashed, match=r"factorial\(1\.?\d*e\+30\) overflowed the stack"):
        recursive.factorial(value)
    with pytest.raises(um.CellCrashed, match="recursion"):
        recursive.shifted(n=2, x=value)


def test_line_profiler_finds_the_text_of_a_cell_that_traces_its_lines(cell: Build) -> None:
    function = cell.shifted
    place = Path(os.path.dirname(function.__globals__["__file__"]), function.__code__.co_filename)
    assert place.read_text(encoding="utf-8").split("\n")[function.__code__.co_firstlineno - 1].startswith("def shifted")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("<stdin>:3:14: optimized: loop vectorized using 16 byte vectors", "loop vectorized"),
        ("<stdin>:3:14: missed: couldn't vectorize loop", "couldn't vectorize"),
        ("<stdin>:3:14: remark: vectorized loop (width: 4) [-Rpass=loop-vectorize]", "vectorized loop"),
        ("<stdin>:1:14: optimized: loop vectorized using 16 byte vectors", ""),
    ],
)
def test_remarks_that_the_user_asks_for_are_on_the_lines_of_the_cell(line: str, words: str) -> None:
    remarks = read_compiler(f"{line}\n{line}\n", name="In[1]", cell="def f():\n    x = 1\n", places=[0, 0, 2])
    assert [(r.severity, r.line, words in r.message) for r in remarks] == [("note", 2, True)] * bool(words)


NUMBERS = "from libc.math cimport exp\ncdef double one = 1\ncpdef double f(double x):\n    return exp(x) + one\n"


@pytest.mark.parametrize(
    ("more", "plain"),
    [
        ("", True),
        ("import math\nN = 3\ncdef int g(int x) except -1:\n    return x\n", True),
        ("cdef class Q:\n    pass\n", False),
        ("class P:\n    pass\n", False),
        ("for i in range(10):\n    N = i\n", False),
        ("h = lambda x: x + 'a'\n", False),
    ],
)
def test_only_a_cell_of_functions_may_spare_the_optimisation_of_the_rest(
    more: str, plain: bool, tmp_path: Path
) -> None:
    from ufunc_magic.languages.cython.cython_search import Searches
    from ufunc_magic.languages.cython.translate import translate

    (tmp_path / "m.pyx").write_text(NUMBERS + more)
    path = tmp_path / "m.pyx"
    assert translate(NUMBERS + more, path=path, module="m", name="In[1]", searches=Searches("m")).plain is plain


PARALLEL = """
from cython.parallel cimport prange
def total(double[::1] v):
    cdef double s = 0
    cdef Py_ssize_t i
    for i in prange(v.shape[0], nogil=True, num_threads=4):
        s += v[i]
    return s
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_loop_in_parallel_runs_in_a_child_of_a_process_that_ran_it(shared_cache_folder: Path) -> None:
    total = compile_in(shared_cache_folder, PARALLEL, language="cython").total
    values = np.ones(1000)
    assert total(values) == 1000
    child = os.fork()
    if not child:  # ended by a signal, if OpenMP waits for threads that it had in the parent
        signal.alarm(30)
        os._exit(total(values) != 1000)
    assert os.waitpid(child, 0)[1] == 0


MODULE = '''
"""A module."""
COUNT = 1
def squared(double x):
    return x * x
def use(double x):
    return squared(x) + COUNT
cdef double negative(double x):
    return -x
class Plain:
    pass
'''


@pytest.mark.slow
def test_the_module_of_a_named_cell_has_what_the_notebook_has(loaded: InteractiveShell, shared_cache: Path) -> None:
    for text in (MODULE, MODULE.replace("COUNT = 1", "COUNT = 2"), MODULE):  # the cell that ran last counts
        run_cell(loaded, "cython_ufunc", text, "-q -n notebook_module_1")
        module = importlib.import_module("notebook_module_1")
        star: dict[str, Any] = {}
        exec("from notebook_module_1 import *", star)
        assert star["squared"] is module.squared is loaded.user_ns["squared"]
        assert module.squared(np.array([2.0])).tolist() == [4]
        assert module.negative(np.array([2.0])).tolist() == [-2]
        assert module.use(2.0) == 4 + loaded.user_ns["COUNT"]
        assert {"squared", "negative", "COUNT", "Plain"} <= vars(module).keys() & {*dir(module)}
        assert (module.__doc__, pickle.loads(pickle.dumps(module.Plain))) == ("A module.", module.Plain)
    module.COUNT = 10
    module.squared = None
    assert (module.use.__globals__["COUNT"], module.squared) == (10, None)


@pytest.mark.slow
def test_a_module_of_another_magic_is_taken_over(
    loaded: InteractiveShell, shared_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = ModuleType("notebook_module_2")
    other.__loader__ = ExtensionFileLoader("notebook_module_2", str(tmp_path / "notebook_module_2.so"))
    monkeypatch.setitem(sys.modules, "notebook_module_2", other)
    run_cell(loaded, "cython_ufunc", MODULE, "-q -n notebook_module_2")
    assert importlib.import_module("notebook_module_2").use(2.0) == 5


HALVES = """
cdef double half_1(double x):
    return x / 2

# ufunc: name=third_1
cdef double third_1(double x):
    return x / 3
"""


@pytest.mark.slow
def test_cdef_functions_are_bound_unless_the_user_wants_none(loaded: InteractiveShell, shared_cache: Path) -> None:
    first = run_cell(loaded, "cython_ufunc", HALVES, "--time 10ms")
    again = run_cell(loaded, "cython_ufunc", HALVES, "--time 10ms")
    notes = [sum("--no-cdef" in note for note in report.notes) for report in (first, again)]
    assert (notes, "half_1" in loaded.user_ns) == ([1, 0], True)
    run_cell(loaded, "cython_ufunc", HALVES, "-q --no-cdef")
    assert ("half_1" in loaded.user_ns, "third_1" in loaded.user_ns) == (False, True)
    loaded.run_line_magic("ufunc_config", "--no-cdef")
    run_cell(loaded, "cython_ufunc", HALVES.replace("/", "*"), "-q")
    assert "half_1" not in loaded.user_ns


#: Functions that would have notes, if they were bound.
NOTED = """
cdef double unable(double *x): return x[0]
cdef long faulty(long n):
    cdef long *p = NULL
    return p[n]
cdef object thing(object x): return x
cdef double third_2(double x): return x / 3
def half_2(double x): return x / 2
"""


@pytest.mark.parametrize("options", ["-q", "--time 10ms"])
def test_functions_that_are_not_bound_have_no_notes(options: str, loaded: InteractiveShell, shared_cache: Path) -> None:
    report = run_cell(loaded, "cython_ufunc", NOTED, f"{options} --no-cdef")
    text = str(report or "")
    assert not [name for name in ("unable", "faulty", "thing", "third_2") if name in text]
    assert "half_2" in loaded.user_ns


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("cpdef int f(Missing q):\n    return 1\n", "-n NAME"),
        ("def f(x):\n    print x\n", "-2"),
        ("def f(Missing[:] q):\n    return 1\n", "cimport Missing"),
    ],
)
def test_advice_names_the_option(source: str, words: str, shared_cache: Path) -> None:
    with pytest.raises(um.CompileError, match=words):
        um.compile_cython(source)


@pytest.mark.parametrize("option", ["/openmp", "/O2", "/std:c++17", "/EHsc"])
def test_options_of_microsofts_compiler_are_no_files(option: str) -> None:
    settings = cython_settings.read(f"# distutils: extra_compile_args={option} -O2\n", options=Options())
    assert settings.ignored == (() if sys.platform == "win32" else (option,))
    assert ("-O2" in settings.flags, option in settings.flags) == (True, sys.platform == "win32")


@pytest.mark.skipif(sys.platform == "win32", reason="the loader has no run path")
def test_a_library_is_loaded_from_the_folder_that_it_was_linked_in() -> None:
    options = Options(link_args=("-L/opt/gsl/lib", "-lgsl"))
    assert "-Wl,-rpath,/opt/gsl/lib" in cython_settings.read("", options=options).link


@pytest.mark.parametrize(("colors", "colored"), [("NoColor", False), ("Linux", True)])
def test_errors_are_colored_where_the_shell_is(colors: str, colored: bool, loaded: InteractiveShell) -> None:
    lower = IPython.version_info >= (9,)  # IPython's names since then
    before, loaded.colors = loaded.colors, colors.lower() if lower else colors
    shown = um.OptionError("wrong")._render_traceback_()
    loaded.colors = before
    assert any("\x1b" in line for line in shown) is colored


CLASSES = """
cdef class Box:
    cdef public double side
    def __init__(self, side):
        self.side = side

class Plain:
    class Inner:
        size = 3
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", "boxes_1"])
def test_classes_travel_to_processes_of_this_machine(name: str, shared_cache_folder: Path) -> None:
    cell = compile_in(shared_cache_folder, CLASSES, language="cython", name=name)
    classes = pickle.dumps([cell.Box, cell.Plain.Inner])
    assert pickle.loads(classes) == [cell.Box, cell.Plain.Inner]
    # A process that runs already knows the package alone; joblib and multiprocessing give a new one this `sys.path`.
    program = f"import sys; sys.path[:] = {sys.path!r}\n" if name else ""
    program += f"import pickle; box, inner = pickle.loads({classes!r}); print(box(2).side + inner.size)"
    assert run_python(program, UFUNC_MAGIC_CACHE=str(shared_cache_folder)).stdout.split() == ["5.0"]


def test_another_cell_of_that_name_takes_the_place_of_the_first_in_processes(shared_cache_folder: Path) -> None:
    for k in range(2):
        cell = compile_in(shared_cache_folder, f"class Step:\n    size = {k}\n", language="cython", name="steps_1")
        data = pickle.dumps(cell.Step)
        program = f"import sys; sys.path[:] = {sys.path!r}; import pickle; print(pickle.loads({data!r}).size)"
        assert run_python(program, UFUNC_MAGIC_CACHE=str(shared_cache_folder)).stdout.split() == [str(k)]
