"""What a Python text does beside calculating, read from the text itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Effects", "effects"]

_MODULES = frozenset(("math", "cmath", "numpy", "itertools", "functools", "operator", "cython"))
_BUILTINS = frozenset(
    "abs min max sum len range int float bool complex round pow divmod enumerate zip sorted reversed list tuple dict "
    "set frozenset any all map filter isinstance str repr ord chr slice iter next hash bytes SimpleNamespace "
    "_truncate _fdiv _cdiv _cpow _cabs _fmin _fmax _fdim _float32 _floor _ceil _trunc _rint vars".split()
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


@dataclass(frozen=True)
class Effects:
    """``pure``: nothing but calculating; ``loops``: a loop, a comprehension or a recursion is in it."""

    pure: bool
    loops: bool


def effects(text: str) -> Effects:
    """Read a module text that holds one function, what it calls, and their constants."""
    tree = ast.parse(text)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    modules: dict[str, str] = {"math": "math", "cmath": "cmath"}
    pure = True
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {a.asname or a.name.partition(".")[0]: a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    pure = all(name.partition(".")[0] in _MODULES for name in modules.values())
    inner = {node.name: "" for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    known = {**modules, **inner}
    structures = "SimpleNamespace" in text
    pure = pure and all(_harmless(node, known, structures) for node in ast.walk(tree))
    return Effects(pure, _loops(functions))


def _harmless(node: ast.AST, known: dict[str, str], structures: bool) -> bool:
    match node:
        case ast.Global() | ast.Nonlocal() | ast.With() | ast.Yield() | ast.YieldFrom() | ast.Await():
            return False
        case ast.Call(func=ast.Name(id=name)):
            return name in _BUILTINS or name in known or name.endswith(("Error", "Exception", "Iteration"))
        case ast.Call(func=ast.Attribute()):
            return True  # its attribute is looked at by itself
        case ast.Call():
            return False
        case ast.Attribute(value=value, attr=name):
            root = _root(node)
            if known.get(root):
                return not (known[root].startswith("numpy") and any(p in _NUMPY_IMPURE for p in _path(node)))
            return name in _ATTRIBUTES or name in _METHODS or (structures and isinstance(value, ast.Name))
    return True


def _path(node: ast.expr) -> Iterator[str]:
    while isinstance(node, ast.Attribute):
        yield node.attr
        node = node.value


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _loops(functions: dict[str, ast.FunctionDef]) -> bool:
    calls: dict[str, set[str]] = {}
    for name, function in functions.items():
        nodes = list(ast.walk(function))
        if any(isinstance(node, _LOOPS) for node in nodes):
            return True
        calls[name] = {node.id for node in nodes if isinstance(node, ast.Name) and node.id in functions}
    while free := [name for name, inner in calls.items() if not inner & calls.keys()]:
        calls = {name: inner for name, inner in calls.items() if name not in free}
    return bool(calls)
