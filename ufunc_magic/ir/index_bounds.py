"""Which pointers of a function lead to as many elements as one of its integers says: ``x[i]`` in loops to ``i < n``.

What is not certain has no length here: other indices, a counter that the loop's body changes, a pointer that goes
anywhere but to a function of the cell that has the same bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .constants import evaluate_integer
from .effects import RANGES, count_touched, take_last_name
from .nodes import (
    AddressOf,
    Assignment,
    Binary,
    CountedFor,
    Declare,
    Element,
    Expression,
    FunctionCall,
    FunctionIR,
    Name,
    Node,
    OpaqueExpression,
    OpaqueStatement,
    Symbol,
    list_children,
    strip_conversions,
)


class _Passed(NamedTuple):
    """A pointer that is argument ``position`` of a call."""

    call: FunctionCall
    position: int


class _Bounds(NamedTuple):
    """For one pointer: the integers that bound its indices, None among them where none does, and the calls it is in."""

    lengths: set[Symbol | None]
    passed: list[_Passed]


def find_index_bounds(functions: Sequence[FunctionIR]) -> list[dict[Symbol, Symbol]]:
    """Of each function: pointer -> the integer parameter that is its length, calls followed."""
    by_name: dict[str, list[int]] = {}
    for index, function in enumerate(functions):
        by_name.setdefault(function.name, []).append(index)
    bodies = [_scan(function) for function in functions]
    known: list[dict[Symbol, Symbol]] = [{} for _ in functions]
    waiting = [index for index, bounds in enumerate(bodies) if bounds]
    for _ in range(10):  # a length travels one call further per round
        changed = False
        for index in waiting:
            for pointer, bound in bodies[index].items():
                lengths = bound.lengths | {_find_inner(p, functions, known, by_name) for p in bound.passed}
                length = next(iter(lengths)) if len(lengths) == 1 else None
                if length is not None and known[index].get(pointer) is not length:
                    known[index][pointer], changed = length, True
        if not changed:
            break
    return known


def _find_inner(
    passed: _Passed,
    functions: Sequence[FunctionIR],
    known: Sequence[dict[Symbol, Symbol]],
    by_name: dict[str, list[int]],
) -> Symbol | None:
    """The caller's variable that bounds what a function of the cell does with a pointer."""
    call = passed.call
    if call.target != "cell" or call.overload < 0 or call.name not in by_name:
        return None
    index = by_name[call.name][call.overload]
    parameters = functions[index].parameters
    if passed.position >= len(parameters):
        return None
    length = known[index].get(parameters[passed.position])
    if length is None or (at := parameters.index(length)) >= len(call.arguments):
        return None
    argument = strip_conversions(call.arguments[at])
    return argument.symbol if isinstance(argument, Name) and argument.symbol.storage == "parameter" else None


def _scan(function: FunctionIR) -> dict[Symbol, _Bounds]:
    """What the indices of each pointer are bounded by, of those where it is certain."""
    integers = {s for s in function.parameters if s.type.integral and not s.reference}
    pointers = {
        s
        for s in function.parameters
        if not s.reference and s.type.kind == "a" and s.type.length is None and s.type.depth == 1
    }
    if not pointers or not integers:
        return {}
    bounds = {pointer: _Bounds(set(), []) for pointer in pointers}
    changed: set[Symbol] = set()
    waiting: list[tuple[Node, tuple[CountedFor, ...]]] = [(function.body, ())]
    while waiting:
        node, loops = waiting.pop()
        match node:
            case Name(symbol=symbol):
                if symbol in bounds:
                    bounds[symbol].lengths.add(None)
                continue
            case Element(base=Name(symbol=symbol), index=index) if symbol in bounds:
                length = _find_length(index, loops)
                bounds[symbol].lengths.add(length if length in integers else None)
                waiting.append((index, loops))
                continue
            case Assignment(place=Name(symbol=symbol)):
                changed.add(symbol)
            case AddressOf(place=place):
                changed |= {place.symbol} if isinstance(place, Name) else set()
                while isinstance(place, Element):  # &x[i] leads past x[i]
                    waiting.append((place.index, loops))
                    place = place.base  # type: ignore[assignment]
                waiting.append((place, loops))
                continue
            case Declare(symbol=Symbol(reference=True), value=Name(symbol=symbol)):
                changed.add(symbol)
            case OpaqueExpression(writes=writes) | OpaqueStatement(writes=writes):
                changed |= writes
            case FunctionCall():
                waiting += [(e, loops) for e in _record_arguments(node, bounds, integers)]
                continue
            case CountedFor(counter=counter, start=start, stop=stop, body=body):
                if not node.declared:
                    changed.discard(counter)
                waiting += [(start, loops), (stop, loops), (body, (*loops, node))]
                continue
        waiting += [(child, loops) for child in list_children(node)]
    return {
        pointer: bound
        for pointer, bound in bounds.items()
        if pointer not in changed
        and None not in bound.lengths
        and not bound.lengths & changed
        and (bound.lengths or bound.passed)
        and not any(_changes_argument(p, changed) for p in bound.passed)
    }


def _changes_argument(passed: _Passed, changed: set[Symbol]) -> bool:
    return any(isinstance(e := strip_conversions(a), Name) and e.symbol in changed for a in passed.call.arguments)


def _record_arguments(call: FunctionCall, bounds: dict[Symbol, _Bounds], integers: set[Symbol]) -> list[Expression]:
    """Record the pointers that a call takes; what is left to look at."""
    left: list[Expression] = [] if call.through is None else [call.through]
    ranged = _read_range(call)
    for position, argument in enumerate(call.arguments):
        e = strip_conversions(argument)
        first = e.left if isinstance(e, Binary) and e.op == "+" else e
        pointer = first.symbol if isinstance(first, Name) and first.symbol in bounds else None
        if pointer is not None and ranged is not None and position < len(RANGES[take_last_name(call.name)]):
            alone = isinstance(e, Name)
            within = ranged[0] is pointer if position < 2 else alone
            bounds[pointer].lengths.add(ranged[1] if within and ranged[1] in integers else None)
        elif pointer is not None and isinstance(e, Name) and isinstance(n := count_touched(call, position), Symbol):
            bounds[pointer].lengths.add(n if n in integers else None)
        elif pointer is not None and isinstance(e, Name):
            bounds[pointer].passed.append(_Passed(call, position))
        else:
            left.append(argument)
    return left


def _read_range(call: FunctionCall) -> tuple[Symbol, Symbol] | None:
    """``x`` and ``n`` of ``std::copy(x, x + n, y)``."""
    if call.target == "cell" or take_last_name(call.name) not in RANGES or len(call.arguments) < 2:
        return None
    match strip_conversions(call.arguments[0]), strip_conversions(call.arguments[1]):
        case Name(symbol=first), Binary(op="+", left=Name(symbol=second), right=end) if first is second:
            length = strip_conversions(end)
            return (first, length.symbol) if isinstance(length, Name) else None
    return None


def split_shift(e: Expression) -> tuple[Symbol | None, int]:
    """The variable and the number that ``i``, ``i + 1`` or ``(long) n - 1`` is the sum of."""
    e = strip_conversions(e)
    match e:
        case Name(symbol=symbol):
            return symbol, 0
        case Binary(op="+" | "-", left=left, right=right):
            variable, number = split_shift(left)
            shift = evaluate_integer(right)
            if variable is not None and shift is not None:
                return variable, number + (shift if e.op == "+" else -shift)
            if e.op == "+" and (shift := evaluate_integer(left)) is not None:
                variable, number = split_shift(right)
                return variable, number + shift
    return None, 0


def _find_length(index: Expression, loops: Sequence[CountedFor]) -> Symbol | None:
    """The variable that an index stays below, in the loop that counts it."""
    counter, shift = split_shift(index)
    if counter is None:
        return None
    loop = next((loop for loop in reversed(loops) if loop.counter is counter), None)
    if loop is None or loop.step < 0:
        return None
    first = evaluate_integer(loop.start)
    end, beyond = split_shift(loop.stop)
    beyond += loop.inclusive
    return end if first is not None and first + shift >= 0 >= beyond + shift else None
