"""PyCapsules: plain pointers with an owner, and the tensors of the DLPack standard.

The layouts are those of ``dlpack.h`` 1.0 (https://dmlc.github.io/dlpack/latest/c_api.html).
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model import ArgumentError

__all__ = ["Tensor", "address_of", "is_capsule", "make", "name_of", "plain", "tensor"]


def _python_api(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_get_name = _python_api("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
_set_name = _python_api("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_get_pointer = _python_api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_new = _python_api("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_keep = _python_api("Py_IncRef", None, ctypes.py_object)
_PyCapsule = type(importlib.import_module("numpy._core._multiarray_umath")._UFUNC_API)

#: Capsules whose pointer is no memory of elements: Arrow's structures.
_STRUCTURES = ("arrow_schema", "arrow_array", "arrow_array_stream", "arrow_device_array", "arrow_device_array_stream")
#: What the standard calls a tensor's capsule, and what it becomes when somebody has taken the tensor.  The capsule
#: keeps a pointer to its name.
_TAKEN = {"dltensor": b"used_dltensor", "dltensor_versioned": b"used_dltensor_versioned"}


def is_capsule(value: object) -> bool:
    """Whether it is a PyCapsule."""
    return type(value) is _PyCapsule


def plain(value: object) -> int | None:
    """The pointer in a capsule that has no name; None for all else."""
    if type(value) is not _PyCapsule:
        return None
    try:
        address: int = _get_pointer(value, None)
    except ValueError:  # it has one
        return None
    return address


def name_of(capsule: object) -> str:
    """Its name, ``""`` where it has none.

    Raises
    ------
    ArgumentError
        If what such a capsule points to is no memory of elements.
    """
    raw: bytes | None = _get_name(capsule)
    if raw is None:
        return ""
    name = raw.decode(errors="replace")
    if name.startswith("used_"):
        raise ArgumentError(
            f"The capsule {name!r} was taken already: its tensor belongs to another array now.",
            remedy="Ask its library for a new capsule; each serves once.",
        )
    # A C interface is named for the attribute that holds it: https://docs.python.org/3/c-api/capsule.html
    if name in _STRUCTURES or ("." in name and name.rpartition(".")[0] in sys.modules):
        what = "a structure of Arrow" if name in _STRUCTURES else "a C interface"
        raise ArgumentError(
            f"The capsule {name!r} holds {what}, no array.",
            remedy="Give a capsule whose pointer is the first element, or one of DLPack ('dltensor').",
        )
    return name


def address_of(capsule: object, name: str) -> int:
    """The pointer in a capsule of that name."""
    address: int = _get_pointer(capsule, name.encode() if name else None)
    return address


# ------------------------------------------------------------------------- capsules of our own

#: What the capsules that we made keep alive, by their own address.
_owned: dict[int, object] = {}


def _forget(capsule: int) -> None:
    _owned.pop(capsule, None)


_release = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_forget)
# The last capsules die when the modules are gone.
_keep(_release)
_RELEASE = ctypes.cast(_release, ctypes.c_void_p).value


def make(address: int, *, owner: object) -> Any:
    """A capsule without a name that holds ``address`` and keeps ``owner`` alive."""
    made = _new(address, None, _RELEASE)
    _owned[id(made)] = owner
    return made


# ------------------------------------------------------------------------------------- DLPack


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_size_t),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    )


#: kDLInt, kDLUInt, kDLFloat, kDLComplex, kDLBool.
_CODES = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_CPU, _GPU = (1, 3, 11), (2, 13)


class _Taken:
    """A tensor that is ours now; its deleter is called with the last reference."""

    def __init__(self, address: int, deleter: int | None) -> None:
        self._address = address
        self._delete = _Deleter(deleter) if deleter else None

    def __del__(self) -> None:
        if self._delete is not None:
            self._delete(self._address)


@dataclass(frozen=True)
class Tensor:
    """What a capsule of DLPack says of its tensor; strides in bytes."""

    capsule: Any
    name: str
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    readonly: bool
    device: str
    device_id: int

    def take(self) -> object:
        """Become its owner: what is returned gives the memory back when it dies."""
        at = address_of(self.capsule, self.name)
        managed = _kind(self.name).from_address(at)
        taken = _Taken(at, managed.deleter)
        _set_name(self.capsule, _TAKEN[self.name])
        return taken


def tensor(capsule: object, name: str) -> Tensor:
    """Read a capsule of the name "dltensor" or "dltensor_versioned", which stays as it is.

    Raises
    ------
    ArgumentError
        If it is of a version or a type that is not known here.
    """
    managed = _kind(name).from_address(address_of(capsule, name))
    if isinstance(managed, _Versioned) and managed.major != 1:
        raise ArgumentError(
            f"The capsule holds a tensor of DLPack {managed.major}.{managed.minor}; version 1 is read here.",
            remedy="Ask its library with max_version=(1, 0).",
        )
    t = managed.tensor
    letter = _CODES.get(t.code)
    if letter is None or t.lanes != 1 or t.bits % 8:
        raise ArgumentError(
            f"The tensor is of DLPack's type {t.code} with {t.bits} bits and {t.lanes} lanes, which NumPy has not.",
            remedy="Convert it with its own library first.",
        )
    dtype = np.dtype(f"{letter}{t.bits // 8}")
    shape = tuple(t.shape[: t.ndim]) if t.ndim else ()
    strides = tuple(s * dtype.itemsize for s in t.strides[: t.ndim]) if t.strides and t.ndim else None
    device = "cpu" if t.device_type in _CPU else "cuda" if t.device_type in _GPU else f"DLPack device {t.device_type}"
    readonly = isinstance(managed, _Versioned) and bool(managed.flags & 1)
    return Tensor(capsule, name, t.data + t.byte_offset, shape, strides, dtype, readonly, device, t.device_id)


def _kind(name: str) -> Any:
    return _Managed if name == "dltensor" else _Versioned
