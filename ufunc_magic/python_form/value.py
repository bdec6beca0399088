"""What a translation from C to Python is made of: an expression's text with what is known of its value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .c_arithmetic import CType

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Expr", "Stop", "Variable", "bare", "brief", "child", "children", "text_of", "walk"]

#: How tightly Python's operators bind, loosest first.
WALRUS, TERNARY, OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, UNARY, POWER, ATOM = range(15)


class Stop(Exception):
    """Internal: this C cannot be said in Python; becomes a ``NotPython``."""

    def __init__(self, reason: str, node: Node | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.row = node.start_point[0] if node is not None else 0


@dataclass(frozen=True)
class Expr:
    """A Python expression that stands for a C one.

    ``low``/``high`` bound an integer's value, None where only its type does.  ``loose``: correct only
    modulo 2**bits, must be settled before anything but ``+ - * & | ^ ~`` sees it.  ``truth``: a Python
    bool; ``logical``: right as a condition only (``a and b``).  ``whole``: a Python int for a C double.
    ``value``: the value of a constant.  ``parts``: left text, operator and right text of an outermost operation.
    """

    text: str
    type: CType
    level: int = ATOM
    low: int | None = None
    high: int | None = None
    loose: bool = False
    truth: bool = False
    logical: bool = False
    whole: bool = False
    value: int | float | None = None
    parts: tuple[str, str, str] | None = None

    def at(self, level: int) -> str:
        """The text, in parentheses if it binds less than ``level``."""
        return self.text if self.level >= level else f"({self.text})"

    @property
    def range(self) -> tuple[int, int]:
        low = self.type.low if self.low is None else self.low
        return low, self.type.high if self.high is None else self.high


@dataclass(frozen=True)
class Variable:
    """A local name: ``cell`` marks a pointer to one value, which Python holds as that value itself; ``null`` one
    that points nowhere.
    """

    name: str
    type: CType
    low: int | None = None
    high: int | None = None
    cell: bool = False
    null: bool = False


def text_of(node: Node) -> str:
    return (node.text or b"").decode()


def child(node: Node, name: str) -> Node:
    """The child in the field ``name``, without parentheses around it."""
    found = node.child_by_field_name(name)
    if found is None or found.is_missing:
        raise Stop(f"cannot read {text_of(node)!r}", node)
    return bare(found)


def children(node: Node) -> list[Node]:
    return [c for c in node.named_children if c.type != "comment"]


def bare(node: Node) -> Node:
    while node.type in ("parenthesized_expression", "extension_expression", "condition_clause") and children(node):
        node = children(node)[-1]
    return node


def walk(node: Node) -> Iterator[Node]:
    """The node and all named nodes below it, in the order of the text."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.named_children)


def brief(node: Node) -> str:
    text = " ".join(text_of(node).split())
    return text if len(text) <= 40 else text[:37] + "..."
