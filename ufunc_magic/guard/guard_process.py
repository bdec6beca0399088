"""The helper process, seen from the notebook: started once, restarted after a crash, ended with this process."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import codegen, compilers, runtime, store
from .helper.wire import receive, send

#: The program of the helper.  It removes its own modules, so that a cell cannot import them by mistake.
_PROGRAM = """
import sys
sys.path.append(sys.argv[1])
from helper.helper_process import main
del sys.path[-1]
for name in [name for name in sys.modules if name.partition(".")[0] == "helper"]:
    del sys.modules[name]
main(int(sys.argv[2]), sys.argv[3])
"""
_PACKAGE = Path(__file__).parent


def is_available() -> bool:
    """Return whether this system can run trials, which need fork() and a Python interpreter."""
    return os.name == "posix" and bool(sys.executable) and hasattr(socket, "send_fds")


@dataclass
class GuardProcess:
    """A running helper process.

    Attributes
    ----------
    owner : int
        The process that started the helper.  After a fork, the child must not use its parent's helper.
    """

    process: subprocess.Popen[bytes]
    link: socket.socket
    owner: int = field(default_factory=os.getpid)

    @classmethod
    def begin(cls, *, watch: str = "", environment: dict[str, str] | None = None) -> GuardProcess:
        """Start a helper without waiting for it; it is ready after about 30 ms.

        With ``watch``, the library that trials need, it prepares processes for them right away.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _PROGRAM, str(_PACKAGE), str(theirs.fileno()), watch],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **(environment or {})},
                # An interrupt of the notebook is for the notebook.  No session: some containers refuse one.
                process_group=0,
            )
        return cls(process, ours)

    def ask(self, request: dict[str, Any], descriptors: Sequence[int]) -> dict[str, Any]:
        """Send a request with descriptors of files and wait for the answer.

        Raises
        ------
        OSError
            If the helper is gone.
        """
        send(self.link, request, descriptors)
        message = receive(self.link)
        if message is None:
            raise ConnectionResetError("the helper process ended")
        return message[0]

    def end(self) -> None:
        """End the helper and its processes, even in the middle of a request."""
        self.link.close()
        if self.owner != os.getpid():
            return
        try:
            self.process.wait(1.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


_LOCK = "guard process"
_helper: GuardProcess | None = None


def get_helper(watch: str = "") -> GuardProcess:
    """Return this process's helper; start one if there is none."""
    global _helper
    with runtime.lock_of(_LOCK):
        if _helper is not None and (_helper.owner != os.getpid() or _helper.process.poll() is not None):
            stop()
        if _helper is None:
            _helper = GuardProcess.begin(watch=watch)
        return _helper


def ask(request: dict[str, Any], descriptors: Sequence[int]) -> dict[str, Any]:
    """Send a request to this process's helper; a helper that died is replaced first.

    An interrupt ends the helper and the code that it is running.
    """
    with runtime.lock_of(_LOCK):
        try:
            with contextlib.suppress(OSError):
                return get_helper(request.get("watch", "")).ask(request, descriptors)
            stop()
            return get_helper(request.get("watch", "")).ask(request, descriptors)
        except BaseException:
            stop()
            raise


def stop() -> None:
    """End this process's helper; the next cell starts another."""
    global _helper
    with runtime.lock_of(_LOCK):
        helper, _helper = _helper, None
        if helper is not None:
            with contextlib.suppress(OSError):
                helper.end()


def _reset_after_fork() -> None:
    """Reset the state in a child."""
    global _helper
    if _helper is not None:
        # The child's copy of the link; the process belongs to the parent.
        _helper.link.close()
        _helper.process.returncode = 0
        _helper = None


atexit.register(stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


_watch: Path | None = None


def build_watch_library() -> Path:
    """Return the library that records signals in a probe; the first call compiles it.

    Raises
    ------
    ToolchainError
        If there is no compiler.
    """
    global _watch
    if _watch is not None and _watch.exists():
        return _watch
    tool = compilers.find()
    text = codegen.insert_headers("watch.c")
    flags = [*compilers.list_base_flags(tool), "-w"]
    key = store.make_key(["watch", text, repr(tool.read_identity()), repr(flags)])
    cache = store.open_default()
    entry = cache.get(key)
    if entry is None:
        for attempt in cache.try_in_scratch():
            with attempt as folder:
                output = folder / "watch.so"
                compilers.compile_shared(tool, text, compilers.UnitOrigin("watch.c", text), output=output, flags=flags)
                entry = cache.publish(key, record=b"", code=output.read_bytes())
    assert entry is not None
    _watch = entry.library
    return _watch
