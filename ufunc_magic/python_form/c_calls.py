"""C expressions that do something: assignments, ``++``, calls; and all of them together, ``Expressions``."""

from __future__ import annotations

import cmath
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .c_arithmetic import COMPLEX, DOUBLE, FLOAT, INT, LONG, VOID, CType, promoted, usual
from .c_expressions import WORDS, Readings, is_null
from .math_names import Known, known
from .value import ATOM, TERNARY, WALRUS, Expr, Stop, bare, brief, child, children, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

    from .c_cell import Routine

__all__ = ["Expressions"]

_COMPLEX_NAMES = {"arg": "carg", "real": "creal", "imag": "cimag"}
_REAL_RESULTS = frozenset(known(name)[0].call for name in ("creal", "cimag", "carg"))  # type: ignore[index]


class Expressions(Readings):
    """Translates every expression of one function."""

    def effect(self, node: Node) -> list[str]:
        """An expression evaluated for what it does, as statements."""
        node = bare(node)
        match node.type:
            case "comma_expression":
                return self.effect(child(node, "left")) + self.effect(child(node, "right"))
            case "assignment_expression":
                return self.assign(node)
            case "update_expression":
                target = self.place(child(node, "argument"))
                return [self.stored(target, self.stepped(target, node), node, augmented=True)]
            case "call_expression":
                return self.call_statement(node)
            case "cast_expression" if text_of(child(node, "type")) == "void":
                return [] if child(node, "value").type == "identifier" else self.effect(child(node, "value"))
            case "identifier" | "number_literal":
                return []
        return [self.value(node).text]

    def _comma_expression(self, node: Node) -> Expr:
        if self.before is None:
            raise Stop("uses the comma operator inside a condition", node)
        self.before += self.effect(child(node, "left"))
        return self.value(child(node, "right"))

    def assign(self, node: Node) -> list[str]:
        op, value_node = text_of(child(node, "operator")), child(node, "right")
        target = self.place(child(node, "left"))
        if op == "=" and value_node.type == "assignment_expression":  # a = b = 0
            inner = self.assign(value_node)
            last = self.place(child(value_node, "left"))
            return [*inner, self.stored(target, last, node)]
        if op == "=" and value_node.type == "initializer_list":
            raise Stop(f"cannot say `{brief(node)}`", node)
        value = self.value(value_node)
        if op == "=":
            return [self.stored(target, value, node)]
        word = WORDS.get(op[:-1].removesuffix("_eq"), op[:-1])
        return [self.stored(target, self.binary(word, target, value, node), node, augmented=True)]

    def stored(self, target: Expr, value: Expr, node: Node, *, augmented: bool = False) -> str:
        """The statement that stores ``value``; ``x += y`` where that is all it does."""
        if target.type.kind == "a":
            raise Stop(f"moves the pointer `{target.text}`", node)
        value = self.convert(value, target.type, node=node)
        if target.type.kind == "s" and not value.text.endswith(")"):
            value = Expr(f"SimpleNamespace(**vars({value.text}))", value.type)
        if augmented and value.parts and value.parts[0] == target.text:
            return f"{target.text} {value.parts[1]}= {value.parts[2]}"
        return f"{target.text} = {value.at(TERNARY)}"

    def stepped(self, target: Expr, node: Node) -> Expr:
        """The value after ``++`` or ``--``."""
        if not target.type.arithmetic:
            raise Stop("does pointer arithmetic", node)
        op = text_of(child(node, "operator"))[0]
        one = Expr("1", target.type if target.type.integral else INT, low=1, high=1, value=1)
        value = self.binary(op, target, one, node)
        if target.low is not None and value.loose is False:  # a counter keeps its range
            value = replace(value, low=target.low, high=target.high)
        return replace(value, parts=(target.text, op, "1")) if value.parts else value

    def _update_expression(self, node: Node) -> Expr:
        target = self.place(child(node, "argument"))
        prefix = node.children[0].type in ("++", "--")
        once = self.statement is not None and _times(self.statement, text_of(child(node, "argument"))) == 1
        steps = self.before if prefix else self.after
        if once and steps is not None:
            steps.append(self._augmented(target, node))
            return target
        after = self._walrus(target, self.stepped(target, node), node)
        if prefix:
            return after
        back = {"+": "-", "-": "+"}[text_of(child(node, "operator"))[0]]
        return self.binary(back, after, Expr("1", INT, low=1, high=1, value=1), node)

    def _augmented(self, target: Expr, node: Node) -> str:
        value = self.convert(self.stepped(target, node), target.type, node=node)
        if value.parts and value.parts[0] == target.text:
            return f"{target.text} {value.parts[1]}= {value.parts[2]}"
        return f"{target.text} = {value.text}"

    def _assignment_expression(self, node: Node) -> Expr:
        target = self.place(child(node, "left"))
        if self.before is not None:
            self.before += self.assign(node)
            return target
        op = text_of(child(node, "operator"))
        value = self.value(child(node, "right"))
        value = value if op == "=" else self.binary(op[:-1], target, value, node)
        return self._walrus(target, value, node)

    def _walrus(self, target: Expr, value: Expr, node: Node) -> Expr:
        if not target.text.isidentifier():
            raise Stop(f"assigns inside an expression: `{brief(node)}`", node)
        value = self.convert(value, target.type, node=node)
        return replace(value, text=f"{target.text} := {value.text}", level=WALRUS, parts=None, value=None)

    def _call_expression(self, node: Node) -> Expr:
        function = child(node, "function")
        arguments = children(child(node, "arguments"))
        meant = self.named_cast(node.child_by_field_name("function"))
        if meant is not None and len(arguments) == 1:
            return self.convert(self.value(arguments[0]), meant, node=node)
        if self.cell.cplus:
            made = self.cplus_call(function, arguments, node)
            if made is not None:
                return made
        name = _plain_name(function)
        routine = self.cell.routine(name, len(arguments))
        if routine is not None:
            text, targets, t = self.own_call(routine, arguments, node)
            return self._first(text, targets, t, node) if targets else Expr(text, t)
        if name in ("frexp", "frexpf", "modf", "modff") and len(arguments) == 2:
            t = FLOAT if name in ("frexpf", "modff") else DOUBLE
            python = "frexp" if name.startswith("frexp") else "modf"
            text = f"math.{python}({self.settled(arguments[0]).text})"
            return self._first(text, [self.address(arguments[1])], t, node)
        return self.library_call(name, arguments, node)

    def cplus_call(self, function: Node, arguments: Sequence[Node], node: Node) -> Expr | None:
        """Casts and the few functions that only C++ has."""
        name = text_of(function).removeprefix("std::")
        cast_names = ("static_cast", "template_function")
        if function.type in cast_names and name.startswith("static_cast<"):
            inner = next(n for n in walk(function) if n.type == "type_descriptor")
            return self.cast(self.value(arguments[0]), inner, node)
        t = self.cell.type_of(name) if len(arguments) == 1 else None
        if t is not None and t.arithmetic:
            return self.convert(self.value(arguments[0]), t, node=node)
        t = self.cell.type_of(name) if len(arguments) == 2 else None
        if t is not None and t.kind == "c":
            return Expr(f"complex({', '.join(self.settled(a).text for a in arguments)})", t)
        name = _plain_name(function).removeprefix("std::")
        if name in ("min", "max") and len(arguments) == 2 and self.cell.routine(name, 2) is None:
            left, right = self.settled(arguments[0]), self.settled(arguments[1])
            t = usual(left.type, right.type)
            return Expr(f"{name}({self.convert(left, t).text}, {self.convert(right, t).text})", t)
        if function.type == "field_expression" and name.rpartition(".")[2] in ("real", "imag") and not arguments:
            return self._field_expression(function)
        return None

    def library_call(self, name: str, arguments: Sequence[Node], node: Node) -> Expr:
        short = name.removeprefix("__builtin_").removeprefix("std::")
        if short in ("inff", "inf", "huge_val", "huge_valf", "nan", "nanf"):
            return Expr("math.nan" if short.startswith("nan") else "math.inf", DOUBLE)
        found = known(_COMPLEX_NAMES.get(short, name) if self.cell.cplus else name)
        if found is None:
            where = (
                "which is not defined in the cell" if self.cell.has_prototype(name) else "which Python does not have"
            )
            raise Stop(f"calls `{short}`, {where}", node)
        entry, t = found
        values = [self.settled(a) for a in arguments]
        if any(not v.type.arithmetic for v in values) or not values:
            raise Stop(f"cannot say `{brief(node)}`", node)
        if self.cell.cplus and t == DOUBLE and values[0].type.kind in "fc":  # overloads of <cmath>
            t = next((v.type for v in values if v.type.kind == "c"), values[0].type)
        return self.known_call(entry, t, values)

    def known_call(self, entry: Known, t: CType, values: list[Expr]) -> Expr:
        call = entry.checked if self.checked and entry.checked else entry.call
        if t.kind == "c" and call == "math.pow":
            return self.known_call(known("cpow")[0], t, values)  # type: ignore[index]
        if t.kind == "c" and call.startswith("math."):
            if not hasattr(cmath, call[5:]):
                raise Stop(f"calls `{call[5:]}` with a complex number, which Python does not have")
            call = f"c{call}"
        if entry.call == "abs" and entry.result == "same" and values[0].type.integral:
            return self._absolute(values[0])
        if self.checked and t.kind == "f" and entry.result != "same":
            # The second argument of ldexp and its kind stays an integer.
            count = 1 if "ldexp" in entry.call else len(values)
            values = [*(self._argument(v, t) for v in values[:count]), *values[count:]]
        if entry.call in ("min", "max") and not self.checked:
            values = [self.convert(v, t) if v.type.integral or v.whole else v for v in values]
        text = (
            call.format(*(v.at(entry.inner) for v in values))
            if "{" in call
            else f"{call}({', '.join(v.text for v in values)})"
        )
        if entry.call == "{0}":
            return values[0]
        if "_round" in call:
            self.helper("_round")
        kinds = {
            "float": t,
            "same": values[0].type,
            "int": INT,
            "long": LONG,
            "bool": INT,
            "complex": replace(COMPLEX, bits=t.bits),
        }
        result = kinds[entry.result]
        if (entry.result == "float" and entry.call in _REAL_RESULTS) or (entry.call == "abs" and result.kind == "c"):
            result = replace(result, kind="f")
        level = entry.precedence if "{" in call else ATOM
        flag = entry.result == "bool"
        whole = entry.whole and not self.checked
        return self.rounded(
            Expr(text, result, level, truth=flag, whole=whole, low=0 if flag else None, high=1 if flag else None)
        )

    def _argument(self, e: Expr, t: CType) -> Expr:
        """An argument as a parameter of type ``t`` holds it, where that changes its value."""
        return (
            self._to_float(e, t, False) if self._inexact(e, t) or (e.type.kind == "f" and e.type.bits > t.bits) else e
        )

    def _absolute(self, e: Expr) -> Expr:
        t = promoted(e.type)
        low, high = e.range
        loose = max(high, -low) > t.high
        return Expr(f"abs({e.text})", t, low=None if loose else 0, high=None if loose else max(high, -low), loose=loose)

    def own_call(self, routine: Routine, arguments: Sequence[Node], node: Node) -> tuple[str, list[Expr], CType]:
        """A call of one of the cell's functions: its text, the places its results go to, its type."""
        if routine.main and not routine.plain:
            raise Stop(f"calls itself (`{routine.name}`) with pointers", node)
        if len(arguments) != len(routine.parameters):
            raise Stop(f"calls `{routine.name}` with {len(arguments)} arguments", node)
        given: list[str] = []
        targets: list[Expr] = []
        absent = [p.cell and self.nowhere(a) for p, a in zip(routine.parameters, arguments, strict=False)]
        if any(absent):
            forms = zip(routine.parameters, absent, strict=True)
            routine = replace(routine, parameters=tuple(replace(p, null=null) for p, null in forms))
        for parameter, argument in zip(routine.parameters, arguments, strict=False):
            if parameter.null:
                continue
            if parameter.cell:
                place = self.address(argument) if not parameter.reference else self.place(argument)
                if place.type != parameter.type:
                    raise Stop(f"passes `{brief(argument)}` as another type", node)
                if parameter.reads:
                    given.append(place.text)
                if parameter.writes:
                    targets.append(place)
            else:
                e = self.value(argument)
                if parameter.type.kind == "a" and (e.type.kind != "a" or _depth(e.type) != _depth(parameter.type)):
                    raise Stop(f"passes `{brief(argument)}` as an array", node)
                given.append(self.convert(e, parameter.type, node=node).text)
        return f"{self.cell.request(routine)}({', '.join(given)})", targets, routine.returns

    def nowhere(self, node: Node) -> bool:
        """Whether an argument is a null pointer."""
        return is_null(bare(node)) or self.points(bare(node)) is False

    def address(self, node: Node) -> Expr:
        """The place whose address an argument is."""
        node = bare(node)
        if node.type == "pointer_expression" and text_of(child(node, "operator")) == "&":
            return self.place(child(node, "argument"))
        found = self.variable(text_of(node)) if node.type == "identifier" else None
        if found is not None and found.cell:
            return self.pointed(found, node)
        e = self.value(node)
        if e.type.kind == "a" and e.type.of is not None:
            return Expr(f"{e.at(ATOM)}[0]", e.type.of)
        raise Stop(f"passes the pointer `{brief(node)}`", node)

    def _first(self, text: str, targets: list[Expr], t: CType, node: Node) -> Expr:
        """The value of a call that also stores through pointers, which must stand before the statement."""
        if self.before is None:
            raise Stop(f"calls `{brief(node)}`, which stores through a pointer, inside a condition", node)
        if t == VOID:
            raise Stop("uses the value of a void function", node)
        name = self.cell.fresh("result")
        self.before.append(f"{name}, {', '.join(p.text for p in targets)} = {text}")
        return Expr(name, t)

    def call_statement(self, node: Node) -> list[str]:
        function, arguments = child(node, "function"), children(child(node, "arguments"))
        name = _plain_name(function)
        routine = self.cell.routine(name, len(arguments))
        if routine is not None:
            text, targets, t = self.own_call(routine, arguments, node)
            names = (["_"] if t != VOID and targets else []) + [p.text for p in targets]
            return [f"{', '.join(names)} = {text}" if names else text]
        if name in ("sincos", "sincosf", "__builtin_sincos") and len(arguments) == 3:
            angle = self.settled(arguments[0])
            pairs = zip(("sin", "cos"), arguments[1:], strict=True)
            return [self.stored(self.address(a), self.known_call(known(f)[0], DOUBLE, [angle]), node) for f, a in pairs]  # type: ignore[index]
        return [self.value(node).text]


def _plain_name(function: Node) -> str:
    while function.type == "template_function":
        function = child(function, "name")
    text = text_of(function)
    return text.partition("<")[0] if function.type == "qualified_identifier" else text


def _depth(t: CType) -> int:
    return 1 + _depth(t.of) if t.kind == "a" and t.of else 0


def _times(node: Node, name: str) -> int:
    return sum(1 for n in walk(node) if n.type == "identifier" and text_of(n) == name)
