"""Memory of the forked processes: their record for the helper, and guarded pages for the operands of a case.

Only the standard library: the helper imports it.
"""

from __future__ import annotations

import contextlib
import ctypes
import marshal
import mmap
import time
from typing import Any

PAGE = mmap.PAGESIZE

FRAMES = 96
NAMES = tuple("number started done signal address pc sp overflow memory exhausted access low high frames".split())
#: Bytes of the record, and the offset of its words.
SIZE, WORDS = 1 << 15, PAGE

#: Memory of an operand: its start, the start of the operand, the operand's bytes, its end.
Spot = tuple[int, int, int, int]


class State(ctypes.Structure):
    """``Record`` of templates/watch.c."""

    _fields_ = (*((name, ctypes.c_uint64) for name in NAMES), ("frame", ctypes.c_uint64 * FRAMES))


class Record:
    """Memory that a forked process shares with the helper and that outlives it.

    Attributes
    ----------
    state : State
        The case that runs, and the signal that ended it.
    words : dict
        Further values of the process, by name.
    """

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, SIZE)
        self.state = State.from_buffer(self.memory)
        self.words: dict[str, Any] = {}
        self.say(spots=[])

    def say(self, **words: Any) -> None:
        """Add to the words."""
        self.words |= words
        data = marshal.dumps(self.words)
        self.memory[WORDS : WORDS + len(data)] = data

    def end(self, **words: Any) -> None:
        """Add the last words."""
        self.say(**words)
        self.state.done = 1

    def begin(self, number: int, spots: list[Spot]) -> None:
        """Note that case ``number``, counted from 1, starts now; 0 is the opening of the library."""
        self.say(spots=spots)
        self.state.started = time.monotonic_ns()
        self.state.number = number

    def read(self) -> dict[str, Any]:
        """Return the whole record, by name."""
        state = {name: getattr(self.state, name) for name in NAMES}
        return {**state, "frames": self.state.frame[: self.state.frames], **marshal.loads(self.memory[WORDS:])}


# ------------------------------------------------------------------------------------------ operands

PROT_NONE = 0
#: Operands with prepared memory, and the bytes around each that cannot be touched.
PREPARED = 12
APART = 1 << 20
#: Byte around operands: to add 1 to a float or a double of such bytes changes it.
CANARY = 0x3F
NOTHING = bytes([CANARY]) * PAGE

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = (ctypes.c_size_t,)
libc.free.argtypes = (ctypes.c_void_p,)


def rename_process(name: str) -> None:
    """Set the name that ``ps`` and ``top`` show for this process, on systems that allow it."""
    with contextlib.suppress(AttributeError):
        libc.prctl(15, name.encode(), 0, 0, 0)  # PR_SET_NAME


class Rooms:
    """Memory by operand and size, which all cases share; single pages are mapped ahead."""

    def __init__(self) -> None:
        self.starts = {(number, PAGE): _map_room(PAGE) for number in range(PREPARED)}
        for start in self.starts.values():
            ctypes.memset(start, CANARY, PAGE)  # so that no case waits for the page

    def place(self, number: int, data: bytes, at_end: bool) -> Spot:
        """Put operand ``number`` of a case at the end of its memory, or at the start."""
        room = max(PAGE, -(-len(data) // PAGE) * PAGE)
        start = self.starts.get((number, room)) or self.starts.setdefault((number, room), _map_room(room))
        ctypes.memset(start, CANARY, room)
        place = start + room - len(data) if at_end else start
        ctypes.memmove(place, data, len(data))
        return start, place, len(data), start + room


def allocate_watched(data: bytes) -> Spot:
    """Allocate memory for an operand that a sanitizer watches."""
    place = libc.malloc(max(1, len(data)))
    ctypes.memmove(place, data, len(data))
    return place, place, len(data), place + len(data)


def find_touched(spots: list[Spot]) -> list[tuple[int, int]]:
    """Find operands whose surroundings were written to, with -1 for before and 1 for after."""
    return [
        (operand, side)
        for operand, (start, place, size, end) in enumerate(spots)
        for side, low, high in ((-1, start, place), (1, place + size, end))
        if not _is_untouched(low, high - low)
    ]


def _is_untouched(start: int, size: int) -> bool:
    if size <= PAGE:
        return ctypes.string_at(start, size) == NOTHING[:size]
    return ctypes.string_at(start, size).count(CANARY) == size


def _map_room(size: int) -> int:
    """Map memory between pages that cannot be accessed."""
    start = libc.mmap(None, size + 2 * APART, PROT_NONE, mmap.MAP_PRIVATE | mmap.MAP_ANON, -1, 0)
    if start in (None, ctypes.c_void_p(-1).value):
        raise MemoryError
    libc.mprotect(start + APART, size, mmap.PROT_READ | mmap.PROT_WRITE)
    return int(start) + APART
