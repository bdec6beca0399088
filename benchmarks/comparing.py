"""Comparisons against pyperf on the same functions, and what they cost.

``python benchmarks/comparing.py [--json FILE]``, with pyperf installed.

Three figures: the medians of `ufunc_magic.compare` over those of pyperf, each in many processes in turns (on a shared
machine some processes run at two thirds of the speed of others, from start to end, under either); what the harness adds
to a call of a microsecond; seconds of the default comparison and of one over seven decades.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import machine
import numpy as np
import pyperf

import ufunc_magic
from ufunc_magic.bench import compare
from ufunc_magic.bench.rounds import Call, Pace, measure

#: Where arrays lie to each other, modulo 4 kB, decides a fifth of the time of what writes temporaries, and depends on
#: what a process did before.  So all of them have their places in one.
SETUP = """
import numpy as np
whole = np.empty(40_000)
start = -whole.ctypes.data % 4096 // 8
x, a, b = (whole[start + k * 10_880 :][:10_000] for k in range(3))
x[:] = np.linspace(0.1, 2.0, x.size)
"""
STATEMENTS = {
    "sqrt": "np.sqrt(x, out=a)",
    "exp": "np.exp(x, out=a)",
    "expression": "np.add(np.multiply(x, 4, out=a), np.exp(np.negative(x, out=b), out=b), out=a)",
    "python": "sum(map(float, x[:1000]))",
}
EXPRESSION = "np.where(x < 0.5, 4 * x + np.exp(-x), np.log(x))"
X = np.linspace(0.1, 2.0, 10_000)


#: One process of `compare`: prints the median.
OURS = """
import sys
from ufunc_magic.bench import compare
exec(sys.argv[1])
print(compare({"f": eval(f"lambda x: {sys.argv[2]}")}, x, budget=1.0).rows[0].seconds)
"""


def by_pyperf(statement: str) -> float:
    """Median of one process of ``pyperf timeit``."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found.json"
        few = ["-p", "1", "-n", "5", "-w", "1", "--quiet", "-o", str(file)]
        command = [sys.executable, "-m", "pyperf", "timeit", *few, "-s", SETUP, statement]
        subprocess.run(command, check=True, capture_output=True)
        return float(pyperf.Benchmark.load(str(file)).median())


def by_compare(statement: str) -> float:
    """Median of a comparison in a process of its own."""
    command = [sys.executable, "-c", OURS, SETUP, statement]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


def accuracy(turns: int) -> dict[str, float]:
    """Function -> our median over pyperf's, the medians of ``turns`` processes each."""
    found: dict[str, float] = {}
    for name, statement in STATEMENTS.items():
        taken = [(by_compare(statement), by_pyperf(statement)) for _ in range(turns)]
        ours, theirs = (statistics.median(column) for column in zip(*taken, strict=True))
        found[name] = ours / theirs
    return found


def overhead(turns: int = 21) -> float:
    """What the harness says of a call of about a microsecond, over the same in a plain loop; less 1."""
    x = np.linspace(0, 1, 1000)
    number, ratios, function = 1000, [], np.sqrt  # a name of its own, as the harness has
    for _ in range(turns):
        now = time.perf_counter()
        pace = Pace(now + 0.05, sample=1e-3)
        (timing,) = measure([Call(np.sqrt, (x,))], clock=time.perf_counter, pace=pace)
        plain = []
        for _ in range(15):
            start = time.perf_counter()
            for _ in range(number):
                function(x)
            plain.append((time.perf_counter() - start) / number)
        ratios.append(timing.seconds / statistics.median(plain))
    return statistics.median(ratios) - 1


def durations() -> dict[str, float]:
    """Seconds that comparisons take, the machine's limits known."""
    build = ufunc_magic.compile_c("double f(double a) { return a < 0.5 ? 4*a + __builtin_exp(-a) : __builtin_log(a); }")
    calls = {"ufunc": build["f"], "expression": f"lambda x: {EXPRESSION}"}
    compare(calls, X, budget=0.1)
    found = {}
    for name, sizes in (("one size", None), ("10:1e7", "10:1e7"), ("1:1e7", "1:1e7")):
        start = time.perf_counter()
        compare(calls, X, sizes=sizes)
        found[name] = time.perf_counter() - start
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--turns", type=int, default=30)
    arguments = parser.parse_args()
    results = {
        "machine": machine.describe("pyperf"),
        "compare over pyperf": accuracy(arguments.turns),
        "overhead of the harness": overhead(),
        "seconds": durations(),
    }
    text = json.dumps(results, indent=2)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
