"""Cython's literals and names as Python's: locals, what the module level has, constants of C, attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..c_arithmetic import BOOL, COMPLEX, DOUBLE, FLOAT, INT, LONG, CType
from ..math_names import CONSTANTS, LIMITS
from ..value import ATOM, UNARY, Expr, Variable
from .cython_arithmetic import Operators
from .cython_cell import Cell, Routine
from .cython_tree import dotted, kind, stop
from .cython_types import INDEX, OBJECT

__all__ = ["Names", "Unknown"]

#: Builtins that a text may use by name, beside those that are called.
BUILTINS = frozenset(
    "True False None NotImplemented Exception ValueError TypeError ZeroDivisionError OverflowError IndexError "
    "KeyError ArithmeticError AssertionError RuntimeError StopIteration AttributeError MemoryError LookupError "
    "FloatingPointError int float bool complex str list tuple dict set bytes object range".split()
)


class Unknown(Exception):
    """Internal: the type of an untyped variable is not known yet."""


class Names(Operators):
    """Translates literals, names and attributes."""

    def __init__(self, cell: Cell, *, checked: bool, directives: Mapping[str, Any]) -> None:
        super().__init__(cell, checked=checked, directives=directives)
        self.variables: dict[str, Variable] = {}
        self.untyped: dict[str, CType | None] = {}
        self.routine: Routine | None = None

    def value(self, node: Any) -> Expr:
        for base in type(node).__mro__:
            method = getattr(self, f"_{base.__name__}", None)
            if method is not None:
                found: Expr = method(node)
                return found
        raise stop(f"uses `{self.text(node)}`, which has no Python form", node)

    def value_for(self, node: Any, t: CType) -> Expr:
        """The value of ``node`` where it is put into a ``t`` at once: Cython reads ``**`` differently there."""
        if kind(node) == "PowNode" and t.arithmetic:
            left, right = self.value(node.operand1), self.value(node.operand2)
            made = self.direct_power(left, right, t, spaced=self.spaced(node))
            if made is not None:
                return made
        return self.value(node)

    def settled(self, node: Any) -> Expr:
        return self.settle(self.value(node))

    def text(self, node: Any) -> str:
        """The line of the cell in which a node stands, shortened."""
        line = self.own.lines[node.pos[1] - 1].strip() if node.pos and node.pos[1] <= len(self.own.lines) else ""
        return line if len(line) <= 60 else line[:57] + "..."

    def spaced(self, node: Any) -> bool:
        """Whether the cell has a space before the operator of ``node``."""
        row, column = node.pos[1] - 1, node.pos[2]
        line = self.own.lines[row] if row < len(self.own.lines) else ""
        return not (0 < column <= len(line)) or line[column - 1].isspace()

    # -- literals ---------------------------------------------------------------------------------

    def _IntNode(self, node: Any) -> Expr:
        text = str(node.value)
        text = text if text.lower().startswith("0x") else text.rstrip("uUlL")
        try:
            value = int(text.replace("_", ""), 0)
        except ValueError:
            value = int(text, 8)
            text = f"0o{value:o}"
        t = INT if -(1 << 31) <= value < 1 << 31 and not node.longness else LONG
        if node.unsigned:
            t = replace(t, kind="u")
        elif not t.low <= value <= t.high:
            t = CType("u", 64) if 0 <= value < 1 << 64 else OBJECT
        return Expr(text, t, UNARY if value < 0 else ATOM, low=value, high=value, value=value)

    def _FloatNode(self, node: Any) -> Expr:
        text = str(node.value)
        return Expr(text, DOUBLE, UNARY if text.startswith("-") else ATOM, value=float(text.replace("_", "")))

    def _ImagNode(self, node: Any) -> Expr:
        return Expr(f"{node.value}j", COMPLEX)

    def _BoolNode(self, node: Any) -> Expr:
        return Expr(
            str(bool(node.value)), BOOL, low=int(node.value), high=int(node.value), truth=True, value=node.value
        )

    def _NoneNode(self, node: Any) -> Expr:
        return Expr("None", OBJECT)

    def _EllipsisNode(self, node: Any) -> Expr:
        return Expr("...", OBJECT)

    def _UnicodeNode(self, node: Any) -> Expr:
        return Expr(repr(str(node.value)), OBJECT)

    _IdentifierStringNode = _UnicodeNode
    _StringNode = _UnicodeNode

    def _BytesNode(self, node: Any) -> Expr:
        return Expr(repr(bytes(node.value, "latin-1") if isinstance(node.value, str) else bytes(node.value)), OBJECT)

    def _CharNode(self, node: Any) -> Expr:
        value = node.value if isinstance(node.value, int) else ord(node.value)
        return Expr(str(value), INT, low=value, high=value, value=value)

    def _JoinedStrNode(self, node: Any) -> Expr:
        template, values = "", []
        for part in node.values:
            if kind(part) == "FormattedValueNode":
                spec = part.format_spec
                written = str(spec.value) if spec is not None and hasattr(spec, "value") else ""
                mark = f"!{part.conversion_char}" if part.conversion_char else ""
                template += "{" + mark + (f":{written}" if written else "") + "}"
                values.append(self.settled(part.value).text)
            else:
                template += str(part.value).replace("{", "{{").replace("}", "}}")
        return Expr(f"{template!r}.format({', '.join(values)})", OBJECT)

    # -- names ------------------------------------------------------------------------------------

    def _NameNode(self, node: Any) -> Expr:
        name = str(node.name)
        found = self.variables.get(name)
        if found is not None:
            return Expr(found.name, found.type, low=found.low, high=found.high, truth=found.type.kind == "b")
        if name in self.untyped:
            t = self.untyped[name]
            if t is None:
                raise Unknown
            return Expr(name, t, truth=t.kind == "b")
        return self.outer(name, node)

    def outer(self, name: str, node: Any) -> Expr:
        """A name of the module level."""
        cell = self.own
        if name in cell.enumerators:
            cell.wanted.add(name)
            return Expr(name, INT)
        if name in cell.constants:
            cell.wanted.add(name)
            t = cell.constant_type(name)
            return Expr(name, t, truth=t.kind == "b")
        if name in cell.imports:
            return Expr(self.imported(name), OBJECT)
        if name in cell.types.cimports:
            return self.c_constant(cell.types.cimports[name].rpartition(".")[2], node)
        if name in cell.externs:
            return self.c_constant(cell.externs[name], node)
        if name in cell.functions:
            routine = cell.functions[name][0]
            cell.routines[name] = routine
            return Expr(name, OBJECT)
        if name in cell.classes:
            raise stop(f"uses the class `{name}`", node)
        if name in BUILTINS or name in ("len", "abs", "min", "max", "sum", "print", "sorted"):
            return Expr(name, OBJECT)
        raise stop(f"uses `{name}`, which the cell does not define", node)

    def imported(self, name: str) -> str:
        """The Python spelling of an imported name, and its import asked for.

        In the checked text ``math`` is C's; what the cell imported from Python must stay Python's.
        """
        found = self.own.imports[name]
        if self.checked and found.full in ("math", "cmath"):
            self.own.imported[name] = f"import {found.full} as python_{found.full}"
            return f"python_{found.full}"
        self.own.imported[name] = found.text
        return name

    def c_constant(self, name: str, node: Any) -> Expr:
        """A constant of C's headers."""
        if name in ("pi", "e", "M_PI", "M_E"):
            return Expr(f"math.{name.removeprefix('M_').lower()}", DOUBLE)
        if name in CONSTANTS:
            text, level = CONSTANTS[name]
            return Expr(text, FLOAT if name in ("INFINITY", "NAN") else DOUBLE, level)
        if name in LIMITS:
            value, t = LIMITS[name]
            return Expr(str(value), t, UNARY if value < 0 else ATOM, low=value, high=value, value=value)
        raise stop(f"uses `{name}`, which comes from C", node)

    def _AttributeNode(self, node: Any) -> Expr:
        path = dotted(node).split(".")
        root, name = path[0], str(node.attribute)
        local = root in self.variables or root in self.untyped
        if root and not local and root not in self.own.constants:
            if root in self.own.types.enums and len(path) == 2:
                return self.outer(name, node)
            if root in self.own.imports:
                return Expr(".".join([self.imported(root), *path[1:]]), OBJECT)
            if root in self.own.types.cimports:
                if self.own.types.cimports[root] == "cython" and name == "compiled":
                    return Expr("False", BOOL, truth=True, value=False)
                return self.c_constant(name, node)
        e = self.settled(node.obj)
        return self.attribute(e, name, node)

    def attribute(self, e: Expr, name: str, node: Any) -> Expr:
        text = f"{e.at(ATOM)}.{name}"
        match e.type.kind:
            case "c" if name in ("real", "imag"):
                return Expr(text, CType("f", e.type.bits))
            case "s" if name in dict(e.type.fields):
                return Expr(text, dict(e.type.fields)[name])
            case "a" if self.in_lists(e.type):
                return self._list_attribute(e, name, node)
            case "a" | "n" | "o" if name in ("size", "ndim", "shape"):
                return Expr(text, OBJECT if name == "shape" else INDEX, low=0, high=1 << 48)
            case "a" | "n" | "o":
                return Expr(text, e.type if name == "T" else OBJECT)
        raise stop(f"uses `.{name}`: `{self.text(node)}`", node)

    def in_lists(self, t: CType) -> bool:
        """Whether an array is a list here: those of ufuncs with core dimensions, and C arrays."""
        return t.kind == "a" and (self.own.lists or t.length is not None)

    def _list_attribute(self, e: Expr, name: str, node: Any) -> Expr:
        sizes, inner, t = [], e.at(ATOM), e.type
        while t.kind == "a" and t.of is not None:
            sizes.append(f"len({inner})")
            inner, t = f"{inner}[0]", t.of
        match name:
            case "shape":
                return Expr(f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})", OBJECT)
            case "size":
                return Expr("*".join(sizes), INDEX, 11 if len(sizes) > 1 else ATOM, low=0, high=1 << 48)
            case "ndim":
                return Expr(str(len(sizes)), INT, value=len(sizes))
            case "T" if len(sizes) == 2:
                return Expr(f"[list(column) for column in zip(*{e.text})]", e.type)
        raise stop(f"uses `.{name}` of an array", node)
