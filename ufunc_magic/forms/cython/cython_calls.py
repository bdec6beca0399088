"""Calls in a Cython cell: of its own functions, of methods, and of what is known by name."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...ir import DOUBLE, CType, promoted
from ..math_names import known
from ..value import Expr, call, python
from .cython_cell import CythonRoutine
from .cython_tree import dotted, kind, stop
from .cython_types import INDEX, OBJECT
from .cython_values import Values

#: Modules of Cython's ``libc`` and ``libcpp`` whose functions are known.
_MATH = ("libc.math", "libc.stdlib", "libc.complex", "libcpp.cmath", "libcpp.complex", "numpy.math")


class Calls(Values):
    """Translates calls."""

    def _SimpleCallNode(self, node: Any) -> Expr:
        return self._called(node, list(node.args), {})

    def _GeneralCallNode(self, node: Any) -> Expr:
        positional = node.positional_args
        keywords = node.keyword_args
        if kind(positional) != "TupleNode" or (keywords is not None and kind(keywords) != "DictNode"):
            raise stop(f"calls with unpacked arguments: `{self.brief(node)}`", node)
        pairs = keywords.key_value_pairs if keywords is not None else []
        return self._called(node, list(positional.args), {str(p.key.value): p.value for p in pairs})

    def _called(self, node: Any, args: list[Any], keywords: dict[str, Any]) -> Expr:
        function, cell = node.function, self.cell
        name = dotted(function)
        root = name.partition(".")[0]
        if not name or root in self.variables or root in self.untyped:
            return self._method(function, args, keywords, node)
        if name in cell.functions:
            return self._own(cell.functions[name], args, keywords, node)
        of_c = "." not in name and cell.types.cimports.get(root, "").startswith(("libc.", "libcpp."))
        if root in cell.imports and not of_c:
            return self._plain_call(self.value(function), args, keywords)
        if root in cell.types.cimports:
            return self._c_call(".".join([cell.types.cimports[root], *name.split(".")[1:]]), args, keywords, node)
        if name in cell.externs:
            return self._c_call(cell.externs[name], args, keywords, node)
        if root in cell.constants or root != name:
            return self._method(function, args, keywords, node)
        if name in ("abs", "min", "max", "len", "float", "pow"):
            return self._builtin(name, args, keywords, node)
        return self._plain_call(self.outer(name, node), args, keywords)

    def _plain_call(self, function: Expr, args: Sequence[Any], keywords: Mapping[str, Any]) -> Expr:
        named = {name: self.settled(value) for name, value in keywords.items()}
        return Expr(call(function, *map(self.settled, args), **named), OBJECT)

    # -- the cell's own ---------------------------------------------------------------------------

    def _own(self, routines: Sequence[CythonRoutine], args: list[Any], keywords: dict[str, Any], node: Any) -> Expr:
        routine = next((r for r in routines if len(r.parameters) == len(args) + len(keywords)), routines[0])
        self.cell.routines[routine.name] = routine
        values = []
        for position, argument in enumerate(args):
            t = self.parameter_type(routine, position) if position < len(routine.parameters) else OBJECT
            values.append(self.convert(self.value_for(argument, t), t, node=node, final=True))
        named = {name: self.settled(argument) for name, argument in keywords.items()}
        t = self.result_type(routine)
        return Expr(call(routine.name, *values, **named), t, truth=t.kind == "b")

    def parameter_type(self, routine: CythonRoutine, position: int) -> CType:
        parameter = routine.parameters[position]
        if parameter.name in routine.locals:
            return self.cell.types.annotated(routine.locals[parameter.name])
        if parameter.node.annotation is not None:
            return self.cell.types.annotated(parameter.node.annotation)
        return OBJECT if parameter.base is None else self.cell.types.declared(parameter.base, parameter.node.declarator)

    def result_type(self, routine: CythonRoutine) -> CType:
        """What a call gives: a Python object where the cell names no type, None's object for ``void``."""
        if routine.returns is None:
            return OBJECT
        types = self.cell.types
        return (
            types.named(routine.returns) if kind(routine.node) == "CFuncDefNode" else types.annotated(routine.returns)
        )

    def _method(self, function: Any, args: list[Any], keywords: dict[str, Any], node: Any) -> Expr:
        if kind(function) != "AttributeNode":
            return self._plain_call(self.settled(function), args, keywords)
        base = self.settled(function.obj)
        name = str(function.attribute)
        if base.type.kind == "c" and name == "conjugate":
            return Expr(python("{}.conjugate()", base), base.type)
        if base.type.kind == "a" and self.in_lists(base.type):
            raise stop(f"uses `.{name}()` of an array", node)
        if base.type.kind in "pv":
            raise stop(f"calls `.{name}`", node)
        return self._plain_call(Expr(ast.Attribute(base.node, name), OBJECT), args, keywords)

    # -- C's library ------------------------------------------------------------------------------

    def _c_call(self, full: str, args: list[Any], keywords: dict[str, Any], node: Any) -> Expr:
        module, _, name = full.rpartition(".")
        if module.partition(".")[0] == "cython":
            return self._cython(name, args, node)
        if full == "numpy.import_array":
            return Expr(ast.Constant(None), OBJECT)
        if module in ("", *_MATH) and (entry := known(name)) is not None:
            return self.known_call(*entry, [self.value(a) for a in args], node)
        if name in ("min", "max", "abs") and module.startswith("libc"):
            return self._builtin(name, args, keywords, node)
        raise stop(f"calls `{name}`, which comes from C", node)

    # -- cython.something -------------------------------------------------------------------------

    def _cython(self, name: str, args: list[Any], node: Any) -> Expr:
        if name == "cast" and len(args) == 2:
            return self.cast(self.value(args[1]), self.cell.types.annotated(args[0]), node)
        raise stop(f"uses cython.{name}", node)

    # -- builtins ---------------------------------------------------------------------------------

    def _builtin(self, name: str, args: list[Any], keywords: dict[str, Any], node: Any) -> Expr:
        if keywords or not args:
            return self._plain_call(Expr(ast.Name(name), OBJECT), args, keywords)
        values = [self.settled(a) for a in args]
        numbers = all(v.type.arithmetic for v in values)
        plain = Expr(call(name, *values), OBJECT)
        t = values[0].type
        match name:
            case "len":
                return replace(plain, type=INDEX, low=0, high=1 << 48)
            case "abs" if numbers:
                return replace(plain, type=CType("f", t.bits) if t.kind == "c" else promoted(t))
            case "min" | "max" if numbers and len(values) > 1:
                return self.extreme(name, values)
            case "float" if numbers:
                return values[0] if t.kind == "f" else self.cast(values[0], DOUBLE, node)
            case "pow" if len(values) == 2 and numbers:
                return self.operate("**", values[0], values[1], node)
        return plain
