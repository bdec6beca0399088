"""Calls of ufuncs whose arguments are looked at before NumPy has them: a number gives the size of an output, as in
``(),(),()->(k)``, or a core dimension may be 1, as in ``(n|1),(n|1)->()``.

A ufunc has a field with the function that Python calls (``vectorcall``).  We put ours there, which calls
`SizedCall.prepare` and then NumPy's (``templates/narrowing.c``).
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from ..model import ArgumentError, FunctionCode
from . import _private
from .locks import lock_of

_LARGEST = np.iinfo(np.intp).max


class _SizedCall(ctypes.Structure):
    """``SizedCall`` of ``templates/narrowing.c``."""

    _fields_ = (
        ("next", ctypes.c_void_p),
        ("ufunc", ctypes.c_void_p),
        ("call", ctypes.c_void_p),
        ("prepare", ctypes.py_object),
    )


class _SizedHost(ctypes.Structure):
    """``SizedHost`` of ``templates/narrowing.c``."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("vectorcall", "size", "item", "forget"))


@cache
def _list_host_values() -> tuple[int | None, ...]:
    api = ctypes.pythonapi
    functions = api.PyObject_Vectorcall, api.PyTuple_Size, api.PyTuple_GetItem, api.Py_DecRef
    return tuple(ctypes.cast(function, ctypes.c_void_p).value for function in functions)


@dataclass(eq=False)
class SizedCall:
    """The step before each call of a ufunc; it must live as long as the ufunc.

    Attributes
    ----------
    code : FunctionCode
    handle : CDLL
        The library of its loops.
    """

    code: FunctionCode
    handle: ctypes.CDLL
    wish: Any = field(init=False)
    #: Places of the numbers that give sizes, and of each input its dimensions that may be 1.
    sizes: tuple[int, ...] = field(init=False)
    ones: list[list[bool]] = field(init=False)
    optional: frozenset[str] = field(init=False)
    entry: Any = field(init=False)

    def __post_init__(self) -> None:
        self.sizes = tuple(self.code.size_operands.values())
        self.ones, self.optional = self.code.broadcast, self.code.optional
        self.wish = ctypes.PYFUNCTYPE(None, ctypes.c_int, ctypes.c_ssize_t)(("__ufm_wish", self.handle))

    def add(self, ufunc: np.ufunc, fields: _private.UfuncObject) -> SizedCall:
        """Have calls of the ufunc come here first."""
        host = _SizedHost.in_dll(self.handle, "__ufm_sized_host")
        host.__init__(*_list_host_values())  # type: ignore[misc]
        with lock_of("sized calls"):  # the list has one end
            first = ctypes.c_void_p.in_dll(self.handle, "__ufm_sized_calls")
            self.entry = _SizedCall(first.value, id(ufunc), fields.vectorcall, self.prepare)
            first.value = ctypes.addressof(self.entry)
        fields.vectorcall = ctypes.cast(self.handle["__ufm_sized_call"], ctypes.c_void_p).value
        return self

    @property
    def call(self) -> int:
        """The address of the function that is called with the arguments as NumPy is to have them."""
        address: int = self.entry.call
        return address

    @call.setter
    def call(self, address: int) -> None:
        self.entry.call = address

    def prepare(self, *args: Any, **keywords: Any) -> tuple[Any, ...]:
        """Give the driver the sizes that numbers give, and return the arguments, in the same order.

        Raises
        ------
        ArgumentError
            If one call would need several sizes.
        """
        values = list(args)
        if len(args) >= self.code.nin:
            if any(map(any, self.ones)):
                with contextlib.suppress(IndexError, TypeError):  # of wrong axes, which NumPy refuses
                    self._broadcast(values, keywords)
            for number, place in enumerate(self.sizes):
                self.wish(number, self._read_size(values[place], place))
        return (*values, *keywords.values())

    def _read_size(self, value: Any, place: int) -> int:
        """The size that an argument gives; 0 for what NumPy will reject."""
        if isinstance(value, int | np.integer):
            return min(max(int(value), -1 - _LARGEST), _LARGEST)
        array = np.asanyarray(value)
        if array.dtype.kind not in "biuO" or not array.size:
            return 0
        least, most = array.min(), array.max()
        if least != most:
            raise ArgumentError(
                f"{self.code.name}: {self.code.parameters[place]} gives the size of an output, but has values from "
                f"{least} to {most}.",
                remedy="Call it once for each size.",
            )
        return self._read_size(int(most), place) if array.dtype.kind != "O" or isinstance(most, int) else 0

    def _broadcast(self, values: list[Any], keywords: Mapping[str, Any]) -> None:
        """Repeat core dimensions of 1 as far as others with the same name go."""
        own = (k for k in range(self.code.nin) if isinstance(values[k], np.ndarray) or not _is_foreign(values[k]))
        arrays = {k: np.asanyarray(values[k]) for k in own}
        # As NumPy: an optional dimension that one argument lacks is missing in all.
        short = [k for k, array in arrays.items() if array.ndim < len(self.code.cores[k])]
        missing = {d for k in short for d in self.code.cores[k]} & self.optional
        present = {k: [d not in missing for d in self.code.cores[k]] for k in arrays}
        if any(array.ndim < sum(present[k]) for k, array in arrays.items()):
            return  # NumPy says so
        cores = {k: [*itertools.compress(self.code.cores[k], present[k])] for k in arrays}
        axes = {k: _find_axes(k, len(core), keywords) for k, core in cores.items()}
        sizes: dict[str, set[int]] = {}
        for k, array in arrays.items():
            for name, axis in zip(cores[k], axes[k], strict=True):
                sizes.setdefault(name, set()).add(array.shape[axis])
        for k, array in arrays.items():
            shape = list(array.shape)
            ones = itertools.compress(self.ones[k], present[k])
            for name, axis, may in zip(cores[k], axes[k], ones, strict=True):
                others = {int(name)} if name.isdecimal() else sizes[name] - {1}
                if may and shape[axis] == 1 and len(others) == 1:
                    (shape[axis],) = others
            if any(self.ones[k]):
                values[k] = np.broadcast_to(array, shape, subok=True)


def _is_foreign(value: Any) -> bool:
    """Whether a value does NumPy's functions itself."""
    return hasattr(value, "__array_ufunc__") and not isinstance(value, np.generic)


def _find_axes(k: int, count: int, keywords: Mapping[str, Any]) -> tuple[int, ...]:
    """The axes of an argument that are its core."""
    if keywords.get("axis") is not None:
        return (keywords["axis"],) * count
    if keywords.get("axes") is not None:
        own = keywords["axes"][k]
        return own if isinstance(own, tuple) else (own,)
    return tuple(range(-count, 0))
