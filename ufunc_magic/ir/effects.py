"""Effects of functions on the memory that their pointers lead to, and on the rest of the world: bodies, then calls.

The answers err on the side of more work: a pointer that escapes into a variable or a structure counts as indexed and,
unless its elements are const, as written; an opaque node may do anything to its symbols.  A function leaves no trace
only where every node of it is known to leave none.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, NamedTuple

from .math_functions import find_math_function, is_pure
from .memory_roots import Root, find_pointee_roots, is_calculating, is_looking, is_plain, is_view, place_roots
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
    Dynamic,
    DynamicStatement,
    Element,
    Evaluate,
    Expression,
    Field,
    For,
    ForEach,
    FunctionCall,
    FunctionIR,
    If,
    Length,
    Logical,
    Name,
    Node,
    OpaqueExpression,
    OpaqueStatement,
    ParallelAssignment,
    Raise,
    Symbol,
    Unary,
    Unpack,
    While,
    list_children,
    strip_conversions,
    walk,
)
from .types import CONTAINER, CType

Access = Literal["none", "read", "write", "update"]
#: Why a pointer leads to no array of its type: it is given back, or stored elsewhere, or becomes one to another type.
#: "lent": a function that is only declared gets it with an integer parameter, which may be its length.
Fate = Literal["", "freed", "kept", "cast", "lent"]
#: Conversions of floating-point numbers to integers; "unsigned": also to unsigned ones of 32 bits or more.
Truncation = Literal["", "signed", "unsigned"]


class PointerEffect(NamedTuple):
    """Accesses to the elements of a pointer parameter; ``"update"``: one is read before it is written.

    ``indexed``: it may be more than the first element.  ``escapes``: a copy of the pointer may outlive the call.
    ``as_object``: Python is given the array as an object.  ``fate``: it leads to no array of its type.
    """

    access: Access = "none"
    indexed: bool = False
    escapes: bool = False
    as_object: bool = False
    fate: Fate = ""


@dataclass(frozen=True)
class Effects:
    """The effects of a function.

    Attributes
    ----------
    pointers : mapping
        By parameter, of those that are pointers, arrays or references.
    calls : frozenset of str
        Last names of the functions that it calls, as the cell writes them.
    loops : bool
        Something in it may run more than once: a loop, a ``goto``.
    pure : bool
        It depends on its arguments only, and changes nothing but what they lead to.
    traceless : bool
        It changes nothing but what its arguments lead to.  It may read variables of the cell, and raise an exception.
    reaches : frozenset of str
        The functions of the cell that a call of it can come to.
    truncates : {"", "signed", "unsigned"}
        Floating-point numbers become integers in it or in those functions, or may.
    local_arrays : tuple of str
        The arrays of constant size on its stack, and on that of those functions: ``"b[64]"``.
    """

    pointers: Mapping[Symbol, PointerEffect]
    calls: frozenset[str]
    loops: bool
    pure: bool
    traceless: bool
    reaches: frozenset[str]
    truncates: Truncation = ""
    local_arrays: tuple[str, ...] = ()


def find_effects(
    functions: Sequence[FunctionIR], *, pure: Callable[[str], bool] = is_pure, types: Collection[str] = ()
) -> list[Effects]:
    """Find the effects of the functions of a cell.

    Parameters
    ----------
    pure : function
        Whether a function outside the cell depends on its arguments only.
    types : collection of str
        Names of types, a call of which is a cast.
    """
    moving = {f.name for f in functions if any(p.reference and p.type.kind == "a" for p in f.parameters)}
    bodies = [_scan(function, moving) for function in functions]
    reaches = _find_reached(functions, bodies)
    truncations: dict[str, Truncation] = {}
    arrays: dict[str, list[str]] = {}
    for function, body in zip(functions, bodies, strict=True):
        arrays.setdefault(function.name, []).extend(_list_local_arrays(function))
        # Of the words, the longest says most.
        truncations[function.name] = max(truncations.get(function.name, ""), body.truncates, key=len)
    pointers = _follow_calls(functions, bodies, pure)
    clean = _drop_impure(functions, bodies, [body.impure for body in bodies], pure, types)
    traces = [body.trace or _lets_others_write(body, functions, pointers) for body in bodies]
    traceless = _drop_impure(functions, bodies, traces, lambda name: pure(name) or name in _ALLOCATION, types)
    return [
        Effects(
            pointers=effect,
            calls=frozenset(body.calls),
            loops=body.loops,
            pure=function.name in clean,
            traceless=function.name in traceless,
            reaches=reaches[function.name],
            truncates=max((truncations[name] for name in (function.name, *reaches[function.name])), key=len),
            local_arrays=tuple(
                chain(
                    arrays[function.name], *(arrays[name] for name in sorted(reaches[function.name] - {function.name}))
                )
            ),
        )
        for function, body, effect in zip(functions, bodies, pointers, strict=True)
    ]


# ---------------------------------------------------------------------------------- one body by itself

#: How the value of an expression is used.  "escape" is any use that may store a pointer, "peek" one that stores it
#: as pointer to const, "look" one that looks at the pointer only.
_How = Literal["escape", "peek", "look", "write", "update", "bind"]

#: Functions that take and give back memory of nobody else.
_ALLOCATION = frozenset("malloc calloc free alloca PyMem_Malloc PyMem_Calloc PyMem_Free".split())
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
    """An expression that leads to a parameter: ``depth`` dereferences from it, by way of ``others``.

    ``instead``: parameters to which it may lead in place of that one.
    """

    symbol: Symbol
    depth: int
    indexed: bool
    others: tuple[Expression, ...]
    instead: tuple[Symbol, ...] = ()

    @property
    def element(self) -> bool:
        return self.depth >= count_levels(self.symbol)


class _Alias(NamedTuple):
    """Parameters under another name, one at a time; ``moves``: not always the first element."""

    parameters: tuple[Symbol, ...]
    moves: bool


_Step = tuple[Node, _How] | _Use


@dataclass
class _Body:
    """The result of one pass over a function's body; ``watched`` are the parameters of interest."""

    watched: frozenset[Symbol]
    uses: list[_Use] = field(default_factory=list)
    indexed: set[Symbol] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    loops: bool = False
    #: It reads or writes what is not its arguments: a variable of file scope, a file.
    impure: bool = False
    #: It changes something else than what its arguments lead to, or may.
    trace: bool = False
    truncates: Truncation = ""
    #: Memory that it stores to, and the sources of its own pointers.
    stores: set[Root] = field(default_factory=set)
    sources: dict[Symbol, set[Root]] = field(default_factory=dict)
    #: Pointers that were stored elsewhere than in variables: the place, the value.
    stored: list[tuple[set[Root], set[Root]]] = field(default_factory=list)
    #: Arguments that may be written through: call, position, argument.
    passed: list[tuple[FunctionCall, int, Expression]] = field(default_factory=list)
    #: Memory that something outside points to after the call, or that Python is given as an object.
    escapes: set[Root] = field(default_factory=set)
    as_object: set[Root] = field(default_factory=set)
    fates: dict[Symbol, Fate] = field(default_factory=dict)
    #: Its own variable -> the expression that it is another name of: an element of a parameter, a lambda; of a pointer,
    #: the parameters to whose memory alone it ever leads.
    meanings: dict[Symbol, Expression | _Alias] = field(default_factory=dict)

    def is_lambda(self, symbol: Symbol) -> bool:
        return isinstance(self.meanings.get(symbol), OpaqueExpression)

    def is_alias(self, symbol: Symbol) -> bool:
        return isinstance(self.meanings.get(symbol), _Alias)

    def store(self, place: Expression, value: Expression | None = None) -> None:
        """Note that ``value``, or an unknown value, is stored in ``place``."""
        self.stores.update(place_roots(place))
        unknown = place.type.kind == "?" and value is not None and strip_conversions(value).type.kind == "a"
        if place.type.kind != "a" and not unknown:
            return
        roots = set(find_pointee_roots(value)) if value is not None else {Root()}
        if isinstance(place, Name) and place.symbol.storage in ("local", "parameter"):
            self.sources.setdefault(place.symbol, set()).update(roots)
        else:
            self.escapes |= roots
            self.stored.append((set(place_roots(place)), roots))

    def lend(self, argument: Expression) -> None:
        """Note that a call gets ``argument``: it may change a pointer to which that leads."""
        if argument.type.of is not None and argument.type.of.name == "*":
            for symbol, pointee in find_pointee_roots(argument):
                if symbol is not None and symbol.type.kind == "a" and symbol.type.length is None and not pointee:
                    self.sources.setdefault(symbol, set()).add(Root())

    def settle(self) -> None:
        """Follow the pointers that were stored by way of other pointers, and decide whether all stores are its own."""
        changed = bool(self.stored)
        while changed:
            changed = False
            for places, roots in self.stored:
                for symbol, _ in self.find_sources(places):
                    if symbol is not None and not roots <= self.sources.setdefault(symbol, set()):
                        self.sources[symbol] |= roots
                        changed = True
        for places, roots in self.stored:
            if any(root.symbol is None or root.symbol.storage != "local" for root in self.find_sources(places)):
                self.fates |= {s: "kept" for s, pointee in self.find_sources(roots) if s in self.watched and pointee}
        self.trace = self.trace or not self.is_own(self.stores)

    def find_sources(self, roots: Collection[Root]) -> set[Root]:
        """The roots, and those that the pointers among them got their values from."""
        everything, waiting = set(roots), list(roots)
        while waiting:
            root = waiting.pop()
            new = self.sources.get(root.symbol, set()) - everything if root.symbol is not None else set()
            everything |= new
            waiting += new
        return everything

    def is_own(self, roots: Collection[Root]) -> bool:
        """Whether this is memory of the function's own variables, or of what its arguments lead to."""
        return all(self._is_own(root) for root in self.find_sources(roots))

    def _is_own(self, root: Root) -> bool:
        symbol = root.symbol
        if symbol is None or symbol.storage not in ("local", "parameter"):
            return False
        return not root.pointee or symbol.storage == "parameter" or symbol in self.sources


def count_levels(symbol: Symbol) -> int:
    """How many subscripts or stars lead from a parameter to an element."""
    return 0 if symbol.reference else symbol.type.depth


def leads_somewhere(symbol: Symbol) -> bool:
    """Whether a parameter is a pointer, an array, or a reference through which a caller's variable can change."""
    if symbol.reference:
        return not symbol.const and symbol.type.kind != "a"
    return symbol.type.kind == "a"


def _find_aliases(function: FunctionIR, moving: Collection[str]) -> dict[Symbol, _Alias]:
    """The local pointers that lead to parameters' memory only; functions ``moving`` may change a pointer."""
    values: dict[Symbol, list[Expression]] = {}
    shared: set[Symbol] = set()
    for node in walk(function.body):
        match node:
            case Declare(symbol=symbol, value=value):
                values.setdefault(symbol, [])
                if value is not None:
                    values[symbol].append(value)
                    shared |= {n.symbol for n in walk(value) if isinstance(n, Name)} if symbol.reference else set()
            case Assignment(place=Name(symbol=symbol), value=value):
                values.setdefault(symbol, []).append(value)
            case OpaqueExpression(reads=reads, writes=writes) | OpaqueStatement(reads=reads, writes=writes):
                shared |= reads | writes
            case AddressOf(place=Name(symbol=symbol)):
                shared.add(symbol)
            case ForEach() | Unpack() | ParallelAssignment() | Dynamic() | DynamicStatement():
                shared |= {n.symbol for n in walk(node) if isinstance(n, Name)}
            case FunctionCall(name=name) if name in moving:
                shared |= {n.symbol for n in walk(node) if isinstance(n, Name)}
    pointers = {
        symbol: values[symbol]
        for symbol in values.keys() - shared
        if symbol.storage == "local" and not symbol.reference and symbol.type.kind == "a" and symbol.type.length is None
    }
    aliases = {}
    for pointer in pointers:
        reached: set[Symbol | None] = {pointer}
        waiting, moves = [pointer], False
        while waiting:
            for value in pointers[waiting.pop()]:
                moves = moves or not _is_first(value)
                sources = {None} if _has_call(value) else {root.symbol for root in find_pointee_roots(value)}
                waiting += [s for s in sources - reached if s in pointers]
                reached |= sources
        parameters = reached - pointers.keys()
        if parameters and all(p is not None and p not in shared and _is_like(p, pointer) for p in parameters):
            aliases[pointer] = _Alias(tuple(p for p in function.parameters if p in parameters), moves)
    return aliases


def _is_first(value: Expression) -> bool:
    """Whether a pointer is one of others as they are."""
    match strip_conversions(value):
        case Conditional(yes=yes, no=no):
            return _is_first(yes) and _is_first(no)
        case e:
            return isinstance(e, Name)


def _has_call(value: Expression) -> bool:
    return any(isinstance(node, FunctionCall) for node in walk(value))


def _is_like(parameter: Symbol, pointer: Symbol) -> bool:
    """Whether a pointer can take a parameter's place."""
    t = parameter.type
    return parameter.storage == "parameter" and leads_somewhere(parameter) and t.element == pointer.type.element


def _scan(function: FunctionIR, moving: Collection[str]) -> _Body:
    """Walk a body in the order of its text, right sides before left sides."""
    body = _Body(frozenset(filter(leads_somewhere, function.parameters)))
    if body.watched:
        body.meanings |= _find_aliases(function, moving)
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
            steps += [(child, "escape") for child in reversed(tuple(list_children(node)))]
    body.settle()
    return body


def _target(body: _Body, node: Expression) -> _Target | None:
    """Follow stars, subscripts, casts and sums from ``node`` down to a watched parameter."""
    if not body.watched:
        return None
    depth, indexed, e = 0, False, node
    others: list[Expression] = []
    while True:
        match e:
            case Name(symbol=symbol) if symbol in body.meanings:
                inner = body.meanings[symbol]
                if isinstance(inner, _Alias):
                    parameter, *instead = inner.parameters
                    above = count_levels(parameter) - symbol.type.depth
                    indexed = indexed or inner.moves or above > 0
                    return _Target(parameter, depth + above, indexed, tuple(others), tuple(instead))
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
            case Dynamic(operands=(inner, *indices)) if is_view(e):
                indexed = True
                depth += inner.type.depth - e.type.depth
                others += indices
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


def _record_use(body: _Body, target: _Target, how: _How, passed: tuple[FunctionCall, int] | None = None) -> list[_Step]:
    """Steps that record the use of a target and of its subscripts."""
    symbol, access = target.symbol, None
    either = (symbol, *target.instead)
    if target.indexed:
        body.indexed.update(either)
    if passed:
        access = "read" if target.instead else "none"
    elif target.element:
        access = {"write": "write", "bind": "write", "update": "update"}.get(how, "read")
    elif how in ("escape", "peek", "bind"):
        body.indexed.update(either)
        # Code that has the address of the array may read what the caller put there.
        sized = how == "escape" and (symbol.type.length is not None or symbol.type.name == CONTAINER)
        access = "read" if symbol.const or how == "peek" else "update" if sized else "write"
    elif how in ("write", "update"):
        body.indexed.update(either)  # the pointer itself moves
    if access == "write" and target.instead:
        access = "update"  # the others stay as they are
    uses = [_Use(s, access) for s in either] if access else []  # type: ignore[arg-type]
    uses += [_Use(s, "none", *passed, target.element) for s in either] if passed else []
    return [*((other, "escape") for other in target.others), *uses]


def _place(body: _Body, node: Node, how: _How) -> list[_Step]:
    """Names, subscripts, stars, members: a place, or nothing of interest."""
    assert isinstance(node, Expression)
    if how in ("write", "update"):
        body.stores.update(place_roots(node))
    return _record_load(body, node, how)


def _record_load(body: _Body, node: Expression, how: _How) -> list[_Step]:
    if isinstance(node, Name):
        body.impure = body.impure or node.symbol.storage == "global"
        if node.symbol not in body.watched and node.symbol not in body.meanings:
            return []
    target = _target(body, node)
    if target:
        return _record_use(body, target, how)
    return [(child, "escape") for child in list_children(node)]


def _find_truncation(source: CType, to: CType) -> Truncation:
    """What a conversion does to floating-point numbers; a type that is not known may be any."""
    if source.kind not in "fc?V" or to.kind not in "iu?V" or source.kind == to.kind:
        return ""
    return "unsigned" if to.kind == "u" and to.bits >= 32 else "signed"


def _convert(body: _Body, node: Convert, how: _How) -> list[_Step]:
    body.truncates = max(body.truncates, _find_truncation(node.value.type, node.type), key=len)
    if node.value.type.kind == "a" and node.type.kind == "o":
        body.as_object.update(find_pointee_roots(node.value))
    elif node.type.kind != "o":
        _run(body, node.value)
    if node.explicit and _changes_elements(node.value.type.of, node.type.of) and (target := _target(body, node.value)):
        body.fates[target.symbol] = "cast"
    return [(node.value, how)]


def _changes_elements(source: CType | None, to: CType | None) -> bool:
    """Whether a pointer becomes one to elements of another size or kind; void and bytes are views of any."""
    if source is None or to is None or to.kind == "v" or to.size == 1 or source.element == to.element:
        return False
    return source.size is None or source.size != to.size or "f" in (source.kind, to.kind)


def _run(body: _Body, *values: Expression | None) -> None:
    """Note that an operation on objects may run any code."""
    for value in values:
        if value is not None and value.type.kind in "o?" and not is_plain(value):
            body.trace = True
            body.impure = body.impure or value.type.kind == "o"


def _visit_binary(body: _Body, node: Binary, how: _How) -> list[_Step]:
    _run(body, node.left, node.right)
    if node.compares:
        return [(node.left, "look"), (node.right, "look")]
    if node.type.kind == "a" and (target := _target(body, node)) and not target.element:
        return _record_use(body, target, how)
    # A difference of pointers stores neither of them.
    inner: _How = "look" if node.op == "-" else "escape"
    return [(node.left, inner), (node.right, inner)]


def _visit_looking(body: _Body, node: Node, how: _How) -> list[_Step]:
    """Statements, and operators that look at a pointer only."""
    match node:
        case If(test=value) | Unary(operand=value):
            _run(body, value)
        case Logical(left=left, right=right):
            _run(body, left, right)
    return [(child, "look") for child in list_children(node)]


def _visit_loop(body: _Body, node: Node, how: _How) -> list[_Step]:
    body.loops = True
    match node:
        case While(test=test) | DoWhile(test=test):
            _run(body, test)
        case CountedFor(counter=counter):
            body.stores.add(Root(counter, counter.reference))
    return [(child, "look") for child in list_children(node)]


def _visit_conditional(body: _Body, node: Conditional, how: _How) -> list[_Step]:
    _run(body, node.test)
    return [(node.test, "look"), (node.yes, how), (node.no, how)]


def _visit_comma(body: _Body, node: Comma, how: _How) -> list[_Step]:
    return [(node.first, "look"), (node.second, how)]


def _visit_assignment(body: _Body, node: Assignment, how: _How) -> list[_Step]:
    target, plain = _target(body, node.place), not is_compound(node.value)
    if node.place.type.kind == "?" and node.value.type.kind in "fc":
        body.truncates = body.truncates or "signed"
    if target and not target.element and not plain and how in ("escape", "peek", "bind"):
        return [(node.value, "escape"), *_record_use(body, target, how)]  # q = p++
    if isinstance(node.place, Name) and body.is_alias(node.place.symbol):
        body.store(node.place, node.value)
        return [(node.value, "look")]
    # x = x + 1 moves a pointer; it escapes nowhere.
    source = _target(body, node.value) if target and not target.element else None
    moved = source is not None and target is not None and source.symbol is target.symbol
    body.store(node.place, node.value)
    return [(node.value, "look" if moved else "escape"), (node.place, "write" if plain else "update")]


def is_compound(value: Expression) -> bool:
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
        body.meanings[symbol] = node.value
    steps: list[_Step] = [(size, "escape") for size in node.sizes if size is not None]
    if symbol.type.kind == "a" or symbol.reference:
        roots = body.sources.setdefault(symbol, set())
        if node.value is not None:
            roots.update(place_roots(node.value) if symbol.reference else find_pointee_roots(node.value))
    body.trace = body.trace or symbol.type.kind == "?"  # its constructor may do anything
    if symbol.type.kind == "?":
        body.truncates = body.truncates or "signed"  # a member of it may be an integer
    if node.value is None:
        return steps
    if body.is_alias(symbol):
        return [*steps, (node.value, "look")]
    target = _target(body, node.value) if symbol.reference and symbol.storage == "local" else None
    if target and target.element and symbol.type.kind != "a":
        body.meanings[symbol] = node.value  # what happens to it happens to that element
        return [*steps, *((other, "escape") for other in target.others)]
    if symbol.const or not symbol.reference:
        return [*steps, (node.value, "peek" if symbol.const else "escape")]
    return [*steps, (node.value, "bind" if symbol.type.kind == "a" else "update")]  # one of several, read or changed


def _call(body: _Body, node: FunctionCall, how: _How) -> list[_Step]:
    computed = node.through is not None and node.target != "method" and not isinstance(node.through, Name)
    name = "" if computed else take_last_name(node.written)
    if name:
        body.calls.add(name)
    before: list[_Step] = []
    if node.through is not None:
        before = [(node.through, "escape")]
        owner = _target(body, node.through) if node.target == "method" else None
        if owner and not owner.symbol.const:
            before.append(_Use(owner.symbol, "update"))
        if not (name and isinstance(node.through, Name) and body.is_lambda(node.through.symbol)):
            body.impure = body.trace = True
    if node.target in ("method", "unknown") and any(a.type.kind in "fc" for a in node.arguments):
        body.truncates = body.truncates or "signed"  # its parameter may be one, or what it makes of it
    passed: list[_Step] = []
    for position, argument in enumerate(node.arguments):
        body.passed.append((node, position, argument))
        body.lend(argument)
        target = _target(body, argument) if not isinstance(argument, Assignment) else None
        if target:
            for step in _record_use(body, target, "escape", (node, position)):
                (passed if isinstance(step, _Use) else before).append(step)
        else:
            before.append((argument, "escape"))
    return before + passed


_LAST = re.compile(r"([^\W\d][\w$]*)\s*(?:<.*>)?\s*\Z", re.S)


def take_last_name(name: str) -> str:
    """``f`` of ``f``, ``std::f``, ``object.f`` and ``object->f<T>``; ``""`` of a computed value."""
    if name.isidentifier():
        return name
    match = _LAST.search(name)
    return match[1] if match else ""


def _visit_opaque(body: _Body, node: OpaqueExpression | OpaqueStatement, how: _How) -> list[_Step]:
    acts = node.acts or node.text in _WORLD
    body.impure, body.trace = body.impure or acts, body.trace or acts
    if isinstance(node, OpaqueExpression) and node.measured is not None:
        return []
    if node.text.startswith("delete"):
        body.fates |= dict.fromkeys(node.reads & body.watched, "freed")
    if not node.reads or any(symbol.type.kind in "fc" for symbol in node.reads):
        body.truncates = body.truncates or "signed"
    touched = {Root(symbol, symbol.type.kind == "a") for symbol in node.reads | node.writes}
    body.stores |= {root for root in touched if root.symbol in node.writes}
    body.escapes |= touched
    steps: list[_Step] = [(child, "escape") for child in list_children(node)]
    if isinstance(node, OpaqueStatement):
        body.loops = body.loops or node.repeats
        if not node.text:  # nothing of it is known
            body.truncates = "unsigned"
    for symbol in (node.reads | node.writes) & body.watched:
        body.indexed.add(symbol)
        steps.append(_Use(symbol, "update" if symbol in node.writes and not symbol.const else "read"))
    return steps


def _raise(body: _Body, node: Raise, how: _How) -> list[_Step]:
    body.impure = True
    body.trace = body.trace or not (_is_exception_name(node.exception) or node.exception.startswith("std::"))
    return [(child, "escape") for child in list_children(node)]


def _visit_assert(body: _Body, node: Assert, how: _How) -> list[_Step]:
    body.calls.add("assert")
    _run(body, node.test)
    return [(node.test, "look")]


# -- Python's own nodes


def _visit_dynamic(body: _Body, node: Dynamic, how: _How) -> list[_Step]:
    body.loops = body.loops or " for " in node.template
    writes = how in ("write", "update")
    if writes:
        body.stores.update(place_roots(node))
    if is_view(node):
        _run(body, *node.operands[1:])
        return _record_load(body, node, how)
    if writes or not is_calculating(node):
        body.trace = body.impure = True
    return _hand_on(body, node.operands, "look" if is_looking(node) else "escape")


def _hand_on(body: _Body, operands: Sequence[Expression], how: _How) -> list[_Step]:
    """Operands of Python's own code, which may keep them."""
    if how == "escape":
        for operand in operands:
            if operand.type.kind == "a":
                body.escapes.update(find_pointee_roots(operand))
    return [(operand, how) for operand in operands]


#: A slice of an array, or the whole of it, as the target of a statement.
_FILLED = re.compile(r"(\{\}\[.*\]) = \{\}", re.S)


def _visit_dynamic_statement(body: _Body, node: DynamicStatement, how: _How) -> list[_Step]:
    filled = _FILLED.fullmatch(node.template)
    if filled and node.operands[0].type.kind == "a":
        body.loops = True
        *view, value = node.operands
        _run(body, *view[1:], value)
        place = Dynamic(view[0].type, filled[1], tuple(view))
        body.stores.update(place_roots(place))
        if value.type.kind != "a":
            return [(value, "look"), *_record_load(body, place, "bind")]
        # Cython copies arrays by way of their objects.
        body.as_object.update(find_pointee_roots(view[0]))
        body.as_object.update(find_pointee_roots(value))
        return [(value, "peek"), *_record_load(body, place, "bind")]
    body.impure = True
    if node.template.startswith("raise") and _is_exception(node.operands):
        return [(inner, "escape") for operand in node.operands for inner in list_children(operand)]
    body.trace = body.trace or not (node.template.startswith("assert") and all(map(is_plain, node.operands)))
    return _hand_on(body, node.operands, "escape")


def _is_exception(operands: Sequence[Expression]) -> bool:
    """Whether the operands of ``raise`` are a class of Python's own, or a call of one, and plain values."""
    if not operands:
        return True
    kind, *values = operands
    if not isinstance(kind, Dynamic) or not all(map(is_plain, (*values, *kind.operands))):
        return False
    return _is_exception_name(kind.template.partition("(")[0])


def _is_exception_name(name: str) -> bool:
    named = getattr(builtins, name, None)
    return isinstance(named, type) and issubclass(named, BaseException)


def _visit_for_each(body: _Body, node: ForEach, how: _How) -> list[_Step]:
    body.loops = True
    for target in node.targets:
        body.store(target)
    steps: list[_Step]
    target_of_loop = _target(body, node.iterable)
    if target_of_loop:
        body.indexed.add(target_of_loop.symbol)
        steps = [*((other, "escape") for other in target_of_loop.others), _Use(target_of_loop.symbol, "read")]
    else:
        _run(body, node.iterable)
        steps = [(node.iterable, "escape")]
    blocks = [node.body, *([node.otherwise] if node.otherwise else [])]
    return [*steps, *((target, "write") for target in node.targets), *((block, how) for block in blocks)]


def _unpack(body: _Body, node: Unpack, how: _How) -> list[_Step]:
    _run(body, node.value)
    for target in node.targets:
        body.store(target)
    return [(node.value, "escape"), *((target, "write") for target in node.targets)]


def _visit_parallel(body: _Body, node: ParallelAssignment, how: _How) -> list[_Step]:
    for each in node.assignments:
        body.store(each.place, each.value)
    values: list[_Step] = [(each.value, "escape") for each in node.assignments]
    return [*values, *((each.place, "write") for each in node.assignments)]


_VISITS: dict[type[Node], Callable[..., list[_Step]]] = {
    **dict.fromkeys((Name, Element, AddressOf, Field), _place),
    **dict.fromkeys((If, Evaluate, Block, Unary, Logical, Length), _visit_looking),
    **dict.fromkeys((CountedFor, For, While, DoWhile), _visit_loop),
    **dict.fromkeys((OpaqueExpression, OpaqueStatement), _visit_opaque),
    Convert: _convert,
    Binary: _visit_binary,
    Conditional: _visit_conditional,
    Comma: _visit_comma,
    Assignment: _visit_assignment,
    Declare: _declare,
    FunctionCall: _call,
    Raise: _raise,
    Assert: _visit_assert,
    Dynamic: _visit_dynamic,
    DynamicStatement: _visit_dynamic_statement,
    ForEach: _visit_for_each,
    Unpack: _unpack,
    ParallelAssignment: _visit_parallel,
}

# --------------------------------------------------------------------------------- functions together

#: Functions that read and write their first operand as memory that other threads write, too.
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

#: Functions of bytes, of which the third argument is the number, and their pointers.
_OF_BYTES = {"memcpy": (0, 1), "memmove": (0, 1), "memset": (0,), "memcmp": (0, 1)}
#: Effects of library functions on their pointers: name -> argument -> access.
_LIBRARY: dict[str, dict[int, PointerEffect]] = {
    "memcpy": {0: PointerEffect("write", True), 1: PointerEffect("read", True)},
    "memmove": {0: PointerEffect("write", True), 1: PointerEffect("read", True)},
    "memset": {0: PointerEffect("write", True)},
    "memcmp": {0: PointerEffect("read", True), 1: PointerEffect("read", True)},
    "qsort": {0: PointerEffect("update", True)},
    **dict.fromkeys(("sincospi", "sincospif", "__sincos", "__sincosf"), dict.fromkeys((1, 2), PointerEffect("write"))),
    **{n: {at: PointerEffect(a, True) for at, a in enumerate(accesses)} for n, accesses in RANGES.items()},
    # These do not read their arguments as numbers.
    **{name: dict.fromkeys(range(32), PointerEffect()) for name in ("printf", "fprintf", "snprintf")},
    # A parameter that is given back was allocated: it is no element of an operand.
    **{name: {0: PointerEffect("update", True, fate="freed")} for name in ("free", "realloc", "fclose")},
}


def count_touched(call: FunctionCall, position: int) -> Symbol | int | None:
    """How many elements of a pointer a function of bytes touches: 1 for ``memset(p, 0, sizeof *p)``, the variable ``n``
    for ``memset(p, 0, n * sizeof *p)``, None where it is not known."""
    if position not in _OF_BYTES.get(take_last_name(call.name), ()) or len(call.arguments) != 3:
        return None
    element, length = strip_conversions(call.arguments[position]).type.of, strip_conversions(call.arguments[2])
    if _is_size_of(length, element):
        return 1
    if isinstance(length, Name) and element is not None and element.size == 1:
        return length.symbol
    if isinstance(length, Binary) and length.op == "*":
        for number, size in ((length.left, length.right), (length.right, length.left)):
            variable = strip_conversions(number)
            if isinstance(variable, Name) and _is_size_of(strip_conversions(size), element):
                return variable.symbol
    return None


def _is_size_of(size: Expression, t: CType | None) -> bool:
    match size:
        case Constant(value=value):
            return t is not None and value == t.size
        case OpaqueExpression(measured=measured):
            return t is not None and measured == t
    return False


def _find_library_effects(name: str) -> dict[int, PointerEffect] | None:
    """The effects of a library function on its pointers; None where they are not known."""
    if name in _LIBRARY:
        return _LIBRARY[name]
    entry = find_math_function(name)
    return dict.fromkeys(entry[0].writes, PointerEffect("write")) if entry is not None and entry[0].writes else None


#: The variable of an argument that is none.
_NOBODY = Symbol("", CType("v"))


def _follow_calls(
    functions: Sequence[FunctionIR], bodies: Sequence[_Body], pure: Callable[[str], bool]
) -> list[dict[Symbol, PointerEffect]]:
    """Find the effects on every pointer of every function, calls included."""
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
            roots = set(body.escapes), set(body.as_object)
            for call, position, argument in body.passed:
                if argument.type.kind == "a":
                    use = _Use(_NOBODY, "none", call, position)
                    of_call = _find_effect(use, body, functions, known, by_name, pure)
                    for which, applies in zip(roots, (of_call.escapes, of_call.as_object), strict=True):
                        which.update(find_pointee_roots(argument) if applies else ())
            escaping, objects = ({root.symbol for root in body.find_sources(which)} for which in roots)
            after = {
                s: PointerEffect("none", s in body.indexed, s in escaping, s in objects, body.fates.get(s, ""))
                for s in body.watched
            }
            for use in body.uses:
                after[use.symbol] = _join_effects(
                    after[use.symbol], _find_effect(use, body, functions, known, by_name, pure)
                )
            if after != effect:
                known[index], changed = after, True
        if not changed:
            break
    return known


def _join_effects(first: PointerEffect, second: PointerEffect) -> PointerEffect:
    """The effect of two uses, one after the other."""
    return PointerEffect(
        _join_accesses(first.access, second.access),
        first.indexed or second.indexed,
        first.escapes or second.escapes,
        first.as_object or second.as_object,
        first.fate or second.fate,
    )


def _join_accesses(first: Access, second: Access) -> Access:
    """Join two accesses: elements that were written first are not read from the caller."""
    if first == "none" or (first == "read" and second == "none"):
        return second if first == "none" else first
    return "update" if first == "read" and second != "read" else first


def _find_effect(
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
        effect = PointerEffect()
        overloads = by_name[call.name]
        for index in overloads if call.overload < 0 else overloads[call.overload : call.overload + 1]:
            parameters = functions[index].parameters
            parameter = parameters[use.position] if use.position < len(parameters) else None
            # An element goes by value unless the parameter is a reference.
            if parameter is None or parameter not in known[index] or use.element != (count_levels(parameter) == 0):
                effect = _join_effects(effect, PointerEffect("read"))
                continue
            effect = _join_effects(effect, known[index][parameter])
            effect = effect._replace(indexed=effect.indexed or parameter.type.length is not None)
        return effect
    name = take_last_name(call.name)
    if use.element:
        return PointerEffect("update" if name in ("swap", "exchange") else "read")
    if call.target == "method" or (isinstance(call.through, Name) and body.is_lambda(call.through.symbol)):
        return PointerEffect("update", escapes=True)
    if (effects := _find_library_effects(name)) is not None:
        effect = effects.get(use.position, PointerEffect("read", True))
        return effect._replace(indexed=False) if count_touched(call, use.position) == 1 else effect
    if _ATOMIC.fullmatch(name):
        return PointerEffect("update", True)
    lent = use.symbol.type.element.arithmetic and any(map(_is_integer_parameter, call.arguments)) and not pure(name)
    # An address for somebody else's function is a place for its result; a container is not.
    unknown: Access = "update" if use.symbol.type.name == CONTAINER else "write"
    access: Access = "read" if pure(name) or use.symbol.const else unknown
    return PointerEffect(access, escapes=not pure(name), fate="lent" if lent else "")


def _is_integer_parameter(argument: Expression) -> bool:
    e = strip_conversions(argument)
    return isinstance(e, Name) and e.symbol.storage == "parameter" and e.type.integral


def _find_reached(functions: Sequence[FunctionIR], bodies: Sequence[_Body]) -> dict[str, frozenset[str]]:
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


def _list_local_arrays(function: FunctionIR) -> Iterator[str]:
    for statement in walk(function.body):
        if isinstance(statement, Declare) and statement.symbol.storage == "local":
            kind, lengths = statement.symbol.type, ""
            while kind.kind == "a" and kind.length is not None and kind.of is not None and kind.name != CONTAINER:
                kind, lengths = kind.of, f"{lengths}[{kind.length}]"
            if lengths:
                yield f"{statement.symbol.name}{lengths}"


def _drop_impure(
    functions: Sequence[FunctionIR],
    bodies: Sequence[_Body],
    impure_bodies: Sequence[bool],
    pure: Callable[[str], bool],
    types: Collection[str],
) -> set[str]:
    """Names of the functions with pure bodies that call such functions only."""
    names = {function.name for function in functions}
    calls: dict[str, set[str]] = {}
    impure = set()
    for function, body, impure_body in zip(functions, bodies, impure_bodies, strict=True):
        if impure_body:
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


def _lets_others_write(
    body: _Body, functions: Sequence[FunctionIR], effects: Sequence[Mapping[Symbol, PointerEffect]]
) -> bool:
    """Whether a function lets another one write to memory that is neither its own nor its arguments'."""
    for call, position, argument in body.passed:
        writes, reference = False, False
        if call.target == "cell":
            for function, effect in zip(functions, effects, strict=True):
                if function.name == call.name and position < len(function.parameters):
                    parameter = function.parameters[position]
                    if parameter in effect and effect[parameter].access in ("write", "update"):
                        writes, reference = True, reference or parameter.reference
                    if parameter.reference and parameter.type.kind == "a":
                        return True  # it may change the pointer itself
        elif (name := take_last_name(call.name)) in _ALLOCATION:
            writes = argument.type.kind == "a"
        elif (known := _find_library_effects(name)) is not None:
            writes = known.get(position, PointerEffect()).access in ("write", "update")
        if writes and not body.is_own(set((place_roots if reference else find_pointee_roots)(argument))):
            return True
    return False
