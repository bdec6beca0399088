"""--sandbox: every call in another process, with the results and the rules of a call in this one."""

from __future__ import annotations

import os
import pickle
import platform
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import psutil
import pytest

import ufunc_magic as um
from support import compile_in, run_python
from ufunc_magic.guard import guard_process as process
from ufunc_magic.guard.sandbox import OperandMemory, copy, lay_out

#: What rests on a trap of the processor's.
traps = pytest.mark.skipif(
    platform.machine() in ("aarch64", "arm64"), reason="arm64 divides integers by zero without a trap, to 0"
)

pytestmark = pytest.mark.skipif(
    not process.is_available() or not hasattr(os, "memfd_create"), reason="the sandbox needs fork() and files in memory"
)

CELL = """\
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
double mul(double a, double b) {
    if (a > 1e6) { volatile int *p = 0; *p = 1; }
    return a * b;
}
void two(double x, double *more, double *less) { *more = x + 1; *less = x - 1; }
// ufunc: (n),(n)->()
double dot(const double *a, const double *b, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}
// ufunc: (m,n)->(n,m)
void turn(const short *a, int m, int n, short *out) {
    for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) out[j * m + i] = a[i * n + j];
}
int quotient(int a, int b) { return a / b; }
double inverse(double x) { return 1 / x; }
double leave(double x) { if (x > 1e6) exit(7); return x; }
double positive(double x) { assert(x > -1e6); return x; }
double say(double x) { printf("x is %g\\n", x); return x; }
long double wide(long double x) { return 2 * x; }
float _Complex turnc(float _Complex z) { return z * z; }
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield compile_in(tmp_path_factory.mktemp("cache"), CELL, sandbox=True)
    process.stop()


X = np.linspace(0.5, 9.5, 1001)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a,
        lambda a: a[::3],
        lambda a: a[::-2],
        lambda a: a.reshape(7, 11, 13).T,
        lambda a: a.reshape(7, 11, 13)[:, ::2, 1:],
        lambda a: np.broadcast_to(a[:5], (4, 5)),
        lambda a: a[:0],
        lambda a: a[3],
        lambda a: a.astype(">f8"),
    ],
    ids="contiguous strided reversed transposed sliced broadcast empty scalar swapped".split(),
)
def test_results_are_those_of_a_call_here(made: Any, view: Any) -> None:
    a, b = view(X), view(X[::-1].copy())
    np.testing.assert_array_equal(made.mul(a, b), a * b)


def test_out_where_and_casting(made: Any) -> None:
    out = np.zeros(10)
    made.mul(X[:10], 2.0, out=out, where=np.arange(10) % 2 == 0)
    np.testing.assert_array_equal(out, np.where(np.arange(10) % 2 == 0, X[:10] * 2, 0))
    np.testing.assert_array_equal(made.mul(np.arange(5), 3), np.arange(5) * 3.0)
    with pytest.raises(TypeError):
        made.mul(X[:10], 2.0, out=np.zeros(10, "i4"))


def test_reductions_and_overlap_keep_their_order(made: Any) -> None:
    small = X[:20] / 5
    assert made.mul.reduce(small) == pytest.approx(np.prod(small))
    np.testing.assert_allclose(made.mul.accumulate(small), np.cumprod(small))
    np.testing.assert_allclose(made.mul.reduceat(small, [0, 5, 9]), np.multiply.reduceat(small, [0, 5, 9]))
    np.testing.assert_array_equal(made.mul.outer(small, small), np.multiply.outer(small, small))
    shifted = X[:50].copy()
    expected = X[:50].copy()
    np.multiply(expected[:-1], expected[1:], out=expected[1:])
    made.mul(shifted[:-1], shifted[1:], out=shifted[1:])
    np.testing.assert_array_equal(shifted, expected)
    at = np.ones(3)
    made.mul.at(at, [0, 0, 2], 3.0)
    assert at.tolist() == [9.0, 1.0, 3.0]


def test_several_outputs_and_cores(made: Any) -> None:
    more, less = made.two(X)
    np.testing.assert_array_equal([more, less], [X + 1, X - 1])
    a = np.arange(24.0).reshape(4, 6)
    np.testing.assert_array_equal(made.dot(a, a[::-1]), (a * a[::-1]).sum(1))
    np.testing.assert_array_equal(made.dot(a.T, a.T[:, ::-1]), (a.T * a.T[:, ::-1]).sum(1))
    b = np.arange(30, dtype="i2").reshape(2, 3, 5)
    np.testing.assert_array_equal(made.turn(b), b.transpose(0, 2, 1))
    assert made.dot(np.zeros((3, 0)), np.zeros((3, 0))).tolist() == [0, 0, 0]


def test_wide_types_pass_bit_by_bit(made: Any) -> None:
    g = np.array([1, 3], "g") / 3
    np.testing.assert_array_equal(made.wide(g[::-1]), 2 * g[::-1])
    z = np.array([1 + 2j, 3 - 1j], "F")
    np.testing.assert_array_equal(made.turnc(z), z * z)


def test_large_calls_pass_in_pieces(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from ufunc_magic.guard import sandbox

    monkeypatch.setattr(sandbox, "ROOM", 1 << 12)
    big = np.arange(100_000.0)
    np.testing.assert_array_equal(made.mul(big[::-1], 0.5), big[::-1] * 0.5)


def test_floating_point_flags_come_back(made: Any) -> None:
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in inverse"):
        made.inverse(np.zeros(3))


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda b: b.mul(2e6, 1.0), "mul(2000000.0, 1.0) was ended by SIGSEGV in its sandbox"),
        pytest.param(lambda b: b.quotient(1, 0), "quotient(1, 0) was ended by SIGFPE in its sandbox", marks=traps),
        (lambda b: b.leave(2e6), "leave(2000000.0) ended the process: exit(7)"),
        (lambda b: b.positive(-2e6), "Assertion `x > -1e6' failed."),
    ],
    ids=["segv", "fpe", "exit", "assert"],
)
def test_crash_of_a_call_is_an_exception_and_the_next_call_works(made: Any, call: Any, what: str) -> None:
    with pytest.raises(um.CellCrashed) as caught:
        call(made)
    assert made.mul(3.0, 4.0) == 12.0
    if "uncaught target signal" in str(caught.value):
        pytest.skip("qemu has the last word of a program that aborts: what the program said is not the last line")
    assert what in str(caught.value)


def test_report_says_what_a_call_costs(made: Any) -> None:
    assert any(n.startswith("--sandbox: every call runs in another process") for n in made.notes)


@pytest.mark.slow
def test_sandboxed_cell_from_the_cache_starts_no_process_before_a_call() -> None:
    program = (
        "import ufunc_magic as um\n"
        "from ufunc_magic.guard import guard_process as process\n"
        "b = um.compile_c('double once(double x) { return x; }', sandbox=True)\n"
        "print(b.cached, process._helper is None, sum(n.startswith('--sandbox') for n in b.notes), b.once(2.0))\n"
    )
    said = [run_python(program, code=None).stdout for _ in range(2)]
    assert said == ["False False 1 2.0\n", "True True 1 2.0\n"]


def test_what_it_prints_appears(made: Any, capsys: pytest.CaptureFixture[str]) -> None:
    made.say(np.arange(3.0))
    assert capsys.readouterr().out == "x is 0\nx is 1\nx is 2\n"


def test_threads_take_turns(made: Any) -> None:
    results: dict[int, Any] = {}

    def work(n: int) -> None:
        results[n] = [float(made.mul(float(n), float(k))) for k in range(50)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: [float(n * k) for k in range(50)] for n in range(8)}


def test_function_lives_on_when_its_process_or_the_helper_is_killed(made: Any) -> None:
    assert made.mul(1.0, 2.0) == 2.0
    for child in psutil.Process().children(recursive=True):
        child.kill()
    with pytest.raises(um.CellCrashed):
        made.mul(1.0, 2.0)
    assert made.mul(1.0, 2.0) == 2.0


def test_helper_killed_with_its_processes_leaves_none() -> None:
    program = (
        "import os, psutil, ufunc_magic as um\n"
        "f = um.c_ufunc('double f(double x) { return x; }', sandbox=True)\n"
        "f(1.0)\n"
        "print(*(c.pid for c in psutil.Process().children(recursive=True)), flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = run_python(program, code=None)
    pids = list(map(int, done.stdout.split()))
    assert len(pids) >= 2, "the helper and the sandbox, at least"
    psutil.wait_procs([psutil.Process(p) for p in pids if psutil.pid_exists(p)], timeout=300)
    assert [p for p in pids if psutil.pid_exists(p) and psutil.Process(p).status() != "zombie"] == []


def test_child_of_a_fork_has_a_sandbox_of_its_own(made: Any) -> None:
    assert made.mul(1.0, 3.0) == 3.0
    program = (
        "import os, ufunc_magic as um\n"
        "f = um.c_ufunc('double f(double x) { return 2*x; }', sandbox=True)\n"
        "assert f(1.0) == 2.0\n"
        "pid = os.fork()\n"
        "assert all(f(float(k)) == 2.0 * k for k in range(100))\n"
        "if pid: assert os.waitpid(pid, 0)[1] == 0\n"
    )
    run_python(
        program,
        options=("-W", "ignore"),
    )


@pytest.mark.slow
def test_interrupt_ends_an_endless_call() -> None:
    program = (
        "import os, signal, threading, ufunc_magic as um\n"
        "f = um.c_ufunc('double f(double x) { volatile int on = x > 1e6; while (on) ; return x; }', sandbox=True)\n"
        "assert f(1.0) == 1.0\n"
        "threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n    f(2e6)\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
        "print(f(2.0))\n"
    )
    done = run_python(program, code=None)
    assert done.stdout == "interrupted\n2.0\n", done.stderr


def test_interrupt_at_any_line_of_a_call_is_heard() -> None:
    program = """
import os, signal, sys
import ufunc_magic as um

f = um.c_ufunc("double f(double x) { return x + 1; }", sandbox=True)
assert f(1.0) == 2.0

def call(at):
    # Call f with SIGINT at that event of the sandbox's code; whether the call had so many.
    left = at
    def trace(frame, event, argument):
        nonlocal left
        if not frame.f_code.co_qualname.startswith("Sandbox."):
            return None
        left -= event in ("call", "line")
        if left < 0:
            sys.settrace(None)
            signal.raise_signal(signal.SIGINT)
        return trace
    value = None
    try:
        sys.settrace(trace)
        value = f(5.0)
    except KeyboardInterrupt:
        pass
    sys.settrace(None)
    assert left >= 0 or value is None, f"event {at}: not heard, and the value is {value}"
    assert left < 0 or value == 6.0, value
    return left < 0

at = 0
while call(at):
    assert f(2.0) == 3.0
    at += 1
print(at > 30)
"""
    assert run_python(program, code=None).stdout == "True\n"


def test_pickled_function_stays_in_its_sandbox(made: Any) -> None:
    assert pickle.loads(pickle.dumps(made.mul)) is made.mul
    program = (
        "import sys, pickle, ufunc_magic as um\n"
        "f = pickle.loads(bytes.fromhex(sys.stdin.read()))\n"
        "print(f(2.0, 3.0))\n"
        "try:\n    f(2e6, 1.0)\nexcept um.CellCrashed:\n    print('crashed')\n"
    )
    done = run_python(program, code=None, input=pickle.dumps(made.mul).hex().encode())
    assert done.stdout == "6.0\ncrashed\n", done.stderr


# -------------------------------------------------------------------------------------------- emulated kernels


KERNELS = """\
#include <cstdio>
__constant__ float scale[2];
__device__ int count;
__device__ float scaled(float x) { return x * scale[0]; }
__global__ void axpy(int n, double a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) { y[i] += a * scale[1] * x[i]; atomicAdd(&count, 1); }
}
__global__ void shift(const float *from, float *to) { to[threadIdx.x] = from[threadIdx.x] + 1; }
__global__ void copy4(float4 v, float4 *out, const float *none)
{
    if (!none) out[0] = v;
    printf("thread %d\\n", threadIdx.x);
}
__global__ void store(float *y, long long at) { y[at] = 1; }
__global__ void meet()
{
    if (threadIdx.x) __syncthreads();
    else __syncthreads();
}
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    yield compile_in(tmp_path_factory.mktemp("cache"), KERNELS, language="cuda", sandbox=True, device="cpu")
    process.stop()


@pytest.mark.slow
def test_launches_in_a_sandbox_do_what_they_do_here(kernels: Any, capfd: pytest.CaptureFixture[str]) -> None:
    here = um.compile_cuda(KERNELS, device="cpu")
    x, results = np.arange(100, dtype="f4"), {}
    v = np.array((1, 2, 3, 4), dtype=[(n, "f4") for n in "xyzw"])
    for build in (kernels, here):
        build.scale[...] = [2, 3]
        build.count[...] = 0
        y, row, four = np.ones(100, "f4"), np.arange(6, dtype="f4"), np.zeros(4, "f4")
        for _ in range(2):
            build.axpy[4, 32](100, 2.0, x, y)
        build.shift[1, 5](row[:-1], row[1:])
        build.copy4[1, 2](v, four, None)
        results[build] = [y.tolist(), row.tolist(), four.tolist(), int(build.count[()]), build.scaled(x).tolist()]
        assert capfd.readouterr().out == "thread 0\nthread 1\n"
    assert results[kernels] == results[here]
    assert results[here][0][1] == 13.0
    assert results[here][3] == 200


def test_a_launch_that_fails_costs_its_sandbox_alone(kernels: Any) -> None:
    y = np.zeros(8, "f4")
    with pytest.raises(um.CellCrashed, match=r"store .*SIGSEGV"):
        kernels.store[1, 1](y, 10**12)
    with pytest.raises(um.CellCrashed, match=r"meet .*__syncthreads"):
        kernels.meet[1, 2]()
    kernels.store[1, 1](y, 3)
    assert y.tolist() == [0, 0, 0, 1, 0, 0, 0, 0]


@pytest.mark.slow
def test_interrupt_ends_an_endless_launch() -> None:
    program = (
        "import os, signal, threading, numpy as np, ufunc_magic as um\n"
        "text = '__global__ void wait(volatile int *p) { while (p[0] == 0) p[1] += 1; }'\n"
        "b = um.compile_cuda(text, sandbox=True, device='cpu')\n"
        "b.wait[1, 1](np.ones(2, 'i4'))\n"
        "threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n    b.wait[1, 1](np.zeros(2, 'i4'))\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
        "b.wait[1, 1](np.ones(2, 'i4'))\n"
    )
    done = run_python(program, code=None)
    assert done.stdout == "interrupted\n", done.stderr


@pytest.mark.slow
def test_stray_access_in_a_sandbox_has_its_line_and_element() -> None:
    words = []
    for sandbox in (True, False):
        build = um.compile_cuda(
            "\n__global__ void store(float *y, int k) { y[threadIdx.x + k] = 1; }",
            sandbox=sandbox,
            sanitize=True,
            device="cpu",
        )
        if any("--sanitize looks at" in note for note in build.notes):
            pytest.skip("--sanitize looks at the accesses of kernels with gcc on Linux alone")
        with pytest.raises(um.CellCrashed) as caught:
            # Small arrays may lie beside the thread's own variables, where everything is allowed.
            build.store[1, 8](np.zeros(4_000_000, "f4"), 3_999_998)
        words.append(str(caught.value))
    assert words[0] == words[1]
    assert words[0].endswith("outside of its arrays on line 2, at y[4000000]; y has 4,000,000 elements.")


def test_sandbox_and_gpu_are_refused_together(monkeypatch: pytest.MonkeyPatch) -> None:
    from ufunc_magic.languages.cuda import device

    with pytest.raises(um.OptionError, match="--sandbox"):
        um.compile_cuda("__device__ float f(float x) { return x; }", sandbox=True, device="gpu")
    monkeypatch.setattr(device, "is_available", lambda: True)
    with pytest.raises(um.OptionError, match="Add --device cpu"):
        um.compile_cuda("__device__ float f(float x) { return x; }", sandbox=True)
    with pytest.raises(um.OptionError, match="--sanitize"):
        um.compile_cuda("__global__ void k(float *x) { *x = 1; }", sanitize=True)


# ------------------------------------------------------------------------------------------------- operands


def operand(array: Any, *, read: bool = True) -> OperandMemory:
    address = array.__array_interface__["data"][0]
    return OperandMemory(address, array.itemsize, array.shape, array.strides, read)


def test_operands_that_overlap_keep_their_distance() -> None:
    a = np.arange(10.0)
    places, size, overlap = lay_out([operand(a[:-1]), operand(a[1:], read=False)])
    assert overlap
    assert places[1].address - places[0].address == 8
    assert size >= 80


def test_operands_apart_are_packed() -> None:
    a, b = np.arange(100.0), np.arange(50, dtype="i2")
    places, size, overlap = lay_out([operand(a[::10]), operand(b[::-5], read=False)])
    assert not overlap
    assert [p.strides for p in places] == [(8,), (2,)]
    assert size == 128 + 64


@pytest.mark.parametrize("dtype", ["i1", "i2", "f4", "f8", "F", "D", "g", "G"])
def test_copy_moves_every_bit(dtype: str) -> None:
    rng = np.random.default_rng(1)
    source = np.frombuffer(rng.bytes(np.dtype(dtype).itemsize * 60), dtype).reshape(5, 12)[::-2, ::3]
    target = np.zeros((3, 4), dtype)
    copy(operand(source), to=operand(target))
    assert np.ascontiguousarray(source).tobytes() == target.tobytes()
