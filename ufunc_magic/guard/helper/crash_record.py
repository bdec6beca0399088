"""What a forked process tells the helper, in memory that both see and that outlives it.

Only the standard library: the helper imports it.
"""

from __future__ import annotations

import ctypes
import marshal
import mmap
import struct
import time
from typing import Any

__all__ = ["Record", "Spot"]

FRAMES = 96
#: Record in templates/watch.c; behind it, at SPOTS, where the operands of the case under way lie.
LAYOUT = struct.Struct(f"<13Q{FRAMES}Q")
NAMES = ("number", "started", "done", "signal", "address", "pc", "sp", "overflow", "memory", "access", "base")
DONE = 16
BASE = 80
SPOTS = 1024
ANSWER = mmap.PAGESIZE
SIZE = ANSWER + (1 << 18)

#: Memory of an operand: where it starts, where the operand starts, its bytes, where the memory ends.
Spot = tuple[int, int, int, int]


class Record:
    """The shared memory: what is under way, what ended it, what came of it."""

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

    def answer(self, answer: dict[str, Any]) -> None:
        """All is done, and this came of it."""
        data = marshal.dumps(answer)
        if len(data) > SIZE - ANSWER - 8:
            data = marshal.dumps({})
        struct.pack_into("<Q", self.memory, ANSWER, len(data))
        self.memory[ANSWER + 8 : ANSWER + 8 + len(data)] = data
        struct.pack_into("<Q", self.memory, DONE, 1)

    def done(self) -> bool:
        return bool(struct.unpack_from("<Q", self.memory, DONE)[0])

    def read(self) -> dict[str, Any]:
        """Everything, by name."""
        values = LAYOUT.unpack_from(self.memory, 0)
        count = struct.unpack_from("<Q", self.memory, SPOTS)[0]
        spots = struct.unpack_from(f"<{4 * count}Q", self.memory, SPOTS + 8)
        length = struct.unpack_from("<Q", self.memory, ANSWER)[0]
        found: dict[str, Any] = dict(zip(NAMES, values, strict=False))
        for name in ("done", "overflow", "memory"):
            found[name] = bool(found[name])
        found["frames"] = values[13 : 13 + min(values[12], FRAMES)]
        found["spots"] = [spots[4 * k : 4 * k + 4] for k in range(count)]
        found["answer"] = marshal.loads(self.memory[ANSWER + 8 : ANSWER + 8 + length]) if length else {}
        return found
