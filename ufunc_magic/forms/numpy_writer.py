"""The one writer of NumPy: a function's Python form as a function of whole arrays.

Branches become ``np.where``, loops over core dimensions sums, products, extremes and element-wise results.  What
comes in is the ``ast`` of a module of plain Python, whether it was C, C++ or Cython; with C's types (the
checked form, which says where integers wrap and where division is C's) the text gives C's results.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..ir import DOUBLE, FLOAT, CType
from .dataflow import alive, ends, gives_back, index_count, loaded, names_assigned, replace_aliases
from .math_names import HELPERS
from .numpy_reductions import Reductions
from .numpy_values import ArrayValues, FunctionTypes, NoVector, Val
from .value import assign, define, python, result, spelled, unparse, walk

#: A longer text is no expression that anybody would write.
_LINES, _CHARACTERS = 40, 4000
#: Of a function with more it would be longer, and to find that out takes longer than to write the function.
_STATEMENTS = 200


def numpy_text(
    tree: ast.Module,
    name: str,
    *,
    dimensions: Sequence[int],
    stacked: bool = False,
    types: Mapping[str, FunctionTypes] | None = None,
    rounded: Sequence[CType] = (),
) -> str:
    """The NumPy text of a function, or ``""`` where there is none.

    Parameters
    ----------
    tree : ast.Module
        Its Python form with the constants and the functions it needs.  It is changed.
    name : str
    dimensions : sequence of int
        Of each of its parameters: 0 a number, -1 not known.
    stacked : bool
        It is a generalized ufunc, whose arrays have broadcast dimensions before the core ones.
    types : mapping
        C's types of all functions in ``tree``; without them its numbers are what the arrays are.
    rounded : sequence of CType
        Of the results, where C computes in double what comes as float, and rounds in the end.
    """
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    functions = {name: node for name, node in functions.items() if name not in HELPERS or name == "_round"}
    if name in functions and sum(isinstance(part, ast.stmt) for part in walk(functions[name])) > _STATEMENTS:
        return ""
    for node in functions.values():
        replace_aliases(node)
    if any(node.decorator_list for node in functions.values()):
        return ""
    types = {**types, "_round": FunctionTypes((DOUBLE,), DOUBLE)} if types else {}
    values, head = _constants(tree, types)
    blocks: list[ast.FunctionDef] = []
    try:
        for each in _order(name, functions, ()):
            node, main = functions[each], each == name
            parameters = [a.arg for a in node.args.args]
            counts = dimensions if main else [0] * len(parameters)
            if len(parameters) != len(counts) or node.args.kwonlyargs:
                raise NoVector
            known = {p: index_count(node, p) if d == -1 else d for p, d in zip(parameters, counts, strict=True)}
            above = frozenset(block.name for block in blocks)
            writer = _Function(known, stacked and main, above, types, {**values}, main=main, node=node)
            writer.rounded = rounded if main else ()
            blocks.append(writer.function())
    except (NoVector, RecursionError):
        return ""
    used = set().union(*map(loaded, blocks))
    lines: list[str] = []
    for constant in reversed(head):
        if names_assigned(constant) & used:
            used |= loaded(constant.value)
            lines.insert(0, unparse(constant))
    text = "\n\n\n".join([*(["\n".join(lines)] if lines else []), *map(unparse, blocks)]) + "\n"
    return text if len(text.splitlines()) <= _LINES and len(text) <= _CHARACTERS else ""


def _constants(tree: ast.Module, types: Mapping[str, FunctionTypes]) -> tuple[dict[str, Val], list[ast.Assign]]:
    """The module's numbers, and the lines that define them."""
    values: dict[str, Val] = {}
    lines: list[ast.Assign] = []
    for node in tree.body:
        if isinstance(node, ast.Assign):
            try:
                value = ArrayValues({}, False, frozenset(), types, values).value(node.value)
            except (NoVector, RecursionError):  # a table, or a call
                continue
            values |= {name: value.named(name) for name in names_assigned(node)}
            lines.append(ast.Assign(node.targets, value.node))
    return values, lines


def _order(name: str, functions: Mapping[str, ast.FunctionDef], above: tuple[str, ...]) -> list[str]:
    """The functions that ``name`` calls, then itself."""
    if name in above:  # np.where calculates both branches: a recursion would never end
        raise NoVector
    order: list[str] = []
    for node in walk(functions[name]):
        if isinstance(node, ast.Name) and node.id in functions:
            order += [n for n in _order(node.id, functions, (*above, name)) if n not in order]
    return [*order, name]


@dataclass
class _Function(Reductions):
    """Writes one function."""

    node: ast.FunctionDef = field(kw_only=True)
    rounded: Sequence[CType] = ()

    def function(self) -> ast.FunctionDef:
        batch = self.stacked or not any(self.dimensions.values())
        parameters = self.types[self.node.name].parameters if self.types else (None,) * len(self.dimensions)
        for (name, count), t in zip(self.dimensions.items(), parameters, strict=True):
            if count == 0:
                self.values[name] = Val(ast.Name(name), batch=batch).of_type(t)
                if t == FLOAT and self.rounded:
                    self.lines.append(assign(name, python("{}.astype(np.float64)", name)))
            elif t is not None:
                self.elements[name] = t
        results = self.returned(self.node.body, branch=False)
        if not results and not self.stores:
            raise NoVector
        narrow = (e.batch and t == FLOAT for e, t in zip(results, self.rounded, strict=False))
        results[: len(self.rounded)] = [self._cast(e, FLOAT) if n else e for e, n in zip(results, narrow, strict=False)]
        body = alive([*self.lines, *([result([e.node for e in results])] if results else [])])
        function = define(self.node.name, [a.arg for a in self.node.args.args], body)
        function.args.defaults = self.node.args.defaults
        return function

    def returned(self, body: Sequence[ast.stmt], *, branch: bool) -> list[Val]:
        """The results of these statements; in a ``branch`` nothing may be written before it."""
        for position, node in enumerate(body):
            rest = body[position + 1 :]
            match node:
                case ast.Return(value=None):
                    return []
                case ast.Return(value=ast.Tuple(elts=parts)):
                    return [self._result(part) for part in parts]
                case ast.Return(value=value) if value is not None:
                    return [self._result(value)]
                case ast.If() if gives_back(node):
                    return self._branches(node, rest, branch=branch)
            self._statement(node, branch=branch)
        if branch:
            raise NoVector
        return []

    def _result(self, node: ast.expr) -> Val:
        if isinstance(node, ast.Call) and spelled(node.func) in ("np.asarray", "np.array") and len(node.args) == 1:
            node = node.args[0]
        if isinstance(node, ast.Name) and node.id in self.stores:
            return self.stores[node.id]
        own = self.types.get(self.node.name)
        e = self.as_type(self.value(node), None if own is None or self.main else own.result)
        if e.axes:
            raise NoVector
        return e

    def _branches(self, node: ast.If, rest: Sequence[ast.stmt], *, branch: bool) -> list[Val]:
        """``if`` that gives a value back."""
        test = self.truth(node.test)
        if not ends(node.body):
            raise NoVector
        hidden = dict(self.values)
        left = self.returned(node.body, branch=True)
        self.values = hidden
        position = len(self.lines)
        right = self.returned([*node.orelse, *rest], branch=branch or bool(node.orelse))
        if len(left) != len(right):
            raise NoVector
        test, *left = self._before(position, (test, *left))
        return [self.where(test, a, b) for a, b in zip(left, right, strict=True)]

    def _before(self, position: int, values: Sequence[Val]) -> list[Val]:
        """The values, put aside there where the lines that follow assign what they read."""
        changed = set().union(*map(names_assigned, self.lines[position:]))
        safe = []
        for e in values:
            if loaded(e.node) & changed:
                name = self._fresh("mask" if e.boolean else "early")
                self.lines.insert(position, ast.Assign([ast.Name(name)], e.node))
                e = e.named(name)
            safe.append(e)
        return safe

    def _fresh(self, name: str) -> str:
        used = {n.id for n in walk(self.node) if isinstance(n, ast.Name)}.union(*map(loaded, self.lines))
        number = next(n for n in range(1, 1000) if (f"{name}{n}" if n > 1 else name) not in used)
        return f"{name}{number}" if number > 1 else name

    def _assigned(self, node: ast.If, *, branch: bool) -> None:
        """``if`` whose branches only assign: one ``np.where`` per variable."""
        test = self.truth(node.test)
        start = dict(self.values)
        branches = []
        for body in (node.body, node.orelse):
            self.values = dict(start)
            for inner in body:
                self._statement(inner, branch=True)
            branches.append(self.values)
        self.values = start
        yes, no = branches
        names = [n for n in {**yes, **no} if not yes.get(n) is no.get(n) is start.get(n)]
        if len(names) > 1 and not branch:
            mask = self._fresh("mask")
            self.lines.append(ast.Assign([ast.Name(mask)], test.node))
            test = test.named(mask)
        chosen = {n: self.where(test, yes.get(n) or no[n], no.get(n) or yes[n]) for n in names}
        if len(names) > 1 and not branch and any(loaded(e.node) & {*names} for e in chosen.values()):
            targets: list[ast.expr] = [ast.Name(n) for n in names]
            self.lines.append(ast.Assign([ast.Tuple(targets)], ast.Tuple([e.node for e in chosen.values()])))
            self.values |= {n: e.named(n) for n, e in chosen.items()}
            return
        for name, e in chosen.items():
            self._keep(name, e, branch=branch)

    def _statement(self, node: ast.stmt, *, branch: bool) -> None:
        match node:
            case ast.If(body=[ast.Raise()], orelse=[]) | ast.Assert() | ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.If() if not gives_back(node):
                self._assigned(node, branch=branch)
            case ast.For() if not branch:
                self.loop(node)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if branch or not self.makes_array(name, value):
                    self._keep(name, self.value(value), branch=branch)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                self._keep(name, self.value(ast.BinOp(ast.Name(name), op, value)), branch=branch)
            case _:
                raise NoVector

    def _keep(self, name: str, e: Val, *, branch: bool) -> None:
        """A variable's new value: by name, or in a branch in its own words."""
        if self.dimensions.get(name):
            raise NoVector
        if branch:
            self.values[name] = e
            return
        self.put(name, e, depth=0)
