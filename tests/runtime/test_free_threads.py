"""Eight threads at once compile, load, call, pickle and prune: with the GIL, and on Pythons that have none."""

from __future__ import annotations

import importlib.util
import pickle
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

import ufunc_magic as um
from support import run_python
from ufunc_magic.compilers import processes
from ufunc_magic.languages.c import parse_cell

THREADS = 8
T = TypeVar("T")

needs_cython = pytest.mark.skipif(
    not importlib.util.find_spec("Cython"), reason="Cython is not installed (extra: cython)"
)
without_gil = pytest.mark.skipif(
    getattr(sys, "_is_gil_enabled", lambda: True)() and "t" not in getattr(sys, "abiflags", ""),
    reason="this Python has a GIL",
)


def together(work: Callable[[int], T]) -> list[T]:
    """What ``work`` gives in each of eight threads that begin at the same moment."""
    start = threading.Barrier(THREADS)

    def begin(number: int) -> T:
        start.wait()
        return work(number)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # where there is a GIL, threads take turns as often as they can
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            return [future.result() for future in [pool.submit(begin, number) for number in range(THREADS)]]
    finally:
        sys.setswitchinterval(before)


def leftovers(cache: Path) -> list[str]:
    """Files of the cache that nobody will finish, and compilers that nobody waits for."""
    unfinished = [str(path) for path in cache.rglob("*") if path.name.startswith(".")]
    return [*unfinished, *map(str, (cache / "scratch").iterdir()), *map(str, processes.work.running)]


def test_threads_with_the_same_cell_compile_once_and_get_the_same_functions(cache_folder: Path) -> None:
    builds = together(lambda _: um.compile_c("double same_cell(double x) { return 3 * x; }"))
    assert sorted(build.cached for build in builds) == [False] + [True] * (THREADS - 1)
    assert {id(build.same_cell) for build in builds} == {id(builds[0].same_cell)}
    assert leftovers(cache_folder) == []


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 3])
def test_threads_compile_call_pickle_and_prune_at_once(cache_folder: Path, rounds: int) -> None:
    x = np.arange(-500.0, 500.0)  # whole numbers: however the compiler rounds, the results are the same
    keep = um.cache.size()  # the driver, which takes far longer to compile than a cell

    def work(number: int) -> list[bool]:
        right = []
        for step in range(rounds):
            own = um.c_ufunc(f"double own(double x) {{ return {number} * x + {step}; }}")
            common = um.c_ufunc(f"int common_{step}(int n, int m) {{ return n * m + {step}; }}")
            right += [bool((own(x) == number * x + step).all()), bool(common(number, 7) == number * 7 + step)]
            um.cache.prune(keep)
            right += [pickle.loads(pickle.dumps(own)) is own, um.loads(um.dumps(common)) is common]
            um.cache.prune(keep)
            right += [common([1, 2], 3).tolist() == [3 + step, 6 + step]]
        return right

    assert together(work) == [[True] * 5 * rounds] * THREADS
    assert leftovers(cache_folder) == []


def test_threads_meet_new_combinations_of_types_at_once() -> None:
    """NumPy is given a loop for each at the first call, and refuses one that it has."""
    names = [f"sum_{n}" for n in range(12)]
    build = um.compile_c("".join(f"int {name}(int a, short b) {{ return a + b + {name[4:]}; }}\n" for name in names))
    values = (3, [3], np.int64(3), np.array([3], np.uint64), np.array([3], np.int32), np.uint8(3))

    def work(number: int) -> list[int]:
        return [
            int(np.ravel(build[name](values[(number + k) % len(values)], values[k]))[0])
            for name in names
            for k in range(len(values))
        ]

    assert together(work) == [[6 + n for n in range(len(names)) for _ in values]] * THREADS


@pytest.mark.slow
def test_threads_read_cells_at_once() -> None:
    """A parser that they share mixes their texts."""

    def work(number: int) -> list[list[str]]:
        text = "".join(f"double f_{number}_{k}(double x) {{ return x + {k}; }}\n" for k in range(30))
        return [[function.name for function in parse_cell(text)[0].functions] for _ in range(10)]

    assert together(work) == [[[f"f_{number}_{k}" for k in range(30)]] * 10 for number in range(THREADS)]


def test_a_fault_ends_the_call_of_its_thread_and_no_other() -> None:
    source = "double picky(double x) { int *p = x == 13 ? (int *)8 : 0; return p ? *(volatile int *)p : 2 * x; }"
    picky = um.c_ufunc(source)
    x = np.arange(100.0, 1100.0)

    def work(number: int) -> list[str]:
        outcomes = []
        for _ in range(20):
            try:
                outcomes.append(str((picky(x if number % 2 else 13.0) == 2 * x).all()))
            except um.CellCrashed as fault:
                outcomes.append(type(fault).__name__)
        return outcomes

    assert together(work) == [["CellCrashed"] * 20, ["True"] * 20] * (THREADS // 2)


def elsewhere(program: str, *arguments: str, gil: str | None = "0") -> str:
    """The output of a program in another process; without the GIL where that can be chosen."""
    free = gil is not None and "t" in getattr(sys, "abiflags", "")
    done = run_python(program, *arguments, PYTHON_GIL=gil if free else None)
    return done.stdout + done.stderr


AT_ONCE = """
import builtins, pickle, sys, threading
from concurrent.futures import ThreadPoolExecutor
import ufunc_magic as um
sys.setswitchinterval(1e-5)
builtins.runs = []
start = threading.Barrier(8)
def load(number):
    start.wait()
    return [um.loads(open(path, "rb").read()) for path in sys.argv[1:]]
with ThreadPoolExecutor(8) as pool:
    rows = list(pool.map(load, range(8)))
"""


@pytest.mark.slow
@needs_cython
def test_threads_run_the_statements_of_a_module_once_and_share_one_type_of_def(tmp_path: Path) -> None:
    paths = []
    for n in range(4):
        first = f"import builtins\ngetattr(builtins, 'runs', []).append({n})\n"
        source = f"{first}def half_{n}(double x):\n    return x / 2 + {n}\n"
        paths.append(tmp_path / f"{n}.pickle")
        paths[-1].write_bytes(um.dumps(um.compile_cython(source)))
    shown = """
print([{id(row[n]) for row in rows} == {id(rows[0][n])} for n in range(4)], sorted(builtins.runs))
functions = [row[n][f"half_{n}"] for row in rows for n in range(4)]
print(len({type(f) for f in functions}), [f(3.0) for f in functions[:4]])
"""
    assert (
        elsewhere(AT_ONCE + shown, *map(str, paths))
        == "[True, True, True, True] [0, 1, 2, 3]\n1 [1.5, 2.5, 3.5, 4.5]\n"
    )


def test_threads_that_load_the_first_objects_of_a_process_share_its_handlers_of_faults(tmp_path: Path) -> None:
    paths = []
    for n in range(4):
        source = f"double bad_{n}(double x) {{ return x == {n} ? *(volatile double *)8 : x; }}"
        paths.append(tmp_path / f"{n}.pickle")
        paths[-1].write_bytes(um.dumps(um.compile_c(source)))
    shown = """
from ufunc_magic.runtime import loader
outcomes = []
for row in rows:
    for n in range(4):
        try:
            row[n][f"bad_{n}"](float(n))
        except um.CellCrashed:
            outcomes.append(row[n][f"bad_{n}"](9.0))
print(len(loader._containment), outcomes == [9.0] * 32)
"""
    assert elsewhere(AT_ONCE + shown, *map(str, paths)) == "1 True\n"


@without_gil
def test_loading_and_calling_leave_the_gil_off(tmp_path: Path) -> None:
    path = tmp_path / "f.pickle"
    path.write_bytes(um.dumps(um.compile_c("int plus_one(int n) { return n + 1; }")))
    program = (
        "import sys, numpy, ufunc_magic as um\nbefore = sys._is_gil_enabled()\n"
        "f = um.loads(open(sys.argv[1], 'rb').read()).plus_one\nprint(before, f(2), sys._is_gil_enabled())"
    )
    assert elsewhere(program, str(path), gil=None) == "False 3 False\n"


@without_gil
def test_a_new_cell_has_the_gil_only_by_tree_sitter() -> None:
    """Its release 0.26 asks for it; with PYTHON_GIL=0 it stays off, and each thread has parsers of its own."""
    program = (
        "import sys, warnings, ufunc_magic as um\nwarnings.simplefilter('always')\n"
        "print(um.c_ufunc('double f(double x) { return x + 1; }', force=True)(1.0), end=' ')\n"
    )
    assert elsewhere(f"{program}print(sys._is_gil_enabled())") == "2.0 False\n"
    shown = elsewhere(program, gil=None)
    modules = [line.partition("load module '")[2].partition("'")[0] for line in shown.splitlines() if "GIL" in line]
    assert modules in (["tree_sitter._binding"], [])
