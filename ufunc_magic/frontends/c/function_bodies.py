"""What one function's body does to its pointers and to the rest of the world, in textual order.

The answers err on the side of more work: a pointer that escapes into a variable or a structure counts as
indexed and, unless its elements are const, as written.  What calls do is left open for ``ceffects``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from tree_sitter import Node

__all__ = ["Access", "Body", "Subject", "Use", "scan"]

Access = Literal["none", "read", "write", "update"]


class Subject(NamedTuple):
    """A parameter whose elements are watched: ``levels`` of subscripts or stars lead to an element."""

    name: str
    levels: int
    const: bool = False


class Use(NamedTuple):
    """One thing that happens to a subject: an access, or its passage to argument ``position`` of ``callee``.

    ``element`` tells that the element itself was passed, which matters where C++ takes a reference.
    """

    name: str
    access: Access
    callee: str = ""
    position: int = 0
    element: bool = False


@dataclass
class Body:
    """What one pass over a body found."""

    uses: list[Use] = field(default_factory=list)
    indexed: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    loops: bool = False
    #: Something that no name shows: a changing static, assembly, an exception, a call of a computed address.
    impure: bool = False
    size: int = 0


class _Place(NamedTuple):
    """An expression that leads to a subject: ``depth`` dereferences from it, by way of ``others``."""

    subject: Subject
    depth: int
    indexed: bool
    others: tuple[Node, ...]

    @property
    def element(self) -> bool:
        return self.depth >= self.subject.levels


#: How the value of an expression is used.  "escape" is any use that may keep a pointer, "peek" one that keeps it
#: as pointer to const, "test" and "drop" look at the pointer only.
_How = Literal["escape", "peek", "test", "drop", "write", "update", "bind"]
_Step = tuple[Node, _How] | Use

_LOOPS = frozenset(("for_statement", "while_statement", "do_statement", "goto_statement", "for_range_loop"))
_WORLDLY = frozenset(("gnu_asm_expression", "new_expression", "delete_expression", "throw_statement"))
#: Most nodes of a body, with nothing in them to look at.
_LEAVES = frozenset(("number_literal", "primitive_type", "type_identifier", "field_identifier", "string_literal"))
_COMPARE = frozenset(("==", "!=", "<", ">", "<=", ">=", "&&", "||"))
_STATIC = re.compile(rb"\bstatic\b[^;={]*")
_FIXED = re.compile(rb"\bconst(?:expr)?\b(?![^\[]*\*(?!\s*const\b))")

_POINTEE_CONST = re.compile(rb"[^=*]*\bconst\b")


def scan(body: Node, *, subjects: Collection[Subject] = ()) -> Body:
    """Walk a function's body in textual order (right sides before left sides)."""
    found = Body(size=body.descendant_count)
    watched = {subject.name: subject for subject in subjects}
    steps: list[_Step] = [(body, "escape")]
    while steps:
        step = steps.pop()
        if isinstance(step, Use):
            found.uses.append(step)
            continue
        node, how = step
        kind = node.type
        if kind in _LEAVES:
            continue
        visit = _VISITS.get(kind)
        if visit is not None:
            steps += reversed(visit(found, watched, node, how))
        else:
            if kind in _LOOPS:
                found.loops = True
            elif kind in _WORLDLY:
                found.impure = True
            steps += [(child, "escape") for child in reversed(node.named_children)]
    return found


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _field(node: Node, name: str) -> Node:
    """A child by its field; the node itself where broken text left none."""
    return node.child_by_field_name(name) or node


def _place(node: Node, watched: Mapping[str, Subject], depth: int = 0, nested: int = 0) -> _Place | None:
    """Follow stars, subscripts, casts and sums from ``node`` down to a watched parameter."""
    if not watched:
        return None
    indexed = False
    others: list[Node] = []
    while True:
        kind = node.type
        if kind == "identifier":
            subject = watched.get(_text(node))
            return _Place(subject, depth, indexed, tuple(others)) if subject else None
        if kind == "subscript_expression":
            inner, *index = node.named_children
            indexed = indexed or [_text(i).strip("[] ") for i in index] != ["0"]
            others += index
            depth += 1
        elif kind == "pointer_expression":
            inner = _field(node, "argument")
            depth += 1 if node.children[0].type == "*" else -1
        elif kind == "field_expression":
            inner = _field(node, "argument")
            depth += any(child.type == "->" for child in node.children)
        elif kind == "cast_expression":
            inner = _field(node, "value")
        elif kind == "update_expression":
            inner, indexed = _field(node, "argument"), True
        elif kind == "assignment_expression":
            inner, indexed = _field(node, "left"), True
            others.append(_field(node, "right"))
        elif kind == "binary_expression" and nested < 16:
            return _sum(node, watched, depth, nested, tuple(others))
        else:
            inner = next(iter(node.named_children), node) if kind == "parenthesized_expression" else node
        if inner == node:
            return None
        node = inner


def _sum(
    node: Node, watched: Mapping[str, Subject], depth: int, nested: int, others: tuple[Node, ...]
) -> _Place | None:
    """The pointer side of a sum, if it has one; a difference of pointers is a number."""
    sign = node.children[1].type
    if sign not in ("+", "-"):
        return None
    left, right = _field(node, "left"), _field(node, "right")
    places = _place(left, watched, 0, nested + 1), _place(right, watched, 0, nested + 1)
    if sign == "-" and places[1] and not places[1].element:
        return None
    for place, other in zip(places, (right, left), strict=True):
        if place and not place.element:
            return _Place(place.subject, depth + place.depth, True, (*others, *place.others, other))
    return None


def _use(found: Body, place: _Place, how: _How, passed: tuple[str, int] | None = None) -> list[_Step]:
    """Steps that record what happens to the place, and to what its subscripts hold."""
    subject = place.subject
    if place.indexed:
        found.indexed.add(subject.name)
    access: Access | None = None
    use = None
    if passed:
        use = Use(subject.name, "none", *passed, place.element)
    elif place.element:
        access = "read" if how not in ("write", "update", "bind") else "update" if how == "update" else "write"
    elif how in ("escape", "peek", "bind"):
        found.indexed.add(subject.name)
        access = "read" if subject.const or how == "peek" else "write"
    elif how in ("write", "update"):
        found.indexed.add(subject.name)  # the pointer itself moves
    if access:
        use = Use(subject.name, access)
    return [*((other, "escape") for other in place.others), *([use] if use else [])]


_Visit = Callable[[Body, Mapping[str, Subject], Node, _How], list[_Step]]


def _plain(found: Body, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    """Names, subscripts, stars, members: a place, or nothing of interest."""
    if node.type == "identifier":
        found.names.add(_text(node))
    place = _place(node, watched)
    if place:
        found.names.add(place.subject.name)
        return _use(found, place, how)
    return [(child, "escape") for child in node.named_children]


def _through(found: Body, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    """Parentheses and casts: what is inside is used as the whole is."""
    return [(child, how) for child in node.named_children if child.type != "type_descriptor"]


def _binary(found: Body, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    if node.children[1].type in _COMPARE:
        return [(child, "test") for child in node.named_children]
    place = _place(node, watched)
    if place and not place.element:
        return _use(found, place, how)
    # A difference of pointers keeps neither of them.
    return [(child, "drop" if node.children[1].type == "-" else "escape") for child in node.named_children]


def _unary(found: Body, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    return [(child, "test" if node.children[0].type == "!" else "escape") for child in node.named_children]


def _choice(found: Body, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    condition, *branches = node.named_children
    return [(condition, "test"), *((branch, how) for branch in branches)]


def _comma(found: Body, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    *dropped, last = node.named_children
    return [*((child, "drop") for child in dropped), (last, how)]


def _guarded(found: Body, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    """Statements with a condition."""
    found.loops = found.loops or node.type in _LOOPS
    condition = node.child_by_field_name("condition")
    return [(child, "test" if child == condition else "drop") for child in node.named_children]


def _assignment(found: Body, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    left, right = _field(node, "left"), _field(node, "right")
    if left == node or right == node:
        return [(child, "escape") for child in node.named_children]
    target, source = _place(left, watched), _place(right, watched)
    # x = x + 1 moves a pointer; it escapes nowhere.
    moved = target and source and target.subject == source.subject and not target.element
    plain = _text(_field(node, "operator")) == "="
    if left.type == "identifier":
        found.names.add(_text(left))
    return [(right, "drop" if moved else "escape"), (left, "write" if plain else "update")]


def _increment(found: Body, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    place = _place(node, watched)
    if place and not place.element:
        return _use(found, place, how)
    return [(child, "update") for child in node.named_children]


def _statement(found: Body, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    return [(child, "drop") for child in node.named_children]


def _declaration(found: Body, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    text = node.text or b""
    static = _STATIC.search(text)
    found.impure = found.impure or bool(static and not _FIXED.search(static[0]))
    steps: list[_Step] = []
    kept: _How = "peek" if _POINTEE_CONST.match(text) else "escape"
    for child in node.named_children:
        if child.type == "init_declarator" and (value := child.child_by_field_name("value")):
            binds = _field(child, "declarator").type == "reference_declarator" and kept == "escape"
            steps.append((value, "bind" if binds else kept))
        elif child.type not in ("identifier", "primitive_type", "type_identifier"):
            steps.append((child, "escape"))
    return steps


def _call(found: Body, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    function, arguments = _field(node, "function"), node.child_by_field_name("arguments")
    name = _callee(function)
    if name:
        found.calls.add(name)
    elif function.type not in ("primitive_type", "sized_type_specifier"):
        found.impure = True
    before: list[_Step] = []
    if function.type == "field_expression":
        found.impure = True
        before = [(_field(function, "argument"), "escape")]
    elif not name and function != node:
        before = [(function, "escape")]
    passed: list[_Step] = []
    for position, argument in enumerate(arguments.named_children if arguments else ()):
        place = _place(argument, watched)
        if place and argument.type not in ("update_expression", "assignment_expression"):
            steps = _use(found, place, "escape", (name, position))
            before += steps[:-1]
            passed.append(steps[-1])
        else:
            before.append((argument, "escape"))
    return before + passed


def _callee(node: Node) -> str:
    """Last name of what is called, ``""`` where it is computed."""
    while node.type in ("parenthesized_expression", "qualified_identifier", "template_function", "field_expression"):
        inner = node.child_by_field_name("field") or node.child_by_field_name("name")
        inner = inner or next(iter(node.named_children), None)
        if inner is None:
            return ""
        node = inner
    return _text(node) if node.type in ("identifier", "field_identifier", "type_identifier") else ""


def _nothing(found: Body, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    return []


_VISITS: dict[str, _Visit] = {
    **dict.fromkeys(("identifier", "subscript_expression", "pointer_expression", "field_expression"), _plain),
    **dict.fromkeys(("parenthesized_expression", "cast_expression", "condition_clause"), _through),
    **dict.fromkeys(("if_statement", "while_statement", "do_statement", "for_statement"), _guarded),
    **dict.fromkeys(("sizeof_expression", "alignof_expression", "type_descriptor", "comment"), _nothing),
    "binary_expression": _binary,
    "unary_expression": _unary,
    "conditional_expression": _choice,
    "comma_expression": _comma,
    "assignment_expression": _assignment,
    "update_expression": _increment,
    "expression_statement": _statement,
    "declaration": _declaration,
    "call_expression": _call,
}
