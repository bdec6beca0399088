"""Threads, forks and pools: right results, whoever calls and whatever is built meanwhile."""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import python_path, run_python
from ufunc_magic import pipeline as build

pytestmark = pytest.mark.usefixtures("shared_cache")

THREADS = 16
NEEDS_CYTHON = pytest.mark.skipif(not importlib.util.find_spec("Cython"), reason="Cython is not installed")

CELL = """
#include <math.h>
double wave(double x) { return exp(-x) + 2 * x; }
int twice(int x) { return 2 * x; }
// ufunc: (n),(n)->()
double dot(const double *a, const double *b, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}
"""


@pytest.fixture
def _switching() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(action: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """Run ``action`` in ``count`` threads that start together."""
    gate = threading.Barrier(count)

    def run(n: int) -> Any:
        gate.wait(timeout=300)
        return action(n)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def calls(made: Any) -> dict[str, Callable[[np.ndarray], Any]]:
    """Every way into the driver, as calls of one array."""
    return {
        "contiguous": made.wave,
        "strided": lambda x: made.wave(x[::-2]),
        "in place": lambda x: made.wave(x, out=x.copy()),
        "cast": lambda x: made.wave(x.astype("f4")),
        "narrow": lambda x: made.twice(x.astype("i4")),
        "promoted": lambda x: made.twice(int(x[0])),
        "generalized": lambda x: made.dot(x.reshape(-1, 10), x.reshape(-1, 10)[:, ::-1]),
        "reduced": lambda x: made.dot(x, x),
    }


# ------------------------------------------------------------------------------------------- calls


@pytest.mark.usefixtures("_switching")
@pytest.mark.parametrize("way", [
    "contiguous", "strided", "in place", "cast", "narrow", "promoted", "generalized", "reduced",
])  # fmt: skip
def test_sixteen_threads_call_at_once(way):
    call = calls(um.compile_c(CELL))[way]

    def run(n: int) -> bool:
        x = np.arange(1000.0) + n
        expected = call(x)
        return all(np.array_equal(call(x), expected) for _ in range(25))

    alone = [call(np.arange(1000.0) + n) for n in range(THREADS)]
    assert at_once(run) == [True] * THREADS
    np.testing.assert_array_equal(at_once(lambda n: call(np.arange(1000.0) + n)), alone)


@pytest.mark.usefixtures("_switching")
def test_sixteen_threads_call_a_loop_that_has_threads_of_its_own():
    f = um.c_ufunc("double f(double x) { return x * x + 1; }", parallel=2)

    def run(n: int) -> bool:
        x = np.arange(20_000.0) + n
        return all(np.array_equal(f(x), x * x + 1) for _ in range(15))

    assert at_once(run) == [True] * THREADS


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [False, 2])
@pytest.mark.usefixtures("_switching")
def test_an_exception_belongs_to_the_thread_whose_call_raised_it(parallel):
    f = um.c_ufunc(
        "#include <stdexcept>\n#include <string>\ndouble f(double x) "
        "{ if (x < 0) throw std::domain_error(std::to_string((int)x)); return x + 1; }",
        cplus=True,
        parallel=parallel,
    )

    def run(n: int) -> bool:
        x = np.ones(3000)
        if n % 2:
            x[::500] = -n
        for _ in range(15):
            if n % 2:
                with pytest.raises(ValueError, match=f"-{n}(\\D|$)"):
                    f(x)
            else:
                assert (f(x) == 2).all()
        return True

    assert at_once(run) == [True] * THREADS


@NEEDS_CYTHON
@pytest.mark.cython
@pytest.mark.usefixtures("_switching")
def test_exceptions_of_a_cython_cell_in_sixteen_threads():
    f = um.compile_cython(
        "cdef double f(double x) except? -1:\n    if x < 0:\n        raise ValueError(x)\n    return x + 1\n"
    ).f

    def run(n: int) -> bool:
        x = np.full(500, -float(n) if n % 2 else 1.0)
        for _ in range(15):
            if n % 2:
                with pytest.raises(ValueError, match=f"^-{n}.0$"):
                    f(x)
            else:
                assert (f(x) == 2).all()
        return True

    assert at_once(run) == [True] * THREADS


def test_floating_point_errors_are_those_of_the_threads_own_call():
    f = um.c_ufunc("double f(double x) { return 1 / x; }")

    def run(n: int) -> bool:
        x = np.full(300, 0.0 if n % 2 else 1.0)
        for _ in range(15):
            with np.errstate(all="raise"):
                if n % 2:
                    with pytest.raises(FloatingPointError):
                        f(x)
                else:
                    f(x)
        return True

    assert at_once(run) == [True] * THREADS


# --------------------------------------------------------------------------------- building meanwhile


@pytest.mark.slow
def test_calls_go_on_while_another_thread_compiles():
    made = um.compile_c(CELL)
    x = np.arange(1000.0)
    expected = made.wave(x)
    done = threading.Event()

    def compiles() -> list[float]:
        try:
            return [um.c_ufunc(f"double f(double x) {{ return x + {n} + 0.5; }}")(1.0) for n in range(4)]
        finally:
            done.set()

    def loop(_: int) -> int:
        count = 0
        while not done.is_set():
            assert np.array_equal(made.wave(x), expected)
            count += 1
        return count

    with ThreadPoolExecutor(5) as pool:
        compiling = pool.submit(compiles)
        counts = list(pool.map(loop, range(4)))
    assert compiling.result() == [1.5, 2.5, 3.5, 4.5]
    assert min(counts) > 0


@pytest.mark.slow
def test_threads_that_build_the_same_cell_get_functions_that_are_right():
    cell = f"double f(double x) {{ return x + 1; }} // {os.urandom(8).hex()}"
    made = at_once(lambda n: um.compile_c(cell), 4)
    assert [b.f(1.0) for b in made] == [2.0] * 4
    assert um.compile_c(cell).cached
    assert len({b.object_code.code_digest for b in made}) == 1


@pytest.mark.slow
def test_threads_that_build_different_cells_get_their_own():
    made = at_once(lambda n: um.c_ufunc(f"double f(double x) {{ return x + {n} + 0.25; }}"), 6)
    assert [f(1.0) for f in made] == [n + 1.25 for n in range(6)]


@NEEDS_CYTHON
@pytest.mark.cython
@pytest.mark.slow
def test_threads_that_build_cython_cells_get_their_own():
    def one(n: int) -> Any:
        return um.compile_cython(f"def f(double x): return x + {n // 2}\n")

    made = at_once(one, 4)
    assert [b.f(1.0) for b in made] == [1.0, 1.0, 2.0, 2.0]


@pytest.mark.usefixtures("_switching")
def test_builds_that_are_forgotten_while_others_are_made(monkeypatch):
    """The map of builds is full, and every thread makes room in it."""
    cells = [f"double f(double x) {{ return x + {n}; }}" for n in range(6)]
    for cell in cells:
        um.c_ufunc(cell)
    monkeypatch.setattr(build, "MOST_BUILDS", 2)

    def run(n: int) -> bool:
        return all(um.c_ufunc(cells[(n + k) % 6])(1.0) == 1 + (n + k) % 6 for k in range(25))

    assert at_once(run) == [True] * THREADS


@pytest.mark.usefixtures("_switching")
def test_threads_that_load_the_same_bytes_get_the_same_function():
    """In a new process, which has loaded none of them."""
    cells = [um.dumps(um.c_ufunc(f"double f(double x) {{ return x + {n}; }}")) for n in range(5)]
    program = f"""
import pickle, sys, threading
from concurrent.futures import ThreadPoolExecutor
import ufunc_magic as um
sys.setswitchinterval(1e-6)
gate = threading.Barrier({THREADS})
def load(data):
    gate.wait(timeout=300)
    return um.loads(data)
with ThreadPoolExecutor({THREADS}) as pool:
    for data in pickle.load(sys.stdin.buffer):
        print(len(set(map(id, pool.map(load, [data] * {THREADS})))))
"""
    assert run_python(program, input=pickle.dumps(cells)).stdout.split() == ["1"] * 5


# ---------------------------------------------------------------------------------- forks and pools


def script(text: str) -> str:
    """Run a program of a user's; its output."""
    return run_python(text, options=("-W", "ignore")).stdout.strip()


FORKS = """
import os, pickle, signal, threading, time
import numpy as np
import ufunc_magic as um

def forked(action):
    number = os.fork()
    if number == 0:
        signal.alarm(90)  # a child that hangs is an error, not a wait
        try:
            os._exit(0 if action() else 1)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(2)
    return number

def statuses(numbers):
    return [os.waitstatus_to_exitcode(os.waitpid(n, 0)[1]) for n in numbers]
"""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@needs_fork
@pytest.mark.slow
def test_children_of_a_fork_call_build_and_load():
    said = script(
        FORKS
        + """
f = um.c_ufunc("double f(double x) { return x * x; }", parallel=2)
g = um.c_ufunc("double g(double x) { return x + 1; }")
x = np.arange(50_000.0)
f(x)  # its threads run
data = pickle.dumps(g)

def child():
    same = all(np.array_equal(f(x), x * x) for _ in range(5)) and np.array_equal(g(x), x + 1)
    new = um.c_ufunc(f"double h(double x) {{ return x - {os.getpid()}; }}")(1.0) == 1 - os.getpid()
    return same and new and pickle.loads(data) is g

print(statuses([forked(child) for _ in range(4)]), f(3.0), statuses([forked(lambda: True)]))
"""
    )
    assert said == "[0, 0, 0, 0] 9.0 [0]"


@needs_fork
@pytest.mark.slow
def test_a_child_forked_while_another_thread_compiles_builds_and_calls():
    said = script(
        FORKS
        + """
g = um.c_ufunc(f"double g(double x) {{ return x + 1; }} // {time.time()}")  # what a new cell imports is there
stop = threading.Event()
failed = []

def compiles(k):
    n = 0
    while not stop.is_set():
        n += 1
        if um.c_ufunc(f"double f(double x) {{ return x + {n} + {k}000; }}")(0.0) != n + k * 1000:
            failed.append(n)

threads = [threading.Thread(target=compiles, args=(k,)) for k in range(2)]
for thread in threads:
    thread.start()

def child():
    return g(1.0) == 2 and um.c_ufunc("double h(double x) { return x - 1; }")(1.0) == 0

numbers = []
for _ in range(6):
    time.sleep(0.06)
    numbers.append(forked(child))
said = statuses(numbers)
stop.set()
for thread in threads:
    thread.join()
print(said, failed)
"""
    )
    assert said == "[0, 0, 0, 0, 0, 0] []"


@needs_fork
@NEEDS_CYTHON
@pytest.mark.cython
@pytest.mark.slow
def test_a_child_forked_while_another_thread_loads_can_load(tmp_path):
    """A module's own statements run while it is opened, and may take their time."""
    waiting = um.compile_cython(
        "import builtins\ngetattr(builtins, 'wait_here', int)()\ndef f(double x): return x + 1\n"
    ).f
    (tmp_path / "waiting").write_bytes(um.dumps(waiting))
    (tmp_path / "quick").write_bytes(um.dumps(um.c_ufunc("double q(double x) { return x + 2; }")))
    said = script(
        FORKS
        + f"""
import builtins
waiting, quick = (open({str(tmp_path)!r} + name, "rb").read() for name in ("/waiting", "/quick"))
inside, go_on = threading.Event(), threading.Event()
builtins.wait_here = lambda: (inside.set(), go_on.wait(300))
loading = threading.Thread(target=um.loads, args=(waiting,))
loading.start()
inside.wait(300)
print(statuses([forked(lambda: um.loads(quick)(1.0) == 3)]))
go_on.set()
loading.join()
"""
    )
    assert said == "[0]"


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_ufunc_is_the_function_of_a_process_pool(method, tmp_path):
    if method != "spawn" and not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    program = tmp_path / "program.py"
    program.write_text(
        """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import ufunc_magic as um

if __name__ == "__main__":
    f = um.c_ufunc("double f(double x) { if (x < 0) throw 1; return x * x; }", cplus=True, parallel=2)
    f(np.arange(50_000.0))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(sys.argv[1])) as pool:
        found = list(pool.map(f, [np.arange(1000.0) + n for n in range(20)]))
        caught = type(pool.submit(f, -1.0).exception()).__name__
        back = pool.submit(f, 3.0).result()
    print(all(np.array_equal(r, (np.arange(1000.0) + n) ** 2) for n, r in enumerate(found)), caught, back)
"""
    )
    environment = {**os.environ, "PYTHONPATH": python_path(), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, str(program), method]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "True RuntimeError 9.0"), done.stderr


def test_a_thread_pool_maps_a_ufunc():
    f = um.c_ufunc("double f(double x) { return x * x; }")
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(f, [np.arange(1000.0) + n for n in range(200)]))
    np.testing.assert_array_equal(found, [(np.arange(1000.0) + n) ** 2 for n in range(200)])


def test_sixteen_threads_with_an_unusable_cache_get_one_note(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("UFUNC_MAGIC_CACHE", str(tmp_path / "file"))
    from ufunc_magic import store as cache

    store = cache.open_default()
    with pytest.warns(cache.CacheWarning, match="is not a folder") as caught:
        made = at_once(lambda n: store.publish(cache.make_key([str(n)]), record=b"r", code=b"%d" % n))
    assert len(caught) == 1
    assert [entry.library.read_bytes() for entry in made] == [b"%d" % n for n in range(THREADS)]
