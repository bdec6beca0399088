"""Ufuncs of structures: their dtypes, and their loops for NumPy.

NumPy has one type for all structures, and asks each ufunc which structure it means.  ``PyUFunc_AddLoopFromSpec``, slot
43 of NumPy's table, takes such a loop and the function that answers.
"""

from __future__ import annotations

import ctypes
import json
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..model import RECORD, TYPES, ArgumentError, FunctionCode, SignatureError
from . import _private, promotion

_RESOLVE_DESCRIPTORS = 2  # NPY_METH_resolve_descriptors
_NO_CASTING, _UNSAFE_CASTING = 0, 4

_Resolver = ctypes.PYFUNCTYPE(
    ctypes.c_int,  # NPY_CASTING
    ctypes.c_void_p,  # PyArrayMethodObject *
    ctypes.c_void_p,  # PyArray_DTypeMeta *const dtypes[]
    ctypes.POINTER(ctypes.c_void_p),  # PyArray_Descr *const actual[], NULL for outputs that are not given
    ctypes.POINTER(ctypes.c_void_p),  # PyArray_Descr *loop[], new references
    ctypes.c_void_p,  # npy_intp *view_offset
)


@lru_cache(maxsize=1024)
def find_operand_dtypes(code: FunctionCode, place: int = 0) -> tuple[np.dtype[Any], ...]:
    """The dtypes of a loop's operands, inputs first.

    Raises
    ------
    SignatureError
        If NumPy cannot have such a structure.
    """
    records = code.records or ("",) * (code.nin + code.nout)
    types = code.loops[place].types
    try:
        return tuple(
            _make_dtype(json.loads(text)) if text else np.dtype(TYPES[number].char)
            for number, text in zip(types, records, strict=True)
        )
    except (ValueError, TypeError, KeyError, AttributeError) as fault:
        raise SignatureError(f"{code.name}: the layout of a structure cannot be read: {fault}.") from fault


def _make_dtype(described: Any) -> np.dtype[Any]:
    if isinstance(described, str):
        return np.dtype(described)
    formats: list[DTypeLike] = [
        (_make_dtype(one[0]), tuple(one[1])) if isinstance(one, list) else _make_dtype(one)
        for one in described["formats"]
    ]
    names, offsets, itemsize = (described[key] for key in ("names", "offsets", "itemsize"))
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": itemsize})


def dtype_of(code: FunctionCode, operand: str | int | None) -> np.dtype[Any]:
    """The dtype of an operand by its name, its place or its C type; of the function's only structure for None.

    Raises
    ------
    ArgumentError
        If there is no such operand, or not just one structure.
    """
    dtypes = find_operand_dtypes(code, -1)
    types = [json.loads(text)["type"] if text else "" for text in code.records]
    names = (*code.parameters, *code.results)
    if operand is None:
        structures = {name: dtype for name, dtype in zip(types, dtypes, strict=False) if name}
        if len(set(map(repr, structures.values()))) == 1:
            return next(iter(structures.values()))
        fault, known = "has no structure" if not structures else "has several structures", tuple(structures) or names
    elif isinstance(operand, int):
        if 0 <= operand < len(dtypes):
            return dtypes[operand]
        fault, known = f"has no operand {operand}", names
    else:
        for spelled in (names, types):
            if operand in spelled:
                return dtypes[spelled.index(operand)]
        fault, known = f"has no operand or structure {operand!r}", (*names, *dict.fromkeys(filter(None, types)))
    raise ArgumentError(f"{code.name} {fault}.", remedy=f"Choose from: {', '.join(known)}.")


def describe(code: FunctionCode) -> list[str]:
    """Describe each structure in a line, for docstrings."""
    if not code.records:
        return []
    places: dict[str, list[str]] = {}
    for name, text, dtype in zip(
        (*code.parameters, *code.results), code.records, find_operand_dtypes(code), strict=True
    ):
        if text:
            places.setdefault(f"{json.loads(text)['type']}, {dtype}", []).append(name)
    return [f"{', '.join(names)}: {text}" for text, names in places.items()]


def add_loop(ufunc: np.ufunc, code: FunctionCode, owner: Any) -> tuple[object, ...]:
    """Give NumPy the loop of a ufunc that has none yet; the result must live as long as the ufunc.

    Raises
    ------
    SignatureError
        If the library has no such loop.
    """
    handle: Any = getattr(getattr(owner, "library", None), "handle", None)
    index = code.loops[0].index
    try:
        loop = (ctypes.c_void_p * (index + 1)).in_dll(handle, "__ufm_records")[index]
    except (ValueError, TypeError):
        loop = None
    if not loop:
        raise SignatureError(
            f"{code.name}: the object code has no loop for its structures.", remedy="Compile it again."
        )
    types = code.loops[0].types
    resolve, buffers = make_resolver(code, types)
    dtypes = (ctypes.c_void_p * len(types))(*(id(promotion.DTYPES[t]) for t in types))
    slots = (promotion.Slot * 3)(resolve, promotion.Slot(promotion.STRIDED_LOOP, loop))
    name = code.name.encode()
    spec = promotion.Spec(name, code.nin, code.nout, _NO_CASTING, 0, ctypes.addressof(dtypes), slots)
    add = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(
        _private.find_ufunc_api(promotion.LOOP_SLOT)
    )
    add(ufunc, ctypes.addressof(spec))
    return name, buffers


def make_resolver(code: FunctionCode, numbers: tuple[int, ...]) -> tuple[promotion.Slot, object]:
    """Make the slot that names the structures of operands with these type numbers, and the memory that it needs.

    NumPy casts structures by the order of their fields, so a structure needs the same names in the same order.
    """
    own = find_operand_dtypes(code)
    descriptors = tuple(
        dtype if number == RECORD else np.dtype(TYPES[number].char) for number, dtype in zip(numbers, own, strict=True)
    )
    addresses = tuple(map(id, descriptors))

    def resolve(_method: int, _dtypes: int, actual: Any, chosen: Any, _view: int) -> int:
        # Every call comes here, so all that it needs is in the closure.
        casting = _NO_CASTING
        for k, address in enumerate(addresses):
            other = actual[k]
            if (
                other
                and other != address
                and not _have_same_fields(descriptors[k], ctypes.cast(other, ctypes.py_object).value)
            ):
                casting = _UNSAFE_CASTING
            increment(address)
            chosen[k] = address
        return casting

    increment = _private.find_python_api("Py_IncRef", None, ctypes.c_void_p)
    function = _Resolver(resolve)
    slot = promotion.Slot(_RESOLVE_DESCRIPTORS, ctypes.cast(function, ctypes.c_void_p).value)
    return slot, (function, descriptors)


def _have_same_fields(own: Any, other: Any) -> bool:
    """Whether the fields have the same names in the same order."""
    if own.names is None and own.subdtype is not None:
        return other.subdtype is not None and _have_same_fields(own.subdtype[0], other.subdtype[0])
    if own.names != other.names:
        return False
    return own.names is None or all(_have_same_fields(own[name], other[name]) for name in own.names)
