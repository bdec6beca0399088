"""Cython's types, of analysed nodes, entries and functions, as the IR's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...ir import BOOL, INDEX, INT, OBJECT, VOID, CType, find_named_type, make_array_type
from ._private import PyrexTypes
from .cdef_variant import strip_qualifiers

#: A pointer to a function, as the lowerer of C has it.
_FUNCTION = CType("?", name="()")


def find_ir_type(kind: Any, around: frozenset[str] = frozenset()) -> CType:
    """The IR's type for a type of Cython's.  An array with a length is one of C's, a memoryview's is not known.

    ``around`` are the structures that it is a member of.
    """
    if kind is None:
        return CType("?")
    if kind.is_memoryviewslice or getattr(kind, "is_buffer", False):
        return make_array_type(find_ir_type(kind.dtype), (None,) * kind.ndim)
    kind = strip_qualifiers(kind).resolve()
    if kind.is_void:
        return VOID
    if kind.is_pyobject:
        # An instance of an extension type of the cell has fields; another object has attributes.
        return CType("?", name=str(kind)) if kind.is_extension_type and not kind.is_external else OBJECT
    if kind.is_array:
        return make_array_type(
            find_ir_type(kind.base_type, around), (kind.size if isinstance(kind.size, int) else None,)
        )
    if kind.is_ptr:
        return _FUNCTION if kind.base_type.is_cfunction else _point_to(find_ir_type(kind.base_type, around))
    if getattr(kind, "is_ctuple", False):
        return CType("t", fields=tuple((f"f{n}", find_ir_type(of)) for n, of in enumerate(kind.components)))
    if kind.is_struct_or_union and str(kind) not in around and not getattr(kind, "is_union", kind.kind == "union"):
        members = getattr(kind.scope, "var_entries", None) or ()
        inner = around | {str(kind)}
        return CType("V", fields=tuple((str(e.name), find_ir_type(e.type, inner)) for e in members), name=str(kind))
    return _read_number(kind) or CType("?", name=str(kind))


def _point_to(to: CType) -> CType:
    return CType("a", of=replace(to, name="*") if to.kind == "a" and to.length is None else to)


def _read_number(kind: Any) -> CType | None:
    if kind is PyrexTypes.c_bint_type:
        return BOOL
    if kind.is_enum:
        return INT
    if str(kind) == "Py_ssize_t":
        return INDEX
    if kind is PyrexTypes.soft_complex_type:  # `x ** y`, a complex number until it is known to be real
        return CType("c", 64)
    if kind.is_complex:
        real = find_ir_type(kind.real_type)
        return CType("c", real.bits) if real.kind == "f" else None
    return find_named_type(str(kind), {}, {}) if kind.is_numeric else None
