"""tree-sitter's tree of C: its nodes' texts, and what a function does with a name: changes it, uses it as an array."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

import tree_sitter_c
import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from ..runtime import lock_of
from .value import Stop

_P = ParamSpec("_P")
_T = TypeVar("_T")

_GRAMMARS = {
    False: Language(tree_sitter_c.language()),
    # A superset of C++, so that one grammar serves both.
    True: Language(tree_sitter_cuda.language()),
}


_COMPLEX = re.compile(
    rb"\b(?:_Complex|__complex__|__complex)\b|\bcomplex\b(?=\s+(?:long|float|double)\b)|(?<=double)(\s+)complex\b"
    rb"|(?<=float)(\s+)complex\b"
)


def readable(code: bytes) -> bytes:
    """``code`` with ``complex`` as a qualifier tree-sitter's grammars know; offsets stay what they are: ``_Atomic``."""
    if b"_Atomic" in code:  # says nothing that matters here, and stands for complex from here on
        code = re.sub(rb"\b_Atomic\b(?!\s*\()", b" " * 7, code)
    if b"omplex" not in code:
        return code
    return _COMPLEX.sub(lambda m: ((m[1] or m[2] or b"") + b"_Atomic").ljust(len(m[0])), code)


def one_at_a_time(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Have one thread at a time in functions that read trees, where no GIL does: all nodes share a cursor (0.26)."""
    if getattr(sys, "_is_gil_enabled", lambda: True)():  # tree-sitter, imported above, asks for it
        return function

    @functools.wraps(function)
    def alone(*args: _P.args, **keywords: _P.kwargs) -> _T:
        with lock_of("trees of C"):
            return function(*args, **keywords)

    return alone


@dataclass(frozen=True, eq=False)
class CText:
    """A C text that has been parsed.

    Attributes
    ----------
    code : bytes
        The text as it was parsed: ``readable``, its directives blank, its macros expanded unless they are constants.
    root : Node
        Its tree.
    macros : mapping
        Name -> replacement text of the constants, which the tree does not have.
    lines : sequence of int
        The line in the cell of each of its rows.
    """

    code: bytes = field(repr=False)
    root: Node
    macros: Mapping[str, str]
    lines: Sequence[int] = field(repr=False)


def stop(reason: str, node: Node | None = None) -> Stop:
    """The exception for what has no Python form, with the node's row."""
    return Stop(reason, node.start_point[0] if node is not None else 0)


def text_of(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def tree(code: bytes, *, cplus: bool = False) -> Node:
    """The root of a text's syntax tree, whatever its faults."""
    # A parser of its own: one that two threads share mixes their texts.
    return Parser(_GRAMMARS[cplus]).parse(code).root_node


def child(node: Node, name: str) -> Node:
    """The child in the field ``name``, without parentheses around it."""
    below = node.child_by_field_name(name)
    if below is None or below.is_missing:
        raise stop(f"cannot read {text_of(node)!r}", node)
    return bare(below)


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


def changed(scope: Node, name: str) -> list[Node]:
    """The nodes that assign to the variable ``name``, or to something in it, or take its address."""
    return list(_changed_in(scope).get(name, ()))


@functools.lru_cache(maxsize=256)
def _changed_in(scope: Node) -> dict[str, list[Node]]:
    changes: dict[str, list[Node]] = {}
    for node in walk(scope):
        name = _changes(node)
        if name:
            changes.setdefault(name, []).append(node)
    return changes


def names_changed(scope: Node) -> set[str]:
    """Every name for which ``changed`` would find something."""
    return set(_changed_in(scope))


def _changes(node: Node) -> str:
    """The variable that this one node changes, ``""`` for none."""
    if node.type in ("assignment_expression", "update_expression"):
        target = node.child_by_field_name("left") or node.child_by_field_name("argument")
        return _root_name(target) if target is not None else ""
    if node.type == "pointer_expression" and node.children[0].type == "&":
        return _root_name(node.children[-1])
    return ""


def _root_name(node: Node) -> str:
    while node.type != "identifier":
        inner = node.child_by_field_name("argument") or (node.named_children[0] if node.named_children else None)
        if inner is None:
            return ""
        node = inner
    return text_of(node)


#: In C++ ``complex<double> z(x)`` reads as a function of a type ``x``.
_NAMES = ("identifier", "type_identifier")


@functools.lru_cache(maxsize=256)
def assigned_first(body: Node, name: str) -> bool:
    """Whether ``*name`` is certainly assigned before it is read and before any return."""
    for statement in children(body) if body.type == "compound_statement" else [body]:
        if statement.type == "expression_statement":
            inner = children(statement)[0] if children(statement) else None
            if inner is not None and inner.type == "assignment_expression" and text_of(child(inner, "operator")) == "=":
                target = text_of(child(inner, "left")).replace(" ", "")
                if target in (f"*{name}", f"{name}[0]", name, f"(*{name})"):
                    uses = sum(1 for n in walk(statement) if n.type in _NAMES and text_of(n) == name)
                    if uses == 1:
                        return True
        if any(n.type == "return_statement" or (n.type in _NAMES and text_of(n) == name) for n in walk(statement)):
            return False
    return False


def function_name(node: Node) -> str:
    declarator = next((n for n in walk(node) if n.type == "function_declarator"), None)
    return text_of(child(declarator, "declarator")).strip("() ") if declarator is not None else ""


def parameters_of(node: Node) -> list[Node]:
    declarator = next(n for n in walk(node) if n.type == "function_declarator")
    parameters = children(child(declarator, "parameters"))
    return [p for p in parameters if not (p.child_by_field_name("declarator") is None and text_of(p) == "void")]


def declared_name(declarator: Node) -> str:
    return next((text_of(n) for n in walk(declarator) if n.type == "identifier"), "")
