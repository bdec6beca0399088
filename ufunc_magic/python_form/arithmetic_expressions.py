"""C's arithmetic on Python expressions: conversions, operators, and where integers must be wrapped.

Integers are Python's, wrapped only where a result may leave its C type *and* something looks at it: a chain
of ``+ - *`` is wrapped once, at its end, because it is exact modulo 2**bits.  Known ranges (literals, loop
counters, sizes) save the wrap altogether; subscripts need none, since C leaves such an overflow undefined.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import TYPE_CHECKING

from .c_arithmetic import DOUBLE, FLOAT, INT, LONG, CType, float32, promoted, usual
from .value import ATOM, BIT_AND, BIT_OR, BIT_XOR, COMPARE, PRODUCT, SHIFT, SUM, UNARY, Expr, Stop, brief

if TYPE_CHECKING:
    from tree_sitter import Node

    from .c_cell import Cell

__all__ = ["Arithmetic"]

_PRECEDENCE = dict(
    zip(
        ("|", "^", "&", "<<", ">>", "+", "-", "*", "/"),
        (BIT_OR, BIT_XOR, BIT_AND, SHIFT, SHIFT, SUM, SUM, PRODUCT, PRODUCT),
        strict=True,
    )
)
_COMPARISONS = frozenset(("<", ">", "<=", ">=", "==", "!="))


class Arithmetic:
    """Operators on ``Expr``; ``checked`` chooses C's answer over Python's exception."""

    def __init__(self, cell: Cell, *, checked: bool) -> None:
        self.cell = cell
        self.checked = checked

    def settle(self, e: Expr) -> Expr:
        """``e`` with the value that C sees."""
        if e.logical:
            return replace(e, text=f"bool({e.text})", level=ATOM, logical=False, truth=True)
        return self.wrap(e, e.type) if e.loose else e

    def wrap(self, e: Expr, t: CType) -> Expr:
        if t.kind == "u":
            return Expr(f"{e.at(UNARY)} & {t.high:#X}".replace("0X", "0x"), t, BIT_AND)
        return Expr(f"{self.helper(f'_int{t.bits}')}({e.text})", t)

    def helper(self, name: str) -> str:
        self.cell.helpers.add(name)
        return name

    def convert(self, e: Expr, t: CType, *, node: Node | None = None, final: bool = False) -> Expr:
        """``e`` as C converts it to ``t`` on assignment, call or return (``final``: as a plain number)."""
        if t.kind in "as" or e.type.kind in "as":
            if t.kind != e.type.kind:
                raise Stop("uses a pointer where a number is expected", node)
            return e
        if "v" in (t.kind, e.type.kind):
            raise Stop("uses the value of a void expression", node)
        match t.kind:
            case "b":
                e = e if e.logical or e.truth else self.settle(e)
                return e if e.truth else Expr(f"bool({e.text})", t, truth=True)
            case "i" | "u":
                return self._to_integer(e, t, final)
            case "f":
                return self._to_float(e, t, final)
        e = self.settle(e)
        made = replace(e, type=t) if e.type.kind == "c" else Expr(f"complex({e.text})", t)
        return self.rounded(made) if e.type.bits > t.bits else made

    def _to_integer(self, e: Expr, t: CType, final: bool) -> Expr:
        if e.logical or e.truth:
            e = self.settle(e)
            return Expr(f"int({e.text})", t, low=0, high=1) if final else replace(e, type=t)
        if e.type.kind == "c":
            e = Expr(f"{e.at(ATOM)}.real", DOUBLE)
        if e.type.kind == "f":
            if e.whole:
                return replace(e, type=t, whole=False)
            if self.checked:
                inner = Expr(f"_truncate({e.text}, {t.bits if t.kind == 'i' and t.bits >= 32 else 64})", LONG)
                return replace(inner if t.kind == "i" and t.bits >= 32 else self.wrap(inner, t), type=t)
            return Expr(f"int({e.text})", t)
        if e.loose:
            if e.type.bits >= t.bits:
                return self.wrap(e, t)
            e = self.settle(e)
        low, high = e.range
        return replace(e, type=t) if t.low <= low and high <= t.high else self.wrap(e, t)

    def _to_float(self, e: Expr, t: CType, final: bool) -> Expr:
        if e.type.kind == "c":
            return Expr(f"{e.at(ATOM)}.real", t)
        if e.type.integral:
            e = self.settle(e)
            if e.value is not None:
                return Expr(repr(float(e.value)), t, UNARY if e.value < 0 else ATOM, value=float(e.value))
            if t == FLOAT and self._inexact(e, t):  # by way of double it would be rounded twice
                return Expr(f"_float32({e.text})", t)
            return Expr(f"float({e.text})", t)
        if e.whole:
            return Expr(f"float({e.text})", t)
        if self.checked and t.bits == 32 and e.type.bits > 32:
            return self.rounded(replace(e, type=t))
        return replace(e, type=t)

    def _inexact(self, e: Expr, t: CType) -> bool:
        """Whether C rounds an integer that is used as a ``t``, and Python would not (``checked``)."""
        most = {32: 1 << 24, 64: 1 << 53}.get(t.bits)
        low, high = e.range
        return self.checked and most is not None and e.type.kind in "iu" and not -most <= low <= high <= most

    def rounded(self, e: Expr) -> Expr:
        """A C float's or its complex type's result, rounded to one where results must match (``checked``)."""
        if self.checked and e.type == CType("c", 32):
            return Expr(f"_complex64({e.text})", e.type)
        if not self.checked or e.type != FLOAT:
            return e
        if isinstance(e.value, float):
            return Expr(repr(float32(e.value)), FLOAT, e.level, value=e.value)
        return Expr(f"_float32({e.text})", FLOAT)

    def binary(self, op: str, left: Expr, right: Expr, node: Node, *, spaced: bool = True) -> Expr:
        for e in (left, right):
            if not e.type.arithmetic:
                raise Stop("does pointer arithmetic" if e.type.kind == "a" else f"cannot say `{brief(node)}`", node)
        if op in _COMPARISONS:
            return self.compare(op, left, right)
        if left.type.integral and right.type.integral:
            return self.integer(op, left, right, spaced)
        if op not in ("+", "-", "*", "/"):
            raise Stop(f"applies `{op}` to a floating-point number", node)
        left, right = self.settle(left), self.settle(right)
        t = usual(left.type, right.type)
        if t == FLOAT:
            left, right = (self._to_float(e, t, False) if self._inexact(e, t) else e for e in (left, right))
        if op == "/" and self.checked and (t.kind == "c" or not right.value):
            name = "_cdiv" if t.kind == "c" else "_fdiv"
            return self.rounded(Expr(f"{name}({left.text}, {right.text})", t))
        if op == "*" and self.checked and t.kind == "c":
            return self.rounded(Expr(f"_cmul({left.text}, {right.text})", t))
        if left.whole and (right.whole or right.type.integral):
            left = Expr(f"float({left.text})", t)
        elif right.whole and left.type.integral:
            right = Expr(f"float({right.text})", t)
        return self.rounded(self.infix(op, left, right, t, spaced))

    def infix(self, op: str, left: Expr, right: Expr, t: CType, spaced: bool) -> Expr:
        level = _PRECEDENCE[op]
        gap = " " if spaced or level < PRODUCT else ""
        lowest, highest = level, level + 1
        if level < SHIFT:  # nobody remembers how these bind: parentheses around all but the same operator
            lowest, highest = level if left.parts and left.parts[1] == op else UNARY, UNARY
        text = f"{left.at(lowest)}{gap}{op}{gap}{right.at(highest)}"
        return Expr(text, t, level, parts=(left.text, op, right.text))

    def compare(self, op: str, left: Expr, right: Expr) -> Expr:
        left, right = self.settle(left), self.settle(right)
        if left.type.integral and right.type.integral:
            t = usual(left.type, right.type)
            left, right = self._to_integer(left, t, False), self._to_integer(right, t, False)
        elif (t := usual(left.type, right.type)).kind == "f":  # Python compares an integer with its exact value
            left, right = (self._to_float(e, t, False) if self._inexact(e, t) else e for e in (left, right))
        text = f"{left.at(COMPARE + 1)} {op} {right.at(COMPARE + 1)}"
        return Expr(text, INT, COMPARE, low=0, high=1, truth=True)

    def integer(self, op: str, left: Expr, right: Expr, spaced: bool) -> Expr:
        if op in ("<<", ">>"):
            return self.shift(op, left, right)
        t = usual(left.type, right.type)
        if op in ("/", "%"):
            return self.divide(op, self._to_integer(left, t, False), self._to_integer(right, t, False), t, spaced)
        left, right = self.modular(left, t), self.modular(right, t)
        e = self.infix(op, left, right, t, spaced)
        if left.loose or right.loose:
            masks = [m for m in (left, right) if not m.loose and m.range[0] >= 0]
            if op == "&" and masks:
                return replace(e, low=0, high=masks[0].range[1])
            return replace(e, loose=True)
        low, high = _result_range(op, left.range, right.range, t)
        if low < t.low or high > t.high:
            return replace(e, loose=True)
        constant = None
        if left.value is not None and right.value is not None and low == high:
            constant = low
        return replace(e, low=low, high=high, value=constant)

    def modular(self, e: Expr, t: CType) -> Expr:
        """``e`` as an operand of ring arithmetic in ``t``: right modulo 2**bits is enough."""
        if e.logical or (e.loose and e.type.bits < t.bits):
            e = self.settle(e)
        low, high = e.range
        fits = not e.loose and t.low <= low and high <= t.high
        return replace(e, type=t, low=low, high=high) if fits else replace(e, type=t, low=None, high=None, loose=True)

    def divide(self, op: str, left: Expr, right: Expr, t: CType, spaced: bool) -> Expr:
        (a, b), (c, d) = left.range, right.range
        word = {"/": "//", "%": "%"}[op]
        if a >= 0 and c >= 0:
            level, gap = PRODUCT, " " if spaced or op == "%" else ""
            e = Expr(
                f"{left.at(level)}{gap}{word}{gap}{right.at(level + 1)}", t, level, parts=(left.text, word, right.text)
            )
            if left.value is not None and right.value and isinstance(left.value, int) and isinstance(right.value, int):
                constant = left.value // right.value if op == "/" else left.value % right.value
                return Expr(str(constant), t, low=constant, high=constant, value=constant)
        else:
            e = Expr(f"{self.helper('_div' if op == '/' else '_rem')}({left.text}, {right.text})", t)
        if op == "%":
            most = max(abs(c), abs(d)) - 1
            return replace(e, low=0 if a >= 0 else max(-most, t.low), high=min(b, most) if b >= 0 else 0)
        return replace(e, low=min(a, -b, 0) if a < 0 or c < 0 else 0, high=min(max(b, -a), t.high))

    def shift(self, op: str, left: Expr, right: Expr) -> Expr:
        t = promoted(left.type)
        right = self.settle(right)
        fits = right.range[0] >= 0 and right.range[1] < t.bits
        if not fits and self.checked:  # undefined in C: SIMD's answer is not that of x86's scalar shift
            right = Expr(f"{self.helper('_count')}({right.text}, {t.bits})", right.type, low=0, high=t.bits - 1)
        elif not fits:  # x86 takes the count modulo the width
            right = Expr(f"{right.at(BIT_AND)} & {t.bits - 1}", right.type, BIT_AND, low=0, high=t.bits - 1)
        left = replace(self.settle(left) if op == ">>" or left.logical else left, type=t)
        e = self.infix(op, left, right, t, True)
        if op == ">>":
            low, high = left.range
            return replace(e, low=min(low, 0), high=max(high, 0) >> right.range[0])
        if left.loose or left.range[0] < t.low >> right.range[1] or left.range[1] << right.range[1] > t.high:
            return replace(e, loose=True)
        ends = (left.range[0] << right.range[1], left.range[1] << right.range[1])
        return replace(e, low=min(ends[0], left.range[0]), high=max(ends[1], 0))

    def negative(self, e: Expr) -> Expr:
        if e.type.integral:
            e = self.modular(e, promoted(e.type))
            low, high = e.range
            negated = Expr(f"-{e.at(UNARY)}", e.type, UNARY, loose=True)
            if e.loose or -high < e.type.low or -low > e.type.high:
                return negated
            return replace(negated, loose=False, low=-high, high=-low, value=-e.value if e.value is not None else None)
        return Expr(f"-{e.at(UNARY)}", e.type, UNARY, whole=e.whole, value=-e.value if e.value is not None else None)


def _result_range(op: str, a: tuple[int, int], b: tuple[int, int], t: CType) -> tuple[int, int]:
    """Bounds of ``a op b`` without wrapping."""
    match op:
        case "+":
            return a[0] + b[0], a[1] + b[1]
        case "-":
            return a[0] - b[1], a[1] - b[0]
        case "*":
            products = [x * y for x in a for y in b]
            return min(products), max(products)
    if a[0] == a[1] and b[0] == b[1]:
        exact = {"&": operator.and_, "|": operator.or_, "^": operator.xor}[op](a[0], b[0])
        return exact, exact
    positive = [r[1] for r in (a, b) if r[0] >= 0]
    if op == "&" and positive:
        return 0, min(positive)
    if len(positive) == 2:
        return 0, (1 << max(a[1], b[1]).bit_length()) - 1
    return t.low, t.high
