"""What functions do to what their pointers lead to, and to the rest of the world: each body first, then calls followed.

The answers err on the side of more work: a pointer that escapes into a variable or a structure counts as indexed and,
unless its elements are const, as written; what is Opaque may do anything to its symbols.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from .math_functions import is_pure, math_function
from .nodes import (
    AddressOf,
    Assert,
    Assignment,
    Binary,
    Block,
    Comma,
    Conditional,
    Constant,
    Convert,
    CountedFor,
    Current,
    Declare,
    DoWhile,
    Element,
    Evaluate,
    Expression,
    Field,
    For,
    FunctionCall,
    FunctionIR,
    If,
    Logical,
    Name,
    Node,
    OpaqueExpression,
    OpaqueStatement,
    Raise,
    Symbol,
    Unary,
    While,
    children,
)

Access = Literal["none", "read", "write", "update"]


class PointerEffect(NamedTuple):
    """What happens to the elements behind a parameter; ``"update"``: one is read before it is written.

    ``indexed``: it may be more than the first element.
    """

    access: Access = "none"
    indexed: bool = False


@dataclass(frozen=True)
class Effects:
    """What a function does.

    Attributes
    ----------
    pointers : mapping
        By parameter, of those that are pointers, arrays or references.
    calls : frozenset of str
        Last names of what it calls, as the cell writes them.
    loops : bool
        Something in it may run more than once: a loop, a ``goto``.
    pure : bool
        It depends on its arguments only, and changes nothing but what they lead to.
    reaches : frozenset of str
        The functions of the cell that a call of it can come to.
    """

    pointers: Mapping[Symbol, PointerEffect]
    calls: frozenset[str]
    loops: bool
    pure: bool
    reaches: frozenset[str]


def find_effects(
    functions: Sequence[FunctionIR], *, pure: Callable[[str], bool] = is_pure, types: Collection[str] = ()
) -> list[Effects]:
    """What each of the functions of a cell does.

    Parameters
    ----------
    pure : function
        Whether a function outside the cell depends on its arguments only.
    types : collection of str
        Names of types, a call of which is a cast.
    """
    bodies = [_scan(function) for function in functions]
    reaches = _reached(functions, bodies)
    pointers = _followed(functions, bodies, pure)
    clean = _pure(functions, bodies, pure, types)
    return [
        Effects(effect, frozenset(body.calls), body.loops, function.name in clean, reaches[function.name])
        for function, body, effect in zip(functions, bodies, pointers, strict=True)
    ]


# ---------------------------------------------------------------------------------- one body by itself

#: How the value of an expression is used.  "escape" is any use that may store a pointer, "peek" one that stores it
#: as pointer to const, "look" one that looks at the pointer only.
_How = Literal["escape", "peek", "look", "write", "update", "bind"]

#: Names that reach past the arguments although no declaration in the cell says so.
_WORLD = frozenset("errno stdin stdout stderr signgam environ cout cerr clog cin this".split())


class _Use(NamedTuple):
    """One thing that happens to a parameter: an access, or its passage to argument ``position`` of ``call``.

    ``element``: the element itself was passed, which matters where C++ takes a reference.
    """

    symbol: Symbol
    access: Access
    call: FunctionCall | None = None
    position: int = 0
    element: bool = False


class _Target(NamedTuple):
    """An expression that leads to a parameter: ``depth`` dereferences from it, by way of ``others``."""

    symbol: Symbol
    depth: int
    indexed: bool
    others: tuple[Expression, ...]

    @property
    def element(self) -> bool:
        return self.depth >= levels(self.symbol)


_Step = tuple[Node, _How] | _Use


@dataclass
class _Body:
    """What one pass over a function's body shows; ``watched`` are the parameters of interest."""

    watched: frozenset[Symbol]
    uses: list[_Use] = field(default_factory=list)
    indexed: set[Symbol] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    lambdas: set[Symbol] = field(default_factory=set)
    loops: bool = False
    #: It reads or writes what is not its arguments: a variable of file scope, a file.
    impure: bool = False


def levels(symbol: Symbol) -> int:
    """How many subscripts or stars lead from a parameter to an element."""
    return 0 if symbol.reference else symbol.type.depth


def leads_somewhere(symbol: Symbol) -> bool:
    """Whether a parameter is a pointer, an array, or a reference through which a caller's variable can change."""
    if symbol.reference:
        return not symbol.const and symbol.type.kind != "a"
    return symbol.type.kind == "a"


def _scan(function: FunctionIR) -> _Body:
    """Walk a body in the order of its text, right sides before left sides."""
    body = _Body(frozenset(filter(leads_somewhere, function.parameters)))
    steps: list[_Step] = [(function.body, "look")]
    while steps:
        step = steps.pop()
        if isinstance(step, _Use):
            body.uses.append(step)
            continue
        node, how = step
        visit = _VISITS.get(type(node))
        if visit is not None:
            steps += reversed(visit(body, node, how))
        else:
            steps += [(child, "escape") for child in reversed(tuple(children(node)))]
    return body


def _target(body: _Body, node: Expression) -> _Target | None:
    """Follow stars, subscripts, casts and sums from ``node`` down to a watched parameter."""
    if not body.watched:
        return None
    depth, indexed, e = 0, False, node
    others: list[Expression] = []
    while True:
        match e:
            case Name(symbol=symbol):
                return _Target(symbol, depth, indexed, tuple(others)) if symbol in body.watched else None
            case Element(base=inner, index=index):
                first = isinstance(index, Constant) and not index.value
                indexed = indexed or not first
                others += [] if first else [index]
                depth += 1
            case AddressOf(place=inner):
                depth -= 1
            case Field(base=inner):
                indexed = False  # what was indexed is the member
            case Convert(value=inner):
                pass
            case Assignment(place=inner, value=value):
                indexed = True
                others.append(value)
            case Binary(op="+" | "-", type=t, left=left, right=right) if t.kind == "a":
                inner, other = (left, right) if left.type.kind == "a" else (right, left)
                indexed = True
                others.append(other)
            case _:
                return None
        e = inner


def _used(body: _Body, target: _Target, how: _How, passed: tuple[FunctionCall, int] | None = None) -> list[_Step]:
    """Steps that record what happens to a target, and to what its subscripts hold."""
    symbol, access = target.symbol, None
    if target.indexed:
        body.indexed.add(symbol)
    use = None
    if passed:
        use = _Use(symbol, "none", *passed, target.element)
    elif target.element:
        access = {"write": "write", "bind": "write", "update": "update"}.get(how, "read")
    elif how in ("escape", "peek", "bind"):
        body.indexed.add(symbol)
        access = "read" if symbol.const or how == "peek" else "write"
    elif how in ("write", "update"):
        body.indexed.add(symbol)  # the pointer itself moves
    if access:
        use = _Use(symbol, access)  # type: ignore[arg-type]
    return [*((other, "escape") for other in target.others), *([use] if use else [])]


def _place(body: _Body, node: Node, how: _How) -> list[_Step]:
    """Names, subscripts, stars, members: a place, or nothing of interest."""
    assert isinstance(node, Expression)
    if isinstance(node, Name):
        body.impure = body.impure or node.symbol.storage == "global"
        if node.symbol not in body.watched:
            return []
    target = _target(body, node)
    if target:
        return _used(body, target, how)
    return [(child, "escape") for child in children(node)]


def _convert(body: _Body, node: Convert, how: _How) -> list[_Step]:
    return [(node.value, how)]


def _binary(body: _Body, node: Binary, how: _How) -> list[_Step]:
    if node.compares:
        return [(node.left, "look"), (node.right, "look")]
    if node.type.kind == "a" and (target := _target(body, node)) and not target.element:
        return _used(body, target, how)
    # A difference of pointers stores neither of them.
    inner: _How = "look" if node.op == "-" else "escape"
    return [(node.left, inner), (node.right, inner)]


def _looking(body: _Body, node: Node, how: _How) -> list[_Step]:
    """Statements, and operators that look at a pointer only."""
    return [(child, "look") for child in children(node)]


def _loop(body: _Body, node: Node, how: _How) -> list[_Step]:
    body.loops = True
    return [(child, "look") for child in children(node)]


def _conditional(body: _Body, node: Conditional, how: _How) -> list[_Step]:
    return [(node.test, "look"), (node.yes, how), (node.no, how)]


def _comma(body: _Body, node: Comma, how: _How) -> list[_Step]:
    return [(node.first, "look"), (node.second, how)]


def _assignment(body: _Body, node: Assignment, how: _How) -> list[_Step]:
    target, plain = _target(body, node.place), not reads_current(node.value)
    if target and not target.element and not plain and how in ("escape", "peek", "bind"):
        return [(node.value, "escape"), *_used(body, target, how)]  # q = p++
    # x = x + 1 moves a pointer; it escapes nowhere.
    source = _target(body, node.value) if target and not target.element else None
    moved = source is not None and target is not None and source.symbol is target.symbol
    return [(node.value, "look" if moved else "escape"), (node.place, "write" if plain else "update")]


def reads_current(value: Expression) -> bool:
    """Whether an assignment is a compound one: its value is made of what the place held before."""
    while True:
        match value:
            case Convert(value=value):
                continue
            case Binary(left=value):
                continue
        return isinstance(value, Current)


def _declare(body: _Body, node: Declare, how: _How) -> list[_Step]:
    symbol = node.symbol
    body.impure = body.impure or symbol.storage == "static"
    if isinstance(node.value, OpaqueExpression) and node.value.text.startswith("["):
        body.lambdas.add(symbol)
    steps: list[_Step] = [(size, "escape") for size in node.sizes if size is not None]
    if node.value is not None:
        value_use: _How = "peek" if symbol.const else "bind" if symbol.reference else "escape"
        steps.append((node.value, value_use))
    return steps


def _call(body: _Body, node: FunctionCall, how: _How) -> list[_Step]:
    computed = node.through is not None and node.target != "method" and not isinstance(node.through, Name)
    name = "" if computed else last_name(node.written)
    if name:
        body.calls.add(name)
    before: list[_Step] = []
    if node.through is not None:
        before = [(node.through, "escape")]
        body.impure = body.impure or not name or node.target == "method"
    passed: list[_Step] = []
    for position, argument in enumerate(node.arguments):
        target = _target(body, argument) if not isinstance(argument, Assignment) else None
        if target:
            steps = _used(body, target, "escape", (node, position))
            before += steps[:-1]
            passed.append(steps[-1])
        else:
            before.append((argument, "escape"))
    return before + passed


_LAST = re.compile(r"([^\W\d][\w$]*)\s*(?:<.*>)?\s*\Z", re.S)


def last_name(name: str) -> str:
    """``f`` of ``f``, ``std::f``, ``object.f`` and ``object->f<T>``; ``""`` of what is computed."""
    if name.isidentifier():
        return name
    match = _LAST.search(name)
    return match[1] if match else ""


def _opaque(body: _Body, node: OpaqueExpression | OpaqueStatement, how: _How) -> list[_Step]:
    body.impure = body.impure or node.acts or node.text in _WORLD
    steps: list[_Step] = [(child, "escape") for child in children(node)]
    if isinstance(node, OpaqueStatement):
        body.loops = body.loops or node.repeats
    for symbol in (node.reads | node.writes) & body.watched:
        body.indexed.add(symbol)
        steps.append(_Use(symbol, "update" if symbol in node.writes and not symbol.const else "read"))
    return steps


def _raise(body: _Body, node: Raise, how: _How) -> list[_Step]:
    body.impure = True
    return [(child, "escape") for child in children(node)]


def _assert(body: _Body, node: Assert, how: _How) -> list[_Step]:
    body.calls.add("assert")
    return [(node.test, "look")]


_VISITS: dict[type[Node], Callable[..., list[_Step]]] = {
    **dict.fromkeys((Name, Element, AddressOf, Field), _place),
    **dict.fromkeys((If, Evaluate, Block, Unary, Logical), _looking),
    **dict.fromkeys((CountedFor, For, While, DoWhile), _loop),
    **dict.fromkeys((OpaqueExpression, OpaqueStatement), _opaque),
    Convert: _convert,
    Binary: _binary,
    Conditional: _conditional,
    Comma: _comma,
    Assignment: _assignment,
    Declare: _declare,
    FunctionCall: _call,
    Raise: _raise,
    Assert: _assert,
}

# --------------------------------------------------------------------------------- functions together

#: What reads and writes its first operand as memory that other threads write, too.
_ATOMIC = re.compile(r"atomic[A-Z]\w*|__(?:nv_)?atomic_\w+|__sync_\w+")

#: Functions of C++'s library that go from one pointer to another, ``sort(x, x + n)``, and of which further ones start
#: as long a way: argument -> access, names.
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
RANGES = {name: accesses for accesses, names in _OF_ARGUMENTS for name in names.split()}

#: What library functions do to the pointers that they take: name -> argument -> access.
_LIBRARY: dict[str, dict[int, PointerEffect]] = {
    "memcpy": {0: PointerEffect("write", True), 1: PointerEffect("read", True)},
    "memmove": {0: PointerEffect("write", True), 1: PointerEffect("read", True)},
    "memset": {0: PointerEffect("write", True)},
    "memcmp": {0: PointerEffect("read", True), 1: PointerEffect("read", True)},
    "qsort": {0: PointerEffect("update", True)},
    **dict.fromkeys(("sincospi", "sincospif", "__sincos", "__sincosf"), dict.fromkeys((1, 2), PointerEffect("write"))),
    **{n: {at: PointerEffect(a, True) for at, a in enumerate(accesses)} for n, accesses in RANGES.items()},
    # What these take they do not read as numbers.
    **{name: dict.fromkeys(range(32), PointerEffect()) for name in ("printf", "fprintf", "snprintf", "free")},
}


def _library(name: str) -> dict[int, PointerEffect] | None:
    """What a library function does to the pointers that it takes; None where that is not known."""
    if name in _LIBRARY:
        return _LIBRARY[name]
    entry = math_function(name)
    return dict.fromkeys(entry[0].writes, PointerEffect("write")) if entry is not None and entry[0].writes else None


def _followed(
    functions: Sequence[FunctionIR], bodies: Sequence[_Body], pure: Callable[[str], bool]
) -> list[dict[Symbol, PointerEffect]]:
    """What happens to every pointer of every function, calls followed."""
    by_name: dict[str, list[int]] = {}
    for index, function in enumerate(functions):
        by_name.setdefault(function.name, []).append(index)
    known = [dict.fromkeys(body.watched, PointerEffect()) for body in bodies]
    waiting = [index for index, body in enumerate(bodies) if body.watched]
    # A change travels one call further per round; nothing sensible needs fifty.
    for _ in range(50):
        changed = False
        for index in waiting:
            body, effect = bodies[index], known[index]
            after = {symbol: PointerEffect("none", symbol in body.indexed) for symbol in body.watched}
            for use in body.uses:
                access, indexed = _effect(use, body, functions, known, by_name, pure)
                before = after[use.symbol]
                after[use.symbol] = PointerEffect(_then(before.access, access), before.indexed or indexed)
            if after != effect:
                known[index], changed = after, True
        if not changed:
            break
    return known


def _then(first: Access, second: Access) -> Access:
    """What two accesses are together: elements that were written first are not read from the caller."""
    if first == "none" or (first == "read" and second == "none"):
        return second if first == "none" else first
    return "update" if first == "read" and second != "read" else first


def _effect(
    use: _Use,
    body: _Body,
    functions: Sequence[FunctionIR],
    known: Sequence[Mapping[Symbol, PointerEffect]],
    by_name: Mapping[str, list[int]],
    pure: Callable[[str], bool],
) -> PointerEffect:
    call = use.call
    if call is None:
        return PointerEffect(use.access)
    if call.target == "cell" and call.name in by_name:
        access: Access = "none"
        indexed = False
        overloads = by_name[call.name]
        for index in overloads if call.overload < 0 else overloads[call.overload : call.overload + 1]:
            parameters = functions[index].parameters
            parameter = parameters[use.position] if use.position < len(parameters) else None
            # An element goes by value unless the parameter is a reference.
            if parameter is None or parameter not in known[index] or use.element != (levels(parameter) == 0):
                access = _then(access, "read")
                continue
            effect = known[index][parameter]
            access = _then(access, effect.access)
            indexed = indexed or effect.indexed or parameter.type.length is not None
        return PointerEffect(access, indexed)
    name = last_name(call.name)
    if use.element:
        return PointerEffect("update" if name in ("swap", "exchange") else "read")
    if call.target == "method" or (isinstance(call.through, Name) and call.through.symbol in body.lambdas):
        return PointerEffect("update")
    if (effects := _library(name)) is not None:
        return effects.get(use.position, PointerEffect("read", True))
    if _ATOMIC.fullmatch(name):
        return PointerEffect("update", True)
    return PointerEffect("read" if pure(name) or use.symbol.const else "write")


def _reached(functions: Sequence[FunctionIR], bodies: Sequence[_Body]) -> dict[str, frozenset[str]]:
    """Name -> the cell's functions that a call of it can come to."""
    direct: dict[str, set[str]] = {}
    names = {function.name for function in functions}
    for function, body in zip(functions, bodies, strict=True):
        direct.setdefault(function.name, set()).update(body.calls & names)
    result = {}
    for name in direct:
        visited: set[str] = set()
        waiting = set(direct[name])
        while waiting:
            visited |= waiting
            waiting = set().union(*(direct[other] for other in waiting)) - visited
        result[name] = frozenset(visited)
    return result


def _pure(
    functions: Sequence[FunctionIR], bodies: Sequence[_Body], pure: Callable[[str], bool], types: Collection[str]
) -> set[str]:
    """Names of the functions that depend on their arguments only."""
    names = {function.name for function in functions}
    calls: dict[str, set[str]] = {}
    impure = set()
    for function, body in zip(functions, bodies, strict=True):
        if body.impure:
            impure.add(function.name)
        calls.setdefault(function.name, set()).update(
            name
            for name in body.calls
            if name in names or not (pure(name) or name in types or name.startswith("__builtin_"))
        )
    left = names - impure
    while more := {name for name in left if not calls[name] <= left}:
        left -= more
    return left
