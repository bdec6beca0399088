"""The memory that an object describes: address, size, type and device."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np

from ...model import ArgumentError
from . import capsules


@dataclass(frozen=True)
class Memory:
    """Memory that belongs to somebody else.

    Attributes
    ----------
    address : int
        Of the element whose indices are all 0.
    owner : object
        The object that keeps the memory alive, or None.
    shape, strides, dtype
        None where unknown; strides in bytes.
    readonly : bool
    device : str
        ``""`` where only the caller knows.
    device_id : int or None
    """

    address: int
    owner: object
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    dtype: np.dtype[Any] | None = None
    readonly: bool = False
    device: str = ""
    device_id: int | None = None

    def claim(self, owner: object) -> object:
        """Return what an array over the memory keeps alive in addition to ``owner``; takes the tensor of a capsule."""
        if isinstance(self.owner, capsules.Tensor):
            self.owner.take()
        return self.owner if owner is None else owner if self.owner is None else (self.owner, owner)


def describe(value: Any) -> Memory:
    """See what ``value`` is.

    Raises
    ------
    ArgumentError
        If the object describes no memory.
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return Memory(index(value), None)
    if capsules.is_capsule(value):
        return _read_capsule(value)
    if isinstance(value, ctypes._Pointer | ctypes.c_void_p | ctypes.c_char_p):
        return Memory(ctypes.cast(value, ctypes.c_void_p).value or 0, value)
    if type(value).__module__ == "_cffi_backend" and hasattr(sys.modules.get("_cffi_backend"), "typeof"):
        return _read_cffi(value)
    if isinstance(value, np.ndarray):
        return _read_host(value)
    if type(value).__module__.partition(".")[0] == "cupy":  # its own interfaces ask the driver
        return Memory(value.data.ptr, value, value.shape, value.strides, value.dtype, False, "cuda", value.device.id)
    if hasattr(value, "__cuda_array_interface__"):
        return _read_cuda_interface(value)
    if hasattr(value, "__dlpack__"):
        return _read_capsule(_take_dlpack_capsule(value))
    return _read_host(_view_host_array(value))


def _read_host(array: np.ndarray[Any, Any]) -> Memory:
    address, readonly = array.__array_interface__["data"]
    return Memory(address, array, array.shape, array.strides, array.dtype, readonly, "cpu")


def _read_capsule(capsule: Any) -> Memory:
    name = capsules.name_of(capsule)
    if name not in ("dltensor", "dltensor_versioned"):
        return Memory(capsules.read_address(capsule, name), capsule)
    t = capsules.Tensor(capsule, name)
    return Memory(t.address, t, t.shape, t.strides, t.dtype, t.readonly, t.device, t.device_id)


def _view_host_array(value: Any) -> np.ndarray[Any, Any]:
    """A NumPy array over the same memory, never over a copy."""
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    try:
        return np.asarray(memoryview(value))
    except (TypeError, BufferError, ValueError, NotImplementedError) as fault:
        raise ArgumentError(
            f"{type(value).__name__} {value!r:.60} does not refer to memory: {fault}.",
            remedy="Pass an address, a PyCapsule, a ctypes or cffi pointer, a buffer, or an array of any library.",
        ) from fault


def _take_dlpack_capsule(value: Any) -> Any:
    """The capsule of another library's array."""
    try:
        try:
            return value.__dlpack__(max_version=(1, 0))
        except TypeError:  # libraries that know the standard's first version
            return value.__dlpack__()
    except (BufferError, RuntimeError, TypeError, ValueError) as fault:
        remedy = "Give x.detach()." if getattr(value, "requires_grad", False) else "Convert it with its library first."
        raise ArgumentError(
            f"{type(value).__name__} cannot be exported through DLPack: {str(fault).rstrip('.')}.", remedy=remedy
        ) from fault


def _read_cuda_interface(value: Any) -> Memory:
    """Read ``__cuda_array_interface__``, version 3."""
    interface = value.__cuda_array_interface__
    (address, readonly), strides = interface["data"], interface.get("strides")
    strides = None if strides is None else tuple(strides)
    shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
    return Memory(address, value, shape, strides, dtype, bool(readonly), "cuda")


def _read_cffi(value: Any) -> Memory:
    """A pointer, or an array, which knows how many bytes it has."""
    backend: Any = sys.modules["_cffi_backend"]
    kind = backend.typeof(value)
    if kind.kind == "array":
        return _read_host(np.frombuffer(backend.buffer(value), np.uint8))
    if kind.kind != "pointer":
        raise ArgumentError(
            f"A cffi value of type {kind.cname!r} is not a pointer.", remedy="Pass ffi.addressof(x), or an array."
        )
    return Memory(int(backend.cast(backend.new_primitive_type("uintptr_t"), value)), value)
