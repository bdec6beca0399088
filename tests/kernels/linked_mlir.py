"""Kernels of numba-cuda-mlir that call functions of CUDA cells, compiled and linked without a GPU; run as a process."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from typing import Any

import cffi

import ufunc_magic as um
from ufunc_magic.interop.numba_cuda import numba_cuda_extension as numbacuda

CELL = r"""
__device__ float mul(float x, float y) { return x * y; }
__device__ double mul(double x, double y) { return x * y; }
__device__ void polar(float x, float y, float *r, float *t)
{
    *r = sqrtf(x * x + y * y);
    *t = x - y;
}
__device__ bool above(int x, int y) { return x > y; }
__device__ __noinline__ float apart(float x) { return x / 3.0f; }
__device__ float total(const float *x, int n) { return x[0] + x[n - 1]; }
__device__ void mark(float *x) { x[1] = 0; }
"""

cell = um.compile_cuda(CELL, name="In[1]", device="cpu")
mul, polar, above, apart, total, mark = (cell[n] for n in ("mul", "polar", "above", "apart", "total", "mark"))
numbacuda.attach()
imported_before = [name for name in sys.modules if name.startswith("numba")]

from numba_cuda_mlir import cuda, tools  # noqa: E402

tools._cached_cc = (9, 0)  # no device is asked which one it is
ffi = cffi.FFI()


def everything(out, x, y, flags):
    i = cuda.grid(1)
    if i < x.size:
        r, t = polar(x[i], y[i])
        a = cuda.local.array(1, "float32")
        b = cuda.local.array(1, "float32")
        polar(y[i], x[i], ffi.from_buffer(a), ffi.from_buffer(b))
        flags[i] = above(i, 3)
        mark(ffi.from_buffer(y))
        out[i] = mul(r, t) + a[0] * b[0] + total(ffi.from_buffer(x), x.size) + mul(i, 2.0)


def not_inlined(out, x, y, flags):
    out[0] = apart(x[0])


def given_an_array(out, x, y, flags):
    out[0] = mul(x, x)


def shims_left(kernel: Callable[..., None]) -> bool:
    signature = "void(float32[::1], float32[::1], float32[::1], boolean[::1])"
    return b"__ufm_" in bytes(cuda.compile_cubin(kernel, signature, chip="sm_90"))


def seen() -> dict[str, Any]:
    answers: dict[str, Any] = {"imported": imported_before}
    for kernel in (everything, not_inlined, given_an_array):
        try:
            answers[kernel.__name__] = shims_left(kernel)
        except Exception:  # noqa: BLE001 - one kernel's fault is not another's
            answers[kernel.__name__] = traceback.format_exc()
    return answers


sys.stdout.write(json.dumps(seen()))
