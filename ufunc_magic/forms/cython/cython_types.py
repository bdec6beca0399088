"""Cython's spellings of types, as C types: declarations, annotations, the type names of libc and NumPy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...ir import BOOL, COMPLEX, DOUBLE, INT, SIZE, CType, from_number, named_type
from .cython_tree import dotted, kind, stop

#: What C's types do not have: "o" a Python object, "t" a tuple of C values, "p" a pointer.
OBJECT = CType("o")
INDEX = CType("i", SIZE.bits)

_PLAIN = {
    "bint": BOOL,
    "Py_ssize_t": INDEX,
    "ndarray": OBJECT,
    "complex": COMPLEX,
}
#: NumPy's declarations call C's double ``float_t`` and its pointer-sized integer ``int_t``.
_NUMPY = {"float_t": DOUBLE, "int_t": INDEX, "uint_t": SIZE}


def spelled(text: str) -> CType | None:
    """The type that a spelling as ``unsigned long``, ``double complex`` or cython's ``ulonglong`` stands for."""
    if text in _PLAIN:
        return _PLAIN[text]
    if text.endswith("complex"):
        inner = spelled(text.removesuffix("complex").strip())
        return CType("c", inner.bits) if inner is not None and inner.kind == "f" else None
    short = re.fullmatch(r"([us]?)(char|short|int|long(?=long)|long|)(long|double|)", text)
    if short:
        text = f"{'unsigned' if short[1] == 'u' else ''} {short[2]} {short[3]}".strip()
    return named_type(text, {}, {})


def _numpys(name: str) -> CType | None:
    """The type that NumPy's declarations call ``name``: ``float32_t``, ``npy_intp``."""
    if name in _NUMPY:
        return _NUMPY[name]
    short = name.removeprefix("npy_").removesuffix("_t")
    if (t := spelled(short)) is not None:
        return t
    try:
        return from_number(np.dtype(short).num)
    except TypeError:
        return None


class CythonTypes:
    """The type names of one cell: its typedefs, fused types and structures.

    ``fused`` says which C type each fused type stands for at the moment, ``cimports`` what names were
    cimported as.
    """

    def __init__(self) -> None:
        self.typedefs: dict[str, tuple[Any, Any]] = {}
        self.structs: set[str] = set()
        self.enums: set[str] = set()
        self.fused: Mapping[str, str] = {}
        self.fused_names: dict[str, list[Any]] = {}
        self.cimports: dict[str, str] = {}

    def declared(self, base: Any, declarator: Any) -> CType:
        """The type of one declarator of ``cdef base declarator``."""
        return self._around(self.named(base), declarator)

    def _around(self, t: CType, declarator: Any) -> CType:
        match kind(declarator):
            case "CNameDeclaratorNode":
                return t
            case "CPtrDeclaratorNode":
                return self._around(CType("p", of=t), declarator.base)
            case "CArrayDeclaratorNode":
                size = getattr(declarator.dimension, "constant_result", None)
                if not isinstance(size, int):
                    raise stop("has an array whose length is not a number", declarator)
                return self._around(CType("a", of=t, length=size), declarator.base)
            case "CConstDeclaratorNode":
                return self._around(t, declarator.base)
        raise stop("uses a reference or a pointer to a function", declarator)

    def named(self, node: Any) -> CType:
        """The type of a base type node."""
        match kind(node):
            case "CSimpleBaseTypeNode":
                return self._simple(node)
            case "MemoryViewSliceTypeNode":
                return _view(self.named(node.base_type_node), len(node.axes))
            case "CQualifierTypeNode" | "CConstTypeNode" | "CConstOrVolatileTypeNode":
                return self.named(node.base_type)
            case "CTupleBaseTypeNode":
                parts = tuple((f"f{i}", self.named(part)) for i, part in enumerate(node.components))
                return CType("t", fields=parts)
            case "CComplexBaseTypeNode":
                return self._around(self.named(node.base_type), node.declarator)
            case "TemplatedTypeNode":
                return self._template(node)
            case "NameNode" | "AttributeNode":
                return self.by_path(dotted(node).split("."), node)
        raise stop("uses a type without a Python form", node)

    def _template(self, node: Any) -> CType:
        base = node.base_type_node
        size = getattr(node.positional_args[0], "constant_result", None) if node.positional_args else None
        if isinstance(size, int):  # `cdef double[3] x`
            return CType("a", of=self.named(base), length=size)
        name = base.name
        if name == "ndarray" and node.positional_args:
            keywords = node.keyword_args.key_value_pairs
            dimensions = next((p.value.constant_result for p in keywords if p.key.value == "ndim"), 1)
            return _view(self.named(node.positional_args[0]), int(dimensions))
        where = self.cimports.get(name, name)
        raise stop(f"uses std::{name}" if where.startswith("libcpp") else f"uses the template `{name}`", node)

    def _simple(self, node: Any) -> CType:
        name = node.name
        if name is None:
            return OBJECT
        if node.module_path:
            return self.by_path([*node.module_path, name], node)
        if node.is_basic_c_type:
            words = {0: "unsigned ", 1: "", 2: "signed "}[node.signed]
            size = "short " * -node.longness + "long " * node.longness
            if (t := spelled(words + size + name)) is not None:
                return CType("c", t.bits) if node.complex else t
        return self.by_path([name], node)

    def by_path(self, path: list[str], node: Any) -> CType:
        """The type under a dotted name."""
        name = path[-1]
        if (chosen := self.fused.get(name, name)) != name:
            return spelled(chosen) or self.by_path([chosen], node)
        if len(path) == 1:
            if self.fused_names.get(name):
                return max(map(self.named, self.fused_names[name]), key=_width)
            if name in self.typedefs:
                return self.declared(*self.typedefs[name])
            if name in self.structs:
                raise stop(f"uses the structure `{name}`", node)
            if name in self.enums:
                return INT
        full = ".".join([self.cimports.get(path[0], path[0]), *path[1:]])
        module = full.rpartition(".")[0]
        if module == "cython" and name in ("floating", "integral", "numeric"):
            return INT if name == "integral" else DOUBLE
        last = full.rpartition(".")[2]
        t = _numpys(last) if module == "numpy" else spelled(last)
        if t is not None:
            return t
        if not module:
            return OBJECT
        raise stop(f"uses the type `{'.'.join(path)}`", node)

    def annotated(self, node: Any) -> CType:
        """The type of an annotation or of an argument of ``cython.declare``."""
        if kind(node) == "AnnotationNode":
            node = node.expr
        match kind(node):
            case "IndexNode":
                return self._annotated_view(node.base, node.index)
            case "SliceIndexNode":
                return _view(self.annotated(node.base), 1)
            case "TupleNode":
                return CType("t", fields=tuple((f"f{i}", self.annotated(part)) for i, part in enumerate(node.args)))
        path = dotted(node).split(".")
        if path[0] in {*self.cimports, *self.typedefs, *self.fused_names, *self.structs}:
            return self.by_path(path, node)
        # Python's own words mean Python's own objects, but for these two.
        return {"float": DOUBLE, "complex": COMPLEX}.get(path[0], OBJECT)

    def _annotated_view(self, base: Any, index: Any) -> CType:
        axes = index.args if kind(index) == "TupleNode" else [index]
        if all(kind(axis) == "SliceNode" for axis in axes):
            return _view(self.annotated(base), len(axes))
        size = getattr(index, "constant_result", None)
        inner = self.annotated(base)
        return CType("a", of=inner, length=size) if isinstance(size, int) and inner.arithmetic else OBJECT


def _width(t: CType) -> tuple[bool, bool, int]:
    """Which of a fused type's types stands for it where no specialisation is asked for: the widest real one."""
    return t.kind == "f", t.kind == "c", t.bits


def _view(element: CType, dimensions: int) -> CType:
    for _ in range(dimensions):
        element = CType("a", of=element)
    return element


def name_node(declarator: Any) -> Any:
    while kind(declarator) != "CNameDeclaratorNode":
        declarator = declarator.base
    return declarator


def declared_name(declarator: Any) -> str:
    return str(name_node(declarator).name)
