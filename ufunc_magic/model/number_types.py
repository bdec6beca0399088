"""NumPy's types as C has them, and sizes of core dimensions: what object code needs of a signature.  Pure values.

The type table follows NumPy's ``NPY_TYPES`` enumeration (``numpy/ndarraytypes.h``), whose numbers
are part of NumPy's ABI.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

T = TypeVar("T")

#: NPY_VOID: the type number of structures, which is in no table of numbers.
RECORD = 20

#: NPY_MAXARGS of NumPy 2: inputs and outputs of one ufunc together.
MAX_OPERANDS = 64


@dataclass(frozen=True)
class NumberType:
    """One arithmetic type in its spellings.

    ``number`` is NumPy's type number, ``char`` its one-letter code, ``kind`` NumPy's kind letter,
    ``rank`` orders types narrow to wide within a kind, ``c`` is the canonical C spelling.
    """

    number: int
    char: str
    kind: Literal["b", "i", "u", "f", "c"]
    rank: int
    c: str
    names: tuple[str, ...] = field(default=())


#: Every type C and NumPy share, by NumPy's type number.  Widths of ``long`` and ``long double`` are
#: the platform's; ``names`` are the width-true words that ``--types`` accepts.
TYPES: dict[int, NumberType] = {
    t.number: t
    for t in (
        NumberType(0, "?", "b", 0, "_Bool", ("b1", "bool")),
        NumberType(1, "b", "i", 1, "signed char", ("i1", "int8")),
        NumberType(2, "B", "u", 1, "unsigned char", ("u1", "uint8")),
        NumberType(3, "h", "i", 2, "short", ("i2", "int16")),
        NumberType(4, "H", "u", 2, "unsigned short", ("u2", "uint16")),
        NumberType(5, "i", "i", 3, "int", ("i4", "int32")),
        NumberType(6, "I", "u", 3, "unsigned int", ("u4", "uint32")),
        NumberType(7, "l", "i", 4, "long"),
        NumberType(8, "L", "u", 4, "unsigned long"),
        NumberType(9, "q", "i", 5, "long long"),
        NumberType(10, "Q", "u", 5, "unsigned long long"),
        NumberType(23, "e", "f", 6, "_Float16", ("f2", "float16", "half")),
        NumberType(11, "f", "f", 7, "float", ("f4", "float32", "single")),
        NumberType(12, "d", "f", 8, "double", ("f8", "float64", "float")),
        NumberType(13, "g", "f", 9, "long double", ("longdouble",)),
        NumberType(14, "F", "c", 10, "float _Complex", ("c8", "complex64")),
        NumberType(15, "D", "c", 11, "double _Complex", ("c16", "complex128", "complex")),
        NumberType(16, "G", "c", 12, "long double _Complex", ("clongdouble",)),
    )
}

_BY_CHAR = {t.char: t for t in TYPES.values()}
_BY_NAME = {name: t for t in TYPES.values() for name in (t.c, *t.names)} | {
    # 64-bit words mean C's long where long has 64 bits, as NumPy itself decides; loops compare by
    # width, so "long long" serves on every platform.
    "i8": TYPES[9],
    "int64": TYPES[9],
    "u8": TYPES[10],
    "uint64": TYPES[10],
    "int": TYPES[5],
}


def number_type(word: str | int) -> NumberType | None:
    """The type that ``word`` names, or None.

    Parameters
    ----------
    word : str or int
        A NumPy type number, type letter (``"d"``), width-true word (``"f8"``, ``"float64"``) or
        canonical C spelling (``"unsigned long"``).
    """
    if isinstance(word, int):
        return TYPES.get(word)
    return _BY_NAME.get(word) or _BY_CHAR.get(word)


_OPERATIONS: dict[type[ast.operator], tuple[Callable[[int, int], int], str]] = {
    ast.Add: (operator.add, "({} + {})"),
    ast.Sub: (operator.sub, "({} - {})"),
    ast.Mult: (operator.mul, "({} * {})"),
    ast.FloorDiv: (operator.floordiv, "({0} / {1} - ({0} % {1} < 0))"),
}


def split_core_groups(text: str) -> list[list[str]]:
    """The core dimensions in each parenthesis of one side of a signature or of both, as written."""
    groups: list[list[str]] = []
    depth, word = 0, ""
    for char in text:
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "(" and depth == 1:
            groups.append([])
        elif (char == "," and depth == 1) or (char == ")" and not depth):
            groups[-1] += [word.strip()] if word.strip() else []
            word = ""
        elif depth:
            word += char
    return groups


def find_core_names(dimension: str) -> frozenset[str]:
    """The names that a core dimension is computed of.

    Raises
    ------
    ValueError
        If it is neither a number, a name nor computed.
    """
    names = frozenset(word for word in re.split(r"\W+", dimension) if word.isidentifier())
    compute_core_size(dimension, dict.fromkeys(names, 1))
    return names


def compute_core_size(dimension: str, sizes: Mapping[str, int]) -> int:
    """The size of a core dimension: a number, a name, or computed of others as in ``"n+m-1"``.

    Raises
    ------
    ValueError
        If it is no sum, difference, product or ``//`` by a number of the names in ``sizes``.
    """
    return _compute(dimension, sizes, int, lambda sign, a, b: _OPERATIONS[sign][0](a, b))


def write_core_size(dimension: str, sizes: Mapping[str, str]) -> str:
    """The same in C, with a C expression for each name."""
    return _compute(dimension, sizes, str, lambda sign, a, b: _OPERATIONS[sign][1].format(a, b))


def _compute(
    dimension: str,
    sizes: Mapping[str, T],
    number: Callable[[int], T],
    joined: Callable[[type[ast.operator], T, T], T],
) -> T:
    def value(node: ast.expr) -> T:
        match node:
            case ast.Constant(value=int(constant)):
                return number(constant)
            case ast.Name(id=name) if name in sizes:
                return sizes[name]
            case ast.BinOp(op=ast.FloorDiv(), right=right) if not isinstance(right, ast.Constant) or not right.value:
                pass
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATIONS:
                return joined(type(sign), value(left), value(right))
        raise ValueError(f"{dimension!r} can use only {', '.join(sizes) or 'numbers'} with + - * //")

    try:
        return value(ast.parse(dimension, mode="eval").body)
    except SyntaxError as fault:
        raise ValueError(f"{dimension!r}: {fault}") from None


class OperandUse(NamedTuple):
    """The same of an input of a ufunc.

    Attributes
    ----------
    low : int
        The smallest index.
    below : tuple of str
        Indices are below each of these sizes, in terms of core dimensions; empty for what is no index.
    rising : bool
    within : int
        Position of the input whose ends the value lies between, or -1.
    """

    low: int = 0
    below: tuple[str, ...] = ()
    rising: bool = False
    within: int = -1

    def stop(self, sizes: Mapping[str, int]) -> int:
        """The number that all indices are below, by core dimensions."""
        return min((compute_core_size(text, sizes) for text in self.below), default=0)


def rank_loop(types: tuple[int, ...]) -> tuple[int, ...]:
    """Sort key that puts narrow loops before wide ones, inputs compared first.

    NumPy takes the first loop to which the inputs cast safely, so a wide loop ahead of a narrow one
    would promote without need (NEP 50 assumes this order).
    """
    return tuple(TYPES[t].rank * 2 + (TYPES[t].kind == "u") if t != RECORD else -1 for t in types)
