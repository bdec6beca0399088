"""Processes of compilers, each run to its end or ended with all it has started.

The only module that starts programs; the one other process is the guard's helper, of ``guard/guard_process.py``.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .. import store
from ..model import ToolchainError

#: Seconds after which a compiler is taken to hang: far above any cell, templates and zig's first run included.
PATIENCE = 600.0


@dataclass(frozen=True)
class Done:
    """A process that has ended: what it was, its exit status, its standard output and error.

    ``before`` is what commands that ran before it wrote on standard error.
    """

    command: tuple[str, ...]
    status: int
    output: str
    messages: str
    before: str = ""


def finished(
    command: Sequence[str],
    text: str,
    folder: pathlib.Path | None = None,
    *,
    then: Sequence[Sequence[str]] = (),
) -> Done:
    """Run a compiler to its end, or end it with all it has started.

    Parameters
    ----------
    command : sequence of str
    text : str
        Its standard input.
    folder : pathlib.Path
        Where it works and leaves its temporary files; an interrupt ends all that works there.
    then : sequence of commands
        What to run after it, without input, until one fails.

    Returns
    -------
    Done
        Of the last command that ran.

    Raises
    ------
    ToolchainError
        If one cannot be started or does not end.
    """
    process, before = None, ""
    environment = _environment(command, folder)
    for step in (command, *then):
        try:
            with _uninterrupted():
                try:
                    process = subprocess.Popen(
                        step,
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        env=environment,
                        # A session of its own: an interrupted notebook must not kill half of the compiler, and
                        # all of it can be ended at once.
                        start_new_session=True,
                    )
                    if getattr(_mode, "background", False):
                        _into_background(process)
                except OSError as error:
                    raise ToolchainError(
                        f"{step[0]!r} cannot be started: {error.strerror}.",
                        remedy="Set CC to a compiler that can, or unset it.",
                    ) from None
                _running[process] = folder
            if folder in _ended:  # while it was being started
                _kill(process)
            output, messages = process.communicate(text.encode(errors="replace"), timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise ToolchainError(
                f"{step[0]!r} did not end within {PATIENCE:g} seconds.",
                remedy="Simplify the cell, or try another compiler.",
            ) from None
        except KeyboardInterrupt:
            if folder:
                _end_all(folder)
            raise
        finally:
            if process:
                with _uninterrupted():
                    if process.returncode is None:
                        _end(process)
                    _running.pop(process, None)
        words = messages.decode(errors="replace")
        done = Done(tuple(step), process.returncode, output.decode(errors="replace"), words, before)
        if done.status:
            break
        text, before = "", before + words
    return done


_mode = threading.local()
_over = threading.Event()


@contextlib.contextmanager
def in_background() -> Iterator[None]:
    """Compilers that this thread starts inside leave the processor to all who want it; see `end_background`."""
    _mode.background = True
    try:
        yield
    finally:
        _mode.background = False


def _into_background(process: subprocess.Popen[bytes]) -> None:
    _background.add(process)
    _lower(process)
    if _over.is_set():
        _kill(process)


def _lower(process: subprocess.Popen[bytes]) -> None:
    """Give a process, which leads a session, and what it starts the lowest priority."""
    if hasattr(os, "setpriority"):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PGRP, process.pid, 19)


def end_background() -> None:
    """End the compilers that were started in the background, and those that are started there from now on."""
    _over.set()
    for process in list(_background):
        if process.poll() is None:
            _kill(process)


def printed(command: Sequence[str]) -> str:
    """What a compiler prints on standard output when asked about itself; ``""`` where it fails."""
    done = finished(command, "")
    return "" if done.status else done.output


def run_python(program: str) -> tuple[int, str]:
    """Run a program in another process of this Python: its exit status and what it wrote on standard error."""
    done = finished([sys.executable, "-c", program], "")
    return done.status, done.messages


def start_python(program: str) -> None:
    """Run a program in another process of this Python, at low priority; it ends with this process at the latest."""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    _started[process] = os.getpid()
    _lower(process)


@atexit.register
def _end_started() -> None:
    for process, owner in _started.items():
        if owner == os.getpid() and process.poll() is None:
            process.send_signal(signal.SIGINT)  # it ends its compilers and removes their folders, and is not waited for


#: What `start_python` has started, with the process that did.
_started: dict[subprocess.Popen[bytes], int] = {}
#: Processes under way, of all threads, with the folders that they work in; folders of builds that were interrupted.
_running: dict[subprocess.Popen[bytes], pathlib.Path | None] = {}
_background: weakref.WeakSet[subprocess.Popen[bytes]] = weakref.WeakSet()
_ended: set[pathlib.Path | None] = set()


@contextlib.contextmanager
def together(folder: pathlib.Path) -> Iterator[None]:
    """Compile in several threads inside: an exception ends every compiler that works in ``folder``.

    Without it, who waits for the threads of an interrupted build waits for their compilers to end.
    """
    try:
        yield
    except BaseException as fault:
        # What a compiler refused may be tried in another way, there; what was interrupted is over.
        _end_all(folder, and_later=not isinstance(fault, Exception))
        raise


def _end_all(folder: pathlib.Path, *, and_later: bool = True) -> None:
    """End what works in ``folder``; the threads that start it see it fail."""
    if and_later:
        _ended.add(folder)
    for process, where in list(_running.items()):
        if where == folder and process.poll() is None:
            _kill(process)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """An interrupt inside comes at the end: a process must not be started and lost, or be left half ended."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    interrupts: list[Any] = []
    signal.signal(signal.SIGINT, lambda *received: interrupts.append(received))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if interrupts:
            before(*interrupts[0])


def _kill(process: subprocess.Popen[bytes]) -> None:
    if os.name == "posix":
        # Not yet waited for, so the number cannot belong to anybody else by now, unless another thread just did.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _end(process: subprocess.Popen[bytes]) -> None:
    _kill(process)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()


def _environment(command: Sequence[str], folder: pathlib.Path | None) -> dict[str, str]:
    environment = {**os.environ, "LC_ALL": "C"}
    if folder:
        # What a killed compiler leaves behind goes away with the folder.
        environment["TMPDIR"] = environment["ZIG_LOCAL_CACHE_DIR"] = str(folder)
    if any(os.path.basename(word).startswith("zig") for word in command[:2]):
        # It builds a runtime once, of 70 MB.
        environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(store.default().storage("zig")))
    return environment
