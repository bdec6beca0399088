"""C's arithmetic on Python expressions: conversions, operators, calls, and where integers must be wrapped.

Integers are Python's, wrapped only where a result may leave its C type *and* something looks at it: a chain
of ``+ - *`` is wrapped once, at its end, because it is exact modulo 2**bits.  Known ranges (literals, loop
counters, sizes) save the wrap altogether; subscripts need none, since C leaves such an overflow undefined.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..ir import (
    COMPLEX,
    CONSTANTS,
    DOUBLE,
    FLOAT,
    INT,
    LIMITS,
    LONG,
    MATH_FUNCTIONS,
    SIZE,
    CType,
    MathFunction,
    float32,
    promoted,
    result_range,
    usual,
)
from .integer_rules import hexadecimal, marked, marked_parts
from .value import Expr, Spelled, Stop, assign, call, number, operation, python

COMPARISONS = frozenset(("<", ">", "<=", ">=", "==", "!="))


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


class Arithmetic:
    """Operators on ``Expr``; ``checked`` chooses C's answer over Python's exception.

    Marks of `integer_rules` stand where C's integers may have other values than Python's; without ``wraps`` nothing
    stands where they may leave their C type.
    """

    cell: Any
    wraps = True

    def __init__(self, cell: Any, *, checked: bool) -> None:
        self.cell = cell
        self.checked = checked

    def stop(self, reason: str, node: Any) -> Stop:
        """The exception for what has no Python form, at ``node`` of the reader's tree."""
        raise NotImplementedError

    def brief(self, node: Any) -> str:
        """The cell's words at ``node``."""
        raise NotImplementedError

    def value(self, node: Any) -> Expr:
        """What ``node`` of the reader's tree says."""
        raise NotImplementedError

    def settled(self, node: Any) -> Expr:
        return self.settle(self.value(node))

    def settle(self, e: Expr) -> Expr:
        """``e`` with the value that C sees."""
        if e.logical:
            return replace(e, node=call("bool", e), logical=False, truth=True)
        return self.wrap(e, e.type) if e.loose else e

    def wrap(self, e: Expr, t: CType) -> Expr:
        return Expr(marked(f"{'u' if t.kind == 'u' else ''}int{t.bits}", e), t)

    # -- conversions ------------------------------------------------------------------------------

    def convert(self, e: Expr, t: CType, *, node: Any = None, final: bool = False) -> Expr:
        """``e`` as C converts it to ``t`` on assignment, call or return (``final``: as a plain number)."""
        if "a" in (t.kind, e.type.kind):
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
            return Expr(marked("truth", e), t, low=0, high=1) if final else replace(e, type=t)
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
            raise self.stop(f"uses `{self.brief(node)}`, which has no meaning in Python", node)
        return constant(t.size, SIZE)

    # -- operators --------------------------------------------------------------------------------

    def binary(self, op: str, left: Expr, right: Expr, node: Any) -> Expr:
        for e in (left, right):
            if not e.type.arithmetic:
                pointer = e.type.kind == "a"
                raise self.stop(
                    "does pointer arithmetic"
                    if pointer
                    else f"contains `{self.brief(node)}`, which has no Python form",
                    node,
                )
        if op in COMPARISONS:
            return self.compare(op, left, right)
        if left.type.integral and right.type.integral:
            return self.integer(op, left, right)
        if op not in ("+", "-", "*", "/"):
            raise self.stop(f"applies `{op}` to a floating-point number", node)
        left, right = self.settle(left), self.settle(right)
        t = usual(left.type, right.type)
        self.widen(t, (left, right))
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

    def widen(self, t: CType, operands: Sequence[Expr]) -> None:
        """Note that C computes in double what comes as float, which NumPy does not."""
        self.cell.widens |= t == DOUBLE and any(e.type == FLOAT and e.value is None for e in operands)

    def compare(self, op: str, left: Expr, right: Expr) -> Expr:
        left, right = self.settle(left), self.settle(right)
        if op in ("==", "!=") and right.value == 0:
            left = self.tested(left)
        if left.type.integral and right.type.integral:
            t = usual(left.type, right.type)
            left, right = self.to_integer(left, t), self.to_integer(right, t)
        elif (t := usual(left.type, right.type)).kind == "f":  # Python compares an integer with its exact value
            left, right = (self.to_float(e, t) if self.inexact(e, t) else e for e in (left, right))
        return Expr(operation(op, left, right), INT, low=0, high=1, truth=True)

    def tested(self, e: Expr) -> Expr:
        """``e`` where all that matters is whether it is 0: a remainder's sign does not."""
        parts = marked_parts(e.node, "rem")
        return replace(e, node=operation("%", *parts)) if parts else e

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
        low, high = result_range(op, left.range, right.range)
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
            e = Expr(marked("div" if op == "/" else "rem", left, right), t)
        if op == "%":
            most = max(abs(c), abs(d)) - 1
            return replace(e, low=0 if a >= 0 else max(-most, t.low), high=min(b, most) if b >= 0 else 0)
        return replace(e, low=min(a, -b, 0) if a < 0 or c < 0 else 0, high=min(max(b, -a), t.high))

    def shift(self, op: str, left: Expr, right: Expr) -> Expr:
        t = promoted(left.type)
        right = self.settle(right)
        fits = right.range[0] >= 0 and right.range[1] < t.bits
        if not fits and self.checked:  # undefined in C: SIMD's answer is not that of x86's scalar shift
            right = Expr(call("_count", right, t.bits), right.type, low=0, high=t.bits - 1)
        elif not fits:  # x86 takes the count modulo the width
            right = Expr(marked("shift", right, t.bits - 1), right.type, low=0, high=t.bits - 1)
        left = replace(self.settle(left) if op == ">>" or left.logical else left, type=t)
        e = Expr(operation(op, left, right), t)
        if op == ">>":
            low, high = left.range
            return replace(e, low=min(low, 0), high=max(high, 0) >> right.range[0])
        if left.loose or left.range[0] < t.low >> right.range[1] or left.range[1] << right.range[1] > t.high:
            return replace(e, loose=True)
        ends = (left.range[0] << right.range[1], left.range[1] << right.range[1])
        return replace(e, low=min(ends[0], left.range[0]), high=max(ends[1], 0))

    def unary(self, op: str, e: Expr, node: Any) -> Expr:
        """``-e``, ``+e`` and ``~e``."""
        if not e.type.arithmetic or (op == "~" and not e.type.integral):
            raise self.stop(f"contains `{self.brief(node)}`, which has no Python form", node)
        e = e if self.wraps else self.settle(e)
        match op:
            case "+":
                return replace(self.settle(e), type=promoted(e.type))
            case "-":
                return self.negative(e)
        e = self.modular(e, promoted(e.type))
        if e.type.kind == "u":
            # Not ~, as below; and NumPy's unsigned numbers know no -1.
            return Expr(operation("^", e, hexadecimal(e.type.high)), e.type, loose=e.loose)
        low, high = e.range
        flipped = Expr(marked("flip", e), e.type, loose=e.loose)
        return flipped if e.loose else replace(flipped, low=~high, high=~low)

    def negative(self, e: Expr) -> Expr:
        value = -e.value if e.value is not None else None
        if not e.type.integral or not self.wraps:
            return Expr(ast.UnaryOp(ast.USub(), e.node), promoted(e.type), whole=e.whole, value=value)
        e = self.modular(e, promoted(e.type))
        low, high = e.range
        negated = Expr(ast.UnaryOp(ast.USub(), e.node), e.type, loose=True)
        if e.loose or -high < e.type.low or -low > e.type.high:
            return negated
        return replace(negated, loose=False, low=-high, high=-low, value=value)

    def common(self, left: CType, right: CType, node: Any) -> CType:
        """The type that holds either of two values."""
        if left == right:
            return left
        if not (left.arithmetic and right.arithmetic):
            raise self.stop(f"contains `{self.brief(node)}`, which has no Python form", node)
        return usual(left, right)

    def chosen(self, test: Expr, left: Expr, right: Expr, node: Any) -> Expr:
        """``left if test else right``."""
        t = self.common(left.type, right.type, node)
        left, right = self.convert(left, t, node=node), self.convert(right, t, node=node)
        e = Expr(ast.IfExp(test.node, left.node, right.node), t, truth=left.truth and right.truth)
        if t.integral:
            return replace(e, low=min(left.range[0], right.range[0]), high=max(left.range[1], right.range[1]))
        return e

    def store(self, target: Expr, value: Expr, node: Any, *, final: bool = False) -> ast.stmt:
        """The statement that puts ``value`` into a place; ``x += y`` where that is all it does."""
        e = self.convert(value, target.type, node=node, final=final)
        match e.node:
            case ast.BinOp(left=left, op=op, right=right) if left is target.node:
                return ast.AugAssign(target.node, op, right)  # type: ignore[arg-type]
        return assign(target, e)

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

    def known_call(self, entry: MathFunction, t: CType, values: Sequence[Expr], node: Any) -> Expr:
        """A call of a function of C's library, which works in the float type ``t``."""
        values = [self.settle(v) for v in values]
        if any(v.type.kind == "c" for v in values) and entry.python.startswith("math."):
            word = entry.python.removeprefix("math.")
            if f"c{word}" not in MATH_FUNCTIONS:
                raise self.stop(f"calls `{word}` with a complex number, which Python does not have", node)
            entry = MATH_FUNCTIONS[f"c{word}"]
        elif entry.result == "same" and entry.python == "abs" and values[0].type.integral:
            return self._absolute(values[0])
        elif entry.result not in ("same", "complex") and t.kind == "f":
            self.widen(t, values)
            # The second argument of ldexp and its kind stays an integer.
            count = 1 if "ldexp" in entry.python else len(values)
            values = [*(self._argument(v, t, entry) for v in values[:count]), *values[count:]]
        elif entry.python == "{0}**{1}" and all(v.type.kind != "c" for v in values):  # NumPy's power would be real
            values[0] = self.convert(values[0], COMPLEX)
        template = entry.checked if self.checked and entry.checked else entry.python
        if template == "{0}":
            return values[0]
        node = python(template, *values) if "{" in template else call(template, *values)
        types = {
            "same": values[0].type,
            "int": INT,
            "long": LONG,
            "bool": INT,
            "complex": replace(COMPLEX, bits=t.bits),
        }
        of = types.get(entry.result, t)
        if of.kind == "c" and entry.real:
            of = replace(of, kind="f")
        flag = entry.result == "bool"
        whole = entry.whole and not self.checked
        return self.rounded(Expr(node, of, 0 if flag else None, 1 if flag else None, truth=flag, whole=whole))

    def _argument(self, e: Expr, t: CType, entry: MathFunction) -> Expr:
        """An argument as a parameter of type ``t`` holds it, where that changes its value."""
        returned = entry.python in ("min", "max") and not self.checked  # as it is, not as a float
        if not e.type.arithmetic or (returned and (e.type.integral or e.whole)):
            return self.convert(e, t)
        narrows = self.checked and e.type.kind == "f" and e.type.bits > t.bits
        return self.to_float(e, t) if narrows or self.inexact(e, t) else e

    def _absolute(self, e: Expr) -> Expr:
        t = promoted(e.type)
        low, high = e.range
        loose = self.wraps and max(high, -low) > t.high
        return Expr(call("abs", e), t, None if loose else 0, None if loose else max(high, -low), loose=loose)
