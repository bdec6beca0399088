"""Loops over arrays as NumPy's reductions and element-wise results."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .dataflow import changes, names_assigned
from .numpy_values import ArrayValues, NoVector, Val, chained
from .value import call, spelled

_NEUTRAL = {ast.Add: 0, ast.Sub: 0, ast.Mult: 1}
#: A sum of products, by the dimensions of the factors, where there are broadcast dimensions before them.
_PRODUCTS = {(1, 1): "np.vecdot", (2, 1): "np.matvec", (1, 2): "np.vecmat"}


@dataclass
class Reductions(ArrayValues):
    """Runs through loops once, with arrays in the place of elements.

    ``lines`` are the statements written so far, ``stores`` the arrays that were filled, ``blank`` new arrays, of zeros,
    that wait to be filled.
    """

    lines: list[ast.stmt] = field(default_factory=list)
    stores: dict[str, Val] = field(default_factory=dict)
    blank: set[str] = field(default_factory=set)

    def put(self, name: str, e: Val, *, depth: int) -> None:
        """Write ``name = e``."""
        self.lines.append(ast.Assign([ast.Name(name)], e.node))
        self.values[name] = e.named(name, depth=depth)

    def makes_array(self, name: str, value: ast.expr) -> bool:
        """Whether ``name = value`` makes an array to be filled: ``[0.0]*n``, ``np.zeros(n)``."""
        text = ast.unparse(value)
        if isinstance(value, ast.List) or not text.startswith(("[0", "[[0", "[False", "np.zeros", "np.empty")):
            return False
        self.blank.add(name)
        self.dimensions[name] = -1 if text.startswith("np.") else 2 if text.startswith("[[") else 1
        return True

    # -- loops ------------------------------------------------------------------------------------

    def loop(self, node: ast.For) -> None:
        if node.orelse or not isinstance(node.target, ast.Name):
            raise NoVector
        variable = node.target.id
        if variable in self.loops or not self._whole(node.iter):
            raise NoVector
        changed = [change for inner in node.body for change in changes(inner)]
        carried = {name for name, before in changed if not before}
        summed = {name for name, before in changed if before} - carried
        for name in carried:
            self.values.pop(name, None)
        if isinstance(node.iter, ast.Name):
            self.values[variable] = Val(node.iter, axes=(variable,), batch=True)
        self.loops.append(variable)
        self.hidden |= summed
        for inner in node.body:
            self._inside(inner, None)
        self.loops.pop()
        self.hidden -= summed
        for name in {*carried, variable}:
            self.values.pop(name, None)

    def _whole(self, node: ast.expr) -> bool:
        """Whether a loop runs over all of an array."""
        match node:
            case ast.Name(id=name):
                return self.dimensions.get(name) == 1 and name not in self.blank
            case ast.Call(func=ast.Name(id="range"), args=[stop]):
                return self.value(stop).size
        return False

    def _inside(self, node: ast.stmt, guard: Val | None) -> None:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.For() if guard is None:
                self.loop(node)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                self._accumulate(name, op, value, guard)
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=left), op=op, right=value)
            ) if left == name:
                self._accumulate(name, op, value, guard)
            case ast.AugAssign(target=ast.Subscript() as target, op=ast.Add(), value=value) if guard is None:
                self._store(target, value, added=True)
            case ast.Assign(targets=[ast.Subscript() as target], value=value) if guard is None:
                self._store(target, value, added=False)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if guard is None and name not in self.hidden:
                e = self.value(value)
                if isinstance(e.node, ast.Name | ast.Constant):
                    self.values[name] = replace(e, depth=len(self.loops))
                else:
                    self.put(name, e, depth=len(self.loops))
            case ast.If(test=test, body=body, orelse=orelse):
                yes = self.truth(test)
                no = replace(yes, node=ast.UnaryOp(ast.Invert(), yes.node))
                for e, statements in ((yes, body), (no, orelse)):
                    both = e if guard is None else self.folded(ast.BitAnd(), [guard, e])
                    for inner in statements:
                        self._inside(inner, both)
            case _:
                raise NoVector

    # -- reductions -------------------------------------------------------------------------------

    def _began(self, name: str) -> ast.expr:
        """What a variable of a loop was before it."""
        start = self.values.get(name)
        if start is None or name not in self.hidden:
            raise NoVector
        lines = (n for n in reversed(self.lines) if isinstance(n, ast.Assign) and name in names_assigned(n))
        line = next(lines, None)
        return line.value if line is not None and spelled(start.node) == name else start.node

    def _accumulate(self, name: str, op: ast.operator, value: ast.expr, guard: Val | None) -> None:
        """``s += e``, summed over the loops that are inside of where ``s`` began."""
        neutral = _NEUTRAL.get(type(op))
        began = self._began(name)
        if neutral is None:
            raise NoVector
        e = self.number(self.value(value))
        if guard is not None:
            e = self.where(guard, e, Val(ast.Constant(neutral), constant=True))
        start = self.values[name]
        word = "prod" if isinstance(op, ast.Mult) else "sum"
        result = self._reduced(word, e, self.loops[start.depth :])
        if not (isinstance(began, ast.Constant) and began.value == neutral) or isinstance(op, ast.Sub):
            result = self.operation(op, start, result)
        self.put(name, result, depth=start.depth)

    def _reduced(self, word: str, e: Val, over: Sequence[str]) -> Val:
        if not over or not set(over) <= set(e.axes):
            raise NoVector
        left = tuple(axis for axis in e.axes if axis not in over)
        if word == "sum" and e.factors is not None and len(over) == 1:
            product = self._contracted(e.factors, over[0], left)
            if product is not None:
                return Val(product, axes=left, batch=True)
        if len(e.axes) > 2:
            raise NoVector
        where = [e.axes.index(axis) - len(e.axes) for axis in over]
        keywords = []
        if self.stacked or left:
            axis = ast.Constant(where[0]) if len(where) == 1 else ast.Tuple([ast.Constant(w) for w in where])
            keywords = [ast.keyword("axis", axis)]
        if isinstance(e.node, ast.Name):
            node = ast.Call(ast.Attribute(e.node, word), [], keywords)
        else:
            node = ast.Call(ast.Attribute(ast.Name("np"), word), [e.node], keywords)
        return Val(node, axes=left, batch=e.batch)

    def _contracted(self, factors: tuple[Val, Val], over: str, left: tuple[str, ...]) -> ast.expr | None:
        """A sum of products of elements as ``@``, ``np.vecdot``, ``np.matvec``."""
        if not all(isinstance(e.node, ast.Subscript) or spelled(e.node) in self.dimensions for e in factors):
            return None
        for first, second in (factors, factors[::-1]):
            a, b = first.axes, second.axes
            if a[-1:] == b[:1] == (over,) and (*a[:-1], *b[1:]) == left and len(a) <= 2 >= len(b):
                word = _PRODUCTS.get((len(a), len(b))) if self.stacked else None
                plain = ast.BinOp(first.node, ast.MatMult(), second.node)
                return call(word, first.node, second.node) if word else plain
        return None

    # -- results element by element ---------------------------------------------------------------

    def _store(self, target: ast.Subscript, value: ast.expr, *, added: bool) -> None:
        """``out[i] = e``, or ``+=`` in a loop inside of that over ``i``."""
        name, indices = chained(target)
        axes = tuple(spelled(i) for i in indices)
        loops = tuple(self.loops)
        if axes != loops[: len(axes)]:
            raise NoVector
        blank = name in self.blank
        if (self.stacked and not blank) or name in self.stores or name not in self.dimensions:
            raise NoVector
        e = self.number(self.value(value))
        if blank and not added and e.constant and ast.unparse(e.node) in ("0", "0.0"):
            return
        if added != (len(axes) < len(loops)) or (added and not blank):
            raise NoVector
        e = self._reduced("sum", e, loops[len(axes) :]) if added else e
        if {*e.axes} != {*axes}:
            raise NoVector
        e = replace(e, node=self.widened(e, axes), axes=axes)
        if blank:
            self.put(name, e, depth=0)
            self.stores[name] = Val(ast.Name(name), batch=True)
        else:
            self.lines.append(ast.Assign([ast.Subscript(ast.Name(name), ast.Slice())], e.node))
            self.stores[name] = Val(ast.Name(name))
