"""Emulated device code on threads that are not its own: where the thread stands, how it waits, and the GIL it keeps."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...runtime import Library

__all__ = ["call_holding_gil", "lend_barrier", "lend_geometry", "take_back_barriers"]

_Three = ctypes.c_uint * 3
_Barrier = ctypes.CFUNCTYPE(None)
#: Callbacks that C has, by the library's id.
_lent: dict[int, tuple[Any, Library]] = {}


def lend_geometry(library: Library, *places: Iterable[int]) -> None:
    """Tell emulated code on this thread its threadIdx, blockIdx, blockDim and gridDim."""
    function = _symbol(library, "__ufm_set_geometry")
    if function is not None:
        function(*(_Three(*place) for place in places))


def lend_barrier(library: Library, wait: Callable[[], object]) -> None:
    """Let ``__syncthreads()`` call ``wait`` until `take_back_barriers`."""
    hook = _hook(library)
    if hook is not None and id(library) not in _lent:
        callback = _Barrier(wait)
        # The library with it, so that no other gets its id.
        _lent[id(library)] = callback, library
        hook.value = ctypes.cast(callback, ctypes.c_void_p).value


def take_back_barriers() -> None:
    """Let all emulations wait in their own way again."""
    while _lent:
        _, (_, library) = _lent.popitem()
        hook = _hook(library)
        if hook is not None:
            hook.value = None


def call_holding_gil(address: int, prototype: tuple[str, ...]) -> Callable[..., Any]:
    """A C function by its prototype; pointers are given as addresses.

    Its thread keeps the GIL, so that what the emulation does for an atomic operation is one.
    """
    kinds = [ctypes.c_void_p if "*" in word else _number(word) for word in prototype[1:]]
    result = None if prototype[0] == "void" else _number(prototype[0])
    made: Callable[..., Any] = ctypes.PYFUNCTYPE(result, *kinds)(address)
    return made


def _number(word: str) -> Any:
    return np.ctypeslib.as_ctypes_type(np.dtype(word.removeprefix("const ")))


def _symbol(library: Library, name: str) -> Any:
    try:
        return library.handle[name]
    except AttributeError:  # a cell that asks for none
        return None


def _hook(library: Library) -> ctypes.c_void_p | None:
    try:
        return ctypes.c_void_p.in_dll(library.handle, "__ufm_barrier")
    except ValueError:
        return None
