"""The one writer of NumPy: a function's Python form as a function of whole arrays.

Branches become ``np.where``, loops over core dimensions sums, products, extremes and element-wise results.  What
comes in is the ``ast`` of a module of plain Python, whether it was C, C++, CUDA or Cython; with C's types (the
checked form, which says where integers wrap and where division is C's) the text gives C's results.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from .c_arithmetic import DOUBLE
from .dataflow import alive, ends, gives_back, index_count, loaded, names_assigned, without_aliases
from .math_names import HELPERS
from .numpy_reductions import Reductions
from .numpy_values import ArrayValues, FunctionTypes, NoVector, Val
from .value import define, unparse, walk

#: A longer text is no expression that anybody would write.
_LINES, _CHARACTERS = 40, 4000


def numpy_text(
    tree: ast.Module,
    name: str,
    *,
    dimensions: Sequence[int],
    stacked: bool = False,
    types: Mapping[str, FunctionTypes] | None = None,
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
    """
    without_aliases(tree)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    functions = {name: node for name, node in functions.items() if name not in HELPERS or name == "_round"}
    if types:
        types = {**types, "_round": FunctionTypes((DOUBLE,), DOUBLE)}
    if any(node.decorator_list for node in functions.values()):
        return ""
    constants = [node for node in tree.body if isinstance(node, ast.Assign)]
    try:
        text = _module(name, functions, constants, dimensions, stacked, types or {})
    except (NoVector, RecursionError):
        return ""
    return text if len(text.splitlines()) <= _LINES and len(text) <= _CHARACTERS else ""


def _module(
    main: str,
    functions: Mapping[str, ast.FunctionDef],
    constants: Sequence[ast.Assign],
    dimensions: Sequence[int],
    stacked: bool,
    types: Mapping[str, FunctionTypes],
) -> str:
    values: dict[str, Val] = {}
    head: list[ast.Assign] = []
    for constant in constants:
        try:
            value = ArrayValues({}, False, frozenset(), types, values=values).value(constant.value)
        except NoVector:  # a table, or a call
            continue
        values = values | {name: value.named(name) for name in names_assigned(constant)}
        head.append(ast.Assign(constant.targets, value.node))
    known: list[str] = []
    blocks: list[ast.stmt] = []
    for name in _order(main, functions, ()):
        node = functions[name]
        parameters = [a.arg for a in node.args.args]
        if name == main and (len(parameters) != len(dimensions) or node.args.kwonlyargs):
            raise NoVector
        counts = dimensions if name == main else [0] * len(parameters)
        known_counts = {p: index_count(node, p) if d == -1 else d for p, d in zip(parameters, counts, strict=True)}
        writer = _Function(node, known_counts, stacked and name == main, frozenset(known), types, main=name == main)
        writer.values = values | writer.values
        blocks.append(writer.function())
        known.append(name)
    used = set().union(*map(loaded, blocks))
    lines: list[str] = []
    for constant in reversed(head):
        if names_assigned(constant) & used:
            used |= loaded(constant.value)
            lines.insert(0, unparse(constant))
    return "\n\n\n".join([*(["\n".join(lines)] if lines else []), *map(unparse, blocks)]) + "\n"


def _order(name: str, functions: Mapping[str, ast.FunctionDef], above: tuple[str, ...]) -> list[str]:
    """The functions that ``name`` calls, then itself."""
    if name in above:  # np.where calculates both branches: a recursion would never end
        raise NoVector
    order: list[str] = []
    for node in walk(functions[name]):
        if isinstance(node, ast.Name) and node.id in functions:
            order += [n for n in _order(node.id, functions, (*above, name)) if n not in order]
    return [*order, name]


class _Function(Reductions):
    """Writes one function."""

    def __init__(
        self,
        node: ast.FunctionDef,
        dimensions: Mapping[str, int],
        stacked: bool,
        known: frozenset[str],
        types: Mapping[str, FunctionTypes],
        *,
        main: bool,
    ) -> None:
        super().__init__(dict(dimensions), stacked, known, types, main=main)
        self.node = node
        self.batch = stacked or not any(dimensions.values())
        parameters = types[node.name].parameters if types else (None,) * len(dimensions)
        for (name, count), t in zip(dimensions.items(), parameters, strict=True):
            if count == 0:
                self.values[name] = Val(ast.Name(name), batch=self.batch).of_type(t)
            elif t is not None:
                self.elements[name] = t

    def function(self) -> ast.FunctionDef:
        results = self.returned(self.node.body, branch=False)
        if not results and not self.stores:
            raise NoVector
        last: list[ast.stmt] = []
        if results:
            nodes = [e.node for e in results]
            last = [ast.Return(nodes[0] if len(nodes) == 1 else ast.Tuple(nodes))]
        body = [*alive([*self.lines, *last])]
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
        match node:
            case ast.Call(func=ast.Attribute(attr="asarray" | "array"), args=[inner], keywords=[]):
                node = inner
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
        position = len(self.lines)
        right = self.returned([*node.orelse, *rest], branch=branch or bool(node.orelse))
        if len(left) != len(right):
            raise NoVector
        test, *left = self._before(position, (test, *left))
        return [self.where(test, a, b) for a, b in zip(left, right, strict=True)]

    def _before(self, position: int, values: Sequence[Val]) -> list[Val]:
        """The values, put aside there where the lines that follow assign what they read."""
        changed = set().union(*map(names_assigned, self.lines[position:]))
        result = []
        for e in values:
            if loaded(e.node) & changed:
                name = self._fresh("mask" if e.boolean else "early")
                self.lines.insert(position, ast.Assign([ast.Name(name)], e.node))
                e = e.named(name)
            result.append(e)
        return result

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
        self.values = dict(start)
        names = [
            n
            for n in dict.fromkeys([*branches[0], *branches[1]])
            if any(b.get(n) is not start.get(n) for b in branches)
        ]
        if len(names) > 1 and not branch:
            mask = self._fresh("mask")
            self.lines.append(ast.Assign([ast.Name(mask)], test.node))
            test = test.named(mask)
        chosen = {}
        for name in names:
            yes, no = (b.get(name) for b in branches)
            one = yes or no
            if one is None:
                raise NoVector
            chosen[name] = self.where(test, yes or one, no or one)
        read = {n.id for e in chosen.values() for n in walk(e.node) if isinstance(n, ast.Name)}
        if len(names) > 1 and not branch and read & set(names):
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
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value, branch=branch)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                self._assign(target, ast.BinOp(ast.Name(name), op, value), branch=branch)
            case _:
                raise NoVector

    def _assign(self, target: ast.expr, value: ast.expr, *, branch: bool) -> None:
        match target, value:
            case ast.Name(id=name), _:
                if not branch and self.makes_array(name, value):
                    return
                self._keep(name, self.value(value), branch=branch)
            case ast.Tuple(elts=targets), ast.Attribute(value=ast.Name(id=array), attr="shape"):
                self._shape(targets, array)
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                names = [t.id for t in targets if isinstance(t, ast.Name)]
                results = [self.value(v) for v in values]
                if len(names) != len(targets):
                    raise NoVector
                if not branch:
                    nodes = [e.node for e in results]
                    self.lines.append(ast.Assign([ast.Tuple(list(targets))], ast.Tuple(nodes)))
                    results = [e.named(n) for n, e in zip(names, results, strict=True)]
                self.values |= dict(zip(names, results, strict=True))
            case _:
                raise NoVector

    def _shape(self, targets: Sequence[ast.expr], array: str) -> None:
        for axis, target in enumerate(targets):
            if not isinstance(target, ast.Name):
                raise NoVector
            self._keep(target.id, self.extent(array, axis), branch=False)

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
        self.values[name] = e.named(name, depth=len(self.loops))
