"""What Cython cells call that is not their own: C's library, builtins, ``cython.``, ``std::vector``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..c_arithmetic import COMPLEX, DOUBLE, INT, LONG, CType, promoted
from ..math_names import Known, known
from ..value import ATOM, Expr
from .cython_tree import dotted, kind, stop
from .cython_types import INDEX, OBJECT
from .cython_values import Values

__all__ = ["UNKNOWN", "Library", "zero"]

#: Modules of Cython's ``libc`` and ``libcpp`` whose functions pyloop knows.
_MATH = ("libc.math", "libc.stdlib", "libc.complex", "libcpp.cmath", "libcpp.complex", "numpy.math", "libcpp.algorithm")
_ALIKE = {"min": "fmin", "max": "fmax"}
UNKNOWN = frozenset("ilogb logb".split())


class Library(Values):
    """Translates calls of functions that are known by name."""

    def _arguments(self, args: Sequence[Any], keywords: dict[str, Any]) -> str:
        parts = [self.settled(a).text for a in args]
        parts += [f"{name}={self.settled(value).text}" for name, value in keywords.items()]
        return ", ".join(parts)

    def _plain_call(self, function: Expr, args: Sequence[Any], keywords: dict[str, Any]) -> Expr:
        inner = self._arguments(args, keywords)
        if len(args) == 1 and not keywords and kind(args[0]) == "GeneratorExpressionNode":
            inner = inner[1:-1]
        return Expr(f"{function.at(ATOM)}({inner})", OBJECT)

    # -- C's library ------------------------------------------------------------------------------

    def _c_call(self, full: str, args: list[Any], keywords: dict[str, Any], node: Any) -> Expr:
        module, _, name = full.rpartition(".")
        if module.partition(".")[0] == "cython":
            return self._cython(name, args, keywords, node)
        if full == "libcpp.algorithm.sort" and len(args) == 2 and dotted(args_base(args[0])):
            return Expr(f"{self.settled(args_base(args[0])).text}.sort()", OBJECT)
        if full == "libcpp.vector.vector":
            raise stop("makes a vector without a type", node)
        if full == "numpy.import_array":
            return Expr("None", OBJECT)
        if module in _MATH:
            entry = known(_ALIKE.get(name, name) if module == "libcpp.algorithm" else name)
            if entry is not None:
                return self._known(entry[0], entry[1], args, node)
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
                return Expr(f"abs({values[0].text})", promoted(values[0].type), low=0)
        else:
            values = [self._given_double(v, t, node) for v in values]
        call = entry.checked if self.checked and entry.checked else entry.call
        if "_round" in call:
            self.helper("_round")
        if self.checked and entry.result == "long":
            call = "_truncate(_round({0}), 64)" if "_round" in call else "_truncate(_rint({0}), 64)"
        if call == "{0}":
            return values[0]
        inner = [v.at(entry.inner) for v in values]
        text = call.format(*inner) if "{" in call else f"{call}({', '.join(v.text for v in values)})"
        results = {"float": t, "same": values[0].type, "int": INT, "long": LONG, "bool": INT, "complex": COMPLEX}
        result = results[entry.result]
        if entry.call == "abs" and result.kind == "c":
            result = CType("f", result.bits)
        level = entry.precedence if "{" in call else ATOM
        made = Expr(text, result, level, truth=entry.result == "bool", whole=entry.whole and call == entry.call)
        return self.rounded(made)

    def _given_double(self, e: Expr, t: CType, node: Any) -> Expr:
        if e.type.kind == "o" or e.type.integral or self.checked:
            made = self.convert(e, replace(t, kind="f") if t.kind == "f" else DOUBLE, node=node)
            return made if self.checked else replace(made, text=self.settle(e).text)
        return self.convert(e, DOUBLE, node=node)

    # -- cython.something -------------------------------------------------------------------------

    def _cython(self, name: str, args: list[Any], keywords: dict[str, Any], node: Any) -> Expr:
        types = self.own.types
        match name:
            case "cast" if len(args) == 2:
                return self.cast(self.value(args[1]), types.annotated(args[0]), node)
            case "declare" if len(args) == 2:
                return self.convert(self.value(args[1]), types.annotated(args[0]), node=node)
            case "sizeof" if args:
                return self.size(types.annotated(args[0]), node)
            case "cdiv" | "cmod" if len(args) == 2:
                left, right = self.settled(args[0]), self.settled(args[1])
                t = self.common(left.type, right.type)
                if t.integral:
                    self.own.truncates = True
                    return self.divide("/" if name == "cdiv" else "%", left, right, t, True)
            case "prange":
                return Expr(f"range({self._arguments(args, {})})", OBJECT)
            case "threadid":
                return Expr("0", INT, low=0, high=0, value=0)
        if len(args) == 1 and not keywords:
            t = types.by_path(["cython", name], node) if "cython" in types.cimports else OBJECT
            if t.arithmetic:
                return self.cast(self.value(args[0]), t, node)
        raise stop(f"uses cython.{name}", node)

    # -- builtins ---------------------------------------------------------------------------------

    def _builtin(self, name: str, args: list[Any], keywords: dict[str, Any], node: Any) -> Expr:
        if keywords or not args or kind(args[0]) in ("GeneratorExpressionNode", "ComprehensionNode"):
            return self._plain_call(Expr(name, OBJECT), args, keywords)
        values = [self.settled(a) for a in args]
        numbers = all(v.type.arithmetic for v in values)
        text = f"{name}({', '.join(v.text for v in values)})"
        match name:
            case "len":
                return Expr(text, INDEX, low=0, high=1 << 48)
            case "abs" if numbers:
                t = values[0].type
                return Expr(text, CType("f", t.bits) if t.kind == "c" else promoted(t))
            case "min" | "max" if numbers and len(values) > 1:
                return self._extreme(name, values)
            case "float" if numbers:
                return self.cast(values[0], DOUBLE, node) if values[0].type.kind != "f" else values[0]
            case "pow" if len(values) == 2 and numbers:
                return self.operate("**", values[0], values[1], node)
            case "bool" if numbers:
                return Expr(text, OBJECT, truth=True)
        return Expr(text, OBJECT)

    def _extreme(self, name: str, values: list[Expr]) -> Expr:
        t = values[0].type
        for v in values[1:]:
            t = self.common(t, v.type)
        if self.checked:
            values = [self.convert(v, t) for v in values]
        made = Expr(f"{name}({', '.join(v.text for v in values)})", t)
        if not t.integral:
            return made
        pick = min if name == "min" else max
        return replace(made, low=pick(v.range[0] for v in values), high=pick(v.range[1] for v in values))

    # -- std::vector --------------------------------------------------------------------------------

    def _of_vector(self, base: Expr, name: str, args: list[Any], node: Any) -> Expr:
        v, of = base.at(ATOM), base.type.of or OBJECT
        match name, len(args):
            case "size", 0:
                return Expr(f"len({base.text})", CType("u", INDEX.bits), low=0, high=1 << 48)
            case "push_back" | "emplace_back", 1:
                return Expr(f"{v}.append({self.convert(self.value(args[0]), of).text})", OBJECT)
            case "pop_back", 0:
                return Expr(f"{v}.pop()", OBJECT)
            case "back", 0:
                return Expr(f"{v}[-1]", of)
            case "front", 0:
                return Expr(f"{v}[0]", of)
            case "at", 1:
                return Expr(f"{v}[{self.subscript(args[0])}]", of)
            case "empty", 0:
                return Expr(f"not {v}", CType("b", 1), 4, truth=True)
            case "clear", 0:
                return Expr(f"{v}.clear()", OBJECT)
            case "reserve", 1:
                return Expr("", OBJECT)
            case "assign", 2:
                return Expr(f"{v}[:] = [{self.settled(args[1]).text}]*{self.settled(args[0]).at(13)}", OBJECT)
            case "resize", 1 | 2:
                fill = self.settled(args[1]).text if len(args) == 2 else zero(of)
                return Expr(
                    f"{v}[:] = ({v} + [{fill}]*{self.settled(args[0]).at(13)})[:{self.settled(args[0]).text}]", OBJECT
                )
        raise stop(f"uses std::vector's {name}()", node)

    def _constructed(self, function: Any, args: list[Any], node: Any) -> Expr:
        """``vector[double](n, x)``."""
        name = dotted(function.base) if kind(function) == "IndexNode" else ""
        if self.own.types.cimports.get(name) != "libcpp.vector.vector":
            return self._plain_call(self.settled(function), args, {})
        of = self.own.types.by_path(dotted(function.index).split("."), node)
        if not args:
            return Expr("[]", CType("V", of=of))
        if len(args) > 2:
            raise stop(f"uses `{self.text(node)}`", node)
        fill = self.convert(self.value(args[1]), of).text if len(args) == 2 else zero(of)
        return Expr(f"[{fill}]*{self.settled(args[0]).at(13)}", CType("V", of=of), 11)


def args_base(node: Any) -> Any:
    """``v`` of ``v.begin()``."""
    function = getattr(node, "function", None)
    return getattr(function, "obj", node)


def zero(t: CType) -> str:
    """What C puts into memory that it clears."""
    match t.kind:
        case "f":
            return "0.0"
        case "c":
            return "0j"
        case "b":
            return "False"
        case "V":
            return "[]"
    return "0"
