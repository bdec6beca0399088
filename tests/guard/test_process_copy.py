"""A call in a copy of this process: its result comes back, nothing else does."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

import pytest

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
