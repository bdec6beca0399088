"""Cython's own parser on a cell: text to tree, nothing analysed and nothing generated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from Cython.Compiler import Errors
from Cython.Compiler.TreeFragment import StringParseContext, parse_from_strings

from ..value import Stop


def parse(source: str, *, cplus: bool, directives: Mapping[str, Any]) -> Any:
    """The tree of a cell, as the parser leaves it.

    Raises
    ------
    Stop
        If Cython cannot read the text.
    """
    Errors.init_thread()  # before Cython 3.2 a thread has nowhere to put errors otherwise
    context = StringParseContext("cell", compiler_directives=dict(directives), cpp=cplus)
    if level := directives.get("language_level"):  # which the context takes for 3, whatever the directives say
        context.set_language_level(level)
    with Errors.local_errors(ignore=True) as faults:
        try:
            tree = parse_from_strings("cell", source, context=context)
        except Errors.CompileError as fault:
            raise Stop("could not be read by Cython's parser") from fault
        except RuntimeError as fault:  # of a text without a file Cython reads no other files
            raise Stop("is in a cell that includes other files") from fault
        if faults:
            raise Stop("could not be read by Cython's parser")
    return tree


def stop(reason: str, node: Any) -> Stop:
    """The exception for what has no Python form, with the node's line (1-based) as its row."""
    return Stop(reason, node.pos[1] if node is not None and node.pos else 0)


def kind(node: Any) -> str:
    return type(node).__name__


def children(node: Any) -> Iterator[Any]:
    """The nodes directly below, in the order of the tree."""
    for attribute in node.child_attrs:
        below = getattr(node, attribute, None)
        for child in below if isinstance(below, list) else [below]:
            if hasattr(child, "child_attrs"):
                yield child


def walk(node: Any) -> Iterator[Any]:
    yield node
    for child in children(node):
        yield from walk(child)


def statements(node: Any) -> Iterator[Any]:
    """The statements of a block, nested lists unfolded."""
    if node is None:
        return
    if kind(node) == "StatListNode":
        for child in node.stats:
            yield from statements(child)
    else:
        yield node


def dotted(node: Any) -> str:
    """``np.random.rand`` as text, or ``""`` if the node is more than names and attributes."""
    if kind(node) == "NameNode":
        return str(node.name)
    if kind(node) == "AttributeNode":
        base = dotted(node.obj)
        return f"{base}.{node.attribute}" if base else ""
    return ""


def _targets(node: Any) -> Iterator[Any]:
    match kind(node):
        case "SingleAssignmentNode" | "InPlaceAssignmentNode":
            yield node.lhs
        case "CascadedAssignmentNode":
            yield from node.lhs_list
        case "ForInStatNode":
            yield node.target


def assigned_names(node: Any) -> Iterator[tuple[str, Any]]:
    """Names that a block assigns, each with the statement that does."""
    for target in _targets(node):
        for inner in _leaves(target):
            if kind(inner) == "NameNode":
                yield inner.name, node
    for child in children(node):
        yield from assigned_names(child)


def _leaves(target: Any) -> Iterator[Any]:
    if kind(target) in ("TupleNode", "ListNode"):
        for inner in target.args:
            yield from _leaves(inner)
    else:
        yield target
