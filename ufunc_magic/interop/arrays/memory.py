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

    def claim(self, owner: object) -> object:
        """Everything that an array over it keeps alive, beside ``owner``; the tensor of a capsule is taken now."""
        if isinstance(self.owner, capsules.Tensor):
            self.owner.take()
        return self.owner if owner is None else owner if self.owner is None else (self.owner, owner)


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
        return Memory(ctypes.cast(value, ctypes.c_void_p).value or 0, value, dtype=_ctypes_dtype(value))
    if type(value).__module__ == "_cffi_backend" and hasattr(sys.modules.get("_cffi_backend"), "typeof"):
        return _of_cffi(value)
    if on_gpu(value):
        return _of_gpu(value)
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        return _of_capsule(_dlpack_capsule(value))
    array = _host_array(value)
    address, readonly = array.__array_interface__["data"]
    return Memory(address, array, array.shape, array.strides, array.dtype, readonly, "cpu", None, array)


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
    t = capsules.Tensor(capsule, name)
    return Memory(t.address, t, t.shape, t.strides, t.dtype, t.readonly, t.device, t.device_id)


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


def _dlpack_capsule(value: Any) -> Any:
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
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        return Memory(0, value, device="cuda")  # DLPack alone: CuPy asks for it
    (address, readonly), strides = interface["data"], interface.get("strides")
    strides = None if strides is None else tuple(strides)
    return Memory(
        address, value, tuple(interface["shape"]), strides, np.dtype(interface["typestr"]), bool(readonly), "cuda"
    )


def _ctypes_dtype(value: Any) -> np.dtype[Any] | None:
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
    if kind.kind == "pointer":
        return Memory(address, value, dtype=_cffi_dtype(backend, kind.item))
    # Only the outermost may be open, and then the value itself knows.
    shape, item = [len(value)], kind.item
    while item.kind == "array":
        shape.append(item.length)
        item = item.item
    dtype = _cffi_dtype(backend, item)
    if dtype is None:
        return Memory(address, value)
    return Memory(address, value, tuple(shape), None, dtype, device="cpu")


def _cffi_dtype(backend: Any, kind: Any) -> np.dtype[Any] | None:
    """NumPy's type of C's numbers; characters are none."""
    name = kind.cname
    if kind.kind != "primitive" or name in ("char", "wchar_t", "char16_t", "char32_t"):
        return None
    if name == "_Bool":
        return np.dtype(bool)
    real = "float" in name or "double" in name
    letter = "c" if "complex" in name else "f" if real else "i" if int(backend.cast(kind, -1)) < 0 else "u"
    return np.dtype(f"{letter}{backend.sizeof(kind)}")
