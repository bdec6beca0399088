"""PyCapsules: plain pointers with an owner, and the tensors of the DLPack standard.

The layouts are those of ``dlpack.h`` 1.0 (https://dmlc.github.io/dlpack/latest/c_api.html).  NumPy's own
``from_dlpack`` makes every tensor of the first version read-only, and takes one before its shape can be refused.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from ...model import ArgumentError


def _find_python_api(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_get_name = _find_python_api("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
_set_name = _find_python_api("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_get_pointer = _find_python_api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_new = _find_python_api("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_incref = _find_python_api("Py_IncRef", None, ctypes.py_object)
_PyCapsule = type(_new(1, None, None))


def is_capsule(value: object) -> bool:
    """Whether it is a PyCapsule."""
    return type(value) is _PyCapsule


def read_plain_pointer(value: object) -> int | None:
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
            f"The capsule {name!r} was already used: its tensor now belongs to another array.",
            remedy="Request a new capsule from its library; each can be used once.",
        )
    # A C interface is named for the attribute that holds it: https://docs.python.org/3/c-api/capsule.html
    if name.startswith("arrow_") or ("." in name and name.rpartition(".")[0] in sys.modules):
        raise ArgumentError(
            f"The capsule {name!r} contains a structure or a C interface, not an array.",
            remedy="Pass a capsule whose pointer is the first element, or a DLPack capsule ('dltensor').",
        )
    return name


def read_address(capsule: object, name: str) -> int:
    """The pointer in a capsule of that name."""
    address: int = _get_pointer(capsule, name.encode() if name else None)
    return address


#: Address of a capsule of ours -> the object that it keeps alive.  The capsule's context would take twice the time.
_owners: dict[int, object] = {}


def _release(capsule: int) -> None:
    _owners.pop(capsule, None)


_destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_release)
# The last capsules die when the modules are gone.
_incref(_destructor)
_DESTRUCTOR = ctypes.cast(_destructor, ctypes.c_void_p).value


def make_pointer_capsule(address: int, *, owner: object) -> Any:
    """A capsule without a name that holds ``address`` and keeps ``owner`` alive."""
    capsule = _new(address, None, _DESTRUCTOR)
    _owners[id(capsule)] = owner
    return capsule


# ------------------------------------------------------------------------------------- DLPack


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_size_t),
        *((name, ctypes.c_int32) for name in ("device_type", "device_id", "ndim")),
        *((name, ctypes.c_uint8) for name in ("code", "bits")),
        ("lanes", ctypes.c_uint16),
        *((name, ctypes.POINTER(ctypes.c_int64)) for name in ("shape", "strides")),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _Versioned(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("major", "minor")),
        *((name, ctypes.c_void_p) for name in ("context", "deleter")),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    )


_Deleter = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
#: kDLInt, kDLUInt, kDLFloat, kDLComplex, kDLBool.
_CODES = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_DEVICES = {**dict.fromkeys((1, 3, 11), "cpu"), **dict.fromkeys((2, 13), "cuda")}


#: Name of a capsule whose tensor was taken; the capsule keeps a pointer to it.
_USED = {"dltensor": b"used_dltensor", "dltensor_versioned": b"used_dltensor_versioned"}


class Tensor:
    """The description of a DLPack capsule's tensor, which stays in it until `take`; strides in bytes.

    Parameters
    ----------
    capsule : PyCapsule
    name : {"dltensor", "dltensor_versioned"}
        Its name.

    Raises
    ------
    ArgumentError
        If it is of a version or a type that is not known here.
    """

    _delete: Any = None

    def __init__(self, capsule: Any, name: str) -> None:
        self._capsule, self._name, self._at = capsule, name, read_address(capsule, name)
        managed = (_Managed if name == "dltensor" else _Versioned).from_address(self._at)
        if isinstance(managed, _Versioned) and managed.major != 1:
            raise ArgumentError(
                f"The capsule contains a tensor of DLPack {managed.major}.{managed.minor}, but only version 1 "
                "is supported.",
                remedy="Call __dlpack__ with max_version=(1, 0).",
            )
        self._deleter = managed.deleter
        t = managed.tensor
        letter = _CODES.get(t.code)
        if letter is None or t.lanes != 1 or t.bits % 8:
            raise ArgumentError(
                f"The tensor has DLPack type {t.code} with {t.bits} bits and {t.lanes} lanes, which NumPy does "
                "not support.",
                remedy="Convert it with its own library first.",
            )
        self.dtype = np.dtype(f"{letter}{t.bits // 8}")
        self.shape = tuple(t.shape[: t.ndim]) if t.ndim else ()
        steps = t.strides[: t.ndim] if t.strides and t.ndim else None
        self.strides = None if steps is None else tuple(step * self.dtype.itemsize for step in steps)
        self.address = t.data + t.byte_offset
        self.readonly = isinstance(managed, _Versioned) and bool(managed.flags & 1)
        self.device, self.device_id = _DEVICES.get(t.device_type, f"DLPack device {t.device_type}"), t.device_id

    def take(self) -> None:
        """Become the tensor's owner: its deleter is called when this object dies."""
        self._delete = _Deleter(self._deleter) if self._deleter else None
        _set_name(self._capsule, _USED[self._name])

    def __del__(self) -> None:
        if self._delete is not None:
            self._delete(self._at)
