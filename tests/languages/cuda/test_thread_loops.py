"""Kernels that run a block as loops over its threads: they give what fibers give, bit by bit, and fail as those do."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from ufunc_magic.languages.cuda import thread_loops

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="blocks are loops where threads are fibers: on Linux"),
]

N = 1003
#: kernel -> grid, block, bytes of shared memory.  Each takes (const float *x, float *y, int n), y of 4096 elements.
SHAPES: dict[str, tuple[Any, ...]] = {
    "product": ((3, 3), (8, 8)),
    "sums": (8, 128),
    "ragged": (8, 100),
    "warp_sums": (5, 96),
    "block_sums": (3, 250),
    "templates": (2, 64),
    "shuffles": (2, 64),
    "votes": (2, 70),
    "masked": (2, 100),
    "both_branches": (2, 96),
    "scan": (2, 128),
    "register_tile": (2, 64),
    "moving_pointers": (4, 32),
    "histogram": (3, 64),
    "dynamic": (2, 64, 256),
    "flags": (2, 64),
    "exits": (6, 64),
    "uniform_exit": (9, 64),
    "in_a_loop": (2, 32),
    "references": (2, 64),
    "volumes": ((2, 1, 2), (4, 3, 5)),
    "structures": (2, 64),
    "shadows": (2, 64),
    "later": (1, 32),
    "plain": (8, 128),
    "geometry_in_functions": (2, (8, 8)),
    "counted": (2, 64),
    "no_wait": (4, 256),
    "heap": (2, 32),
    "classes": (2, 32),
    "class_of_a_template": (2, 32),
}
CELL = r"""
#define TILE 8
#define FULL 0xffffffffu
#define ROW (blockIdx.y * TILE + threadIdx.y)
struct Pair { float a; int b; };

__global__ void product(const float *x, float *y, int n)
{
    __shared__ float s[TILE][TILE], t[TILE][TILE];
    const int m = 20;
    int col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < (m + TILE - 1) / TILE; k++) {
        int a = k * TILE + threadIdx.x, b = k * TILE + threadIdx.y;
        s[threadIdx.y][threadIdx.x] = ROW < m && a < m ? x[ROW * m + a] : 0;
        t[threadIdx.y][threadIdx.x] = b < m && col < m ? x[b * m + col] : 0;
        __syncthreads();
        #pragma unroll
        for (int q = 0; q < TILE; q++) sum += s[threadIdx.y][q] * t[q][threadIdx.x]; // the dot
        __syncthreads();
    }
    if (ROW < m && col < m) y[ROW * m + col] = sum;
}
__global__ void sums(const float *x, float *y, int n)
{
    __shared__ float s[128];
    unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    s[tid] = i < n ? x[i] : 0.f;
    __syncthreads();
    for (unsigned step = blockDim.x / 2; step > 0; step >>= 1) {
        if (tid < step) s[tid] += s[tid + step];
        __syncthreads();
    }
    if (tid == 0) y[blockIdx.x] = s[0];
}
__global__ void ragged(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n - 300) return;
    __shared__ float s[100];
    s[threadIdx.x] = x[i];
    __syncthreads();
    float v = s[threadIdx.x];
    v += __shfl_down_sync(FULL, v, 1);
    if (v > 1e30f) return;
    __syncthreads();
    y[i] = v + __shfl_xor_sync(FULL, v, 16);
}
__inline__ __device__ float warp_sum(float val)
{
    for (int offset = warpSize / 2; offset > 0; offset /= 2) val += __shfl_down_sync(FULL, val, offset);
    return val;
}
__inline__ __device__ float block_sum(float val)
{
    static __shared__ float shared[32];
    int lane = threadIdx.x % warpSize, wid = threadIdx.x / warpSize;
    val = warp_sum(val);
    if (lane == 0) shared[wid] = val;
    __syncthreads();
    val = (threadIdx.x < blockDim.x / warpSize) ? shared[lane] : 0;
    if (wid == 0) val = warp_sum(val);
    return val;
}
__global__ void warp_sums(const float *x, float *y, int n)
{
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
__global__ void block_sums(const float *x, float *y, int n)
{
    float v = x[threadIdx.x + blockIdx.x * 250] * 0.5f;
    v = block_sum(v) + block_sum(-v * v);
    if (!threadIdx.x) y[blockIdx.x] = v;
}
template <typename T> __device__ T largest(T v)
{
    #pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) v = max(v, __shfl_xor_sync(FULL, v, mask, 32));
    return v;
}
template <class T, int W> __device__ T part_sum(T v, const T *more)
{
    v += more[threadIdx.x % W];
    for (int d = W / 2; d; d /= 2) v += __shfl_down_sync(FULL, v, d, W);
    return v;
}
template <int BLOCK> __global__ void numbers(const float *x, float *y, int n)
{
    float v = x[blockIdx.x * BLOCK + threadIdx.x];
    int k = (int)(100 * v);
    y[blockIdx.x * BLOCK + threadIdx.x] = largest(v) + largest(k) + part_sum<float, 8>(v, x);
}
template __global__ void numbers<64>(const float *, float *, int);
__global__ void templates(const float *x, float *y, int n)
{
    float v = x[blockIdx.x * 64 + threadIdx.x];
    int k = (int)(100 * v);
    y[blockIdx.x * 64 + threadIdx.x] = largest(v) + largest(k) + part_sum<float, 8>(v, x);
}
__global__ void shuffles(const float *x, float *y, int n)
{
    double v = x[threadIdx.x];
    int by = n % 7;
    v = __shfl_up_sync(FULL, v, by) * 2 + __shfl_down_sync(FULL, v, by + 1, 16) * 3 + __shfl_xor_sync(FULL, v, 5, 8);
    float w = __shfl_sync(FULL, (float)v, threadIdx.x / 2) + __shfl_sync(FULL, __shfl_sync(FULL, (float)v, 3, 4), 30);
    y[blockIdx.x * 64 + threadIdx.x] = v + w;
}
__global__ void votes(const float *x, float *y, int n)
{
    int t = threadIdx.x, i = blockIdx.x * 70 + t;
    unsigned b = __ballot_sync(FULL, x[i] > 0);
    int any = __any_sync(FULL, x[i] > 2), all = __all_sync(FULL, x[i] > -100);
    if (__any_sync(FULL, x[i] > 1.9f)) any += 10;
    y[i] = __popc(b) + 100 * any + 10000 * all;
}
__global__ void masked(const float *x, float *y, int n)
{
    int t = threadIdx.x, warp = t / 32;
    float v = x[t];
    if (t < 64) {
        v += __shfl_down_sync(FULL, v, 3);
        __syncwarp();
        if (v > 3) v = 3;
        v -= __shfl_up_sync(FULL, v, 1);
    }
    __syncthreads();
    if (warp == 1) for (int k = 0; k < 3; k++) v += __shfl_xor_sync(FULL, v, 1 << k);
    y[blockIdx.x * 100 + t] = v;
}
__global__ void both_branches(const float *x, float *y, int n)
{
    float v = x[threadIdx.x];
    if (threadIdx.x < 32) v += __shfl_xor_sync(FULL, v, 1);
    else if (threadIdx.x < 64) v -= __shfl_xor_sync(FULL, v, 2);
    else v *= 2;
    y[blockIdx.x * 96 + threadIdx.x] = v;
}
__global__ void scan(const float *x, float *y, int n)
{
    __shared__ float temp[2][128];
    int thid = threadIdx.x, pout = 0, pin = 1;
    temp[pout][thid] = thid > 0 ? x[thid - 1] : 0;
    __syncthreads();
    for (int offset = 1; offset < blockDim.x; offset *= 2) {
        pout = 1 - pout;
        pin = 1 - pout;
        if (thid >= offset) temp[pout][thid] = temp[pin][thid] + temp[pin][thid - offset];
        else temp[pout][thid] = temp[pin][thid];
        __syncthreads();
    }
    y[blockIdx.x * 128 + thid] = temp[pout][thid];
}
__global__ void register_tile(const float *x, float *y, int n)
{
    __shared__ float s[64];
    float acc[4][2] = {{0.0f}}, most[2];
    const float scale = 2.0f;
    for (int k = 0; k < 5; ++k) {
        s[threadIdx.x] = x[k * 64 + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 2; j++) acc[i][j] += scale * s[(threadIdx.x + i) % 64] * s[j];
        most[k % 2] = acc[0][0];
        __syncthreads();
    }
    float total = most[0] - most[1];
    for (int i = 0; i < 4; i++) total += acc[i][1] - acc[i][0];
    y[blockIdx.x * 64 + threadIdx.x] = total;
}
__global__ void moving_pointers(const float *x, float *y, int n)
{
    __shared__ float s[32];
    x += blockIdx.x * 32;
    y += threadIdx.x;
    int left = 3;
    do {
        s[31 - threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        y[blockIdx.x * 128 + left * 32] = s[threadIdx.x];
        __syncthreads();
        x += 32, left--;
    } while (left);
}
__global__ void histogram(const float *x, float *y, int n)
{
    __shared__ int bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[(int)(x[i] * 3 + 8) & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&y[threadIdx.x], (float)bins[threadIdx.x] * 0.1f);
}
__global__ void dynamic(const float *x, float *y, int n)
{
    extern __shared__ float all[];
    int i = threadIdx.x;
    all[i] = x[i + 64 * blockIdx.x];
    __syncthreads();
    y[i + 64 * blockIdx.x] = all[63 - i];
}
__global__ void flags(const float *x, float *y, int n)
{
    __shared__ bool more;
    __shared__ int rounds;
    int t = threadIdx.x;
    float v = x[t];
    if (t == 0) more = true, rounds = 0;
    __syncthreads();
    while (more) {
        v *= 0.5f;
        __syncthreads();
        if (t == 0) more = ++rounds < 4;
        __syncthreads();
        if (rounds == 3 && n > 1000) break;
        if (rounds == 1) continue;
        v += 1;
    }
    y[blockIdx.x * 64 + t] = v;
}
__global__ void exits(const float *x, float *y, int n)
{
    __shared__ float s[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    for (int k = 0; k < 3; k++) {
        s[threadIdx.x] = x[i] + k;
        __syncthreads();
        if (x[i] * k > 1) { y[i] = k; return; }
        y[i] += s[threadIdx.x];
        __syncthreads();
    }
    y[i] += 1000 / (n - i > 0 ? 5 : 2);
}
__global__ void uniform_exit(const float *x, float *y, int n)
{
    __shared__ int s[64];
    if (blockIdx.x * 64 + 64 > n - 500) return;
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x] * 1000 / (n - 502);
}
__global__ void in_a_loop(const float *x, float *y, int n)
{
    for (int row = blockIdx.x; row < 9; row += gridDim.x) {
        float sum = 0;
        for (int c = threadIdx.x; c < 100; c += 32) sum += x[row * 100 + c];
        sum = warp_sum(sum);
        if (threadIdx.x == 0) y[row] = sum;
    }
}
__device__ void turn(float &v, int by) { v += __shfl_xor_sync(FULL, v, by); v *= 0.5f; }
__device__ void halve(float &v) { v *= 0.5f; }
__global__ void references(const float *x, float *y, int n)
{
    float v = x[threadIdx.x], w = 1, sine, cosine;
    turn(v, 1);
    turn(w, 2);
    __syncthreads();
    halve(v);
    sincosf(v, &sine, &cosine);
    __syncthreads();
    y[blockIdx.x * 64 + threadIdx.x] = v + w + sine - cosine;
}
__global__ void volumes(const float *x, float *y, int n)
{
    __shared__ float s[5][3][4];
    int ix = threadIdx.x, iy = threadIdx.y, iz = threadIdx.z;
    s[iz][iy][ix] = x[(iz * 3 + iy) * 4 + ix];
    __syncthreads();
    float v = s[4 - iz][2 - iy][3 - ix];
    y[((blockIdx.z * 2 + blockIdx.x) * 15 + iz * 3 + iy) * 4 + ix] = v + __shfl_up_sync(FULL, v, 1);
}
__global__ void structures(const float *x, float *y, int n)
{
    float4 v = make_float4(x[threadIdx.x], 1, 2, 3);
    Pair p = {2.0f, 3};
    const Pair q = {x[threadIdx.x], 1};
    dim3 shape(2, 3);
    __syncthreads();
    v.y += p.b + shape.y;
    p.a += v.x;
    __syncthreads();
    y[blockIdx.x * 64 + threadIdx.x] = v.x + v.y + p.a + q.a;
}
__device__ int cells = 7;
__global__ void shadows(const float *x, float *y, int n)
{
    int k = 5, total = 0;
    {
        float k = x[threadIdx.x];
        __syncthreads();
        total += (int)(k * 100) + cells;
    }
    for (int i = 0; i < 2; i++) { int j = i + threadIdx.x; __syncthreads(); total += j; }
    for (int i = 0; i < 3; i++) total += i * threadIdx.x;
    __syncthreads();
    y[blockIdx.x * 64 + threadIdx.x] = total + k;
}
__device__ int moves;
__global__ void later(const float *x, float *y, int n)
{
    __shared__ int base;
    if (!threadIdx.x) base = 3, moves = 1;
    __syncthreads();
    int i = base + threadIdx.x, j = moves + threadIdx.x, first = base;
    __syncthreads();
    if (!threadIdx.x) base = 50, moves = 60;
    __syncthreads();
    y[threadIdx.x] = i + 100 * j + 10000 * first + base;
}
__global__ void plain(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i] + 1;
}
__device__ int linear() { return threadIdx.y * blockDim.x + threadIdx.x; }
__global__ void geometry_in_functions(const float *x, float *y, int n)
{
    __shared__ float s[64];
    s[linear()] = x[linear()];
    __syncthreads();
    y[blockIdx.x * 64 + linear()] = s[63 - linear()];
}
__global__ void counted(const float *x, float *y, int n)
{
    int count = 0;
    for (int k = 0; k < 4; k++) {
        if (x[threadIdx.x] > k) count++;
        __syncthreads();
    }
    y += blockIdx.x * 64;
    switch (count) { case 0: y[threadIdx.x] = -1; break; default: y[threadIdx.x] = count; }
}
__global__ void no_wait(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    while (v > 1) v *= 0.7f;
    for (int k = 0; k < 3; k++) { if (v < 0) continue; v += k; }
    y[i] = v;
}
#define FRESH new int(3)
#define ROOM(n) (int *)malloc(n)
__device__ int *make(int v) { return new int(v); }
__global__ void heap(const float *x, float *y, int n)
{
    int *a = new int(1), *b = make(2), *d = FRESH, *e = ROOM(8), *f;
    f = new int[2];
    *a += threadIdx.x, *b += 2 * threadIdx.x, *d += 3 * threadIdx.x, e[1] = 4 * threadIdx.x, f[1] = 5 * threadIdx.x;
    __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = *a + 10 * *b + 100 * *d + 1000 * e[1] + 10000 * f[1];
    delete a, delete b, delete d, delete[] f, free(e);
}
struct Built { int i; __device__ Built() { i = threadIdx.x; } };
struct Preset { int i = threadIdx.x; };
struct Own { __device__ operator int() const { return threadIdx.x; } };
struct Sum { int v; __device__ int operator+(const Sum &o) const { return v + o.v + (int)threadIdx.x; } };
struct Outer { Built inner; };
using Other = Built;
typedef Preset Named;
__global__ void classes(const float *x, float *y, int n)
{
    struct Local { int a; __device__ Local() : a(threadIdx.x) {} } local;
    Built built;
    Preset preset = {};
    Own own;
    Outer outer;
    Other other;
    Named named;
    Sum a = {1}, b = {2};
    int p = own, q = Own{}, r = a + b;
    __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = local.a + 2 * built.i + 3 * preset.i + 4 * outer.inner.i + 5 * other.i
        + 6 * named.i + 100 * p + 200 * q + 400 * r;
}
template <class T> __global__ void class_of_a_template(const float *x, float *y, int n)
{
    T built;
    int i = T().i;
    __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = built.i + 100 * i;
}
template __global__ void class_of_a_template<Built>(const float *, float *, int);
"""
#: Kernels with a ``y[0] = 1`` where their block is loops, and a shape for which they are not.
SOMETIMES = r"""
__global__ void sometimes(float *y)
{
    float v = threadIdx.x;
    if (threadIdx.x / 32 == 0) v += __shfl_xor_sync(0xffffffffu, v, 1);
    y[threadIdx.y * blockDim.x + threadIdx.x] = v + 1000 * __ufm_whole.taken;
}
"""


@pytest.fixture(scope="module")
def cells(shared_cache_folder: Any) -> tuple[Any, Any]:
    compile_cell = partial(um.compile_cuda, CELL, device="cpu", guard=False)
    return compile_cell(), compile_cell(compile_args=["-D__UFM_CUDA_NO_LOOPS__"])


def launch(cell: Any, kernel: str, n: int) -> np.ndarray:
    x = (3 * np.random.default_rng(5).standard_normal(4096)).astype("f4")
    y = np.zeros(4096, "f4")
    getattr(cell, kernel)[SHAPES[kernel]](x, y, n)
    return y


@pytest.mark.parametrize("kernel", SHAPES)
@pytest.mark.parametrize("n", [N, 700])
def test_loops_give_what_fibers_give(cells: tuple[Any, Any], kernel: str, n: int) -> None:
    looped, fibers = (launch(cell, kernel, n) for cell in cells)
    np.testing.assert_array_equal(looped, fibers)
    assert fibers.any()


def list_looped(cell: str) -> list[str]:
    """The kernels of a cell that have a second body."""
    lines = thread_loops.add_loops(cell).split("\n")
    names, name = [], ""
    for line, before in zip(lines, cell.split("\n"), strict=True):
        name = before.partition("__global__ void ")[2].partition("(")[0] or name
        names += [name] * (line != before)
    return names


def test_each_kernel_of_these_tests_has_loops() -> None:
    assert set(list_looped(CELL)) == {*SHAPES, "numbers"}


def test_lines_stay_as_they_are() -> None:
    assert thread_loops.add_loops(CELL).count("\n") == CELL.count("\n")


@pytest.mark.parametrize(
    "body",
    [
        "if (threadIdx.x < n) __syncthreads();",
        "for (int i = threadIdx.x; i < n; i += 32) { __syncthreads(); }",
        "int k = threadIdx.x; while (k < n) { k++; __syncthreads(); }",
        "for (int i = 0; i < n; i++) { if (threadIdx.x == i) break; __syncthreads(); }",
        "for (int i = 0; i < n; i++) { if (x[threadIdx.x] > i) continue; __syncthreads(); }",
        'printf("%d", n); __syncthreads();',
        "x[0] = threadIdx.x < 3 ? __shfl_sync(~0u, n, 1) : 0;",
        "if (n > 2 && __shfl_sync(~0u, n, threadIdx.x)) x[0] = 1;",
        "x[0] = __shfl_sync((1u << n) - 1, n, 1) + (threadIdx.x < 2 && __any_sync(~0u, n));",
        "switch (n) { case 1: __syncthreads(); }",
        "auto f = [&] { __syncthreads(); }; f();",
        "while (atomicExch((int *)x, 1)) {} x[1]++; atomicExch((int *)x, 0);",
        "float v = 1, *p = &v; __syncthreads(); *p = 2; __syncthreads(); x[0] = v;",
        "auto v = x[threadIdx.x]; __syncthreads(); x[0] = v;",
        "float &v = x[threadIdx.x]; __syncthreads(); v = 2;",
        "unsigned mask = __activemask(); x[0] = __shfl_sync(mask, x[0], 0);",
        'asm(""); __syncthreads();',
        "int k = n; if (threadIdx.x) k++; for (; k < 9; k++) __syncthreads();",
        "STOP(n) __syncthreads();",
        "SYNC; x[0] = 1;",
        "float v[4] = {1}; float *p = v; __syncthreads(); x[0] = p[0];",
        "float v[2][2] = {}; float *p = v[0]; __syncthreads(); x[0] = p[0];",
        "__shared__ int w; w = 0; if (threadIdx.x / 32 == w) x[0] = __shfl_sync(~0u, x[0], 0);",
    ],
)
def test_doubtful_kernels_have_fibers(body: str) -> None:
    macros = "#define SYNC __syncthreads()\n#define STOP(n) if (threadIdx.x > n) return;\n"
    assert not list_looped(f"{macros}__global__ void k(float *x, int n) {{ {body} }}")


def test_whether_whole_warps_agree_is_seen_by_launch(shared_cache_folder: Any) -> None:
    cell = um.compile_cuda(SOMETIMES, device="cpu", guard=False)
    y = np.zeros(1024, "f4")
    cell.sometimes[1, 64](y)
    assert (y[0], y[63]) == (1001, 1063)
    cell.sometimes[1, (64, 2)](y)
    assert y[0] == 1001


FAULTS = r"""
#include <assert.h>
__global__ void asserts(float *x, int n)
{
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    assert(s[threadIdx.x] < n);
    x[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void strays(float *x, int n)
{
    __syncthreads();
    x[threadIdx.x == 37 ? (size_t)1 << 45 : threadIdx.x] = 1;
}
__global__ void divides(int *x, int n)
{
    __syncthreads();
    x[threadIdx.x] = 100 / (n - (int)threadIdx.x);
}
"""


@pytest.mark.parametrize(
    ("kernel", "kind", "n", "words"),
    [
        ("asserts", "f4", 41, ("Thread (41, 0, 0) of block (0, 0, 0)", ":8: assertion")),
        ("strays", "f4", 0, ("Thread (37, 0, 0) of block (0, 0, 0)",)),
        ("divides", "i4", 29, ("hread (29, 0, 0) of block (0, 0, 0)",)),
    ],
)
def test_a_fault_names_its_thread(
    shared_cache_folder: Any, kernel: str, kind: str, n: int, words: tuple[str, ...]
) -> None:
    cell = um.compile_cuda(FAULTS, device="cpu", guard=False)
    with pytest.raises(um.UfuncMagicError) as failed:
        getattr(cell, kernel)[2, 64](np.arange(64).astype(kind), n)
    assert all(word in str(failed.value) for word in words)
    cell.asserts[1, 64](np.zeros(64, "f4"), 100)


def test_a_type_that_has_no_array_leaves_the_kernel_its_fibers(shared_cache_folder: Any) -> None:
    source = r"""
    struct Fixed { const float a; __device__ Fixed(float a) : a(a) {} };
    __global__ void k(float *x) { Fixed f(x[threadIdx.x]); __syncthreads(); x[threadIdx.x] = f.a + 1; }
    """
    x = np.arange(32).astype("f4")
    um.compile_cuda(source, device="cpu", guard=False).k[1, 32](x)
    np.testing.assert_array_equal(x, np.arange(32) + 1)


def test_an_error_has_its_line_and_comes_once(shared_cache_folder: Any) -> None:
    with pytest.raises(um.CompileError) as failed:
        um.compile_cuda("__global__ void k(float *x)\n{\n    __syncthreads();\n    x[0] = mistake;\n}", device="cpu")
    errors = [d for d in failed.value.diagnostics if d.severity == "error"]
    assert [d.line for d in errors] == [4]
