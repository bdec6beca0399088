"""A call in a copy of this process: nothing that it does to memory, and nothing that it prints, is there afterwards.

A report calls a function millions of times.  A function that keeps state, or changes the notebook's objects, is
called in a fork, which has everything that the notebook has.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import select
import signal
import sys
import warnings
from collections.abc import Callable
from io import RawIOBase
from typing import Any, NoReturn, TypeVar

from ..model import FAULTS, CellCrashed, UfuncMagicError
from .helper.probe_memory import libc

Result = TypeVar("Result")


def can_copy() -> bool:
    """Return whether this system can copy a process."""
    return hasattr(os, "fork")


def call_in_copy(work: Callable[[], Result], *, seconds: float, busy: float = 0.0) -> Result:
    """Call a function in a copy of this process, and return a copy of its result.

    Parameters
    ----------
    work : callable
        Its result must be picklable.
    seconds : float
        The copy is ended after this time.
    busy : float
        The copy is ended after this time of its processors; 0 for no limit.

    Raises
    ------
    CellCrashed
        If the copy crashes or takes longer.
    UfuncMagicError
        If the result cannot be pickled.
    Exception
        Whatever ``work`` raises.
    """
    ends = os.pipe()
    process, stopped, signals = 0, None, signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with os.fdopen(ends[0], "rb", 0) as reading, os.fdopen(ends[1], "wb", 0) as writing:
        try:
            try:
                # An interrupt right after the fork waits until this process knows the copy, and the copy its handler.
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                process = _fork()
                if not process:
                    _work_in_copy(work, writing, (seconds, busy), signals)
                signal.pthread_sigmask(signal.SIG_SETMASK, signals)
                writing.close()
                data = _read_to_end(reading)
            except KeyboardInterrupt as interrupt:
                if not process:
                    raise
                stopped = interrupt
                os.kill(process, signal.SIGINT)  # the copy may have a result of what it did so far
                writing.close()
                data = _read_to_end(reading)
            status = os.waitpid(process, 0)[1]
        except BaseException:
            if process:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, signals)
    if not data:
        if stopped:
            raise stopped
        ended = signal.Signals(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else None
        if ended in (signal.SIGALRM, signal.SIGPROF):
            limit = seconds if ended == signal.SIGALRM else busy
            remedy = "Use a smaller --size, or a longer --time."
            raise CellCrashed(f"The calls did not end within {limit:.2g} s.", remedy=remedy)
        cause = ended.name if ended else f"exit status {os.waitstatus_to_exitcode(status)}"
        raise CellCrashed(f"A call ended its process ({cause}).")
    succeeded, result = pickle.loads(data)
    if not succeeded:
        raise result
    return result  # type: ignore[no-any-return]


def _fork() -> int:
    with warnings.catch_warnings():
        # Python warns of a fork in a process with other threads.  The copy runs this thread only.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _work_in_copy(
    work: Callable[[], Any], writing: RawIOBase, limits: tuple[float, float], signals: set[Any]
) -> NoReturn:
    """Send the result of ``work`` and end, at the latest after ``limits``; ``signals`` are blocked while it works."""
    try:
        # An interrupt of the notebook is for the notebook, which sends it on.
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        # A copy never outlives its time, nor the process that it is a copy of.
        with contextlib.suppress(AttributeError):  # no Linux
            libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        clocks = (signal.SIGALRM, signal.ITIMER_REAL), (signal.SIGPROF, signal.ITIMER_PROF)
        for (end, clock), limit in zip(clocks, limits, strict=True):
            signal.signal(end, signal.SIG_DFL)
            signal.setitimer(clock, limit)
        silence = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(silence, descriptor)
        faulthandler.disable()  # it has a descriptor of its own
        # In a kernel these two send what they get to the notebook.
        sys.stdout = sys.stderr = os.fdopen(silence, "w")
        signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        data = _pack(work)
        while data:
            data = data[writing.write(data) :]
    finally:
        os._exit(0)


def _pack(work: Callable[[], Any]) -> bytes:
    """Whether ``work`` returned, and its result or exception, as a pickle."""
    try:
        result = True, work()
    except (*FAULTS, KeyboardInterrupt) as fault:  # the notebook raises it
        result = False, fault
    try:
        data = pickle.dumps(result)
        if not result[0]:
            pickle.loads(data)  # an exception of the cell's own class may not come back
    except FAULTS as fault:
        cause = f"The result cannot be pickled: {fault}" if result[0] else f"{type(result[1]).__name__}: {result[1]}"
        return pickle.dumps((False, UfuncMagicError(cause)))
    return data


def _read_to_end(reading: RawIOBase) -> bytes:
    pieces = [b""]
    while True:
        select.select([reading], [], [])  # an interrupt ends it, whoever has installed the handler; a read may go on
        piece = reading.read(1 << 20)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
