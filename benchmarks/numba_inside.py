"""What a call of our ufuncs costs inside ``@njit``, beside the same function written in Numba.

    python benchmarks/numba_inside.py

A loop over an array, one scalar call per element; figures are the best of many, in ns per element.  "opaque" is Numba's own
function that is not inlined: what any call costs.  The result goes to benchmarks/results/numba_inside.json.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

import ufunc_magic as um
from ufunc_magic.interop import numbaufunc

RESULTS = Path(__file__).parent / "results" / "numba_inside.json"
CELL = """
#include <math.h>
double poly(double a) { return a*a*3.0 + a*2.0 + 1.0; }
double branch(double a) { return a < 0.5 ? 4*a + exp(-a) : log(a); }
double newton(double a) { double x = a; for (int i = 0; i < 20; i++) x = 0.5*(x + a/x); return x; }
int bits(int a) { int n = 0; while (a) { a &= a - 1; n++; } return n; }
"""


def poly(a: float) -> float:
    return a * a * 3.0 + a * 2.0 + 1.0


def branch(a: float) -> float:
    return 4 * a + math.exp(-a) if a < 0.5 else math.log(a)


def newton(a: float) -> float:
    x = a
    for _ in range(20):
        x = 0.5 * (x + a / x)
    return x


def over(f: Any) -> Callable[..., float]:
    """A compiled loop that calls ``f`` for each element."""

    @numba.njit
    def total(x: Any) -> float:
        s = 0.0
        for value in x:
            s += f(value)
        return s

    return total


def chain(f: Any) -> Callable[..., float]:
    """A compiled loop in which each call waits for the one before."""

    @numba.njit
    def last(x: Any) -> float:
        s = 0.0
        for value in x:
            s = f(value + s * 1e-30)
        return s

    return last


def measured(functions: dict[str, Callable[..., float]], x: Any) -> dict[str, float]:
    """Best of many, in turns, ns per element."""
    best = dict.fromkeys(functions, math.inf)
    for f in functions.values():
        f(x)
    for _ in range(60):
        for name, f in functions.items():
            start = time.perf_counter()
            f(x)
            best[name] = min(best[name], time.perf_counter() - start)
    return {name: round(seconds / x.size * 1e9, 3) for name, seconds in best.items()}


def main() -> None:
    numbaufunc.attach()
    build = um.compile_c(CELL)
    x = np.random.default_rng(1).uniform(0.1, 2.0, 20_000)
    result = {}
    for name, plain in (("poly", poly), ("branch", branch), ("newton", newton)):
        ours, inlined, opaque = build[name], numba.njit(plain), numba.njit(inline="never", no_cpython_wrapper=True)(plain)
        for kind, loop in (("sum", over), ("chain", chain)):
            rows = {"ours": loop(ours), "numba": loop(inlined)}
            result[f"{name} {kind}"] = measured(rows, x)
            print(f"{name} {kind}", result[f"{name} {kind}"])

    arrays = {"ours": numba.njit(lambda a: build_branch(a)), "numba": numba.vectorize(["f8(f8)"])(branch)}
    build_branch = build.branch
    arrays["ours in NumPy"] = build.branch
    result["branch of an array"] = measured(arrays, np.random.default_rng(1).uniform(0.1, 2.0, 100_000))
    print("array", result["branch of an array"])
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
