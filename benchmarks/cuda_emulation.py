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


KERNELS = """
#define TILE 16
__global__ void matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float s[TILE][TILE], t[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * TILE + y, j = blockIdx.x * TILE + x;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        s[y][x] = a[i * n + k + x], t[y][x] = b[(k + y) * n + j];
        __syncthreads();
        for (int q = 0; q < TILE; q++) sum += s[y][q] * t[q][x];
        __syncthreads();
    }
    c[i * n + j] = sum;
}
__global__ void block_sums(const float *x, float *out, int n)
{
    __shared__ float s[256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int o = 128; o; o /= 2) {
        if (t < o) s[t] += s[t + o];
        __syncthreads();
    }
    if (!t) out[blockIdx.x] = s[0];
}
"""


def launches() -> dict[str, float]:
    """Kernels with barriers, by CPU time; with ``-D__UFM_CUDA_UCONTEXT__`` threads are switched by swapcontext."""
    found = {}
    for words, name in (((), "own switch"), (("-D__UFM_CUDA_UCONTEXT__",), "swapcontext")):
        cell = um.compile_cuda(KERNELS, device="cpu", guard=False, compile_args=words)
        a, b = np.random.default_rng(1).random((2, 256, 256)).astype("f4")
        c, x, out = np.zeros((256, 256), "f4"), np.ones(ELEMENTS, "f4"), np.zeros(3907, "f4")
        calls = {
            "matmul of 256": (cell.matmul[(16, 16), (16, 16)], (a, b, c, 256)),
            "block_sums of 1e6": (cell.block_sums[3907, 256], (x, out, ELEMENTS)),
        }
        for kernel, (launch, arguments) in calls.items():
            times = []
            for _ in range(5):
                start = time.process_time()
                launch(*arguments)
                times.append(1e3 * (time.process_time() - start))
            found[f"{kernel}, {name}, ms"] = min(times)
        np.testing.assert_allclose(c, a @ b, rtol=1e-5)
        assert out.sum() == ELEMENTS
    return found


def used() -> float:
    """CPU seconds of the compilers that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main() -> None:
    result = {
        "machine": machine.describe(),
        "compiling": compiling(),
        "launches": launches(),
        "throughput": throughput(),
    }
    for name, row in result["throughput"].items():
        print(f"{name:20} {row['c_ufunc_ms']:8.3f} ms  {row['emulation_ms']:8.3f} ms  {row['ratio']:6.3f}")
    for name, value in (*result["compiling"].items(), *result["launches"].items()):
        print(f"{name:20} {value:8.3f}")
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
