"""Where a lowerer is in a function: its scopes, its place in the text, and what has been changed so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tree_sitter import Node

from ...ir import (
    BOOL,
    INT,
    NOWHERE,
    AddressOf,
    Convert,
    CType,
    Element,
    Expression,
    Field,
    Name,
    Position,
    Symbol,
    convert_usually,
    promote,
)
from .c_tree import take_text
from .lowering_values import Scope
from .type_lowering import UNKNOWN

#: Nodes around an expression that change nothing.
_AROUND = frozenset(("parenthesized_expression", "extension_expression", "condition_clause"))


def strip_parentheses(node: Node) -> Node:
    """The expression without parentheses around it."""
    while node.type in _AROUND and (inner := node.child_by_field_name("value") or _find_last(node)) is not None:
        node = inner
    return node


def _find_last(node: Node) -> Node | None:
    return next((c for c in reversed(node.named_children) if c.type != "comment"), None)


def part(node: Node, name: str) -> Node | None:
    """The child in a field, without parentheses around it; None where the text lacks it."""
    child = node.child_by_field_name(name)
    return None if child is None or child.is_missing else strip_parentheses(child)


def list_parts(node: Node | None) -> list[Node]:
    """The named children, comments left out."""
    return [c for c in node.named_children if c.type != "comment"] if node is not None else []


def shorten(node: Node) -> str:
    text = " ".join(take_text(node).split())
    return text if len(text) <= 40 else text[:37] + "..."


def find_root_symbol(place: Expression) -> Symbol | None:
    """The variable that a place is in, or that leads to it."""
    while True:
        match place:
            case Name(symbol=symbol):
                return symbol
            case Element(base=inner) | Field(base=inner) | AddressOf(place=inner) | Convert(value=inner):
                place = inner
            case _:
                return None


class Context:
    """The state of lowering one function, or one constant of file scope.

    Attributes
    ----------
    scope : Scope
    lines : sequence of int or None
        The line in the cell of each row; None in the text of a macro, which is nowhere in the cell.
    scopes : list of dict
        Block scopes, outermost first.
    changes : list of Symbol
        Every variable that was assigned to, bound to a reference or had its address taken, in the order of the text.
    stores : int
        Changes that no name shows: through a pointer, in an array, by a call.
    calls : dict
        The functions of the cell that are called, in the order of the text.
    """

    def __init__(self, scope: Scope, lines: Sequence[int] | None) -> None:
        self.scope = scope
        self.lines = lines
        self.cplus = scope.cplus
        self.truth = BOOL if scope.cplus else INT
        self.types = scope.types
        self.scopes: list[dict[str, Symbol]] = [{}]
        #: References of C++, which are another name for a place.
        self.aliases: dict[Symbol, Expression] = {}
        #: Containers whose length something may have changed.
        self.resized: set[Symbol | None] = set()
        self.changes: list[Symbol] = []
        self.stores = 0
        self.calls: dict[str, None] = {}

    def find_position(self, node: Node) -> Position:
        if self.lines is None:
            return NOWHERE
        row, column = node.start_point
        line = self.lines[row] if row < len(self.lines) else 0
        return Position(line, column, node.start_byte, node.end_byte)

    def find_variable(self, name: str) -> Symbol | None:
        """The variable of the innermost scope that has the name."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def declare(self, name: str, t: CType, at: Position = NOWHERE, **more: Any) -> Symbol:
        """Bring a name into the innermost scope."""
        symbol = self.scopes[-1][name] = Symbol(name, t, at=at, **more)
        return symbol

    def change(self, place: Expression) -> None:
        """Remember that something changes a place."""
        if (symbol := find_root_symbol(place)) is not None:
            self.changes.append(symbol)
        if not isinstance(place, Name):
            self.stores += 1

    # -- conversions ------------------------------------------------------------------------------

    def convert(self, e: Expression, t: CType, *, explicit: bool = False) -> Expression:
        """``e`` converted to ``t`` as by assignment (C17 6.5.16.1, 6.3)."""
        if not explicit and (e.type is t or e.type == t or t.kind in "?aVv" or e.type.kind == "v"):
            return e
        return Convert(at=e.at, type=t, value=e, explicit=explicit)

    def promote(self, e: Expression) -> Expression:
        """The integer promotions (C17 6.3.1.1)."""
        return self.convert(e, promote(e.type))

    def balance(self, left: Expression, right: Expression) -> tuple[Expression, Expression, CType]:
        """Both operands after the usual arithmetic conversions (C17 6.3.1.8), and the type of the operation."""
        if not (left.type.arithmetic and right.type.arithmetic):
            return left, right, UNKNOWN
        t = convert_usually(left.type, right.type)
        if t.kind != "c":
            return self.convert(left, t), self.convert(right, t), t
        # A real operand stays real.
        left, right = (self.convert(e, t if e.type.kind == "c" else CType("f", t.bits)) for e in (left, right))
        return left, right, t
