"""The arithmetic of a function, estimated from its text.  Pure."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["CALLS", "Work", "function_work", "loop_line", "ufunc_work"]

#: What a call costs in additions and multiplications where it is vectorized: the degree of the polynomials and
#: the reductions that libraries use, to the nearest five or so.
CALLS: dict[str, float] = {
    "sqrt": 5, "cbrt": 20, "exp": 20, "exp2": 18, "exp10": 22, "expm1": 22, "log": 20, "log2": 20, "log10": 22,
    "log1p": 22, "sin": 20, "cos": 20, "tan": 30, "asin": 25, "acos": 25, "atan": 22, "atan2": 30, "sinh": 30,
    "cosh": 30, "tanh": 30, "asinh": 30, "acosh": 30, "atanh": 30, "pow": 50, "power": 50, "hypot": 10, "erf": 35,
    "erfc": 45, "gamma": 80, "lgamma": 80, "fmod": 20, "arcsin": 25, "arccos": 25, "arctan": 22, "arctan2": 30,
    "arcsinh": 30, "arccosh": 30, "arctanh": 30,
}  # fmt: skip
_DIVISION = 4.0

#: ``for`` whose bound is a number is unrolled or vectorized around.
_LOOP = re.compile(r"\b(?:while|do)\b|\bfor\s*\((?![^;]*;[^;]*[<>]=?\s*\d+\s*;)")


@dataclass(frozen=True)
class Work:
    """For each element: additions and multiplications, calls of the C library with their number, and whether
    there are loops, so that the numbers are those of one turn."""

    flops: float
    calls: Mapping[str, int] = field(default_factory=dict)
    loops: bool = False

    @property
    def dearest(self) -> str:
        """The call that costs most, ``""`` where there is none that counts."""
        costly = {name: number * CALLS[name] for name, number in self.calls.items() if CALLS[name] > _DIVISION + 1}
        return max(costly, key=lambda name: costly[name], default="")


def ufunc_work(ufunc: np.ufunc) -> Work | None:
    """Of one of NumPy's own, by name."""
    name = {"power": "pow", "float_power": "pow"}.get(ufunc.__name__, ufunc.__name__)
    if name in CALLS:
        return Work(CALLS[name], {name: 1})
    simple = {"add", "subtract", "multiply", "divide", "negative", "absolute", "maximum", "minimum", "square"}
    return Work(_DIVISION if name == "divide" else 1.0) if name in simple else None


def function_work(given: Callable[..., Any] | str, *, name: str = "") -> Work | None:
    """Of a function, or of a text: a lambda, or a module that defines ``name``; None where there is no text.

    Functions of the text that it calls are counted once for each call.
    """
    try:
        text = given if isinstance(given, str) else inspect.getsource(given)
        tree = ast.parse(textwrap.dedent(text).strip())
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    lambdas = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    wanted = name or str(getattr(given, "__name__", ""))
    anything: list[ast.FunctionDef | ast.Lambda] = [*lambdas, *functions.values()]
    main = functions.get(wanted) or next(iter(anything), None)
    found = _Counter(functions).counted(main) if main is not None else None
    # All in calls that nothing is known of: no arithmetic would be a claim.
    return found if found and (found.flops or found.loops) else None


class _Counter(ast.NodeVisitor):
    """Counts along a function's body, those it calls included."""

    def __init__(self, functions: Mapping[str, ast.FunctionDef]) -> None:
        self.functions = functions
        self.flops, self.calls, self.loops = 0.0, dict[str, int](), False
        self.within: list[str] = []

    def counted(self, main: ast.FunctionDef | ast.Lambda) -> Work:
        for node in main.body if isinstance(main, ast.FunctionDef) else [main.body]:
            self.visit(node)
        return Work(self.flops, self.calls, self.loops)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._operator(node.op)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._operator(node.op)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self.loops = True
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        self.loops = True
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        name = name.removeprefix("c_")
        if name in CALLS:
            self.calls[name] = self.calls.get(name, 0) + 1
            self.flops += CALLS[name]
        elif name in self.functions and name not in self.within:
            self.within.append(name)
            self.counted(self.functions[name])
            self.within.pop()
        self.generic_visit(node)

    def _operator(self, op: ast.operator) -> None:
        match op:
            case ast.Add() | ast.Sub() | ast.Mult():
                self.flops += 1
            case ast.Div() | ast.Mod() | ast.FloorDiv():
                self.flops += _DIVISION
            case ast.Pow():
                self.calls["pow"] = self.calls.get("pow", 0) + 1
                self.flops += CALLS["pow"]


def loop_line(source: str, *, line: int) -> int:
    """The line of the first loop in a C function whose turns depend on data; 0 where there is none.

    ``source`` is the function's text and ``line`` the line it begins on.
    """
    for offset, text in enumerate(source.split("\n")):
        if _LOOP.search(text.partition("//")[0]):
            return line + offset
    return 0
