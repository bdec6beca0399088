"""A call in a copy of this process: its result comes back, nothing else does."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from support import run_python, wait_until
from ufunc_magic.guard import call_in_copy, can_copy
from ufunc_magic.model import ComparisonError, UfuncMagicError

pytestmark = pytest.mark.skipif(not can_copy(), reason="this system has no fork()")

SECONDS = 60.0


def test_call_in_copy_returns_a_result_and_leaves_objects_alone() -> None:
    values = [1]

    def work() -> list[int]:
        values.append(2)
        return values

    assert call_in_copy(work, seconds=SECONDS) == [1, 2]
    assert values == [1]


def test_call_in_copy_returns_more_than_a_pipe_holds() -> None:
    assert call_in_copy(lambda: bytes(1 << 20), seconds=SECONDS) == bytes(1 << 20)


def test_call_in_copy_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        sys.stdout.write("a word")
        sys.stderr.write("a word")
        os.write(1, b"a word")

    call_in_copy(work, seconds=SECONDS)
    assert capfd.readouterr() == ("", "")


def test_call_in_copy_raises_what_the_call_raises() -> None:
    def work() -> None:
        raise ComparisonError("No.", remedy="Do not.")

    with pytest.raises(ComparisonError, match="No"):
        call_in_copy(work, seconds=SECONDS)


def test_call_in_copy_names_an_exception_that_does_not_travel() -> None:
    class OwnError(Exception):
        pass

    def work() -> None:
        raise OwnError("mine")

    with pytest.raises(UfuncMagicError, match="OwnError: mine"):
        call_in_copy(work, seconds=SECONDS)


@pytest.mark.parametrize(
    ("work", "word"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "SIGSEGV"),
        (lambda: os._exit(3), "exit status 3"),
        (lambda: lambda: None, "pickle"),
    ],
)
def test_call_in_copy_reports_a_copy_without_a_result(work: Any, word: str) -> None:
    with pytest.raises(Exception, match=word):
        call_in_copy(work, seconds=SECONDS)


def test_call_in_copy_ends_a_call_that_does_not_end() -> None:
    with pytest.raises(UfuncMagicError, match="did not end"):
        call_in_copy(lambda: time.sleep(1000), seconds=0.1)


def test_call_in_copy_ends_a_call_that_computes_too_long() -> None:
    with pytest.raises(UfuncMagicError, match="did not end"):
        call_in_copy(lambda: [None for _ in iter(int, 1)], seconds=SECONDS, busy=0.05)
    assert call_in_copy(lambda: time.sleep(0.2), seconds=SECONDS, busy=0.1) is None


def test_an_interrupt_gets_the_result_so_far() -> None:
    parent = os.getpid()

    def work() -> str:
        try:
            os.kill(parent, signal.SIGINT)
            time.sleep(1000)
        except KeyboardInterrupt:
            pass
        return "so far"

    assert call_in_copy(work, seconds=SECONDS) == "so far"


def test_an_interrupt_of_a_call_without_a_result_is_raised() -> None:
    parent = os.getpid()

    def work() -> None:
        os.kill(parent, signal.SIGINT)
        time.sleep(1000)

    with pytest.raises(KeyboardInterrupt):
        call_in_copy(work, seconds=SECONDS)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a copy lives on until its time is over")
def test_a_copy_ends_with_its_process(tmp_path: Path) -> None:
    file = tmp_path / "number"
    program = f"""
import os, pathlib, signal, time
from ufunc_magic.guard import call_in_copy

def work():
    file = pathlib.Path({str(file)!r})
    file.with_suffix(".part").write_text(str(os.getpid()))
    file.with_suffix(".part").rename(file)
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1000)

call_in_copy(work, seconds=1000)
"""
    run_python(program, code=None)
    assert wait_until(lambda: not psutil.pid_exists(int(file.read_text())))


def test_an_interrupt_before_the_copy_is_read_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    wait = select.select
    interrupts = iter([KeyboardInterrupt])

    def interrupted(*files: Any) -> Any:
        for interrupt in interrupts:
            raise interrupt
        return wait(*files)

    monkeypatch.setattr(select, "select", interrupted)
    with pytest.raises(KeyboardInterrupt):
        call_in_copy(lambda: time.sleep(1000), seconds=SECONDS)
