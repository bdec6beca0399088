"""What C code prints shows up in the cell that called it, between what Python printed before and after.

A kernel reads its own standard output through a pipe and another thread, so that C output may come
after the cell is done, when front ends no longer listen; and C keeps its own buffer besides.  From
the first C cell on, every cell's C output therefore goes to a file in memory, which is read before
Python prints, five times a second, and before the cell ends.  A file and not a pipe: a function
that prints while it holds the GIL would wait for a reader that waits for the GIL.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
import threading
from typing import Any

#: Bytes and lines of one cell that are shown; ``UFUNC_MAGIC_OUTPUT`` is another number of bytes.
SHOWN = 1_000_000
LINES = 10_000
#: Bytes that are kept until somebody has time to read: what a function prints beyond is lost.
ROOM = 16 << 20
#: Seconds between two looks while a cell runs.
PAUSE = 0.2


class _Stream:
    """Standard output or standard error of C, during one cell."""

    def __init__(self, name: str, descriptor: int, limit: int, lines: int) -> None:
        self._name = name
        self._descriptor = descriptor
        self._saved = os.dup(descriptor)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._limit, self._lines = limit, lines
        self._cut = 0
        self._full = False
        self._whole_line = True
        self._read = 0
        self._file = self._redirect()

    def _redirect(self) -> int:
        """Have what is printed from now on go to a new file, which cannot grow beyond its room."""
        import fcntl  # not on Windows, where nothing of this runs

        file = os.memfd_create(f"ufunc_magic-{self._name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(file, ROOM)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
        os.dup2(file, self._descriptor)
        return file

    def take(self, *, last: bool = False) -> str:
        """What was printed since the last look, as far as it is shown."""
        data = self._fresh()
        if self._read > ROOM // 2:
            old, fresh = self._file, self._redirect()
            data += self._fresh()
            self._file, self._read = fresh, 0
            os.close(old)
        if data:
            self._whole_line = data.endswith(b"\n")
        return self._decoder.decode(data, last)

    def _fresh(self) -> bytes:
        # Writers share the file's offset: it is how far they have come.
        end = os.lseek(self._file, 0, os.SEEK_CUR)
        fresh = end - self._read
        data = os.pread(self._file, min(fresh, self._limit), self._read)
        lines = data.count(b"\n")
        if lines > self._lines:
            data = data[: _end_of_line(data, self._lines)]
        self._limit = 0 if lines > self._lines else self._limit - len(data)
        self._lines = max(self._lines - lines, 0)
        self._cut += fresh - len(data)
        self._full |= end == ROOM
        self._read = end
        return data

    def note(self) -> str:
        """One line on what was not shown."""
        if not self._cut:
            return ""
        size = "more than " * self._full
        size += f"{self._cut / 1e6:,.1f} MB" if self._cut >= 100_000 else f"{self._cut:,} bytes"
        start = "" if self._whole_line else "\n"
        more = f"%env UFUNC_MAGIC_OUTPUT={100 * SHOWN}, in bytes, shows more"
        return f"{start}[{size} of C's {self._name} not shown; {more}]\n"

    def restore(self) -> None:
        """Let C print where it printed before."""
        os.dup2(self._saved, self._descriptor)
        os.close(self._saved)
        os.close(self._file)


class _Forwarding:
    """Both streams of one cell, read by whoever comes by: Python's prints, a thread, the end of the cell."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._reader = 0
        self._streams: dict[str, _Stream] = {}
        self._hooked: list[Any] = []
        self._over = threading.Event()
        wish = os.environ.get("UFUNC_MAGIC_OUTPUT", "").replace("_", "")
        most = (int(wish), int(wish)) if wish.isdecimal() else (SHOWN, LINES)
        _flush()
        try:
            for name, descriptor in (("stdout", 1), ("stderr", 2)):
                self._streams[name] = _Stream(name, descriptor, *most)
        except OSError:
            self._restore()
            raise
        for name in self._streams:
            self._hook(getattr(sys, name))
        # Of this cell: ipykernel knows by the thread which cell a text belongs to.
        self._thread = threading.Thread(target=self._look, name="ufunc_magic-output", daemon=True)
        self._thread.start()

    def _hook(self, stream: Any) -> None:
        """Have C's output come before what Python writes to ``stream`` from now on."""
        write = getattr(stream, "write", None)

        def after_c(text: str) -> Any:
            self._forward()
            return write(text)  # type: ignore[misc]

        with contextlib.suppress(AttributeError):  # a stream of another kind: only the order is lost
            stream.write = after_c
            self._hooked.append(stream)

    def _forward(self, *, last: bool = False) -> None:
        # What is written below comes back here.  A forked child leaves its output to the parent.
        if self._reader == threading.get_ident() or self._process != os.getpid():
            return
        with self._lock:
            self._reader = threading.get_ident()
            try:
                _flush()
                for name, stream in self._streams.items():
                    if text := stream.take(last=last) + (stream.note() if last else ""):
                        getattr(sys, name).write(text)
            finally:
                self._reader = 0

    def _look(self) -> None:
        while not self._over.wait(PAUSE):
            self._forward()

    def end(self) -> None:
        self._over.set()
        try:
            self._thread.join()
            self._forward()
            self._forward(last=True)  # what C's buffer kept while the file was full
        finally:
            self._restore()

    def _restore(self) -> None:
        for stream in self._hooked:
            vars(stream).pop("write", None)
        for stream in self._streams.values():
            stream.restore()


class Capture:
    """Forwarding of C output for one IPython shell; nothing happens before ``begin``."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._registered = False
        self._forwarding: Any = None

    def begin(self) -> None:
        """Forward C output from now on: in the running cell and in every later one."""
        if not self._registered:
            self._shell.events.register("pre_execute", self._start)
            self._shell.events.register("post_execute", self._stop)
            self._registered = True
        self._start()

    def end(self) -> None:
        """Stop forwarding, for good."""
        if self._registered:
            self._shell.events.unregister("pre_execute", self._start)
            self._shell.events.unregister("post_execute", self._stop)
            self._registered = False
            self._stop()

    def _start(self) -> None:
        # A terminal's C output goes where Python's goes.
        if self._forwarding is None and getattr(self._shell, "kernel", None) is not None:
            self._forwarding = _forwarding()

    def _stop(self) -> None:
        if self._forwarding is not None:
            forwarding, self._forwarding = self._forwarding, None
            forwarding.end()
        else:
            _flush()


class _Wurlitzer:
    """The same by pipes and threads of wurlitzer, for systems without files in memory: not in order, nothing is cut."""

    def __init__(self) -> None:
        from wurlitzer import Wurlitzer

        self._pipes = Wurlitzer(stdout=_Named("stdout"), stderr=_Named("stderr"))
        self._pipes.__enter__()

    def end(self) -> None:
        self._pipes.__exit__(None, None, None)


class _Named:
    """The Python stream of a name as it is when text arrives.

    It has no ``fileno``: ipykernel's streams answer theirs with the terminal's descriptor, to which
    ``wurlitzer.sys_pipes`` would then send everything.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def write(self, text: str) -> None:
        getattr(sys, self._name).write(text)

    def flush(self) -> None:
        getattr(sys, self._name).flush()


def _forwarding() -> Any:
    if sys.platform == "win32":
        return None
    if hasattr(os, "memfd_create"):
        with contextlib.suppress(OSError):
            return _Forwarding()
    return _Wurlitzer()


def _flush() -> None:
    if "ufunc_magic.runtime.c_library" in sys.modules:
        from ..runtime import flush_stdio

        flush_stdio()


def _end_of_line(data: bytes, count: int) -> int:
    """Where the first ``count`` lines of ``data`` end."""
    end = 0
    for _ in range(count):
        end = data.index(b"\n", end) + 1
    return end
