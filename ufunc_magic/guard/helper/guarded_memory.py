"""Memory for the operands of a case, with pages around it that cannot be touched.

Only the standard library: the helper imports it.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap

from .crash_record import Spot

__all__ = ["Rooms", "called", "libc", "malloced", "release", "touched"]

PAGE = mmap.PAGESIZE
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
libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = (ctypes.c_size_t,)
libc.free.argtypes = (ctypes.c_void_p,)


def called(name: str) -> None:
    """What ``ps`` and ``top`` show for this process from now on, where the system lets it say so."""
    with contextlib.suppress(AttributeError):
        libc.prctl(15, name.encode(), 0, 0, 0)  # PR_SET_NAME


class Rooms:
    """Rooms of one page each, mapped ahead and used by every case; larger ones are made when they are asked for."""

    def __init__(self) -> None:
        start = _mapped(PREPARED * (PAGE + APART) + APART)
        self.starts = [start + APART + k * (PAGE + APART) for k in range(PREPARED)]
        for place in self.starts:
            libc.mprotect(place, PAGE, mmap.PROT_READ | mmap.PROT_WRITE)
            ctypes.memset(place, CANARY, PAGE)  # so that no case has to wait for the page
        self.large: dict[int, tuple[int, int]] = {}

    def place(self, number: int, data: bytes, at_end: bool) -> Spot:
        """Operand ``number`` of a case: at the end of its room, or at the start."""
        if number < PREPARED and len(data) <= PAGE:
            start, room = self.starts[number], PAGE
        else:
            start, room = self._large(number, len(data))
        ctypes.memset(start, CANARY, room)
        place = start + room - len(data) if at_end else start
        ctypes.memmove(place, data, len(data))
        return start, place, len(data), start + room

    def _large(self, number: int, size: int) -> tuple[int, int]:
        room = max(PAGE, -(-size // PAGE) * PAGE)
        before = self.large.pop(number, (0, 0))
        if before[1] != room:
            if before[1]:
                libc.munmap(before[0] - APART, before[1] + 2 * APART)
            start = _mapped(room + 2 * APART) + APART
            libc.mprotect(start, room, mmap.PROT_READ | mmap.PROT_WRITE)
            before = start, room
        self.large[number] = before
        return before


def malloced(data: bytes) -> Spot:
    """Memory for an operand that a sanitizer watches."""
    place = libc.malloc(max(1, len(data)))
    ctypes.memmove(place, data, len(data))
    return place, place, len(data), place + len(data)


def release(spots: list[Spot]) -> None:
    """Free what `malloced` gave."""
    for start, _, _, _ in spots:
        libc.free(start)


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


def _mapped(size: int) -> int:
    """Memory that cannot be touched."""
    start = libc.mmap(None, size, PROT_NONE, mmap.MAP_PRIVATE | mmap.MAP_ANON, -1, 0)
    if start in (None, ctypes.c_void_p(-1).value):
        raise MemoryError
    return int(start)
