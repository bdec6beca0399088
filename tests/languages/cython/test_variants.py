"""Cells written to break what other people's Cython cells broke, in some ten variants of each kind.

The kinds: functions that are slow, loops in parallel before a fork, modules of named cells, classes in pickles,
messages, and ``cdef`` functions.  Tests of a table's traces are in
``tests/bench/test_no_trace.py``, what runs worse than with ``%%cython`` in ``test_like_cython.py``,
tables from the cache in ``tests/bench/test_stored_tables.py``.
"""

from __future__ import annotations

import importlib
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import ufunc_magic as um
from support import compile_in, run_cell, run_python
from ufunc_magic.guard import call_in_copy, can_copy


def _mark_slow(cells: dict[str, Any], *, quick: int) -> list[Any]:
    """Names of cells, of which all but the first few are slow tests: a cell of Cython takes some seconds."""
    return [pytest.param(name, marks=pytest.mark.slow if n >= quick else ()) for n, name in enumerate(cells)]


# ------------------------------------------------------------------------------------------ slow is no crash

#: Name -> source of ``slow``, which takes more than the time of its trial, or forever, on some or all values.
SLOW = {
    "a loop of many steps": (
        "def slow(int seed=1):\n    cdef long k\n    cdef unsigned int s = seed\n"
        "    for k in range(20_000_000_000): s ^= s << 13; s ^= s >> 17; s ^= s << 5\n    return s\n"
    ),
    "Collatz, which never ends at zero": (
        "cpdef int slow(long n):\n    cdef int k = 0\n    while n != 1:\n"
        "        n = n // 2 if n % 2 == 0 else 3 * n + 1\n        k += 1\n    return k\n"
    ),
    "a recursion that doubles": (
        "cpdef long fib(long n):\n    return 1 if n < 2 else fib(n - 1) + fib(n - 2)\n"
        "cpdef long slow(long n):\n    return fib(70 + (n & 1))\n"
    ),
    "Newton's steps that do not converge": (
        "cpdef double slow(double x):\n    cdef double y = x + 1\n"
        "    while y * y != x * 1.1 + 3: y = 0.5 * (y + x / y)\n    return y\n"
    ),
    "sleep of the operating system": (
        "from posix.unistd cimport usleep\ncdef void nap() noexcept nogil:\n    cdef int k\n"
        "    for k in range(100): usleep(100_000)\ncpdef double slow(double x):\n    nap()\n    return x\n"
    ),
    "Python's sleep": "import time\ndef slow(double x):\n    time.sleep(10)\n    return x\n",
    "Python's integers": "def slow(int n):\n    return float(sum(k * k for k in range(10**9)))\n",
    "a sieve": (
        "from libc.stdlib cimport calloc, free\ncpdef long slow(int n):\n    cdef long N = 4_000_000_000, i, j, c = 0\n"
        "    cdef int turn\n    for turn in range(50):\n        for i in range(2, 100_000):\n"
        "            for j in range(2, 100_000):\n                c += (i * j) % 7 == 3\n    return c + n\n"
    ),
    "a C++ container": (
        "# distutils: language = c++\nfrom libcpp.map cimport map as cppmap\ncpdef long slow(long n):\n"
        "    cdef cppmap[long, long] m\n    cdef long k\n    for k in range(2_000_000_000): m[k % 1000] += k\n"
        "    return m[n % 1000]\n"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", _mark_slow(SLOW, quick=2))
def test_a_slow_function_leaves_the_cell_whole(name: str, shared_cache_folder: Path) -> None:
    if "posix" in SLOW[name] and sys.platform == "win32":
        pytest.skip("posix")
    rest = "cdef class Counter:\n    cdef public int n\ncpdef double half(double x):\n    return x / 2\nN = 3\n"
    build = compile_in(shared_cache_folder, SLOW[name] + rest, language="cython")
    assert {"slow", "Counter", "half", "N"} <= {*build}
    assert (build.half(3.0), build.Counter().n, build.N) == (1.5, 0, 3)
    report = build.report(time=0.02)
    assert "half" in [comparison.name for comparison in report.comparisons]


# ------------------------------------------------------------------------------------------ OpenMP and fork

PARALLEL = """
from cython.parallel cimport prange, parallel, threadid
from libc.stdlib cimport malloc, free
cimport openmp

def added(double[::1] v):
    cdef double s = 0
    cdef Py_ssize_t i
    for i in prange(v.shape[0], nogil=True, num_threads=3): s += v[i]
    return s
def multiplied(double[::1] v):
    cdef double s = 1
    cdef Py_ssize_t i
    for i in prange(v.shape[0], nogil=True, num_threads=3): s *= v[i]
    return s
def dynamic(double[::1] v):
    cdef double s = 0
    cdef Py_ssize_t i
    for i in prange(v.shape[0], nogil=True, schedule="dynamic", chunksize=3, num_threads=2): s += v[i]
    return s
def guided(double[::1] v):
    cdef double s = 0
    cdef Py_ssize_t i
    for i in prange(v.shape[0], nogil=True, schedule="guided", num_threads=4): s += v[i]
    return s
def backwards(double[::1] v):
    cdef double s = 0
    cdef Py_ssize_t i
    for i in prange(v.shape[0] - 1, -1, -1, nogil=True, num_threads=2): s += v[i]
    return s
def last(double[::1] v):
    cdef Py_ssize_t i
    cdef double x = 0
    for i in prange(v.shape[0], nogil=True, num_threads=2): x = v[i] + i
    return x
def written(double[::1] v):
    cdef Py_ssize_t i
    for i in prange(v.shape[0], nogil=True, num_threads=2): v[i] = 2 * v[i]
def in_a_section(double[::1] v):
    cdef double s = 0
    cdef Py_ssize_t i
    cdef double *own
    with nogil, parallel(num_threads=2):
        own = <double *>malloc(8)
        own[0] = 0
        for i in prange(v.shape[0]): own[0] = own[0] + v[i]
        free(own)
    return v[0]
cdef double square(double x) noexcept nogil:
    return x * x
def calling(double[::1] v):
    cdef double s = 0
    cdef Py_ssize_t i
    for i in prange(v.shape[0], nogil=True, num_threads=2): s += square(v[i])
    return s
cpdef double of_a_number(double x):
    cdef double s = 0
    cdef int i
    for i in prange(100, nogil=True, num_threads=2): s += x
    return s
def how_many(double[::1] v):
    return openmp.omp_get_max_threads() > 0
def with_the_gil(double[::1] v):
    cdef Py_ssize_t i
    seen = []
    for i in prange(v.shape[0], nogil=True, num_threads=2):
        with gil: seen.append(v[i])
    return sum(seen)
"""
PARALLEL_NAMES = [line.split("(")[0].split()[-1] for line in PARALLEL.splitlines() if line.startswith(("def", "cpdef"))]


@pytest.mark.slow
@pytest.mark.skipif(not can_copy(), reason="this system has no fork()")
def test_loops_in_parallel_run_in_forked_processes_after_the_report(shared_cache_folder: Path) -> None:
    build = compile_in(shared_cache_folder, PARALLEL, language="cython")

    def call(name: str) -> Any:
        return build[name](2.0 if name == "of_a_number" else np.linspace(1, 2, 50))

    build.report(time=0.02)
    first = {name: call_in_copy(lambda name=name: call(name), seconds=60) for name in PARALLEL_NAMES}
    here = {name: call(name) for name in PARALLEL_NAMES}
    after = {name: call_in_copy(lambda name=name: call(name), seconds=60) for name in PARALLEL_NAMES}
    for name in PARALLEL_NAMES:
        assert first[name] == pytest.approx(here[name])
        assert after[name] == pytest.approx(here[name])


# ------------------------------------------------------------------------------------------ modules and pickles

MODULE = '''
"""Squares."""
COUNT = 1
def sq(double x):
    """The square."""
    return x * x
cpdef double cube(double x):
    return x * sq(x)
cdef double hidden(double x):
    return -x
def grow():
    global COUNT
    COUNT += 1
    return COUNT
class Plain:
    pass
'''
#: Expression -> its value; ``a`` is an array.
USES = {
    "from m import sq\nr = sq(a)": [4, 9],
    "import m as other\nr = other.sq(a)": [4, 9],
    "from m import *\nr = sq(a) + cube(a)": [12, 36],
    "import m\nr = getattr(m, 'cube')(a)": [8, 27],
    "import m\nr = vars(m)['sq'](a)": [4, 9],
    "import m\nr = m.__dict__['sq'](a)": [4, 9],
    "import sys\nr = sys.modules['m'].hidden(a)": [-2, -3],
    "import importlib\nr = importlib.import_module('m').sq(a)": [4, 9],
    "import m\nr = m.grow() - m.COUNT": 0,
    "import m, inspect\nr = inspect.getdoc(m) + inspect.getdoc(m.sq).splitlines()[0]": "Squares.The square.",
    "import m\nr = sorted(n for n in dir(m) if not n.startswith('_'))": [
        *("COUNT", "Plain", "cube", "grow", "hidden", "sq"),
    ],
    "from unittest import mock\nimport m\nwith mock.patch('m.sq', lambda x: 5): r = m.sq(a)": 5,
    "from unittest import mock\nimport m\nwith mock.patch('m.sq', lambda x: 5): pass\nr = m.sq(a)": [4, 9],
    "import m, pickle\nr = pickle.loads(pickle.dumps(m.sq))(a)": [4, 9],
    "import m, pickle\nr = pickle.loads(pickle.dumps(m.Plain)) is m.Plain": True,
    "import m\nr = (m.__name__, hasattr(m, 'nothing'))": ("variants_m", False),
    "import m, importlib.util\nr = importlib.util.find_spec('m').name": "variants_m",
}


@pytest.mark.slow
def test_a_named_module_is_what_the_notebook_has(loaded: InteractiveShell, shared_cache: Path) -> None:
    run_cell(loaded, "cython_ufunc", MODULE, "-q -n variants_m")
    results = {}
    for text in USES:
        space: dict[str, Any] = {"a": np.array([2.0, 3.0])}
        exec(re.sub(r"\bm\b", "variants_m", text), space)
        results[text] = space["r"].tolist() if isinstance(space["r"], np.ndarray) else space["r"]
    assert results == USES
    before = loaded.user_ns["sq"]
    run_cell(loaded, "cython_ufunc", MODULE + "N = 1\n", "-q -n variants_m")
    assert importlib.import_module("variants_m").sq is loaded.user_ns["sq"] is not before


CLASSES = """
import enum, collections, dataclasses
cdef class Box:
    cdef public double side
    def __init__(self, side=1): self.side = side
    @classmethod
    def unit(cls): return cls(1)
cdef class Cube(Box):
    cpdef double volume(self): return self.side ** 3
cdef class Reduced:
    cdef double x
    def __cinit__(self, x): self.x = x
    def __reduce__(self): return Reduced, (self.x,)
    def get(self): return self.x
cdef class Stateful:
    cdef public double x
    def __getstate__(self): return {"x": self.x}
    def __setstate__(self, state): self.x = state["x"] + 1
class Plain:
    class Inner:
        size = 3
    def __init__(self): self.x = 2
class Heir(Box):
    pass
class Wrong(ValueError):
    pass
class Color(enum.Enum):
    RED = 1
cpdef enum Level:
    LOW = 1
Pair = collections.namedtuple("Pair", "a b", module=__name__)
@dataclasses.dataclass
class Point:
    x: float = 0.0
"""
#: What a user sends -> what is looked at where it arrives.
SENT = {
    "Box": "v(2).side == 2",
    "Cube": "v(2).volume() == 8",
    "Cube(3)": "v.volume() == 27",
    "Box.unit": "v().side == 1",
    "Reduced": "v(4).get() == 4",
    "Reduced(4)": "v.get() == 4",
    "Stateful": "v().x == 0",
    "Stateful()": "v.x == 1",
    "Plain": "v().x == 2",
    "Plain.Inner": "v.size == 3",
    "Plain()": "v.x == 2",
    "Heir": "v(2).side == 2",
    "Heir(5)": "v.side == 5",
    "Wrong": "issubclass(v, ValueError)",
    "Wrong('no')": "str(v) == 'no'",
    "Color": "v.RED.value == 1",
    "Color.RED": "v.name == 'RED'",
    "Level": "v.LOW == 1",
    "Pair(1, 2)": "v.a + v.b == 3",
    "Point": "v(2.0).x == 2",
    "Point(2.0)": "v.x == 2",
    "[Box, {'k': Plain}]": "v[0](2).side + v[1]['k']().x == 4",
}


@pytest.mark.slow
def test_classes_and_objects_travel_to_processes_of_this_machine(shared_cache_folder: Path, tmp_path: Path) -> None:
    build = compile_in(shared_cache_folder, CLASSES, language="cython")
    sent = {text: (eval(text, dict(build)), look) for text, look in SENT.items()}
    assert pickle.loads(pickle.dumps([build.Box, build.Plain.Inner])) == [build.Box, build.Plain.Inner]
    parcel = {text: (pickle.dumps(value), look) for text, (value, look) in sent.items()}
    (tmp_path / "parcel").write_bytes(pickle.dumps(parcel))
    program = (
        "import pickle, pathlib\n"
        f"for text, (data, look) in pickle.loads(pathlib.Path({str(tmp_path / 'parcel')!r}).read_bytes()).items():\n"
        "    try: print(text, '->', eval(look, {'v': pickle.loads(data)}))\n"
        "    except Exception as fault: print(text, '->', repr(fault))\n"
    )
    shown = run_python(program, UFUNC_MAGIC_CACHE=str(shared_cache_folder)).stdout
    assert shown.splitlines() == [f"{text} -> True" for text in SENT]


# ------------------------------------------------------------------------------------------ cdef functions

NAMES = """
cimport cython
from libc.math cimport sin
ctypedef fused number:
    int
    double
cdef double plain_1(double x): return x
cdef inline double inlined_1(double x): return x
cdef double free_1(double x) noexcept nogil: return x
cdef number fused_1(number x): return x
cdef double _private_1(double x): return x
# ufunc: name=renamed_1
cdef double other_1(double x): return x
@cython.cfunc
def decorated_1(x: cython.double) -> cython.double: return x
cdef (double, double) pair_1(double x): return x, -x
cdef double pointed_1(double *x): return x[0]
cdef object thing_1(object x): return x
cdef double nothing_1(): return 1
cdef class Holder_1:
    cdef double method_1(self, double x): return x
cpdef double always_1(double x): return plain_1(x)
def also_1(double x): return x
"""
ALWAYS = {"always_1", "also_1", "Holder_1", "renamed_1"}
BOUND = ALWAYS | {"plain_1", "inlined_1", "free_1", "fused_1", "decorated_1", "pair_1", "pointed_1"}


@pytest.mark.slow
@pytest.mark.parametrize(("options", "names"), [("-q", BOUND), ("-q --no-cdef", ALWAYS)])
def test_cdef_functions_that_are_bound(
    options: str, names: set[str], loaded: InteractiveShell, shared_cache: Path
) -> None:
    run_cell(loaded, "cython_ufunc", NAMES, options)
    assert {name for name in loaded.user_ns if name.endswith("_1")} - {"_1"} == names  # IPython's Out[1]
    assert loaded.user_ns["always_1"](2.0) == 2.0


# ------------------------------------------------------------------------------------------ messages

ADVICE = {
    "def f(x):\n    print x, x\n": "-2",
    "def f(x):\n    print 'a %s' % x\n": "-2",
    "def f(x):\n    exec 'x = 1'\n    print x\n": "-2",
    "cdef Missing f(Missing q):\n    return q\n": "-n NAME",
    "cdef class A(Missing):\n    pass\n": "-n NAME",
    "def f():\n    try: pass\n    except ValueError, e: print e\n": "-2",
    "def f(x):\n    if x: print x\n": "-2",
    "cdef Missing q\n": "cimport Missing",
    "cdef Missing *q\n": "cimport Missing",
    "def f(Missing q not None):\n    return q\n": "-n NAME",
    "from elsewhere_1 cimport Missing\n": "elsewhere_1",
    "cimport elsewhere_1\n": "elsewhere_1",
}


@pytest.mark.parametrize("source", ADVICE)
def test_messages_name_what_helps(source: str, shared_cache: Path) -> None:
    with pytest.raises(um.CompileError, match=ADVICE[source]):
        um.compile_cython(source)
