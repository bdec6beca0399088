"""What %%cuda_device must reach without a GPU: throughput of the emulation, compile times, the same cell again.

    python benchmarks/cuda_emulation.py

The same formula goes through %%c_ufunc -+ and, as device code, through %%cuda_device; calls take turns, and a ratio is
the median of the ratios of neighbouring calls.  The result goes to benchmarks/results/cuda_emulation.json.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["UFUNC_MAGIC_CACHE"] = tempfile.mkdtemp(prefix="ufunc-magic-cuda-")

import machine
import numpy as np

import ufunc_magic as um

RESULTS = Path(__file__).parent / "results" / "cuda_emulation.json"
ELEMENTS = 1_000_000
ROUNDS = 60

FORMULAS = {
    "polynomial, float": "float f(float x) { return ((0.5f*x + 0.25f)*x - 1.5f)*x + 2.0f; }",
    "polynomial, double": "double f(double x) { return ((0.5*x + 0.25)*x - 1.5)*x + 2.0; }",
    "expf": "float f(float x) { return 0.5f + expf(-x); }",
    "exp": "double f(double x) { return 4*x + exp(-x); }",
    "branch": "double f(double x) { return x < 0.5 ? 4*x + exp(-x) : log(x); }",
    "two inputs": "float f(float x, float y) { return x*y*sqrtf(x*x + 1.0f); }",
    "gelu": "float f(float x) { return 0.5f*x*(1.0f + tanhf(0.797885f*(x + 0.044715f*x*x*x))); }",
    "logistic map": "float f(float x) { for (int i = 0; i < 20; i++) x = 3.7f*x*(1.0f - x); return x; }",
}


def throughput() -> dict[str, dict[str, float]]:
    """Milliseconds for a million elements both ways, and the emulation's share of them."""
    found = {}
    for name, text in FORMULAS.items():
        plain = um.compile_c(f"#include <math.h>\n{text}", cplus=True, guard=False).f
        emulated = um.compile_cuda(f"__device__ {text}", device="cpu", guard=False).f
        kind = plain.types[0][0]
        inputs = [(0.98 * np.random.default_rng(n).random(ELEMENTS) + 0.01).astype(kind) for n in range(plain.nin)]
        np.testing.assert_array_equal(plain(*inputs), emulated(*inputs))
        out = np.empty(ELEMENTS, kind)
        pairs = [(seconds(plain, inputs, out), seconds(emulated, inputs, out)) for _ in range(ROUNDS)][ROUNDS // 6 :]
        found[name] = {
            "c_ufunc_ms": 1e3 * statistics.median(a for a, _ in pairs),
            "emulation_ms": 1e3 * statistics.median(b for _, b in pairs),
            "ratio": statistics.median(b / a for a, b in pairs),
        }
    return found


def seconds(function: Callable[..., Any], inputs: list[Any], out: Any) -> float:
    start = time.perf_counter()
    function(*inputs, out=out)
    return time.perf_counter() - start


def compiling() -> dict[str, float]:
    """A new cell each way, by the time that compilers used, and the same cell again."""
    cells: dict[str, list[float]] = {"c_ufunc_cpu_ms": [], "emulation_cpu_ms": []}
    again = []
    for n in range(6):
        text = f"float f(float x) {{ return {n}.5f + expf(-x); }}"
        before = used()
        um.compile_c(f"#include <math.h>\n{text}", cplus=True, guard=False)
        between = used()
        um.compile_cuda(f"__device__ {text}", device="cpu", guard=False)
        cells["c_ufunc_cpu_ms"].append(1e3 * (between - before))
        cells["emulation_cpu_ms"].append(1e3 * (used() - between))
        start = time.perf_counter()
        um.compile_cuda(f"__device__ {text}", device="cpu", guard=False)
        again.append(1e3 * (time.perf_counter() - start))
    # The first ones compile the driver too.
    return {name: statistics.median(times[1:]) for name, times in cells.items()} | {
        "same_cell_again_ms": statistics.median(again)
    }


def used() -> float:
    """CPU seconds of the compilers that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main() -> None:
    result = {"machine": machine.describe(), "compiling": compiling(), "throughput": throughput()}
    for name, row in result["throughput"].items():
        print(f"{name:20} {row['c_ufunc_ms']:8.3f} ms  {row['emulation_ms']:8.3f} ms  {row['ratio']:6.3f}")
    for name, value in result["compiling"].items():
        print(f"{name:20} {value:8.3f}")
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
