"""A stand-in for CuPy over host memory: the constructors and attributes that embed.hpp uses, checked as CuPy's are."""

from __future__ import annotations

import numpy as np

from .cuda import MemoryPointer, UnownedMemory


class _Lent:
    """Memory as NumPy takes it; keeps the pointer, and with it the owner."""

    def __init__(self, shape, dtype, memptr, strides):
        self.memptr = memptr
        self.__array_interface__ = {
            "shape": shape,
            "typestr": np.dtype(dtype).str,
            "data": (memptr.ptr, False),
            "strides": strides,
            "version": 3,
        }


class ndarray(np.ndarray):
    def __new__(cls, shape, dtype=float, memptr=None, strides=None):
        if memptr is None:
            return np.empty(shape, dtype).view(cls)
        return np.asarray(_Lent(shape, dtype, memptr, strides)).view(cls)

    @property
    def data(self):
        address = self.__array_interface__["data"][0]
        return MemoryPointer(UnownedMemory(address, self.nbytes, self, 0), 0)

    def set(self, host):
        self[...] = host

    def get(self, out):
        out[...] = self


def empty(shape, dtype=float):
    return ndarray(shape, dtype)
