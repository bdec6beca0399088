"""A million faults in one process: integer divisions, wild reads, failed asserts, exits, in turns, in two threads.

    python benchmarks/million_faults.py [COUNT]

Prints what one fault costs and how the memory of the process grows, and what containment costs a call without one, and
writes both to benchmarks/results/million_faults.json.  The process must be alive at its end.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import threading
import time
import timeit
from pathlib import Path
from typing import Any

import machine
import numpy as np

import ufunc_magic as um

RESULTS = Path(__file__).parent / "results" / "million_faults.json"
SOURCE = """
#include <assert.h>
#include <stdlib.h>
int mod(int a, int b) { return a % b; }
double wild(double x) { return x > 3 ? *(volatile double *)(unsigned long)(x * 1e13) : x; }
double chance(double p) { assert(p > 0 && p < 1); return p; }
double leaves(double x) { if (x > 3) exit(1); return x; }
double deep(double x) { volatile double k[99]; k[3] = x; return x > 3 ? deep(x + 1) + k[3] : x; }
double plain(double x) { return 2 * x + 1; }
"""


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def faults(build: Any, count: int) -> None:
    """Have ``count`` faults."""
    x = np.arange(1.0, 9.0)
    zero = np.int32(0)
    calls = (
        (build.mod, (np.int32(5), zero)),
        (build.wild, (5.0,)),
        (build.chance, (2.0,)),
        (build.leaves, (x,)),
        (build.wild, (x,)),
    )
    for n in range(count):
        f, arguments = calls[n % len(calls)]
        try:
            f(*arguments)
        except (um.CellCrashed, um.CellExited, AssertionError):
            continue
        raise AssertionError(f"{f.__name__}{arguments} did not fail")


def many(build: Any, count: int) -> dict[str, Any]:
    """The memory after each tenth of ``count`` faults, in two threads."""
    faults(build, 2000)
    sizes = [resident()]
    began = time.perf_counter()
    for _ in range(10):
        threads = [threading.Thread(target=faults, args=(build, count // 20)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sizes.append(resident())
    took = time.perf_counter() - began
    return {"faults": count, "microseconds of each": took / count * 1e6, "MB": [round(s / 1e6, 2) for s in sizes]}


def call(f: Any) -> dict[str, float]:
    """Nanoseconds of calls that do not fail."""
    x = np.linspace(0.0, 1.0, 1_000_000)
    out = np.empty_like(x)
    values: dict[str, float] = {}
    for name, arguments, number in (
        ("1", (0.5,), 20_000),
        ("1,000", (x[:1000], out[:1000]), 5000),
        ("1,000,000", (x, out), 20),
    ):
        times = timeit.repeat(lambda arguments=arguments: f(*arguments), number=number, repeat=9)
        values[name] = min(times) / number * 1e9
    return values


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    build = um.compile_c(SOURCE, guard=False)
    deep = statistics.median(timeit.repeat(lambda: deepest(build), number=1, repeat=9)) * 1e6
    result = {
        "machine": machine.describe(),
        "a call, ns": call(build.plain),
        "a full stack, microseconds": deep,
        **many(build, count),
    }
    print(json.dumps(result, indent=1))
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def deepest(build: Any) -> None:
    """Fill the stack once."""
    try:
        build.deep(9.0)
    except um.CellCrashed:
        return
    raise AssertionError("the stack has no end")


if __name__ == "__main__":
    main()
