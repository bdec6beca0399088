"""C's arithmetic as values: types, promotion, the usual conversions, ranges.  Nothing here knows Python's syntax.

The rules are those of C17, 6.3.1 (conversions) and 6.4.4 (constants), for two's complement machines.
"""

from __future__ import annotations

import functools
import math
import operator
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..model import TYPES


@dataclass(frozen=True)
class CType:
    """One C type.

    ``kind`` is NumPy's letter for arithmetic types ("b i u f c"), "a" for an array or an indexable
    pointer to ``of`` (``length`` is None where it is not known), "v" for void, "o" for a Python object, "t" for a
    tuple of the ``fields``, "V" for a structure with its ``fields``, "?" for any other type, ``name`` as the cell has
    it.
    ``bits`` of a complex type are those of one part; long double counts as 80.
    A pointer that is an element, as in ``double **``, has the name "*".
    """

    kind: str
    bits: int = 0
    of: CType | None = None
    length: int | None = None
    fields: tuple[tuple[str, CType], ...] = ()
    name: str = ""

    @property
    def integral(self) -> bool:
        return self.kind in "biu"

    @property
    def arithmetic(self) -> bool:
        return self.kind in "biufc"

    @property
    def low(self) -> int:
        return -(1 << (self.bits - 1)) if self.kind == "i" else 0

    @property
    def high(self) -> int:
        return (1 << (self.bits - (self.kind == "i"))) - 1

    @property
    def depth(self) -> int:
        """The dimensions of an array."""
        return 1 + self.of.depth if self.kind == "a" and self.of is not None else 0

    @property
    def element(self) -> CType:
        """What an array is of in the end."""
        return self if self.of is None else self.of.element

    @property
    def size(self) -> int | None:
        """``sizeof`` in bytes, None where it is not known."""
        if self.kind == "a":
            inner = self.of.size if self.of else None
            return None if self.length is None or inner is None else self.length * inner
        if not self.arithmetic:
            return None
        width = 16 if self.bits == 80 else max(self.bits // 8, 1)
        return width * (2 if self.kind == "c" else 1)


BOOL, INT, UINT = CType("b", 1), CType("i", 32), CType("u", 32)
LONG = CType("i", 8 * np.dtype("l").itemsize)
SIZE = CType("u", 8 * np.dtype("P").itemsize)
FLOAT, DOUBLE, COMPLEX, VOID = CType("f", 32), CType("f", 64), CType("c", 64), CType("v")
#: A Python object, and Py_ssize_t.
OBJECT, INDEX = CType("o"), CType("i", SIZE.bits)

_WORDS = {
    "void": VOID,
    "bool": BOOL,
    "_Bool": BOOL,
    "_Float16": CType("f", 16),
    "float": FLOAT,
    "double": DOUBLE,
    "long double": CType("f", 80),
    "float_t": FLOAT,
    "double_t": DOUBLE,
    "size_t": SIZE,
    "ssize_t": CType("i", SIZE.bits),
    "ptrdiff_t": CType("i", SIZE.bits),
    "intptr_t": CType("i", SIZE.bits),
    "uintptr_t": SIZE,
    "intmax_t": CType("i", 64),
    "uintmax_t": CType("u", 64),
    "__int128": CType("i", 128),
    "unsigned __int128": CType("u", 128),
    "__int128_t": CType("i", 128),
    "__uint128_t": CType("u", 128),
    "complex<float>": CType("c", 32),
    "complex<double>": COMPLEX,
} | {
    f"{mark}int{tag}{bits}_t": CType(kind, 64 if tag == "_fast" and bits in (16, 32) else bits)
    for mark, kind in (("", "i"), ("u", "u"))
    for tag in ("", "_least", "_fast")
    for bits in (8, 16, 32, 64)
}

_KIND_WORDS = frozenset(("signed", "unsigned", "char", "short", "int", "long", "__signed__"))


def from_number(number: int) -> CType | None:
    """The C type behind a NumPy type number."""
    entry = TYPES.get(number)
    if entry is None:
        return None
    if entry.kind == "b":
        return BOOL
    if entry.char in "gG":
        return CType(entry.kind, 80)
    return CType(entry.kind, 8 * np.dtype(entry.char).itemsize // (2 if entry.kind == "c" else 1))


def find_named_type(spelling: str, numbers: Mapping[str, int], typedefs: Mapping[str, str]) -> CType | None:
    """The type that ``spelling`` means, or None.

    ``numbers`` (spelling -> NumPy type number) is asked first, then the standard names, then
    ``typedefs`` step by step.
    """
    for _ in range(64):  # a typedef chain that is longer is a cycle
        spelling = " ".join(spelling.split()).removeprefix("std::")
        number = numbers.get(spelling)
        t = from_number(number) if number is not None else _find_standard(spelling)
        if t is not None:
            return t
        if spelling not in typedefs:
            return None
        spelling = re.sub(r"\b(const|volatile)\b", "", typedefs[spelling])
    return None


def _find_standard(spelling: str) -> CType | None:
    words = spelling.split()
    if spelling in _WORDS:
        return _WORDS[spelling]
    if "complex" in spelling.lower() and words[0] in ("float", "double", "long"):
        return CType("c", {"float": 32, "double": 64, "long": 80}[words[0]])
    if not words or not _KIND_WORDS.issuperset(words):
        return None
    kind = "u" if "unsigned" in words else "i"
    if "char" in words:
        return CType(kind, 8)
    if "short" in words:
        return CType(kind, 16)
    return CType(kind, {0: 32, 1: LONG.bits}.get(words.count("long"), 64))


def make_array_type(element: CType, lengths: tuple[int | None, ...]) -> CType:
    """An array with these lengths, outermost first."""
    for length in reversed(lengths):
        element = CType("a", of=element, length=length)
    return element


#: A function, as a pointer leads to it.
FUNCTION = CType("?", name="()")

#: Names of arrays that are objects of C++: copies of them are their own, those of bytes are of ``char``.
CONTAINER, CHARACTERS = "container", "characters"


def type_fault(t: CType) -> str:
    """Why no number, and no array of numbers, has this type; completes "The function"; ``""`` for no reason."""
    if t.kind == "a":
        if t.of is not None and t.of.name == "*":
            return "uses a pointer to a pointer"
        return type_fault(t.of) if t.of is not None else ""
    if t.name == "()":
        return "uses a pointer to a function"
    return f"uses the type `{t.name}`" if t.kind in "?V" else ""


def promote(t: CType) -> CType:
    """Integer promotion: what is narrower than int becomes int."""
    return INT if t.integral and t.bits < 32 else t


def convert_usually(a: CType, b: CType) -> CType:
    """The type in which ``a op b`` is done (the usual arithmetic conversions)."""
    if a is b and a.bits >= 32 and a.kind != "b":
        return a
    if "c" in (a.kind, b.kind):
        return CType("c", max(t.bits for t in (a, b) if t.kind in "fc"))
    if "f" in (a.kind, b.kind):
        return CType("f", max(t.bits for t in (a, b) if t.kind == "f"))
    a, b = promote(a), promote(b)
    if a.kind == b.kind:
        return a if a.bits >= b.bits else b
    signed, unsigned = (a, b) if a.kind == "i" else (b, a)
    return unsigned if unsigned.bits >= signed.bits else signed


_EXACT = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}


def find_result_range(op: str, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """Bounds of Python's ``a op b`` of integers in these ranges; shifts are by small numbers that are not negative."""
    if op in ("//", "%"):
        most = max(map(abs, b)) - 1 if op == "%" else max(map(abs, a))
        return 0 if a[0] >= 0 and b[0] >= 0 else -most, most
    if op not in ("&", "|", "^") or (a[0] == a[1] and b[0] == b[1]):
        ends = [_EXACT[op](x, y) for x in a for y in b]
        return min(ends), max(ends)
    positive = [r[1] for r in (a, b) if r[0] >= 0]
    if op == "&" and positive:
        return 0, min(positive)
    top = (1 << max((x if x >= 0 else ~x).bit_length() for x in (*a, *b))) - 1
    return 0 if len(positive) == 2 else -top - 1, top


@functools.lru_cache(maxsize=1024)
def read_integer(text: str) -> tuple[int, CType] | None:
    """Value and type of an integer constant as C spells it, or None."""
    # Nothing longer is a number of 128 bits, and Python reads no number of thousands of digits.
    match = re.fullmatch(r"(0[xX][0-9a-fA-F]{1,99}|0[bB][01]{1,199}|[0-9]{1,99})([uUlLzZ]*)", text.replace("'", ""))
    if not match:
        return None
    digits, suffix = match[1], match[2].lower()
    octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    if octal and ("8" in digits or "9" in digits):
        return None
    value = int(digits, 8) if octal else int(digits, 0)
    signed = (INT, LONG, CType("i", 64)) if "l" not in suffix else (LONG, CType("i", 64))
    unsigned = tuple(CType("u", t.bits) for t in signed)
    decimal = digits.isdigit() and not octal
    candidates = (
        unsigned
        if "u" in suffix
        else signed
        if decimal
        else tuple(t for p in zip(signed, unsigned, strict=True) for t in p)
    )
    return value, next((t for t in candidates if value <= t.high), CType("i", 128))


@functools.lru_cache(maxsize=1024)
def read_float(text: str) -> tuple[float, CType] | None:
    """Value and type of a floating constant, or None."""
    text = text.replace("'", "").lower()
    hexadecimal = text.startswith("0x")
    digits = r"0x[0-9a-f.]+p[+-]?\d+" if hexadecimal else r"(?:\d+\.\d*|\.\d+|\d+(?=e))(?:e[+-]?\d+)?"
    match = re.fullmatch(rf"({digits})([fl]?)", text)
    if not match:
        return None
    try:
        value = float.fromhex(match[1]) if hexadecimal else float(match[1])
    except OverflowError:  # a long double, which is calculated as double here
        value = math.inf
    return value, {"f": FLOAT, "l": CType("f", 80)}.get(match[2], DOUBLE)


def round_to_float(value: float) -> float:
    """``value``, an integer too, rounded to C's float."""
    if isinstance(value, int) and (beyond := value.bit_length() - 53) > 0:
        # What is cut off only matters as not being 0; rounding to double first would round twice.
        value = ((value >> beyond) | bool(value & ((1 << beyond) - 1))) << beyond
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
