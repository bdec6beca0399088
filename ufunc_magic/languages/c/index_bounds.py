"""Which pointers of a function lead to as many elements as one of its integers says: ``x[i]`` in loops to ``i < n``.

What is not certain from the text has no length here: other indices, a counter that the loop's body changes, a pointer
that goes anywhere but to a function of the cell that keeps to the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from tree_sitter import Node

from .c_tree import text_of, walk
from .side_effects import RANGES


class Passed(NamedTuple):
    """A pointer handed to a function: which argument it is, and all arguments as far as they are names."""

    callee: str
    position: int
    names: tuple[str, ...]


class Bounds(NamedTuple):
    """For one pointer: the integer that bounds its indices, ``""`` for none, and the calls it goes to."""

    length: str
    passed: tuple[Passed, ...]


#: ``for (std::size_t i = 1; i <= (int)n - 1; i++)``, also with ``i{1}`` and ``i != n``, and the index ``i + 1``.
_LOOP = re.compile(
    r"for\s*\(\s*(?:[\w:]+\s+){0,3}(?P<counter>\w+)\s*(?:=\s*|\{\s*)(?P<first>\d{0,9})[uUlL]*\s*\}?\s*;\s*"
    r"(?P=counter)\s*(?P<compared><=?|!=)\s*(?:\([\w: ]+\)\s*)?(?P<end>[^\W\d]\w*)\s*(?P<shift>[+-]\s*\d{1,9}\s*)?;"
    r"\s*(?:(?P=counter)\s*\+\+|\+\+\s*(?P=counter)|(?P=counter)\s*\+=\s*(?P<step>[1-9]\d*))\s*\)"
)
_INDEX = re.compile(r"([^\W\d]\w*)\s*(?:([+-])\s*(\d{1,9}))?")


def bounds(body: Node, *, pointers: Collection[str], integers: Collection[str]) -> dict[str, Bounds]:
    """What the indices of each of the ``pointers`` are bounded by, of those where it is certain."""
    lengths: dict[str, set[str]] = {name: set() for name in pointers}
    passed: dict[str, list[Passed]] = {name: [] for name in pointers}
    changed = _changed(body)
    for node in walk(body):
        # ``vector<double> v(x)`` reads as a function of a type ``x``.
        if node.type not in ("identifier", "type_identifier"):
            continue
        if (name := text_of(node)) not in lengths or (parent := node.parent) is None:
            continue
        if parent.type == "subscript_expression" and parent.child_by_field_name("argument") == node:
            length = _length(parent)
            lengths[name].add(length if length in integers and length not in changed else "")
        elif end := _range_end(node):
            lengths[name].add(end if end in integers and end not in changed else "")
        elif parent.type == "argument_list" and parent.parent is not None and parent.parent.type == "call_expression":
            arguments = parent.named_children
            names = tuple(text_of(a) if a.type == "identifier" and text_of(a) not in changed else "" for a in arguments)
            callee = parent.parent.child_by_field_name("function")
            passed[name].append(Passed(text_of(callee) if callee else "", arguments.index(node), names))
        else:
            lengths[name].add("")
    return {
        name: Bounds("".join(lengths[name]), tuple(passed[name]))
        for name in pointers
        if "" not in lengths[name] and len(lengths[name]) < 2 and name not in changed
    }


def settled(
    functions: Mapping[str, tuple[tuple[str, ...], Mapping[str, Bounds]]],
) -> dict[str, dict[str, str]]:
    """Function -> pointer -> the integer parameter that is its length, calls followed.

    ``functions`` has the parameters' names of each, and `bounds` of its body.
    """
    known: dict[str, dict[str, str]] = {name: {} for name in functions}
    for _ in range(10):  # a length travels one call further per round
        for name, (own, of_pointers) in functions.items():
            for pointer, bound in of_pointers.items():
                lengths = {bound.length} if bound.length else set()
                for call in bound.passed:
                    parameters = functions.get(call.callee, ((), {}))[0]
                    arguments = dict(zip(parameters, call.names, strict=False))
                    inner = known.get(call.callee, {}).get("".join(parameters[call.position : call.position + 1]), "")
                    lengths.add(arguments.get(inner, ""))
                if len(lengths) == 1 and (length := lengths.pop()) in own:
                    known[name][pointer] = length
    return known


def _range_end(node: Node) -> str:
    """The name of ``n`` where the pointer at ``node`` is an argument of ``std::copy(x, x + n, y)``, or ``""``."""
    argument = node.parent if node.parent and node.parent.type == "binary_expression" else node
    arguments = argument.parent
    call = arguments.parent if arguments and arguments.type == "argument_list" else None
    callee = call.child_by_field_name("function") if call and call.type == "call_expression" else None
    known = RANGES.get(text_of(callee).removeprefix("std::").partition("<")[0], {}) if callee else {}
    if not arguments or argument not in arguments.named_children[: len(known)]:
        return ""
    first, second, *_ = [*map(text_of, arguments.named_children), "", ""]
    end = re.fullmatch(r"(\w+)\s*\+\s*([^\W\d]\w*)", second)
    alone = argument == node and arguments.named_children.index(node) > 1
    return end[2] if end and first == end[1] and (alone or first == text_of(node)) else ""


def _changed(node: Node) -> set[str]:
    """What is assigned to, or has its address taken."""
    return {
        text_of(target)
        for n in walk(node)
        if n.type in ("assignment_expression", "update_expression")
        or (n.type == "pointer_expression" and n.children[0].type == "&")
        if (target := n.child_by_field_name("left") or n.child_by_field_name("argument"))
    }


def _length(subscript: Node) -> str:
    """The name that the index of a subscript stays below, in the loop that counts it; ``""`` if there is none."""
    index = (
        _INDEX.fullmatch(text_of(subscript.named_children[1]).strip("[] "))
        if subscript.named_child_count == 2
        else None
    )
    inner, loop = subscript, subscript.parent
    while index and loop is not None:
        body = loop.child_by_field_name("body")
        if loop.type == "for_statement" and body is not None and body == inner:
            loops = _LOOP.fullmatch(text_of(loop)[: body.start_byte - loop.start_byte].strip())
            if loops and loops["counter"] == index[1] and index[1] not in _changed(body):
                # A step over an end that is only compared for equality would go on.
                stops = loops["compared"] != "!=" or loops["step"] in (None, "1")
                shift = int(f"{index[2] or ''}{index[3] or 0}")
                end = int("".join((loops["shift"] or "0").split())) + (loops["compared"] == "<=")
                return loops["end"] if stops and int(loops["first"] or 0) + shift >= 0 >= end + shift else ""
        inner, loop = loop, loop.parent
    return ""
