"""Values over whole arrays, which know the loops that they stand for as axes, and how two of them meet.

Inside ``for i ...: for j ...:`` an element ``a[i, j]`` is the array ``a`` with the axes (i, j), ``x[j]`` has the
axis j, and a number has none.  Operands of different axes are brought together by new axes of length one.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

__all__ = ["Combined", "Loop", "NoVector", "Val", "called", "chained"]


class NoVector(Exception):
    """Internal: this has no NumPy expression."""


@dataclass(frozen=True)
class Val:
    """One value.

    ``axes`` are the loops it depends on, outermost first; ``batch``: in a generalized ufunc it has the
    broadcast dimensions too.  ``size``: a length, which is a Python int in every case; ``constant`` a number
    in the text.  ``factors``: what it is the product of.  ``stored``: the axes as an array has them, where
    ``node`` had to be transposed.  ``zeros``: an array made of zeros, of which only the shape counts.
    """

    node: ast.expr
    axes: tuple[str, ...] = ()
    batch: bool = False
    boolean: bool = False
    size: bool = False
    constant: bool = False
    zeros: bool = False
    depth: int = 0
    factors: tuple[Val, Val] | None = None
    stored: tuple[tuple[str, ...], ast.expr] | None = None


@dataclass(frozen=True)
class Loop:
    """``for variable in range(start, length + end)``; ``stop`` instead of a length for any other bound."""

    variable: str
    start: int = 0
    end: int = 0
    length: ast.expr | None = None
    stop: ast.expr | None = None

    @property
    def whole(self) -> bool:
        return self.start == 0 and self.end == 0 and self.stop is None


@dataclass
class Combined:
    """Brings values together; ``dimensions`` of the arrays among the parameters, ``stacked`` for core dimensions
    under broadcast ones, ``functions`` those of the cell that work on arrays.
    """

    dimensions: dict[str, int]
    stacked: bool
    functions: frozenset[str]
    values: dict[str, Val] = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)

    def number(self, e: Val) -> Val:
        if e.boolean:
            raise NoVector
        return e

    # -- bringing values together -----------------------------------------------------------------

    def together(self, values: Sequence[Val]) -> tuple[Val, list[ast.expr]]:
        """A value of all their axes (its node is none yet), and the nodes with axes added."""
        seen = {axis for v in values for axis in v.axes}
        axes = tuple(one.variable for one in self.loops if one.variable in seen)
        if len(axes) != len(seen):
            raise NoVector
        made = Val(
            ast.Constant(0),
            axes=axes,
            batch=any(v.batch for v in values),
            size=all(v.size or v.constant for v in values) and any(v.size for v in values),
            constant=all(v.constant for v in values),
        )
        return made, [self.widened(v, axes) for v in values]

    def widened(self, e: Val, axes: Sequence[str]) -> ast.expr:
        if tuple(axes) == e.axes or not (e.axes or (self.stacked and e.batch)):
            return e.node
        items: list[ast.expr] = [ast.Slice() if axis in e.axes else ast.Constant(None) for axis in axes]
        if self.stacked and e.batch:
            items.insert(0, ast.Constant(...))
        else:
            while isinstance(items[0], ast.Constant):
                items.pop(0)
            if len(items) == len(e.axes):
                return e.node
        return ast.Subscript(e.node, ast.Tuple(items) if len(items) > 1 else items[0])

    def _operation(self, op: ast.operator, left: Val, right: Val) -> Val:
        bits = isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor)
        if left.boolean != right.boolean or (left.boolean and not bits):
            raise NoVector
        if isinstance(op, ast.MatMult):
            raise NoVector
        made, (a, b) = self.together([left, right])
        factors = (left, right) if isinstance(op, ast.Mult) else None
        return replace(made, node=ast.BinOp(a, op, b), factors=factors, boolean=left.boolean)

    def _folded(self, op: ast.operator, parts: Sequence[Val]) -> Val:
        whole = parts[0]
        for part in parts[1:]:
            made, (a, b) = self.together([whole, part])
            whole = replace(made, node=ast.BinOp(a, op, b), boolean=True)
        return whole

    def where(self, test: Val, yes: Val, no: Val) -> Val:
        if yes.boolean != no.boolean:
            raise NoVector
        made, nodes = self.together([test, yes, no])
        return replace(made, node=called("np.where", *nodes), boolean=yes.boolean, size=False, constant=False)


def chained(node: ast.expr) -> tuple[str, list[ast.expr]]:
    """``a[i][j]`` and ``a[i, j]`` as the name and its indices."""
    if isinstance(node, ast.Name):
        return node.id, []
    if isinstance(node, ast.Subscript):
        name, indices = chained(node.value)
        return name, [*indices, *(node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])]
    raise NoVector


def called(name: str, *args: ast.expr) -> ast.expr:
    function: ast.expr
    root, _, attribute = name.rpartition(".")
    function = ast.Attribute(ast.Name(root), attribute) if root else ast.Name(attribute)
    return ast.Call(function, list(args), [])
