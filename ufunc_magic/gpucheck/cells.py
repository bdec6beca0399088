"""Device functions of public knowledge with what NumPy makes of them, in float and double."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
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
__device__ float silu(float x) { return x / (1 + expf(-x)); }
__device__ double softplus(double x) { return fmax(x, 0.0) + log1p(exp(-fabs(x))); }
__device__ double logit(double p) { return log(p) - log1p(-p); }
__device__ double cnd(double d) { return normcdf(d); }
__device__ double call_price(double s, double k, double t, double r, double v)
{
    double root = v * sqrt(t);
    double d1 = (log(s / k) + (r + 0.5 * v * v) * t) / root;
    return s * normcdf(d1) - k * exp(-r * t) * normcdf(d1 - root);
}
__device__ void polar(double x, double y, double *r, double *t) { *r = hypot(x, y); *t = atan2(y, x); }
__device__ int escape(double cr, double ci)
{
    double zr = 0, zi = 0;
    int n = 0;
    for (; n < 100 && zr * zr + zi * zi <= 4; n++) {
        double next = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci;
        zr = next;
    }
    return n;
}
__device__ unsigned int mix(unsigned int x)
{
    // The finaliser of MurmurHash3.
    x ^= x >> 16; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u; x ^= x >> 16;
    return x;
}
__device__ float rsq(float x) { return rsqrtf(x); }
__device__ bool inside(float x, float low, float high) { return low <= x && x < high; }
"""

KERNELS = r"""
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


@dataclass(frozen=True)
class Reference:
    """What a function of `CELL` should give: NumPy's form on ``inputs``, at most ``ulps`` last places off."""

    name: str
    form: Callable[..., Any]
    inputs: tuple[np.ndarray[Any, Any], ...]
    ulps: float = 4


_erf = np.vectorize(math.erf, otypes=[float])
_rng = np.random.default_rng(12)


def _normal(x: Any) -> Any:
    return 0.5 * np.vectorize(math.erfc, otypes=[float])(-np.asarray(x) / math.sqrt(2))


def _call_price(s: Any, k: Any, t: Any, r: Any, v: Any) -> Any:
    root = v * np.sqrt(t)
    d1 = (np.log(s / k) + (r + 0.5 * v * v) * t) / root
    return s * _normal(d1) - k * np.exp(-r * t) * _normal(d1 - root)


def _escape(cr: Any, ci: Any) -> Any:
    c = cr + 1j * ci
    z, n = np.zeros_like(c), np.zeros(c.shape, "i4")
    for _ in range(100):
        live = z.real * z.real + z.imag * z.imag <= 4
        n += live
        z = np.where(live, z * z + c, z)
    return n


def _mix(x: Any) -> Any:
    x = x.astype("u4")
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = (x ^ (x >> np.uint32(shift))) * np.uint32(factor)
    return x ^ (x >> np.uint32(16))


def _spread(low: float, high: float, dtype: str = "f8") -> np.ndarray[Any, Any]:
    return _rng.uniform(low, high, 20_000).astype(dtype)


def _references() -> tuple[Reference, ...]:
    x, y = _spread(-6, 6), _spread(-6, 6)
    s, k, t = _spread(50, 150), _spread(50, 150), _spread(0.1, 2)
    grid = np.meshgrid(np.linspace(-2.1, 0.6, 90), np.linspace(0.013, 1.1, 70))
    return (
        Reference("mul", np.multiply, (x, y), 0),
        Reference("mul", np.multiply, (x.astype("f4"), y.astype("f4")), 0),
        Reference("add", np.add, (x, y), 0),
        # Where erf cancels, its rounding counts for more than the result's.
        Reference("gelu", lambda x: 0.5 * x * (1 + _erf(x * math.sqrt(0.5))), (np.abs(x),), 8),
        Reference("gelu", lambda x: 0.5 * x * (1 + _erf(x * math.sqrt(0.5))), (np.abs(x).astype("f4"),), 8),
        Reference("silu", lambda x: x / (1 + np.exp(-x.astype("f8"))), (x.astype("f4"),), 8),
        Reference("softplus", lambda x: np.logaddexp(0, x), (x,), 8),
        Reference("logit", lambda p: np.log(p / (1 - p)), (_spread(0.6, 0.99),), 64),
        Reference("cnd", _normal, (x,), 64),
        Reference("call_price", _call_price, (s, k, t, np.full_like(s, 0.03), np.full_like(s, 0.2)), 1e6),
        Reference("polar", lambda x, y: (np.hypot(x, y), np.arctan2(y, x)), (x, y)),
        Reference("escape", _escape, (grid[0], grid[1]), 0),
        Reference("mix", _mix, (_rng.integers(0, 2**32, 20_000, dtype="u4"),), 0),
        Reference("rsq", lambda x: 1 / np.sqrt(x.astype("f8")), (_spread(1e-3, 1e3, "f4"),)),
        Reference("inside", lambda x, a, b: (a <= x) & (x < b), tuple(v.astype("f4") for v in (x, y, np.abs(y))), 0),
    )


REFERENCES: tuple[Reference, ...] = _references()
