"""Memory of the forked processes: what they tell the helper, and guarded pages for the operands of a case.

Only the standard library: the helper imports it.
"""

from __future__ import annotations

import contextlib
import ctypes
import marshal
import mmap
import struct
import time
from typing import Any

PAGE = mmap.PAGESIZE

FRAMES = 96
#: Record in templates/watch.c; behind it, at SPOTS, where the operands of the case under way lie.
LAYOUT = struct.Struct(f"<13Q{FRAMES}Q")
NAMES = ("number", "started", "done", "signal", "address", "pc", "sp", "overflow", "memory", "access", "base")
DONE = 16
BASE = 80
SPOTS = 1024
ANSWER = PAGE
SIZE = ANSWER + (1 << 18)

#: Memory of an operand: where it starts, where the operand starts, its bytes, where the memory ends.
Spot = tuple[int, int, int, int]


class Record:
    """Memory that a forked process shares with the helper and that outlives it: what is under way, what ended it."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, SIZE)

    def address(self) -> int:
        """Where it lies in this process; the same in those that it forks."""
        return ctypes.addressof(ctypes.c_char.from_buffer(self.memory))

    def begin(self, number: int, spots: list[Spot]) -> None:
        """Case ``number``, counted from 1, starts now; 0 is the opening of the library."""
        flat = [value for spot in spots for value in spot]
        struct.pack_into(f"<Q{len(flat)}Q", self.memory, SPOTS, len(spots), *flat)
        struct.pack_into("<2Q", self.memory, 0, number, time.monotonic_ns())

    def under_way(self) -> tuple[int, float]:
        """The case under way, and when it started, in seconds of the monotonic clock; 0.0 before the first."""
        number, started = struct.unpack_from("<2Q", self.memory, 0)
        return number, started / 1e9

    def mapped(self, low: int, high: int) -> None:
        """Where the library was mapped: addresses in it are told from there."""
        struct.pack_into("<2Q", self.memory, BASE, low, high)

    def answer(self, answer: dict[str, Any], *, done: bool = True) -> None:
        """What came of it so far, or, where all is ``done``, altogether."""
        data = marshal.dumps(answer)
        if len(data) > SIZE - ANSWER - 8:
            data = marshal.dumps({})
        struct.pack_into("<Q", self.memory, ANSWER, len(data))
        self.memory[ANSWER + 8 : ANSWER + 8 + len(data)] = data
        struct.pack_into("<Q", self.memory, DONE, done)

    def done(self) -> bool:
        return bool(struct.unpack_from("<Q", self.memory, DONE)[0])

    def read(self) -> dict[str, Any]:
        """Everything, by name."""
        values = LAYOUT.unpack_from(self.memory, 0)
        count = struct.unpack_from("<Q", self.memory, SPOTS)[0]
        spots = struct.unpack_from(f"<{4 * count}Q", self.memory, SPOTS + 8)
        length = struct.unpack_from("<Q", self.memory, ANSWER)[0]
        state: dict[str, Any] = dict(zip(NAMES, values, strict=False))
        for name in ("done", "overflow", "memory"):
            state[name] = bool(state[name])
        state["frames"] = values[13 : 13 + min(values[12], FRAMES)]
        state["spots"] = [spots[4 * k : 4 * k + 4] for k in range(count)]
        state["answer"] = marshal.loads(self.memory[ANSWER + 8 : ANSWER + 8 + length]) if length else {}
        return state


# ------------------------------------------------------------------------------------------ operands

PROT_NONE = 0
#: Operands that find their memory prepared, and bytes between them: who misses one by less is told which it was.
PREPARED = 12
APART = 1 << 16
CANARY = 0x5A
NOTHING = b"\x5a" * PAGE

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = (ctypes.c_size_t,)
libc.free.argtypes = (ctypes.c_void_p,)


def rename_process(name: str) -> None:
    """What ``ps`` and ``top`` show for this process from now on, where the system lets it say so."""
    with contextlib.suppress(AttributeError):
        libc.prctl(15, name.encode(), 0, 0, 0)  # PR_SET_NAME


class Rooms:
    """Rooms by operand and size, used by every case; those of one page are mapped ahead."""

    def __init__(self) -> None:
        self.starts = {(number, PAGE): _room(PAGE) for number in range(PREPARED)}
        for start in self.starts.values():
            ctypes.memset(start, CANARY, PAGE)  # so that no case has to wait for the page

    def place(self, number: int, data: bytes, at_end: bool) -> Spot:
        """Operand ``number`` of a case: at the end of its room, or at the start."""
        room = max(PAGE, -(-len(data) // PAGE) * PAGE)
        start = self.starts.get((number, room)) or self.starts.setdefault((number, room), _room(room))
        ctypes.memset(start, CANARY, room)
        place = start + room - len(data) if at_end else start
        ctypes.memmove(place, data, len(data))
        return start, place, len(data), start + room


def malloced(data: bytes) -> Spot:
    """Memory for an operand that a sanitizer watches."""
    place = libc.malloc(max(1, len(data)))
    ctypes.memmove(place, data, len(data))
    return place, place, len(data), place + len(data)


def touched(spots: list[Spot]) -> list[tuple[int, int]]:
    """Operands around which something was written, with -1 for before and 1 for behind."""
    return [
        (operand, side)
        for operand, (start, place, size, end) in enumerate(spots)
        for side, low, high in ((-1, start, place), (1, place + size, end))
        if not _untouched(low, high - low)
    ]


def _untouched(start: int, size: int) -> bool:
    if size <= PAGE:
        return ctypes.string_at(start, size) == NOTHING[:size]
    return ctypes.string_at(start, size).count(CANARY) == size


def _room(size: int) -> int:
    """Memory between pages that cannot be touched."""
    start = libc.mmap(None, size + 2 * APART, PROT_NONE, mmap.MAP_PRIVATE | mmap.MAP_ANON, -1, 0)
    if start in (None, ctypes.c_void_p(-1).value):
        raise MemoryError
    libc.mprotect(start + APART, size, mmap.PROT_READ | mmap.PROT_WRITE)
    return int(start) + APART
