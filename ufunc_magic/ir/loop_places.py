"""The loops of functions, with their places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .constants import evaluate_integer
from .nodes import (
    Assert,
    Break,
    CountedFor,
    DoWhile,
    For,
    ForEach,
    FunctionIR,
    Logical,
    Node,
    OpaqueStatement,
    Position,
    Program,
    Raise,
    Return,
    Switch,
    While,
    list_children,
    walk,
)

#: The reason of an `OpaqueStatement` that is a jump.
GOTO = "uses `goto`"


def find_loops(node: Node) -> Iterator[Position]:
    """Where loops begin, and statements that the IR cannot say and that may repeat others, in the order of the text.

    ``do { ... } while (0)``, which macros are made of, is no loop.
    """
    return (loop.at for loop in _find_loop_nodes(node))


def _find_loop_nodes(node: Node) -> Iterator[Node]:
    for inner in walk(node):
        match inner:
            case DoWhile(test=test) if evaluate_integer(test) == 0:
                pass
            case CountedFor() | For() | ForEach() | While() | DoWhile() | OpaqueStatement(repeats=True):
                yield inner


def find_loop_lines(functions: Iterable[FunctionIR]) -> dict[int, str | None]:
    """The lines of the cell on which loops of these functions begin, and what ends a loop of the line early.

    That is ``"a `break` or a `return`"``, ``""`` for nothing, or None where the IR does not know.
    """
    exits: dict[int, list[str | None]] = {}
    for function in functions:
        for loop in _find_loop_nodes(function.body):
            exits.setdefault(loop.at.line, []).extend(_list_exits(loop))
    exits.pop(0, None)
    return {line: _join_words(words) for line, words in sorted(exits.items())}


def _join_words(words: list[str | None]) -> str | None:
    known = [word for word in words if word is not None]
    return " or ".join(dict.fromkeys(known)) if len(known) == len(words) else None


def _list_exits(loop: Node) -> Iterator[str | None]:
    """The statements that may leave a loop before its condition does; None where they do not explain its control flow.

    A compiler's words on a loop with a loop inside may be about either.
    """
    if isinstance(loop, For | While | DoWhile) and isinstance(loop.test, Logical):
        yield "its second condition"
    waiting = [(loop, True)] if isinstance(loop, OpaqueStatement) else [(node, True) for node in list_children(loop)]
    while waiting:
        node, own = waiting.pop(0)
        match node:
            case Break() if own:
                yield "a `break`"
            case Return():
                yield "a `return`"
            case OpaqueStatement(repeats=True):
                yield "a `goto`" if node.reason == GOTO else None
            case Raise():
                yield "an exception"
            case Assert():
                yield "an assertion"
            case CountedFor() | For() | ForEach() | While() | DoWhile():
                yield None
        own = own and not isinstance(node, CountedFor | For | ForEach | While | DoWhile | Switch)
        waiting += [(inner, own) for inner in list_children(node)]


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
