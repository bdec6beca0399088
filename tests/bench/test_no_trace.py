"""A table leaves no trace: functions that keep state, and the notebook's own objects, are as without a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import ufunc_magic as um
from support import compile_in, run_cell
from ufunc_magic.guard import call_in_copy, can_copy

pytestmark = pytest.mark.skipif(not can_copy(), reason="this system has no fork()")

#: Name -> source, what is looked at after the report, its value.
C_CELLS: dict[str, tuple[str, str, Any]] = {
    "a parameter that another function sets": (
        "static double scale = 1;\ndouble set_scale(double s) { scale = s; return s; }\n"
        "double apply(double x) { return x * scale; }\n",
        "apply(5.0)",
        5.0,
    ),
    "a streaming mean": (
        "double mean(double x) { static double sum; static int n; sum += x; n++; return sum / n; }\n",
        "list(mean(np.array([1.0, 2, 3, 4])))",
        [1, 1.5, 2, 2.5],
    ),
    "a counter": (
        "static long n;\ndouble f(double x) { n++; return x * x; }\nlong calls(void) { return n; }\n",
        "calls()",
        0,
    ),
    "a generator with a seed of its own": (
        "static unsigned long s = 42;\n"
        "double draw(double x) { s = s * 6364136223846793005UL + 1; return x * (s >> 40); }\n",
        "draw(1.0)",
        42 * 6364136223846793005 % 2**64 + 1 >> 40,
    ),
    "a table that is filled": (
        "static double seen[8];\nlong note(long k) { seen[k & 7] += 1; return k; }\n"
        "double look(long k) { return seen[k & 7]; }\n",
        "[look(k) for k in range(8)]",
        [0.0] * 8,
    ),
    "a table that is filled through a pointer": (
        "static int table[4];\nstatic int *at = table;\nint push(int x) { at[x & 3] = x; return x; }\n"
        "int look(int k) { return table[k & 3]; }\n",
        "[look(k) for k in range(4)]",
        [0] * 4,
    ),
    "a memo on the heap": (
        "#include <stdlib.h>\nstatic double *memo;\nstatic int used;\n"
        "double store(double x) { if (!memo) memo = calloc(64, 8); memo[used++ & 63] = x; return x; }\n"
        "int size(void) { return used; }\n",
        "size()",
        0,
    ),
    "a helper that counts": (
        "static int depth;\nstatic void enter(void) { depth++; }\ndouble f(double x) { enter(); return x + 1; }\n"
        "int look(void) { return depth; }\n",
        "look()",
        0,
    ),
    "a filter with memory": (
        "double low_pass(double x) { static double y; y += 0.5 * (x - y); return y; }\n",
        "list(low_pass(np.array([8.0, 8, 8])))",
        [4, 6, 7],
    ),
    "an array that is summed into a global": (
        "static double total;\n// ufunc: (n)->()\ndouble add(const double *x, int n) {\n"
        "    for (int i = 0; i < n; i++) total += x[i];\n    return total;\n}\n",
        "add(np.ones(3))",
        3.0,
    ),
    "a toggle": ("double flip(double x) { static int on; on = !on; return on ? x : -x; }\n", "flip(2.0)", 2.0),
}


#: Name -> source, what is looked at after the report, its value.
CYTHON_CELLS: dict[str, tuple[str, str, Any]] = {
    "a list that grows": ("hist = []\ncpdef double p(double x):\n    hist.append(x)\n    return x\n", "len(hist)", 0),
    "a list that empties": (
        "Q = [1, 2, 3]\ncpdef double p(double x):\n    if Q: Q.pop()\n    return x\n",
        "len(Q)",
        3,
    ),
    "an item of a list": ("L = [0]\ncpdef double p(double x):\n    L[0] = x\n    return x\n", "L[0]", 0),
    "a set": ("S = set()\ncpdef double p(double x):\n    S.add(x)\n    return x\n", "len(S)", 0),
    "a dict": ("D = {}\ncpdef double p(double x):\n    D[x] = D.get(x, 0) + 1\n    return x\n", "len(D)", 0),
    "an iterator": ("it = iter(range(10**9))\ncpdef double p(double x):\n    next(it)\n    return x\n", "next(it)", 0),
    "a memoryview of the module": (
        "import numpy as np\nimport cython\ntab = np.zeros(4)\ncdef double[:] t = tab\n"
        "@cython.boundscheck(False)\n@cython.wraparound(False)\n"
        "cpdef double p(int i, double x):\n    t[i & 3] += x\n    return t[i & 3]\n",
        "tab.sum()",
        0,
    ),
    "an array of C": (
        "cdef int seen[4]\ncpdef int p(int i):\n    seen[i & 3] += 1\n    return i\n"
        "def look():\n    return [seen[k] for k in range(4)]\n",
        "look()",
        [0] * 4,
    ),
    "a pointer of the module": (
        "cdef int seen[4]\ncdef int *at = seen\ncpdef int p(int i):\n    at[i & 3] += 1\n    return i\n"
        "def look():\n    return [seen[k] for k in range(4)]\n",
        "look()",
        [0] * 4,
    ),
    "a helper that counts": (
        "cdef int n = 0\ncdef void add() noexcept nogil:\n    global n\n    n += 1\n"
        "cpdef double p(double x):\n    add()\n    return x\ndef look():\n    return n\n",
        "look()",
        0,
    ),
    "a generator of C's library": (
        "from libc.stdlib cimport rand, srand\nsrand(42)\ncdef int first = rand()\nsrand(42)\n"
        "cpdef double r(double x):\n    return x * rand()\ndef look():\n    return r(1.0) == first\n",
        "look()",
        True,
    ),
    "a name of the module that is bound again": (
        "n = 0\ncpdef double p(double x):\n    global n\n    n += 1\n    return n * x\ndef look():\n    return n\n",
        "look()",
        0,
    ),
    "a def that binds a name of the module again": (
        "n = 0\ndef f(double[:] xs):\n    global n\n    n += len(xs)\n    return xs[0]\ndef look():\n    return n\n",
        "look()",
        0,
    ),
    "a stream of C++": (
        "# distutils: language = c++\ncdef extern from *:\n    '''\n    #include <iostream>\n"
        "    static double show(double x) { std::cout << x << std::endl; return x; }\n    '''\n"
        "    double show(double)\ncpdef double p(double x):\n    return show(x)\n",
        "p(1.0)",
        1,
    ),
    "a def that notes its calls": (
        "seen = []\ndef f(double[:] xs):\n    seen.append(len(xs))\n    return xs[0]\n",
        "len(seen)",
        0,
    ),
    "a def that writes to the module's array": (
        "import numpy as np\nlast = np.zeros(3)\ndef f(double[:] xs):\n    last[0] += xs[0]\n    return xs[0]\n",
        "last.sum()",
        0,
    ),
}


@pytest.mark.parametrize("name", C_CELLS)
def test_a_report_leaves_the_state_of_c(name: str, shared_cache_folder: Path) -> None:
    source, expression, value = C_CELLS[name]
    build = compile_in(shared_cache_folder, source)
    report = build.report(time=0.05)
    assert report.comparisons
    assert all(row.ok for row in report.rows)
    assert eval(expression, {"np": np, **build}) == value


#: A cell of Cython takes some seconds, so most of them are slow tests.
CYTHON_NAMES = [pytest.param(name, marks=pytest.mark.slow if n > 2 else ()) for n, name in enumerate(CYTHON_CELLS)]


@pytest.mark.nightly
@pytest.mark.parametrize("name", CYTHON_NAMES)
def test_a_report_leaves_the_state_of_cython(name: str, shared_cache_folder: Path) -> None:
    source, expression, value = CYTHON_CELLS[name]
    build = compile_in(shared_cache_folder, source, language="cython")
    report = build.report(time=0.05)
    assert report.comparisons or "side effects" in str(report.notes)
    assert all(row.ok for row in report.rows)
    assert eval(expression, {"np": np, **build}) == value


def test_a_comparison_leaves_the_state_of_c() -> None:
    f = um.c_ufunc("long next(long k) { static long n = 3; n += k; return n; }")
    comparison = um.compare({"C": f, "NumPy": lambda k: 3 + np.cumsum(k)}, np.arange(1000), sizes="10:100", budget=0.1)
    assert comparison.ok
    um.compare([f], budget=0.1)
    assert f(1) == 4


@pytest.mark.parametrize("language", ["c", pytest.param("cython", marks=pytest.mark.slow)])
def test_a_forked_process_uses_openmp_after_the_report(language: str, shared_cache_folder: Path) -> None:
    build = {
        "c": lambda: compile_in(
            shared_cache_folder,
            "// ufunc: (n)->()\ndouble total(const double *x, int n) {\n    double s = 0;\n"
            "    #pragma omp parallel for reduction(+:s) num_threads(2)\n"
            "    for (int i = 0; i < n; i++) s += x[i];\n    return s;\n}\n",
            parallel=2,
        ),
        "cython": lambda: compile_in(
            shared_cache_folder,
            "from cython.parallel cimport prange\ndef total(double[:] x):\n    cdef double s = 0\n    cdef int i\n"
            "    for i in prange(x.shape[0], nogil=True, num_threads=2):\n        s += x[i]\n    return s\n",
            language="cython",
        ),
    }[language]()
    build.report(time=0.05)
    assert build["total"](np.ones(10)) == 10
    assert call_in_copy(lambda: build["total"](np.ones(10)), seconds=20) == 10


CELL = "long n = 3;\nlong add(long k) { n += k; return n; }\n"


@pytest.mark.parametrize("options", ["", "-q", pytest.param("--sizes 10:100 --time 0.1", marks=pytest.mark.slow)])
def test_a_cell_that_runs_again_starts_its_variables_again(loaded: InteractiveShell, options: str) -> None:
    for _ in range(2):
        run_cell(loaded, "c_ufunc", CELL, options)
        assert loaded.user_ns["add"](4) == 7


def test_an_earlier_function_keeps_its_state_when_its_cell_runs_again(loaded: InteractiveShell) -> None:
    run_cell(loaded, "c_ufunc", CELL, "-q")
    earlier = loaded.user_ns["add"]
    earlier(4)
    run_cell(loaded, "c_ufunc", CELL, "-q")
    assert earlier(0) == 7


def test_a_cell_without_state_gives_the_same_functions_again(loaded: InteractiveShell) -> None:
    run_cell(loaded, "c_ufunc", "double f(double x) { return 2 * x; }\n", "-q")
    before = loaded.user_ns["f"]
    run_cell(loaded, "c_ufunc", "double f(double x) { return 2 * x; }\n", "-q")
    assert loaded.user_ns["f"] is before


def test_a_report_names_what_it_cannot_time_without_a_copy(
    shared_cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "static long n;\nlong add(long k) { n += k; return n; }\ndouble half(double x) { return x / 2; }\n"
    build = compile_in(shared_cache_folder, source)
    monkeypatch.delattr("os.fork")
    report = build.report(time=0.05)
    assert [comparison.name for comparison in report.comparisons] == ["half"]
    assert any("add" in note and "not timed" in note for note in report.notes)
