"""``--sandbox``: loops that run in another process, through shared memory, on every call.

The ufunc is a real one.  Its loops are ``__ufm_remote_loop`` of ``templates/driver.c``, which calls back to Python;
from there operands go into memory that a forked child of the helper shares, and results come back.  A crash ends that
child and is an exception here; the next call has a new one.
"""

from __future__ import annotations

import contextlib
import ctypes
import marshal
import mmap
import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import runtime, store
from ..model import CellCrashed, FunctionCode, ObjectCode
from . import guard_process
from .operand_layout import Operand, copy, laid_out, operands

__all__ = ["Sandbox"]

#: Bytes that pass through shared memory at a time, where a call may be cut.
_ROOM = 32 << 20
_LEAST = 1 << 20

_Remote = ctypes.CFUNCTYPE(
    ctypes.c_void_p,
    ctypes.c_ssize_t,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.POINTER(ctypes.c_ssize_t),
)


class _Call(ctypes.Structure):
    """``Remote`` of ``templates/driver.c``."""

    _fields_ = (("call", _Remote), ("index", ctypes.c_ssize_t), ("kind", ctypes.c_void_p), ("flags", ctypes.c_uint))


@dataclass
class _Server:
    """The child of the helper that has the code open, and the memory that both see."""

    link: socket.socket
    memory: mmap.mmap
    address: int
    number: int
    owner: int = field(default_factory=os.getpid)


@dataclass(eq=False)
class Sandbox:
    """One object's functions behind a process.

    Attributes
    ----------
    object_code : ObjectCode
    loop : int
        Address of ``__ufm_remote_loop``.
    """

    object_code: ObjectCode = field(repr=False)
    loop: int
    _server: _Server | None = field(default=None, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    _calls: list[_Call] = field(default_factory=list, repr=False)
    _said: bytes = field(default=b"", repr=False)

    def loops(self, code: FunctionCode) -> tuple[dict[int, int], dict[int, int]]:
        """By loop index, the addresses to give NumPy and the data to give with them."""
        data = {}
        for loop in code.loops:
            call = _Call(index=loop.index, kind=id(CellCrashed))
            call.call = _Remote(self._remote(code, loop.types, call))
            self._calls.append(call)
            data[loop.index] = ctypes.addressof(call)
        return dict.fromkeys(data, self.loop), data

    def _remote(self, code: FunctionCode, types: Sequence[int], call: _Call) -> Callable[..., int | None]:
        """What the loop calls; text for an exception, which cannot leave a callback by itself."""
        cores = code.cores

        def remote(index: int, args: Any, dimensions: Any, steps: Any) -> int | None:
            fault: BaseException
            try:
                with self._lock:
                    call.flags = self._run(code, operands(types, code.nin, cores, args, dimensions, steps), index)
                return None
            except (CellCrashed, RuntimeError, MemoryError) as raised:
                fault = raised
            except (KeyboardInterrupt, OSError, ValueError) as raised:
                self.end()
                fault = raised
            call.kind = id(type(fault))
            self._said = str(fault).encode() + b"\0"
            return ctypes.cast(ctypes.c_char_p(self._said), ctypes.c_void_p).value

        return remote

    def _run(self, code: FunctionCode, given: Sequence[Operand], index: int) -> int:
        """One call, in pieces where operands do not overlap; the FP flags that it raised."""
        count = given[0].shape[0]
        places, needed, overlap = laid_out(given)
        piece = count if overlap else max(1, count * _ROOM // max(needed, _ROOM))
        flags = 0
        for start in range(0, count, piece):
            part = [operand.part(start, min(piece, count - start)) for operand in given]
            if part != list(given):
                places, needed, _ = laid_out(part)
            server = self._ready(needed)
            there = [place.based(server.address) for place in places]
            for operand, place in zip(part, there, strict=True):
                if operand.read or overlap:
                    copy(operand, to=place)
            flags |= self._ask(server, code, index, there, [p.address - server.address for p in there])
            for operand, place in zip(part, there, strict=True):
                if not operand.read:
                    copy(place, to=operand)
        return flags

    def _ask(self, server: _Server, code: FunctionCode, index: int, there: Sequence[Operand], places: list[int]) -> int:
        sizes: dict[str, int] = {}
        for operand, core in zip(there, code.cores, strict=True):
            sizes |= dict(zip(core, operand.shape[1:], strict=True))
        message = {
            "loop": index,
            "places": places,
            "dimensions": [there[0].shape[0], *sizes.values()],
            "steps": [*(o.strides[0] for o in there), *(s for o in there for s in o.strides[1:])],
        }
        answer = _exchange(server, message)
        if not answer:
            how = self.end()
            raise CellCrashed(
                f"{code.name} {how} in its sandbox.\nNothing else is lost: the next call starts a new one."
            )
        if answer["printed"]:
            sys.stdout.write(answer["printed"].decode(errors="replace"))
        if answer["raised"]:
            kind, text = answer["raised"]
            raise (MemoryError if kind == "MemoryError" else RuntimeError)(text)
        flags: int = answer["flags"]
        return flags

    def cost_note(self, clock: Callable[[], float] | None) -> str:
        """What each call costs beside the function: as measured with ``clock`` or, without one, as remembered."""
        cache, fact = store.default(), "sandbox 2"
        if clock is not None:
            seconds = []
            for _ in range(20):
                start = clock()
                self._ping()
                seconds.append(clock() - start)
            cache.remember(fact, f"{sorted(seconds)[len(seconds) // 2] * 1e6:.0f}")
        cost = cache.recall(fact)
        if not cost:
            return ""
        return f"--sandbox: every call goes to another process and back, {cost} us here, and its operands are copied."

    def _ping(self) -> None:
        """A call for one element in which nothing is computed."""
        code = next(code for code in self.object_code.functions if code.loops)
        cores = code.cores
        kinds = code.loops[0].types
        memory = (ctypes.c_longdouble * (2 * len(kinds)))()  # room for the largest type that there is
        width = 2 * ctypes.sizeof(ctypes.c_longdouble)
        args = [ctypes.addressof(memory) + k * width for k in range(len(kinds))]
        ones, steps = [1] * (1 + sum(map(len, cores))), [0] * (len(kinds) + sum(map(len, cores)))
        with self._lock:
            self._run(code, operands(kinds, code.nin, cores, args, ones, steps), -1)

    # ---------------------------------------------------------------------------------- the server

    def _ready(self, needed: int) -> _Server:
        server = self._server
        if server is not None and (server.owner != os.getpid() or len(server.memory) < needed):
            self.end()
            server = None
        if server is None:
            server = self._server = self._begin(max(needed, _LEAST))
        return server

    def _begin(self, size: int) -> _Server:
        if not hasattr(os, "memfd_create"):
            raise OSError("--sandbox needs files in memory, which this system has not")
        descriptor = os.memfd_create("ufunc_magic")
        ours, theirs = socket.socketpair()
        with theirs:
            os.ftruncate(descriptor, size)
            memory = mmap.mmap(descriptor, size)
            loops = max(loop.index for f in self.object_code.functions for loop in f.loops) + 1
            request = {"task": "serve", "loops": loops, "host": list(guard_process.HOST), "size": size}
            with runtime.memory_file(self.object_code.code) as library:
                answer = guard_process.ask(request, [library, descriptor, theirs.fileno()])
        os.close(descriptor)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        return _Server(ours, memory, address, answer["process"])

    def end(self) -> str:
        """Let the process go, and tell how it ended."""
        server, self._server = self._server, None
        if server is None:
            return ""
        server.link.close()
        if server.owner != os.getpid():
            return ""
        with contextlib.suppress(OSError):
            status = guard_process.ask({"task": "end", "process": server.number}, [])["status"]
            if os.WIFSIGNALED(status):
                ended = signal.Signals(os.WTERMSIG(status))
                return _ENDINGS.get(ended, f"was ended by {ended.name}")
            return f"ended the process: exit({os.WEXITSTATUS(status)})"
        return "was lost with the helper process"


def _exchange(server: _Server, message: dict[str, Any]) -> dict[str, Any]:
    """Send a call and wait for its answer; ``{}`` where the process has ended."""
    data = marshal.dumps(message)
    try:
        server.link.sendall(struct.pack("<Q", len(data)) + data)
        head = server.link.recv(8, socket.MSG_WAITALL)
        if len(head) < 8:
            return {}
        answer: dict[str, Any] = marshal.loads(server.link.recv(struct.unpack("<Q", head)[0], socket.MSG_WAITALL))
    except OSError:
        return {}
    return answer


_ENDINGS: dict[signal.Signals, str] = {
    signal.SIGSEGV: "touched memory that is not its own (SIGSEGV)",
    signal.SIGBUS: "touched memory that is not its own (SIGBUS)",
    signal.SIGFPE: "divided an integer by zero, or the smallest one by -1 (SIGFPE)",
    signal.SIGABRT: "called abort() (SIGABRT)",
    signal.SIGILL: "ran into an instruction that stands for undefined behaviour (SIGILL)",
}
