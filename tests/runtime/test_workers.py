"""Compiled functions on workers without a compiler: a pool that loses one, and Dask, with nothing registered."""

from __future__ import annotations

import importlib.util
import itertools
import os
import pickle
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um

# They take seconds to import, which those who run other tests need not wait for.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (importlib.util.find_spec("distributed") and importlib.util.find_spec("dask")),
        reason="Dask's distributed is not installed (extra: test)",
    ),
    # Dask and Tornado warn about ports, event loops and workers that are lost.
    pytest.mark.filterwarnings("ignore"),
]

SOURCE = """
#include <math.h>

// Collatz steps from n to 1: a loop that no array expression replaces.
long long steps(long long n) {
    long long count = 0;
    while (n > 1) { n = n % 2 ? 3 * n + 1 : n / 2; count++; }
    return count;
}

double wave(double x) { return sin(x) + 2 * cos(x); }

// ufunc: (n),(n)->()
double dot(const double *a, const double *b, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}
"""
#: Packages that a worker does not have: each is there, and cannot be imported.
ABSENT = ("numba", "llvmlite", "Cython", "ziglang", "tree_sitter", "IPython")


class Pool:
    """Dask workers that are processes of their own, with nothing of this one's environment but Python itself."""

    def __init__(self, folder: Path) -> None:
        import distributed

        self.cluster = distributed.LocalCluster(n_workers=0, processes=True, dashboard_address=None, protocol="tcp")
        self.client = distributed.Client(self.cluster)
        self._folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._names = (f"worker-{n}" for n in itertools.count())
        for name in ABSENT:
            (folder / f"{name}.py").write_text(f"raise ImportError('{name} is not on this machine')\n")

    def start(self, count: int) -> None:
        here = str(Path(um.__file__).parent.parent)
        kept = {name: os.environ[name] for name in ("SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ}
        environment = {
            **kept,
            "PATH": "",
            "HOME": str(self._folder),
            "PYTHONPATH": os.pathsep.join((str(self._folder), here)),
            "UFUNC_MAGIC_CACHE": str(self._folder / "cache"),
            "DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "false",
        }
        for name in itertools.islice(self._names, count):
            command = [sys.executable, "-m", "distributed.cli.dask_worker", self.cluster.scheduler_address]
            command += ["--name", name, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
            command += ["--local-directory", str(self._folder / name), "--host", "127.0.0.1", "--memory-limit", "0"]
            log = (self._folder / f"{name}.log").open("wb")
            self._processes[name] = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            log.close()
        self.client.wait_for_workers(len(self._processes), timeout=300)

    def kill_one(self) -> None:
        """End a worker without a word, as a machine that lost its power."""
        _, process = self._processes.popitem()
        process.kill()
        process.wait()

    def close(self) -> None:
        self.client.close()
        for process in self._processes.values():
            process.kill()
            process.wait()
        self.cluster.close()


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    made = Pool(tmp_path_factory.mktemp("workers"))
    made.start(4)
    yield made
    made.close()


@pytest.fixture
def client(pool: Pool) -> Any:
    return pool.client


def built() -> Any:
    return um.compile_c(SOURCE)


def surroundings() -> tuple[list[str | None], list[str], list[str]]:
    """What a worker has to compile with; runs there."""
    missing = []
    for name in ("numba", "llvmlite", "Cython", "ziglang", "tree_sitter"):
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    loaded = [name for name in sys.modules if name.startswith(("ufunc_magic.compilers", "ufunc_magic.cells"))]
    return [shutil.which(name) for name in ("cc", "gcc", "clang", "cl")], missing, loaded


@pytest.mark.nightly
def test_thousand_tasks_are_right_though_a_worker_is_lost(pool: Pool, tmp_path: Path) -> None:
    from distributed import as_completed

    steps, wave, lost = built().steps, built().wave, tmp_path / "lost"

    def task(n: int) -> tuple[int, int, float]:
        while n >= 500 and not lost.exists():  # a worker is lost while tasks wait
            time.sleep(0.01)
        numbers = np.arange(1 + 30 * n, 1 + 30 * (n + 1))
        return n, int(steps(numbers).sum()), float(wave(n / 10))

    futures = pool.client.map(task, range(1000), pure=False)
    done = as_completed(futures)
    for _ in range(250):
        next(done)
    pool.kill_one()
    assert sum(not future.done() for future in futures) > 250
    lost.touch()
    found = pool.client.gather(futures)
    pool.start(1)
    assert found == [task(n) for n in range(1000)]


def test_workers_could_not_have_compiled_anything(client: Any) -> None:
    assert client.submit(built().wave, 0.0, pure=False).result() == 2
    found = client.run(surroundings)
    assert list(found.values()) == [([None] * 4, ["numba", "llvmlite", "Cython", "ziglang", "tree_sitter"], [])] * 4


def test_ufunc_of_a_dask_array_is_a_dask_array(client: Any) -> None:
    import dask.array as da

    x = np.linspace(0, 9, 10_001)
    lazy = built().wave(da.from_array(x, chunks=1000))
    assert isinstance(lazy, da.Array)
    assert (lazy.dtype, lazy.chunks[0][0]) == (np.float64, 1000)
    np.testing.assert_array_equal(lazy.compute(), built().wave(x))


def test_map_blocks_and_blockwise_take_a_ufunc(client: Any) -> None:
    import dask.array as da

    x = da.arange(2000, chunks=300)
    expected = built().steps(np.arange(2000))
    np.testing.assert_array_equal(da.map_blocks(built().steps, x, dtype="i8").compute(), expected)
    np.testing.assert_array_equal(da.blockwise(built().steps, "i", x, "i", dtype="i8").compute(), expected)


def test_apply_gufunc_has_core_dimensions(client: Any) -> None:
    import dask.array as da

    a, b = np.arange(24.0).reshape(6, 4), np.arange(24.0, 48).reshape(6, 4)
    dot = built().dot
    lazy = [da.from_array(array, chunks=(2, 4)) for array in (a, b)]
    np.testing.assert_array_equal(da.apply_gufunc(dot, dot.signature, *lazy, output_dtypes=float).compute(), dot(a, b))


def test_submit_and_map_take_a_ufunc(client: Any) -> None:
    assert client.submit(built().steps, 27).result() == 111
    assert client.gather(client.map(built().steps, [1, 2, 3])) == [0, 1, 7]


def test_equal_calls_are_one_task(client: Any) -> None:
    """Dask's key of a call is made of the token of the function."""
    assert client.submit(built().steps, 97).key == client.submit(um.compile_c(SOURCE).steps, 97).key
    assert client.submit(built().steps, 97).key != client.submit(built().wave, 97).key


def test_a_whole_build_is_an_argument(client: Any) -> None:
    def both(build: Any, x: float) -> float:
        return float(build.wave(x) + build["steps"](3))

    assert client.submit(both, built(), 0.0).result() == 9


def test_a_function_that_a_worker_returns_is_the_one_of_home(client: Any) -> None:
    f = built().wave
    assert client.submit(lambda g: g, f).result() is f


@pytest.mark.skipif(
    not importlib.util.find_spec("pyarrow") or not importlib.util.find_spec("pandas"),
    reason="Dask's data frames need pandas and PyArrow",
)
def test_columns_of_a_dask_data_frame_are_operands(client: Any) -> None:
    import dask.dataframe as dd
    import pandas as pd

    frame = pd.DataFrame({"n": np.arange(1, 100), "x": np.linspace(0, 1, 99)})
    lazy = dd.from_pandas(frame, npartitions=3)
    pd.testing.assert_series_equal(built().wave(lazy.x).compute(), built().wave(frame.x))
    counted = lazy.n.map_partitions(built().steps, meta=("n", "i8"))
    pd.testing.assert_series_equal(counted.compute(), built().steps(frame.n))


def test_exceptions_of_a_cell_come_home(client: Any) -> None:
    f = um.c_ufunc(
        '#include <stdexcept>\ndouble root(double x) { if (x < 0) throw std::domain_error("negative"); return x; }',
        cplus=True,
    )
    with pytest.raises(ValueError, match="negative"):
        client.submit(f, [-1.0]).result()


@pytest.mark.cython
@pytest.mark.skipif(not importlib.util.find_spec("Cython"), reason="Cython is not installed (extra: cython)")
def test_cython_cells_work_on_workers_that_have_no_cython(client: Any) -> None:
    made = um.compile_cython(
        """
class TooDeep(ValueError):
    pass

cdef double root(double x) except? -1:
    if x < 0:
        raise TooDeep(x)
    return x ** 0.5

cdef class Total:
    cdef public double value
    cpdef Total plus(self, double x):
        self.value += x
        return self
"""
    )
    assert client.submit(made.root, 9.0).result() == 3
    total = client.submit(made.Total.plus, made.Total(), 4.0).result()
    assert type(total) is made.Total
    assert total.value == 4
    with pytest.raises(made.TooDeep):
        client.submit(made.root, -1.0).result()


def test_ray_calls_a_ufunc() -> None:
    from support import run_python  # workers import this file, and have no IPython for `support`

    if not importlib.util.find_spec("ray"):
        pytest.skip("Ray is not installed")
    script = """
import pickle, sys
import ray
f = pickle.load(sys.stdin.buffer)
ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False)
call = ray.remote(lambda g, x: float(g(x)))
print(ray.get(call.remote(f, 0.0)))
ray.shutdown()
"""
    ran = run_python(script, input=pickle.dumps(built().wave))
    assert ran.stdout.splitlines()[-1] == "2.0"
