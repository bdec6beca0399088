"""Blocks of an emulated launch: how they wait for each other, on several threads, in an order that does not show."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um

CELL = r"""
#include <cuda/atomic>
__global__ void flag(int *flag, int *data, int *out)
{
    if (blockIdx.x == 1) { data[0] = 42; __threadfence(); atomicExch(flag, 1); }
    else { while (atomicAdd(flag, 0) == 0) {} out[0] = data[0]; }
}
__global__ void volatile_flag(volatile int *flag, int *data, int *out)
{
    if (blockIdx.x == 1) { data[0] = 42; __threadfence(); *flag = 1; }
    else { while (*flag == 0); out[0] = data[0]; }
}
__global__ void loaded_flag(int *flag, int *data, int *out)
{
    int seen;
    if (blockIdx.x == 1) { data[0] = 42; __threadfence(); *(volatile int *)flag = 1; }
    else { do { seen = *(volatile int *)flag; } while (!seen); out[0] = data[0]; }
}
__global__ void cuda_atomic(int *flag, int *data, int *out)
{
    cuda::atomic_ref<int> shared(*flag);
    if (blockIdx.x == 1) { data[0] = 42; shared.store(1); }
    else { while (shared.load() == 0) ; out[0] = data[0]; }
}
// What counts its own rounds never comes to a round without a change.
__global__ void counted_rounds(int *flag, int *data, int *out)
{
    if (blockIdx.x == 1) { data[0] = 42; atomicExch(flag, 1); }
    else { while (atomicAdd(flag, 0) == 0) atomicAdd(out + 1, 1); out[0] = data[0]; }
}
__global__ void two_warps(int *, int *, int *out)
{
    __shared__ int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x == 33) atomicExch(&ready, 42);
    else if (threadIdx.x < 32) { while (atomicAdd(&ready, 0) == 0) ; if (!blockIdx.x) out[0] = ready; }
}

__device__ int ticket, serving, lock;
__global__ void ticket_lock(int *count)
{
    int mine = atomicAdd(&ticket, 1);
    while (atomicAdd(&serving, 0) != mine) ;
    *count += 1;
    __threadfence();
    atomicAdd(&serving, 1);
}
__global__ void lock_in_turns(int *count)
{
    for (bool done = false; !done;)
        if (atomicCAS(&lock, 0, 1) == 0) { *count += 1; __threadfence(); atomicExch(&lock, 0); done = true; }
}
__global__ void lock_of_block(int *count)
{
    if (threadIdx.x == 0) while (atomicExch(&lock, 1)) ;
    __syncthreads();
    atomicAdd(count, 1);
    __syncthreads();
    if (threadIdx.x == 0) { __threadfence(); atomicExch(&lock, 0); }
}

// Each block waits for the next one, and keeps its shared memory meanwhile.
__global__ void from_the_last(int *done, int *out)
{
    __shared__ int mine;
    const int b = blockIdx.x, last = gridDim.x - 1;
    if (threadIdx.x == 0) {
        mine = b;
        if (b < last) while (atomicAdd(&done[b + 1], 0) == 0) ;
        out[b] = mine + (b < last ? out[b + 1] : 0);
        __threadfence();
        atomicExch(&done[b], 1);
    }
    __syncthreads();
}
#define B 32
__device__ volatile int state[64], sum[64], inclusive[64];
__global__ void look_back(const int *x, int *y, int n)
{
    __shared__ int s[B], before;
    const int t = threadIdx.x, b = blockIdx.x, i = b * B + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int o = 1; o < B; o *= 2) {
        int v = t >= o ? s[t - o] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t == 0) {
        before = 0;
        sum[b] = s[B - 1];
        __threadfence();
        state[b] = 1;
        for (int p = b - 1; p >= 0; p--) {
            int seen;
            while ((seen = state[p]) == 0) ;
            __threadfence();
            before += seen == 2 ? inclusive[p] : sum[p];
            if (seen == 2) break;
        }
        inclusive[b] = before + s[B - 1];
        __threadfence();
        state[b] = 2;
    }
    __syncthreads();
    if (i < n) y[i] = before + s[t];
}
__device__ unsigned arrived;
__global__ void barrier_by_hand(int *x, int *out, int rounds)
{
    for (int r = 1; r <= rounds; r++) {
        if (threadIdx.x == 0) {
            x[blockIdx.x] += r;
            __threadfence();
            atomicAdd(&arrived, 1u);
            while (atomicAdd(&arrived, 0u) < r * gridDim.x) ;
            int all = 0;
            for (int b = 0; b < gridDim.x; b++) all += atomicAdd(&x[b], 0);
            out[r] = all;
            __threadfence();
            atomicAdd(&arrived, 1u);
            while (atomicAdd(&arrived, 0u) < r * gridDim.x) ;
        }
        __syncthreads();
    }
}

__global__ void alone(int *x)
{
    while (atomicAdd(x, 0) == 0) {}
}
__global__ void alone_volatile(volatile int *x)
{
    while (*x == 0) {}
}
__global__ void unlocked_by_nobody(int *x)
{
    if (threadIdx.x == 1)
        while (atomicCAS(x, 1, 0) != 1) ;
    __syncthreads();
}
__global__ void crossed(int *x)
{
    const int me = blockIdx.x;
    while (atomicCAS(x + me, 0, 1)) ;
    for (atomicExch(x + 2 + me, 1); atomicAdd(x + 2, 0) + atomicAdd(x + 3, 0) < 2;) ;
    while (atomicCAS(x + 1 - me, 0, 1)) ;
}
__global__ void gives_up(int *x, int most)
{
    int tries = 0;
    while (atomicAdd(x, 0) == 0 && tries < most) tries++;
    x[1] = tries;
}

__device__ int work(int *x, int n) { for (int k = 0; k < n; k++) x[0] += k * x[0] + 1; return x[0]; }
__global__ void places(int *scratch, int *next, int *out)
{
    work(scratch + blockIdx.x, 3000);
    out[atomicAdd(next, 1)] = blockIdx.x;
}
__global__ void adding(int *scratch, float *sum)
{
    work(scratch + blockIdx.x, 3000);
    atomicAdd(sum, 1.0f / (1 + blockIdx.x));
}
__global__ void failing(int *scratch, int from)
{
    work(scratch + blockIdx.x, 3000);
    if (blockIdx.x >= from && threadIdx.x == 1) *(int *)8 = 1;
}
__global__ void for_ever(int *x, int block)
{
    if (blockIdx.x == block) for (;;) x[2] += x[0] = 1;
    work(x + 4 + blockIdx.x, 3000);
    if (blockIdx.x == 0) while (atomicAdd(x + 1, 0) == 0) ;
}
"""


@pytest.fixture(scope="module")
def cell(shared_cache_folder: Any) -> Any:
    return um.compile_cuda(CELL, device="cpu")


@pytest.mark.parametrize("name", ["flag", "volatile_flag", "loaded_flag", "cuda_atomic", "counted_rounds", "two_warps"])
def test_who_waits_for_a_flag_gets_it(cell: Any, name: str) -> None:
    out = np.zeros(2, "i4")
    cell[name][2, 64 if name == "two_warps" else 1](np.zeros(1, "i4"), np.zeros(1, "i4"), out)
    assert out[0] == 42


@pytest.mark.parametrize("name", ["ticket_lock", "lock_in_turns", "lock_of_block"])
def test_locks_let_one_thread_in(cell: Any, name: str) -> None:
    count = np.zeros(1, "i4")
    cell[name][8, 64](count)
    assert count[0] == 512


def test_blocks_wait_for_later_and_for_earlier_ones(cell: Any) -> None:
    out = np.zeros(10, "i4")
    cell.from_the_last[10, 32](np.zeros(10, "i4"), out)
    np.testing.assert_array_equal(out, np.arange(10)[::-1].cumsum()[::-1])
    x = np.random.default_rng(1).integers(-9, 9, 500).astype("i4")
    y = np.zeros_like(x)
    cell.look_back[16, 32](x, y, len(x))
    np.testing.assert_array_equal(y, x.cumsum())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "grid", "block", "words"),
    [
        ("alone", 1, 1, r"block \(0, 0, 0\): <cuda>:{}: atomicAdd\(\) reads the same .* no other thread is left"),
        ("alone", 2, 64, r": <cuda>:{0}: atomicAdd\(\) .*waits at atomicAdd\(\) on line {0}"),
        ("alone_volatile", 1, 1, r": <cuda>:{}: this loop reads the same"),
        ("unlocked_by_nobody", 1, 32, r"\(1, 0, 0\) .*: <cuda>:{}: atomicCAS\(\) .*__syncthreads\(\) on line {}"),
        ("crossed", 2, 1, r"<cuda>:\d+: atomicCAS\(\) .* of block \(1, 0, 0\) waits at atomicCAS\(\)"),
    ],
)
def test_waiting_for_what_nobody_does_is_an_error(cell: Any, name: str, grid: int, block: int, words: str) -> None:
    lines = CELL.splitlines()
    at = next(n for n, line in enumerate(lines, 1) if f" {name}(" in line)
    line = next(n for n, text in enumerate(lines, 1) if n > at and "while" in text)
    with pytest.raises(um.CellCrashed, match=words.format(line, line + 1)):
        cell[name][grid, block](np.zeros(4, "i4"))


def test_who_gives_up_waiting_goes_on(cell: Any) -> None:
    x = np.zeros(2, "i4")
    cell.gives_up[1, 1](x, 100_000)
    assert x[1] == 100_000


def test_order_of_blocks_does_not_depend_on_the_number_of_threads(cell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sums = set()
    for threads in "1", "2", "5":
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        scratch, out, total = np.zeros(2000, "i4"), np.zeros(2000, "i4"), np.zeros(1, "f4")
        cell.places[2000, 1](scratch, np.zeros(1, "i4"), out)
        np.testing.assert_array_equal(out, np.arange(2000))
        cell.adding[2000, 1](scratch, total)
        sums.add(total.tobytes())
        assert (scratch == scratch[0]).all()
        with pytest.raises(um.CellCrashed, match=r"Thread \(1, 0, 0\) of block \(900, 0, 0\): it wrote out of bounds"):
            cell.failing[2000, 2](scratch, 900)
    assert len(sums) == 1


@pytest.mark.parametrize("block", [0, 1, 900])
def test_a_launch_on_several_threads_is_interrupted(cell: Any, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    x = np.ones(2004, "i4")
    cell.for_ever[2000, 1](x, 5000)  # the first launch runs on copies
    x[:] = 0

    def interrupt() -> None:
        while not x[0]:
            pass
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        cell.for_ever[2000, 1](x, block)
    thread.join()
    out = np.zeros(2, "i4")
    cell.flag[2, 1](np.zeros(1, "i4"), np.zeros(1, "i4"), out)
    assert out[0] == 42
