"""What statements of a Python text read and change: which values a loop carries from one turn to the next."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

__all__ = ["accumulated", "alive", "assigned", "ends", "gives_back", "is_name", "seen_dimensions"]


def gives_back(node: ast.stmt) -> bool:
    return any(isinstance(n, ast.Return) for n in ast.walk(node))


def ends(body: Sequence[ast.stmt]) -> bool:
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return ends(last.body) and ends(last.orelse)
    return isinstance(last, ast.Return | ast.Raise)


def alive(lines: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The lines without assignments that nothing reads; ``s = v.sum()`` just before ``return s`` is one line."""
    kept = list(lines)
    while True:
        read: set[str] = set()
        alive: list[ast.stmt] = []
        for node in reversed(kept):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    if name not in read:
                        continue
                    read.discard(name)
                    read |= loaded(value)
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                    names = {t.id for t in targets if isinstance(t, ast.Name)}
                    if not names & read:
                        continue
                    read = (read - names) | loaded(value)
                case _:
                    read |= loaded(node)
            alive.append(node)
        alive.reverse()
        if len(alive) == len(kept):
            break
        kept = alive
    match kept:
        case [*first, ast.Assign(targets=[ast.Name(id=name)], value=value), ast.Return(value=ast.Name(id=last))]:
            if name == last:
                kept = [*first, ast.Return(value)]
    yield from kept


def loaded(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def assigned(node: ast.stmt) -> set[str]:
    """Names that a statement of a loop's body gives a new value, those of inner loops' sums left out."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return set() if mentions(value, name) else {name}
        case ast.For(target=ast.Name(id=name), body=body):
            return {name}.union(*map(assigned, body))
        case ast.If(body=body, orelse=orelse):
            # `if e > m: m = e` keeps m from one turn to the next
            return (
                set().union(*map(assigned, orelse))
                if len(body) == 1 and _extremal(node)
                else set().union(*map(assigned, [*body, *orelse]))
            )
    return set()


def _extremal(node: ast.If) -> bool:
    match node.body[0]:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return mentions(node.test, name)
    return False


def accumulated(node: ast.stmt) -> set[str]:
    """Names that a statement changes from what they were before it."""
    match node:
        case ast.AugAssign(target=ast.Name(id=name)):
            return {name}
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if mentions(value, name):
            return {name}
        case ast.For(body=body):
            return set().union(*map(accumulated, body))
        case ast.If(body=body, orelse=orelse):
            found = set().union(*map(accumulated, [*body, *orelse]))
            match body:
                case [ast.Assign(targets=[ast.Name(id=name)])] if _extremal(node):
                    found.add(name)
            return found
    return set()


def mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))


def seen_dimensions(function: ast.FunctionDef, name: str) -> int:
    """How many indices an array of unknown type is used with."""
    most = 0
    for node in ast.walk(function):
        depth, base = 0, node
        while isinstance(base, ast.Subscript):
            depth += len(base.slice.elts) if isinstance(base.slice, ast.Tuple) else 1
            base = base.value
        if isinstance(base, ast.Name) and base.id == name:
            most = max(most, depth)
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Name) and node.iter.id == name:
            most = max(most, 1)
    return most
