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
__inline__ __device__ float warp_sum(float v)
{
    for (int o = warpSize / 2; o > 0; o /= 2) v += __shfl_down_sync(0xffffffff, v, o);
    return v;
}
__global__ void warp_sums(const float *x, float *out, int n)
{
    static __shared__ float shared[32];
    int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += x[i];
    v = warp_sum(v);
    if (lane == 0) shared[warp] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / warpSize ? shared[lane] : 0;
    if (warp == 0) v = warp_sum(v);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
}
"""


#: How threads of a block take turns: as loops, by fibers, by fibers that swapcontext switches.
WAYS = {
    "loops": (),
    "fibers": ("-D__UFM_CUDA_NO_LOOPS__",),
    "swapcontext": ("-D__UFM_CUDA_NO_LOOPS__", "-D__UFM_CUDA_UCONTEXT__"),
}


def launches() -> dict[str, dict[str, float]]:
    """Kernels with barriers, by milliseconds of CPU time: loops and fibers in turns, the least of three rounds.

    The two programs of 1024^3 and of 100 reductions run once, and what swapcontext costs is seen in the first one.
    """
    a, b = np.random.default_rng(1).random((2, 1024, 1024)).astype("f4")
    c, x, out = np.zeros((1024, 1024), "f4"), np.ones(ELEMENTS, "f4"), np.zeros(3907, "f4")
    cells = {
        way: um.compile_cuda(KERNELS, device="cpu", guard=False, compile_args=words) for way, words in WAYS.items()
    }

    def multiply(cell: Any, n: int) -> None:
        cell.matmul[(n // 16, n // 16), (16, 16)](a, b, c, n)

    def reduce(cell: Any, times: int) -> None:
        for _ in range(times):
            cell.warp_sums[3907, 256](x, out, ELEMENTS)

    calls: dict[str, tuple[Callable[[Any], None], int]] = {
        "matmul of 256": (lambda cell: multiply(cell, 256), 3),
        "block_sums of 1e6": (lambda cell: cell.block_sums[3907, 256](x, out, ELEMENTS), 3),
        "warp_sums of 1e6": (lambda cell: reduce(cell, 1), 3),
        "matmul of 1024": (lambda cell: multiply(cell, 1024), 1),
        "100 warp_sums of 1e6": (lambda cell: reduce(cell, 100), 1),
    }
    found: dict[str, dict[str, float]] = {}
    for name, (call, rounds) in calls.items():
        times: dict[str, list[float]] = {}
        for _ in range(rounds):
            for way in list(WAYS)[: 3 if name == "matmul of 256" else 2]:
                out[:] = 0
                start = time.process_time()
                call(cells[way])
                times.setdefault(way, []).append(1e3 * (time.process_time() - start))
                assert "sums" not in name or out.sum() == ELEMENTS
        found[name] = {way: min(values) for way, values in times.items()}
        found[name]["gain"] = found[name]["fibers"] / found[name]["loops"]
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
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
    for name, value in result["compiling"].items():
        print(f"{name:20} {value:8.3f}")
    for name, row in result["launches"].items():
        print(f"{name:20}", *(f"{way} {value:.2f}" for way, value in row.items()))
    RESULTS.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
