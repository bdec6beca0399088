"""C's arithmetic on Python expressions: conversions, operators, calls, and where integers must be wrapped.

Integers are Python's, wrapped only where a result may leave its C type *and* something looks at it: a chain
of ``+ - *`` is wrapped once, at its end, because it is exact modulo 2**bits.  Known ranges (literals, loop
counters, sizes) save the wrap altogether; subscripts need none, since C leaves such an overflow undefined.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from .c_arithmetic import COMPLEX, DOUBLE, FLOAT, INT, LONG, SIZE, CType, float32, promoted, usual
from .math_names import CONSTANTS, LIMITS, Known
from .value import Expr, Spelled, Stop, call, number, operation, python

COMPARISONS = frozenset(("<", ">", "<=", ">=", "==", "!="))


class Needs(Protocol):
    """Where it is noted which helpers the text needs."""

    helpers: set[str]


def constant(value: int, t: CType, text: str = "") -> Expr:
    """An integer constant, spelled as the cell has it."""
    return Expr(number(Spelled(value, text) if text else value), t, low=value, high=value, value=value)


def header_constant(name: str) -> Expr | None:
    """A constant of C's headers."""
    if name in CONSTANTS:
        text = CONSTANTS[name]
        plain = "/" not in text and text != "math.nan"
        return Expr(python(text), DOUBLE, value=1.0 if plain else None)
    return constant(*LIMITS[name]) if name in LIMITS else None


def zero(t: CType) -> ast.expr:
    """A variable of type ``t``, zeroed."""
    match t.kind:
        case "f":
            return number(0.0)
        case "c":
            return number(0j)
        case "b":
            return ast.Constant(False)
        case "V":
            return ast.List([])
        case "a" if t.of is not None and t.length is not None:
            return array(zero(t.of), [number(t.length)], copied=t.of.kind in "as")
        case "s":
            return call("SimpleNamespace", **{name: zero(of) for name, of in t.fields})
    return number(0)


def array(element: ast.expr, sizes: Sequence[ast.expr], *, copied: bool = False) -> ast.expr:
    """Nested lists of ``element``, of the given lengths; ``copied``: each element a new one."""
    for size in reversed(sizes):
        element = python("[{} for _ in range({})]" if copied else "[{}] * {}", element, size)
        copied = True
    return element


def length(name: str, depth: int) -> ast.expr:
    """``len(name[0]...)`` of nested lists."""
    return python(f"len({name}{'[0]' * depth})")


class Arithmetic:
    """Operators on ``Expr``; ``checked`` chooses C's answer over Python's exception."""

    def __init__(self, cell: Needs, *, checked: bool) -> None:
        self.needs = cell
        self.checked = checked

    def stop(self, reason: str, node: Any) -> Stop:
        """The exception for what has no Python form, at ``node`` of the reader's tree."""
        raise NotImplementedError

    def brief(self, node: Any) -> str:
        """The cell's words at ``node``."""
        raise NotImplementedError

    def settle(self, e: Expr) -> Expr:
        """``e`` with the value that C sees."""
        if e.logical:
            return replace(e, node=call("bool", e), logical=False, truth=True)
        return self.wrap(e, e.type) if e.loose else e

    def wrap(self, e: Expr, t: CType) -> Expr:
        if t.kind == "u":
            return Expr(operation("&", e, number(Spelled(t.high, f"0x{t.high:X}"))), t)
        return Expr(call(self.helper(f"_int{t.bits}"), e), t)

    def helper(self, name: str) -> str:
        self.needs.helpers.add(name)
        return name

    # -- conversions ------------------------------------------------------------------------------

    def convert(self, e: Expr, t: CType, *, node: Any = None, final: bool = False) -> Expr:
        """``e`` as C converts it to ``t`` on assignment, call or return (``final``: as a plain number)."""
        if t.kind in "as" or e.type.kind in "as":
            if t.kind != e.type.kind:
                raise self.stop("uses a pointer where a number is expected", node)
            return e
        if "v" in (t.kind, e.type.kind):
            raise self.stop("uses the value of a void expression", node)
        match t.kind:
            case "b":
                e = e if e.logical or e.truth else self.settle(e)
                return e if e.truth else Expr(call("bool", e), t, truth=True)
            case "i" | "u":
                return self.to_integer(e, t, final=final)
            case "f":
                return self.to_float(e, t)
        e = self.settle(e)
        as_complex = replace(e, type=t) if e.type.kind == "c" else Expr(call("complex", e), t)
        return self.rounded(as_complex) if e.type.bits > t.bits else as_complex

    def to_integer(self, e: Expr, t: CType, *, final: bool = False) -> Expr:
        if e.logical or e.truth:
            e = self.settle(e)
            return Expr(call("int", e), t, low=0, high=1) if final else replace(e, type=t)
        if e.type.kind == "c":
            e = Expr(python("{}.real", e), DOUBLE)
        if e.type.kind == "f":
            if e.whole:
                return replace(e, type=t, whole=False)
            if self.checked:
                wide = t.kind == "i" and t.bits >= 32
                inner = Expr(call("_truncate", e, t.bits if wide else 64), LONG)
                return replace(inner if wide else self.wrap(inner, t), type=t)
            return Expr(call("int", e), t)
        if e.loose:
            if e.type.bits >= t.bits:
                return self.wrap(e, t)
            e = self.settle(e)
        low, high = e.range
        return replace(e, type=t) if t.low <= low and high <= t.high else self.wrap(e, t)

    def to_float(self, e: Expr, t: CType) -> Expr:
        if e.type.kind == "c":
            return Expr(python("{}.real", e), t)
        if e.type.integral:
            e = self.settle(e)
            if e.value is not None:
                return Expr(number(float(e.value)), t, value=float(e.value))
            # A float by way of double would be rounded twice.
            return Expr(call("_float32" if t == FLOAT and self.inexact(e, t) else "float", e), t)
        if e.whole:
            return Expr(call("float", e), t)
        if self.checked and t.bits == 32 and e.type.bits > 32:
            return self.rounded(replace(e, type=t))
        return replace(e, type=t)

    def inexact(self, e: Expr, t: CType) -> bool:
        """Whether C rounds an integer that is used as a ``t``, and Python would not (``checked``)."""
        most = {32: 1 << 24, 64: 1 << 53}.get(t.bits)
        low, high = e.range
        return self.checked and most is not None and e.type.kind in "iu" and not -most <= low <= high <= most

    def rounded(self, e: Expr) -> Expr:
        """A C float's or its complex type's result, rounded to one where results must match (``checked``)."""
        if self.checked and e.type == CType("c", 32):
            return Expr(call("_complex64", e), e.type)
        if not self.checked or e.type != FLOAT:
            return e
        if isinstance(e.value, float):
            return Expr(number(float32(e.value)), FLOAT, value=e.value)
        return Expr(call("_float32", e), FLOAT)

    def sizeof(self, t: CType, node: Any) -> Expr:
        if t.size is None:
            raise self.stop(f"asks for `{self.brief(node)}`, which has no meaning in Python", node)
        return constant(t.size, SIZE)

    # -- operators --------------------------------------------------------------------------------

    def binary(self, op: str, left: Expr, right: Expr, node: Any) -> Expr:
        for e in (left, right):
            if not e.type.arithmetic:
                pointer = e.type.kind == "a"
                raise self.stop("does pointer arithmetic" if pointer else f"cannot say `{self.brief(node)}`", node)
        if op in COMPARISONS:
            return self.compare(op, left, right)
        if left.type.integral and right.type.integral:
            return self.integer(op, left, right)
        if op not in ("+", "-", "*", "/"):
            raise self.stop(f"applies `{op}` to a floating-point number", node)
        left, right = self.settle(left), self.settle(right)
        t = usual(left.type, right.type)
        if t == FLOAT:
            left, right = (self.to_float(e, t) if self.inexact(e, t) else e for e in (left, right))
        if op == "/" and self.checked and (t.kind == "c" or not right.value):
            return self.rounded(Expr(call("_cdiv" if t.kind == "c" else "_fdiv", left, right), t))
        if op == "*" and self.checked and t.kind == "c":
            return self.rounded(Expr(call("_cmul", left, right), t))
        if left.whole and (right.whole or right.type.integral):
            left = Expr(call("float", left), t)
        elif right.whole and left.type.integral:
            right = Expr(call("float", right), t)
        return self.rounded(Expr(operation(op, left, right), t))

    def compare(self, op: str, left: Expr, right: Expr) -> Expr:
        left, right = self.settle(left), self.settle(right)
        if left.type.integral and right.type.integral:
            t = usual(left.type, right.type)
            left, right = self.to_integer(left, t), self.to_integer(right, t)
        elif (t := usual(left.type, right.type)).kind == "f":  # Python compares an integer with its exact value
            left, right = (self.to_float(e, t) if self.inexact(e, t) else e for e in (left, right))
        return Expr(operation(op, left, right), INT, low=0, high=1, truth=True)

    def integer(self, op: str, left: Expr, right: Expr) -> Expr:
        if op in ("<<", ">>"):
            return self.shift(op, left, right)
        t = usual(left.type, right.type)
        if op in ("/", "%"):
            return self.divide(op, self.to_integer(left, t), self.to_integer(right, t), t)
        left, right = self.modular(left, t), self.modular(right, t)
        e = Expr(operation(op, left, right), t)
        if left.loose or right.loose:
            masks = [m for m in (left, right) if not m.loose and m.range[0] >= 0]
            if op == "&" and masks:
                return replace(e, low=0, high=masks[0].range[1])
            return replace(e, loose=True)
        low, high = _result_range(op, left.range, right.range, t)
        if low < t.low or high > t.high:
            return replace(e, loose=True)
        known = low if left.value is not None and right.value is not None and low == high else None
        return replace(e, low=low, high=high, value=known)

    def modular(self, e: Expr, t: CType) -> Expr:
        """``e`` as an operand of ring arithmetic in ``t``: right modulo 2**bits is enough."""
        if e.logical or (e.loose and e.type.bits < t.bits):
            e = self.settle(e)
        low, high = e.range
        fits = not e.loose and t.low <= low and high <= t.high
        return replace(e, type=t, low=low, high=high) if fits else replace(e, type=t, low=None, high=None, loose=True)

    def divide(self, op: str, left: Expr, right: Expr, t: CType) -> Expr:
        """C's ``/`` or ``%`` of integers, which rounds to zero."""
        (a, b), (c, d) = left.range, right.range
        if a >= 0 and c >= 0:
            if left.value is not None and right.value and isinstance(left.value, int) and isinstance(right.value, int):
                return constant(left.value // right.value if op == "/" else left.value % right.value, t)
            e = Expr(operation("//" if op == "/" else "%", left, right), t)
        else:
            e = Expr(call(self.helper("_div" if op == "/" else "_rem"), left, right), t)
        if op == "%":
            most = max(abs(c), abs(d)) - 1
            return replace(e, low=0 if a >= 0 else max(-most, t.low), high=min(b, most) if b >= 0 else 0)
        return replace(e, low=min(a, -b, 0) if a < 0 or c < 0 else 0, high=min(max(b, -a), t.high))

    def shift(self, op: str, left: Expr, right: Expr) -> Expr:
        t = promoted(left.type)
        right = self.settle(right)
        fits = right.range[0] >= 0 and right.range[1] < t.bits
        if not fits and self.checked:  # undefined in C: SIMD's answer is not that of x86's scalar shift
            right = Expr(call(self.helper("_count"), right, t.bits), right.type, low=0, high=t.bits - 1)
        elif not fits:  # x86 takes the count modulo the width
            right = Expr(operation("&", right, t.bits - 1), right.type, low=0, high=t.bits - 1)
        left = replace(self.settle(left) if op == ">>" or left.logical else left, type=t)
        e = Expr(operation(op, left, right), t)
        if op == ">>":
            low, high = left.range
            return replace(e, low=min(low, 0), high=max(high, 0) >> right.range[0])
        if left.loose or left.range[0] < t.low >> right.range[1] or left.range[1] << right.range[1] > t.high:
            return replace(e, loose=True)
        ends = (left.range[0] << right.range[1], left.range[1] << right.range[1])
        return replace(e, low=min(ends[0], left.range[0]), high=max(ends[1], 0))

    def negative(self, e: Expr) -> Expr:
        value = -e.value if e.value is not None else None
        if not e.type.integral:
            return Expr(ast.UnaryOp(ast.USub(), e.node), e.type, whole=e.whole, value=value)
        e = self.modular(e, promoted(e.type))
        low, high = e.range
        negated = Expr(ast.UnaryOp(ast.USub(), e.node), e.type, loose=True)
        if e.loose or -high < e.type.low or -low > e.type.high:
            return negated
        return replace(negated, loose=False, low=-high, high=-low, value=value)

    def chosen(self, test: Expr, left: Expr, right: Expr, t: CType) -> Expr:
        """``left if test else right``."""
        e = Expr(ast.IfExp(test.node, left.node, right.node), t, truth=left.truth and right.truth)
        if t.integral and left.type.integral and right.type.integral:
            return replace(e, low=min(left.range[0], right.range[0]), high=max(left.range[1], right.range[1]))
        return e

    def extreme(self, name: str, values: Sequence[Expr]) -> Expr:
        """``min`` or ``max`` of numbers."""
        t = functools.reduce(lambda a, b: a if a == b else usual(a, b), (v.type for v in values))
        values = [self.convert(v, t) for v in values]
        e = Expr(call(name, *values), t)
        if not t.integral:
            return e
        pick = min if name == "min" else max
        return replace(e, low=pick(v.range[0] for v in values), high=pick(v.range[1] for v in values))

    # -- C's library ------------------------------------------------------------------------------

    def library(self, entry: Known, t: CType, values: Sequence[Expr], written: str = "") -> Expr:
        """A call of a function that Python knows by another name; ``written``: how, where not as in the table."""
        template = written or (entry.checked if self.checked and entry.checked else entry.call)
        if template == "{0}":
            return values[0]
        if "_round" in template:
            self.helper("_round")
        types = {
            "float": t,
            "same": values[0].type,
            "int": INT,
            "long": LONG,
            "bool": INT,
            "complex": replace(COMPLEX, bits=t.bits),
        }
        of = types[entry.result]
        if of.kind == "c" and entry.real:
            of = replace(of, kind="f")
        node = python(template, *values) if "{" in template else call(template, *values)
        whole = entry.whole and not self.checked
        flag = entry.result == "bool"
        return self.rounded(Expr(node, of, 0 if flag else None, 1 if flag else None, truth=flag, whole=whole))


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
