"""A first launch reports accesses outside of arrays; --sanitize races on shared memory, and reads that nobody wrote."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="faults have their line on Linux")

CELL = """\
__global__ void rows(const float *x, float *y, int n, int m)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row > n || col >= m) return;
    y[row * m + col] = 2 * x[row * m + col];
}
__global__ void up_to(float *y, int n) { int i = threadIdx.x; if (i <= n) y[i] = (float)i; }
__global__ void before(float *y, int n) { int i = threadIdx.x; if (i < n) y[i - 1] = (float)i; }
__global__ void next(const float *x, float *y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i + 1]; }
__global__ void add(const float *x, float *y, int n) { int i = threadIdx.x; if (i < n) y[i] += x[i]; }
__global__ void wide(float4 *x) { x[threadIdx.x].x += 1; }
struct Node { Node *next; long value; };
__device__ Node *head;
__global__ void build(Node *x, int n)
{
    for (int i = 0; i < n; i++) x[i].value = i, x[i].next = i + 1 < n ? x + i + 1 : 0;
    head = x;
}
__global__ void walk(long *sum) { for (Node *p = head; p; p = p->next) *sum += p->value; }
"""


@pytest.fixture(scope="module")
def cell(shared_cache_folder: Any) -> Any:
    return um.compile_cuda(CELL, device="cpu")


@pytest.mark.parametrize("count", [96, 97, 99, 100])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("up_to", r"Thread \({n}, 0, 0\) of block .*it wrote out of bounds on line 7, at y\[{n}\]; y has {n} el"),
        ("before", r"Thread \(0, 0, 0\) of block .*it wrote out of bounds on line 8, at y\[-1\]; y has {n} el"),
    ],
)
def test_a_write_outside_of_an_array_is_an_error_and_changes_nothing(
    cell: Any, name: str, words: str, count: int
) -> None:
    y = np.full(count, 7, "f4")
    with pytest.raises(um.CellCrashed, match=words.format(n=count)):
        cell[name][1, 128](y, count)
    assert (y == 7).all()


def test_a_row_too_many_and_an_element_too_many_are_found(cell: Any) -> None:
    x, y = np.ones((31, 17), "f4"), np.zeros((31, 17), "f4")
    with pytest.raises(um.CellCrashed, match=r"on line 5, at [xy]\[5\d\d\]; [xy] has 527 elements"):
        cell.rows[(3, 5), (8, 8)](x, y, 31, 17)
    cell.rows[(3, 5), (8, 8)](x, y, 30, 17)
    with pytest.raises(um.CellCrashed, match=r"read .*line 9, at x\[64\]"):
        cell.next[1, 64](np.ones(64, "f4"), np.ones(64, "f4"), 64)


def test_arrays_have_the_results_also_where_they_share_memory(cell: Any) -> None:
    x = np.arange(50, dtype="f4")
    for n in range(1, 4):
        cell.add[1, 64](x, x, 50)
        np.testing.assert_array_equal(x, 2**n * np.arange(50))
    cell.add[1, 64](x[:20], x[10:30], 20)
    cell.add[1, 64](x[:0], x[:0], 0)
    for offset in range(4):
        y = np.zeros(14, "f4")[offset : offset + 9]
        cell.add[1, 64](np.arange(9, dtype="f4"), y, 9)
        np.testing.assert_array_equal(y, np.arange(9))
    wide = np.zeros((3, 4), "f4")
    cell.wide[1, 3](wide)
    assert wide[:, 0].tolist() == [1, 1, 1]


def test_pointers_that_a_kernel_keeps_point_to_the_arrays(cell: Any) -> None:
    nodes, total = np.zeros(100, [("next", "i8"), ("value", "i8")]), np.zeros(1, "i8")
    cell.build[1, 1](nodes, 100)
    cell.walk[1, 1](total)
    assert total[0] == 4950
    assert nodes["next"][0] == nodes.ctypes.data + 16


def test_a_cell_without_the_guard_launches_on_the_arrays() -> None:
    kernel = um.compile_cuda("__global__ void at(long *x) { *x = (long)x; }", device="cpu", guard=False).at
    x = np.zeros(1, "i8")
    kernel[1, 1](x)
    assert x[0] == x.ctypes.data


def _expect_faults(cell: um.Build, x: Any, **words: str) -> None:
    """Launch a kernel for each name: its error has these words."""
    for name, pattern in words.items():
        with pytest.raises(um.CellCrashed, match=pattern):
            cell[name][2, 64, 256](x)


RACES = """\
__global__ void unmet(float *x)
{
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void largest(float *x)
{
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float m = s[0];
    s[threadIdx.x] = x[threadIdx.x] - m;
    __syncthreads();
    x[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void sums(float *x)
{
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int o = 32; o; o /= 2)
        if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o];
    x[threadIdx.x] = s[0];
}
__global__ void last(float *x)
{
    __shared__ float s;
    s = (float)threadIdx.x;
    __syncthreads();
    x[threadIdx.x] = s;
}
__global__ void another_warp(float *x)
{
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    x[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void dynamic(float *x)
{
    extern __shared__ int d[];
    d[threadIdx.x] = 1;
    x[threadIdx.x] = d[(threadIdx.x + 1) % 64];
}
__global__ void met(float *x)
{
    __shared__ float s[64];
    __shared__ int flag, count;
    extern __shared__ int d[];
    const int t = threadIdx.x;
    if (t == 0) flag = count = 0;
    s[t] = x[t];
    __syncthreads();
    for (int o = 32; o; o /= 2) {
        if (t < o) s[t] += s[t + o];
        __syncthreads();
    }
    if (x[t] >= 0) flag = 5; // all write the same
    d[atomicAdd(&count, 1)] = t;
    __syncthreads();
    x[t] = s[0] + flag + count + d[t];
    __syncthreads();
    s[t] = x[t];
    __syncwarp();
    x[t] = s[t ^ 1] + __shfl_xor_sync(~0u, s[t], 1);
    s[t] = 0;
}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="kernels are checked with gcc")
def test_races_on_shared_memory_are_told_with_both_lines() -> None:
    cell, x = um.compile_cuda(RACES, device="cpu", sanitize=True), np.arange(64, dtype="f4")
    _expect_faults(
        cell,
        x,
        unmet=r"thread \(31, 0, 0\) read .* writes on line 4; the other access is on line 5",
        largest=r"Thread \(1, 0, 0\) .*thread \(0, 0, 0\) wrote .* reads on line 12; .* on line 13",
        sums=r"a race: with no barrier between, .* on line 23; .* on line 23",
        last=r"thread \(0, 0, 0\) wrote .* writes on line 29; .* on line 29",
        another_warp=r"thread \(63, 0, 0\) wrote .* reads on line 38; .* on line 36",
        dynamic=r"thread \(0, 0, 0\) read .* writes on line 43; .* on line 44",
    )
    cell.met[2, 64, 256](x)


UNWRITTEN = """\
#include <string.h>
struct Padded { char c; double d; };
__global__ void half(float *x)
{
    __shared__ float s[64];
    if (threadIdx.x < 32) s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void dynamic(float *x)
{
    extern __shared__ float d[];
    if (threadIdx.x > 0) d[threadIdx.x] = 1;
    __syncthreads();
    x[threadIdx.x] = d[threadIdx.x];
}
__global__ void counts(float *x)
{
    __shared__ int n;
    atomicAdd(&n, 1);
    __syncthreads();
    x[threadIdx.x] = n;
}
__global__ void first_block(float *x)
{
    __shared__ float s[64];
    if (blockIdx.x == 0) s[threadIdx.x] = 1;
    __syncthreads();
    x[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void sums(float *x)
{
    __shared__ float s[64];
    s[threadIdx.x] += x[threadIdx.x];
    x[threadIdx.x] = s[threadIdx.x];
}
__global__ void clears(float *x) { memset(x, 0, 1024); }
__global__ void written(float *x)
{
    __shared__ Padded p[64];
    __shared__ int h[256], copy[256];
    const int t = threadIdx.x;
    if (t == 0) memset(h, 0, sizeof h);
    p[t].c = 1, p[t].d = x[t];
    __syncthreads();
    Padded q = p[63 - t];
    atomicAdd(&h[t & 3], 1);
    __syncthreads();
    if (t == 1) memcpy(copy, h, sizeof h);
    __syncthreads();
    x[t] = q.d + q.c + copy[t];
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="kernels are checked with gcc")
def test_reads_of_shared_memory_that_nobody_wrote_are_told_with_their_line() -> None:
    cell, x = um.compile_cuda(UNWRITTEN, device="cpu", sanitize=True), np.zeros(64, "f4")
    _expect_faults(
        cell,
        x,
        half=r"Thread \(0, 0, 0\) of block \(0, .* nobody has written the 4 bytes of shared memory .* on line 8",
        dynamic=r"Thread \(0, 0, 0\) .* nobody has written .* on line 15",
        counts=r"Thread \(0, 0, 0\) .* nobody has written .* on line 20",
        first_block=r"of block \(1, 0, 0\): nobody has written .* on line 29",
        sums=r"nobody has written .* on line 34",
        clears=r"it writes 1024 bytes outside of its arrays on line 37, at x\[0\]",
    )
    x[:] = 0
    cell.written[1, 64](x)
    assert x.tolist() == [17] * 4 + [1] * 60
