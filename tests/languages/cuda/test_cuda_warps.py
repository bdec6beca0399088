"""Launches without a GPU: what lanes, tiles and the grid exchange, and what a GPU would hang or fail of."""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import signal
import sys
import threading
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from ufunc_magic.languages.cuda import nvrtc

LANES = np.arange(32)

pytestmark = pytest.mark.slow

#: Written for these tests, in the form that samples and textbooks give such kernels.
CELL = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
#define FULL 0xffffffffu
#define N 100
#define T threadIdx.x

__global__ void shuffles(const double *x, double *out, int by, int width)
{
    double v = x[T];
    out[T] = __shfl_sync(FULL, v, by, width);
    out[32 + T] = __shfl_up_sync(FULL, v, by, width);
    out[64 + T] = __shfl_down_sync(FULL, v, by, width);
    out[96 + T] = __shfl_xor_sync(FULL, v, by, width);
}
__global__ void types(double *out)
{
    double sum = 0;
    sum += __shfl_sync(FULL, (int)T, 1) + __shfl_sync(FULL, (unsigned)T, 2) + __shfl_sync(FULL, (long)T, 3);
    sum += __shfl_sync(FULL, (unsigned long)T, 4) + __shfl_sync(FULL, (long long)T, 5);
    sum += __shfl_sync(FULL, (unsigned long long)T, 6) + __shfl_sync(FULL, (float)T, 7);
    sum += (double)(float)__shfl_sync(FULL, __float2half((float)T), 8);
    out[T] = sum;
}
__global__ void votes(const int *x, unsigned *out)
{
    int v = x[T], equal;
    out[T] = __ballot_sync(FULL, v > 3);
    out[32 + T] = __any_sync(FULL, v > 3) * 100 + __all_sync(FULL, v >= 0) * 10 + __uni_sync(FULL, v > 3);
    out[64 + T] = __match_any_sync(FULL, v);
    out[96 + T] = __match_all_sync(FULL, v, &equal);
    out[128 + T] = __match_all_sync(FULL, 7, &equal) + equal;
    out[160 + T] = __reduce_add_sync(FULL, v);
    out[192 + T] = __reduce_max_sync(FULL, v) * 100 + __reduce_min_sync(FULL, v);
    out[224 + T] = __reduce_xor_sync(FULL, (unsigned)v) + 1000 * __reduce_or_sync(FULL, (unsigned)v);
}
__global__ void halves(int *out)
{
    if (T < 16) out[T] = __shfl_xor_sync(0x0000ffffu, (int)T, 15);
    else out[T] = __shfl_xor_sync(0xffff0000u, (int)T, 15);
}
__global__ void returned(int *out)
{
    if (T >= 20) return;
    out[T] = __reduce_add_sync(FULL, 1) + 100 * __shfl_sync(FULL, 5, 25) + 1000 * (__ballot_sync(FULL, 1) == 0xfffff);
}
__global__ void active(unsigned *out)
{
    if (T % 3 == 0) out[T] = __activemask();
    else out[T] = cg::coalesced_threads().thread_rank();
}
// A loop that lanes leave at different times.
__global__ void leaving(int *out)
{
    int steps = 0;
    for (int k = T; k > 0; k -= 5) steps += __popc(__activemask()) > 0;
    __syncwarp();
    out[T] = __shfl_up_sync(FULL, steps, 1);
}

__inline__ __device__ float warp_sum(float v)
{
    for (int o = warpSize / 2; o > 0; o /= 2) v += __shfl_down_sync(FULL, v, o);
    return v;
}
__global__ void block_sum(const float *x, float *out, int n)
{
    __shared__ float part[32];
    int lane = T % warpSize, warp = T / warpSize;
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + T; i < n; i += blockDim.x * gridDim.x) v += x[i];
    v = warp_sum(v);
    if (lane == 0) part[warp] = v;
    __syncthreads();
    v = T < blockDim.x / warpSize ? part[lane] : 0;
    if (warp == 0) v = warp_sum(v);
    if (T == 0) atomicAdd(out, v);
}
// The last step is done by fewer lanes than the mask of a warp, which read lanes beyond it.
__global__ void short_sum(const float *x, float *out)
{
    unsigned mask = __ballot_sync(FULL, T < 8);
    if (T < 8) {
        float v = x[T];
        for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(mask, v, o);
        if (T == 0) *out = v;
    }
}
__global__ void block_scan(const int *x, int *out)
{
    __shared__ int sums[32];
    int lane = T & 31, warp = T >> 5, v = x[T];
    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(FULL, v, d);
        if (lane >= d) v += left;
    }
    if (lane == 31) sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int s = lane < blockDim.x / 32 ? sums[lane] : 0;
        for (int d = 1; d < 32; d *= 2) {
            int left = __shfl_up_sync(FULL, s, d);
            if (lane >= d) s += left;
        }
        sums[lane] = s;
    }
    __syncthreads();
    out[T] = v + (warp ? sums[warp - 1] : 0);
}
// Two elements a thread, up the tree and down again, in shared memory that the launch gives.
__global__ void tree_scan(const float *x, float *out, int n)
{
    extern __shared__ float s[];
    int step = 1;
    s[2 * T] = x[2 * T], s[2 * T + 1] = x[2 * T + 1];
    for (int d = n >> 1; d > 0; d >>= 1, step *= 2) {
        __syncthreads();
        if (T < d) s[step * (2 * T + 2) - 1] += s[step * (2 * T + 1) - 1];
    }
    if (T == 0) s[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        step >>= 1;
        __syncthreads();
        if (T < d) {
            int a = step * (2 * T + 1) - 1, b = step * (2 * T + 2) - 1;
            float t = s[a];
            s[a] = s[b], s[b] += t;
        }
    }
    __syncthreads();
    out[2 * T] = s[2 * T], out[2 * T + 1] = s[2 * T + 1];
}
// One atomic for all lanes of a bin.
__global__ void histogram(const int *x, int *counts, int n)
{
    int i = blockIdx.x * blockDim.x + T;
    unsigned on = __ballot_sync(FULL, i < n);
    if (i >= n) return;
    unsigned same = __match_any_sync(on, x[i]);
    if ((T & 31) == __ffs(same) - 1) atomicAdd(&counts[x[i]], __popc(same));
}
__device__ int aggregated(int *counter)
{
    auto g = cg::coalesced_threads();
    int first;
    if (g.thread_rank() == 0) first = atomicAdd(counter, (int)g.size());
    return g.shfl(first, 0) + g.thread_rank();
}
__global__ void positive(const float *x, float *out, int *count, int n)
{
    int i = blockIdx.x * blockDim.x + T;
    if (i < n && x[i] > 0) out[aggregated(count)] = x[i];
}
__global__ void transposed(const float *in, float *out, int w, int h)
{
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + T, y = blockIdx.y * 16 + threadIdx.y;
    if (x < w && y < h) tile[threadIdx.y][T] = in[y * w + x];
    __syncthreads();
    x = blockIdx.y * 16 + T, y = blockIdx.x * 16 + threadIdx.y;
    if (x < h && y < w) out[y * h + x] = tile[T][threadIdx.y];
}
struct Pair { double value; int place; };
__global__ void groups(int *out)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    auto four = cg::tiled_partition<4>(tile);
    cg::thread_group six = cg::tiled_partition(block, 16);
    int rank = block.thread_rank();
    out[rank] = cg::reduce(tile, rank, cg::plus<int>());
    out[64 + rank] = cg::reduce(tile, rank, cg::greater<int>()) - cg::reduce(four, rank, cg::less<int>());
    out[128 + rank] = cg::inclusive_scan(tile, 1) * 10 + cg::exclusive_scan(tile, 1);
    out[192 + rank] = tile.shfl_down(rank, 3) * 100 + tile.shfl_xor(rank, 1);
    out[256 + rank] = tile.meta_group_rank() * 100 + tile.thread_rank() * 10 + four.thread_rank();
    out[320 + rank] = six.size() * 100 + six.thread_rank();
    out[384 + rank] = tile.shfl(Pair{0.5, rank}, 2).place + (int)tile.any(rank == 9) * 1000;
    out[448 + rank] = cg::labeled_partition(tile, rank % 3).size();
    cg::sync(block);
    six.sync();
}

__global__ void grid_sum(const float *x, float *part, float *out, int n)
{
    __shared__ float s[32];
    extern __shared__ float room[];
    cg::grid_group grid = cg::this_grid();
    float v = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) v += x[i];
    s[T] = v, room[T] = -v;
    grid.sync();
    if (T == 0) {
        float sum = 0;
        for (int k = 0; k < 32; k++) sum += s[k] - room[k];
        part[blockIdx.x] = sum / 2;
    }
    grid.sync();
    if (grid.thread_rank() == 0)
        for (int k = 0; k < gridDim.x; k++) *out += part[k];
}
__global__ void early_block(float *x) { if (blockIdx.x != 1) cg::this_grid().sync(); *x = 1; }

__global__ void absent(int *out)
{
    if (T < 16)
        *out = __shfl_sync(FULL, 1, 3);
    else
        __syncthreads();
}
__global__ void unnamed(int *out)
{
    *out = __shfl_sync(0xf, 1, 3);
}
__global__ void divergent()
{
    if (T < 5)
        __syncthreads();
    else
        __syncthreads();
}
__global__ void __launch_bounds__(2 * N) bounded(int *x) { *x = 1; }
template <class E, int B> __global__ void __launch_bounds__(B) tiled(E *x) { *x = B; }
template __global__ void tiled<float, 64>(float *);
__global__ void stray(int *x)
{
    if (T == 3) x[1 << 30] = 1;
}
__global__ void first_of(int *x) { x[0] = 1; }
static __device__ int endless(volatile int *x) {
    volatile int here[64]; here[0] = x[0] + 1; return endless(here) + here[0];
}
__global__ void overflowing(int *x) { x[0] = endless(x); }
__global__ void spin(volatile int *x) { x[1] = 1; while (!x[0]) x[2]++; }
"""


@pytest.fixture
def cell() -> Any:
    return um.compile_cuda(CELL, device="cpu")


@pytest.mark.parametrize(
    ("by", "width"), [(1, 32), (5, 32), (31, 32), (2, 8), (7, 8), (9, 16), (0, 4), (1, 1), (17, 32)]
)
def test_shuffles_read_the_lane_that_the_instruction_names(cell: Any, by: int, width: int) -> None:
    x, out = np.random.default_rng(0).random(32), np.zeros((4, 32))
    cell.shuffles[1, 32](x, out, by, width)
    first, last = LANES // width * width, LANES // width * width + width - 1
    up, down, flipped = LANES - by, LANES + by, LANES ^ by
    np.testing.assert_array_equal(out[0], x[first + by % width])
    np.testing.assert_array_equal(out[1], x[np.where(up < first, LANES, up)])
    np.testing.assert_array_equal(out[2], x[np.where(down > last, LANES, np.minimum(down, 31))])
    np.testing.assert_array_equal(out[3], x[np.where(flipped > last, LANES, flipped)])


def test_all_types_are_exchanged(cell: Any) -> None:
    out = np.zeros(32)
    cell.types[1, 32](out)
    assert set(out) == {36.0}


def test_votes_matches_and_reductions_are_of_all_lanes(cell: Any) -> None:
    x = np.random.default_rng(1).integers(0, 6, 32).astype("i4")
    out = np.zeros((8, 32), "u4")
    cell.votes[1, 32](x, out)
    bits = 1 << LANES.astype("u8")
    assert set(out[0]) == {bits[x > 3].sum()}
    assert set(out[1]) == {110}
    np.testing.assert_array_equal(out[2], [bits[x == v].sum() for v in x])
    assert (set(out[3]), set(out[4])) == ({0}, {0})  # all lanes, and 1
    assert set(out[5]) == {x.sum()}
    assert set(out[6]) == {x.max() * 100 + x.min()}
    assert set(out[7]) == {np.bitwise_xor.reduce(x) + 1000 * np.bitwise_or.reduce(x)}


def test_masks_part_a_warp_and_lanes_that_returned_are_gone(cell: Any) -> None:
    out = np.zeros(32, "i4")
    cell.halves[1, 32](out)
    np.testing.assert_array_equal(out, LANES ^ 15)
    cell.returned[1, 32](out)
    np.testing.assert_array_equal(out[:20], 1020)


def test_lanes_that_come_to_one_line_together_are_active_together(cell: Any) -> None:
    out = np.zeros(32, "u4")
    cell.active[1, 32](out)
    thirds = LANES % 3 == 0
    assert set(out[thirds]) == {(1 << LANES[thirds].astype("u8")).sum()}
    np.testing.assert_array_equal(out[~thirds], np.arange(21))
    steps = np.zeros(32, "i4")
    cell.leaving[1, 32](steps)
    np.testing.assert_array_equal(steps, np.roll((LANES + 4) // 5, 1)[[1, *range(1, 32)]])


def test_reductions_of_samples_and_textbooks_agree_with_numpy(cell: Any) -> None:
    x, out = np.random.default_rng(2).random(10_001, dtype="f4"), np.zeros(1, "f4")
    cell.block_sum[7, 256](x, out, len(x))
    np.testing.assert_allclose(out, x.sum(dtype="f8"), rtol=1e-5)
    cell.short_sum[1, 32](x, out)
    np.testing.assert_allclose(out, x[:8].sum(dtype="f8"), rtol=1e-6)


def test_scans_agree_with_numpy(cell: Any) -> None:
    x = np.random.default_rng(3).integers(-9, 9, 512).astype("i4")
    out = np.zeros_like(x)
    cell.block_scan[1, 512](x, out)
    np.testing.assert_array_equal(out, x.cumsum())
    floats, sums = x.astype("f4"), np.zeros(512, "f4")
    cell.tree_scan[1, 256, 2048](floats, sums, 512)
    np.testing.assert_array_equal(sums, x.cumsum() - x)


def test_histograms_and_compactions_agree_with_numpy(cell: Any) -> None:
    x = np.random.default_rng(4).integers(0, 10, 1000).astype("i4")
    counts = np.zeros(10, "i4")
    cell.histogram[8, 128](x, counts, len(x))
    np.testing.assert_array_equal(counts, np.bincount(x))
    floats = np.random.default_rng(5).standard_normal(1000).astype("f4")
    out, count = np.zeros_like(floats), np.zeros(1, "i4")
    cell.positive[8, 128](floats, out, count, len(floats))
    np.testing.assert_array_equal(np.sort(out[: count[0]]), np.sort(floats[floats > 0]))
    image = floats.reshape(25, 40)
    turned = np.zeros((40, 25), "f4")
    cell.transposed[(3, 2), (16, 16)](image, turned, 40, 25)
    np.testing.assert_array_equal(turned, image.T)


def test_tiles_and_groups(cell: Any) -> None:
    out, rank = np.zeros((8, 64), "i4"), np.arange(64)
    cell.groups[1, 64](out)
    tiles = rank.reshape(8, 8)
    np.testing.assert_array_equal(out[0], np.repeat(tiles.sum(axis=1), 8))
    np.testing.assert_array_equal(out[1], tiles.max(axis=1).repeat(8) - rank // 4 * 4)
    np.testing.assert_array_equal(out[2], (rank % 8 + 1) * 10 + rank % 8)
    np.testing.assert_array_equal(out[3], np.where(rank % 8 < 5, rank + 3, rank) * 100 + (rank ^ 1))
    np.testing.assert_array_equal(out[4], rank // 8 * 100 + rank % 8 * 10 + rank % 4)
    np.testing.assert_array_equal(out[5], 1600 + rank % 16)
    np.testing.assert_array_equal(out[6], rank // 8 * 8 + 2 + 1000 * (rank // 8 == 1))
    np.testing.assert_array_equal(out[7], [(tiles[r // 8] % 3 == r % 3).sum() for r in rank])


def test_the_grid_waits_and_each_block_keeps_its_shared_memory(cell: Any) -> None:
    x, part, out = np.random.default_rng(6).random(1000, dtype="f4"), np.zeros(5, "f4"), np.zeros(1, "f4")
    cell.grid_sum[5, 32, 128](x, part, out, len(x))
    np.testing.assert_allclose(out, x.sum(dtype="f8"), rtol=1e-6)
    with pytest.raises(um.CellCrashed, match=r"block \(0, 0, 0\).*another block.*ended"):
        cell.early_block[3, 2](x)
    with pytest.raises(um.CellCrashed, match="at most 16384 threads"):
        cell.grid_sum[600, 32, 128](x, part, out, len(x))
    out[:] = 0
    cell.grid_sum[2, 32, 128](x, part, out, len(x))
    np.testing.assert_allclose(out, x.sum(dtype="f8"), rtol=1e-6)


def _line(text: str, nth: int = 0) -> int:
    return [n for n, line in enumerate(CELL.splitlines(), 1) if text in line][nth]


def test_what_would_hang_is_an_error_with_block_thread_and_line(cell: Any) -> None:
    place = r"Thread \(0, 0, 0\) of block \(0, 0, 0\): <cuda>:"
    absent = _line("*out = __shfl_sync(FULL, 1, 3)")
    with pytest.raises(
        um.CellCrashed,
        match=rf"{place}{absent}: __shfl_sync .*0xffffffff.*"
        rf"thread \(16, 0, 0\) is at __syncthreads\(\) on line {absent + 2}",
    ):
        cell.absent[1, 32](np.zeros(1, "i4"))
    unnamed = _line("__shfl_sync(0xf,")
    with pytest.raises(um.CellCrashed, match=rf"Thread \(4, 0, 0\) .*{unnamed}: .*0x0000000f.*__shfl_sync"):
        cell.unnamed[1, 32](np.zeros(1, "i4"))
    line = _line("if (T < 5)") + 1
    with pytest.raises(um.CellCrashed, match=rf"{place}{line}: __syncthreads.*line {line + 2}"):
        cell.divergent[2, 32]()
    cell.divergent[2, 5]()


def test_launch_bounds_are_those_of_the_kernel(cell: Any) -> None:
    cell.bounded[1, 200](np.zeros(1, "i4"))
    with pytest.raises(um.CellCrashed, match=r"201 threads .*__launch_bounds__ say 200"):
        cell.bounded[1, 201](np.zeros(1, "i4"))
    with pytest.raises(um.CellCrashed, match="__launch_bounds__ say 64"):
        cell.tiled[1, 65](np.zeros(1, "f4"))


def test_a_fault_ends_the_launch_and_not_the_process(cell: Any) -> None:
    with pytest.raises(um.CellCrashed, match=r"Thread \(3, 0, 0\) .*out of bounds"):
        cell.stray[2, 32](np.zeros(1, "i4"))
    # Mapped before the thread's stack is, so between that and the stack of the caller.
    page = np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), "i4")
    protect = ctypes.CDLL(None).mprotect
    cell.first_of[1, 1](page)  # the first launch runs on a copy
    assert not protect(ctypes.c_void_p(page.ctypes.data), mmap.PAGESIZE, 0)
    try:
        with pytest.raises(um.CellCrashed, match="it wrote out of bounds"):
            cell.first_of[1, 1](page)
    finally:
        protect(ctypes.c_void_p(page.ctypes.data), mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE)
    with pytest.raises(um.CellCrashed, match="it overflowed the stack"):
        cell.overflowing[1, 1](np.zeros(1, "i4"))


def test_a_kernel_that_spins_for_ever_is_interrupted(cell: Any) -> None:
    x = np.ones(3, "i4")
    cell.spin[1, 32](x)  # the first launch runs on a copy
    x[:] = 0

    def interrupt() -> None:
        while not x[1]:
            pass
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        cell.spin[1, 32](x)
    out = np.zeros(32)
    cell.types[1, 32](out)
    assert set(out) == {36.0}


def test_too_much_static_shared_memory_is_an_error_on_its_line() -> None:
    with pytest.raises(um.CompileError, match=r"49152 bytes .*__shared__") as caught:
        um.compile_cuda(
            "__global__ void k(float *x)\n{\n    __shared__ float a[100][100];\n    __shared__ double b[64][64];\n"
            "    a[0][0] = b[0][0] = *x;\n}\n",
            device="cpu",
        )
    assert caught.value.diagnostics[0].line == 4


CHECKED = """\
#include <cooperative_groups.h>
__device__ int table[4];
__global__ void add(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2 * x[i] + table[i % 4];
}
__global__ void sums(const float *x, float *out)
{
    __shared__ float s[64];
    extern __shared__ float d[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float v = __shfl_xor_sync(~0u, s[threadIdx.x], 1);
    d[threadIdx.x] = v;
    assert(v < 100);
    cooperative_groups::this_thread_block().sync();
    if (threadIdx.x == 0)
        for (int k = 0; k < 64; k++) *out += d[k];
}
__global__ void before(int *x) { x[-1] = 1; }
"""


@pytest.mark.nvrtc
@pytest.mark.skipif(nvrtc.find() is None, reason="NVRTC is not installed")
def test_the_gpus_compiler_takes_what_the_emulation_does() -> None:
    assert not [d.message for d in um.compile_cuda(CELL).diagnostics if d.severity == "error"]


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("gcc") is None, reason="kernels are checked with gcc")
def test_sanitized_launches_name_block_thread_line_and_element() -> None:
    cell = um.compile_cuda(CHECKED, device="cpu", sanitize=True)
    x, y = np.ones(100, "f4"), np.zeros(100, "f4")
    cell.add[2, 50](x, y)
    np.testing.assert_array_equal(y, 2)
    y[:] = 0
    cell.sums[1, 64, 256](x, y)
    assert y[0] == 64
    for launch, arrays, words in (
        (
            cell.add[2, 64],
            (x, y),
            r"Thread \(36, 0, 0\) of block \(1, 0, 0\): it \w+ 4 bytes .*on line 6, at [xy]\[100\]",
        ),
        (
            cell.add[1, 100],
            (x[:50], y),
            r"Thread \(50, .*: it reads 4 bytes outside .* on line 6, at x\[50\]; x has 50 el",
        ),
        (
            cell.sums[1, 64, 100],
            (x, y),
            r"Thread \(25, .*it writes .*shared memory that the launch asked for on line 15",
        ),
        (cell.sums[1, 64, 256], (1000 * x, y), r"16: assertion `v < 100` failed"),
        (
            cell.before[3, 1],
            (np.zeros(9, "i4"),),
            r"block \(0, 0, 0\): it writes .* on line 21, at x\[-1\]; x has 9 elements",
        ),
    ):
        with pytest.raises(um.CellCrashed, match=words):
            launch(*arrays)
    cell.add[2, 50](x, y)


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("gcc") is None, reason="kernels are checked with gcc")
def test_what_lies_beside_a_threads_own_variables_is_not_its_own() -> None:
    beside = "__global__ void read(unsigned *x, int n) { x[0] = (&threadIdx.x)[n]; }"
    read, x = um.compile_cuda(beside, device="cpu", sanitize=True).read, np.ones(1, "u4")
    read[1, 1](x, 0)
    assert x[0] == 0
    for n in (-2000, 2000):  # in the heap, where the loader keeps such variables, that may be an array of anybody's
        with pytest.raises(um.CellCrashed, match=r"4 bytes outside .*line 1"):
            read[1, 1](x, n)


def test_dynamic_shared_memory_that_no_launch_asked_for_is_an_error() -> None:
    reversed_ = """\
__global__ void reversed(int *x)
{
    extern __shared__ int room[];
    room[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
}
"""
    kernel = um.compile_cuda(reversed_, device="cpu").reversed
    x = np.arange(8, dtype="i4")
    kernel[1, 8, 32](x)
    assert x.tolist() == [*range(8)][::-1]
    for size, at in ((0, 0), (16, 16)):
        with pytest.raises(um.CellCrashed, match=f"byte {at} .*shared memory.* {size}"):
            kernel[1, 8, size](x)
