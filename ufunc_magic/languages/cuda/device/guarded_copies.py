"""Copies of arrays between pages that nobody may touch: the first launch of a kernel runs on them.

An access outside of an array faults there, and the fault has its thread; on the array itself it may change what Python
or a library keeps in memory beside it.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

#: Pages without access on each side of an array: addresses only.
_AROUND = 1 << 28
#: More bytes are not copied.
MOST_BYTES = 1 << 28
_ALIGNED = 16  # bytes of the widest load
_FILL = 0xA5
_NO_ACCESS, _READ_WRITE = 0, mmap.PROT_READ | mmap.PROT_WRITE if sys.platform != "win32" else 0


class GuardedCopies:
    """Copies of ``arrays``; those that share memory share it here.

    Each ends where its pages end, but for up to 15 bytes: loads of 16 bytes keep their alignment. With ``flush="end"``
    it ends there exactly, with ``flush="start"`` it begins where its pages begin.

    Raises
    ------
    OSError
        If the system has no room for them.

    Attributes
    ----------
    addresses : list of int
        Where the copy of each array begins.
    """

    def __init__(self, arrays: Sequence[np.ndarray[Any, Any]], *, flush: str = "") -> None:
        self._arrays = arrays
        self._rooms: list[tuple[int, int]] = []  # address and size of the memory between the pages
        self._copies: list[tuple[int, int, int]] = []  # where the copied bytes are, how many, where they were
        try:
            for low, size in _merge_spans(arrays):
                self._copies.append((self._map(low, size, flush=flush), size, low))
                ctypes.memmove(self._copies[-1][0], low, size)
        except OSError:
            self.unmap()
            raise
        self.addresses = [self._find_copy(array) for array in arrays]

    def _map(self, low: int, size: int, *, flush: str) -> int:
        whole = -(-max(size, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
        start = _mmap(whole + 2 * _AROUND)
        if start is None:
            raise OSError("there is no room for a copy of an array")
        room = start + _AROUND
        self._rooms.append((room, whole))
        if not _mprotect(room, whole):
            raise OSError("there is no memory for a copy of an array")
        ctypes.memset(room, _FILL, whole)
        at = room + whole - size
        return room if flush == "start" else at if flush else at - (at - low) % _ALIGNED

    def _find_copy(self, array: np.ndarray[Any, Any]) -> int:
        address = array.ctypes.data
        at, _, low = next(c for c in self._copies if c[2] <= address < c[2] + max(c[1], 1))
        return at + address - low

    def is_damaged(self) -> bool:
        """Whether bytes of the same pages that are no array's have changed."""
        for (room, whole), (at, size, _) in zip(self._rooms, self._copies, strict=True):
            around = ctypes.string_at(room, at - room), ctypes.string_at(at + size, room + whole - at - size)
            if any(part.strip(bytes([_FILL])) for part in around):
                return True
        return False

    def write_back(self, constant: Sequence[bool], others: Iterable[tuple[int, int]]) -> None:
        """Copy what the kernel may have written into the arrays; pointers in them and in other memory, by address
        and size, point to the arrays."""
        # Numbers with a fraction are no pointers, whatever their bits are.
        may_hold = [array for array in self._arrays if array.flags.writeable and array.dtype.kind not in "fcb"]
        written = [(array.ctypes.data, array.nbytes) for array in may_hold]
        for array, address, fixed in zip(self._arrays, self.addresses, constant, strict=True):
            if not fixed:
                ctypes.memmove(array.ctypes.data, address, array.nbytes)
        for address, size in (*written, *others):
            start = address + -address % 8
            count = (address + size - start) // 8
            if count > 0:
                words = np.ctypeslib.as_array((ctypes.c_uint64 * count).from_address(start))
                for at, room, low in self._copies:
                    words[(words >= at) & (words <= at + room)] -= np.uint64((at - low) % 2**64)

    def unmap(self) -> None:
        """Give the memory back."""
        for room, whole in self._rooms:
            _munmap(room - _AROUND, whole + 2 * _AROUND)
        self._rooms.clear()


def _merge_spans(arrays: Sequence[np.ndarray[Any, Any]]) -> Iterator[tuple[int, int]]:
    """Address and size of the memory of arrays; those that share memory have one."""
    spans: list[tuple[int, int]] = []
    for low, high in sorted((a.ctypes.data, a.ctypes.data + a.nbytes) for a in arrays):
        if spans and low < max(spans[-1][1], spans[-1][0] + 1):
            low, high = spans[-1][0], max(spans.pop()[1], high)
        spans.append((low, high))
    return ((low, high - low) for low, high in spans)


@functools.cache
def _find_function(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.CFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


def _mmap(size: int) -> int | None:
    types = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
    function = _find_function("mmap", ctypes.c_void_p, *types)
    address: int | None = function(None, size, _NO_ACCESS, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    return None if address == ctypes.c_void_p(-1).value else address


def _mprotect(address: int, size: int) -> bool:
    function = _find_function("mprotect", ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return not function(address, size, _READ_WRITE)


def _munmap(address: int, size: int) -> None:
    _find_function("munmap", ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)(address, size)
