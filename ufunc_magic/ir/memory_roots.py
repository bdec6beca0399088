"""Whose memory an expression leads to, and which nodes of Python's own only calculate.

Both answers err on the safe side: memory that is not known belongs to nobody, and code that is not known may do
anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .nodes import (
    AddressOf,
    Assignment,
    Binary,
    Comma,
    Conditional,
    Constant,
    Convert,
    Current,
    Dynamic,
    Element,
    Expression,
    Field,
    FunctionCall,
    Name,
    StringLiteral,
    Symbol,
)


class Root(NamedTuple):
    """A variable, or with ``pointee`` the memory that it points to; a ``symbol`` of None: memory of nobody known."""

    symbol: Symbol | None = None
    pointee: bool = False


_UNKNOWN = Root()
#: Functions that allocate memory.
ALLOCATE = frozenset(("malloc", "calloc", "alloca", "PyMem_Malloc", "PyMem_Calloc"))


def find_pointee_roots(value: Expression) -> Iterator[Root]:
    """The memory that a pointer or an array leads to; nothing for new memory and for NULL."""
    match value:
        case Name(symbol=symbol) if symbol.type.kind == "a" or symbol.reference:
            yield Root(symbol, symbol.type.length is None)
        case Constant() | StringLiteral() | Current():
            return
        case FunctionCall(name=name) if name in ALLOCATE:
            return
        case FunctionCall(arguments=arguments):  # perhaps that of an argument
            yield _UNKNOWN
            for argument in arguments:
                if argument.type.kind == "a":
                    yield from find_pointee_roots(argument)
        case AddressOf(place=place):
            yield from place_roots(place)
        case Element(base=base, type=t) if t.name != "*":
            yield from find_pointee_roots(base)  # a row of an array
        case Field(base=base, type=t) if t.length is not None:
            yield from place_roots(base)
        case Convert(value=inner) if inner.type.kind == "a" or isinstance(inner, Constant):
            yield from find_pointee_roots(inner)
        case Binary(left=left, right=right):
            yield from find_pointee_roots(left if left.type.kind == "a" else right)
        case Conditional(yes=yes, no=no):
            yield from find_pointee_roots(yes)
            yield from find_pointee_roots(no)
        case Comma(second=second):
            yield from find_pointee_roots(second)
        case Assignment(place=place, value=inner):
            yield from find_pointee_roots(place)
            yield from find_pointee_roots(inner)
        case Dynamic(operands=(view, *_)) if is_view(value):
            yield from find_pointee_roots(view)
        case _:
            yield _UNKNOWN


def place_roots(place: Expression) -> Iterator[Root]:
    """The memory that a place is in."""
    match place:
        case Name(symbol=symbol):
            yield Root(symbol, symbol.reference)
        case Element(base=base):
            yield from find_pointee_roots(base)
        case Field(base=base) if base.type.kind not in "?o":
            yield from place_roots(base)
        case Convert(value=inner):
            yield from place_roots(inner)
        case Dynamic(operands=(view, *_)) if is_view(place):
            yield from find_pointee_roots(view)
        case _:
            yield _UNKNOWN


# -------------------------------------------------------------------------------- Python's own nodes

#: Templates that look at their operands only, whatever those are.
_LOOKS = ("{} is {}", "{} is not {}")
_ATTRIBUTES = ("{}.shape", "{}.T")
#: Builtins that calculate where their arguments are numbers, or generators of numbers.
_CALCULATE = frozenset("abs all any bool complex divmod float int max min pow range round sum".split())


def is_view(node: Expression) -> bool:
    """Whether a node is a subscript or the transpose of an array: it leads to that array's memory."""
    if not isinstance(node, Dynamic) or not node.operands or node.operands[0].type.kind != "a":
        return False
    return node.template == "{}.T" or node.template.startswith("{}[")


def is_looking(node: Dynamic) -> bool:
    """Whether a node asks an array or an object for no more than its shape or its identity."""
    return node.template in _LOOKS or (node.template in _ATTRIBUTES and node.operands[0].type.kind == "a")


def is_plain(value: Expression) -> bool:
    """Whether a value is a number or another object of Python's builtin types, as which nothing else is called."""
    match value:
        case Constant() | StringLiteral():
            return True
        case Convert(value=inner):
            return is_plain(inner)
        case Dynamic(template=name, operands=()):
            return name == "None" or not name.isidentifier()
        case Dynamic():
            return is_calculating(value)
    return value.type.arithmetic or value.type.kind == "t"


def is_calculating(node: Dynamic) -> bool:
    """Whether a node runs no code but that of Python's numbers, texts, tuples and lists."""
    template, operands = node.template, node.operands
    if is_looking(node) or not operands:
        return "(" not in template or not template[0].isalpha()
    if is_view(node):
        return all(map(is_plain, operands[1:]))
    if template[0] in "([" and not template.strip("()[], {}"):
        return True  # a tuple or a list of any objects
    called = template.partition("(")[0]
    return all(map(is_plain, operands)) and (not called.isidentifier() or called in _CALCULATE)
