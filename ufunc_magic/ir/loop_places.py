"""The loops of functions, with their places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .constants import evaluate_integer
from .nodes import (
    CountedFor,
    DoWhile,
    For,
    ForEach,
    FunctionIR,
    Node,
    OpaqueStatement,
    Position,
    Program,
    While,
    walk,
)


def find_loops(node: Node) -> Iterator[Position]:
    """Where loops begin, and statements that the IR cannot say and that may repeat others, in the order of the text.

    ``do { ... } while (0)``, which macros are made of, is no loop.
    """
    for inner in walk(node):
        match inner:
            case DoWhile(test=test) if evaluate_integer(test) == 0:
                pass
            case CountedFor() | For() | ForEach() | While() | DoWhile() | OpaqueStatement(repeats=True):
                yield inner.at


def find_loop_lines(functions: Iterable[FunctionIR]) -> tuple[int, ...]:
    """The lines of the cell on which loops of these functions begin."""
    return tuple(sorted({at.line for function in functions for at in find_loops(function.body)} - {0}))


def repeats(program: Program, function: FunctionIR) -> bool:
    """Whether a loop or a recursion is in a function, or in the functions of the cell that it calls."""
    calls: dict[FunctionIR, set[FunctionIR]] = {}
    waiting = [function]
    while waiting:
        function = waiting.pop()
        if function in calls:
            continue
        if next(find_loops(function.body), None) is not None:
            return True
        calls[function] = {other for name in function.calls for other in program.functions.get(name, ())}
        waiting += calls[function]
    while free := {function for function, called in calls.items() if not called & calls.keys()}:
        calls = {function: called for function, called in calls.items() if function not in free}
    return bool(calls)
