"""What %%c_ufunc must reach: compile times, call overhead, bandwidth, rivals, threads, memory.

    python benchmarks/reach.py            everything, about five minutes
    python benchmarks/reach.py rivals     one part

Every ratio is of two things measured in turns in this one run; figures are medians.  Rivals that are not
installed are left out and named.  The result goes to benchmarks/results/reach.json.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

# Before numba and jax are imported: one thread each.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ["UFUNC_MAGIC_CACHE"] = tempfile.mkdtemp(prefix="ufunc-magic-reach-")

import machine
import numpy as np

import ufunc_magic as um
from ufunc_magic.compilers import toolchain

RESULTS = Path(__file__).parent / "results" / "reach.json"
CELL = "#include <math.h>\ndouble f(double a) {{ return a < 0.5 ? 4*a + exp(-a) : log(a) + {0}; }}\n"


def in_turns(calls: dict[str, Callable[[], Any]], *, rounds: int = 25, least: float = 200e-6) -> dict[str, float]:
    """Median seconds of each call, A B C A B C; short calls are repeated within a round."""
    repeats = {}
    for name, call in calls.items():
        call()
        start = time.perf_counter()
        call()
        repeats[name] = max(1, int(least / max(1e-9, time.perf_counter() - start)))
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            n = repeats[name]
            start = time.perf_counter()
            for _ in range(n):
                call()
            found[name].append((time.perf_counter() - start) / n)
    return {name: statistics.median(times) for name, times in found.items()}


def compiling() -> dict[str, Any]:
    """A new cell against the bare compiler on the unit that it generates; the same cell again."""
    taken: dict[str, Any] = {}
    um.compile_c(CELL.format(-1))  # compiles the driver, loads tree-sitter
    real = toolchain.compile_shared

    def noting(tool: Any, source: str, **keywords: Any) -> Any:
        objects = [str(p) for p in keywords["extra_sources"]]
        taken.update(source=source, objects=[Path(p).read_bytes() for p in objects], tool=tool, **keywords)
        return real(tool, source, **keywords)

    toolchain.compile_shared = noting
    um.compile_c(CELL.format(0))
    toolchain.compile_shared = real
    folder = Path(tempfile.mkdtemp())
    driver = folder / "driver.o"
    driver.write_bytes(taken["objects"][0])

    def bare(n: int) -> None:
        source = taken["source"].replace(CELL.format(0), CELL.format(n))
        command = [*taken["tool"].command, *taken["flags"], "-x", "c", "-", "-x", "none", str(driver), "-o"]
        subprocess.run([*command, str(folder / "o.so"), *taken["link"]], input=source.encode(), check=True)

    ours, gcc = [], []
    for n in range(1, 22):
        start = time.perf_counter()
        um.compile_c(CELL.format(n))
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        bare(n)
        gcc.append(time.perf_counter() - start)
    again = []
    for _ in range(50):
        start = time.perf_counter()
        um.compile_c(CELL.format(5))
        again.append(time.perf_counter() - start)
    script = (
        "import time, ufunc_magic as um, ufunc_magic.api, ufunc_magic.pipeline\n"
        f"s = {CELL.format(5)!r}\nt = time.perf_counter(); b = um.compile_c(s)\n"
        "print(time.perf_counter() - t, b.cached)"
    )
    fresh = []
    for _ in range(9):
        out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
        assert out[1] == "True"
        fresh.append(float(out[0]))
    return {
        "new cell, s": statistics.median(ours),
        "bare gcc, s": statistics.median(gcc),
        "new cell / bare gcc": statistics.median([a / b for a, b in zip(ours, gcc, strict=True)]),
        "same cell, same process, s": statistics.median(again),
        "same cell, new process, s": statistics.median(fresh),
    }


def importing() -> dict[str, Any]:
    """What %load_ext costs on top of IPython and NumPy."""
    script = (
        "import time, IPython, numpy; from IPython.core.interactiveshell import InteractiveShell as S; s = S()\n"
        "t = time.perf_counter(); s.run_line_magic('load_ext', 'ufunc_magic'); print(time.perf_counter() - t)"
    )
    times = [
        float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout)
        for _ in range(9)
    ]
    return {"load_ext, s": statistics.median(times)}


def overhead() -> dict[str, Any]:
    """One element, out= given."""
    f = um.c_ufunc("double f(double a, double b) { return a + b; }")
    x, y, out = np.ones(1), np.ones(1), np.empty(1)
    times = in_turns({"ours": lambda: f(x, y, out), "np.add": lambda: np.add(x, y, out)}, rounds=101)
    wave = um.c_ufunc(CELL.format(0))
    more = in_turns({"ours": lambda: wave(x, out), "np.exp": lambda: np.exp(x, out)}, rounds=101)
    return {
        "add, ns": times["ours"] * 1e9,
        "np.add, ns": times["np.add"] * 1e9,
        "ours / np.add": times["ours"] / times["np.add"],
        "exp-log branch / np.exp": more["ours"] / more["np.exp"],
    }


def streaming() -> dict[str, Any]:
    """a*b+c on 1e7 doubles against the bandwidth of np.add."""
    f = um.c_ufunc("double f(double a, double b, double c) { return a*b + c; }")
    n = 10_000_000
    a, b, c, out = (np.random.default_rng(k).random(n) for k in range(4))
    times = in_turns({"ours": lambda: f(a, b, c, out), "np.add": lambda: np.add(a, b, out)}, rounds=15)
    ours, numpys = 4 * 8 * n / times["ours"], 3 * 8 * n / times["np.add"]
    return {"a*b+c, GB/s": ours / 1e9, "np.add, GB/s": numpys / 1e9, "ours / np.add": ours / numpys}


#: C, NumPy, and Python over a math module, all of the same formula.
FORMULAS: dict[str, tuple[str, str, tuple[float, float]]] = {
    "4*a + exp(-a)": ("4*a + exp(-a)", "4*a + m.exp(-a)", (0.01, 2)),
    "a < 0.5 ? 4*a + exp(-a) : log(a)": (
        "a < 0.5 ? 4*a + exp(-a) : log(a)",
        "m.where(a < 0.5, 4*a + m.exp(-a), m.log(a))",
        (0.01, 2),
    ),
    "log(a) * a": ("log(a) * a", "m.log(a) * a", (0.01, 10)),
    "sin(a) + a": ("sin(a) + a", "m.sin(a) + a", (-10, 10)),
    "pow(a, 2.5) + a": ("pow(a, 2.5) + a", "a**2.5 + a", (0.01, 10)),
    "1 / (1 + exp(-a))": ("1 / (1 + exp(-a))", "1 / (1 + m.exp(-a))", (-5, 5)),
    "sqrt(a) * sin(a)": ("sqrt(a) * sin(a)", "m.sqrt(a) * m.sin(a)", (0.01, 10)),
    "tanh(a)": ("tanh(a)", "m.tanh(a)", (-3, 3)),
    "a*a + 3*a + 1": ("a*a + 3*a + 1", "a*a + 3*a + 1", (-3, 3)),
}


def rivals() -> dict[str, Any]:
    """1e6 doubles on one thread, against everything people use today."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    found: dict[str, Any] = {}
    missing = [name for name in ("numba", "jax", "Cython", "numexpr") if not importlib.util.find_spec(name)]
    cython = _cython_ufuncs() if "Cython" not in missing else {}
    for n, (name, (c, python, interval)) in enumerate(FORMULAS.items()):
        f = um.c_ufunc(f"#include <math.h>\ndouble f(double a) {{ return {c}; }}")
        a = np.random.default_rng(n).uniform(*interval, 1_000_000)
        out = np.empty_like(a)
        numpys = eval(f"lambda a: {python}", {"m": np})
        calls: dict[str, Callable[[], Any]] = {"ours": lambda f=f, a=a, out=out: f(a, out)}
        calls["numpy"] = lambda g=numpys, a=a: g(a)
        if "numba" not in missing:
            calls |= _numba(c, python, a, out)
        if "jax" not in missing:
            calls["jax"] = _jax(python, a)
        if cython:
            calls["cython.ufunc"] = lambda g=cython[f"f{n}"], a=a, out=out: g(a, out)
        if "numexpr" not in missing:
            calls["numexpr"] = _numexpr(python, a, out)
        np.testing.assert_allclose(f(a), numpys(a), rtol=1e-13, atol=1e-13)
        times = in_turns(calls, rounds=15)
        found[name] = {k: round(t * 1e3, 4) for k, t in times.items()} | {
            f"{k} / ours": round(t / times["ours"], 3) for k, t in times.items() if k != "ours"
        }
    return {"unit": "ms for 1e6 doubles, one thread", "not installed": missing, **found}


def _numba(c: str, python: str, a: Any, out: Any) -> dict[str, Callable[[], Any]]:
    import math

    import cffi
    import numba

    body = python.replace("m.where(a < 0.5, 4*a + m.exp(-a), m.log(a))", "4*a + m.exp(-a) if a < 0.5 else m.log(a)")
    vectorized = numba.vectorize(["f8(f8)"])(eval(f"lambda a: {body}", {"m": math}))
    # The answer people were given: the C function through cffi, called from numba.vectorize.
    folder = tempfile.mkdtemp()
    ffi = cffi.FFI()
    ffi.cdef("double c_f(double a);")
    name = f"cell_{abs(hash(c))}"
    ffi.set_source(name, f"#include <math.h>\ndouble c_f(double a) {{ return {c}; }}", extra_compile_args=["-O3"])
    ffi.compile(tmpdir=folder)
    sys.path.insert(0, folder)
    module = importlib.import_module(name)
    from numba.core.typing import cffi_utils

    cffi_utils.register_module(module)
    c_f = module.lib.c_f
    called = numba.vectorize(["f8(f8)"])(eval("lambda a: c_f(a)", {"c_f": c_f}))
    return {"numba.vectorize": lambda: vectorized(a, out), "cffi in numba": lambda: called(a, out)}


def _jax(python: str, a: Any) -> Callable[[], Any]:
    import jax
    import jax.numpy as jnp

    compiled = jax.jit(eval(f"lambda a: {python}", {"m": jnp}))
    x = jnp.asarray(a)
    return lambda: compiled(x).block_until_ready()


def _numexpr(python: str, a: Any, out: Any) -> Callable[[], Any]:
    import numexpr

    numexpr.set_num_threads(1)
    text = python.replace("m.", "")
    return lambda: numexpr.evaluate(text, {"a": a}, out=out)


def _cython_ufuncs() -> dict[str, Any]:
    """Every formula as @cython.ufunc, in one module."""
    import sysconfig

    folder = Path(tempfile.mkdtemp())
    lines = ["# cython: language_level=3, cdivision=True", "cimport cython", "from libc.math cimport *"]
    for n, (c, _, _) in enumerate(FORMULAS.values()):
        test, _, sides = c.partition("?")
        yes, _, no = sides.partition(":")
        body = f"{yes} if {test} else {no}" if sides else c
        lines.append(f"@cython.ufunc\ncdef double f{n}(double a) noexcept nogil:\n    return {body}")
    (folder / "rival.pyx").write_text("\n".join(lines))
    subprocess.run([sys.executable, "-m", "cython", "-3", "rival.pyx"], cwd=folder, check=True)
    includes = [f"-I{sysconfig.get_paths()['include']}", f"-I{np.get_include()}"]
    subprocess.run(
        ["gcc", "-O3", "-fPIC", "-shared", "-w", *includes, "rival.c", "-o", "rival.so", "-lm"], cwd=folder, check=True
    )
    sys.path.insert(0, str(folder))
    module = importlib.import_module("rival")
    return {f"f{n}": getattr(module, f"f{n}") for n in range(len(FORMULAS))}


def threads() -> dict[str, Any]:
    """--parallel on two cores against one thread, for functions bound by arithmetic.

    "machine" is what two Python threads reach that each call the one-thread ufunc on half of the elements: the most
    that these cores give (two hyperthreads of one core give little more than one).  "after a pause" is one call of
    100,000 elements, as a notebook makes it, whose second thread has to be woken.
    """
    found: dict[str, Any] = {}
    for name in ("pow(sin(a), 2.5) + exp(cos(a))", "erfc(a) * tgamma(a)"):
        cell = f"#include <math.h>\ndouble f(double a) {{ return {name}; }}"
        alone, both = um.compile_c(cell), um.compile_c(cell, parallel=2)
        with ThreadPoolExecutor(2) as pool:
            large, busy = _in_groups(alone.f, both.f, pool, size=1_000_000, calls=6, rounds=15)
            small, _ = _in_groups(alone.f, both.f, pool, size=100_000, calls=1, rounds=41)
        found[name] = {
            **{k: round(large[k], 3) for k in ("--parallel=2", "machine", "--parallel=2 / machine")},
            "after a pause": {k: round(small[k], 3) for k in ("--parallel=2", "machine")},
            "cores that other processes used": round(busy, 2),
        }
    return found


def _in_groups(
    alone: Any, both: Any, pool: Any, *, size: int, calls: int, rounds: int
) -> tuple[dict[str, float], float]:
    """Speed-ups over one thread, as medians of rounds, and the cores that other processes used meanwhile.

    Each way has a group of calls to itself, after a pause: idle threads of OpenMP spin for up to 15 ms, and took a
    core from whichever way came next.
    """
    a = np.random.default_rng(0).uniform(0.1, 2, size)
    out = np.empty_like(a)
    halves = [(a[: size // 2], out[: size // 2]), (a[size // 2 :], out[size // 2 :])]
    ways: dict[str, Callable[[], Any]] = {
        "one": lambda: alone(a, out),
        "two": lambda: both(a, out),
        "machine": lambda: list(pool.map(lambda pair: alone(*pair), halves)),
    }
    ratios: dict[str, list[float]] = {"--parallel=2": [], "machine": [], "--parallel=2 / machine": []}
    began, before = time.perf_counter(), _cpu_of_others()
    for number in range(rounds + 1):
        took = {}
        for name, call in ways.items():
            time.sleep(0.03)
            each = []
            for _ in range(calls):
                start = time.perf_counter()
                call()
                each.append(time.perf_counter() - start)
            took[name] = statistics.median(each)
        if number:  # the first round touches the memory and starts the threads
            ratios["--parallel=2"].append(took["one"] / took["two"])
            ratios["machine"].append(took["one"] / took["machine"])
            ratios["--parallel=2 / machine"].append(took["machine"] / took["two"])
    busy = (_cpu_of_others() - before) / (time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in ratios.items()}, max(0.0, busy)


def _cpu_of_others() -> float:
    """CPU seconds that everything but this process has had so far, other virtual machines too; Linux only."""
    if not Path("/proc/stat").exists():
        return float("nan")
    user, nice, system, _, _, irq, soft, steal, *_ = map(int, Path("/proc/stat").read_text().split()[1:11])
    return (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK") - time.process_time()


def memory() -> dict[str, Any]:
    """Peak memory of one call over 1e7 doubles (80 MB an array), out= given, contiguous and strided."""
    script = """
import resource, numpy as np, ufunc_magic as um
f = um.c_ufunc("#include <math.h>\\ndouble f(double a, double b) { return exp(a) * b; }")
a, b, out = np.ones(20_000_000), np.ones(20_000_000), np.ones(20_000_000)
f(a[:1000], b[:1000], out[:1000])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
f(a, b, out); f(a[::2], b[::2], out[::2]); f(a, 2.0, out)
print((peak() - before) / 1024)
"""
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    return {"growth, MB": float(out)}


PARTS = (compiling, importing, overhead, streaming, threads, memory, rivals)  # rivals pins the process


def main() -> None:
    wanted = sys.argv[1:] or [part.__name__ for part in PARTS]
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results["machine"] = machine.describe("numba", "jax", "cython", "numexpr", "ufunc_magic")
    for part in PARTS:
        if part.__name__ in wanted:
            results[part.__name__] = part()
            print(part.__name__, json.dumps(results[part.__name__], indent=1))
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
