"""What compiled functions that travel must reach: size, bytes to callable, the first call on a Dask worker.

    python benchmarks/travel.py            everything, about two minutes
    python benchmarks/travel.py loading    one part

Numba compiles the same functions in processes of the same kind.  Every ratio is of two things measured in turns in
this one run; figures are medians.  What is not installed is left out and named.  The result goes to
benchmarks/results/travel.json.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["UFUNC_MAGIC_CACHE"] = tempfile.mkdtemp(prefix="ufunc-magic-travel-")

import machine
import numpy as np

import ufunc_magic as um

RESULTS = Path(__file__).parent / "results" / "travel.json"
LINE = "double f(double a) {{ return 2*a + {0}; }}\n"
MATH = "#include <math.h>\ndouble f(double a) {{ return a < 0.5 ? 4*a + exp(-a) : log(a) + {0}; }}\n"

#: Unpickles many functions and calls each; says how long each took, the first apart.
LOAD = """
import pickle, statistics, sys, time
import numpy as np
import ufunc_magic.serialize
from ufunc_magic import loads
data = pickle.load(sys.stdin.buffer)
took = []
for n, one in enumerate(data):
    start = time.perf_counter()
    f = loads(one)
    took.append(time.perf_counter() - start)
    assert f(1.0) == 2 + n
print(took[0], statistics.median(took[1:]))
"""
COMPILE = """
import statistics, sys, time
import numpy as np
start = time.perf_counter()
import numba
imported = time.perf_counter() - start
took = []
for n in range(5):
    start = time.perf_counter()
    f = numba.vectorize(["f8(f8)"])(eval(f"lambda a: 2*a + {n}"))
    took.append(time.perf_counter() - start)
    assert f(1.0) == 2 + n
print(imported, took[0], statistics.median(took[1:]))
"""
IMPORT = """
import time
import numpy
start = time.perf_counter()
import ufunc_magic.serialize
print(time.perf_counter() - start)
"""


def size() -> dict[str, Any]:
    """Bytes of a payload."""
    found = {}
    for name, cell in (("one line", LINE.format(0)), ("exp and log", MATH.format(0))):
        f = um.c_ufunc(cell)
        found[name] = {"dumps": len(um.dumps(f)), "without source": len(um.dumps(f, source=False))}
        found[name]["pickle"] = len(pickle.dumps(f))
    return found


def loading(rounds: int = 9, functions: int = 60) -> dict[str, Any]:
    """Bytes to callable in new processes, against Numba there; each function is another one."""
    data = pickle.dumps([um.dumps(um.c_ufunc(LINE.format(n))) for n in range(functions)])
    scripts = {"loads": LOAD, "import ufunc_magic": IMPORT}
    if importlib.util.find_spec("numba"):
        scripts["numba"] = COMPILE
    found: dict[str, list[list[float]]] = {name: [] for name in scripts}
    for _ in range(rounds):
        for name, script in scripts.items():
            command = [sys.executable, "-c", script]
            out = subprocess.run(command, input=data, capture_output=True, check=True).stdout
            found[name].append([float(word) for word in out.split()])
    middle = {
        name: [statistics.median(column) * 1e3 for column in zip(*rows, strict=True)] for name, rows in found.items()
    }
    first, later = middle["loads"]
    quietest = min(again for _, again in found["loads"]) * 1e3
    result = {
        "import ufunc_magic.serialize, ms": middle["import ufunc_magic"][0],
        "loads, first in a process, ms": first,
        "loads, ms": later,
        "loads, ms, in the process that was disturbed least": quietest,
    }
    if "numba" in middle:
        imported, compiled, again = middle["numba"]
        result |= {
            "import numba, ms": imported,
            "numba, first in a process, ms": compiled,
            "numba, ms": again,
            "first: numba / loads": compiled / first,
            "later: numba / loads": again / later,
            "with the import: numba / loads": (imported + compiled) / (middle["import ufunc_magic"][0] + first),
        }
    else:
        result["not installed"] = ["numba"]
    return result


def worker(rounds: int = 120) -> dict[str, Any]:
    """The first call of a function on a Dask worker, from submit to result, against a NumPy ufunc's first."""
    if not importlib.util.find_spec("distributed"):
        return {"not installed": ["distributed"]}
    import dask
    from distributed import Client, LocalCluster

    ours = [um.c_ufunc(LINE.format(n)) for n in range(rounds + 20)]
    pickle.dumps(ours)  # the first pickle compiles the portable object, which is no part of the way
    ufuncs = [f for f in vars(np).values() if isinstance(f, np.ufunc) and f.nin == f.nout == 1 and "d->d" in f.types]
    unary = [f for f in ufuncs if f is not np.arccosh]  # of 0.5 is none
    settings = {"dashboard_address": None, "silence_logs": logging.CRITICAL, "env": {"PATH": ""}}
    # A cluster gives up on a worker that is away 15 s after it was restarted; here it may be away for the next time.
    patient = dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    with patient, LocalCluster(n_workers=1, threads_per_worker=1, **settings) as cluster, Client(cluster) as client:

        def first(function: Any, value: float) -> float:
            start = time.perf_counter()
            client.submit(function, value, pure=False).result()
            return 1e3 * (time.perf_counter() - start)

        cold: dict[str, list[float]] = {"ours": [], "numpy": []}
        for n in range(5):
            for name, function in (("ours", ours[-1 - n]), ("numpy", unary[n])):
                client.restart()
                cold[name].append(first(function, 0.5))
        for function in (ours[-6], np.sin):
            first(function, 1.0)
        taken = []
        for n in range(rounds):
            pair = {"ours": ours[n], "numpy": unary[n % len(unary)]}
            names = list(pair) if n % 2 else list(pair)[::-1]
            taken.append({name: first(pair[name], 0.5) for name in names})
    # The way to a worker and back takes 10 ms, and the noise of that is more than what is looked for.
    quartile = {name: statistics.quantiles(pair[name] for pair in taken)[0] for name in ("ours", "numpy")}
    return {
        "ours, ms": statistics.median(pair["ours"] for pair in taken),
        "numpy, ms": statistics.median(pair["numpy"] for pair in taken),
        "later by, ms": statistics.median(pair["ours"] - pair["numpy"] for pair in taken),
        "later by, of the lower quartiles, ms": quartile["ours"] - quartile["numpy"],
        "worker just started, ours (with the import), ms": statistics.median(cold["ours"]),
        "worker just started, numpy, ms": statistics.median(cold["numpy"]),
    }


PARTS = (size, loading, worker)


def main() -> None:
    wanted = sys.argv[1:] or [part.__name__ for part in PARTS]
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results["machine"] = machine.describe("numba", "dask", "ufunc_magic")
    for part in PARTS:
        if part.__name__ in wanted:
            results[part.__name__] = part()
            print(part.__name__, json.dumps(results[part.__name__], indent=1))
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
