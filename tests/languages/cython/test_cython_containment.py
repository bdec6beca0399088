"""Faults of a Cython cell end the call from Python that led to them, and Stop ends its loops, wherever they are."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import Kernel, compile_in, open_kernel, run_python

pytest.importorskip("Cython", reason="Cython is not installed")

pytestmark = [pytest.mark.cython, pytest.mark.skipif(sys.platform == "win32", reason="not contained on Windows")]

#: Far outside of all memory.
FAR = 1 << 40

CELL = """
# cython: boundscheck=False, wraparound=False, initializedcheck=False
cimport numpy as np
from libc.stdlib cimport malloc, free
from libc.string cimport memcpy, strlen
from cython cimport floating

cpdef double read(double[:] a, Py_ssize_t i):
    return a[i]

def write(double[:, ::1] a, Py_ssize_t i):
    a[i, 0] = 3

def from_buffer(np.ndarray[double] a, Py_ssize_t i):
    return a[i]

def from_list(list values, Py_ssize_t i):
    return values[i]

def from_tuple(tuple values, Py_ssize_t i):
    return values[i]

def from_memory(Py_ssize_t i):
    cdef double *p = <double *>malloc(80)
    try:
        return p[i]
    finally:
        free(p)

cdef double follow(double *p, Py_ssize_t i) noexcept nogil:
    return p[i] if i else follow(p + 1, i + 1)

def through_helper(Py_ssize_t i):
    cdef double number = 1
    return follow(&number, i)

def without_gil(double[:] a, Py_ssize_t i):
    cdef double s
    with nogil:
        s = a[i]
    return s

def gil_again(double[:] a, Py_ssize_t i):
    cdef double s = 0
    with nogil:
        s += a[0]
        with gil:
            text = str(s)
            s += a[i]
    return s, text

def in_handler(double[:] a, Py_ssize_t i):
    try:
        raise ValueError("handled")
    except ValueError:
        return a[i]

def in_fused(floating[:] a, Py_ssize_t i):
    return a[i]

def of_keys(dict d, Py_ssize_t i):
    cdef double *p = NULL
    for key in d:
        p[i] = key

def copied(double[:] a, Py_ssize_t i, int n):
    cdef double[100] numbers
    memcpy(numbers, &a[i], n)
    return numbers[n // 16]

def measured(Py_ssize_t i):
    return strlen(<char *>i)

def recursive(n):
    return recursive(n + 1)

cdef object descend(object n):
    return descend(n + 1)

def through_c(n):
    return descend(n)

def generated(double[:] a, Py_ssize_t i):
    yield a[0]
    yield a[i]
    yield a[0]

async def awaited(double[:] a, Py_ssize_t i):
    return a[i]

def make_closure(double[:] a):
    return lambda Py_ssize_t i: a[i]

def divide(int a, int b):
    cdef int c
    with nogil:
        c = half(a, b)
    return c

import cython
@cython.cdivision(True)
cdef int half(int a, int b) noexcept nogil:
    return a / b

cdef class Filter:
    cdef double c[4]
    cdef double *p
    def __cinit__(self, Py_ssize_t i=0, Py_ssize_t k=0):
        self.c[0] = 1
        self.c[i] = 2
    def __init__(self, Py_ssize_t i=0, Py_ssize_t k=0):
        self.c[k] = 2
    def method(self, Py_ssize_t i):
        return self.c[i]
    def recursive(self, n):
        return self.recursive(n + 1)
    cpdef double both(self, Py_ssize_t i):
        return self.c[i]
    def __getitem__(self, Py_ssize_t i):
        return self.c[i]
    def __setitem__(self, Py_ssize_t i, double value):
        self.c[i] = value
    def __delitem__(self, Py_ssize_t i):
        self.c[i] = 0
    def __call__(self, Py_ssize_t i):
        return self.c[i]
    def __len__(self):
        return <Py_ssize_t>self.p[1]
    def __contains__(self, value):
        return self.p[1] == value
    def __bool__(self):
        return self.p[1] == 1
    def __hash__(self):
        return <Py_hash_t>self.p[1]
    def __eq__(self, other):
        return self.p[1] == 1
    def __add__(self, other):
        return self.p[1]
    def __iter__(self):
        return self
    def __next__(self):
        return self.p[1]
    def __str__(self):
        return str(self.p[1])
    @property
    def value(self):
        return self.p[1]
    @value.setter
    def value(self, double x):
        self.p[1] = x
    @staticmethod
    def static(Py_ssize_t i):
        return (<double *>0)[i]
    @classmethod
    def of_class(cls, Py_ssize_t i):
        return (<double *>0)[i]

def resumed(n):
    yield from resumed(n + 1)

class Recursive:
    def __getattr__(self, name):
        return self.missing
    def __add__(self, other):
        return self + other

cdef class Ending:
    cdef double *p
    def __dealloc__(self):
        self.p[0] = 1

class Plain:
    def method(self, double[:] a, Py_ssize_t i):
        return a[i]
"""


@pytest.fixture(scope="module", params=["c", pytest.param("c++", marks=pytest.mark.nightly)])
def cell(request: pytest.FixtureRequest, shared_cache_folder: Path) -> ModuleType:
    options = {"cplus": True} if request.param == "c++" else {}
    build = compile_in(shared_cache_folder, CELL, language="cython", **options)
    return sys.modules[build.generated.__module__]


def set_item(target: Any, index: Any, value: Any) -> None:
    target[index] = value


def del_item(target: Any, index: Any) -> None:
    del target[index]


A = np.zeros(5)
#: What the message names -> a call that faults.
FAULTS: dict[str, Callable[[Any], Any]] = {
    "read": lambda m: m.read(A, FAR),
    "write": lambda m: m.write(A.reshape(5, 1), FAR),
    "from_buffer": lambda m: m.from_buffer(A, FAR),
    "from_list": lambda m: m.from_list([1, 2], FAR),
    "from_tuple": lambda m: m.from_tuple((1, 2), FAR),
    "from_memory": lambda m: m.from_memory(FAR),
    "through_helper": lambda m: m.through_helper(FAR),
    "without_gil": lambda m: m.without_gil(A, FAR),
    "gil_again": lambda m: m.gil_again(A, FAR),
    "in_handler": lambda m: m.in_handler(A, FAR),
    "in_fused": lambda m: m.in_fused(A, FAR),
    "of_keys": lambda m: m.of_keys({1: 2}, FAR),
    "copied": lambda m: m.copied(A, FAR, 700),
    "measured": lambda m: m.measured(8),
    "generated": lambda m: list(m.generated(A, FAR)),
    "awaited": lambda m: asyncio.run(m.awaited(A, FAR)),
    "make_closure.lambda": lambda m: m.make_closure(A)(FAR),
    "divide": lambda m: m.divide(1, 0),
    "Filter.__cinit__": lambda m: m.Filter(FAR),
    "Filter.__init__": lambda m: m.Filter(0, FAR),
    "Filter.method": lambda m: m.Filter().method(FAR),
    "Filter.both": lambda m: m.Filter().both(FAR),
    "Filter.__getitem__": lambda m: m.Filter()[FAR],
    "Filter.__setitem__": lambda m: set_item(m.Filter(), FAR, 1.0),
    "Filter.__delitem__": lambda m: del_item(m.Filter(), FAR),
    "Filter.__call__": lambda m: m.Filter()(FAR),
    "Filter.__len__": lambda m: len(m.Filter()),
    "Filter.__contains__": lambda m: 1 in m.Filter(),
    "Filter.__bool__": lambda m: bool(m.Filter()),
    "Filter.__hash__": lambda m: hash(m.Filter()),
    "Filter.__eq__": lambda m: m.Filter() == 1,
    "Filter.__add__": lambda m: m.Filter() + 1,
    "Filter.__next__": lambda m: next(m.Filter()),
    "Filter.__str__": lambda m: str(m.Filter()),
    "Filter.value": lambda m: m.Filter().value,
    "Filter.value.__set__": lambda m: setattr(m.Filter(), "value", 1.0),
    "Filter.static": lambda m: m.Filter.static(FAR),
    "Filter.of_class": lambda m: m.Filter.of_class(FAR),
    "Plain.method": lambda m: m.Plain().method(A, FAR),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_an_exception_of_the_call(name: str, cell: ModuleType) -> None:
    for _ in range(3):
        with pytest.raises(um.CellCrashed, match=f"^{name}"):
            FAULTS[name](cell)
        assert sys.exc_info() == (None, None, None)


#: Recursions without end, which overflow the stack in Python's code as often as in the cell's.
RECURSIVE: dict[str, tuple[type[Exception], Callable[[Any], Any]]] = {
    "recursive": (RecursionError, lambda m: m.recursive(1)),
    "through_c": (um.CellCrashed, lambda m: m.through_c(1)),
    "Filter.recursive": (RecursionError, lambda m: m.Filter().recursive(1)),
    "resumed": (RecursionError, lambda m: list(m.resumed(1))),
    "Recursive.__getattr__": (RecursionError, lambda m: m.Recursive().missing),
    "Recursive.__add__": (RecursionError, lambda m: m.Recursive() + 1),
}


def descend(depth: int) -> int:
    return depth and 1 + descend(depth - 1)


@pytest.mark.parametrize("name", RECURSIVE)
def test_a_recursion_without_end_is_an_exception_of_the_call(name: str, cell: ModuleType) -> None:
    kind, call = RECURSIVE[name]
    half = sys.getrecursionlimit() // 2
    for _ in range(2):
        with pytest.raises(kind, match=f"^{name}.* the stack") as caught:
            call(cell)
        assert len(caught.traceback) < 150  # one of 50,000 takes IPython minutes to show
        assert descend(half) == half
    with pytest.raises(RecursionError):
        descend(10**9)


def test_the_state_of_the_thread_is_what_it_was_after_many_faults(cell: ModuleType) -> None:
    for _ in range(30):
        for call in FAULTS.values():
            with pytest.raises(um.CellCrashed):
                call(cell)
    assert cell.read(A, 0) == 0

    values: list[float] = []
    threads = [threading.Thread(target=lambda: values.append(cell.without_gil(A, 1))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == [0.0] * 3


def test_an_exception_that_is_being_handled_stays(cell: ModuleType) -> None:
    outer = KeyError("outer")
    seen: list[Any] = []
    try:
        raise outer
    except KeyError:
        with pytest.raises(um.CellCrashed) as caught:
            cell.in_handler(A, FAR)
        seen += [sys.exc_info()[1], caught.value.__context__]
    assert seen == [outer, outer]


def test_a_generator_that_faulted_has_ended(cell: ModuleType) -> None:
    numbers = cell.generated(A, FAR)
    assert next(numbers) == 0
    with pytest.raises(um.CellCrashed):
        next(numbers)
    assert list(numbers) == []


def test_faults_in_other_threads_are_exceptions_there(cell: ModuleType) -> None:
    caught: list[BaseException] = []

    def work() -> None:
        try:
            cell.without_gil(A, FAR)
        except um.CellCrashed as fault:
            caught.append(fault)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(caught) == 4


def test_a_destructor_that_faults_is_reported(cell: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[BaseException | None] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda about: heard.append(about.exc_value))
    cell.Ending()
    assert isinstance(heard[0], um.CellCrashed)


@pytest.mark.nightly
def test_a_call_of_a_call_ends_the_inner_one(cell: ModuleType, shared_cache_folder: Path) -> None:
    outer = compile_in(
        shared_cache_folder,
        "def outer(f, a, i):\n    try:\n        return f(a, i)\n    except Exception as fault:\n        return fault\n",
        language="cython",
    )
    assert isinstance(outer.outer(cell.read, A, FAR), um.CellCrashed)
    assert outer.outer(cell.read, A, 1) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    ["y = p[1]", "for k in range(3):\n    p[k] = 1", "class C:\n    x = p[1]", "with nogil:\n    p[1] = 2"],
)
def test_a_fault_of_the_statements_of_a_cell_is_its_exception(statement: str, shared_cache_folder: Path) -> None:
    source = f"cdef double *p = NULL\ncdef int k\nx = 3\n{statement}\n"
    for _ in range(2):
        with pytest.raises(um.CellCrashed, match="null pointer"):
            compile_in(shared_cache_folder, source, language="cython")


@pytest.mark.nightly
@pytest.mark.usefixtures("shared_cache")
def test_the_first_fault_of_a_process_may_be_one_of_a_generator() -> None:
    # Python handles exceptions of its own while it imports what describes a fault.
    done = run_python(
        f"""
        import numpy as np
        import ufunc_magic as um
        cell = um.compile_cython({LINES!r})
        for _ in range(2):
            try:
                list(cell.generated(np.ones(4), {FAR}))
            except um.CellCrashed as fault:
                print(str(fault).split()[0])
        """
    )
    assert done.stdout.split() == ["generated"] * 2


#: Functions whose line with `# here` fails with `a` or `far`.
LINES = """
# cython: boundscheck=False, wraparound=False
def view(double[:] a, Py_ssize_t far):
    cdef double s = a[0]
    s += a[far]  # here
    return s

cdef class Holder:
    cdef double[4] c
    def method(self, double[:] a, Py_ssize_t far):
        x = 1
        return self.c[far]  # here

def generated(double[:] a, Py_ssize_t far):
    yield 1
    yield a[far]  # here

cpdef double number(double a, Py_ssize_t far):
    cdef double *p = <double *>(far & 7)
    return p[0] + a  # here
"""


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="the lines are in DWARF, in ELF")
def test_a_fault_names_its_line_where_the_code_has_debug_information(shared_cache_folder: Path) -> None:
    build = compile_in(shared_cache_folder, LINES, language="cython", compile_args=["-g"])
    lines = [number for number, line in enumerate(LINES.split("\n"), 1) if line.endswith("# here")]
    calls = [build.view, build.Holder().method, build.generated, build.number]
    found = []
    for call in calls:
        with pytest.raises(um.CellCrashed, match="on line") as fault:
            list(call(1.0 if call is build.number else A, FAR))
        found.append(int(str(fault.value).partition("on line ")[2].split()[0]))
    assert found == lines


@pytest.mark.slow
@pytest.mark.usefixtures("shared_cache")
@pytest.mark.skipif(sys.platform != "linux", reason="signals of Linux")
def test_a_fault_in_other_code_that_the_cell_calls_ends_the_process() -> None:
    source = "import ctypes\ndef f(n):\n    return ctypes.string_at(n)\n"
    done = run_python(f"import ufunc_magic as um\num.compile_cython({source!r}).f(8)\n", code=-signal.SIGSEGV.value)
    assert done.stdout == ""


# ------------------------------------------------------------------------------------------ Stop

ENDLESS = """
# cython: boundscheck=False, wraparound=False
import os, subprocess
def view(double[:] a):
    cdef Py_ssize_t i
    while True:
        for i in range(a.shape[0]):
            a[i] += 1

def lists(list x):
    while True:
        for v in x:
            s = v

def dicts(dict d):
    while True:
        for k in d:
            s = d[k]

def numbers(x):
    while True:
        x = x + 1.5

def freed(double[:] a):
    with nogil:
        while True:
            a[0] += 1

def generated(double[:] a):
    yield 1
    while True:
        a[0] += 1

def never(n):
    while True:
        if n:
            yield n

def ones():
    while True:
        yield 1

def key(x):
    return -x

def sort(list values):
    while True:
        values.sort(key=key)

cdef class Q:
    cdef double x
    def method(self):
        while True:
            self.x += 1
    cpdef double both(self):
        while True:
            self.x += 1
    def __getitem__(self, i):
        while True:
            self.x += 1
    @property
    def value(self):
        while True:
            self.x += 1
"""
STOPPED = {
    "memoryview": "m.view(np.zeros(5))",
    "list": "m.lists([1, 2])",
    "dict": "m.dicts({1: 2})",
    "objects": "m.numbers(1)",
    "nogil": "m.freed(np.zeros(5))",
    "generator": "list(m.generated(np.zeros(5)))",
    "generator that never yields": "list(m.never(0))",
    "sum of a generator": "sum(m.ones())",
    "calls by Python": "list(iter(lambda: m.key(1), 1))",
    "keys of a list": "m.sort(values)",
    "method": "q.method()",
    "cpdef method": "q.both()",
    "__getitem__": "q[1]",
    "property": "q.value",
}


@pytest.mark.nightly
@pytest.mark.usefixtures("shared_cache")
@pytest.mark.skipif(sys.platform != "linux", reason="Stop is timed on Linux")
def test_stop_ends_a_loop_of_each_kind() -> None:
    table = ", ".join(f"{name!r}: lambda: {call}" for name, call in STOPPED.items())
    done = run_python(
        f"""
        import os, subprocess, sys, threading
        import numpy as np
        import ufunc_magic as um
        b = um.compile_cython({ENDLESS!r})
        m = sys.modules[b.view.__module__]
        q, values = m.Q(), list(range(1000))
        for name, call in {{{table}}}.items():
            for _ in range(2):
                killer = subprocess.Popen(["sh", "-c", f"sleep 0.15; kill -INT {{os.getpid()}}"])
                try:
                    call()
                except KeyboardInterrupt:
                    print(name)
                killer.wait()
            heard = []
            thread = threading.Thread(target=lambda: heard.append(1))
            thread.start()
            thread.join()
            assert heard
            assert len(values) == 1000
        """
    )
    assert done.stdout.splitlines() == [name for name in STOPPED for _ in range(2)]


@pytest.mark.slow
@pytest.mark.usefixtures("shared_cache")
@pytest.mark.skipif(sys.platform != "linux", reason="Stop is timed on Linux")
@pytest.mark.parametrize("loop", ["cdef double x = 0\nwhile True:\n    x += 1", "y = 0\nwhile True:\n    y = 3"])
def test_stop_ends_a_loop_of_the_cells_statements(loop: str) -> None:
    kill = 'import os, subprocess\nsubprocess.Popen(["sh", "-c", f"sleep 0.15; kill -INT {os.getpid()}"])\n'
    done = run_python(
        f"""
        import ufunc_magic as um
        try:
            um.compile_cython({kill + loop + chr(10)!r})
        except KeyboardInterrupt:
            print("stopped")
        print(um.compile_cython("def f(double x): return x + 1").f(1.0))
        """
    )
    assert done.stdout.split() == ["stopped", "2.0"]


# ------------------------------------------------------------------------------------- a kernel


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, shared_cache_folder: Path) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("notebook")
    with open_kernel(folder, UFUNC_MAGIC_CACHE=str(shared_cache_folder)) as kernel:
        kernel.run("%ufunc_config -q")
        yield kernel


@pytest.mark.slow
def test_a_kernel_lives_after_each_fault(kernel: Kernel) -> None:
    head = "%%cython_ufunc -q\n# cython: boundscheck=False, wraparound=False\n"
    assert kernel.run(f"{head}cpdef double at(double[:] a, Py_ssize_t i):\n    return a[i]\n").error is None
    method = "    def get(self, Py_ssize_t i): return self.c[i]\n"
    assert kernel.run(f"{head}cdef class Q:\n    cdef double c[4]\n{method}").error is None
    for code in ("at(np.zeros(5), 1 << 40)", "Q().get(1 << 40)", f"{head}cdef double *p = NULL\nx = p[1]\n"):
        error = kernel.run(code).error
        assert error is not None
        assert error["ename"] == "CellCrashed"
        assert kernel.value("at(np.ones(5), 1)") == "1.0"
