"""Compilers that wait for the next cell: started in advance, with the first headers already read.

Of the time that gcc takes for a formula a third goes by before its first line: the program starts, and <math.h> is
read.  In a notebook this time passes between two cells, in a program while the cell is read.  A
compiler that waits reads its standard input by an ``#include``.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pathlib
import threading
from collections.abc import Sequence
from typing import NamedTuple

from .. import runtime, store
from ..compilers import Process, end_process, start_process
from ..model import ToolchainError
from .switch import is_plain

#: Variables by which gcc and clang choose programs and folders.
VARIABLES = (
    "PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "LIBRARY_PATH",
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
)

#: Compilers that wait at most, and seconds for which they do: each takes 20 MB, and with headers of C++ up to 100.
MOST, TIME = 3, 600.0
_FACT = "waiting compilers 3"

#: A command of the compiler proper without its private folder.
_Command = tuple[str, ...]


class _Waiting(NamedTuple):
    """A compiler that waits: the lines it has read, and the folder and the variables with which it was started.

    It reports the files that it reads to ``report``, a file in memory.
    """

    process: Process
    ahead: tuple[str, ...]
    around: tuple[str, ...]
    report: int

    def read_report(self) -> str:
        """The rule for make that the compiler has written; only once."""
        with open(self.report, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()

    def end(self) -> None:
        """End the compiler."""
        end_process(self.process)
        os.close(self.report)

    def suits(self, ahead: Sequence[str]) -> bool:
        """Whether it would do the same if it were started now, for a cell that begins with the lines ``ahead``.

        The lines that it has read must come first: some headers depend on those before.
        """
        return (
            self.process.poll() is None
            and self.around == _describe_surroundings()
            and self.ahead == (*ahead,)[: len(self.ahead)]
        )


_LOCK = "waiting compilers"
waiting: dict[_Command, _Waiting] = {}
#: The lines that may be read ahead, by the commands that ran last, the latest at the end.
_wishes: dict[_Command, tuple[str, ...]] = {}
_timer: threading.Timer | None = None


def take_compiler(command: Sequence[str], folder: pathlib.Path, ahead: Sequence[str] | None) -> _Waiting | None:
    """Take the compiler that runs ``command`` already and waits for its input; None if there is none.

    Parameters
    ----------
    command : sequence of str
        The first program of the command.
    folder : pathlib.Path
        Where the command works.
    ahead : sequence of str
        Lines that may be read before the source without a difference; None for a source that must be read alone.
    """
    if ahead is None or command[-1] != "-":
        return None
    general = tuple(word.replace(str(folder), "{folder}") for word in command)
    with runtime.lock_of(_LOCK):
        _wishes.pop(general, None)
        _wishes[general] = tuple(ahead)
        compiler = waiting.pop(general, None)
        if compiler and not compiler.suits(ahead):
            compiler.end()
            return None
        return compiler


def start_waiting(*, recalled: bool = False) -> None:
    """Let compilers wait for cells like the last ones; where they are ``recalled``, for those of another process."""
    global _timer
    if is_plain():
        return
    with runtime.lock_of(_LOCK):
        cache = store.open_default()
        if recalled and not _wishes:
            _wishes.update((tuple(command), tuple(ahead)) for command, ahead in cache.recall(_FACT) or ())
        elif _wishes and (latest := [[[*c], [*ahead]] for c, ahead in _wishes.items()][-MOST:]) != cache.recall(_FACT):
            cache.remember(_FACT, latest)
        for command, ahead in list(_wishes.items())[-MOST:]:
            if command not in waiting or not waiting[command].suits(ahead):
                _start(command, ahead)
        if _timer:
            _timer.cancel()
        _timer = threading.Timer(TIME, dismiss_all)
        _timer.daemon = True
        _timer.start()


def _start(command: _Command, ahead: Sequence[str]) -> _Waiting | None:
    """Start a compiler that reads ``ahead`` and waits; it replaces one with the same command, or the oldest.

    It ends when its pipes are closed.
    """
    if command in waiting:
        waiting.pop(command).end()
    while len(waiting) >= MOST:
        waiting.pop(next(iter(waiting))).end()
    reading, writing = os.pipe()
    report = os.memfd_create("ufunc_magic report")
    try:
        os.write(writing, "\n".join(['#line 1 "<stdin>"', *ahead, '#include "/dev/stdin"\n']).encode())
        os.close(writing)
        position = command.index("-")
        words = [
            f"/dev/fd/{report}" if word.startswith("{folder}") and word.endswith(".d") else word for word in command
        ]
        words[position] = f"/dev/fd/{reading}"
        with contextlib.suppress(ToolchainError):  # the compilation reports it
            process = start_process(words, pass_fds=(reading, report))
            waiting[command] = _Waiting(process, tuple(ahead), _describe_surroundings(), report)
    finally:
        os.close(reading)
        if command not in waiting:
            os.close(report)
    return waiting.get(command)


def _describe_surroundings() -> tuple[str, ...]:
    """The folder and variables on which a compiler's work depends, besides its command."""
    with contextlib.suppress(FileNotFoundError):
        return os.getcwd(), *(os.environ.get(name, "") for name in VARIABLES)
    return ()


@atexit.register
def dismiss_all() -> None:
    """End those that wait: cells like the last ones are not expected any more."""
    with runtime.lock_of(_LOCK):
        _wishes.clear()
        while waiting:
            waiting.popitem()[1].end()


def _forget() -> None:
    """In the child of a fork: they are the parent's."""
    while waiting:
        os.close(waiting.popitem()[1].report)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
