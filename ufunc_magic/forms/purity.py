"""Whether Python functions do nothing but calculate, in the memory of their process."""

from __future__ import annotations

import ast

from .value import walk

_MODULES = frozenset(("math", "cmath", "numpy", "itertools", "functools", "operator", "cython"))
_BUILTINS = frozenset(
    "abs min max sum len range int float bool complex round pow divmod enumerate zip sorted reversed list tuple dict "
    "set frozenset any all map filter isinstance str repr ord chr slice iter next hash bytes "
    "_truncate _hypot3 _fdiv _cdiv _cpow _libm_cpow _cabs _fmin _fmax _fdim _float32 _floor _ceil _trunc _rint".split()
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
    return all(_is_harmless(node, known) for node in walk(tree))


def _is_harmless(node: ast.AST, known: dict[str, str]) -> bool:
    match node:
        case ast.With() | ast.Yield() | ast.YieldFrom() | ast.Await():
            return False
        case ast.Call(func=ast.Name(id=name)):
            return name in _BUILTINS or name in known or name.endswith(("Error", "Exception", "Iteration"))
        case ast.Call(func=ast.Attribute()):
            return True  # its attribute is looked at by itself
        case ast.Call():
            return False
        case ast.Attribute(attr=name):
            root = _find_root(node)
            if known.get(root):
                return not (known[root].startswith("numpy") and _NUMPY_IMPURE & {*ast.unparse(node).split(".")})
            return name in _ATTRIBUTES or name in _METHODS
    return True


def _find_root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
