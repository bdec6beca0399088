"""What statements of a Python text read, change and do: values that loops carry on, effects beside calculating."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from .value import walk


def gives_back(node: ast.stmt) -> bool:
    return any(isinstance(n, ast.Return) for n in walk(node))


def ends(body: Sequence[ast.stmt]) -> bool:
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return ends(last.body) and ends(last.orelse)
    return isinstance(last, ast.Return | ast.Raise)


def alive(lines: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The lines without assignments that nothing reads; ``s = v.sum()`` just before ``return s`` is one line."""
    read: set[str] = set()
    alive: list[ast.stmt] = []
    for node in reversed(lines):
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Tuple() as target], value=value):
                names = loaded(target)
                if not names & read:
                    continue
                read = (read - names) | loaded(value)
            case _:
                read |= loaded(node)
        alive.insert(0, node)
    match alive:
        case [*first, ast.Assign(targets=[ast.Name(id=name)], value=value), ast.Return(value=ast.Name(id=last))]:
            if name == last:
                return [*first, ast.Return(value)]
    return alive


def loaded(node: ast.AST) -> set[str]:
    return {n.id for n in walk(node) if isinstance(n, ast.Name)}


def names_assigned(node: ast.stmt) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    return set().union(*map(loaded, targets))


def changes(node: ast.stmt) -> Iterator[tuple[str, bool]]:
    """Names that a statement of a loop's body changes, and whether from what they were before it."""
    match node:
        case ast.AugAssign(target=ast.Name(id=name)):
            yield name, True
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, name in loaded(value)
        case ast.For(target=ast.Name(id=name), body=body):
            yield name, False
            for inner in body:
                yield from changes(inner)
        case ast.If(test=test, body=body, orelse=orelse):
            # `if e > m: m = e` keeps m from one turn to the next
            for inner in [*body, *orelse]:
                yield from ((name, before or name in loaded(test)) for name, before in changes(inner))


def index_count(function: ast.FunctionDef, name: str) -> int:
    """How many indices an array of unknown type is used with."""
    most = 0
    for node in walk(function):
        depth, base = 0, node
        while isinstance(base, ast.Subscript):
            depth += len(base.slice.elts) if isinstance(base.slice, ast.Tuple) else 1
            base = base.value
        if isinstance(base, ast.Name) and base.id == name:
            most = max(most, depth)
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Name) and node.iter.id == name:
            most = max(most, 1)
    return most


def replace_aliases(function: ast.FunctionDef) -> None:
    """Put a parameter in the place of each name that is bound to it once, at the top of the function."""
    parameters = {arg.arg for arg in function.args.args}
    stored = [n.id for n in walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    aliases: dict[str, str] = {}
    body: list[ast.stmt] = []
    for statement in function.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=of)) if (
                of in parameters and of not in stored and stored.count(name) == 1 and name not in parameters
            ):
                aliases[name] = of
            case _:
                body.append(statement)
    function.body = body or function.body
    for inner in walk(function):
        if isinstance(inner, ast.Name):
            inner.id = aliases.get(inner.id, inner.id)


# -- effects ------------------------------------------------------------------------------------

_MODULES = frozenset(("math", "cmath", "numpy", "itertools", "functools", "operator", "cython"))
_BUILTINS = frozenset(
    "abs min max sum len range int float bool complex round pow divmod enumerate zip sorted reversed list tuple dict "
    "set frozenset any all map filter isinstance str repr ord chr slice iter next hash bytes "
    "_truncate _fdiv _cdiv _cpow _libm_cpow _cabs _fmin _fmax _fdim _float32 _floor _ceil _trunc _rint".split()
)
#: Attributes that are looked at, and methods that calculate or change only what they are called on.
_ATTRIBUTES = frozenset("shape size ndim real imag T dtype nbytes itemsize flat".split())
_METHODS = frozenset(
    "sum mean min max std var prod copy dot astype conjugate conj ravel reshape flatten tolist item fill cumsum "
    "cumprod argmin argmax argsort sort clip round all any nonzero transpose squeeze take trace append pop extend "
    "insert remove index count clear keys values items get setdefault update add discard bit_length bit_count "
    "is_integer as_integer_ratio hex format join split strip startswith endswith upper lower replace find "
    "__index__ popleft appendleft union intersection difference".split()
)
#: Parts of NumPy that do more than calculate.
_NUMPY_IMPURE = frozenset(
    "random save savez savez_compressed savetxt load loadtxt genfromtxt fromfile memmap seterr seterrcall errstate "
    "set_printoptions printoptions ctypeslib f2py testing lib show_config setbufsize".split()
)


def is_pure(tree: ast.Module) -> bool:
    """Whether a module that holds one function, what it calls, and their constants does nothing but calculate."""
    known = {"math": "math", "cmath": "cmath"}
    for node in walk(tree):
        if isinstance(node, ast.Import):
            known |= {a.asname or a.name.partition(".")[0]: a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            known |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    if not all(name.partition(".")[0] in _MODULES for name in known.values()):
        return False
    known |= {node.name: "" for node in walk(tree) if isinstance(node, ast.FunctionDef)}
    return all(_harmless(node, known) for node in walk(tree))


def _harmless(node: ast.AST, known: dict[str, str]) -> bool:
    match node:
        case ast.Global() | ast.Nonlocal() | ast.With() | ast.Yield() | ast.YieldFrom() | ast.Await():
            return False
        case ast.Call(func=ast.Name(id=name)):
            return name in _BUILTINS or name in known or name.endswith(("Error", "Exception", "Iteration"))
        case ast.Call(func=ast.Attribute()):
            return True  # its attribute is looked at by itself
        case ast.Call():
            return False
        case ast.Attribute(attr=name):
            root = _root(node)
            if known.get(root):
                return not (known[root].startswith("numpy") and _NUMPY_IMPURE & {*ast.unparse(node).split(".")})
            return name in _ATTRIBUTES or name in _METHODS
    return True


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def has_loops(tree: ast.Module) -> bool:
    """Whether a loop, a comprehension or a recursion is in such a module."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if any(isinstance(node, _LOOPS) for function in functions.values() for node in walk(function)):
        return True
    calls = {name: loaded(function) & {*functions} for name, function in functions.items()}
    while free := [name for name, inner in calls.items() if not inner & calls.keys()]:
        calls = {name: inner for name, inner in calls.items() if name not in free}
    return bool(calls)
