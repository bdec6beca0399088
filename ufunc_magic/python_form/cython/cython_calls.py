"""Calls in a Cython cell: of its own functions, of methods, and of what is known by name: C's library, builtins,
``cython.``, ``std::vector``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..arithmetic_expressions import constant, zero
from ..c_arithmetic import DOUBLE, INT, CType, promoted
from ..math_names import Known, known
from ..value import Expr, assign, call, negation, operation, python
from .cython_cell import CythonRoutine
from .cython_tree import dotted, kind, stop
from .cython_types import INDEX, OBJECT
from .cython_values import Values

#: Modules of Cython's ``libc`` and ``libcpp`` whose functions are known.
_MATH = ("libc.math", "libc.stdlib", "libc.complex", "libcpp.cmath", "libcpp.complex", "numpy.math", "libcpp.algorithm")
_ALIKE = {"min": "fmin", "max": "fmax"}
_PYTHON_CALLS = frozenset(
    "range enumerate zip sorted reversed list tuple dict set frozenset str repr isinstance divmod all any map filter "
    "ord chr bytes bytearray hash id iter next print type format round sum slice object super getattr hasattr "
    "float int bool complex abs min max len pow callable hex bin oct "
    "Exception ValueError TypeError ZeroDivisionError OverflowError IndexError KeyError ArithmeticError "
    "AssertionError RuntimeError StopIteration AttributeError MemoryError LookupError FloatingPointError "
    "NotImplementedError OSError".split()
)


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
        if kind(function) in ("IndexNode", "TemplatedTypeNode"):
            return self._constructed(function, args, node)
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
            return self._extern(name, args, node)
        if name in cell.types.structs:
            return self._structure(name, args, keywords, node)
        if root in cell.constants or root != name:
            return self._method(function, args, keywords, node)
        if name in cell.types.typedefs or name in cell.types.fused_names:
            return self.cast(self.value(args[0]), cell.types.by_path([name], node), node)
        if name in ("abs", "min", "max", "len", "int", "float", "bool", "round", "pow", "complex", "sum"):
            return self._builtin(name, args, keywords, node)
        if name == "__import__" or name in ("eval", "exec", "open", "input", "globals", "setattr", "compile"):
            raise stop(f"calls `{name}`", node)
        callee = Expr(ast.Name(name), OBJECT) if name in _PYTHON_CALLS else self.outer(name, node)
        return self._plain_call(callee, args, keywords)

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
        if parameter.annotation is not None:
            return self.cell.types.annotated(parameter.annotation)
        return OBJECT if parameter.base is None else self.cell.types.declared(parameter.base, parameter.declarator)

    def result_type(self, routine: CythonRoutine) -> CType:
        """What a call gives: a Python object where the cell names no type, None's object for ``void``."""
        if routine.returns is None or (not routine.typed and not routine.annotated):
            return OBJECT
        types = self.cell.types
        return types.annotated(routine.returns) if routine.annotated else types.named(routine.returns)

    def _extern(self, name: str, args: list[Any], node: Any) -> Expr:
        entry = known(self.cell.externs[name])
        if entry is None:
            raise stop(f"calls `{name}`, which comes from C", node)
        return self._known(*entry, args, node)

    def _structure(self, name: str, args: list[Any], keywords: dict[str, Any], node: Any) -> Expr:
        t = self.cell.types.by_path([name], node)
        values = dict(zip([field for field, _ in t.fields], args, strict=False)) | keywords
        parts = {f: self.convert(self.value(values[f]), of) for f, of in t.fields if f in values}
        return Expr(call("SimpleNamespace", **parts), t)

    def _method(self, function: Any, args: list[Any], keywords: dict[str, Any], node: Any) -> Expr:
        if kind(function) != "AttributeNode":
            return self._plain_call(self.settled(function), args, keywords)
        base = self.settled(function.obj)
        name = str(function.attribute)
        if base.type.kind == "V":
            return self._of_vector(base, name, args, node)
        if base.type.kind == "c" and name == "conjugate":
            return Expr(python("{}.conjugate()", base), base.type)
        if base.type.kind == "a" and self.in_lists(base.type):
            if name == "copy":
                return Expr(python("{}[:]", base), base.type)
            raise stop(f"uses `.{name}()` of an array", node)
        if base.type.kind in "psv":
            raise stop(f"calls `.{name}`", node)
        return self._plain_call(Expr(ast.Attribute(base.node, name), OBJECT), args, keywords)

    # -- C's library ------------------------------------------------------------------------------

    def _c_call(self, full: str, args: list[Any], keywords: dict[str, Any], node: Any) -> Expr:
        module, _, name = full.rpartition(".")
        if module.partition(".")[0] == "cython":
            return self._cython(name, args, keywords, node)
        if full == "libcpp.algorithm.sort" and len(args) == 2 and dotted(_sequence(args[0])):
            return Expr(python("{}.sort()", self.settled(_sequence(args[0]))), OBJECT)
        if full == "libcpp.vector.vector":
            raise stop("makes a vector without a type", node)
        if full == "numpy.import_array":
            return Expr(ast.Constant(None), OBJECT)
        if module in _MATH:
            entry = known(_ALIKE.get(name, name) if module == "libcpp.algorithm" else name)
            if entry is not None:
                return self._known(*entry, args, node)
        if name in ("min", "max", "abs") and module.startswith("libc"):
            return self._builtin(name, args, keywords, node)
        raise stop(f"calls `{name}`" + (f" of {module}" if module else ""), node)

    def _known(self, entry: Known, t: CType, args: list[Any], node: Any) -> Expr:
        """A function of C's library in Python's words."""
        values = [self.value(a) for a in args]
        if entry.result == "complex" or any(v.type.kind == "c" for v in values):
            values = [self.settle(v) for v in values]
            if entry.call.startswith("math."):
                entry = replace(entry, call=f"c{entry.call}", checked="", result="complex")
        elif entry.result == "same":
            values = [self.settle(v) for v in values]
            if entry.call == "abs" and values[0].type.integral:
                return Expr(call("abs", values[0]), promoted(values[0].type), low=0)
        else:
            values = [self._as_argument(v, t, node) for v in values]
        written = ""
        if self.checked and entry.result == "long":
            written = "_truncate(_round({0}), 64)" if "_round" in entry.call else "_truncate(_rint({0}), 64)"
        return self.library(entry, t, values, written)

    def _as_argument(self, e: Expr, t: CType, node: Any) -> Expr:
        """A number as the parameter of a function that works in ``t`` holds it."""
        if self.checked:
            return self.convert(e, t if t.kind == "f" else DOUBLE, node=node)
        of = t if e.type.kind == "o" or e.type.integral else DOUBLE
        return replace(self.convert(e, of, node=node), node=self.settle(e).node)

    # -- cython.something -------------------------------------------------------------------------

    def _cython(self, name: str, args: list[Any], keywords: dict[str, Any], node: Any) -> Expr:
        types = self.cell.types
        match name:
            case "cast" if len(args) == 2:
                return self.cast(self.value(args[1]), types.annotated(args[0]), node)
            case "declare" if len(args) == 2:
                return self.convert(self.value(args[1]), types.annotated(args[0]), node=node)
            case "sizeof" if args:
                return self.sizeof(types.annotated(args[0]), node)
            case "cdiv" | "cmod" if len(args) == 2:
                left, right = self.settled(args[0]), self.settled(args[1])
                t = self.common(left.type, right.type)
                if t.integral:
                    self.cell.truncates = True
                    return self.divide("/" if name == "cdiv" else "%", left, right, t)
            case "prange":
                return self._plain_call(Expr(ast.Name("range"), OBJECT), args, {})
            case "threadid":
                return constant(0, INT)
        if len(args) == 1 and not keywords:
            t = types.by_path(["cython", name], node) if "cython" in types.cimports else OBJECT
            if t.arithmetic:
                return self.cast(self.value(args[0]), t, node)
        raise stop(f"uses cython.{name}", node)

    # -- builtins ---------------------------------------------------------------------------------

    def _builtin(self, name: str, args: list[Any], keywords: dict[str, Any], node: Any) -> Expr:
        if keywords or not args or kind(args[0]) in ("GeneratorExpressionNode", "ComprehensionNode"):
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
            case "bool" if numbers:
                return replace(plain, truth=True)
        return plain

    # -- std::vector --------------------------------------------------------------------------------

    def _of_vector(self, v: Expr, name: str, args: list[Any], node: Any) -> Expr:
        of = v.type.of or OBJECT
        match name, len(args):
            case "size", 0:
                return Expr(call("len", v), CType("u", INDEX.bits), low=0, high=1 << 48)
            case "push_back" | "emplace_back", 1:
                return Expr(python("{}.append({})", v, self.convert(self.value(args[0]), of)), OBJECT)
            case "pop_back" | "clear", 0:
                return Expr(python(f"{{}}.{name.removesuffix('_back')}()", v), OBJECT)
            case "back" | "front", 0:
                return Expr(python("{}[-1]" if name == "back" else "{}[0]", v), of)
            case "at", 1:
                return Expr(ast.Subscript(v.node, self.subscript(args[0])), of)
            case "empty", 0:
                return Expr(negation(v), CType("b", 1), truth=True)
            case "reserve", 1:
                return Expr(ast.Constant(None), OBJECT)
        raise stop(f"uses std::vector's {name}()", node)

    def vector_statement(self, node: Any) -> ast.stmt | None:
        """``v.assign(n, x)`` or ``v.resize(n)``, which give all elements anew."""
        function: Any = getattr(node, "function", None)
        name = str(function.attribute) if kind(function) == "AttributeNode" else ""
        if kind(node) != "SimpleCallNode" or name not in ("assign", "resize") or len(node.args) not in (1, 2):
            return None
        v = self.settled(function.obj)
        if v.type.kind != "V" or (name == "assign" and len(node.args) == 1):
            return None
        count = self.settled(node.args[0])
        fill = self.settled(node.args[1]) if len(node.args) == 2 else zero(v.type.of or OBJECT)
        elements = python("[{}] * {}", fill, count)
        if name == "resize":
            elements = python("({} + {})[:{}]", v, elements, count)
        return assign(python("{}[:]", v), elements)

    def _constructed(self, function: Any, args: list[Any], node: Any) -> Expr:
        """``vector[double](n, x)``."""
        name = dotted(function.base) if kind(function) == "IndexNode" else ""
        if self.cell.types.cimports.get(name) != "libcpp.vector.vector":
            return self._plain_call(self.settled(function), args, {})
        of = self.cell.types.by_path(dotted(function.index).split("."), node)
        t = CType("V", of=of)
        if not args:
            return Expr(zero(t), t)
        if len(args) > 2:
            raise stop(f"uses `{self.brief(node)}`", node)
        fill = self.convert(self.value(args[1]), of).node if len(args) == 2 else zero(of)
        return Expr(operation("*", ast.List([fill]), self.settled(args[0])), t)


def _sequence(node: Any) -> Any:
    """``v`` of ``v.begin()``."""
    function = getattr(node, "function", None)
    return getattr(function, "obj", node)
