"""Python expressions evaluated over whole arrays: names, elements, lengths and calls."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..math_names import KNOWN
from .whole_arrays import Combined, NoVector, Val, called, chained

__all__ = ["ArrayValues"]

_FUNCTIONS = {
    **{entry.call: entry.vector for entry in KNOWN.values() if entry.call.startswith(("math.", "cmath."))},
    **{f"math.{name}": f"np.{name}" for name in ("radians", "degrees", "gcd", "lcm", "fabs", "isnan", "isinf")},
    "math.pow": "",
}
_CONSTANTS = {f"math.{name}": f"np.{name}" for name in ("pi", "e", "inf", "nan")} | {"math.tau": "(2 * np.pi)"}
_BOOLEAN = frozenset(("np.isnan", "np.isinf", "np.isfinite", "np.signbit"))


@dataclass
class ArrayValues(Combined):
    """Evaluates expressions."""

    def value(self, node: ast.expr) -> Val:
        match node:
            case ast.Constant(value=bool() | int() | float() | complex()):
                return Val(node, constant=True, boolean=isinstance(node.value, bool))
            case ast.Name(id=name):
                return self._name(name, node)
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(op, self.value(left), self.value(right))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                e = self.truth(operand)
                return replace(e, node=ast.UnaryOp(ast.Invert(), e.node), factors=None, stored=None)
            case ast.UnaryOp(op=op, operand=operand):
                e = self.number(self.value(operand))
                return replace(e, node=ast.UnaryOp(op, e.node), factors=None, stored=None, zeros=False)
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self._comparison(left, ops, others)
            case ast.BoolOp(op=op, values=values):
                word = ast.BitAnd() if isinstance(op, ast.And) else ast.BitOr()
                return self._folded(word, [self.truth(v) for v in values])
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.where(self.truth(test), self.value(body), self.value(orelse))
            case ast.Call(func=func, args=args, keywords=[]):
                return self._call(func, args)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Attribute():
                return self._attribute(node)
        raise NoVector

    def truth(self, node: ast.expr) -> Val:
        e = self.value(node)
        if e.boolean:
            return e
        return replace(e, node=ast.Compare(e.node, [ast.NotEq()], [ast.Constant(0)]), boolean=True, size=False)

    def _name(self, name: str, node: ast.expr) -> Val:
        if name in self.hidden:
            raise NoVector
        if name in self.values:
            return self.values[name]
        loop = next((one for one in self.loops if one.variable == name), None)
        if loop is None:
            raise NoVector
        stop = loop.stop or loop.length
        if stop is None:
            raise NoVector
        stop = ast.BinOp(stop, ast.Sub(), ast.Constant(-loop.end)) if loop.end else stop
        return Val(called("np.arange", *([ast.Constant(loop.start)] if loop.start else []), stop), axes=(name,))

    def _comparison(self, left: ast.expr, ops: Sequence[ast.cmpop], others: Sequence[ast.expr]) -> Val:
        parts, first = [], self.value(left)
        for op, other in zip(ops, others, strict=True):
            if not isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE | ast.Eq | ast.NotEq):
                raise NoVector
            second = self.value(other)
            made, (a, b) = self.together([first, second])
            parts.append(replace(made, node=ast.Compare(a, [op], [b]), boolean=True, constant=False))
            first = second
        return self._folded(ast.BitAnd(), parts)

    # -- calls ------------------------------------------------------------------------------------

    def _call(self, func: ast.expr, args: Sequence[ast.expr]) -> Val:
        name = ast.unparse(func)
        if name == "len" and len(args) == 1:
            return self.length(args[0])
        if name in ("np.asarray", "np.array") and len(args) == 1:
            return self.value(args[0])
        values = [self.number(self.value(a)) for a in args]
        return self._function(name, values)

    def _function(self, name: str, values: list[Val]) -> Val:
        match name, len(values):
            case "float", 1:
                return values[0]
            case "int", 1 if values[0].size or values[0].constant:
                return replace(values[0], node=called("int", values[0].node))
            case "int", 1 if values[0].axes or values[0].batch:
                kind = ast.Attribute(ast.Name("np"), "int64")
                return replace(values[0], node=ast.Call(ast.Attribute(values[0].node, "astype"), [kind], []))
            case "bool", 1:
                unequal = ast.Compare(values[0].node, [ast.NotEq()], [ast.Constant(0)])
                return replace(values[0], node=unequal, boolean=True)
            case "math.pow" | "pow", 2:
                return self._operation(ast.Pow(), *values)
            case "complex", 2:
                times = self._operation(ast.Mult(), Val(ast.Constant(1j), constant=True), values[1])
                return self._operation(ast.Add(), values[0], times)
        word = _numpy_call(name, len(values))
        if not word and name not in self.functions:
            raise NoVector
        made, nodes = self.together(values)
        word = word or name
        if word in ("np.minimum", "np.maximum") and len(nodes) > 2:
            node = nodes[0]
            for other in nodes[1:]:
                node = called(word, node, other)
            return replace(made, node=node, constant=False, size=False)
        return replace(made, node=called(word, *nodes), boolean=word in _BOOLEAN, constant=False, size=False)

    def length(self, node: ast.expr) -> Val:
        """``len(a)``, ``len(a[0])``."""
        axis = 0
        while isinstance(node, ast.Subscript):
            node, axis = node.value, axis + 1
        if not isinstance(node, ast.Name) or node.id not in self.dimensions:
            raise NoVector
        return self._extent(node.id, axis)

    def _extent(self, name: str, axis: int) -> Val:
        dimensions = self.dimensions.get(name, 0)
        if not dimensions or axis >= max(dimensions, 1):
            raise NoVector
        if not self.stacked and axis == 0:
            return Val(called("len", ast.Name(name)), size=True)
        position = axis - dimensions if self.stacked else axis
        shape = ast.Attribute(ast.Name(name), "shape")
        return Val(ast.Subscript(shape, ast.Constant(position)), size=True)

    # -- attributes and elements ------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute) -> Val:
        text = ast.unparse(node)
        if text in _CONSTANTS or text in ("np.pi", "np.e", "np.inf", "np.nan"):
            return Val(ast.parse(_CONSTANTS.get(text, text), mode="eval").body, constant=True)
        if node.attr in ("real", "imag"):
            e = self.number(self.value(node.value))
            return replace(e, node=ast.Attribute(e.node, node.attr), factors=None, stored=None)
        if node.attr == "size" and isinstance(node.value, ast.Name) and self.dimensions.get(node.value.id) in (1, -1):
            return self._extent(node.value.id, 0)
        raise NoVector

    def _subscript(self, node: ast.Subscript) -> Val:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            owner, axis = node.value.value, node.slice
            if isinstance(owner, ast.Name) and isinstance(axis, ast.Constant) and isinstance(axis.value, int):
                return self._extent(owner.id, axis.value % max(self.dimensions.get(owner.id, 1), 1))
        name, indices = chained(node)
        if name in self.hidden or self.dimensions.get(name, 0) not in (-1, len(indices)):
            raise NoVector
        found = self.values.get(name)
        if found is not None and found.axes:
            if [ast.unparse(i) for i in indices] != list(found.axes):
                raise NoVector
            return found
        items = [self._index(index) for index in indices]
        axes = tuple(axis for axis, _ in items if axis)
        if len(set(axes)) != len(axes):
            raise NoVector
        array = self._taken(ast.Name(name), [item for _, item in items])
        order = tuple(one.variable for one in self.loops if one.variable in axes)
        if order == axes:
            return Val(array, axes=axes, batch=True, stored=(axes, array))
        if len(axes) != 2:
            raise NoVector
        turned = called("np.swapaxes", array, ast.Constant(-1), ast.Constant(-2))
        return Val(turned, axes=order, batch=True, stored=(axes, array))

    def _index(self, index: ast.expr) -> tuple[str, ast.expr]:
        """The loop that an index belongs to, and what is taken along that axis."""
        shift = 0
        match index:
            case ast.Constant(value=int()):
                return "", index
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
                return "", index
            case ast.BinOp(left=ast.Name() as name, op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=int(by))):
                shift = by if isinstance(op, ast.Add) else -by
                index = name
        loop = next((one for one in self.loops if isinstance(index, ast.Name) and one.variable == index.id), None)
        if loop is None or loop.start + shift < 0 or (loop.stop is None and loop.end + shift > 0):
            raise NoVector
        start = ast.Constant(loop.start + shift) if loop.start + shift else None
        if loop.stop is None:
            last = loop.end + shift
            return loop.variable, ast.Slice(start, ast.Constant(last) if last else None)
        stop = ast.BinOp(loop.stop, ast.Add(), ast.Constant(shift)) if shift else loop.stop
        return loop.variable, ast.Slice(start, stop)

    def _taken(self, array: ast.expr, items: list[ast.expr]) -> ast.expr:
        if all(isinstance(i, ast.Slice) and i.lower is None and i.upper is None for i in items):
            return array
        if self.stacked:
            items = [ast.Constant(...), *items]
        return ast.Subscript(array, ast.Tuple(items) if len(items) > 1 else items[0])


def _numpy_call(name: str, count: int) -> str:
    """NumPy's function for Python's ``name`` of ``count`` arguments, or ``""``."""
    if name in _FUNCTIONS:
        word = _FUNCTIONS[name]
        return word if word.startswith("np.") and "{" not in word else ""
    if name.startswith("np."):
        found: Callable[..., object] | None = getattr(np, name[3:], None)
        return name if isinstance(found, np.ufunc) and found.nin == count else ""
    words = {"abs": "np.abs", "min": "np.minimum", "max": "np.maximum", "round": "np.rint"}
    if name in ("min", "max") and count < 2:
        return ""
    return words.get(name, "") if name in ("min", "max") or count == 1 else ""
