"""What it costs to lay an array over foreign memory, to give one away, and to call a function from C.

    python benchmarks/interop.py

The result goes to benchmarks/results/interop.json.
"""

from __future__ import annotations

import gc
import json
import os
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["UFUNC_MAGIC_CACHE"] = tempfile.mkdtemp(prefix="ufunc-magic-interop-")

import machine
import numpy as np
import psutil

import ufunc_magic as um
from ufunc_magic.interop.arrays.pointers import asarray, ascapsule, pointer
from ufunc_magic.interop.hosts.c_address import ctypes_function, lowlevel

RESULTS = Path(__file__).parent / "results" / "interop.json"


def microseconds(call: Callable[[], object], *, number: int = 500, rounds: int = 400) -> float:
    """Least of many short rounds: other processes can only add to it."""
    return round(min(timeit.repeat(call, number=number, repeat=rounds)) / number * 1e6, 3)


def pointers() -> dict[str, float]:
    """Microseconds for a megabyte, which no row touches; the first row is a measure of this machine."""
    x = np.zeros(131_072)
    at, sent = pointer(x), ascapsule(x, kind="pointer")
    rows: dict[str, Callable[[], object]] = {
        "numpy: x.__array_interface__": lambda: x.__array_interface__,
        "address -> array -> address": lambda: pointer(asarray(at, (131_072,), "f8")),
        "address -> array -> address, with an owner": lambda: pointer(asarray(at, (131_072,), "f8", owner=x)),
        "address -> array of 3 axes by strides -> address": lambda: pointer(
            asarray(at, (32, 64, 64), "f8", strides=(8, 256, 16_384))
        ),
        "capsule -> array -> address": lambda: pointer(asarray(sent, (131_072,), "f8")),
        "array -> capsule of a pointer": lambda: ascapsule(x, kind="pointer"),
        "array -> DLPack -> array": lambda: asarray(ascapsule(x)),
        "array -> address": lambda: pointer(x),
    }
    return {name: microseconds(row) for name, row in rows.items()}


def memory(trips: int = 1_000_000) -> dict[str, float]:
    """Resident memory before and after a million round trips, in megabytes."""
    x = np.zeros(131_072)
    at = pointer(x)

    def go(count: int) -> None:
        for _ in range(count):
            pointer(asarray(at, (131_072,), "f8", owner=x))

    go(10_000)
    gc.collect()
    before = psutil.Process().memory_info().rss
    go(trips)
    gc.collect()
    return {"trips": trips, "grown_mb": round((psutil.Process().memory_info().rss - before) / 1e6, 3)}


def callers() -> dict[str, float]:
    """Milliseconds of ``scipy.integrate.quad`` over an oscillating integrand, and of one call through ctypes."""
    from scipy import integrate

    f = um.c_ufunc("#include <math.h>\ndouble f(double x) { return exp(-x * x) * cos(50 * x); }")
    given, called = lowlevel(f), ctypes_function(f)

    def plain(x: float) -> float:
        return float(np.exp(-x * x) * np.cos(50 * x))

    def quad(integrand: Any) -> Callable[[], object]:
        return lambda: integrate.quad(integrand, 0, 8, limit=200)

    rows = {"quad, address": given, "quad, the ufunc itself": f, "quad, Python with NumPy": plain}
    made = {f"{name} (ms)": microseconds(quad(row), number=3, rounds=40) / 1e3 for name, row in rows.items()}
    return {**made, "one call through ctypes (us)": microseconds(lambda: called(0.5))}


def main() -> None:
    """Measure everything and write the result."""
    found = {
        "machine": machine.describe("scipy"),
        "pointers_us": pointers(),
        "memory": memory(),
        "callers": callers(),
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
