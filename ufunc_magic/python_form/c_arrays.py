"""C expressions over NumPy arrays: ``np.where`` for ``?:``, ``&`` for ``&&``, integers that wrap by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .c_arithmetic import CType, usual
from .c_calls import Expressions
from .math_names import Known
from .value import BIT_AND, BIT_OR, COMPARE, UNARY, Expr, Stop, child, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from .c_cell import Cell, Routine

__all__ = ["ArrayExpressions"]

_NUMPY = {"i": "int", "u": "uint", "f": "float", "c": "complex"}


class ArrayExpressions(Expressions):
    """Expressions over arrays: integers wrap by themselves as long as NumPy's type is C's."""

    def __init__(self, cell: Cell, routine: Routine) -> None:
        super().__init__(cell, routine, checked=False)

    def wrap(self, e: Expr, t: CType) -> Expr:
        if t != e.type:
            raise Stop("narrows an integer")
        return replace(e, loose=False)

    def settle(self, e: Expr) -> Expr:
        return self.wrap(e, e.type) if e.loose else e

    def condition(self, node: Node) -> Expr:
        e = self.value(node)
        if not e.type.arithmetic:
            raise Stop("asks whether a pointer is null", node)
        return e if e.truth else Expr(f"{e.at(COMPARE + 1)} != 0", e.type, COMPARE, truth=True)

    def logical(self, op: str, left_node: Node, right_node: Node) -> Expr:
        left, right = self.condition(left_node), self.condition(right_node)
        word, level = ("&", BIT_AND) if op == "&&" else ("|", BIT_OR)
        return Expr(f"{left.at(level)} {word} {right.at(level + 1)}", left.type, level, truth=True)

    def _unary_expression(self, node: Node) -> Expr:
        if text_of(child(node, "operator")) == "!":
            e = self.value(child(node, "argument"))
            if e.truth:
                return Expr(f"~{e.at(UNARY)}", e.type, UNARY, truth=True)
            return Expr(f"{e.at(COMPARE + 1)} == 0", e.type, COMPARE, truth=True)
        e = super()._unary_expression(node)
        if self.value(child(node, "argument")).truth:
            raise Stop("calculates with a truth value", node)
        return e

    def binary(self, op: str, left: Expr, right: Expr, node: Node, *, spaced: bool = True) -> Expr:
        if op in ("<", ">", "<=", ">=", "==", "!=") and left.type.arithmetic and right.type.arithmetic:
            both = left.type.integral and right.type.integral and left.value is None and right.value is None
            if both and left.type != right.type:
                raise Stop("compares integers of different types", node)
            return self.compare(op, left, right)
        if left.truth or right.truth:
            raise Stop("calculates with a truth value", node)
        return super().binary(op, left, right, node, spaced=spaced)

    def compare(self, op: str, left: Expr, right: Expr) -> Expr:
        return Expr(f"{left.at(COMPARE + 1)} {op} {right.at(COMPARE + 1)}", left.type, COMPARE, truth=True)

    def integer(self, op: str, left: Expr, right: Expr, spaced: bool) -> Expr:
        t = usual(left.type, right.type)
        for e in (left, right):
            if e.type != t and e.value is None:
                raise Stop("mixes integer types, or ones narrower than int")
        if op in ("/", "%"):
            raise Stop("divides integers")
        if op in ("<<", ">>") and right.value is None:
            raise Stop("shifts by a variable")
        return self.infix(op, left, right, t, spaced)

    def _conditional_expression(self, node: Node) -> Expr:
        test = self.condition(child(node, "condition"))
        left, right = self.value(child(node, "consequence")), self.value(child(node, "alternative"))
        return self.where(test, left, right, node)

    def where(self, test: Expr, left: Expr, right: Expr, node: Node) -> Expr:
        if not (left.type.arithmetic and right.type.arithmetic):
            raise Stop("chooses between structures", node)
        t = left.type if left.type == right.type else usual(left.type, right.type)
        left, right = self.convert(left, t), self.convert(right, t)
        return Expr(f"np.where({test.text}, {left.text}, {right.text})", t)

    def convert(self, e: Expr, t: CType, *, node: Node | None = None, final: bool = False) -> Expr:
        if not (e.type.arithmetic and t.arithmetic):
            raise Stop("is not arithmetic", node)
        if e.truth and t.kind == "b":
            return e
        if e.truth and t.kind != "b":
            return Expr(f"({e.text}).astype({self.dtype(t)})", t)
        if t.kind == "b":
            return Expr(f"{e.at(COMPARE + 1)} != 0", t, COMPARE, truth=True)
        if e.value is not None and t.kind in "fc":
            return replace(e, text=repr(float(e.value)), type=t) if e.type.integral else replace(e, type=t)
        if e.type.kind == t.kind and (t.kind in "fc" or e.type == t):
            return replace(e, type=t, loose=False)
        if t.kind == "c" or (e.type.integral and t.kind == "f" and not final):
            return replace(e, type=t)
        if e.type.kind == "c":
            return Expr(f"{e.at(14)}.real", t)
        if e.value is not None and isinstance(e.value, int) and t.low <= e.value <= t.high:
            return replace(e, type=t)
        return Expr(f"{e.at(14)}.astype({self.dtype(t)})", t)

    def dtype(self, t: CType) -> str:
        if t.bits > 64 or (t.bits == 16 and t.kind == "f"):
            raise Stop("converts to a type NumPy spells otherwise")
        return "bool" if t.kind == "b" else f"np.{_NUMPY[t.kind]}{t.bits * (2 if t.kind == 'c' else 1)}"

    def known_call(self, entry: Known, t: CType, values: list[Expr]) -> Expr:
        if not entry.vector or any(v.truth for v in values):
            raise Stop(f"calls `{entry.call}`, which NumPy does not have")
        result = super().known_call(entry, t, values)
        if "{" in entry.vector:
            text = entry.vector.format(*(v.at(14) for v in values))
            level = next((lv for mark, lv in ((" > ", 5), (" < ", 5), (" + ", 10), ("**", 13)) if mark in text), 14)
            level = 14 if text.startswith("np.") else level
            return replace(result, text=text, level=level, whole=False, parts=None)
        return replace(
            result, text=f"{entry.vector}({', '.join(v.text for v in values)})", level=14, whole=False, loose=False
        )

    def _subscript_expression(self, node: Node) -> Expr:
        e = super()._subscript_expression(node)
        if e.text.endswith("]"):
            raise Stop("looks up a table", node)
        return e

    def _update_expression(self, node: Node) -> Expr:
        raise Stop("changes a variable inside an expression", node)

    _assignment_expression = _update_expression
    _comma_expression = _update_expression

    def own_call(self, routine: Routine, arguments: Sequence[Node], node: Node) -> tuple[str, list[Expr], CType]:
        # np.where calculates both branches: a recursion would never end.
        if routine.main or routine.name == self.routine.name:
            raise Stop("calls itself", node)
        return super().own_call(routine, arguments, node)

    def _first(self, text: str, targets: list[Expr], t: CType, node: Node) -> Expr:
        raise Stop("stores through a pointer", node)
