"""A function's Python text as one on whole arrays: branches as ``np.where``, loops as sums, products, extremes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .aliases import without_aliases
from .dataflow import alive, ends, gives_back, seen_dimensions
from .elements import ArrayValues
from .reductions import Reductions
from .whole_arrays import NoVector, Val

if TYPE_CHECKING:
    from .cython_form import Wanted

__all__ = ["vector_text"]

#: A longer text is no expression that anybody would write.
_LINES, _CHARACTERS = 30, 2000

#: Integers narrower than C's int, which C calculates in int and NumPy does not.
_NARROW = frozenset((0, 1, 2, 3, 4))


def vector_text(text: str, wanted: Wanted, *, dimensions: Sequence[int]) -> str:
    """The NumPy text of ``wanted.name``, or ``""``.

    Parameters
    ----------
    text : str
        Its Python text, with the functions it calls.
    wanted : Wanted
    dimensions : sequence of int
        Of each parameter of the cell's function: 0 a number, -1 not known.
    """
    tree = without_aliases(ast.parse(text))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if any(node.decorator_list for node in functions.values()) or _NARROW & {*wanted.inputs}:
        return ""
    try:
        done = _Written(tree, wanted, dimensions)
        made = done.module()
    except NoVector:
        return ""
    return made if len(made.splitlines()) <= _LINES and len(made) <= _CHARACTERS else ""


class _Written:
    """One text being written: constants, the functions that are called, the function itself."""

    def __init__(self, tree: ast.Module, wanted: Wanted, dimensions: Sequence[int]) -> None:
        self.wanted = wanted
        self.functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        self.constants = [node for node in tree.body if isinstance(node, ast.Assign)]
        self.imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        self.dimensions = dimensions

    def module(self) -> str:
        main = self.functions[self.wanted.name]
        order = self._order(main.name, ())
        known: set[str] = set()
        blocks = []
        for name in order:
            written = _Function(self.functions[name], self._dimensions(name), self._stacked(name), frozenset(known))
            written.constants({t.id for node in self.constants for t in node.targets if isinstance(t, ast.Name)})
            blocks.append(written.text())
            known.add(name)
        head = [self._constant(node) for node in self.constants if any(self._used(node, block) for block in blocks)]
        return "\n\n\n".join([*(["\n".join(head)] if head else []), *blocks]) + "\n"

    def _order(self, name: str, above: tuple[str, ...]) -> list[str]:
        """The functions that ``name`` calls, then itself."""
        if name in above:
            raise NoVector
        found: list[str] = []
        for node in ast.walk(self.functions[name]):
            if isinstance(node, ast.Name) and node.id in self.functions:
                found += [n for n in self._order(node.id, (*above, name)) if n not in found]
        return [*found, name]

    def _stacked(self, name: str) -> bool:
        return bool(self.wanted.core) and name == self.wanted.name

    def _dimensions(self, name: str) -> dict[str, int]:
        node = self.functions[name]
        names = [a.arg for a in node.args.args]
        if name != self.wanted.name:
            return dict.fromkeys(names, 0)
        given = [d for at, d in enumerate(self.dimensions) if at not in self.wanted.outs]
        if len(names) != len(given) or node.args.kwonlyargs:
            raise NoVector
        found = dict(zip(names, given, strict=True))
        return {n: seen_dimensions(node, n) if d == -1 else d for n, d in found.items()}

    def _constant(self, node: ast.Assign) -> str:
        e = ArrayValues({}, False, frozenset(), values=_names(self.constants))
        return ast.unparse(ast.fix_missing_locations(ast.Assign(node.targets, e.value(node.value).node)))

    def _used(self, node: ast.Assign, block: str) -> bool:
        names = {t.id for t in node.targets if isinstance(t, ast.Name)}
        return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(ast.parse(block)))


def _names(constants: Sequence[ast.Assign]) -> dict[str, Val]:
    names = [t.id for node in constants for t in node.targets if isinstance(t, ast.Name)]
    return {name: Val(ast.Name(name), constant=True) for name in names}


class _Function(Reductions):
    """Writes one function."""

    def __init__(self, node: ast.FunctionDef, dimensions: dict[str, int], stacked: bool, known: frozenset[str]) -> None:
        arrays = any(dimensions.values())
        super().__init__(dict(dimensions), stacked, known)
        self.function = node
        self.batch = stacked or not arrays
        for name, count in dimensions.items():
            if count == 0:
                self.values[name] = Val(ast.Name(name), batch=self.batch)

    def constants(self, names: set[str]) -> None:
        for name in names:
            self.values.setdefault(name, Val(ast.Name(name), constant=True))

    def text(self) -> str:
        results = self.returned(self.function.body, branch=False)
        if not results and not self.stores:
            raise NoVector
        last: list[ast.stmt] = []
        if results:
            nodes = [e.node for e in results]
            last = [ast.Return(nodes[0] if len(nodes) == 1 else ast.Tuple(nodes))]
        body = [*alive([*self.lines, *last])]
        names = [a.arg for a in self.function.args.args]
        args = ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, self.function.args.defaults)
        made = ast.FunctionDef(self.function.name, args, body, [], None)
        if hasattr(made, "type_params"):
            made.type_params = []
        return ast.unparse(ast.fix_missing_locations(made))

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
                case ast.If(body=[ast.Raise()], orelse=[]) | ast.Assert() | ast.Pass():
                    continue
                case ast.If() if gives_back(node):
                    return self._branches(node, rest, branch=branch)
                case ast.If():
                    self._assigned(node, branch=branch)
                case ast.For() if not branch:
                    self.loop(node)
                case ast.Assign(targets=[target], value=value):
                    self._assign(target, value, branch=branch)
                case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                    self._assign(target, ast.BinOp(ast.Name(name), op, value), branch=branch)
                case ast.Expr(value=ast.Constant()):
                    continue
                case _:
                    raise NoVector
        if branch:
            raise NoVector
        return []

    def _result(self, node: ast.expr) -> Val:
        match node:
            case ast.Call(func=ast.Attribute(attr="asarray" | "array"), args=[inner], keywords=[]):
                node = inner
        if isinstance(node, ast.Name) and node.id in self.stores:
            return self.stores[node.id]
        e = self.value(node)
        if e.axes or e.zeros:
            raise NoVector
        return e

    def _branches(self, node: ast.If, rest: Sequence[ast.stmt], *, branch: bool) -> list[Val]:
        """``if`` that gives a value back."""
        test = self.truth(node.test)
        if not ends(node.body):
            raise NoVector
        if test.size and not branch:  # about lengths, which are the same for all elements
            before, self.lines = self.lines, []
            early = self.returned(node.body, branch=True)
            self.lines = before
            if len(early) != 1 or self.stacked:
                raise NoVector
            self.lines.append(ast.If(test.node, [ast.Return(early[0].node)], []))
            return self.returned([*node.orelse, *rest], branch=False)
        hidden = dict(self.values)
        left = self.returned(node.body, branch=True)
        self.values = hidden
        right = self.returned([*node.orelse, *rest], branch=branch or bool(node.orelse))
        if len(left) != len(right):
            raise NoVector
        return [self.where(test, a, b) for a, b in zip(left, right, strict=True)]

    def _assigned(self, node: ast.If, *, branch: bool) -> None:
        """``if`` whose branches only assign: one ``np.where`` per variable."""
        test = self.truth(node.test)
        start = dict(self.values)
        found = []
        for body in (node.body, node.orelse):
            self.values = dict(start)
            for inner in body:
                self._inner(inner)
            found.append(self.values)
        self.values = dict(start)
        names = [n for n in dict.fromkeys([*found[0], *found[1]]) if any(b.get(n) is not start.get(n) for b in found)]
        if len(names) > 1 and not branch:
            self.lines.append(ast.Assign([ast.Name("mask")], test.node))
            test = replace(test, node=ast.Name("mask"))
        made = {}
        for name in names:
            yes, no = (b.get(name) for b in found)
            one = yes or no
            if one is None or one.zeros:
                raise NoVector
            made[name] = self.where(test, yes or one, no or one)
        read = {n.id for e in made.values() for n in ast.walk(e.node) if isinstance(n, ast.Name)}
        if len(names) > 1 and not branch and read & set(names):
            targets: list[ast.expr] = [ast.Name(n) for n in names]
            self.lines.append(ast.Assign([ast.Tuple(targets)], ast.Tuple([e.node for e in made.values()])))
            self.values |= {n: replace(e, node=ast.Name(n), factors=None) for n, e in made.items()}
            return
        for name, e in made.items():
            self._keep(name, e, branch=branch)

    def _inner(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value, branch=True)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                self._assign(target, ast.BinOp(ast.Name(name), op, value), branch=True)
            case ast.If() if not gives_back(node):
                self._assigned(node, branch=True)
            case ast.Pass():
                pass
            case _:
                raise NoVector

    def _assign(self, target: ast.expr, value: ast.expr, *, branch: bool) -> None:
        match target, value:
            case ast.Name(id=name), _:
                if not branch and self.made(name, value):
                    return
                self._keep(name, self.value(value), branch=branch)
            case ast.Tuple(elts=targets), ast.Attribute(value=ast.Name(id=array), attr="shape"):
                self._shape(targets, array)
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                names = [t.id for t in targets if isinstance(t, ast.Name)]
                found = [self.value(v) for v in values]
                if len(names) != len(targets):
                    raise NoVector
                if not branch:
                    nodes = [e.node for e in found]
                    self.lines.append(ast.Assign([ast.Tuple(list(targets))], ast.Tuple(nodes)))
                    found = [replace(e, node=ast.Name(n)) for n, e in zip(names, found, strict=True)]
                self.values |= dict(zip(names, found, strict=True))
            case _:
                raise NoVector

    def _shape(self, targets: Sequence[ast.expr], array: str) -> None:
        for axis, target in enumerate(targets):
            if not isinstance(target, ast.Name):
                raise NoVector
            self._keep(target.id, self._extent(array, axis), branch=False)

    def _keep(self, name: str, e: Val, *, branch: bool) -> None:
        """A variable's new value: by name, or in a branch in its own words."""
        if self.dimensions.get(name):
            raise NoVector
        if branch:
            self.values[name] = e
            return
        self.lines.append(ast.Assign([ast.Name(name)], e.node))
        start = e.node if e.constant and isinstance(e.node, ast.Constant) else None
        self.starts[name] = start
        self.values[name] = replace(e, node=ast.Name(name), factors=None, stored=None, depth=len(self.loops))
