"""Shows the output of C code in the cell that called it, in order with Python's output.

A kernel reads its own standard output through a pipe and another thread, so C output may arrive after the cell has
ended, when front ends ignore it; and C has its own buffer.  From
the first C cell on, every cell's C output therefore goes to a file in memory, which is read before
Python prints, five times a second, and before the cell ends.  A file and not a pipe, as wurlitzer has: a function
that prints while it holds the GIL would wait for a reader that waits for the GIL.
"""

from __future__ import annotations

import ast
import codecs
import contextlib
import os
import sys
import threading
from typing import Any

#: Bytes of a cell's output that are shown; ``UFUNC_MAGIC_OUTPUT`` changes the number.
SHOWN = 1_000_000
#: Extra buffer between two reads; writes beyond it fail.
ROOM = 16 << 20
#: Seconds between two reads while a cell runs.
PAUSE = 0.2


def _make_file(room: int) -> int:
    """Make a file without a name; if the system has files in memory, it cannot grow beyond ``room``."""
    if not hasattr(os, "memfd_create"):
        from ..store import open_default

        with open_default().open_scratch() as folder:
            return os.open(folder / "output", os.O_RDWR | os.O_CREAT)
    import fcntl  # not on Windows

    file = os.memfd_create("ufunc_magic", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(file, room)
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
    return file


class _Stream:
    """Standard output or standard error of C, during one cell."""

    def __init__(self, name: str, descriptor: int, limit: int) -> None:
        self._file = _make_file(limit + ROOM)
        self._name, self._descriptor, self._limit = name, descriptor, limit
        self._saved = os.dup(descriptor)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._read = 0
        os.dup2(self._file, descriptor)

    def take(self, *, last: bool = False) -> str:
        """The output since the last call, up to the limit."""
        # Writers share the file's offset, which is the end of the output.
        end = os.lseek(self._file, 0, os.SEEK_CUR)
        data = os.pread(self._file, min(end, self._limit) - self._read, self._read)
        self._read += len(data)
        cut = end > self._limit
        if cut:  # the rest will not be shown
            rest = os.open(os.devnull, os.O_WRONLY)
            os.dup2(rest, self._descriptor)
            os.close(rest)
        note = ""
        if cut and last:
            more = f"%env UFUNC_MAGIC_OUTPUT={100 * SHOWN} shows more"
            note = f"\n[{self._name} of C is cut after {self._limit:,} bytes; {more}]\n"
        return self._decoder.decode(data, last) + note

    def restore(self) -> None:
        """Restore C's original output."""
        os.dup2(self._saved, self._descriptor)
        os.close(self._saved)
        os.close(self._file)


class _Forwarding:
    """Both streams of one cell; Python's prints, a thread and the end of the cell read from them."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._reader = 0
        self._hooked: list[Any] = []
        self._over = threading.Event()
        number = os.environ.get("UFUNC_MAGIC_OUTPUT", "").replace("_", "")
        limit = int(number) if number.isdecimal() else SHOWN
        _flush_output()
        self._streams = {name: _Stream(name, n, limit) for n, name in ((1, "stdout"), (2, "stderr"))}
        for name in self._streams:
            self._hook(getattr(sys, name))
        # A thread for this cell: ipykernel assigns a text to a cell by the thread.
        self._thread = threading.Thread(target=self._forward_often, name="ufunc_magic-output", daemon=True)
        self._thread.start()

    def _hook(self, stream: Any) -> None:
        """From now on, show C's output before each text that Python writes to ``stream``."""
        write = getattr(stream, "write", None)

        def write_after_c(text: str) -> Any:
            self._forward()
            return write(text)  # type: ignore[misc]

        with contextlib.suppress(AttributeError):  # a stream of another kind: only the order is lost
            stream.write = write_after_c
            self._hooked.append(stream)

    def _forward(self, *, last: bool = False) -> None:
        # Writing below calls this method again.  A forked child leaves its output to the parent.
        if self._reader == threading.get_ident() or self._process != os.getpid():
            return
        with self._lock:
            self._reader = threading.get_ident()
            try:
                _flush_output()
                for name, stream in self._streams.items():
                    if text := stream.take(last=last):
                        getattr(sys, name).write(text)
            finally:
                self._reader = 0

    def _forward_often(self) -> None:
        while not self._over.wait(PAUSE):
            self._forward()

    def end(self) -> None:
        self._over.set()
        try:
            self._thread.join()
            self._forward(last=True)
        finally:
            for stream in self._hooked:
                vars(stream).pop("write", None)
            for output in self._streams.values():
                output.restore()


class Capture:
    """Forwarding of C output for one IPython shell; nothing happens before ``begin``."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._registered = False
        self._forwarding: _Forwarding | None = None
        self._stopper = _StopAtOnce()

    def begin(self) -> None:
        """Forward C output from now on: in the running cell and in every later one."""
        if not self._registered:
            self._shell.events.register("pre_execute", self._start)
            self._shell.events.register("post_execute", self._stop)
            self._registered = True
        with _defer_interrupts():
            self._open()

    def end(self) -> None:
        """Stop forwarding, for good."""
        if self._registered:
            self._shell.events.unregister("pre_execute", self._start)
            self._shell.events.unregister("post_execute", self._stop)
            self._registered = False
            self._stop()

    def stop_cell(self) -> None:
        """Stop the cell that is about to run.

        An interrupt while IPython calls what is registered for the beginning of a cell does not stop the cell.
        """
        if self._stopper not in self._shell.ast_transformers:
            self._shell.ast_transformers.append(self._stopper)

    def _start(self) -> None:
        try:
            with _defer_interrupts():
                if self._stopper in self._shell.ast_transformers:
                    self._shell.ast_transformers.remove(self._stopper)
                self._open()
        except KeyboardInterrupt:
            self.stop_cell()

    def _open(self) -> None:
        # A terminal's C output goes where Python's goes.
        kernel = getattr(self._shell, "kernel", None) is not None
        if self._forwarding is None and kernel and sys.platform != "win32":
            self._forwarding = _Forwarding()

    def _stop(self) -> None:
        with contextlib.suppress(KeyboardInterrupt), _defer_interrupts():  # the cell has ended
            forwarding, self._forwarding = self._forwarding, None
            if forwarding is not None:
                forwarding.end()
            else:
                _flush_output()


class _StopAtOnce:
    """Changes a cell for IPython, so that it is interrupted before its first statement."""

    def visit(self, cell: ast.Module) -> ast.Module:
        cell.body[:0] = ast.parse("raise KeyboardInterrupt").body
        return cell


def _defer_interrupts() -> contextlib.AbstractContextManager[None]:
    from ..runtime import defer_interrupts  # not needed to load the extension

    return defer_interrupts()


def _flush_output() -> None:
    if "ufunc_magic.runtime.c_library" in sys.modules:
        from ..runtime import flush_stdio

        flush_stdio()
