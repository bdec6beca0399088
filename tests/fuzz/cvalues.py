"""C's arithmetic on values, after C17 6.3 and Annexes F and G: the second opinion that the ufuncs are compared with.

Nothing of ``ufunc_magic`` is used.  Integers are Python's, kept in the range of their type (signed ones wrap,
as with ``-fwrapv``); floating-point values are NumPy scalars of the type; a complex value is a pair of them.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

__all__ = ["INT", "TYPES", "CType", "binary", "common", "convert", "exact", "promoted", "real_of", "tail", "truth"]


@dataclass(frozen=True)
class CType:
    """One arithmetic type: NumPy's letter, kind ("b i u f c"), bits of an integer or order of a floating type."""

    char: str
    kind: str
    rank: int
    spellings: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.spellings[0]

    @property
    def integral(self) -> bool:
        return self.kind in "biu"

    @property
    def low(self) -> int:
        return -(1 << (self.rank - 1)) if self.kind == "i" else 0

    @property
    def high(self) -> int:
        return (1 << (self.rank - (self.kind == "i"))) - 1


_LONG = 8 * np.dtype("l").itemsize
TYPES: dict[str, CType] = {
    t.char: t
    for t in (
        CType("?", "b", 1, ("bool", "_Bool")),
        CType("b", "i", 8, ("signed char", "int8_t")),
        CType("B", "u", 8, ("unsigned char", "uint8_t")),
        CType("h", "i", 16, ("short", "int16_t", "short int", "signed short")),
        CType("H", "u", 16, ("unsigned short", "uint16_t", "unsigned short int")),
        CType("i", "i", 32, ("int", "int32_t", "signed", "signed int")),
        CType("I", "u", 32, ("unsigned", "uint32_t", "unsigned int")),
        CType("l", "i", _LONG, ("long", "long int", "signed long")),
        CType("L", "u", _LONG, ("unsigned long", "size_t", "unsigned long int")),
        CType("q", "i", 64, ("long long", "signed long long int")),
        CType("Q", "u", 64, ("unsigned long long", "long long unsigned")),
        CType("f", "f", 1, ("float",)),
        CType("d", "f", 2, ("double",)),
        CType("g", "f", 3, ("long double",)),
        CType("F", "c", 1, ("float complex", "_Complex float")),
        CType("D", "c", 2, ("double complex", "double _Complex")),
        CType("G", "c", 3, ("long double complex",)),
    )
}
BOOL, INT, DOUBLE = TYPES["?"], TYPES["i"], TYPES["d"]
_FLOATS = {1: TYPES["f"], 2: TYPES["d"], 3: TYPES["g"]}
_COMPLEX = {1: TYPES["F"], 2: TYPES["D"], 3: TYPES["G"]}
#: Conversion rank of integers of the same width: int < long < long long.
_ORDER = "?bBhHiIlLqQ"

Value = Any


def promoted(t: CType) -> CType:
    """The type after the integer promotions."""
    return INT if t.integral and t.rank < INT.rank else t


def real_of(t: CType) -> CType:
    """The type of a complex type's parts, or the real type itself."""
    return _FLOATS[t.rank] if t.kind == "c" else t


def common(a: CType, b: CType) -> CType:
    """The type of ``a + b``."""
    floating = [t for t in (a, b) if not t.integral]
    if floating:
        rank = max(t.rank for t in floating)
        return (_COMPLEX if "c" in (a.kind, b.kind) else _FLOATS)[rank]
    a, b = promoted(a), promoted(b)
    if a.kind == b.kind:
        return max(a, b, key=lambda t: (t.rank, _ORDER.index(t.char)))
    signed, unsigned = (a, b) if a.kind == "i" else (b, a)
    if _rank(unsigned) >= _rank(signed):
        return unsigned
    return signed if signed.rank > unsigned.rank else TYPES[signed.char.upper()]


def _rank(t: CType) -> int:
    return (_ORDER.index(t.char) + 1) // 2


def convert(value: Value, source: CType, target: CType) -> Value:
    """``(target)value``; a floating value that goes to an integer must be in its range."""
    if source.kind == "c":
        re, im = value
        if target.kind == "c":
            return tuple(convert(part, real_of(source), real_of(target)) for part in value)
        return int(re != 0 or im != 0) if target.kind == "b" else convert(re, real_of(source), target)
    if target.kind == "b":
        return int(value != 0)
    if target.kind == "c":
        return convert(value, source, real_of(target)), np.zeros((), real_of(target).char)[()]
    if target.integral:
        value = int(value)
        return (value - target.low) % (1 << target.rank) + target.low
    typed = np.array(value, source.char)[()] if source.integral else value
    return typed.astype(target.char)


def truth(value: Value, t: CType) -> bool:
    """Whether an ``if`` is taken."""
    return bool(convert(value, t, BOOL))


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_WHOLE: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "/": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "%": lambda a, b: a - b * (abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)),
}
_REAL: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def result_type(op: str, a: CType, b: CType) -> CType:
    """The type of ``a op b``."""
    if op in _COMPARE or op in ("&&", "||"):
        return INT
    return promoted(a) if op in ("<<", ">>") else common(a, b)


def binary(op: str, a: Value, ta: CType, b: Value, tb: CType) -> Value:
    """The value of ``a op b`` in ``result_type(op, ta, tb)``."""
    if op == "&&":
        return int(truth(a, ta) and truth(b, tb))
    if op == "||":
        return int(truth(a, ta) or truth(b, tb))
    t = result_type(op, ta, tb)
    if op in ("<<", ">>"):
        a = convert(a, ta, t)
        return convert(a << b if op == "<<" else a >> b, t, t)
    both = common(ta, tb)
    if both.kind == "c":
        return _complex(op, a, ta, b, tb, real_of(both))
    a, b = convert(a, ta, both), convert(b, tb, both)
    if op in _COMPARE:
        return int(_COMPARE[op](a, b))
    if both.integral:
        return convert(_WHOLE[op](a, b), both, both)
    return _REAL[op](a, b)


def _complex(op: str, a: Value, ta: CType, b: Value, tb: CType, part: CType) -> Value:
    """A real operand stays real, as gcc and Annex G have it."""
    a, b = (
        tuple(convert(p, real_of(t), part) for p in v) if t.kind == "c" else convert(v, t, part)
        for v, t in ((a, ta), (b, tb))
    )
    zero = np.zeros((), part.char)[()]
    if op in ("==", "!="):
        (ar, ai), (br, bi) = (v if isinstance(v, tuple) else (v, zero) for v in (a, b))
        return int(bool(ar == br and ai == bi) is (op == "=="))
    if not isinstance(b, tuple):
        re, im = a
        return {"+": (re + b, im), "-": (re - b, im), "*": (re * b, im * b), "/": (re / b, im / b)}[op]
    if not isinstance(a, tuple):
        re, im = b
        return {"+": (a + re, im), "-": (a - re, -im), "*": (a * re, a * im)}[op]
    if op == "*":
        return _product(a, b)
    return tuple(_REAL[op](p, q) for p, q in zip(a, b, strict=True))


def _product(x: tuple[Any, Any], y: tuple[Any, Any]) -> tuple[Any, Any]:
    """C17 G.5.1 (its example): infinities survive even where the formula gives NaN for both parts."""
    (a, b), (c, d) = x, y
    ac, bd, ad, bc = a * c, b * d, a * d, b * c
    re, im = ac - bd, ad + bc
    if not (np.isnan(re) and np.isnan(im)):
        return re, im
    again, one = False, a.dtype.type(1)
    if np.isinf(a) or np.isinf(b):
        a, b = (np.copysign(one * np.isinf(v), v) for v in (a, b))
        c, d = (np.copysign(0 * one, v) if np.isnan(v) else v for v in (c, d))
        again = True
    if np.isinf(c) or np.isinf(d):
        c, d = (np.copysign(one * np.isinf(v), v) for v in (c, d))
        a, b = (np.copysign(0 * one, v) if np.isnan(v) else v for v in (a, b))
        again = True
    if not again and any(np.isinf(v) for v in (ac, bd, ad, bc)):
        a, b, c, d = (np.copysign(0 * one, v) if np.isnan(v) else v for v in (a, b, c, d))
        again = True
    if not again:
        return re, im
    infinity = a.dtype.type(np.inf)
    return infinity * (a * c - b * d), infinity * (a * d + b * c)


#: Functions of libm whose results are exact or rounded once, so that every implementation agrees.
EXACT: dict[str, Callable[[Any], Any]] = {
    "sqrt": np.sqrt,
    "fabs": np.fabs,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
}
#: Those that are only near; generated where nothing is done with the result.
TAIL = ("sin", "cos", "exp", "log", "tanh", "atan", "cbrt", "expm1", "log1p", "exp2", "asinh", "erf")
SUFFIX = {1: "f", 2: "", 3: "l"}


def exact(name: str, value: Value, t: CType) -> Value:
    """An exact function of libm in the floating type ``t``."""
    return t_type(t)(EXACT[name](value))


def t_type(t: CType) -> Any:
    """NumPy's scalar type for a real type."""
    return np.dtype(t.char).type


@cache
def _libm(name: str, rank: int) -> Callable[[Any], Any]:
    function = getattr(ctypes.CDLL(ctypes.util.find_library("m")), name + SUFFIX[rank])
    kind = {1: ctypes.c_float, 2: ctypes.c_double}[rank]
    function.argtypes, function.restype = (kind,), kind
    return function  # type: ignore[no-any-return]


def tail(name: str, value: Value, t: CType) -> Value:
    """A function of the C library's, in float or double."""
    return t_type(t)(_libm(name, t.rank)(float(value)))
