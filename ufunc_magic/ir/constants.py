"""The value of a constant expression, as C computes it (C17 6.6): integers wrap, ``float`` rounds, casts truncate."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from .math_functions import CONSTANTS, LIMITS
from .nodes import (
    Binary,
    Comma,
    Conditional,
    Constant,
    Convert,
    Expression,
    Logical,
    Name,
    Unary,
)
from .types import DOUBLE, FLOAT, CType, round_to_float

Number = int | float | complex

_ARITHMETIC: dict[str, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
_INTEGER: dict[str, Callable[[int, int], int]] = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def evaluate(e: Expression, *, depth: int = 0) -> Number | None:
    """The value of a constant expression, or None: it is none, or C leaves its value undefined."""
    if depth > 100:  # a constant that needs itself
        return None
    depth += 1
    match e:
        case Constant(value=value, type=t):
            return convert(value, t)
        case Name(symbol=symbol):
            constant = symbol.initial is not None and symbol.storage in ("constant", "local")
            a = evaluate(symbol.initial, depth=depth) if constant and symbol.initial is not None else None
            return None if a is None else convert(a, symbol.type)
        case Convert(value=inner, type=t):
            a = evaluate(inner, depth=depth)
            return None if a is None else convert(a, t)
        case Unary(op=op, operand=operand, type=t):
            a = evaluate(operand, depth=depth)
            return None if a is None else _evaluate_unary(op, a, t)
        case Binary(op=op, left=left, right=right, type=t):
            a = evaluate(left, depth=depth)
            b = evaluate(right, depth=depth) if a is not None else None
            return None if a is None or b is None else _evaluate_binary(op, a, b, t)
        case Logical(op=op, left=left, right=right):
            a = evaluate(left, depth=depth)
            if a is None or bool(a) is (op == "||"):
                return None if a is None else int(bool(a))
            b = evaluate(right, depth=depth)
            return None if b is None else int(bool(b))
        case Conditional(test=test, yes=yes, no=no):
            a = evaluate(test, depth=depth)
            return None if a is None else evaluate(yes if a else no, depth=depth)
        case Comma(second=second):
            return evaluate(second, depth=depth)
    return None


def evaluate_integer(e: Expression) -> int | None:
    """The value of an integer constant expression, or None."""
    value = evaluate(e)
    return value if isinstance(value, int) else None


def convert(value: Number, t: CType) -> Number | None:
    """A number converted to an arithmetic type (C17 6.3.1.2 to 6.3.1.7); None where C leaves that undefined."""
    match t.kind:
        case "b":
            return int(value != 0)
        case "i" | "u":
            value = value.real if isinstance(value, complex) else value
            if isinstance(value, float):
                if not math.isfinite(value) or not t.low <= math.trunc(value) <= t.high:
                    return None
                return math.trunc(value)
            return wrap_integer(value, t)
        case "f":
            value = value.real if isinstance(value, complex) else value
            if t.bits == 32:
                return round_to_float(value)
            try:
                return float(value)
            except OverflowError:  # of an integer of 128 bits there is none
                return None
        case "c":
            return complex(value)
    return None


def wrap_integer(value: int, t: CType) -> int:
    """An integer modulo the size of an integer type."""
    value &= (1 << t.bits) - 1
    return value - (1 << t.bits) if value > t.high else value


def _evaluate_unary(op: str, value: Number, t: CType) -> Number | None:
    if op == "!":
        return int(not value)
    if op == "-":
        return convert(-value, t)
    return wrap_integer(~value, t) if isinstance(value, int) else None


def _evaluate_binary(op: str, a: Number, b: Number, t: CType) -> Number | None:
    if op in _COMPARISONS:
        if isinstance(a, complex) or isinstance(b, complex):
            return {"==": int(a == b), "!=": int(a != b)}.get(op)
        return int(_COMPARISONS[op](a, b))
    if op in _ARITHMETIC:
        try:
            return convert(_ARITHMETIC[op](a, b), t)
        except OverflowError:
            return None
    if isinstance(a, int) and isinstance(b, int):
        return _evaluate_integers(op, a, b, t)
    if op == "/" and b:
        return convert(a / b, t)
    return None


def _evaluate_integers(op: str, a: int, b: int, t: CType) -> int | None:
    if op in _INTEGER:
        return wrap_integer(_INTEGER[op](a, b), t)
    if op in ("<<", ">>"):
        if not 0 <= b < t.bits:
            return None
        return wrap_integer(a << b if op == "<<" else a >> b, t)
    if op in ("/", "%") and b:
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)  # C rounds to zero
        return wrap_integer(quotient if op == "/" else a - b * quotient, t)
    return None


#: Constants of <math.h> and <float.h> that are of type float.
_FLOATS = frozenset("INFINITY HUGE_VALF NAN FLT_EPSILON FLT_MAX FLT_MIN".split())


def find_header_constant(name: str) -> Constant | None:
    """A constant of <math.h>, <float.h>, <limits.h>, <stdint.h> or <complex.h>."""
    if name in LIMITS:
        value, t = LIMITS[name]
        return Constant(type=t, value=value, spelling=name)
    if name in ("I", "_Complex_I"):
        return Constant(type=CType("c", 32), value=1j, spelling=name)
    text = CONSTANTS.get(name)
    if text is None:
        return None
    return Constant(type=FLOAT if name in _FLOATS else DOUBLE, value=_CONSTANT_VALUES[name], spelling=name)


def _evaluate_text(text: str) -> float:
    """The value of one of the table's texts: a number, a name of `math`, a quotient of both."""
    dividend, _, divisor = text.partition("/")
    word = dividend.removeprefix("math.")
    value = float(getattr(math, word)) if dividend.startswith("math.") else float(dividend)
    return value / _evaluate_text(divisor) if divisor else value


_CONSTANT_VALUES = {name: _evaluate_text(text) for name, text in CONSTANTS.items()}
