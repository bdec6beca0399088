"""What functions do to their pointers and to the rest of the world: first each body by itself, then calls followed.

The answers err on the side of more work: a pointer that escapes into a variable or a structure counts as
indexed and, unless its elements are const, as written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from tree_sitter import Node

from ...ir import MATH_FUNCTIONS, c_names, is_pure
from . import intrinsics
from .c_tree import text_of

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
class BodyEffects:
    """What one pass over a function's body finds."""

    uses: list[Use] = field(default_factory=list)
    indexed: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    lambdas: set[str] = field(default_factory=set)
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
#: as pointer to const, "look" one that looks at the pointer only.
_How = Literal["escape", "peek", "look", "write", "update", "bind"]
_Step = tuple[Node, _How] | Use

_LOOPS = frozenset(("for_statement", "while_statement", "do_statement", "goto_statement", "for_range_loop"))
_WORLDLY = frozenset(("gnu_asm_expression", "new_expression", "delete_expression", "throw_statement"))
#: Most nodes of a body, with nothing in them to look at.
_LEAVES = frozenset(("number_literal", "primitive_type", "field_identifier", "string_literal"))
_COMPARE = frozenset(("==", "!=", "<", ">", "<=", ">=", "&&", "||"))
_STATIC = re.compile(rb"\bstatic\b[^;={]*")
_FIXED = re.compile(rb"\bconst(?:expr)?\b(?![^\[]*\*(?!\s*const\b))")

_POINTEE_CONST = re.compile(rb"[^=*]*\bconst\b")


def scan(block: Node, *, subjects: Collection[Subject] = ()) -> BodyEffects:
    """Walk a function's body in textual order (right sides before left sides)."""
    body = BodyEffects(size=block.descendant_count)
    watched = {subject.name: subject for subject in subjects}
    steps: list[_Step] = [(block, "escape")]
    while steps:
        step = steps.pop()
        if isinstance(step, Use):
            body.uses.append(step)
            continue
        node, how = step
        kind = node.type
        if kind in _LEAVES:
            continue
        visit = _VISITS.get(kind)
        if visit is not None:
            steps += reversed(visit(body, watched, node, how))
        else:
            if kind in _LOOPS:
                body.loops = True
            elif kind in _WORLDLY:
                body.impure = True
            steps += [(child, "escape") for child in reversed(node.named_children)]
    return body


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
            subject = watched.get(text_of(node))
            return _Place(subject, depth, indexed, tuple(others)) if subject else None
        if kind == "subscript_expression":
            inner, *index = node.named_children
            indexed = indexed or [text_of(i).strip("[] ") for i in index] != ["0"]
            others += index
            depth += 1
        elif kind == "pointer_expression":
            inner = _field(node, "argument")
            depth += 1 if node.children[0].type == "*" else -1
        elif kind == "field_expression":
            inner, indexed = _field(node, "argument"), False  # what was indexed is the member
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


def _use(body: BodyEffects, place: _Place, how: _How, passed: tuple[str, int] | None = None) -> list[_Step]:
    """Steps that record what happens to the place, and to what its subscripts hold."""
    subject = place.subject
    if place.indexed:
        body.indexed.add(subject.name)
    access: Access | None = None
    use = None
    if passed:
        use = Use(subject.name, "none", *passed, place.element)
    elif place.element:
        access = "read" if how not in ("write", "update", "bind") else "update" if how == "update" else "write"
    elif how in ("escape", "peek", "bind"):
        body.indexed.add(subject.name)
        access = "read" if subject.const or how == "peek" else "write"
    elif how in ("write", "update"):
        body.indexed.add(subject.name)  # the pointer itself moves
    if access:
        use = Use(subject.name, access)
    return [*((other, "escape") for other in place.others), *([use] if use else [])]


_Visit = Callable[[BodyEffects, Mapping[str, Subject], Node, _How], list[_Step]]


def _plain(body: BodyEffects, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    """Names, subscripts, stars, members: a place, or nothing of interest."""
    if node.type == "identifier":
        body.names.add(text_of(node))
    place = _place(node, watched)
    if place:
        body.names.add(place.subject.name)
        return _use(body, place, how)
    return [(child, "escape") for child in node.named_children]


def _through(body: BodyEffects, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    """Parentheses and casts: what is inside is used as the whole is."""
    return [(child, how) for child in node.named_children if child.type != "type_descriptor"]


def _binary(body: BodyEffects, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    if node.children[1].type in _COMPARE:
        return [(child, "look") for child in node.named_children]
    place = _place(node, watched)
    if place and not place.element:
        return _use(body, place, how)
    # A difference of pointers keeps neither of them.
    return [(child, "look" if node.children[1].type == "-" else "escape") for child in node.named_children]


def _looking(body: BodyEffects, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    """Statements, with conditions or without, and ``!p``."""
    body.loops = body.loops or node.type in _LOOPS
    return [(child, "look") for child in node.named_children]


def _choice(body: BodyEffects, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    condition, *branches = node.named_children
    return [(condition, "look"), *((branch, how) for branch in branches)]


def _comma(body: BodyEffects, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    *dropped, last = node.named_children
    return [*((child, "look") for child in dropped), (last, how)]


def _assignment(body: BodyEffects, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    left, right = _field(node, "left"), _field(node, "right")
    if left == node or right == node:
        return [(child, "escape") for child in node.named_children]
    target, source = _place(left, watched), _place(right, watched)
    # x = x + 1 moves a pointer; it escapes nowhere.
    moved = target and source and target.subject == source.subject and not target.element
    plain = text_of(_field(node, "operator")) == "="
    if left.type == "identifier":
        body.names.add(text_of(left))
    return [(right, "look" if moved else "escape"), (left, "write" if plain else "update")]


def _increment(body: BodyEffects, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    place = _place(node, watched)
    if place and not place.element:
        return _use(body, place, how)
    return [(child, "update") for child in node.named_children]


def _declaration(body: BodyEffects, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    text = node.text or b""
    static = _STATIC.search(text)
    body.impure = body.impure or bool(static and not _FIXED.search(static[0]))
    steps: list[_Step] = []
    value_use: _How = "peek" if _POINTEE_CONST.match(text) else "escape"
    for child in node.named_children:
        if child.type == "init_declarator" and (value := child.child_by_field_name("value")):
            declared = _field(child, "declarator")
            if value.type == "lambda_expression":
                body.lambdas.add(text_of(declared))
            binds = declared.type == "reference_declarator" and value_use == "escape"
            steps.append((value, "bind" if binds else value_use))
        elif child.type not in ("identifier", "primitive_type", "type_identifier"):
            steps.append((child, "escape"))
    return steps


def _call(body: BodyEffects, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    function, arguments = _field(node, "function"), node.child_by_field_name("arguments")
    name = _callee(function)
    if name:
        body.calls.add(name)
    elif function.type not in ("primitive_type", "sized_type_specifier"):
        body.impure = True
    before: list[_Step] = []
    if function.type == "field_expression":
        body.impure = True
        before = [(_field(function, "argument"), "escape")]
    elif not name and function != node:
        before = [(function, "escape")]
    if name in body.lambdas or function.type == "field_expression":
        name = _UNKNOWN
    passed: list[_Step] = []
    for position, argument in enumerate(arguments.named_children if arguments else ()):
        place = _place(argument, watched)
        if place and argument.type not in ("update_expression", "assignment_expression"):
            steps = _use(body, place, "escape", (name or "()", position))
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
    return text_of(node) if node.type in ("identifier", "field_identifier", "type_identifier") else ""


def _type(body: BodyEffects, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    """``vector<double> v(x)`` reads as a function of a type ``x``."""
    subject = watched.get(text_of(node)) if node.parent and node.parent.type == "parameter_declaration" else None
    return _use(body, _Place(subject, 0, False, ()), "escape") if subject else []


def _nothing(body: BodyEffects, watched: Mapping[str, Subject], node: Node, how: _How) -> list[_Step]:
    return []


_VISITS: dict[str, _Visit] = {
    **dict.fromkeys(("identifier", "subscript_expression", "pointer_expression", "field_expression"), _plain),
    **dict.fromkeys(("parenthesized_expression", "cast_expression", "condition_clause"), _through),
    **dict.fromkeys(("if_statement", "while_statement", "do_statement", "for_statement"), _looking),
    **dict.fromkeys(("expression_statement", "unary_expression"), _looking),
    **dict.fromkeys(("sizeof_expression", "alignof_expression", "type_descriptor", "comment"), _nothing),
    "type_identifier": _type,
    "binary_expression": _binary,
    "conditional_expression": _choice,
    "comma_expression": _comma,
    "assignment_expression": _assignment,
    "update_expression": _increment,
    "declaration": _declaration,
    "call_expression": _call,
}


# ------------------------------------------------------------------------- what functions do together


def pure_call(name: str) -> bool:
    """Whether a function of a library depends on its arguments only."""
    return is_pure(name) or intrinsics.pure(name)


#: Names that reach past the arguments although no declaration in the cell says so.
_WORLD = frozenset("errno stdin stdout stderr signgam environ cout cerr clog cin this".split())

#: Stands for a callee of the cell whose body is not looked at: a method, a lambda.
_UNKNOWN = "?"
#: What reads and writes its first operand as memory that other threads write, too.
_ATOMIC = re.compile(r"atomic[A-Z]\w*|__(?:nv_)?atomic_\w+|__sync_\w+")

#: Functions of C++'s library that go from one pointer to another, ``sort(x, x + n)``, and of which further ones start
#: as long a way: name -> argument -> access.
_OF_ARGUMENTS: tuple[tuple[tuple[Access, ...], str], ...] = (
    (
        ("read", "read"),
        "accumulate all_of any_of binary_search count count_if find find_if is_sorted lower_bound max_element "
        "min_element none_of reduce upper_bound",
    ),
    (("update", "update"), "nth_element partial_sort reverse sort stable_sort"),
    (("write", "write"), "fill iota"),
    (("read", "read", "read"), "inner_product"),
    (("read", "read", "write"), "adjacent_difference copy partial_sum"),
)
RANGES = {name: dict(enumerate(accesses)) for accesses, names in _OF_ARGUMENTS for name in names.split()}

#: What library functions do to the pointers they are given: name -> argument -> (access, indexed).
_LIBRARY: dict[str, dict[int, tuple[Access, bool]]] = {
    **{
        name: dict.fromkeys(row.writes, ("write", False))
        for row in MATH_FUNCTIONS.values()
        if row.writes
        for name in c_names(row)
    },
    **{name: {1: ("write", False), 2: ("write", False)} for name in ("sincospi", "sincospif", "__sincosf")},
    "memcpy": {0: ("write", True), 1: ("read", True)},
    "memmove": {0: ("write", True), 1: ("read", True)},
    "memset": {0: ("write", True)},
    "memcmp": {0: ("read", True), 1: ("read", True)},
    "qsort": {0: ("update", True)},
    **{name: {at: (access, True) for at, access in accesses.items()} for name, accesses in RANGES.items()},
    # What these are handed they do not read as numbers.
    **{name: dict.fromkeys(range(32), ("none", False)) for name in ("assert", "printf", "fprintf", "snprintf", "free")},
}


class Scanned(NamedTuple):
    """A function of the cell with its body: ``subjects`` by position, ``wide`` those declared with a size."""

    name: str
    body: BodyEffects
    subjects: tuple[Subject | None, ...] = ()
    wide: frozenset[int] = frozenset()


Effect = tuple[Access, bool]


def effects(functions: Sequence[Scanned]) -> list[dict[str, Effect]]:
    """Access and indexing of every subject of every function, calls between them followed."""
    by_name: dict[str, list[int]] = {}
    for index, function in enumerate(functions):
        by_name.setdefault(function.name, []).append(index)
    known: list[dict[str, Effect]] = [{s.name: ("none", False) for s in f.subjects if s} for f in functions]
    # A change travels one call further per round; nothing sensible needs fifty.
    for _ in range(50):
        before = [dict(effect) for effect in known]
        for function, effect in zip(functions, known, strict=True):
            effect.update((name, (effect[name][0], name in function.body.indexed)) for name in effect)
            first: dict[str, Access] = dict.fromkeys(effect, "none")
            for use in function.body.uses:
                access, indexed = _effect(use, function, functions, known, by_name)
                first[use.name] = _then(first[use.name], access)
                effect[use.name] = ("none", effect[use.name][1] or indexed)
            effect.update((name, (access, effect[name][1])) for name, access in first.items())
        if known == before:
            break
    return known


def _then(first: Access, second: Access) -> Access:
    """What two accesses are together: elements that were written first are not read from the caller."""
    if first == "none" or (first == "read" and second == "none"):
        return second if first == "none" else first
    return "update" if first == "read" and second != "read" else first


def _effect(
    use: Use,
    function: Scanned,
    functions: Sequence[Scanned],
    known: Sequence[Mapping[str, Effect]],
    by_name: Mapping[str, list[int]],
) -> Effect:
    if not use.callee:
        return use.access, False
    if use.callee in by_name:
        access: Access = "none"
        indexed = False
        for index in by_name[use.callee]:
            callee = functions[index]
            subject = callee.subjects[use.position] if use.position < len(callee.subjects) else None
            # An element goes by value unless the parameter is a reference (no levels of its own).
            if subject is None or use.element != (subject.levels == 0):
                access = _then(access, "read")
                continue
            effect = known[index].get(subject.name, ("none", False))
            access = _then(access, effect[0])
            indexed = indexed or effect[1] or use.position in callee.wide
        return access, indexed
    if use.element:
        return ("update" if use.callee in ("swap", "exchange") else "read"), False
    if use.callee in _LIBRARY:
        return _LIBRARY[use.callee].get(use.position, ("read", True))
    if use.callee == _UNKNOWN or _ATOMIC.fullmatch(use.callee):
        return "update", use.callee != _UNKNOWN
    constant = pure_call(use.callee) or any(s and s.name == use.name and s.const for s in function.subjects)
    return ("read" if constant else "write"), False


def reached(functions: Sequence[Scanned]) -> dict[str, frozenset[str]]:
    """Name -> the cell's functions that a call of it can come to."""
    direct: dict[str, set[str]] = {}
    names = {function.name for function in functions}
    for function in functions:
        direct.setdefault(function.name, set()).update(function.body.calls & names)
    result = {}
    for name in direct:
        visited: set[str] = set()
        waiting = set(direct[name])
        while waiting:
            visited |= waiting
            waiting = set().union(*(direct[other] for other in waiting)) - visited
        result[name] = frozenset(visited)
    return result


def pure(functions: Sequence[Scanned], *, changing: Collection[str], types: Collection[str]) -> frozenset[str]:
    """Names of the functions that depend on their arguments only.

    Parameters
    ----------
    changing : collection of str
        File-scope variables that are not const.
    types : collection of str
        Names of types, a call of which is a cast.
    """
    names = {function.name for function in functions}
    calls: dict[str, set[str]] = {}
    impure = set()
    for function in functions:
        own = {subject.name for subject in function.subjects if subject}
        if function.body.impure or (function.body.names - own) & (_WORLD | set(changing)):
            impure.add(function.name)
        calls.setdefault(function.name, set()).update(
            name
            for name in function.body.calls
            if name in names or not (pure_call(name) or name in types or name.startswith("__builtin_"))
        )
    left = names - impure
    while more := {name for name in left if not calls[name] <= left}:
        left -= more
    return frozenset(left)
