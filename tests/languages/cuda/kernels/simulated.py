"""Kernels of Numba's CUDA simulator that call functions of CUDA cells; run as a process, prints what each saw.

The first argument says whose simulator it is: "numba-cuda" or "numba".
"""

from __future__ import annotations

import os
import sys
from typing import Any

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
if sys.argv[1] == "numba":
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "NumbaCudaFinder"]

import cffi
import numpy as np
from scenes import catch_fault, print_scenes, scene

import ufunc_magic as um
from ufunc_magic.languages.cuda import numba_cuda

CELL = r"""
__device__ float mul(float x, float y) { return x * y; }
__device__ double mul(double x, double y) { return x * y; }

__device__ void polar(float x, float y, float *r, float *t)
{
    *r = sqrtf(x * x + y * y);
    *t = atan2f(y, x);
}

__device__ int place(int k)
{
    return k + threadIdx.x + 10 * threadIdx.y + 100 * blockIdx.x + 1000 * blockDim.x + 10000 * gridDim.x;
}

__device__ float block_sum(const float *x)
{
    __shared__ float part[64];
    int i = threadIdx.x;
    part[i] = x[blockIdx.x * blockDim.x + i];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (i < s)
            part[i] += part[i + s];
        __syncthreads();
    }
    return part[0];
}

__device__ void add_to(float *total, float by) { atomicAdd(total, by); }
__device__ void advance(int *at) { *at += 3; }

__device__ void count(int *bins, int bin)
{
    volatile int *place = bins + bin;
    int before = *place;
    for (volatile int wait = 0; wait < 1000000; wait++)
        ;
    *place = before + 1;
}

__device__ int counter = 0;
__device__ int ticket(int step)
{
    int before = counter;
    for (volatile int wait = 0; wait < 1000000; wait++)
        ;
    counter = before + step;
    return before;
}

__device__ unsigned mixed(unsigned x) { return x * 2654435761u; }

__global__ void sums(const float *x, float *out) { out[threadIdx.x] = block_sum(x); }
"""

FOREIGN = r"""
extern "C" __device__ int mul_f32_f32(float *return_value, float x, float y)
{
    *return_value = x * y;
    return 0;
}

extern "C" __device__ int sum_reduce(float *return_value, float *array, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += array[i];
    *return_value = (float)sum;
    return 0;
}
"""

cell = um.compile_cuda(CELL, name="In[1]", device="cpu")
foreign = um.compile_cuda(FOREIGN, name="In[2]", device="cpu")
mul, polar, place, mixed = (cell[name] for name in ("mul", "polar", "place", "mixed"))
block_sum, count, ticket = (cell[name] for name in ("block_sum", "count", "ticket"))
add_to, advance = cell["add_to"], cell["advance"]
mul_f32_f32, sum_reduce = foreign["mul_f32_f32"], foreign["sum_reduce"]
for_cpu = um.c_ufunc("double twice(double x) { return 2 * x; }")
numba_cuda.attach()
imported_before = [name for name in sys.modules if name.split(".")[0] in ("numba", "numba_cuda")]

from numba import cuda  # noqa: E402

ffi = cffi.FFI()
by_name = cuda.declare_device("mul_f32_f32", "float32(float32, float32)")


def floats(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@scene
def implementation() -> Any:
    return [imported_before, "numba_cuda" in cuda.__file__]


@cuda.jit
def multiply(r, x, y):
    i = cuda.grid(1)
    if i < len(r):
        r[i] = mul_f32_f32(x[i], y[i])


@scene
def products() -> Any:
    r = np.zeros(8, np.float32)
    multiply[2, 4](r, floats(8), floats(8))
    return r.tolist()


@cuda.jit
def reduce(result, array):
    pointer = ffi.from_buffer(array)
    result[()] = sum_reduce(pointer, len(array))


@scene
def sum_by_pointer() -> Any:
    result = np.zeros((), np.float32)
    reduce[1, 1](result, floats(10))
    return float(result)


@cuda.jit
def overloads(names, x, y):
    names[0] = mul(x[0], x[0]).dtype.itemsize
    names[1] = mul(y[0], y[0]).dtype.itemsize
    names[2] = mul(x[0], y[0]).dtype.itemsize
    names[3] = mul(x[0], 2).dtype.itemsize
    names[4] = mixed(-1)
    names[5] = mixed(3.0) if len(names) > 6 else 0


@scene
def widths_of_results() -> Any:
    names = np.zeros(6, np.int64)
    overloads[1, 1](names, floats(1), floats(1).astype(np.float64))
    return names.tolist()


@cuda.jit
def declared(r, x, y):
    i = cuda.grid(1)
    if i < len(r):
        r[i] = by_name(x[i], y[i])


@scene
def functions_that_are_declared_by_name() -> Any:
    declared[1, 8](r := floats(8), floats(8), floats(8))
    return r.tolist()


@cuda.jit
def two_results(out, x, y):
    r, t = polar(x[0], y[0])
    a = cuda.local.array(1, "float32")
    b = cuda.shared.array(2, "float32")
    polar(x[0], y[0], ffi.from_buffer(a), ffi.from_buffer(b))
    out[0], out[1], out[2], out[3] = r, t, a[0], b[0]


@scene
def results_as_a_tuple_and_by_pointers() -> Any:
    out = np.zeros(4, np.float32)
    two_results[1, 1](out, np.float32([3]), np.float32([4]))
    return np.round(out, 3).tolist()


@cuda.jit
def places(out):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    out[cuda.blockIdx.x, y, x] = place(0)


@scene
def geometry_in_c() -> Any:
    out = np.zeros((2, 2, 3), np.int64)
    places[2, (3, 2)](out)
    return out.tolist()


@cuda.jit
def blocks(out, x):
    out[cuda.grid(1)] = block_sum(ffi.from_buffer(x))


@scene
def barriers_in_c() -> Any:
    out = np.zeros(128, np.float32)
    blocks[2, 64](out, floats(128))
    return sorted(set(out.tolist()))


@scene
def launch_of_our_own_after_it() -> Any:
    out = np.zeros(64, np.float32)
    cell["sums"][1, 64](floats(64), out)
    return sorted(set(out.tolist()))


@cuda.jit
def histogram(bins):
    count(ffi.from_buffer(bins), cuda.threadIdx.x % 2)


@scene
def slow_updates_of_many_threads() -> Any:
    bins = np.zeros(2, np.int32)
    histogram[1, 16](bins)
    return bins.tolist()


@cuda.jit
def atomically(total):
    add_to(ffi.from_buffer(total), 1 + cuda.threadIdx.x)


@scene
def atomic_sum_of_many_threads() -> Any:
    total = np.float32([100])
    atomically[1, 16](total)
    return total.tolist()


@cuda.jit
def advanced(at):
    i = cuda.threadIdx.x
    advance(ffi.from_buffer(at[i : i + 1]))


@scene
def pointers_that_are_read_and_written() -> Any:
    at = np.arange(4, dtype=np.int32)
    advanced[1, 4](at)
    return at.tolist()


@cuda.jit
def tickets(out):
    out[cuda.threadIdx.x] = ticket(1)


@scene
def slow_ufunc_of_many_threads() -> Any:
    out = np.zeros(8, np.int64)
    tickets[1, 8](out)
    return sorted(out.tolist())


@cuda.jit(device=True)
def cubed(x):
    return mul(mul(x, x), x)


def kernel_in_a_closure() -> Any:
    product = cell["mul"]

    @cuda.jit
    def kernel(out, x):
        i = cuda.threadIdx.x
        out[i] = product(cubed(x[i]), 1.0)

    return kernel


@scene
def device_functions_and_closures() -> Any:
    out = np.zeros(4, np.float32)
    kernel_in_a_closure()[1, 4](out, floats(4))
    return out.tolist()


@cuda.jit
def given_an_array(x):
    mul(x, x)


@cuda.jit
def given_a_strided_array(x):
    sum_reduce(ffi.from_buffer(x[::2]), 2)


@cuda.jit
def given_other_pointers(x):
    sum_reduce(ffi.from_buffer(x), 2)


@cuda.jit
def calls_cpu_code(x):
    x[0] = for_cpu(x[0])


@scene
def faults() -> Any:
    wide = np.zeros(4)
    calls = [
        (given_an_array, floats(4)),
        (given_a_strided_array, floats(8)),
        (given_other_pointers, wide),
        (calls_cpu_code, wide),
    ]
    return [catch_fault(lambda kernel=kernel, x=x: kernel[1, 1](x)) for kernel, x in calls]


@cuda.jit
def fails_behind_a_barrier(x):
    block_sum(ffi.from_buffer(x))
    x[100] = 0


@scene
def names_afterwards() -> Any:
    catch_fault(lambda: fails_behind_a_barrier[1, 4](floats(4)))
    return [launch_of_our_own_after_it(), isinstance(mul, np.ufunc), mul is cell["mul"], type(ffi) is cffi.FFI]


print_scenes()
