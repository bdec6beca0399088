"""Loops over arrays as NumPy's reductions and element-wise results."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .dataflow import accumulated, assigned, is_name
from .numpy_values import ArrayValues, Loop, NoVector, Val, called, chained
from .value import spelled

_NEUTRAL = {ast.Add: 0, ast.Sub: 0, ast.Mult: 1}


@dataclass
class Reductions(ArrayValues):
    """Runs through loops once, with arrays in the place of elements.

    ``lines`` are the statements written so far, ``stores`` the arrays that were filled, ``starts`` the constants
    that variables began with, ``blank`` new arrays that wait to be filled,
    ``cleared`` those that the loop has set to zero.
    """

    lines: list[ast.stmt] = field(default_factory=list)
    stores: dict[str, Val] = field(default_factory=dict)
    starts: dict[str, ast.expr | None] = field(default_factory=dict)
    blank: set[str] = field(default_factory=set)
    cleared: set[str] = field(default_factory=set)

    def makes_array(self, name: str, value: ast.expr) -> bool:
        """Whether ``name = value`` makes an array to be filled: ``[0.0]*n``, ``np.zeros(n)``."""
        text = ast.unparse(value)
        lists = text.startswith(("[0.0]", "[0]", "[0j]", "[[0.0]", "[[0]", "[[0j]", "[False]"))
        arrays = text.startswith(("np.zeros", "np.empty"))
        if not (lists or arrays):
            return False
        if lists and isinstance(value, ast.List):
            raise NoVector
        self.blank.add(name)
        self.dimensions[name] = (text.count("[0") and (2 if text.startswith("[[") else 1)) or -1
        return True

    # -- loops ------------------------------------------------------------------------------------

    def loop(self, node: ast.For) -> None:
        if node.orelse or not isinstance(node.target, ast.Name):
            raise NoVector
        variable = node.target.id
        loop, item = self._bounds(node.iter, variable)
        if any(one.variable == variable for one in self.loops):
            raise NoVector
        carried = {n for inner in node.body for n in assigned(inner)}
        summed = {n for inner in node.body for n in accumulated(inner)} - carried
        for name in carried:
            self.values.pop(name, None)
        if item is not None:
            self.values[variable] = item
        self.loops.append(loop)
        self.hidden |= summed
        for inner in node.body:
            self._inside(inner, None)
        self.loops.pop()
        self.hidden -= summed
        for name in {*carried, variable}:
            self.values.pop(name, None)

    def _bounds(self, node: ast.expr, variable: str) -> tuple[Loop, Val | None]:
        if isinstance(node, ast.Name) and self.dimensions.get(node.id) == 1 and node.id not in self.blank:
            length = self.extent(node.id, 0).node
            return Loop(variable, length=length), Val(node, axes=(variable,), batch=True, stored=((variable,), node))
        if not (isinstance(node, ast.Call) and spelled(node.func) == "range") or len(node.args) > 2:
            raise NoVector
        start, stop = 0, node.args[-1]
        if len(node.args) == 2:
            if not (isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, int)):
                raise NoVector
            start = node.args[0].value
        end = 0
        match stop:
            case ast.BinOp(left=inner, op=ast.Sub(), right=ast.Constant(value=int(by))) if by > 0:
                stop, end = inner, -by
        bound = self.value(stop)
        if bound.size:
            return Loop(variable, start, end, length=bound.node), None
        if self.stacked or bound.axes or bound.batch or end:
            raise NoVector
        return Loop(variable, start, stop=bound.node), None

    def _inside(self, node: ast.stmt, guard: Val | None) -> None:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.For() if guard is None:
                self.loop(node)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                self._accumulate(name, op, value, guard)
            case ast.AugAssign(target=ast.Subscript() as target, op=ast.Add() as op, value=value):
                self._store(target, value, guard, op)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                self._store(target, value, guard, None)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._plain(name, value, guard)
            case ast.If(test=test, body=[ast.Assign(targets=[ast.Name(id=name)], value=value)], orelse=[]) if (
                guard is None and name in self.hidden and self._extreme(name, test, value)
            ):
                pass
            case ast.If(test=test, body=body, orelse=orelse):
                self._guarded(test, body, orelse, guard)
            case _:
                raise NoVector

    def _guarded(self, test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt], guard: Val | None) -> None:
        yes = self.truth(test)
        no = replace(yes, node=ast.UnaryOp(ast.Invert(), yes.node))
        for e, statements in ((yes, body), (no, orelse)):
            both = e if guard is None else self._folded(ast.BitAnd(), [guard, e])
            for inner in statements:
                self._inside(inner, both)

    def _plain(self, name: str, value: ast.expr, guard: Val | None) -> None:
        match value:
            case ast.BinOp(left=ast.Name(id=left), op=ast.Add() | ast.Sub() | ast.Mult() as op, right=right) if (
                left == name and name in self.hidden
            ):
                self._accumulate(name, op, right, guard)
                return
            case ast.Call(func=ast.Name(id="min" | "max" as word), args=[first, second]) if name in self.hidden:
                names = [spelled(first), spelled(second)]
                if guard is not None or name not in names:
                    raise NoVector
                self._reduced_extreme(name, word, second if names[0] == name else first)
                return
        if guard is not None or name in self.hidden:
            raise NoVector
        e = self.value(value)
        self.starts[name] = e.node if e.constant and isinstance(e.node, ast.Constant) else None
        if isinstance(e.node, ast.Name | ast.Constant):
            self.values[name] = replace(e, depth=len(self.loops))
            return
        self.lines.append(ast.Assign([ast.Name(name)], e.node))
        self.values[name] = e.named(name, depth=len(self.loops))

    # -- reductions -------------------------------------------------------------------------------

    def _accumulate(self, name: str, op: ast.operator, value: ast.expr, guard: Val | None) -> None:
        """``s += e``, summed over the loops that are inside of where ``s`` began."""
        neutral = _NEUTRAL.get(type(op))
        start = self.values.get(name)
        if neutral is None or start is None or name not in self.hidden:
            raise NoVector
        e = self.number(self.value(value))
        if guard is not None:
            e = self.where(guard, e, Val(ast.Constant(neutral), constant=True))
        word = "prod" if isinstance(op, ast.Mult) else "sum"
        total = self._reduced(word, e, [one.variable for one in self.loops[start.depth :]])
        first = self.starts.get(name)
        if isinstance(first, ast.Constant) and first.value == neutral and not isinstance(op, ast.Sub):
            result = total
        else:
            hidden = set(self.hidden)
            self.hidden.discard(name)
            result = self._operation(op, start, total)
            self.hidden = hidden
        self.starts[name] = None
        self.lines.append(ast.Assign([ast.Name(name)], result.node))
        self.values[name] = result.named(name, depth=start.depth)

    def _reduced(self, word: str, e: Val, over: Sequence[str]) -> Val:
        if not over or not set(over) <= set(e.axes):
            raise NoVector
        if word == "sum" and e.factors is not None and len(over) == 1:
            product = self._contracted(e.factors, over[0])
            if product is not None:
                return product
        if len(e.axes) > 2:
            raise NoVector
        left = tuple(axis for axis in e.axes if axis not in over)
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

    def _contracted(self, factors: tuple[Val, Val], over: str) -> Val | None:
        """A sum of products of elements as ``@``, ``np.vecdot``, ``np.matvec``."""
        left, right = factors
        if left.stored is None or right.stored is None:
            return None
        (a, first), (b, second) = left.stored, right.stored
        rest = tuple(axis for axis in (*a, *b) if axis != over)
        order = tuple(one.variable for one in self.loops if one.variable in rest)
        if over not in a or over not in b or len(set(rest)) != len(rest):
            return None
        if rest != order:
            (a, first), (b, second) = (b, second), (a, first)
            if tuple(axis for axis in (*a, *b) if axis != over) != order:
                return None
        if len(a) == 2 and a[0] == over:
            first, a = called("np.swapaxes", first, ast.Constant(-1), ast.Constant(-2)), (a[1], a[0])
        if len(b) == 2 and b[1] == over:
            second, b = called("np.swapaxes", second, ast.Constant(-1), ast.Constant(-2)), (b[1], b[0])
        words = {(1, 1): "np.vecdot", (2, 1): "np.matvec", (1, 2): "np.vecmat", (2, 2): ""}
        word = words.get((len(a), len(b)))
        if word is None:
            return None
        plain = not self.stacked or not word
        node = ast.BinOp(first, ast.MatMult(), second) if plain else called(word, first, second)
        return Val(node, axes=order, batch=True)

    def _extreme(self, name: str, test: ast.expr, value: ast.expr) -> bool:
        """``if v[i] > m: m = v[i]``."""
        if not (isinstance(test, ast.Compare) and len(test.ops) == 1):
            return False
        left, right = ast.unparse(test.left), ast.unparse(test.comparators[0])
        op, new = type(test.ops[0]), ast.unparse(value)
        if {left, right} != {name, new}:
            return False
        greater = op in (ast.Gt, ast.GtE) if left == new else op in (ast.Lt, ast.LtE)
        if op not in (ast.Gt, ast.GtE, ast.Lt, ast.LtE):
            return False
        self._reduced_extreme(name, "max" if greater else "min", value)
        return True

    def _reduced_extreme(self, name: str, word: str, value: ast.expr) -> None:
        start = self.values.get(name)
        if start is None:
            raise NoVector
        over = [one.variable for one in self.loops[start.depth :]]
        begun = self._first_of(name, value)
        if begun:  # m = v[0] and from 1 on: all of v
            self.loops[-1] = replace(self.loops[-1], start=0)
        result = self._reduced(word, self.value(value), over)
        if not begun:
            pair = called(f"np.{word}imum", start.node, self.widened(result, start.axes))
            result = replace(result, node=pair)
        self.lines.append(ast.Assign([ast.Name(name)], result.node))
        self.starts[name] = None
        self.values[name] = result.named(name, depth=start.depth)

    def _first_of(self, name: str, value: ast.expr) -> bool:
        """Whether ``name`` began with the element before those of the loop."""
        if len(self.loops) != 1 or self.loops[0].start > 1:
            return False
        array, indices = chained(value) if isinstance(value, ast.Subscript) else ("", [])
        last = next(
            (n for n in reversed(self.lines) if isinstance(n, ast.Assign) and is_name(n.targets[0], name)), None
        )
        if last is None or len(indices) != 1 or spelled(indices[0]) != self.loops[0].variable:
            return False
        return ast.unparse(last.value) in (f"{array}[0]", f"{array}[..., 0]")

    # -- results element by element ---------------------------------------------------------------

    def _store(self, target: ast.Subscript, value: ast.expr, guard: Val | None, op: ast.operator | None) -> None:
        """``out[i] = e``."""
        name, indices = chained(target)
        axes = tuple(spelled(i) for i in indices)
        open_ = tuple(one.variable for one in self.loops)
        if axes != open_[: len(axes)] or not all(one.whole for one in self.loops[: len(axes)]):
            raise NoVector
        parameter = name in self.dimensions and name not in self.blank
        if guard is not None or (parameter and (self.stacked or name in self.stores)):
            raise NoVector
        e = self.number(self.value(value))
        if op is None and e.constant and ast.unparse(e.node) in ("0", "0.0") and name not in self.stores:
            self.cleared.add(name)
            return
        if len(axes) < len(open_):
            if op is None or name not in self.blank | self.cleared or name in self.stores:
                raise NoVector
            e = self._reduced("sum", e, open_[len(axes) :])
        elif op is not None:
            raise NoVector
        if e.axes != axes:
            raise NoVector
        if parameter:
            self.lines.append(ast.Assign([ast.Subscript(ast.Name(name), ast.Slice())], e.node))
            self.stores[name] = Val(ast.Name(name))
            return
        self.lines.append(ast.Assign([ast.Name(name)], e.node))
        self.stores[name] = Val(ast.Name(name), batch=True)
        self.values[name] = e.named(name)
