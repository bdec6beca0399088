"""Cells as people write Cython: what they say of themselves holds with %%cython, and so it must here."""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

from support import CELLS

DOCTESTED = sorted((CELLS / "doctested").glob("*.pyx"))
pytestmark = [
    pytest.mark.cython,
    pytest.mark.skipif(not importlib.util.find_spec("Cython"), reason="Cython is not installed (extra: cython)"),
]


def assert_holds(shell: InteractiveShell, cell: str, *, name: str) -> None:
    """Run a cell and then the doctests in the comments at its end."""
    shell.run_cell(f"%%cython_ufunc -q\n{cell}").raise_error()
    comments = re.sub(r"^# ?", "", cell[cell.index("# >>>") :], flags=re.M)
    test = doctest.DocTestParser().get_doctest(comments, shell.user_ns, name, name, 0)
    said: list[str] = []
    # Scalars of ufuncs are NumPy's.
    with np.printoptions(legacy="1.25"):
        doctest.DocTestRunner().run(test, out=said.append, clear_globs=False)
    assert "".join(said) == ""


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=pytest.mark.nightly if number % 4 else pytest.mark.slow)
        for number, path in enumerate(DOCTESTED)
    ],
)
def test_cell_does_what_it_does_in_plain_cython(loaded: InteractiveShell, path: Path) -> None:
    assert_holds(loaded, path.read_text(encoding="utf-8"), name=path.stem)


# One of each kind of cell that was refused, or gave wrong numbers, when types were guessed.

REFERENCES = """# distutils: language = c++
from libcpp.vector cimport vector
from cython.operator cimport dereference as deref
cdef extern from "<algorithm>" namespace "std" nogil:
    const T& clamp[T](const T& v, const T& lo, const T& hi)
def clip(double x, double lo, double hi):
    return clamp(x, lo, hi)
def last(int n):
    cdef vector[int] v
    v.push_back(n)
    return v.back()
def at(int n):
    cdef vector[double] v = vector[double](2, n)
    return v[1]
def first(int n):
    cdef vector[int] v = vector[int](2, n)
    return deref(v.begin())
# >>> clip(5.0, 0.0, 2.5), clip(-3.0, -1.0, 2.0), last(3), at(4), first(5)
# (2.5, -1.0, 3, 4.0, 5)
"""
GUESSES = """import cython
def main(int n):
    return n + 1
def square(double complex z):
    return z*z
def total(int n, double x):
    s = 0
    for i in range(n):
        s += x
    return s
def steps(x: cython.double, n: cython.int):
    s: cython.double = 0
    i: cython.int
    for i in range(n):
        s += x * i
    return s
def inverse(int n):
    if n == 0:
        raise ValueError("nought")
    return 1 / n
# >>> main(2), square(1 + 2j), total(3, 0.5), steps(2.0, 4), inverse(4)
# (3, (-3+4j), 1.5, 12.0, 0.25)
# >>> inverse(0)
# Traceback (most recent call last):
# ValueError: nought
"""


@pytest.mark.slow
@pytest.mark.parametrize("cell", [REFERENCES, GUESSES], ids=["references", "guesses"])
def test_types_of_results_are_those_of_cythons_analysis(loaded: InteractiveShell, cell: str) -> None:
    assert_holds(loaded, cell, name="cell")


C_KNOWS_BETTER = """cdef extern from *:
    '''
    typedef struct { int a; } handle;
    static handle wrapped(int a) { handle h = {a}; return h; }
    static int unwrapped(handle h) { return h.a; }
    typedef __int128 wide;
    '''
    ctypedef int handle
    ctypedef long long wide
    handle wrapped(int a)
    int unwrapped(handle h)
cdef int inner(handle h) noexcept:
    return unwrapped(h)
cpdef wide doubled(wide x):
    return 2 * x
def through(int a):
    return inner(wrapped(a)) + 1
# >>> through(3), doubled(4)
# (4, 8)
"""


def test_types_that_c_knows_otherwise_cost_the_ufunc_and_not_the_cell(loaded: InteractiveShell) -> None:
    assert_holds(loaded, C_KNOWS_BETTER, name="cell")
    report = loaded.run_cell(f"%%cython_ufunc --no-time\n{C_KNOWS_BETTER}").result
    text = " ".join(str(report).split())
    assert "inner (it has an operand or a result of a type that is not a NumPy number type)" in text


KINDS = """# ufunc: (n)->()
cdef double total(double[:] x):
    cdef double s = 0
    for i in range(x.shape[0]):
        s += x[i]
    return s
def third(double x):
    if x < 0:
        raise ValueError("negative")
    return x / 3
cpdef (double, int) parts(double x):
    return x, 2
import numpy as np
# >>> third(6.0), total(np.ones(3))
# (2.0, 3.0)
# >>> [float(v) for v in parts(1.5)]
# [1.5, 2.0]
# >>> third(-1.0)
# Traceback (most recent call last):
# ValueError: negative
"""


@pytest.mark.slow
def test_unknown_c_of_cythons_costs_only_the_freedom_from_the_gil(
    loaded: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ufunc_magic.languages.cython.nogil_clone.CODE_SECTION", "/* in no Cython */")
    assert_holds(loaded, KINDS, name="cell")
    report = loaded.run_cell(f"%%cython_ufunc --no-time\n{KINDS}").result
    assert "freedom from the GIL is missing" in str(report)


@pytest.mark.slow
def test_loop_that_the_c_compiler_refuses_costs_the_ufunc_and_not_the_cell(
    loaded: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ufunc_magic.languages.cython.cython_loops.check_exception", lambda function: "no_such_name;")
    cell = KINDS[KINDS.index("def third") : KINDS.index("cpdef")] + "# >>> third(6.0)\n# 2.0\n"
    assert_holds(loaded, cell, name="cell")
    report = loaded.run_cell(f"%%cython_ufunc --no-time\n{cell}").result
    text = " ".join(str(report).split())
    assert "third cannot be a ufunc here, because the C compiler rejects its loop: 'no_such_name' undeclared" in text
