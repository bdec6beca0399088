"""Which pointers of a function lead to as many elements as one of its integers says: ``x[i]`` in loops to ``i < n``.

What is not certain from the text has no length here: other indices, a counter that the loop's body changes, a pointer
that goes anywhere but to a function of the cell that keeps to the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from tree_sitter import Node

from .c_text import constant
from .declarations import text_of


class _Sum(NamedTuple):
    """A name plus a number; ``name`` is ``""`` for a number alone."""

    name: str
    offset: int


class Passed(NamedTuple):
    """A pointer handed to a function: which argument it is, and all arguments as far as they are names."""

    callee: str
    position: int
    names: tuple[str, ...]


class Bounds(NamedTuple):
    """For one pointer: the integers that bound its indices, and the calls it goes to; None where neither is certain."""

    lengths: frozenset[str]
    passed: tuple[Passed, ...]


def bounds(body: Node, *, pointers: Collection[str], integers: Collection[str]) -> dict[str, Bounds]:
    """What the indices of each of the ``pointers`` are bounded by, of those where it is certain."""
    lengths: dict[str, set[str]] = {name: set() for name in pointers}
    passed: dict[str, list[Passed]] = {name: [] for name in pointers}
    changed = {_text(target) for node in _below(body) if (target := _changed(node)) is not None}
    for node in _below(body):
        if node.type != "identifier" or (name := _text(node)) not in lengths:
            continue
        parent = node.parent
        if parent is None:
            continue
        if parent.type == "subscript_expression" and parent.child_by_field_name("argument") == node:
            length = _length(parent)
            lengths[name].add(length if length in integers and length not in changed else "")
        elif parent.type == "argument_list" and parent.parent is not None and parent.parent.type == "call_expression":
            arguments = parent.named_children
            names = tuple(_text(a) if a.type == "identifier" and _text(a) not in changed else "" for a in arguments)
            callee = parent.parent.child_by_field_name("function")
            passed[name].append(Passed(_text(callee) if callee else "", arguments.index(node), names))
        else:
            lengths[name].add("")
    return {
        name: Bounds(frozenset(lengths[name]), tuple(passed[name]))
        for name in pointers
        if "" not in lengths[name]
        and len(lengths[name]) < 2
        and (lengths[name] or passed[name])
        and name not in changed
    }


def settled(
    functions: Mapping[str, tuple[tuple[str, ...], Mapping[str, Bounds]]],
) -> dict[str, dict[str, str]]:
    """Function -> pointer -> the integer parameter that is its length, calls followed.

    ``functions`` has the parameters' names of each, and `bounds` of its body.
    """
    known: dict[str, dict[str, str]] = {name: {} for name in functions}
    for _ in range(10):  # a length travels one call further per round
        before = {name: dict(lengths) for name, lengths in known.items()}
        for name, (_, own) in functions.items():
            for pointer, bound in own.items():
                lengths = set(bound.lengths)
                for call in bound.passed:
                    parameters = functions.get(call.callee, ((), {}))[0]
                    inner = known.get(call.callee, {}).get(dict(enumerate(parameters)).get(call.position, ""), "")
                    at = parameters.index(inner) if inner in parameters else len(call.names)
                    lengths.add(call.names[at] if at < len(call.names) else "")
                if len(lengths) == 1 and (length := lengths.pop()) and length in functions[name][0]:
                    known[name][pointer] = length
        if known == before:
            break
    return known


def _below(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.named_children)


def _text(node: Node | None) -> str:
    return text_of(node) if node is not None else ""


def _changed(node: Node) -> Node | None:
    """What a node assigns to or takes the address of."""
    if node.type == "assignment_expression":
        return node.child_by_field_name("left")
    if node.type == "update_expression" or (node.type == "pointer_expression" and node.children[0].type == "&"):
        return node.child_by_field_name("argument")
    return None


def _sum(node: Node | None) -> _Sum | None:
    """``n``, ``2``, ``n - 1``, ``i + 1``."""
    text = re.sub(r"\s|^\((.*)\)$", r"\1", _text(node))
    match = re.fullmatch(r"([^\W\d]\w*)(?:([+-])(\d+))?", text)
    if match:
        return _Sum(match[1], int(f"{match[2]}{match[3]}") if match[2] else 0)
    value = constant(text, {})
    return None if value is None else _Sum("", value)


def _length(subscript: Node) -> str:
    """The name that the index of a subscript stays below, in the loops around it; ``""`` if there is none."""
    index = _sum(_index(subscript))
    node: Node | None = subscript.parent
    inner = subscript
    while index is not None and index.name and node is not None:
        if node.type == "for_statement" and node.child_by_field_name("body") == inner:
            lowest_and_end = _range(node, index.name)
            if lowest_and_end is not None:
                lowest, end = lowest_and_end
                return end.name if lowest + index.offset >= 0 and end.offset + index.offset <= 0 else ""
        inner = node
        node = node.parent
    return ""


def _index(subscript: Node) -> Node | None:
    index = subscript.child_by_field_name("index") or next(iter(subscript.named_children[1:]), None)
    if index is not None and index.type == "subscript_argument_list":  # C++
        return index.named_children[0] if index.named_child_count == 1 else None
    return index


def _range(loop: Node, counter: str) -> tuple[int, _Sum] | None:
    """The lowest value of a loop's counter, and a bound that it stays below; None if it is not that clear."""
    start = _start(loop, counter)
    condition, step = (
        loop.child_by_field_name("condition"),
        re.sub(r"\s", "", _text(loop.child_by_field_name("update"))),
    )
    body = loop.child_by_field_name("body")
    if start is None or condition is None or body is None or condition.type != "binary_expression":
        return None
    if any((target := _changed(node)) is not None and _text(target) == counter for node in _below(body)):
        return None
    left, right = (_sum(condition.child_by_field_name(side)) for side in ("left", "right"))
    sign = condition.children[1].type
    if left is None or right is None:
        return None
    if left.name != counter:
        left, right, sign = right, left, {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(sign, sign)
    if left != _Sum(counter, 0):
        return None
    if re.fullmatch(rf"{counter}\+\+|\+\+{counter}|{counter}\+=[1-9]\d*", step) and not start.name and right.name:
        single = "+=" not in step
        end = {"<": right, "<=": _Sum(right.name, right.offset + 1)}.get(sign)
        if sign == "!=" and single and start.offset == 0 and right.offset == 0:
            end = right
        return (start.offset, end) if end else None
    if re.fullmatch(rf"{counter}--|--{counter}|{counter}-=[1-9]\d*", step) and start.name and not right.name:
        lowest = {">": right.offset + 1, ">=": right.offset}.get(sign)
        return None if lowest is None else (lowest, _Sum(start.name, start.offset + 1))
    return None


def _start(loop: Node, counter: str) -> _Sum | None:
    """What the counter begins with."""
    first = loop.child_by_field_name("initializer")
    for node in _below(first) if first is not None else ():
        target = node.child_by_field_name("declarator") or node.child_by_field_name("left")
        if node.type in ("init_declarator", "assignment_expression") and _text(target) == counter:
            return _sum(node.child_by_field_name("value") or node.child_by_field_name("right"))
    return None
