"""Kernels of numba-cuda that call functions of CUDA cells, compiled and linked without a GPU; prints what became of
them.  Run as a process; the first argument says whose compiler it is: "numba-cuda" or "numba".
"""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Callable
from typing import Any

import cffi
from scenes import catch_fault, print_scenes, scene

import ufunc_magic as um
from ufunc_magic.languages.cuda import numba_cuda
from ufunc_magic.languages.cuda.device import CudaFunction

CELL = r"""
#include <cuda_fp16.h>

__device__ float mul(float x, float y) { return x * y; }
__device__ double mul(double x, double y) { return x * y; }

__device__ void polar(float x, float y, float *r, float *t)
{
    *r = sqrtf(x * x + y * y);
    *t = x - y;
}

__device__ bool above(int x, int y) { return x > y; }
__device__ bool both(bool x, bool y) { return x && y; }
__device__ __half twice(__half x) { return __hadd(x, x); }
__device__ __noinline__ float apart(float x) { return x / 3.0f; }
__device__ float total(const float *x, int n) { return x[0] + x[n - 1]; }
__device__ void add_to(float *total, float by) { atomicAdd(total, by); }
__device__ float advance(float by, float *at) { float before = *at; *at += by * 0.123456f; return before; }
__device__ void store(int *where, int value) { *where = value ^ 305419896; }

__global__ void launched(float *x) { x[0] = 1; }
"""
FOREIGN = r"""
extern "C" __device__ int scale(float *return_value, float x)
{
    *return_value = x * 1234567.0f;
    return 0;
}
"""

cell = um.compile_cuda(CELL, name="In[1]", device="cpu")
mul, polar, above, both = (cell[name] for name in ("mul", "polar", "above", "both"))
twice, total, store, launched = (cell[name] for name in ("twice", "total", "store", "launched"))
apart, advance, add_to = cell["apart"], cell["advance"], cell["add_to"]
# Two versions of one function, as after its cell was changed and run again.
first = um.compile_cuda("__device__ float f(float x) { return x + 17.0f; }", name="In[2]", device="cpu")["f"]
second = um.compile_cuda("__device__ float f(float x) { return x * 19.0f; }", name="In[2]", device="cpu")["f"]
for_cpu = um.c_ufunc("double half(double x) { return x / 2; }")
numba_cuda.attach()
imported_before = [name for name in sys.modules if name.split(".")[0] in ("numba", "numba_cuda")]

from numba import cuda  # noqa: E402

ffi = cffi.FFI()


def linked(kernel: Callable[..., None], signature: str, capability: tuple[int, int] = (7, 5)) -> str:
    """PTX of the kernel with everything that it calls, after optimization at link time."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    codes, _ = cuda.compile_all(kernel, signature, device=False, abi="numba", cc=capability, output="ltoir")
    data = [getattr(code, "code", getattr(code, "data", code)) for code in codes]
    parts = [ObjectCode.from_ltoir(part) for part in data]
    arch = "sm_{}{}".format(*capability)
    options = LinkerOptions(arch=arch, link_time_optimization=True, ptx=True)
    ptx = Linker(*parts, options=options).link("ptx").code.decode()
    assert not re.search(r"\btrap\b", ptx), "LLVM has proven that the kernel goes wrong"
    return ptx


def words(ptx: str, *searched: str) -> list[Any]:
    """Whether there is a call, and how often each instruction is there."""
    return [bool(re.search(r"\bcall\b", ptx)), *(len(re.findall(rf"\b{re.escape(word)}\b", ptx)) for word in searched)]


def everything(out, x, y, flags, halves, bins):
    i = cuda.grid(1)
    if i < x.size:
        r, t = polar(x[i], y[i])
        a = cuda.local.array(1, "float32")
        b = cuda.local.array(1, "float32")
        polar(y[i], x[i], ffi.from_buffer(a), ffi.from_buffer(b))
        flags[i] = both(above(i, 3), True)
        halves[i] = twice(halves[i])
        store(ffi.from_buffer(bins), i)
        out[i] = mul(r, t) + a[0] * b[0] + total(ffi.from_buffer(x), x.size)


_EVERYTHING = "void(float32[::1], float32[::1], float32[::1], boolean[::1], float16[::1], int32[::1])"


@scene
def implementation() -> Any:
    return [imported_before, getattr(cuda, "implementation", "Built-in")]


@scene
def everything_for_turing() -> Any:
    ptx = linked(everything, _EVERYTHING)
    return [*words(ptx, "305419896"), len(re.findall(r"sqrt\.\w+\.f32", ptx))]


@scene
def everything_for_hopper() -> Any:
    ptx = linked(everything, _EVERYTHING, (9, 0))
    return [*words(ptx, "305419896"), len(re.findall(r"sqrt\.\w+\.f32", ptx))]


def atomically(out, x):
    add_to(ffi.from_buffer(out), x[0])


@scene
def pointer_given_to_an_atomic() -> Any:
    ptx = linked(atomically, "void(float32[::1], float32[::1])")
    return [words(ptx)[0], len(re.findall(r"\b(?:red|atom)\.\S*add\.f32", ptx))]


def updated(out, x):
    out[1] = advance(x[0], ffi.from_buffer(out))


@scene
def pointer_that_is_read_and_written() -> Any:
    return words(linked(updated, "void(float32[::1], float32[::1])"), "0f3DFCD680", "st.global.f32")


def multiply(out, x, y):
    out[0] = mul(x[0], y[0])


@scene
def overloads() -> Any:
    both_single = linked(multiply, "void(float64[::1], float32[::1], float32[::1])")
    mixed = linked(multiply, "void(float64[::1], float32[::1], float64[::1])")
    integers = linked(multiply, "void(float64[::1], int64[::1], int64[::1])")
    return [words(ptx, "mul.f32", "mul.rn.f32", "mul.f64", "mul.rn.f64") for ptx in (both_single, mixed, integers)]


def not_inlined(out, x):
    out[0] = apart(x[0])


@scene
def call_of_what_may_not_be_inlined() -> Any:
    return words(linked(not_inlined, "void(float32[::1], float32[::1])"))


on_gpu = CudaFunction(next(f for f in cell.object_code.functions if f.name == "mul"), cell.object_code)


def multiply_on_gpu(out, x):
    out[0] = on_gpu(x[0], x[1])


@scene
def functions_for_arrays_of_the_gpu() -> Any:
    return words(linked(multiply_on_gpu, "void(float32[::1], float32[::1])"), "mul.f32")


def two_versions(out, x):
    out[0] = first(x[0])
    out[1] = second(x[0])


@scene
def versions_of_one_function() -> Any:
    ptx = linked(two_versions, "void(float32[::1], float32[::1])")
    return [words(ptx)[0], "0f41880000" in ptx, "0f41980000" in ptx]


by_hand = cuda.declare_device("scale", "float32(float32)", link=cuda.CUSource(FOREIGN))


def beside(out, x):
    out[0] = by_hand(mul(x[0], x[0]))


@scene
def declared_by_hand_beside_ours() -> Any:
    ptx = linked(beside, "void(float32[::1], float32[::1])")
    return [words(ptx)[0], "0f4996B438" in ptx]


def without_lto(out, x):
    out[0] = mul(x[0], x[0])


@scene
def called_where_the_kernel_is_linked_without_lto() -> Any:
    from numba.cuda.compiler import _compile_pyfunc_with_fixup

    library, _ = _compile_pyfunc_with_fixup(
        without_lto, "void(float32[::1], float32[::1])", device=False, abi="numba", cc=(9, 0)
    )
    return [len(library.get_cubin(cc=(9, 0)).code) > 1000, catch_fault(library._reduce_states)]


def given_an_array(out, x):
    out[0] = mul(x, x)


def given_too_few(out, x):
    out[0] = mul(x[0])


def given_names(out, x):
    out[0] = mul(x=x[0], y=x[0])


def cut(out, x):
    store(ffi.from_buffer(out), x[0])


def calls_a_kernel(out, x):
    out[0] = launched(x[0])


def calls_cpu_code(out, x):
    out[0] = for_cpu(x[0])


@scene
def faults() -> Any:
    signature = "void(float32[::1], float32[::1])"
    kernels = (given_an_array, given_too_few, given_names, cut, calls_a_kernel, calls_cpu_code)
    return [catch_fault(lambda kernel=kernel: linked(kernel, signature)) for kernel in kernels]


@scene
def pickled() -> Any:
    kernel = cuda.jit(multiply)
    again = pickle.loads(pickle.dumps(kernel))
    return again.py_func.__globals__["mul"] is mul


print_scenes()
