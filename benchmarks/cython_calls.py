"""What a call of a def costs beside Cython's own function, its ufunc, and the same in Python; measured in turns.

    python benchmarks/cython_calls.py

Nanoseconds, the least of 300 rounds; the result goes to benchmarks/results/cython_calls.json.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import machine

import ufunc_magic as um

RESULTS = Path(__file__).parent / "results" / "cython_calls.json"
ROUNDS, CALLS = 300, 3000
CELL = """
def one(double x):
    return x + 1

def two(double x, double y):
    return x + 2 * y

cpdef long whole(long n):
    return n + 1
"""


def one(x: float) -> float:
    return x + 1


def two(x: float, y: float) -> float:
    return x + 2 * y


def whole(n: int) -> int:
    return n + 1


def clocked(function: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    """Nanoseconds a call."""
    start = time.perf_counter_ns()
    if len(arguments) == 1:
        (x,) = arguments
        for _ in range(CALLS):
            function(x)
    else:
        x, y = arguments
        for _ in range(CALLS):
            function(x, y)
    return (time.perf_counter_ns() - start) / CALLS


def main() -> None:
    built = um.compile_cython(CELL)
    rows = {}
    for name, arguments, python in (("one", (1.5,), one), ("two", (1.5, 2.5), two), ("whole", (3,), whole)):
        function = built[name]
        ways = {"Cython": function.__wrapped__, "def": function, "ufunc": function.ufunc, "Python": python}
        times: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(ROUNDS):
            for way, call in ways.items():
                times[way].append(clocked(call, arguments))
        least = {way: round(min(values), 1) for way, values in times.items()}
        rows[name] = least | {
            "more": round(least["def"] - least["Cython"], 1),
            "ratio": round(least["def"] / least["Cython"], 2),
        }
        print(name, rows[name])
    RESULTS.write_text(json.dumps({"machine": machine.describe("cython"), "nanoseconds": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
