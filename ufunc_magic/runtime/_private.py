"""The undocumented names of NumPy and ctypes that this room uses.

Tried with NumPy 2.2, 2.4 and 2.5 and with Python 3.11 and 3.13 to 3.15.

* ``_multiarray_umath._UFUNC_API``: the capsule that NumPy's own headers read in ``import_umath()``; a table of
  pointers whose order NumPy keeps (``numpy/_core/code_generators/numpy_api.py``).  Without it there are no ufuncs:
  the import of this module fails.
* ``_multiarray_umath.__cpu_features__``: NumPy's detection of this CPU, which asks CPUID and the system.  Without it
  no instruction sets are known, and code for ``arch="native"`` of another CPU is refused.
* names of NumPy's DTypes of Python's own numbers, which promotion passes; under others they are not recognised, and
  promotion takes NumPy's own way.
* the place of the type number in a ``PyArray_Descr``: after the object's head, a pointer and four characters.  Where
  it does not, integers that do not fit are narrowed by NumPy's own casting.
* ``PyUFuncObject`` of ``numpy/ufuncobject.h``, public in C: its last field, ``process_core_dims_func`` (NumPy 2.1),
  and the function that Python calls.  They are looked for after fields with known values; if those differ, a ufunc with
  computed core sizes is refused, and a fault has no index.
* ``_ctypes.dlopen`` and the attributes of a CDLL: opening a library without the class that ``ctypes.CDLL`` makes for
  each one's functions, a fifth of the time.  Without them it is ``ctypes.CDLL``.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

_umath: Any = importlib.import_module("numpy._core._multiarray_umath")

#: NumPy's abstract types of Python's own numbers, and the kinds of C types that take them.
PYTHON_NUMBERS = {"_PyLongDType": "iufc", "_PyFloatDType": "fc", "_PyComplexDType": "c"}
#: NumPy's name for the capsule of a promoter; it keeps the pointer.
PROMOTER_NAME = b"numpy._ufunc_promoter"

#: The function with which ctypes opens libraries; None on Windows.
_dlopen: Callable[[str, int], int] | None = getattr(importlib.import_module("_ctypes"), "dlopen", None)


def find_python_api(name: str, result: Any, *arguments: Any) -> Any:
    """A function of Python's C API, with a prototype of our own: ``ctypes.pythonapi``'s is the whole process's."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


def find_ufunc_api(slot: int) -> int:
    """Address of a function in NumPy's table."""
    get = find_python_api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    table: int = get(_umath._UFUNC_API, None)
    address = ctypes.c_void_p.from_address(table + slot * ctypes.sizeof(ctypes.c_void_p)).value
    assert address
    return address


class UfuncObject(ctypes.Structure):
    """``PyUFuncObject``, without the object's head."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("nin", "nout", "nargs", "identity")),
        *((name, ctypes.c_void_p) for name in ("functions", "data")),
        *((name, ctypes.c_int) for name in ("ntypes", "reserved1")),
        *((name, ctypes.c_void_p) for name in ("name", "types", "doc", "ptr", "obj", "userloops")),
        *((name, ctypes.c_int) for name in ("core_enabled", "core_num_dim_ix")),
        *((name, ctypes.c_void_p) for name in ("core_num_dims", "core_dim_ixs", "core_offsets", "core_signature")),
        *((name, ctypes.c_void_p) for name in ("type_resolver", "dict", "vectorcall", "reserved3", "op_flags")),
        ("iter_flags", ctypes.c_uint32),
        *((name, ctypes.c_void_p) for name in ("core_dim_sizes", "core_dim_flags", "identity_value")),
        *((name, ctypes.c_void_p) for name in ("dispatch_cache", "loops", "process_core_dims")),
    )


def find_ufunc_fields(ufunc: np.ufunc) -> UfuncObject | None:
    """The C fields of a ufunc; None where they are not where NumPy 2.2 to 2.5 have them."""
    fields = UfuncObject.from_address(id(ufunc) + object.__basicsize__)
    counts = fields.nin, fields.nout, fields.nargs, fields.ntypes, fields.core_enabled
    known = counts == (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes, int(ufunc.signature is not None))
    text = (ufunc.signature or "").encode()
    return fields if known and (not text or ctypes.string_at(fields.core_signature) == text) else None


@cache
def type_number_offset() -> int:
    """The place of ``type_num`` in NumPy's ``PyArray_Descr``; -1 if it is not found."""
    place = object.__basicsize__ + ctypes.sizeof(ctypes.c_void_p) + 4
    probes = (np.dtype(np.float64), np.dtype(np.int16))
    right = all(ctypes.c_int.from_address(id(d) + place).value == d.num for d in probes)
    return place if right else -1


def list_cpu_features() -> tuple[str, ...]:
    """Instruction sets of this CPU as NumPy found them, ``("avx", "avx2", ...)``, sorted."""
    features: dict[str, bool] = getattr(_umath, "__cpu_features__", {})
    return tuple(sorted(name.lower() for name, here in features.items() if here))


def open_library(path: str, mode: int) -> ctypes.CDLL:
    """``ctypes.CDLL(path, mode)``."""
    if _dlopen is None:
        return ctypes.CDLL(path, mode=mode)
    library = ctypes.CDLL.__new__(ctypes.CDLL)
    vars(library).update(_make_library_attributes(), _name=path, _handle=_dlopen(path, mode))
    return library


class _LibraryInfo(ctypes.Structure):
    """``Dl_info`` of ``dladdr``."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("file", "base", "symbol", "address"))


def find_library_base(address: int) -> int:
    """The address at which the library that holds ``address`` was mapped; 0 if unknown."""
    try:
        find = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(("dladdr", ctypes.pythonapi))
    except AttributeError:  # Windows
        return 0
    info = _LibraryInfo()
    return (info.base or 0) if address and find(address, ctypes.addressof(info)) else 0


def prepare() -> None:
    """Fill the caches now."""
    _make_library_attributes()


@cache
def _make_library_attributes() -> dict[str, Any]:
    """The attributes of every CDLL besides its name and handle."""
    return {} if _dlopen is None else dict(vars(ctypes.CDLL(None)))
