"""Arguments of a kernel, checked against its declaration and turned into what a launch takes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model import ArgumentError
from . import device_arrays
from .device_arrays import Operand

__all__ = ["Argument", "Kind", "convert", "kinds"]

_KIND = re.compile(r"(const )?([a-z]\d+|V\d+|void)(\**)")


@dataclass(frozen=True)
class Kind:
    """The type of one parameter: ``f4`` of ``const float *`` with one level of pointers."""

    text: str
    element: str
    const: bool
    stars: int

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """NumPy's type of one element; None for ``void``."""
        return None if self.element == "void" else np.dtype(self.element)

    @property
    def spelled(self) -> str:
        """In words for a message."""
        if self.element == "void":
            base = "void"
        elif self.element[0] == "V":
            base = f"struct of {self.element[1:]} bytes"
        else:
            base = np.dtype(self.element).name
        return f"{'const ' * self.const}{base}{' ' + '*' * self.stars if self.stars else ''}"


@dataclass(frozen=True, eq=False)
class Argument:
    """One argument: the array it is, or the value that the kernel gets."""

    kind: Kind
    operand: Operand | None = None
    value: Any = None


def kinds(prototype: Sequence[str]) -> tuple[Kind, ...]:
    """The parameters of a prototype, whose first word is the result."""
    found = []
    for word in prototype[1:]:
        match = _KIND.fullmatch(word)
        assert match, word
        found.append(Kind(word, match[2], bool(match[1]), len(match[3])))
    return tuple(found)


def convert(kind: Kind, value: Any, *, name: str) -> Argument:
    """Check one argument.

    Parameters
    ----------
    name : str
        What messages call it: ``"axpy(): x"``.

    Raises
    ------
    ArgumentError
        For another type than the kernel's, or an array that a pointer cannot stand for.
    OverflowError
        For a number that the parameter's type does not hold.
    """
    if kind.stars:
        return _pointer(kind, value, name)
    if kind.element.startswith("V"):
        return Argument(kind, value=_struct(kind, value, name))
    return Argument(kind, value=_number(kind, value, name))


def _pointer(kind: Kind, value: Any, name: str) -> Argument:
    if value is None:
        return Argument(kind, value=np.uint64(0))
    if type(value).__module__.startswith("cupy.cuda.memory") and hasattr(value, "ptr"):
        return Argument(kind, value=np.uint64(value.ptr))
    if isinstance(value, bool | int | float | complex | np.generic | str | bytes):
        raise ArgumentError(
            f"{name} is {value!r}, the kernel takes {kind.spelled}.",
            remedy="Give an array; for an address, cupy.cuda.MemoryPointer says what memory it is in.",
        )
    found = device_arrays.operand(value, name=name)
    array = found.given if isinstance(found.given, np.ndarray) else found.array
    if not hasattr(array, "strides"):
        raise ArgumentError(
            f"{name} is {type(value).__name__}, the kernel takes {kind.spelled}.", remedy="Give an array."
        )
    if not isinstance(value, np.ndarray) and found.place != "device":
        raise ArgumentError(
            f"{name} is a {type(value).__name__}, which has no memory that a kernel could use.",
            remedy=f"Give np.asarray(..., dtype={(kind.dtype or np.dtype('f8')).name!r}).",
        )
    _check_type(kind, array, name)
    if not array.flags.c_contiguous:
        raise ArgumentError(
            f"{name} is not contiguous (shape {array.shape}, strides {array.strides}); a pointer has no steps.",
            remedy="Give np.ascontiguousarray(x) or cupy.ascontiguousarray(x); for Fortran order, x.T.",
        )
    if isinstance(array, np.ndarray) and not array.flags.writeable and not kind.const:
        raise ArgumentError(f"{name} is read-only, and the kernel may write to it.", remedy="Give a copy.")
    return Argument(kind, operand=Operand("device" if found.place == "device" else "host", array, value))


def _check_type(kind: Kind, array: Any, name: str) -> None:
    wanted, have = kind.dtype, array.dtype
    if kind.stars > 1:
        raise ArgumentError(
            f"{name} is a pointer to pointers ({kind.spelled}), which no array is.",
            remedy="Give one array, and let the kernel find its rows.",
        )
    if wanted is None or have == wanted:
        return
    if wanted.kind == "V":
        # float4 over rows of four floats
        if wanted.itemsize in (have.itemsize, have.itemsize * (array.shape[-1] if array.ndim else 1)):
            return
        raise ArgumentError(
            f"{name} is an array of {have} of shape {array.shape}, the kernel takes {kind.spelled}.",
            remedy=f"Give rows of {wanted.itemsize} bytes.",
        )
    same = have.newbyteorder("=") == wanted
    why = "in another byte order" if same else f"an array of {have}"
    raise ArgumentError(
        f"{name} is {why}, the kernel takes {kind.spelled}.",
        remedy=f"Convert it: {name.rpartition(' ')[2]}.astype({wanted.name!r}).",
    )


def _struct(kind: Kind, value: Any, name: str) -> np.ndarray[Any, Any]:
    size = np.dtype(kind.element).itemsize
    raw = value.tobytes() if isinstance(value, np.generic | np.ndarray) else value
    if not isinstance(raw, bytes | bytearray | memoryview) or len(raw) != size:
        have = f"{len(raw)} bytes" if isinstance(raw, bytes | bytearray | memoryview) else type(value).__name__
        raise ArgumentError(
            f"{name} is {have}, the kernel takes a {kind.spelled}.",
            remedy="Give a NumPy record of its fields: np.array((1, 2), dtype=[('x', 'f4'), ('y', 'f4')]).",
        )
    # Of a structured type, which is how CuPy knows a struct that is passed by value.
    return np.frombuffer(bytes(raw), dtype=np.dtype([("bytes", "u1", (size,))])).reshape(())


def _number(kind: Kind, value: Any, name: str) -> Any:
    dtype = kind.dtype
    assert dtype is not None
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if not isinstance(value, bool | int | float | complex | np.number | np.bool_):
        place = "x.item()" if hasattr(value, "shape") else f"{dtype.name}(...)"
        raise ArgumentError(
            f"{name} is {type(value).__name__}, the kernel takes a number ({kind.spelled}).", remedy=f"Give {place}."
        )
    number: Any = value.item() if isinstance(value, np.generic) else value
    fits = {"b": "b", "u": "bui", "i": "bui", "f": "buif", "c": "buifc"}[dtype.kind]
    given = np.asarray(number).dtype.kind if not isinstance(number, int) or isinstance(number, bool) else "i"
    if given not in fits:
        raise ArgumentError(
            f"{name} is {value!r}, the kernel takes {kind.spelled}.", remedy=f"Convert it: {_word(dtype)}({value!r})."
        )
    if dtype.kind in "ui":
        info = np.iinfo(dtype)
        if not info.min <= number <= info.max:
            raise OverflowError(f"{name} is {number}, outside of {kind.spelled}: {info.min} to {info.max}")
        return dtype.type(number)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            made = dtype.type(number)
        if math.isinf(made) and not math.isinf(number):
            raise OverflowError(f"{name} is {number}, outside of {kind.spelled}")
        return made
    return dtype.type(number)


def _word(dtype: np.dtype[Any]) -> str:
    return {"b": "bool", "u": "int", "i": "int", "f": "float", "c": "complex"}[dtype.kind]
