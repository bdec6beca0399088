"""Local names that only stand for a parameter (``v = array``), put back: the NumPy form reads arrays by one name."""

from __future__ import annotations

import ast

__all__ = ["without_aliases"]


def without_aliases(tree: ast.Module) -> ast.Module:
    """``tree`` with each name that is bound once, at the top of its function, to a parameter replaced by it."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            _replace(node)
    return tree


def _replace(function: ast.FunctionDef) -> None:
    parameters = {arg.arg for arg in function.args.args}
    stored = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    found: dict[str, str] = {}
    kept: list[ast.stmt] = []
    for statement in function.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=of)) if (
                of in parameters and of not in stored and stored.count(name) == 1 and name not in parameters
            ):
                found[name] = of
            case _:
                kept.append(statement)
    function.body = kept or function.body
    for inner in ast.walk(function):
        if isinstance(inner, ast.Name):
            inner.id = found.get(inner.id, inner.id)
