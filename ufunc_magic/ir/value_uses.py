"""How functions use the values that they get: as indices of which arrays, and which arrays they need in rising order.

Only positive knowledge: a use that is not found here may exist.  The values of inputs that are tried or timed follow
these uses (`ufunc_magic.guard`, `ufunc_magic.bench`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..model import IndexUse, ValueUse
from .constants import evaluate_integer
from .effects import take_last_name
from .index_bounds import split_shift
from .memory_roots import ALLOCATE
from .nodes import (
    AddressOf,
    Assert,
    Assignment,
    Binary,
    Break,
    Comma,
    Conditional,
    Convert,
    CountedFor,
    Current,
    Declare,
    DoWhile,
    Element,
    Evaluate,
    Expression,
    For,
    FunctionCall,
    FunctionIR,
    If,
    Name,
    Node,
    Raise,
    Return,
    Symbol,
    While,
    list_children,
    strip_conversions,
    walk,
)

_ORDERS = ("<", "<=", ">", ">=")
#: Functions of libraries that search a sorted range: position of the array, and of the number.
_SEARCHES = {"lower_bound": (0, 2), "upper_bound": (0, 2), "binary_search": (0, 2), "equal_range": (0, 2)}
#: Functions whose result for an integer is that integer.
_ROUND = frozenset("floor ceil trunc rint round nearbyint lrint lround llrint llround floorf roundf truncf".split())
_LEAVES = frozenset("abort exit _exit quick_exit longjmp".split())
#: Limits of the search for the sources of an index, of the calls that a use travels through, of the uses of a
#: parameter, and of the numbers in an index: larger ones are no distances.
_DEEPEST, _MOST_STEPS, _MOST_ROUNDS, _MOST_USES, _FARTHEST = 12, 1000, 4, 16, 1 << 20


class _Term(NamedTuple):
    """A parameter's value, or an element of it, in an index: ``value * scale + shift``, perhaps with other terms.

    ``row``: it is multiplied with something that is no constant, such as a number of columns.
    """

    symbol: Symbol
    scale: int = 1
    shift: int = 0
    mixed: bool = False
    row: bool = False


class _Root(NamedTuple):
    """The array that an expression leads to; ``axis``: so many subscripts lie between; ``moved``: an offset, too."""

    symbol: Symbol
    axis: int = 0
    moved: bool = False


class _Test(NamedTuple):
    """A test in a loop, the innermost one."""

    test: Expression
    loop: Node


@dataclass
class _Body:
    """What one pass over a function's body finds."""

    positions: dict[Symbol, int]
    #: The values that a variable may have, an upper end of a loop among them, and those of a local array's elements.
    sources: dict[Symbol, list[Expression]] = field(default_factory=dict)
    contents: dict[Symbol, list[Expression]] = field(default_factory=dict)
    sizes: dict[Symbol, tuple[Expression | None, ...]] = field(default_factory=dict)
    written: set[Symbol] = field(default_factory=set)
    elements: list[Element] = field(default_factory=list)
    offsets: list[tuple[Expression, Expression]] = field(default_factory=list)
    calls: list[FunctionCall] = field(default_factory=list)
    #: Comparisons that must hold, that end a loop, and that decide in one; pairs of elements whose order matters.
    required: list[Expression] = field(default_factory=list)
    searching: list[_Test] = field(default_factory=list)
    deciding: list[_Test] = field(default_factory=list)
    pairs: list[tuple[Expression, Expression]] = field(default_factory=list)
    #: Steps that the search for the sources of an index may still take.
    steps: int = 0

    def find_root(self, e: Expression, depth: int = 0) -> _Root | None:
        """Follow subscripts, sums and local pointers to an array."""
        axis, moved = 0, False
        while depth < _DEEPEST:
            depth += 1
            match e:
                case Convert(value=inner):
                    e = inner
                case Element(base=base):
                    axis, e = axis + 1, base
                case AddressOf(place=Element(base=base)):
                    moved, e = True, base
                case Binary(op="+" | "-", left=left, right=right) if e.type.kind == "a":
                    moved, e = True, left if left.type.kind == "a" else right
                case Name(symbol=symbol) if symbol in self.positions or symbol.type.length is not None:
                    return _Root(symbol, axis, moved)
                case Name(symbol=symbol) if len(own := self.sources.get(symbol, [])) == 1:
                    if symbol in self.sizes or isinstance(strip_conversions(own[0]), FunctionCall):
                        return _Root(symbol, axis, moved)
                    e = own[0]
                case Name(symbol=symbol) if symbol in self.sizes:
                    return _Root(symbol, axis, moved)
                case _:
                    return None
        return None

    def find_terms(self, e: Expression, term: _Term, passed: frozenset[Symbol] = frozenset()) -> Iterator[_Term]:
        """Find the parameters in an index; ``term`` is what happens to ``e``."""
        e = strip_conversions(e)
        self.steps -= 1
        if len(passed) > _DEEPEST or self.steps < 0:
            return
        match e:
            case Name(symbol=symbol) if symbol.type.kind != "a":
                if symbol in self.positions:
                    yield term._replace(symbol=symbol)
                yield from self._follow_symbol(symbol, self.sources, term, passed)
            case Element(base=base) if root := self.find_root(base):
                if root.symbol in self.positions:
                    yield term._replace(symbol=root.symbol)
                else:
                    yield from self._follow_symbol(root.symbol, self.contents, term, passed)
            case Binary(op="+" | "-" as op, left=left, right=right):
                number, first = evaluate_integer(right), evaluate_integer(left)
                if number is not None:
                    number = number if op == "+" else -number
                    yield from self.find_terms(left, term._replace(shift=term.shift + term.scale * number), passed)
                elif op == "+" and first is not None:
                    yield from self.find_terms(right, term._replace(shift=term.shift + term.scale * first), passed)
                elif op == "+":
                    for side in (left, right):
                        yield from self.find_terms(side, term._replace(mixed=True), passed)
                elif isinstance(split_shift(left)[0], Symbol):  # n - 1 - i: falls where it rises
                    yield from self.find_terms(right, term, passed)
            case Binary(op="*", left=left, right=right):
                for side, other in ((left, right), (right, left)):
                    number = evaluate_integer(other)
                    if number is None:
                        yield from self.find_terms(side, term._replace(row=True), passed)
                    elif number > 0 and evaluate_integer(side) is None:
                        yield from self.find_terms(side, term._replace(scale=term.scale * number), passed)
            case Binary(op="/" | "//" | ">>", left=left, right=right) if (evaluate_integer(right) or 0) > 0:
                yield from self.find_terms(left, term, passed)
            case Conditional(yes=yes, no=no):
                yield from self.find_terms(yes, term, passed)
                yield from self.find_terms(no, term, passed)
            case Comma(second=inner) | Assignment(value=inner):
                yield from self.find_terms(inner, term, passed)
            case FunctionCall(name=name, arguments=(inner,)) if take_last_name(name) in _ROUND:
                yield from self.find_terms(inner, term, passed)

    def _follow_symbol(
        self, symbol: Symbol, values: Mapping[Symbol, list[Expression]], term: _Term, passed: frozenset[Symbol]
    ) -> Iterator[_Term]:
        if symbol not in passed:
            for source in values.get(symbol, ()):
                yield from self.find_terms(source, term, passed | {symbol})

    def find_length(self, root: _Root) -> IndexUse | None:
        """The limit of an index of an array: the array's length, as far as the function shows it."""
        symbol, kind = root.symbol, root.symbol.type
        if symbol in self.positions and kind.length is None:
            return IndexUse(self.positions[symbol], axis=root.axis, mixed=root.moved, flat=kind.depth == 1)
        for _ in range(root.axis):
            kind = kind.of or kind
        if kind.length is not None:
            return IndexUse(length=kind.length, mixed=root.moved)
        sizes = self.sizes.get(symbol, ())
        size = sizes[root.axis] if root.axis < len(sizes) else None
        for source in () if size is not None else self.sources.get(symbol, []):
            if isinstance(call := strip_conversions(source), FunctionCall) and call.name in ALLOCATE:
                names = {n.symbol for a in call.arguments for n in walk(a) if isinstance(n, Name)}
                own = [self.positions[s] for s in names if s in self.positions and s.type.integral]
                return IndexUse(own[0], axis=-1, mixed=root.moved) if len(own) == 1 else None
        variable, shift = split_shift(size) if size is not None else (None, 0)
        if variable in self.positions:
            return IndexUse(self.positions[variable], axis=-1, shift=-shift, mixed=root.moved)
        return None

    def find_element(self, e: Expression) -> tuple[Symbol, Expression] | None:
        """The array parameter that an expression is an element of, and the index; a copy in a variable counts."""
        e = strip_conversions(e)
        for _ in range(3):
            if not (isinstance(e, Name) and len(own := self.sources.get(e.symbol, [])) == 1):
                break
            e = strip_conversions(own[0])
        if isinstance(e, Element) and (root := self.find_root(e.base)) and root.symbol in self.positions:
            return root.symbol, e.index
        return None


def find_value_uses(functions: Sequence[FunctionIR]) -> list[tuple[ValueUse, ...]]:
    """Of each function: how it uses each of its parameters, an array's elements for an array; calls are followed."""
    bodies = [_scan(function) for function in functions]
    by_name: dict[str, list[int]] = {}
    for index, function in enumerate(functions):
        by_name.setdefault(function.name, []).append(index)
    uses = [_own_uses(body) for body in bodies]
    for _ in range(_MOST_ROUNDS):  # a use travels one call further per round
        changed = False
        for index, body in enumerate(bodies):
            for call in body.calls:
                if call.target == "cell" and call.overload >= 0 and call.name in by_name:
                    changed |= _add_passed(body, uses[index], call, uses[by_name[call.name][call.overload]])
        if not changed:
            break
    return [
        tuple(use.find_value(parameter, body) for parameter, use in zip(function.parameters, own, strict=True))
        for function, body, own in zip(functions, bodies, uses, strict=True)
    ]


@dataclass
class _Use:
    """The uses of a parameter that are known so far."""

    indexes: set[IndexUse] = field(default_factory=set)
    rising: bool = False
    within: set[int] = field(default_factory=set)

    def add(self, index: IndexUse) -> bool:
        """Add a use as an index; True if it is new."""
        if index in self.indexes or len(self.indexes) >= _MOST_USES:
            return False
        self.indexes.add(index)
        return True

    def find_value(self, parameter: Symbol, body: _Body) -> ValueUse:
        # An array that the function writes to is sorted by it, not searched.
        rising = self.rising and parameter not in body.written
        within = tuple(k for k in sorted(self.within) if list(body.positions)[k] not in body.written)
        return ValueUse(tuple(sorted(self.indexes)), rising, within)


def _scan(function: FunctionIR) -> _Body:
    body = _Body({symbol: position for position, symbol in enumerate(function.parameters)})
    stores: list[tuple[Element, Expression]] = []
    divisors: list[Expression] = []
    waiting: list[tuple[Node, Node | None]] = [(function.body, None)]
    while waiting:
        node, loop = waiting.pop()
        match node:
            case Declare(symbol=symbol, value=value, sizes=sizes):
                if value is not None:
                    body.sources.setdefault(symbol, []).append(value)
                if sizes:
                    body.sizes[symbol] = sizes
            case Assignment(place=Name(symbol=symbol), value=value):
                if not any(isinstance(n, Current) for n in walk(value)):
                    body.sources.setdefault(symbol, []).append(value)
            case Assignment(place=Element() as place, value=value):
                stores.append((place, value))
            case CountedFor(counter=counter, start=start, stop=stop):
                body.sources.setdefault(counter, []).extend((start, stop))
                body.pairs.append((start, stop))
                loop = node
            case For(test=Expression() as test) | While(test=test) | DoWhile(test=test):
                loop = node
                begin = node.start if isinstance(node, For) else ()
                starts = {s.symbol: s.value for s in begin if isinstance(s, Declare) and s.value is not None}
                body.searching.append(_Test(test, loop))
                for part in walk(test):
                    if isinstance(part, Binary) and part.op in ("<", "<=", "!="):
                        counter_, _ = split_shift(part.left)
                        if counter_ is not None and counter_.type.integral:
                            body.sources.setdefault(counter_, []).append(part.right)
                            body.pairs += [(starts[counter_], part.right)] if counter_ in starts else []
            case If(test=test, then=then):
                leaves = any(map(_is_exit, then.body))
                body.required += [test] * leaves
                if loop is not None:
                    body.deciding.append(_Test(test, loop))
                    body.searching += body.deciding[-1:] * leaves
            case Assert(test=test):
                body.required.append(test)
            case Binary(op="/" | "//", right=right):
                divisors.append(right)
            case Binary(op="+", left=left, right=right) if node.type.kind == "a":
                body.offsets.append((left, right) if left.type.kind == "a" else (right, left))
            case Element():
                body.elements.append(node)
            case FunctionCall():
                body.calls.append(node)
        waiting += [(child, loop) for child in list_children(node)]
    for place, value in stores:
        if root := body.find_root(place):
            body.written.add(root.symbol)
            if root.symbol not in body.positions:
                body.contents.setdefault(root.symbol, []).append(value)
    body.pairs += [pair for divisor in divisors for pair in _find_differences(body, divisor)]
    return body


def _find_changed(loop: Node) -> set[Symbol]:
    """The variables that differ from one round of a loop to the next."""
    changed = {loop.counter} if isinstance(loop, CountedFor) else set()
    for node in walk(loop):
        match node:
            case Assignment(place=Name(symbol=symbol)) | Declare(symbol=symbol):
                changed.add(symbol)
    return changed


def _is_exit(statement: Node) -> bool:
    match statement:
        case Return() | Raise() | Break():
            return True
        case Evaluate(value=FunctionCall(name=name)):
            return take_last_name(name) in _LEAVES
    return False


def _find_differences(body: _Body, divisor: Expression, depth: int = 0) -> Iterator[tuple[Expression, Expression]]:
    """The differences in a divisor, also of a variable that has one."""
    for node in walk(divisor):
        match node:
            case Binary(op="-", left=left, right=right):
                yield left, right
            case Name(symbol=symbol) if depth < 2 and len(own := body.sources.get(symbol, [])) == 1:
                yield from _find_differences(body, own[0], depth + 1)


def _own_uses(body: _Body) -> list[_Use]:
    """The uses in a function's own text."""
    uses = [_Use() for _ in body.positions]
    if not uses:
        return uses
    for e in body.elements:
        if (root := body.find_root(e.base)) and (limit := body.find_length(root)):
            _add_index(body, uses, e.index, limit)
    for pointer, offset in body.offsets:
        if (root := body.find_root(pointer)) and (limit := body.find_length(root)):
            _add_index(body, uses, offset, limit._replace(mixed=True))
    for left, right in body.pairs:
        _add_pair(body, uses, left, right)
    for test in body.required:
        for part in _find_comparisons(test):
            _add_pair(body, uses, part.left, part.right)
    for place in body.searching:
        for part in _find_comparisons(place.test):
            _add_search(body, uses, part, place.loop)
    for place in body.deciding:
        for part in _find_comparisons(place.test):
            _add_search(body, uses, part, place.loop, halved=True)
    for call in body.calls:
        array, number = _SEARCHES.get(take_last_name(call.name), (0, 0))
        if number and number < len(call.arguments) and (root := body.find_root(call.arguments[array])):
            _add_order(body, uses, root.symbol, call.arguments[number])
    return uses


def _find_comparisons(test: Expression) -> Iterator[Binary]:
    for part in walk(test):
        if isinstance(part, Binary) and part.op in _ORDERS:
            yield part


def _add_index(body: _Body, uses: Sequence[_Use], index: Expression, limit: IndexUse) -> bool:
    """Add that ``index`` stays below a limit; True if that is new."""
    if not body.positions:
        return False  # it has no parameters
    changed, body.steps = False, _MOST_STEPS
    for term in body.find_terms(index, _Term(next(iter(body.positions)), limit.scale, limit.shift, limit.mixed)):
        position = body.positions[term.symbol]
        axis = 0 if term.row and limit.axis == 0 else limit.axis
        use = limit._replace(scale=term.scale, shift=term.shift, mixed=term.mixed, row=term.row, axis=axis)
        itself = position == limit.parameter and limit.axis < 0
        if not itself and abs(term.shift) < _FARTHEST and term.scale < _FARTHEST:
            changed |= uses[position].add(use)
    return changed


def _add_pair(body: _Body, uses: Sequence[_Use], left: Expression, right: Expression) -> None:
    """Two elements whose order matters: neighbours of one array are in rising order."""
    first, second = body.find_element(left), body.find_element(right)
    if first and second and first[0] is second[0]:
        (a, m), (b, n) = split_shift(first[1]), split_shift(second[1])
        if a is b and m != n:
            uses[body.positions[first[0]]].rising = True


def _add_search(body: _Body, uses: Sequence[_Use], test: Binary, loop: Node, *, halved: bool = False) -> None:
    """An element that ends a loop: the array is in order, and what is compared lies between its ends.

    ``halved``: only where the index comes from halving an interval.
    """
    for array, other in ((test.left, test.right), (test.right, test.left)):
        element, second = body.find_element(array), body.find_element(other)
        if element is None or evaluate_integer(element[1]) is not None or (second and second[0] is element[0]):
            continue
        variable, _ = split_shift(element[1])
        if variable is None or variable not in _find_changed(loop):
            continue
        if second and split_shift(second[1])[0] is variable:  # two arrays, element by element
            continue
        own = body.sources.get(variable, [])
        if not halved or any(isinstance(n, Binary) and n.op in ("/", "//", ">>") for e in own for n in walk(e)):
            _add_order(body, uses, element[0], other)


def _add_order(body: _Body, uses: Sequence[_Use], array: Symbol, other: Expression) -> None:
    if evaluate_integer(strip_conversions(other)) is not None or array not in body.positions:
        return
    uses[body.positions[array]].rising = True
    second = body.find_element(other)
    symbol = second[0] if second else other.symbol if isinstance(other := strip_conversions(other), Name) else None
    if symbol is not None and symbol is not array and symbol in body.positions:
        uses[body.positions[symbol]].within.add(body.positions[array])


def _add_passed(body: _Body, uses: Sequence[_Use], call: FunctionCall, inner: Sequence[_Use]) -> bool:
    """Add what a function of the cell does with the arguments of a call; True if some of it is new."""
    changed = False
    for argument, use in zip(call.arguments, inner, strict=False):
        root = body.find_root(argument) if argument.type.kind == "a" else None
        own = uses[body.positions[root.symbol]] if root and root.symbol in body.positions else None
        for index in tuple(use.indexes):  # of a recursion, those that are added to
            limit = _find_outer_limit(body, call.arguments, index)
            if limit is None:
                continue
            if own is not None:
                changed |= own.add(limit)
            elif root is None:
                changed |= _add_index(body, uses, argument, limit)
        if own is not None and use.rising and not own.rising:
            own.rising = changed = True
        for array in tuple(use.within):
            outer = body.find_root(call.arguments[array]) if array < len(call.arguments) else None
            if outer is not None:
                _add_order(body, uses, outer.symbol, argument)
    return changed


def _find_outer_limit(body: _Body, arguments: Sequence[Expression], index: IndexUse) -> IndexUse | None:
    """The limit of an index in a function that is called, for the caller."""
    if index.parameter < 0:
        return index
    if index.parameter >= len(arguments):
        return None
    argument = arguments[index.parameter]
    if index.axis >= 0:
        root = body.find_root(argument)
        limit = body.find_length(root) if root else None
        return limit and index._replace(
            parameter=limit.parameter,
            length=limit.length,
            axis=limit.axis + index.axis,
            mixed=index.mixed or limit.mixed,
            flat=limit.flat,
        )
    variable, shift = split_shift(argument)
    if variable in body.positions:
        return index._replace(parameter=body.positions[variable], shift=index.shift - shift)
    number = evaluate_integer(argument)
    return None if number is None else index._replace(parameter=-1, axis=0, length=number)
