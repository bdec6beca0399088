"""What C code prints shows up in the cell that called it.

A kernel reads its own standard output through a pipe and another thread, so that C output may come
after the cell is done, when front ends no longer listen; and C keeps its own buffer besides.  From
the first C cell on, every cell's C output is therefore forwarded and drained before the cell ends.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["Capture"]


class _Stream:
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


class Capture:
    """Forwarding of C output for one IPython shell; nothing happens before ``begin``."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._registered = False
        self._pipes: Any = None

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
        # A terminal's C output goes where Python's goes; wurlitzer does not exist on Windows.
        if self._pipes is None and sys.platform != "win32" and getattr(self._shell, "kernel", None) is not None:
            from wurlitzer import Wurlitzer

            self._pipes = Wurlitzer(stdout=_Stream("stdout"), stderr=_Stream("stderr"))
            self._pipes.__enter__()

    def _stop(self) -> None:
        if self._pipes is not None:
            pipes, self._pipes = self._pipes, None
            pipes.__exit__(None, None, None)
        elif "ufunc_magic.loader" in sys.modules:
            from .loader import flush_stdio

            flush_stdio()
