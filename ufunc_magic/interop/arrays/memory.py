"""What an object says of the memory that it stands for: where it is, how large, of what type, and on which device."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np

from ...model import ArgumentError
from . import capsules

__all__ = ["Memory", "describe", "on_gpu"]

#: C's names of numbers, as cffi spells them.
_C_TYPES = {
    "float": "f",
    "double": "d",
    "long double": "g",
    "_Bool": "?",
    "signed char": "b",
    "unsigned char": "B",
    "short": "h",
    "unsigned short": "H",
    "int": "i",
    "unsigned int": "I",
    "long": "l",
    "unsigned long": "L",
    "long long": "q",
    "unsigned long long": "Q",
    "size_t": "N",
    "ssize_t": "n",
    "ptrdiff_t": "n",
    "intptr_t": "n",
    "uintptr_t": "N",
    "_cffi_float_complex_t": "F",
    "_cffi_double_complex_t": "D",
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


@dataclass(frozen=True)
class Memory:
    """Memory that belongs to somebody else.

    Attributes
    ----------
    address : int
        Of the element whose indices are all 0.
    owner : object
        What keeps it alive; None where nothing does.
    shape, strides, dtype
        As far as they are known; strides in bytes.
    readonly : bool
    device : str
        ``""`` where only the caller knows.
    device_id : int or None
    array : numpy.ndarray, cupy.ndarray or None
        The array over it, where there is one.
    """

    address: int
    owner: object
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    dtype: np.dtype[Any] | None = None
    readonly: bool = False
    device: str = ""
    device_id: int | None = None
    array: Any = None


def describe(value: Any) -> Memory:
    """See what ``value`` is.

    Raises
    ------
    ArgumentError
        If it stands for no memory.
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return Memory(index(value), None)
    if capsules.is_capsule(value):
        return _of_capsule(value)
    if isinstance(value, ctypes._Pointer | ctypes.c_void_p | ctypes.c_char_p):
        return Memory(ctypes.cast(value, ctypes.c_void_p).value or 0, value, dtype=_of_ctypes(value))
    if type(value).__module__ == "_cffi_backend" and hasattr(sys.modules.get("_cffi_backend"), "typeof"):
        return _of_cffi(value)
    if on_gpu(value):
        return _of_gpu(value)
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        return _of_capsule(_lent(value))
    return _of_array(value, _host_array(value))


def on_gpu(value: Any) -> bool:
    """Whether it is an array on a device that CUDA reaches and the CPU does not."""
    if isinstance(value, np.ndarray):
        return False
    # CuPy's own interfaces ask the driver.
    if _is_cupys(value) or hasattr(value, "__cuda_array_interface__"):
        return True
    where = getattr(value, "__dlpack_device__", None)
    return where is not None and int(where()[0]) in (2, 13)


def _is_cupys(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "cupy"


def _of_capsule(capsule: Any) -> Memory:
    name = capsules.name_of(capsule)
    if name not in ("dltensor", "dltensor_versioned"):
        return Memory(capsules.address_of(capsule, name), capsule)
    seen = capsules.tensor(capsule, name)
    return Memory(seen.address, seen, seen.shape, seen.strides, seen.dtype, seen.readonly, seen.device, seen.device_id)


def _of_array(value: Any, array: np.ndarray[Any, Any]) -> Memory:
    address = array.__array_interface__["data"][0]
    owner = value if array is value else array
    return Memory(
        address, owner, array.shape, array.strides, array.dtype, not array.flags.writeable, "cpu", None, array
    )


def _host_array(value: Any) -> np.ndarray[Any, Any]:
    """A NumPy array over the same memory, never over a copy."""
    if isinstance(value, np.ndarray):
        return value
    try:
        view = memoryview(value)
    except (TypeError, BufferError):
        view = None
    if view is not None:
        try:
            return np.asarray(view)
        except (ValueError, NotImplementedError, TypeError) as fault:
            raise ArgumentError(
                f"The buffer of {type(value).__name__} has the format {view.format!r}: {fault}.",
                remedy="Give memoryview(x).cast('B'), and say shape and dtype.",
            ) from fault
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    raise ArgumentError(
        f"{type(value).__name__} {value!r:.60} stands for no memory.",
        remedy="Give an address, a PyCapsule, a ctypes or cffi pointer, a buffer, or an array of any library.",
    )


def _lent(value: Any) -> Any:
    """The capsule of an array in the host's memory."""
    try:
        try:
            return value.__dlpack__(max_version=(1, 0))
        except TypeError:  # libraries that know the standard's first version
            return value.__dlpack__()
    except (BufferError, RuntimeError, TypeError, ValueError) as fault:
        remedy = "Give x.detach()." if getattr(value, "requires_grad", False) else "Convert it with its library first."
        raise ArgumentError(
            f"{type(value).__name__} cannot be lent through DLPack: {str(fault).rstrip('.')}.", remedy=remedy
        ) from fault


def _of_gpu(value: Any) -> Memory:
    """What ``__cuda_array_interface__``, version 3, says."""
    if _is_cupys(value):
        place = value.device.id
        return Memory(value.data.ptr, value, value.shape, value.strides, value.dtype, False, "cuda", place, value)
    told = getattr(value, "__cuda_array_interface__", None)
    if told is None:
        return Memory(0, value, device="cuda")  # DLPack alone: CuPy asks for it
    strides = told.get("strides")
    return Memory(
        told["data"][0],
        value,
        tuple(told["shape"]),
        None if strides is None else tuple(strides),
        np.dtype(told["typestr"]),
        bool(told["data"][1]),
        "cuda",
    )


def _of_ctypes(value: Any) -> np.dtype[Any] | None:
    kind = getattr(type(value), "_type_", None)
    simple = isinstance(kind, type) and issubclass(kind, ctypes._SimpleCData) and not issubclass(kind, ctypes._Pointer)
    try:
        return np.dtype(kind) if simple else None
    except TypeError:
        return None


def _of_cffi(value: Any) -> Memory:
    backend: Any = sys.modules["_cffi_backend"]
    kind = backend.typeof(value)
    if kind.kind not in ("pointer", "array"):
        raise ArgumentError(
            f"A cffi value of the type {kind.cname!r} is no pointer.", remedy="Give ffi.addressof(x), or an array."
        )
    address = int(backend.cast(backend.new_primitive_type("uintptr_t"), value))
    shape: tuple[int, ...] = ()
    item, first = kind, True
    while item.kind == "array":
        # Only the outermost may be open, and then the value itself knows.
        shape += (len(value) if first else item.length,)
        item, first = item.item, False
    dtype = _number(item if kind.kind == "array" else kind.item)
    if kind.kind == "pointer" or dtype is None:
        return Memory(address, value, dtype=dtype)
    return Memory(address, value, shape, None, dtype, device="cpu")


def _number(kind: Any) -> np.dtype[Any] | None:
    letter = _C_TYPES.get(kind.cname) if kind.kind == "primitive" else None
    return None if letter is None else np.dtype(letter)
