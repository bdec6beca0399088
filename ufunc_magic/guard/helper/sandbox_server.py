"""The process behind a sandbox: it has one object open and answers calls through shared memory.

Only the standard library: the helper imports it.
"""

from __future__ import annotations

import ctypes
import marshal
import mmap
import os
import socket
import struct
from typing import Any

from .guarded_memory import called, libc
from .probe import call, confine, expendable, lend

__all__ = ["KEPT", "serve"]

#: Bytes of what the code prints that are kept.
KEPT = 1 << 15


def serve(request: dict[str, Any], library: int, memory: int, descriptor: int) -> None:
    """Answer calls whose operands lie in shared memory, until the other end of the link is closed."""
    output = os.memfd_create("output")
    confine(output)
    called("ufunc-sandbox")
    expendable()
    shared = mmap.mmap(memory, request["size"])
    here = ctypes.addressof(ctypes.c_char.from_buffer(shared))
    link = socket.socket(fileno=descriptor)
    handle = ctypes.CDLL(f"/proc/self/fd/{library}", mode=os.RTLD_NOW | os.RTLD_LOCAL)
    lend(handle, request["host"])
    loops = (ctypes.c_void_p * request["loops"]).in_dll(handle, "__ufm_loops")
    nothing = marshal.dumps({"raised": None, "flags": 0, "printed": b""})
    flags = getattr(libc, "fetestexcept", None) if os.uname().machine == "x86_64" else None
    while True:
        head = link.recv(8, socket.MSG_WAITALL)
        if len(head) < 8:
            return
        case = marshal.loads(link.recv(struct.unpack("<Q", head)[0], socket.MSG_WAITALL))
        raised = None
        if case["loop"] < 0:  # only asked whether anybody is there
            link.sendall(struct.pack("<Q", len(nothing)) + nothing)
            continue
        if flags:
            libc.feclearexcept(61)
        try:
            call(loops[case["loop"]] or 0, case, [here + place for place in case["places"]], passing=True)
        except (RuntimeError, MemoryError) as fault:
            raised = (type(fault).__name__, str(fault))
        found = flags(61) if flags and not raised else 0
        libc.fflush(None)
        printed = os.pread(output, KEPT, 0)
        if printed:
            os.ftruncate(output, 0)
            os.lseek(output, 0, 0)
        answer = marshal.dumps({"raised": raised, "flags": found, "printed": printed})
        link.sendall(struct.pack("<Q", len(answer)) + answer)
