"""Which entries of a Cython cell open a frame, which look at the stack only, and which are Cython's own."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("Cython", reason="Cython is not installed")

from ufunc_magic.languages.cython.cython_search import Searches
from ufunc_magic.languages.cython.translate import translate

pytestmark = pytest.mark.cython

#: Functions that neither fault nor run Python.
HARMLESS = """
def nothing(): pass
def given(x): return x
def pair(x, y): return x, y
def number(double x, double y): return x * y + 2
def root(double x):
    from_c = sqrt(x)
    return from_c
def helped(double x): return helper(x)
def divided(unsigned int a, unsigned int b): return a / b
def by_number(int a): return a / 3 + a % 7
cdef class Point:
    cdef public double x
    cdef readonly object name
    def __init__(self, double x, name):
        self.x = x
        self.name = name
    def length(self): return sqrt(self.x * self.x)
"""
#: Functions that run Python, which may call them again.
STACK = """
def called(f, x): return f(x)
def summed(a, b): return a + b
def looked(a): return a.name
def item(list values, int k): return values[k]
def appended(list values, x): values.append(x)
def recursive(n): return recursive(n - 1) if n else 0
def caught(a):
    try:
        return a / 2
    except ValueError:
        return None
def made(a): return f"{a}", {a: 1}, [a]
def closed(a): return lambda b: a + b
def through(a): return of_objects(a)
def numbers(int n):
    cdef int k
    for k in range(n):
        yield k
def now_and_then(n):
    while True:
        if n:
            yield n
def pairs(n):
    for i in range(n):
        for j in range(i):
            yield i, j
class Plain:
    def __init__(self, a): self.a = a
    def twice(self): return 2 * self.a
"""
#: Functions that may fault, or loop without a call of Python.
FAULT = """
def endless():
    while True: pass
def counted(int n):
    cdef int k, s = 0
    for k in range(n): s += k
    return s
def listed(values): return [v for v in values]
def view(double[:] a): return a[0]
def pointed(size_t a): return (<double *>a)[0]
def buffered(np.ndarray[double] a): return a[0]
def of_letters(str s): return strlen(b"abc")
def other(Point p): return p.x
def cast(p): return (<Point>p).x
def overridden(Point p not None): return p.area()
def freed(double x):
    with nogil:
        x = x + 1
    return x
def around(int n): return odd(n)
def looping(int n): return loops(n)
@cython.boundscheck(False)
def unchecked(list values, int k): return values[k]
def smallest(int a, int b): return a // b
def remainder(long a, long b): return a % b
@cython.cdivision(True)
def quotient(unsigned int a, unsigned int b): return a / b
def silent(n):
    while True: pass
    yield n
"""
HEAD = """
cimport cython
cimport numpy as np
from libc.math cimport sqrt
from libc.string cimport strlen
cdef double helper(double x): return x + 1
cdef object of_objects(object a): return a + 1
cdef bint odd(int n): return even(n - 1) if n else 0
cdef bint even(int n): return odd(n - 1) if n else 1
cdef int loops(int n):
    cdef int k
    for k in range(n): n ^= k
    return n
"""
AREA = "    cpdef double area(self): return self.x\n"
NAMES = {
    "": "nothing given pair number root helped Point.__init__ Point.length Point.x Point.name divided by_number",
    "stack": "called summed looked item appended recursive caught made closed closed.lambda through numbers "
    "now_and_then pairs Plain.__init__ Plain.twice Point.x.__set__",
    "fault": "endless counted listed view pointed buffered of_letters other cast overridden freed around looping "
    "unchecked smallest remainder quotient silent Point.area",
}


@pytest.mark.slow
def test_only_functions_that_may_fault_or_hang_open_a_frame(tmp_path: Path) -> None:
    path = tmp_path / "cell.pyx"
    source = f"{HEAD}{HARMLESS}{AREA}{STACK}{FAULT}"
    path.write_text(source)
    translated = translate(source, path=path, module="cell", name="cell", searches=Searches("cell"))
    found = {
        name: "fault"
        if f'__ufm_came_back(&__ufm_e, "{name}")' in translated.c
        else "stack"
        if f'__ufm_is_full("{name}")' in translated.c
        else ""
        for names in NAMES.values()
        for name in names.split()
    }
    assert found == {name: hazard for hazard, names in NAMES.items() for name in names.split()}
