"""CUDA cells without a GPU: which functions are bound and how, the emulation, what is refused, the report."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import replace_name, run_python
from ufunc_magic import pipeline as build
from ufunc_magic.bench import cell_report, compare_request
from ufunc_magic.bench.candidates import Candidate
from ufunc_magic.bench.request import Budget, Forms, Operands, Request
from ufunc_magic.compilers import discovery
from ufunc_magic.forms import make_namespace
from ufunc_magic.languages.c import parser as cparse
from ufunc_magic.languages.cuda import cuda_frontend as cuda, cuda_reading as reading, cuda_unit, device, nvrtc
from ufunc_magic.languages.cuda.cuda_diagnostics import find_refusals
from ufunc_magic.languages.cuda.cuda_language import time_on_gpu
from ufunc_magic.languages.cuda.device import driver
from ufunc_magic.model import CellFunction, Diagnostic, ObjectCode, make_options
from ufunc_magic.notebook.bound_names import find_defined

#: Most of what a cell can hold, so that most tests share one compilation.
CELL = """\
typedef float real;
__constant__ float table[4] = {1.0f, 2.0f, 3.0f, 4.0f};

// The product.
__device__ float mul(float x, float y) { return x * y; }

extern "C" __device__ int mul_f32_f32(float *return_value, float x, float y)
{
    *return_value = x * y;
    return x > 1000.0f ? 7 : 0;
}
extern "C" { __device__ int halved(double *result, double x) { *result = x / 2; return 0; } }

static __device__ float helper(float x) { return x + 1.0f; }
__device__ __forceinline__ float looked_up(float x) { return table[int(x) & 3] + helper(x); }
__host__ __device__ inline double sq(double x) { return x * x; }
__device__ float sq(float x) { return x * x; }
__device__ int sq(int x) { return x * x; }
template <typename T> __device__ T cube(T x) { return x * x * x; }
template <typename T, int N> __device__ T times(T x) { return x * N; }
namespace ns { __device__ unsigned long twice(unsigned long a) { return times<unsigned long, 2>(a); } }
__device__ void polar(float x, float y, float *r, float *t) { *r = sqrtf(x * x + y * y); *t = atan2f(y, x); }
__device__ real hypotenuse(const real a, real b)
{
    float2 v = make_float2(a, b);
    return sqrtf(v.x * v.x + v.y * v.y);
}
__device__ float4 scaled(float4 v, float a) { return make_float4(a * v.x, a * v.y, a * v.z, a * v.w); }
__device__ void bump(float &x, double by) { x = x + by; }

// ufunc: (n)->()
__device__ float total(const float *x, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
// ufunc: (n)->()
extern "C" __device__ int mean(float *return_value, const float *x, int n)
{
    if (n == 0) return 3;
    *return_value = total(x, n) / n;
    return 0;
}
extern "C" __device__ int sum_reduce(float *return_value, const float *data, int n)
{
    if (n < 0) return 5;
    *return_value = total(data, n);
    return 0;
}
__device__ void fill(double *p, long n, const signed char *what) { for (long i = 0; i < n; i++) p[i] = what[0]; }

__global__ void axpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
template <typename T> __global__ void reversed(T *x)
{
    extern __shared__ double room[];
    room[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = (T)room[blockDim.x - 1 - threadIdx.x];
}
float on_the_host(float x) { return x; }
"""

X = np.linspace(0, 3, 7, dtype="f4")


def compiled(source: str, **options: Any) -> build.Build:
    return um.compile_cuda(source, **{"device": "cpu", **options})


def codes(made: build.Build) -> dict[str, CellFunction]:
    return {code.name: code for code in made.report_data.functions}


@pytest.fixture
def cell() -> build.Build:
    return compiled(CELL)


# ------------------------------------------------------------------------------------ what is bound


@pytest.mark.slow
def test_types_serve_a_cell_in_which_only_a_kernel_is_in_terms_of_t() -> None:
    cell = compiled("__global__ void doubled(T *x) { *x += *x; }", types="f4,i4")
    for dtype in ("f4", "i4"):
        x = np.array([3], dtype)
        cell.doubled[1, 1](x)
        assert x[0] == 6


def test_words_of_the_c_library_for_unsigned_numbers_are_known_to_both_compilers() -> None:
    cell = compiled("__device__ uint f(uint x) { ushort y = x; ulong z = y; return z * 2; }", device="auto")
    assert (cell.f(4), cell.diagnostics) == (8, ())


@pytest.mark.nvrtc
@pytest.mark.skipif(nvrtc.find() is None, reason="NVRTC is not installed (extra: cuda)")
def test_a_cell_for_the_gpu_alone_is_read_as_its_compiler_reads_it() -> None:
    """Helper headers define functions of the host's for compilers that do not have CUDA's."""
    source = """\
#ifndef __CUDACC__
inline float fmaxf(float a, float b) { return a > b ? a : b; }
#endif
#ifdef __CUDA_ARCH__
__device__ float atLeast(float x, float a) { return fmaxf(x, a); }
#endif
"""
    assert list(um.compile_cuda(source, device="gpu")) == ["atLeast"]


@pytest.mark.nvrtc
@pytest.mark.skipif(nvrtc.find() is None, reason="NVRTC is not installed (extra: cuda)")
def test_templates_that_nobody_asks_for_fail_no_cell_for_the_gpu() -> None:
    source = """\
template <class T> __device__ float weird(T t) { return t.nothing; }
template <class T> __global__ void never(T *t) { t->foo(); }
__device__ float ok(float x) { return x + 1; }
"""
    cell = um.compile_cuda(source, device="gpu")
    assert list(cell) == ["ok"]
    assert any("nothing is made of" in note and "weird" in note and "never" in note for note in cell.notes)


WORDS = "A B L R X T N M size type item count stride value number index r a0 word at".split()


@pytest.mark.slow
def test_no_name_of_ours_meets_a_macro_of_the_cell() -> None:
    macros = "".join(f"#define {word} {n}\n" for n, word in enumerate(WORDS, 2))
    source = f"""{macros}
__global__ void k(float *x, const int *y) {{ x[0] = N + A; }}
__device__ float f(float p, float q) {{ return p * N + q * A; }}
__device__ float last(const float *p, long n) {{ return p[n - 1] + X; }}
__device__ void inc(int *p, bool q) {{ *p += L; }}
template <class V> __device__ V twice(V v) {{ return v + v; }}
"""
    cell = compiled(source)
    assert (cell.f(np.float32(1), np.float32(1)), cell.inc(1, True)) == (8 + 2, 1 + 4)
    assert cell.twice.types == ["f->f", "d->d"]
    if nvrtc.find() is None:
        pytest.skip("NVRTC is not installed")
    from ufunc_magic.languages.cuda.device import kernel_source

    assert nvrtc.make_linkable(cell.object_code)
    plan = kernel_source.Plan("{out0} = f({in0}, {in1})", "ff", "f", "ff", "f", (False, False))
    texts = [kernel_source.write_element_kernel(plan, ndim=ndim) for ndim in (0, 2)]
    texts.append(kernel_source.write_reduction_kernel(plan.call, "fff", "f", outer=1, inner=1, has_start=True))
    for text in texts:
        nvrtc.compile(
            kernel_source.write_kernel_unit(source, "In[1]", text),
            name="In[1]",
            cell=source,
            entries=[kernel_source.ENTRY],
        )


@pytest.mark.slow
def test_header_that_asks_for_nvcc_and_overloads_cudas_functions_compiles() -> None:
    source = """\
#ifndef __CUDACC__
#error "This is a header for nvcc."
inline float fminf(float a, float b) { return a < b ? a : b; }
#endif
#ifdef __CUDACC__
#define HD inline __host__ __device__
#endif
HD float3 make_float3(float s) { return make_float3(s, s, s); }
HD float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
HD float3 fminf(float3 a, float3 b) { return make_float3(fminf(a.x, b.x), fminf(a.y, b.y), fminf(a.z, b.z)); }
HD int3 max(int3 a, int3 b) { return make_int3(max(a.x, b.x), max(a.y, b.y), max(a.z, b.z)); }
HD float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
HD float length(float3 v) { return sqrtf(dot(v, v)); }
HD float3 floorf(float3 v) { return make_float3(floorf(v.x), floorf(v.y), floorf(v.z)); }
HD float smaller(float x, float y) { return length(fminf(make_float3(x), floorf(make_float3(y)))); }
#ifdef __CUDA_ARCH__
#define PLACE 1
#else
#define PLACE 0
#endif
HD int on_the_gpu(int x) { return x + PLACE; }
"""
    cell = compiled(source, device="cpu")
    assert cell.smaller(np.float32(5), np.float32(2.5)) == np.sqrt(np.float32(12))
    assert cell.on_the_gpu(1) == 1


WARP = """\
__device__ void last_warp(volatile float *s, int t)
{
    s[t] += s[t + 32];
    s[t] += s[t + 16];
    s[t] += s[t + 8];
    s[t] += s[t + 4];
    s[t] += s[t + 2];
    s[t] += s[t + 1];
}
__global__ void sum(float *x)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    if (t < 32) last_warp(s, t);
    if (t == 0) x[0] = s[0];
}
__device__ int twice(int x) { return 2 * x; }
"""


@pytest.mark.slow
def test_code_that_counts_on_lanes_in_step_is_refused_on_its_line_alone() -> None:
    cell = compiled(WARP)
    assert (sorted(cell), cell.twice(4)) == (["twice"], 8)
    with pytest.raises(um.UfuncMagicError, match=r"sum calls last_warp.*lanes.*line 3"):
        cell.sum
    x = np.ones(64, "f4")
    compiled(WARP.replace("];\n    s", "]; __syncwarp();\n    s")).sum[1, 64](x)
    assert x[0] == 64


@pytest.mark.slow
def test_loop_over_a_warp_in_step_is_refused_and_one_thread_is_not() -> None:
    loop = (
        "volatile __shared__ float s[64]; int t = threadIdx.x; for (int o = 16; o; o /= 2) s[t] += s[t + o]; *x = *s;"
    )
    serial = "volatile float *s = x; s[1] = s[0]; for (int i = 1; i < 9; i++) { s[i] += i; __syncthreads(); }"
    cell = compiled(f"__global__ void a(float *x) {{ {loop} }}\n__global__ void b(float *x) {{ {serial} }}")
    assert list(cell) == ["b"]


@pytest.mark.slow
def test_code_in_step_that_is_not_volatile_is_noted_once_on_its_line() -> None:
    """A GPU may reorder it, so that nobody can say what is right."""
    updates = "if (t < 32) {\n s[t] += s[t + 32];\n s[t] += s[t + 16];\n s[t] += s[t + 8]; }"
    text = f"__global__ void sum(float *x) {{ __shared__ float s[64]; int t = threadIdx.x; s[t] = x[t];\n{updates} }}"
    assert [note[:6] for note in compiled(text).notes if "going in step" in note] == ["line 3"]
    assert [note for note in compiled(text.replace(";\n s", "; __syncwarp();\n s")).notes if "in step" in note] == []


def test_the_reason_of_a_kernel_counts_where_nothing_else_is_bound() -> None:
    source = """
    struct Pair { float low, high; __device__ Pair(float a, float b) : low(a), high(b) {} };
    __device__ Pair join(Pair a, Pair b) { return Pair(fminf(a.low, b.low), fmaxf(a.high, b.high)); }
    __global__ void reduce(float *out) {
        extern __shared__ float s[];
        volatile float *v = s;
        int t = threadIdx.x;
        v[t] = out[t];
        if (t < 32) {
            v[t] += v[t + 16];
            v[t] += v[t + 8];
        }
        out[t] = join(Pair(v[t], 1), Pair(2, 3)).low;
    }
    """
    with pytest.raises(um.CompileError, match="going in step"):
        um.compile_cuda(source, device="cpu")


def test_code_in_step_is_found_where_a_compiler_of_cuda_looks() -> None:
    assert [d.line for d in find_refusals(f"#ifdef __CUDACC__\n{WARP}#endif\n", name="In[3]")] == [4, 5, 6, 7, 8]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "#include <mma.h>\nusing namespace nvcuda;\n"
        "__global__ void bad(half *a) { wmma::fragment<wmma::matrix_a, 16, 16, 16, half> f; *a = 1; }\n",
        "#include <mma.h>\nusing namespace nvcuda::wmma;\n__global__ void bad(half *a) {\n"
        "fragment<matrix_a, 16, 16, 16, half> f; load_matrix_sync(f, a, 16); }\n",
        "#include <cub/block/block_reduce.cuh>\ntypedef cub::BlockReduce<int, 64> Sum;\n"
        "__global__ void bad(int *x) { __shared__ Sum::TempStorage s; *x = Sum(s).Sum(*x); }\n",
        "texture<float, 2> image;\nstatic surface<void, 2> other;\n"
        "__global__ void bad(float *x) { *x = tex2D(image, 1, 1); }\n",
        "texture<float, 1, cudaReadModeElementType> image;\n#define READ(t) fetched(t, 0)\n"
        "__global__ void bad(float *x) { *x = READ(image); }\n",
    ],
)
def test_words_outside_of_functions_that_need_a_gpu_go_with_their_kernels(text: str) -> None:
    cell = compiled(f"{text}__device__ float fine(float x) {{ return x; }}\n")
    assert (list(cell), list(cell.report_data.refused)) == (["fine"], ["bad"])


ATOMICS = """\
#include <cuda/atomic>
__global__ void all(int *bins, cuda::atomic<float, cuda::thread_scope_device> *total, unsigned *most, int *claimed)
{
    __shared__ cuda::atomic<int, cuda::thread_scope_block> turn;
    if (threadIdx.x == 0) turn = 0;
    __syncthreads();
    int t = turn++, none = -1;
    cuda::atomic_ref<int, cuda::thread_scope_device> bin(bins[t % 3]);
    bin.fetch_add(1, cuda::std::memory_order_relaxed);
    *total += 0.5f;
    cuda::atomic_ref<unsigned>(*most).fetch_max(threadIdx.x);
    cuda::atomic_ref<int>(*claimed).compare_exchange_strong(none, t, cuda::memory_order_acq_rel);
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
}
"""


@pytest.mark.slow
def test_atomics_of_libcu_run_in_the_emulation() -> None:
    arrays = np.zeros(3, "i4"), np.zeros(1, "f4"), np.zeros(1, "u4"), np.full(1, -1, "i4")
    compiled(ATOMICS, device="cpu").all[2, 8](*arrays)
    assert [a.tolist() for a in arrays] == [[6, 6, 4], [8.0], [7], [0]]


RANDOM = """\
#include <curand_kernel.h>
__global__ void draw(unsigned *words, float *numbers)
{
    curandStatePhilox4_32_10_t s;
    curand_init(0, 0, 0, &s);
    uint4 v = curand4(&s);
    words[0] = v.x; words[1] = v.y; words[2] = v.z; words[3] = v.w;
    curandState t;
    curand_init(7, threadIdx.x, 0, &t);
    numbers[threadIdx.x] = curand_uniform(&t);
}
"""


@pytest.mark.slow
def test_curand_of_nvidias_header_runs_in_the_emulation() -> None:
    """Philox is counter and key, so that its words for zeros are published (Random123, kat_vectors)."""
    if not any(Path(folder, "curand_kernel.h").exists() for folder in nvrtc.find_installed_headers().values()):
        pytest.skip("nvidia-curand is not installed (extra: cuda-test)")
    words, numbers = np.zeros(4, "u4"), np.zeros(2, "f4")
    compiled(RANDOM, device="auto").draw[1, 2](words, numbers)
    assert [f"{word:x}" for word in words] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]
    assert 0 < numbers.min() < numbers.max() <= 1


def test_a_header_that_is_not_installed_says_which_wheel_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "find_installed_headers", dict)
    with pytest.raises(um.CompileError, match="pip install nvidia-curand"):
        compiled(RANDOM)


@pytest.mark.slow
def test_kernel_that_needs_a_gpu_takes_no_other_down() -> None:
    cell = compiled(
        "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
        "__global__ void groups(float *x) { cg::this_cluster().sync(); }\n"
        '__device__ unsigned mask() { unsigned m; asm("activemask.b32 %0;" : "=r"(m)); return m; }\n'
        "__global__ void masks(unsigned *x) { *x = mask(); }\n"
        "__global__ void shuffled(float *x) { *x = __shfl(*x, 0); }\n"
        "__global__ void fine(float *x) { *x = 7; }\n"
    )
    x = np.zeros(1, "f4")
    cell.fine[1, 1](x)
    assert (list(cell), x[0]) == (["fine"], 7)
    lines = {name: d.line for name, d in cell.report_data.refused.items()}
    assert lines == {"groups": 3, "mask": 4, "masks": 4, "shuffled": 6}


@pytest.mark.slow
def test_template_that_nobody_asked_for_with_floats_fails_no_cell() -> None:
    cell = compiled(
        "template <class T> __device__ T half(T x) { return x >> 1; }\n__device__ int f(int x) { return half(x); }"
    )
    assert (list(cell), cell.f(9)) == (["f"], 4)
    assert [note for note in cell.notes if "half" in note] == [
        "nothing is made of half for float and double: say for which types, as --types i4"
    ]


@pytest.mark.slow
def test_int_and_first_pointer_are_said_to_be_two_results() -> None:
    cell = compiled("__device__ int bar(int *out, int a) { *out = a; return 0; }")
    assert cell.bar.types == ["i->ii"]
    assert "With --abi numba the int is a status" in cell.notes[0]
    assert not compiled("__device__ int bar(int *out, int a) { *out = a; return 0; }", abi="c").notes


def test_pointer_that_a_callee_reads_is_an_input_too() -> None:
    source = """\
struct Adder { __device__ void add(float *p, float v) { *p += v; } };
__device__ void by_method(float *p, float v) { Adder a; a.add(p, v); }
__device__ void by_lambda(float *p, float v) { auto add = [&](float *q) { *q += v; }; add(p); }
__device__ void atomically(float *p, float v) { atomicAdd(p, v); }
__device__ void through(int *p, int v) { atomicCAS(&p[0], 0, v); }
"""
    cell = compiled(source)
    assert [cell[name].types for name in ("by_method", "by_lambda")] == [["ff->f"]] * 2
    assert cell["by_lambda"](np.float32(2), np.float32(3)) == 5
    # Memory that threads share is not a value.
    assert [codes(cell)[name].kind for name in ("atomically", "through")] == ["plain", "plain"]


def test_every_device_function_of_numbers_is_a_ufunc(cell: build.Build) -> None:
    bound = {name: f.types for name, f in cell.items() if isinstance(f, np.ufunc)}
    assert bound == {
        "mul": ["ff->f"],
        "mul_f32_f32": ["ff->f"],
        "halved": ["d->d"],
        "looked_up": ["f->f"],
        "sq": ["i->i", "f->f", "d->d"],
        "cube": ["f->f", "d->d"],
        "twice": ["L->L"],
        "polar": ["ff->ff"],
        "hypotenuse": ["ff->f"],
        "bump": ["fd->f"],
        "total": ["f->f"],
        "mean": ["f->f"],
    }


def test_the_others_are_plain_functions_and_kernels(cell: build.Build) -> None:
    assert {name: code.kind for name, code in codes(cell).items() if code.kind != "ufunc"} == {
        "sum_reduce": "plain",
        "fill": "plain",
        "scaled": "plain",
        "axpy": "kernel",
        "reversed_f4": "kernel",
        "reversed_f8": "kernel",
    }


def test_function_of_the_host_is_not_bound_and_the_report_says_so(cell: build.Build) -> None:
    assert "on_the_host" not in cell
    assert "not bound, because neither __device__ nor __global__: on_the_host" in cell.notes


def test_values_are_those_of_the_source(cell: build.Build) -> None:
    np.testing.assert_array_equal(cell.mul(X, 2), 2 * X)
    np.testing.assert_array_equal(cell.halved(X), X / 2.0)
    np.testing.assert_array_equal(cell.looked_up(X), np.array([1, 2, 3, 4], "f4")[X.astype(int) & 3] + X + 1)
    np.testing.assert_array_equal(cell.cube(np.float64(3)), 27.0)
    np.testing.assert_array_equal(cell.twice(np.uint64(2**40)), 2**41)
    np.testing.assert_allclose(cell.polar(X, X), [np.hypot(X, X), np.arctan2(X, X)], rtol=3e-7)
    np.testing.assert_allclose(cell.hypotenuse(X, 1), np.hypot(X, 1), rtol=3e-7)
    np.testing.assert_array_equal(cell.bump(X, 1.0), X + 1)
    np.testing.assert_array_equal(cell.total(np.ones((2, 5), "f4")), [5, 5])


def test_comment_above_becomes_the_docstring(cell: build.Build) -> None:
    assert "The product." in cell.mul.__doc__


def test_statements_of_device_code_name_the_function_as_cplus_does(cell: build.Build) -> None:
    found = {name: code.calls for name, code in codes(cell).items()}
    assert found["mul"] == ("{out0} = mul({in0}, {in1})",)
    assert found["mul_f32_f32"] == ("mul_f32_f32(&{out0}, {in0}, {in1})",)
    assert found["cube"] == ("{out0} = cube<float>({in0})", "{out0} = cube<double>({in0})")
    assert found["twice"] == ("{out0} = ns::twice({in0})",)
    assert found["polar"] == ("polar({in0}, {in1}, &{out0}, &{out1})",)
    assert found["bump"] == ("{out0} = {in0}; bump({out0}, {in1})",)
    assert found["total"] == ()
    assert found["sum_reduce"] == ("sum_reduce(&{out0}, {in0}, {in1})",)
    assert found["fill"] == ("fill({in0}, {in1}, {in2})",)
    assert found["axpy"] == ("axpy", "static_cast<void (*)(int, float, const float *, float *)>(&axpy)")
    assert found["reversed_f8"] == ("reversed<double>",)


def test_prototypes_are_the_compilers_types(cell: build.Build) -> None:
    found = {name: code.prototype for name, code in codes(cell).items() if code.prototype}
    assert found == {
        "sum_reduce": ("f4", "const f4*", "i4"),
        "fill": ("void", "f8*", "i8", "const i1*"),
        "scaled": ("V16", "V16", "f4"),
        "axpy": ("void", "i4", "f4", "const f4*", "f4*"),
        "reversed_f4": ("void", "f4*"),
        "reversed_f8": ("void", "f8*"),
    }


@pytest.mark.slow
def test_overloads_with_pointers_are_told_apart() -> None:
    made = compiled(
        "__device__ double f(const double *p, int n) { return p[n]; }\n"
        "__device__ float f(const float *p) { return p[1]; }\n"
        "__global__ void k(float *p) { *p = 1; }\n__global__ void k(double *p, int n) { p[n] = 2; }\n"
    )
    assert {code.name: code.prototype for code in made.object_code.functions} == {
        "f": ("f8", "const f8*", "i4"),
        "k_f4": ("void", "f4*"),
        "k_f8_i4": ("void", "f8*", "i4"),
    }
    assert codes(made)["k_f4"].calls == ("static_cast<void (*)(float *)>(&k)",)
    assert made.f(np.array([1.0, 2.0]), 1) == 2.0


@pytest.mark.slow
def test_cell_in_terms_of_t_has_a_loop_and_a_kernel_for_each_type() -> None:
    made = compiled(
        "__device__ T twice(T x) { return x + x; }\n__global__ void doubled(T *p) { *p = twice(*p); }\n", types="f4,i4"
    )
    assert made.twice.types == ["i->i", "f->f"]
    assert [code.calls for code in made.object_code.functions] == [
        ("{out0} = __ufm_i4_twice({in0})", "{out0} = __ufm_f4_twice({in0})"),
        ("__ufm_i4_doubled",),
        ("__ufm_f4_doubled",),
    ]
    assert "#define twice __ufm_f4_twice" in made.object_code.device["unit"]
    value = np.array([3], "i4")
    made.doubled_i4[1, 1](value)
    assert value[0] == 6


@pytest.mark.slow
def test_functions_that_macros_define_are_bound_and_those_of_headers_only_where_the_cell_has_none(
    tmp_path: Path,
) -> None:
    (tmp_path / "more.cuh").write_text("__device__ inline float from_header(float x) { return x - 1; }\n")
    assert list(compiled('#include "more.cuh"\n', include=[str(tmp_path)])) == ["from_header"]
    made = compiled(
        '#include "more.cuh"\n#define DEFINE(name, op) __device__ float name(float x) { return x op x; }\n'
        "DEFINE(added, +)\nDEFINE(multiplied, *)\n",
        include=[str(tmp_path)],
    )
    assert list(made) == ["added", "multiplied"]
    assert made.multiplied(np.float32(3)) == 9


def test_half_is_numpys_float16() -> None:
    made = compiled(
        "#include <cuda_fp16.h>\n__device__ half twice(half x) { return __hadd(x, x); }\n"
        "__device__ float first(const __half *p) { return __half2float(p[0]); }\n"
    )
    assert made.twice.types == ["e->e"]
    assert made.twice(np.float16(1.5)) == np.float16(3)
    assert codes(made)["first"].prototype == ("f4", "const f2*")


# --------------------------------------------------------------------------------------- Numba's form


def test_status_other_than_0_is_an_exception_that_names_it(cell: build.Build) -> None:
    bad = np.array([1, 2000, 3], "f4")
    for call in (
        lambda: cell.mul_f32_f32(bad, bad),
        lambda: cell.mul_f32_f32(np.repeat(bad, 2)[::2], bad),
        lambda: cell.mul_f32_f32.reduce(bad[[1, 1, 1]]),
        lambda: cell.mul_f32_f32(np.float32(2000), np.float32(1)),
    ):
        with pytest.raises(RuntimeError, match="mul_f32_f32 returned status 7"):
            call()
    with pytest.raises(RuntimeError, match="mean returned status 3"):
        cell.mean(np.empty((2, 0), "f4"))
    assert cell.mean(np.ones((2, 3), "f4")).tolist() == [1, 1]


def test_plain_function_in_numbas_form_returns_its_result(cell: build.Build) -> None:
    assert cell.sum_reduce(np.arange(4, dtype="f4"), 4) == 6
    with pytest.raises(RuntimeError, match="sum_reduce returned status 5"):
        cell.sum_reduce(np.arange(4, dtype="f4"), -1)


@pytest.mark.parametrize(
    ("text", "abi", "expected"),
    [
        ('extern "C" __device__ int f(float *return_value, float x) {}', "auto", True),
        ('extern "C" __device__ int f(float *result) {}', "auto", True),
        ("__device__ int f(float *return_value, float x) {}", "auto", False),
        ("__device__ int f(float *p, float x) {}", "numba", True),
        ('extern "C" __device__ int f(float *return_value, float x) {}', "c", False),
        ('extern "C" __device__ int f(const float *return_value, float x) {}', "auto", False),
        ('extern "C" __device__ float f(float *return_value, float x) {}', "numba", False),
        ('extern "C" __device__ int f(float *r, int n) {}', "auto", False),
        ('extern "C" __device__ int f(float *result, int n) { result[n] = 1; }', "auto", False),
        ('extern "C" __device__ int f(int x) {}', "auto", False),
    ],
)
def test_numbas_form_is_known_by_linkage_type_and_name(text: str, abi: str, expected: bool) -> None:
    from ufunc_magic.languages.c import parser as cparse

    (function,) = cparse.parse(text, cplus=True).functions
    assert reading.uses_numbas_form(function, abi=abi) is expected


def test_abi_c_makes_the_status_a_result() -> None:
    source = 'extern "C" __device__ int f(float *return_value, float x) { *return_value = x; return 4; }'
    made = compiled(source, abi="c")
    assert made.f.types == ["f->if"]
    assert made.f(np.float32(2)) == (4, 2.0)


# ----------------------------------------------------------------------------------------- kernels


def test_kernel_runs_in_the_emulation_with_barriers_and_dynamic_shared_memory(cell: build.Build) -> None:
    y = np.ones(100, "f4")
    cell.axpy[4, 32](100, np.float32(2), np.arange(100, dtype="f4"), y)
    np.testing.assert_array_equal(y, 1 + 2 * np.arange(100))
    x = np.arange(64.0)
    cell.reversed_f8[1, 64, None, 64 * 8](x)
    np.testing.assert_array_equal(x, np.arange(64.0)[::-1])


@pytest.mark.slow
def test_variables_of_the_cell_are_arrays_that_its_kernels_see() -> None:
    cell = compiled(
        "#define N 4\n__constant__ float coefficients[N] = {1, 2, 3, 4};\n"
        "__device__ int counter, table[2][3] = {{1, 2, 3}, {4, 5, 6}};\n__device__ const double fixed[] = {0.5, 1.5};\n"
        "struct P { float x; int y; };\nstatic __device__ int own;\n__device__ __align__(16) P pair;\n"
        "int of_the_host = 3;\n"
        "__device__ float f(float x) { return coefficients[0] * x; }\n"
        "__global__ void k(float *x)\n{\n    atomicAdd(&counter, 1);\n"
        "    x[threadIdx.x] = coefficients[threadIdx.x % N] + table[1][2] + pair.x;\n}\n"
    )
    assert list(cell) == ["f", "k"]
    assert sorted(cell.k.memory) == ["coefficients", "counter", "fixed", "pair", "table"]
    x = np.zeros(8, "f4")
    cell.k[1, 8](x)
    np.testing.assert_array_equal(x, np.arange(8) % 4 + 7)
    cell.coefficients[...] = [5, 6, 7, 8]
    cell.table[1, 2] = 0
    cell.k.memory["pair"][...] = np.array((0.5, 1), "f4,i4")
    with pytest.raises(um.ArgumentError, match=r"a structure of 8 bytes; .* has 4"):
        cell.k.memory["pair"][...] = np.float32(1)
    cell.k[2, 8](x)
    np.testing.assert_array_equal(x, np.arange(8) % 4 + 5.5)
    assert (cell.counter, cell.f(np.float32(2))) == (24, 10)
    assert (cell.coefficients.dtype, cell.table.shape, list(cell.fixed)) == ("f4", (2, 3), [0.5, 1.5])
    with pytest.raises(ValueError, match="read-only"):
        cell.fixed[0] = 1
    with pytest.raises(AttributeError, match="of_the_host"):
        cell.of_the_host


@pytest.mark.slow
def test_references_of_a_kernel_are_taken_as_pointers() -> None:
    text = "struct P { float x; int n; };\n__global__ void k(float &x, const P &p, int *y) { x += p.x; y[0] = p.n; }"
    x, p, y = np.ones(1, "f4"), np.array([(2.5, 7)], "f4,i4"), np.zeros(1, "i4")
    compiled(text).k[1, 1](x, p, y)
    assert (x[0], y[0]) == (3.5, 7)


def test_kernels_have_a_line_in_the_report(cell: build.Build) -> None:
    shown = str(build.report(cell, options=make_options({"time": False})))
    assert "axpy[grid, block](n, a, x, y): a kernel" in shown


# --------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('asm("mov.u32 %0, %laneid;" : "=r"(i));', "inline PTX"),
        ('asm volatile ("bar.sync 0;");', "inline PTX"),
        ("i = __shfl_down(i, 1);", "GPUs since 2017 have none without a mask: __shfl_down_sync(0xffffffff, ...)"),
        ("float v = tex2D<float>(t, 0, 0);", "tex2D: textures and"),
        ("cudaTextureObject_t t = 0;", "cudaTextureObject_t: textures"),
        ("surf2Dwrite(1.0f, s, 0, 0);", "surf2Dwrite: textures and surfaces"),
        ("auto g = cooperative_groups::this_cluster();", "this_cluster needs a GPU"),
        ("nvcuda::wmma::fill_fragment(f, 0);", "tensor cores"),
        ("other<<<1, 2>>>(i);", "dynamic parallelism"),
    ],
)
def test_what_the_emulation_lacks_is_refused_on_its_line(line: str, said: str) -> None:
    source = f"// 1\n__device__ int f(int i)\n{{\n    {line}\n    return i;\n}}\n"
    with pytest.raises(um.CompileError, match="emulated") as caught:
        compiled(source, name="In[3]")
    (found,) = caught.value.diagnostics
    assert (found.file, found.line) == ("In[3]", 4)
    assert re.match(r"asm|__|tex|cudaT|surf|this|nvcuda|<<<|\(i", found.text[found.column - 1 :])
    assert said in found.message


@pytest.mark.parametrize(
    "text",
    [
        '#ifdef __CUDA_ARCH__\n__device__ void g() { asm("nop;"); }\n#endif\n',
        '// asm("nop;") and __shfl_sync(1) and k<<<1, 2>>>()\n',
        'static const char *words = "k<<<1,2>>>(); __shfl_sync()";\n',
        "__device__ int texture(int all) { return all; }\n",
        "/* #include <mma.h> */\n",
    ],
)
def test_what_is_not_compiled_is_not_refused(text: str) -> None:
    assert find_refusals(text, name="In[3]") == ()


def test_asking_for_a_gpu_where_there_is_none_nor_a_compiler_for_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "is_available", lambda: False)
    monkeypatch.setattr(device, "explain_missing", lambda: "there is no driver")
    monkeypatch.setattr(nvrtc, "find", lambda: None)
    with pytest.raises(um.ToolchainError, match=r"--device gpu: .*there is no driver"):
        um.compile_cuda(CELL, device="gpu")


@pytest.mark.nvrtc
@pytest.mark.skipif(nvrtc.find() is None, reason="NVRTC is not installed (extra: cuda)")
def test_a_cell_for_a_gpu_is_compiled_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "is_available", lambda: False)
    monkeypatch.setattr(device, "explain_missing", lambda: "there is no driver")
    replace_name(monkeypatch, driver, "explain_missing", lambda: "there is no driver")
    cell = """\
__device__ float half_of(float x) { return x / 2; }
template <class T, int N> __global__ void k(T *x)
{
    __shared__ T s[N];
    s[threadIdx.x] = x[threadIdx.x];
    asm volatile("bar.sync 0;");
    x[threadIdx.x] = s[N - 1 - threadIdx.x];
}
template __global__ void k<double, 32>(double *);
"""
    b = um.compile_cuda(cell, device="gpu", compile_args=["-arch=sm_80"])
    assert sorted(b) == ["half_of", "k"]
    assert "compiled for sm_80 but not run: there is no driver" in b.notes
    taken = {n.partition(":")[0]: n for n in b.notes if "registers" in n}
    assert re.fullmatch(r"k: \d+ registers, 256 bytes of shared memory, no spills", taken["k"])
    assert re.fullmatch(r"half_of: \d+ registers, 0 bytes of shared memory, no spills", taken["half_of"])
    for call in (lambda: b.half_of(1.0), lambda: b.k[1, 32](np.zeros(32))):
        with pytest.raises(um.ToolchainError, match=r"there is no driver"):
            call()
    with pytest.raises(um.CompileError, match="Unresolved extern function"):
        um.compile_cuda("__device__ float g(float);\n__device__ float f(float x) { return g(x); }", device="gpu")


@pytest.mark.nvrtc
@pytest.mark.skipif(nvrtc.find() is None, reason="NVRTC is not installed (extra: cuda)")
@pytest.mark.parametrize(
    ("cell", "why"),
    [
        (
            "#include <cstdlib>\nnamespace std { __device__ double abs(double x) { return x < 0 ? -x : x; } }\n"
            "__device__ double f(double x) { return std::abs(x); }",
            "line 2: redefinition of 'double std::abs(double)'",
        ),
        ("#ifdef __CUDA_ARCH__\n__device__ float f(float x) { return x; }\n#endif", "<cuda> defines no CUDA function."),
    ],
)
def test_what_the_gpus_compiler_alone_takes_is_for_the_gpu_alone(
    cell: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(um.UfuncMagicError):
        um.compile_cuda(cell)
    with monkeypatch.context() as there_is_a_gpu:
        replace_name(there_is_a_gpu, driver, "explain_missing", lambda: "")
        b = um.compile_cuda(cell)
        assert f"<cuda> has no emulation on the CPU: {why}" in b.notes
        assert (b.object_code.code, "f" in b) == (b"", True)
    build.BUILDS.clear()
    with pytest.raises(um.UfuncMagicError):  # the GPU is gone, and what was kept for it serves nobody
        um.compile_cuda(cell)


@pytest.mark.nvrtc
@pytest.mark.skipif(nvrtc.find() is None, reason="NVRTC is not installed (extra: cuda)")
def test_too_much_shared_memory_is_one_error_for_the_gpu_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "is_available", lambda: False)
    monkeypatch.setattr(device, "explain_missing", lambda: "there is no driver")
    cell = (
        "__global__ void big(float *x) { __shared__ float s[20000]; s[threadIdx.x] = *x; __syncthreads(); *x = s[7]; }"
    )
    with pytest.raises(um.CompileError) as caught:
        um.compile_cuda(cell, device="gpu", name="In[3]")
    (only,) = caught.value.diagnostics
    assert re.search("big.* uses too much shared data", only.message)
    assert "extern __shared__" in only.hint


HOST = """\
#include <vector>
static void die(cudaError_t e) { if (e) { exit(1); } }
struct Buffer { std::vector<float> h; float *d; Buffer(int n) : h(n) { die(cudaMalloc(&d, n * 4)); } };
"""


@pytest.mark.nvrtc
@pytest.mark.skipif(nvrtc.find() is None, reason="NVRTC is not installed (extra: cuda)")
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        # The linker.
        ("__device__ float g(float);\n__global__ void k(float *x)\n{\n    x[0] = g(x[0]); //!\n}", "Unresolved extern"),
        # The assembler.
        (
            '__global__ void k(int *x)\n{\n    int l;\n    asm("mov.s32 %0, %%lane;" : "=r"(l)); //!\n    *x = l;\n}',
            "mov",
        ),
        ('__device__ int f(int x)\n{\n    int l;\n    asm("add.s32 %0, 1;" : "=r"(l)); //!\n    return l;\n}', "add"),
        (
            'extern "C" __global__ void k(int *x) //!\n{\n'
            "    __shared__ int s[60000];\n    s[*x] = *x;\n    *x = s[7];\n}",
            "shared data",
        ),
        ("__constant__ float c[20000];\n__global__ void k(float *x)\n{\n    *x = c[3]; //!\n}", "constant data"),
        # Cells in which the parser finds nothing to bind.
        ("__global__ void k(float *x)\n{\n    x[0] = 1\n} //!", 'expected a ";"'),
        ("__device__ float f(float x)\n{\n    return (x + 1; //!\n}", 'expected a "[)]"'),
    ],
)
def test_every_message_for_a_gpu_has_its_line(kernel: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a cell has a host's part, and of the programs that read PTX."""
    monkeypatch.setattr(device, "is_available", lambda: False)
    cell = HOST + kernel + "\nint main() { Buffer b(3); }\n"
    with pytest.raises(um.CompileError) as caught:
        um.compile_cuda(cell, device="gpu", name="In[3]")
    errors = [d for d in caught.value.diagnostics if d.severity == "error"]
    assert re.search(message, errors[0].message)
    assert {d.file for d in errors} == {"In[3]"}
    lines = cell.split("\n")
    assert {d.line for d in errors} == {n for n, line in enumerate(lines, 1) if line.endswith("//!")}


@pytest.mark.slow
def test_arguments_for_nvidias_compiler_alone_are_not_the_hosts() -> None:
    b = um.compile_cuda(CELL, device="cpu", compile_args=["--maxrregcount=32", "-arch=sm_90", "-DSIZE=3"])
    assert "mul" in b


@pytest.mark.parametrize(
    ("source", "kind", "said"),
    [
        ("", um.ParseError, "defines no CUDA function"),
        ("float f(float x) { return x; }", um.ParseError, "no function for the GPU that is not static: f"),
        ("__device__ float f(float x) { return x }", um.CompileError, r"In\[3\]:1:"),
        ("\n__device__ float f(float x) { return y; }", um.CompileError, r"In\[3\]:2:.*'y' was not declared"),
        ("\n__device__ float f(float x) {", um.CompileError, r"In\[3\]:2:"),
    ],
)
def test_message_of_a_bad_cell(source: str, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said) as caught:
        compiled(source, name="In[3]")
    assert "ufm" not in str(caught.value)


# ------------------------------------------------------------------------------------ key and cache


def test_same_cell_again_is_the_same_functions_and_starts_nothing(
    cell: build.Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: pytest.fail("a process was started"))
    again = compiled(CELL)
    assert again.cached
    assert again.mul is cell.mul


@pytest.mark.parametrize(
    ("changed", "differs"), [({"abi": "numba"}, True), ({"device": "cpu"}, True), ({"time": False}, False)]
)
def test_key_differs_where_the_code_may(changed: dict[str, Any], differs: bool) -> None:
    plain = cuda.make_key(CELL, options=make_options())
    assert (cuda.make_key(CELL, options=make_options(changed)) != plain) is differs


@pytest.mark.slow
def test_another_process_needs_no_compiler_and_nothing_of_cuda(shared_cache_folder: Path) -> None:
    source = "__device__ float f(float x) { return x + 1; }"
    code = (
        "import sys, os, ufunc_magic as um\n"
        f"b = um.compile_cuda({source!r}, device='cpu')\n"
        "print(b.cached, b.f.types, sorted({'cupy', 'cuda.bindings', 'numba', 'tree_sitter'} & set(sys.modules)))"
    )
    said = [
        run_python(code, PATH="/usr/bin:/bin", UFUNC_MAGIC_CACHE=str(shared_cache_folder)).stdout.strip()
        for _ in range(2)
    ]
    assert said[0].startswith("False ['f->f']")
    assert said[1] == "True ['f->f'] []"


def test_pickled_function_of_a_cell_comes_back(cell: build.Build) -> None:
    assert um.loads(um.dumps(cell.mul)) is cell.mul


# ----------------------------------------------------------------------------------------- the report


@pytest.mark.slow
def test_report_says_emulation_and_has_no_row_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_name(monkeypatch, driver, "explain_missing", lambda: "there is no GPU")
    made = um.compile_cuda("__device__ double f(double x) { return 1.0 / (1.0 + exp(-x)); }")
    announced: set[str] = set()
    reports = [build.report(made, options=make_options({"size": 1000}), announced=announced) for _ in range(2)]
    labels = [row.label for row in reports[0].rows]
    assert labels == ["Python loop", "NumPy expression", "CPU emulation, 1 thread"]
    assert reports[0].ok
    assert str(reports[0]).rstrip().endswith("; CPU emulation")
    assert "CPU emulation" in json.loads(reports[0].to_json())["device"]
    notices = ["this machine has no GPU" in str(report) for report in reports]
    assert notices == [True, False]


def test_asked_for_emulation_needs_no_notice(cell: build.Build) -> None:
    made = build.report(cell, options=make_options({"time": False}))
    assert not [note for note in made.notes if "GPU" in note]


class FakeMeter:
    """A GPU that takes 1 ms, 4 ms with transfers, at half of its copies' speed."""

    copied = 0

    def time_function(self, function: Any, arguments: Any) -> Any:
        return SimpleNamespace(kernel=1e-3, transfers=4e-3, bandwidth=5e11)

    def copy_bandwidth(self) -> float:
        self.copied += 1
        return 1e12


def gpu_rows(function: Any, arrays: Any, *, meter: Any = None) -> Any:
    times = partial(time_on_gpu, function, meter=meter or FakeMeter())
    return cell_report.make_device_rows(function.emulated, function, times, arrays)


def test_rows_of_a_gpu_are_the_kernel_alone_and_with_transfers(cell: build.Build) -> None:
    class Function:
        emulated = cell.mul

        def __call__(self, x: Any, y: Any) -> Any:
            return x * y

    meter = FakeMeter()
    rows, _ = (gpu_rows(Function(), [X, X], meter=meter) for _ in range(2))
    assert [(row.label, row.kind, row.seconds, row.bandwidth) for row in rows] == [
        ("GPU, kernel alone", "gpu", 1e-3, 0.5),
        ("GPU with transfers", "gpu", 4e-3, None),
    ]
    assert all(row.agreement is not None and row.agreement.ok for row in rows)
    assert meter.copied == 1


def test_gpu_that_gives_other_results_disagrees(cell: build.Build) -> None:
    function = type("Wrong", (), {"emulated": cell.mul, "__call__": lambda self, x, y: x * y + 1})()
    rows = gpu_rows(function, [X, X])
    assert not any(row.agreement.ok for row in rows if row.agreement)


def test_table_with_a_gpu_has_its_rows_and_their_share_of_its_bandwidth(cell: build.Build) -> None:
    function = type("Gpu", (), {"emulated": cell.mul, "__call__": lambda self, x, y: x * y})()
    request = Request(
        "mul",
        (Candidate("CPU loop", cell.mul, "ufunc"),),
        Operands("ff->f", size=1000),
        forms=Forms(lambda x, y: x * y),
        on_device=lambda arrays: gpu_rows(function, arrays),
        budget=Budget(0.2),
    )
    made = compare_request(request)
    assert [row.label for row in made.rows][-3:] == ["CPU loop, 1 thread", "GPU, kernel alone", "GPU with transfers"]
    assert made.rows[-1].speedup == pytest.approx(made.rows[0].seconds / 4e-3)
    assert "50 % of the GPU's copy bandwidth" in str(made)


# ------------------------------------------------------------------------------------- Python's words

FORMS = """\
__device__ float a(float x) { return __expf(-x) + __logf(x + 1) * __sinf(x); }
__device__ float b(float x) { return rsqrtf(x) + __fdividef(x, x - 1); }
__device__ float c(float x) { return __saturatef(x) + rsqrtf(x); }
__device__ double d(double x) { return normcdf(x) + rsqrt(x); }
__device__ int e(int x) { return __popc(x) + __clz(x); }
__device__ float g(float x) { return __fmaf_rn(x, 2.0f, 1.0f) * __fadd_rn(x, 1.0f) - __frcp_rn(x + 2.0f); }
"""


@pytest.mark.slow
def test_cudas_functions_have_python_forms_with_the_same_values() -> None:
    made = compiled(FORMS)
    with np.errstate(all="ignore"):
        for code in made.report_data.functions:
            assert code.python, f"{code.name}: {code.python_reason}"
            names: Mapping[str, Any] = make_namespace("verify")
            exec(code.checked, names)  # type: ignore[arg-type]
            values = np.arange(9).astype(made[code.name].types[0][0])
            expected = [names[code.python_name](x.item()) for x in values]
            np.testing.assert_allclose(made[code.name](values), expected, rtol=1e-5, err_msg=code.name)


def test_function_that_may_fail_has_no_python_form(cell: build.Build) -> None:
    assert codes(cell)["mul_f32_f32"].python_reason == "may return a status other than 0"
    assert "return result" in codes(cell)["halved"].python


# ---------------------------------------------------------------------------------------------- names


def test_names_of_a_broken_cell_are_found() -> None:
    text = """
        extern "C" __device__ int first(float *r, float x) {
        __global__ void __launch_bounds__(256, 2) second(float *x) {
        __launch_bounds__(128) __global__ void third(
        template <typename T> __device__ T fourth(T x)
        __host__ __device__ __forceinline__ unsigned int fifth (int a)
        extern "C" { __device__ double sixth(double a) { return a; } }
        static __device__ float hidden(float x)
    """
    words = {name for name in find_defined(text) if not name.endswith("_")}
    assert words == {"first", "second", "third", "fourth", "fifth", "sixth"}


# ---------------------------------------------------------------------------------------------- NVRTC

needs_nvrtc = pytest.mark.skipif(not nvrtc.identify_nvrtc(), reason="NVRTC is not installed")
NVRTC_CELL = CELL.replace("float on_the_host(float x) { return x; }\n", "")


@pytest.mark.nvrtc
@needs_nvrtc
def test_nvrtc_knows_the_types_that_the_host_compiler_knows() -> None:
    options = make_options({"device": "cpu", "cplus": True})
    host, alone = (
        compiled(NVRTC_CELL),
        cuda_unit.compile_for_gpu(NVRTC_CELL, options=options, name="In[3]", why="no compiler"),
    )

    def said(object_code: ObjectCode) -> list[Any]:
        return [(f.name, f.kind, [loop.types for loop in f.loops], f.calls, f.prototype) for f in object_code.functions]

    assert said(alone.object_code) == said(host.object_code)
    assert alone.object_code.code == b""
    assert alone.report_data.notes[0] == "no compiler"


@pytest.mark.nvrtc
@needs_nvrtc
def test_what_nvrtc_refuses_is_an_error_on_the_cells_line() -> None:
    source = "\n\nfloat g = 2;\n__device__ float f(float x) { return g * x; }\n"
    with pytest.raises(um.CompileError, match=r"In\[3\]:3:") as caught:
        um.compile_cuda(source, name="In[3]")
    assert "--device cpu" in str(caught.value)
    assert "f" in compiled(source)


@pytest.mark.nvrtc
@needs_nvrtc
def test_members_without_device_are_no_error_of_nvrtcs() -> None:
    """nvcc wants ``__device__`` only of those that device code calls."""
    text = "struct V { float x; V(float x) : x(x) {} __device__ float f() const { return x; } };\n"
    build = um.compile_cuda(f"{text}__global__ void k(V v, float *x) {{ x[0] = v.f(); }}")
    assert (list(build), build.diagnostics) == (["k"], ())


def test_header_that_nvrtc_lacks_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        fault = Diagnostic("error", 'could not open source file "unistd.h"', "In[3]", 1)
        raise um.CompileError("In[3] does not compile for the GPU: 1 error.", diagnostics=[fault])

    monkeypatch.setattr(nvrtc, "find", lambda: nvrtc.Nvrtc((13, 5), (75, 90)))
    monkeypatch.setattr(nvrtc, "compile", refused)
    unit = SimpleNamespace(identifiers=frozenset(), typedefs={}, macros=(), functions=())
    verdict = cuda_unit.check("text", unit=unit, options=make_options(), name="In[3]")  # type: ignore[arg-type]
    assert [(d.severity, d.message[:6]) for d in verdict.diagnostics] == [("warning", "NVRTC:")]
    assert verdict.device["nvrtc"] == "13.5"


@pytest.mark.nvrtc
@needs_nvrtc
def test_object_code_says_who_has_checked_it() -> None:
    made = um.compile_cuda("__device__ float f(float x) { return x; }\n")
    assert made.object_code.device["arch"] == "compute_75"
    assert made.object_code.device["nvrtc"]


def test_without_nvrtc_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "find", lambda: None)
    unit = SimpleNamespace(identifiers=frozenset(), typedefs={}, macros=(), functions=())
    verdict = cuda_unit.check("text", unit=unit, options=make_options(), name="In[3]")  # type: ignore[arg-type]
    assert verdict.device == {"arch": "", "nvrtc": "", "ltoir": ""}


def test_without_compiler_and_nvrtc_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(**_: Any) -> discovery.Toolchain:
        raise um.ToolchainError("No C++ compiler was found.", remedy='pip install "ufunc_magic[zig]"')

    replace_name(monkeypatch, discovery, "find", nothing)
    monkeypatch.setattr(nvrtc, "find", lambda: None)
    with pytest.raises(um.ToolchainError, match="No C\\+\\+ compiler"):
        um.compile_cuda("__device__ float f(float x) { return x; }")


# ------------------------------------------------------------------------------------ what people paste

PROGRAM = """
#include <stdio.h>
__global__ void saxpy(int n, float a, float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
static void check(cudaError_t e) { if (e != cudaSuccess) printf("%s", cudaGetErrorString(e)); }
int main(void)
{
    float *x;
    check(cudaMalloc(&x, 4));
    saxpy<<<1, 1>>>(1, 2.0f, x, x);
    return 0;
}
"""


@pytest.mark.usefixtures("shared_cache")
def test_the_host_part_of_a_pasted_program_is_left_alone() -> None:
    made = um.compile_cuda(PROGRAM, device="cpu")
    x, y = np.arange(5, dtype="f4"), np.ones(5, "f4")
    made["saxpy"][1, 8](5, 2.0, x, y)
    assert list(made) == ["saxpy"]
    assert y.tolist() == [1, 3, 5, 7, 9]


@pytest.mark.usefixtures("shared_cache")
def test_a_function_of_the_host_cannot_be_called_by_device_code() -> None:
    with pytest.raises(um.CompileError) as caught:
        um.compile_cuda("float half_of(float x) { return x / 2; }\n__device__ float f(float x) { return half_of(x); }")
    assert str(caught.value) == (
        "<cuda> does not compile: 1 error.\n"
        "<cuda>:1: error: half_of is a function of the host, and f, which is for the GPU, calls it\n"
        "  float half_of(float x) { return x / 2; }\n"
        "  hint: Write __device__ in front of it, or __host__ __device__."
    )


@pytest.mark.usefixtures("shared_cache")
@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("__device__ float f(float x) { cudaMalloc(0, 4); return x; }", "The magic launches kernels and copies arrays"),
        ("#include <cublas.h>\n__device__ float f(float x) { return x; }", "NVIDIA's libraries are not for cells"),
        ("__device__ float f(float x) { curandState s; return x; }", "Add #include <curand_kernel.h>"),
        ("__device__ __half f(__half x) { return x; }", "Add #include <cuda_fp16.h>"),
        ("__device__ float f(float x) { std::vector<int> v; return x; }", "Device code has no containers"),
        ("__device__ float f(float x) { return __expff(x); }", "did you mean '__expf'"),
    ],
)
def test_a_bad_cell_says_what_to_do_in_cudas_words(cell: str, said: str) -> None:
    with pytest.raises(um.CompileError) as caught:
        um.compile_cuda(cell, device="cpu", guard=False)
    assert said in str(caught.value)


@pytest.mark.usefixtures("shared_cache")
def test_a_refused_intrinsic_is_told_once_by_its_name() -> None:
    with pytest.raises(um.CompileError) as caught:
        um.compile_cuda("__device__ int f(int x) { return x + __ballot(x); }", device="cpu")
    assert [d.message for d in caught.value.diagnostics] == [
        "__ballot is unavailable: GPUs since 2017 have none without a mask: __ballot_sync(0xffffffff, ...) names the "
        "lanes that take part"
    ]


@pytest.mark.usefixtures("shared_cache")
def test_a_kernel_may_have_a_name_of_the_c_library() -> None:
    cell = """
    __global__ void div(int *x, const unsigned n, const float *__restrict__ w, float z[3]) { x[threadIdx.x] = n; }
    __global__ void vol(volatile float *x) { x[0] = 1; }
    __global__ void ref(float *const *a) { }
    """
    x = np.zeros(3, "i4")
    um.compile_cuda(cell, device="cpu")["div"][1, 2](x, 7, np.zeros(1, "f4"), np.zeros(3, "f4"))
    assert x.tolist() == [7, 7, 0]


@pytest.mark.slow
def test_types_of_a_template_of_t_are_made_by_the_compiler_on_the_gpu_too() -> None:
    source = "template <class T> __device__ T f(T x) { return x * x; }"
    unit = cparse.parse(source, cplus=True)
    options = make_options({"types": "f4,f8"})
    assert cuda_unit.write_device_text(source, unit=unit, options=options, name="cell") == source
    assert um.compile_cuda(source, device="cpu", types="f4,f8")["f"].types == ["f->f", "d->d"]


@pytest.mark.usefixtures("shared_cache")
def test_a_thread_that_fails_in_the_emulation_ends_the_launch_with_its_place() -> None:
    cell = "__global__ void k(float *x) { if (threadIdx.x == 3) throw 5; x[threadIdx.x] = 1; }"
    kernel = um.compile_cuda(cell, device="cpu")["k"]
    with pytest.raises(um.CellCrashed, match=r"k .*Thread \(3, 0, 0\) of block \(0, 0, 0\)"):
        kernel[1, 8](np.zeros(8, "f4"))
    x = np.zeros(3, "f4")
    kernel[1, 3](x)
    assert x.tolist() == [1, 1, 1]


@pytest.mark.usefixtures("shared_cache")
def test_a_function_of_halves_without_a_python_form_is_timed_by_itself() -> None:
    cell = "#include <cuda_fp16.h>\n__device__ __half twice(__half x) { return __hadd(x, x); }"
    made = um.compile_cuda(cell, device="cpu")
    told = build.report(made, options=make_options({"device": "cpu", "size": 200}))
    assert [row.label for row in told.rows] == ["Python loop over the ufunc", "CPU emulation, 1 thread"]


@pytest.mark.usefixtures("shared_cache")
def test_a_function_that_fails_on_every_input_is_bound_and_the_report_says_so() -> None:
    cell = 'extern "C" __device__ int next(float *out, float x) { *out = x + 1; return 3; }'
    made = um.compile_cuda(cell, device="cpu", abi="numba")
    told = build.report(made, options=make_options({"device": "cpu", "size": 200}))
    assert "next was not timed: next returned status 3, and 0 is success" in told.notes


@pytest.mark.slow
@pytest.mark.usefixtures("shared_cache")
def test_what_pycudas_and_cupys_sources_do_compiles_and_is_right() -> None:
    cell = """
    #if __CUDACC_VER_MAJOR__ < 9 || !defined __NVCC__ || CUDART_VERSION < 9000
    #error not as nvcc has it
    #endif
    typedef long long ssize_t;
    typedef unsigned long long int uint64_t;
    __constant__ double M_PI_2 = 1.5;
    struct small { unsigned short word; __device__ operator float() const { return word / 2.0f; } };
    template <class T> struct pair { T a, b; };
    template <class T> __device__ T abs(const pair<T> &p) { return p.a + p.b; }
    __device__ constexpr float tenth() { return 1.f / ::log(10.f); }
    template <typename T> __device__ T gcd(T a, T b) { return b ? gcd(b, a % b) : a; }
    template <typename T> __device__ T lcm(T a, T b) { return a / gcd(a, b) * b; }
    __device__ void assign(char &a, bool b) { a = b; }
    __device__ void more(int *a, const float &b) { a[0] += (int)b; }
    __device__ void more(int *a, const double &b) { a[0] += 2 * (int)b; }
    template <typename T, typename = void, int N = 3> __global__ void shift(T *a, ssize_t n) { a[n] += N; }
    __global__ void k(float *y, int *n)
    {
        small s = {5};
        y[0] = abs(s), y[1] = sizeof(exp(s)), y[2] = isnan(s), y[3] = pow(s, s), y[4] = abs(pair<float>{3, 4});
        y[5] = M_PI_2, y[6] = abs(-2.5), y[7] = tenth();
        n[0] = lcm(4, 6), n[1] = 0;
        more(n + 1, 3.0f), more(n + 1, 1.0);
    }
    """
    built = um.compile_cuda(cell, device="cpu")
    y, n = np.zeros(8, "f4"), np.zeros(2, "i4")
    built["k"][1, 1](y, n)
    assert np.allclose(y, [2.5, 4, 0, 2.5**2.5, 7, 1.5, 2.5, 1 / np.log(10)])
    assert n.tolist() == [12, 5]
    built["shift"][1, 1](y, 1)
    assert y[1] == 7


@pytest.mark.usefixtures("shared_cache")
def test_functions_of_a_header_are_no_functions_of_the_cell(tmp_path: Path) -> None:
    (tmp_path / "own.cuh").write_text("__device__ inline float theirs(float x) { return x + 1; }\n")
    cell = '#include "own.cuh"\n#define KIND __device__\nKIND float ours(float x) { return theirs(x); }\n'
    assert [*um.compile_cuda(cell, device="cpu", include=[str(tmp_path)])] == ["ours"]
    assert [*um.compile_cuda('#include "own.cuh"\n', device="cpu", include=[str(tmp_path)])] == ["theirs"]


@pytest.mark.usefixtures("shared_cache")
def test_what_is_put_into_namespace_std_is_refused_with_the_reason() -> None:
    cell = """#include <cmath>
    namespace std { __device__ inline double abs(double x) { return x; } }
    __device__ double f(double x) { return std::abs(x); }
    """
    with pytest.raises(um.CompileError, match="empty for NVRTC alone"):
        um.compile_cuda(cell, device="cpu")


@pytest.mark.usefixtures("shared_cache")
def test_a_kernel_with_the_name_of_a_function_that_the_compiler_knows_does_its_work() -> None:
    cell = 'extern "C" __global__ void conj(const float2 *x, float2 *y) { y[0] = make_float2(x[0].x, -x[0].y); }'
    y = np.zeros(1, "c8")
    um.compile_cuda(cell, device="cpu")["conj"][1, 1](np.array([1 + 2j], "c8"), y)
    assert y[0] == 1 - 2j


@pytest.mark.slow
def test_complex_numbers_of_cuda_are_numpys() -> None:
    b = um.compile_cuda(
        """\
#include <cuComplex.h>
__device__ cuFloatComplex times(cuFloatComplex a, cuFloatComplex b) { return cuCmulf(a, b); }
__device__ cuDoubleComplex turned(cuDoubleComplex a) { return cuConj(a); }
__global__ void conj(cuFloatComplex *x) { x[threadIdx.x] = cuConjf(x[threadIdx.x]); }
""",
        device="cpu",
    )
    x = np.array([1 + 2j, 3 - 1j], "c8")
    assert (b.times.types, b.turned.types) == (["FF->F"], ["D->D"])
    np.testing.assert_array_equal(b.times(x, x), x * x)
    np.testing.assert_array_equal(b.turned(x), x.conj())
    flat = x.view("f4").copy()
    b.conj[1, 2](flat)
    np.testing.assert_array_equal(flat, x.conj().view("f4"))
    b.conj[1, 2](x)
    np.testing.assert_array_equal(x.view("f4"), flat)
    with pytest.raises(um.ArgumentError, match="takes complex64"):
        b.conj[1, 2](flat.astype("f8"))
