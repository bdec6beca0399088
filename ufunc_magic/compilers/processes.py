"""Runs compilers as processes: each to its end, or ended together with all processes that it started.

The only module that starts programs; the one other process is the guard's helper, of ``guard/guard_process.py``.
"""

from __future__ import annotations

import atexit
import codecs
import contextlib
import errno
import os
import pathlib
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any, TypeVar

from .. import runtime, store
from ..model import ToolchainError, UfuncMagicError

#: Seconds after which a compiler is taken to hang: far above any cell, templates and zig's first run included.
PATIENCE = 600.0

Job = TypeVar("Job")

#: Bytes of messages that are read, from the start and from the end: twenty errors of templates are less.
_MOST_WORDS = 1 << 19
#: Control characters, which would move a terminal's cursor.
_NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufffd]+")
#: A compiler that has been started.
Process = subprocess.Popen[bytes]


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


@dataclass
class _Work:
    """The processes of this Python that are under way.

    Attributes
    ----------
    running : dict
        Compilers of all threads, with the folders that they work in.
    ended : set
        Folders of builds that were interrupted.
    progress : dict
        For each folder in which parts of a cell are compiled, how many functions are ready, and of how many.
    programs : dict
        Processes of `start_python`, with the process that started each.
    shown : str
        How far the program of `run_and_show` is.
    """

    running: dict[Process, pathlib.Path | None] = field(default_factory=dict)
    ended: set[pathlib.Path | None] = field(default_factory=set)
    progress: dict[pathlib.Path, tuple[float, int]] = field(default_factory=dict)
    programs: dict[Process, int] = field(default_factory=dict)
    shown: str = ""

    def end_folder(self, folder: pathlib.Path, *, and_later: bool = True) -> None:
        """End what works in ``folder``; the threads that start it see it fail."""
        if and_later:
            self.ended.add(folder)
        for process, where in list(self.running.items()):
            if where == folder and process.poll() is None:
                _kill(process)


work = _Work()


def run_command(
    command: Sequence[str],
    text: str,
    folder: pathlib.Path | None = None,
    *,
    then: Sequence[Sequence[str]] = (),
    ready: Process | None = None,
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
        What to run after it, without input, until one fails.  A command that ends in ``"--"`` runs together with the
        one before it and reads the output of that one; its messages are dropped, since the driver reports better.
    ready : Process
        The process of ``command``, where it waits already.

    Returns
    -------
    Done
        Of the last command that ran.

    Raises
    ------
    ToolchainError
        If one cannot be started or does not end.
    """
    before, steps = "", [command, *then]
    while True:
        # One, or one and the one that reads its output.
        pair = [steps.pop(0), *(steps.pop(0) for step in steps[:1] if step[-1] == "--")]
        done = _run_pair(pair, text, folder, ready)
        if done.status or not steps:
            return Done(done.command, done.status, done.output, done.messages, before)
        text, before, ready = "", before + done.messages, None


def _run_pair(commands: Sequence[Sequence[str]], text: str, folder: pathlib.Path | None, ready: Process | None) -> Done:
    """Run one command, or two of which the second reads the output of the first, to the end."""
    processes = list[Process]()
    try:
        for command in commands:
            with runtime.defer_interrupts():
                pipes = {"stdin": processes[0].stdout, "stderr": subprocess.DEVNULL} if processes else {}
                try:
                    process = ready or subprocess.Popen(command, **(_make_options(command, folder) | pipes))
                except OSError as error:
                    raise _start_error(command, error) from None
                processes.append(process)
                work.running[process] = folder
            if folder in work.ended:  # while it was being started
                _kill(process)
            ready = None
        first, last = processes[0], processes[-1]
        if first is not last and first.stdout:
            first.stdout.close()  # the other one has it
            first.stdout = None
        output, messages = first.communicate(text.encode(errors="replace"), timeout=PATIENCE)
        if first is not last:
            output, _ = last.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise ToolchainError(
            f"{commands[0][0]!r} did not finish within {PATIENCE:g} seconds.",
            remedy="Simplify the cell, or try another compiler.",
        ) from None
    except KeyboardInterrupt:
        if folder:
            work.end_folder(folder)
        raise
    finally:
        with runtime.defer_interrupts():
            for process in processes:
                if process.returncode is None:
                    end_process(process)
                work.running.pop(process, None)
    command, status = (commands[0], first.returncode) if first.returncode else (commands[-1], last.returncode)
    return Done(tuple(command), status, output.decode(errors="replace"), _shorten(messages))


def _shorten(messages: bytes) -> str:
    """The text of messages without its middle where it is very long."""
    if len(messages) > 2 * _MOST_WORDS:
        messages = b"\n".join((messages[:_MOST_WORDS], messages[-_MOST_WORDS:]))
    return _NO_TEXT.sub("", messages.decode(errors="replace"))


def start_process(command: Sequence[str], *, pass_fds: Sequence[int]) -> Process:
    """Start a compiler that `run_command` can be given later, as ``ready``.

    Raises
    ------
    ToolchainError
        If that cannot be done.
    """
    try:
        return subprocess.Popen(command, **_make_options(command, None), pass_fds=pass_fds)
    except OSError as error:
        raise _start_error(command, error) from None


def _make_options(command: Sequence[str], folder: pathlib.Path | None) -> dict[str, Any]:
    return {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "env": _make_environment(command, folder),
        # A group of its own: an interrupted notebook must not kill half of the compiler, and all of it can be ended at
        # once.  No session: some containers refuse one.
        "process_group": 0,
    }


#: Remedies for errors of the system when a process is started.
_REMEDIES = {
    errno.EMFILE: "Close files, or raise the limit: ulimit -n.",
    errno.EAGAIN: "End processes, or raise the limit: ulimit -u.",
    errno.ENOMEM: "Free some memory.",
}


def _start_error(command: Sequence[str], error: OSError) -> ToolchainError:
    remedy = _REMEDIES.get(error.errno or 0, "Set CC to an executable compiler, or unset it.")
    return ToolchainError(f"{command[0]!r} cannot be started: {error.strerror}.", remedy=remedy)


def run_jobs(folder: pathlib.Path, jobs: Sequence[Callable[[], Job]], done: Callable[[int], None]) -> list[Job]:
    """Run as many ``jobs`` at a time as there are processors, and return their results.

    They start compilers that work in ``folder``.  ``done`` is called with the place of each that has ended.  The first
    that fails, or an interrupt, ends all.
    """
    pool = ThreadPoolExecutor(min(runtime.count_processors(), len(jobs)), "ufunc_magic-compiler")
    try:
        with pool, end_on_error(folder):
            futures = {pool.submit(job): place for place, job in enumerate(jobs)}
            try:
                for future in as_completed(futures):
                    future.result()
                    done(futures[future])
                return [future.result() for future in futures]
            finally:
                if not all(future.done() for future in futures):
                    work.ended.add(folder)  # what is just being started, too
                    pool.shutdown(wait=False, cancel_futures=True)
    except UfuncMagicError:
        work.ended.discard(folder)  # it may be tried in another way, there
        raise


def describe_progress() -> str:
    """Describe how far the running compilers or programs are: ``"40 of 100 functions"``, or ``""``."""
    if parts := list(work.progress.values()):
        ready, count = map(sum, zip(*parts, strict=True))
        return f"{ready:.0f} of {count} functions"
    for process in [*work.running]:
        words = [*map(str, process.args)] if isinstance(process.args, list | tuple) else []
        zig = bool(words) and os.path.basename(words[0]).startswith("zig")
        if zig and "-shared" in words and "-nostdlib" not in words:
            cplus = "c++" in words[:3]
            cached = pathlib.Path(_make_environment(words, None)["ZIG_GLOBAL_CACHE_DIR"])
            if not any(cached.glob(f"o/*/{'libc++.a' if cplus else 'libcompiler_rt.a'}")):
                return f"zig builds its {'C++ library' if cplus else 'runtime'}, once"
    return work.shown


@contextlib.contextmanager
def count_functions(folder: pathlib.Path, count: int) -> Iterator[Callable[[float], None]]:
    """Let `describe_progress` report that ``count`` functions are compiled in ``folder``.

    What this gives is called with how many more of them are ready.
    """
    if count:
        work.progress[folder] = (0, count)

    def add(more: float) -> None:
        if folder in work.progress:
            work.progress[folder] = (work.progress[folder][0] + more, count)

    try:
        yield add
    finally:
        work.progress.pop(folder, None)


def read_output(command: Sequence[str]) -> str:
    """The standard output of a compiler's command; ``""`` if it fails."""
    done = run_command(command, "")
    return "" if done.status else done.output


def run_python(program: str) -> tuple[int, str]:
    """Run a program in another process of this Python: its exit status and what it wrote on standard error."""
    done = run_command([sys.executable, "-c", program], "")
    return done.status, done.messages


def run_and_show(
    program: str, words: Sequence[str], *, show: Callable[[str], object], explain: Callable[[str], str] = str
) -> int:
    """Run a program in another Python process, pass its output to ``show`` as it comes, and return its exit status.

    The program ends with this process, however this one ends.

    Parameters
    ----------
    explain : callable
        Gives the text for what the program writes between the bytes 30 and 31, by one call of the system each.  What
        begins with ``far `` is how far it is, for `describe_progress`.
    """

    def read_mark(mark: re.Match[str]) -> str:
        if not mark[1].startswith("far "):
            return explain(mark[1])
        work.shown = mark[1].removeprefix("far ")
        return ""

    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    ending, ours = os.pipe()  # ours is closed by the system where this process is killed
    command = [sys.executable, "-c", _END_WITH_PARENT.format(ending=ending, parent=os.getpid()) + program, *words]
    with runtime.defer_interrupts():
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=0,
            pass_fds=[ending],
        )
        os.close(ending)
    try:
        assert process.stdout
        while data := os.read(process.stdout.fileno(), 1 << 16):
            if text := _MARK.sub(read_mark, decoder.decode(data)):
                show(text)
        return process.wait()
    finally:
        work.shown = ""
        with runtime.defer_interrupts():
            end_process(process)
            os.close(ours)


_MARK = re.compile("\x1e([^\x1e\x1f]*)\x1f")
#: The beginning of a program that must not outlive the process ``parent``.  The parent's end closes the pipe.  Linux
#: sends a signal too, because the program may close descriptors that it does not know.
_END_WITH_PARENT = """\
import ctypes, os, signal, sys, threading

def end_with_parent():
    try:
        gone = not os.read({ending}, 1)
    except OSError:
        return
    if gone:
        os.killpg(0, signal.SIGKILL)

threading.Thread(target=end_with_parent, daemon=True).start()
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != {parent}:
        os._exit(1)
"""


def start_python(program: str) -> None:
    """Run a program in another process of this Python, at the lowest priority; it ends with this one at the latest."""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    work.programs[process] = os.getpid()
    if hasattr(os, "setpriority"):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PGRP, process.pid, 19)


@atexit.register
def _end_programs() -> None:
    for process, owner in work.programs.items():
        if owner == os.getpid() and process.poll() is None:
            process.send_signal(signal.SIGINT)  # it ends its compilers and removes their folders, and is not waited for


@contextlib.contextmanager
def end_on_error(folder: pathlib.Path) -> Iterator[None]:
    """End every compiler that works in ``folder`` when an exception leaves the block.

    Otherwise an interrupt would wait for the threads of a build, and those for their compilers.
    """
    try:
        yield
    except BaseException as fault:
        # After an error, another attempt may follow in the folder; after an interrupt, none.
        work.end_folder(folder, and_later=not isinstance(fault, Exception))
        raise


def _kill(process: Process) -> None:
    if os.name == "posix":
        # Not yet waited for, so the number cannot belong to anybody else by now, unless another thread just did.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def end_process(process: Process) -> None:
    """End a process with all it has started."""
    _kill(process)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            pipe.close()


def _make_environment(command: Sequence[str], folder: pathlib.Path | None) -> dict[str, str]:
    environment = {**os.environ, "LC_ALL": "C"}
    if folder:
        # The files of a killed compiler are removed with the folder.
        environment["TMPDIR"] = environment["ZIG_LOCAL_CACHE_DIR"] = str(folder)
    if any(os.path.basename(word).startswith("zig") for word in command[:2]):
        # It builds a runtime once, of 70 MB.
        environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(store.open_default().open_storage("zig")))
    return environment
