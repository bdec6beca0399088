"""Cells of public knowledge, with what NumPy makes of their functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

CELL = r"""
#define SQRT_HALF 0.70710678118654752440
__device__ float mul(float x, float y) { return x * y; }
__device__ double mul(double x, double y) { return x * y; }
// ufunc: identity=0
__device__ float add(float x, float y) { return x + y; }
// ufunc: identity=0
__device__ double add(double x, double y) { return x + y; }
__device__ double gelu(double x) { return 0.5 * x * (1 + erf(x * SQRT_HALF)); }
__device__ float gelu(float x) { return 0.5f * x * (1 + erff(x * (float)SQRT_HALF)); }
__device__ void polar(double x, double y, double *r, double *t) { *r = hypot(x, y); *t = atan2(y, x); }
__device__ float rsq(float x) { return rsqrtf(x); }
__device__ bool inside(float x, float low, float high) { return low <= x && x < high; }

extern "C" __global__ void axpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
__global__ void block_sums(const float *x, float *sums)
{
    __shared__ float part[256];
    int t = threadIdx.x;
    part[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int step = 128; step; step /= 2) {
        if (t < step) part[t] += part[t + step];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}
__global__ void astray(float *x) { x[1ll << 40] = 1; }
"""

#: Kernels by what they show, in a cell of their own: launches of a cell that prints are waited for.
KERNELS = r"""
__constant__ float coefficients[3];
struct Start { float value; int step; };
__device__ Start start;
__device__ int launches;
__device__ void add(int *p, int v) { atomicAdd(p, v); }

__global__ void doubled(double *x) { x[threadIdx.x] *= 2; }
__global__ void doubled(float *x) { x[threadIdx.x] *= 2; }
__global__ void doubled(int *x, int by) { x[threadIdx.x] *= 2 * by; }
template <class T, int N> __global__ void filled(T *x) { x[threadIdx.x] = N; }
template __global__ void filled<float, 3>(float *);
template __global__ void filled<int, 4>(int *);
template <class T> __global__ void halved(T *x) { x[threadIdx.x] /= 2; }
__global__ void counted(const int *x, int *bins) { add(&bins[x[blockIdx.x * blockDim.x + threadIdx.x]], 1); }
__global__ void shifted(const int *x, int *y, int n) { for (int i = 0; i < n; i++) y[i] = x[i]; }
__global__ void polynomial(float *x)
{
    float v = x[threadIdx.x];
    x[threadIdx.x] = start.value + coefficients[0] + v * (coefficients[1] + v * coefficients[2]);
    if (threadIdx.x == 0) atomicAdd(&launches, 1);
}
__global__ void more(int by) { launches += by; }
__global__ void hello() { printf("thread %d\n", threadIdx.x); }
"""


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.vectorize(math.erf, otypes=[float])(x * math.sqrt(0.5)))


_x, _y = np.random.default_rng(12).uniform(-6, 6, (2, 20_000))
_a, _b = _x.astype("f4"), _y.astype("f4")

#: Name of a function of the cell, NumPy's form of it, inputs, and how many last places off it may be.
REFERENCES: tuple[tuple[str, Callable[..., Any], tuple[np.ndarray[Any, Any], ...], float], ...] = (
    ("mul", np.multiply, (_x, _y), 0),
    ("mul", np.multiply, (_a, _b), 0),
    ("add", np.add, (_x, _y), 0),
    # Where erf cancels, its rounding counts for more than the result's.
    ("gelu", _gelu, (np.abs(_x),), 8),
    ("gelu", _gelu, (np.abs(_a),), 8),
    ("polar", lambda x, y: (np.hypot(x, y), np.arctan2(y, x)), (_x, _y), 4),
    ("rsq", lambda x: 1 / np.sqrt(x.astype("f8")), (np.abs(_a) + np.float32(1e-3),), 4),
    ("inside", lambda x, low, high: (low <= x) & (x < high), (_a, _b, np.abs(_b)), 0),
)
