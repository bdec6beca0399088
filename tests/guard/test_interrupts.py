"""Kernel -> Interrupt: a long call, a compilation and a report end at once, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import psutil
import pytest
from IPython.core.interactiveshell import InteractiveShell

import ufunc_magic as um
from support import compile_in, wait_until
from ufunc_magic.compilers import processes
from ufunc_magic.runtime import Build

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")

#: About 1 ns for each of `n`; the value says how far it came, and is never 0.
SOURCE = """
double slow(double x, double n) {
    for (long i = 0; i < (long)n; i++) x = x * 0.5 + 1;
    return x;
}
// ufunc: (m),()->()
double slow_sum(const double *x, double n, int m) {
    double sum = 0;
    for (long i = 0; i < (long)n; i++) sum += x[i % m];
    return sum;
}
"""


class Enough(Exception):
    """What the handler of this module's signal raises."""


@pytest.fixture
def after() -> Iterator[Callable[[float], None]]:
    """Have `Enough` raised in the main thread after so many seconds."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Enough

    before = signal.signal(signal.SIGALRM, stop)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds) and None
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module", params=[0, 2], ids=["one thread", "two threads"])
def built(request: pytest.FixtureRequest, shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, SOURCE, **({"parallel": request.param} if request.param else {}))


X = np.linspace(0.0, 1.0, 200_000)
#: Calls that would take most of an hour: one that is not stopped does not pass unseen.
CALLS: dict[str, Callable[[Build], Any]] = {
    "contiguous": lambda b: b.slow(X, np.full_like(X, 1e7)),
    "broadcast": lambda b: b.slow(X, 1e7),
    "strided": lambda b: b.slow(X[::2], np.full_like(X, 1e7)[::2]),
    "in place": lambda b: b.slow(x := X.copy(), 1e7, out=x),
    "overlapping": lambda b: b.slow((x := X.copy())[1:], 1e7, out=x[:-1]),
    "short rows": lambda b: b.slow(X.reshape(-1, 10)[:, ::2], 1e7),
    "reduce": lambda b: b.slow.reduce(np.full(200_000, 1e7)),
    "accumulate": lambda b: b.slow.accumulate(np.full(200_000, 1e7)),
    "outer": lambda b: b.slow.outer(X[:1000], np.full(200, 1e7)),
    "few elements": lambda b: b.slow(X[:4000], 3e8),
    "generalized": lambda b: b.slow_sum(X.reshape(-1, 100), 1e7),
    "generalized, strided": lambda b: b.slow_sum(X.reshape(-1, 100)[:, ::2], 1e7),
    "other type": lambda b: b.slow(np.arange(200_000, dtype="i4"), 1e7),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_long_call_stops(built: Build, after: Callable[[float], None], call: str) -> None:
    # Of a function that nobody has called before, the first piece is one element.
    built.slow(X[:3], 1e5)
    after(0.15)
    with pytest.raises(Enough):
        CALLS[call](built)
    assert built.slow(1.0, 0.0) == 1


def test_what_was_written_before_stays(built: Build, after: Callable[[float], None]) -> None:
    out = np.zeros_like(X)
    after(0.3)
    with pytest.raises(Enough):
        built.slow(X, 1e5, out=out)
    done = np.count_nonzero(out)
    assert 0 < done < out.size
    np.testing.assert_array_equal(out[out != 0], 2.0)


def test_a_handler_that_raises_nothing_costs_nothing(built: Build) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: heard.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        values = built.slow(X, 2000.0)
        assert heard
        # Within the call, and not once at its end.
        assert len(heard) > 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(values, 2.0)


def test_a_handler_may_call_the_same_function(built: Build) -> None:
    inner: list[float] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: inner.append(built.slow(X[:50_000], 100.0).sum()))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        values = built.slow(X, 2000.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert inner == [100_000.0]
    np.testing.assert_array_equal(values, 2.0)


def test_calls_of_other_threads_go_on(built: Build, after: Callable[[float], None]) -> None:
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(built.slow, X, 2000.0)
        after(0.1)
        with pytest.raises(Enough):
            time.sleep(60)
        np.testing.assert_array_equal(other.result(), 2.0)


@pytest.mark.usefixtures("shared_cache")
def test_a_value_does_not_depend_on_the_pieces() -> None:
    source = "#include <math.h>\ndouble f(double x) { return exp(x) * sin(x); }"
    for options in ({}, {"fast_math": True}):
        f = um.c_ufunc(source, **options)
        x = np.linspace(-3, 3, 50_001)
        new = f(x)  # small pieces first
        np.testing.assert_array_equal(f(x), new)
        np.testing.assert_array_equal(np.concatenate([f(x[:20_032]), f(x[20_032:])]), new)


# ------------------------------------------------------------------------------------------ compilers


def interrupting(folder: Path, *, when: str) -> Path:
    """A C compiler that, given the option ``when``, interrupts who started it and then takes forever."""
    path = folder / "gcc"
    path.write_text(
        f'#!/bin/sh\ncase " $* " in *" {when} "*)\n'
        f"sleep 1000 & echo $$ $! >> {folder}/started; kill -INT $PPID; wait;;\nesac\n"
        'exec /usr/bin/env PATH="$REAL_PATH" gcc "$@"\n'
    )
    path.chmod(0o755)
    return path


@pytest.fixture
def slow_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REAL_PATH", os.environ["PATH"])
    monkeypatch.setenv("CC", str(interrupting(tmp_path, when="-shared")))
    return tmp_path


def left_over(folder: Path) -> list[psutil.Process]:
    """Processes that the compiler of `interrupting` was or started."""
    found = []
    for number in (folder / "started").read_text().split():
        if psutil.pid_exists(int(number)):
            process = psutil.Process(int(number))
            if process.status() != psutil.STATUS_ZOMBIE or process.ppid() == os.getpid():
                found.append(process)
    return found


def files(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


@pytest.mark.slow
def test_an_interrupted_compilation_leaves_nothing(
    slow_compiler: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        um.compile_c("double interrupted(double x) { return x + 1; }")
    assert wait_until(lambda: not left_over(slow_compiler)), left_over(slow_compiler)
    assert list((cache_folder / "scratch").iterdir()) == []
    assert not any("/." in name for name in files(cache_folder))
    assert signal.getsignal(signal.SIGINT) is handler
    monkeypatch.delenv("CC")
    assert um.compile_c("double interrupted(double x) { return x + 1; }").interrupted(1.0) == 2


def test_an_interrupt_ends_the_compilers_of_all_threads_of_a_build(tmp_path: Path) -> None:
    note = tmp_path / "started"
    command = ["/bin/sh", "-c", f"sleep 1000 & echo $$ $! >> {note}; wait"]
    others = []

    def build() -> None:
        with ThreadPoolExecutor(1) as pool, processes.end_on_error(tmp_path):
            others.append(pool.submit(processes.run_command, command, "", tmp_path))
            assert wait_until(note.exists)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build()
    assert others[0].result().status == -signal.SIGKILL
    assert wait_until(lambda: not left_over(tmp_path)), left_over(tmp_path)


def test_a_compiler_that_a_thread_of_an_interrupted_build_is_starting_ends_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starting, interrupted = threading.Event(), threading.Event()

    class Slow(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            starting.set()
            interrupted.wait()

    def build(pool: ThreadPoolExecutor) -> None:
        with processes.end_on_error(tmp_path):
            others.append(pool.submit(processes.run_command, ["/bin/sleep", "1000"], "", tmp_path))
            starting.wait()
            raise KeyboardInterrupt

    others: list[Any] = []
    monkeypatch.setattr(subprocess, "Popen", Slow)
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(KeyboardInterrupt):
            build(pool)
        interrupted.set()
    assert others[0].result().status == -signal.SIGKILL


def test_an_interrupt_while_a_process_starts_comes_when_it_can_be_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self)
            os.kill(os.getpid(), signal.SIGINT)
            sum(range(1000))  # a handler would have run by now

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        processes.run_command(["/bin/sleep", "1000"], "", tmp_path)
    assert [p.returncode for p in started] == [-signal.SIGKILL]


@pytest.mark.cython
def test_an_interrupted_translation_of_cython_leaves_nothing(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("Cython", reason="Cython is not installed (extra: cython)")
    from Cython.Compiler import Pipeline

    source = "cpdef double f(double x):\n    return x + 1\n"
    original = Pipeline.run_pipeline

    def interrupted(*args: Any, **options: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return original(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Pipeline, "run_pipeline", interrupted)
        with pytest.raises(KeyboardInterrupt):
            um.compile_cython(source)
    assert list((cache_folder / "scratch").iterdir()) == []
    assert um.compile_cython(source).f(1.0) == 2


# ------------------------------------------------------------------------------------------ notebooks

CELL = "double f(double x) { return x + 1; }\n"


def run_cell(shell: Any, line: str) -> None:
    shell.run_cell_magic("c_ufunc", line, CELL)


def test_an_interrupted_cell_binds_nothing(
    loaded: InteractiveShell, slow_compiler: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_cell(loaded, "-q")
    assert "f" not in loaded.user_ns
    monkeypatch.delenv("CC")
    run_cell(loaded, "-q")
    assert loaded.user_ns["f"](1.0) == 2


def test_an_interrupted_report_binds_nothing(loaded: InteractiveShell) -> None:
    def reference(x: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return x + 1

    loaded.user_ns["reference"] = reference
    with pytest.raises(KeyboardInterrupt):
        run_cell(loaded, "--ref=reference")
    assert "f" not in loaded.user_ns
    run_cell(loaded, "-q")
    assert loaded.user_ns["f"](1.0) == 2
