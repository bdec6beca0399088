"""The Python form of a function in the words of numexpr and of Cython."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence

#: What NumPy and numexpr call alike; https://numexpr.readthedocs.io/en/latest/user_guide.html#supported-functions
_NUMEXPR = frozenset(
    "where sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh log log10 log1p "
    "exp expm1 sqrt abs floor ceil".split()
)
_CONSTANTS = {"np.pi": 3.141592653589793, "np.e": 2.718281828459045}
_LONGEST = 4000

#: Python's ``math`` -> ``libc.math``.
_LIBC = {"gamma": "tgamma", "inf": "INFINITY", "nan": "NAN", "pi": "M_PI", "e": "M_E"}
_C_TYPES = {"d": "double", "f": "float", "g": "long double", "i": "int", "l": "long", "q": "long long", "?": "bint"}


class _Unsaid(ValueError):
    """It has no word for that."""


def write_numexpr(vector: ast.Module, *, name: str) -> tuple[str, tuple[str, ...]] | None:
    """The NumPy form as one expression with the order of its variables, or None.

    Parameters
    ----------
    vector : ast.Module
        Assignments and functions of straight lines.
    name : str
        The function.
    """
    functions = {node.name: node for node in vector.body if isinstance(node, ast.FunctionDef)}
    constants = [node for node in vector.body if isinstance(node, ast.Assign)]
    try:
        values: dict[str, ast.expr] = {}
        _assign(constants, values, functions)
        order = tuple(argument.arg for argument in functions[name].args.args)
        text = ast.unparse(_inline(functions[name], [ast.Name(one) for one in order], values, functions))
    except (_Unsaid, KeyError, RecursionError):
        return None
    return (text, order) if len(text) <= _LONGEST else None


def _assign(
    nodes: Sequence[ast.stmt], values: dict[str, ast.expr], functions: Mapping[str, ast.FunctionDef]
) -> ast.expr | None:
    """Follow the assignments, and give the value of the ``return`` that ends them.

    A function may be called twice, so what stands in it is copied.
    """
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values[name] = _Inline(values, functions).visit(copy.deepcopy(value))
            case ast.Return(value=ast.expr() as value):
                return _Inline(values, functions).visit(copy.deepcopy(value))
            case _:
                raise _Unsaid(ast.unparse(node))
    return None


def _inline(
    function: ast.FunctionDef,
    arguments: Sequence[ast.expr],
    outer: Mapping[str, ast.expr],
    functions: Mapping[str, ast.FunctionDef],
) -> ast.expr:
    """What a function returns, in terms of its arguments."""
    names = [argument.arg for argument in function.args.args]
    result = _assign(function.body, {**outer, **dict(zip(names, arguments, strict=True))}, functions)
    if result is None:
        raise _Unsaid(function.name)
    return result


class _Inline(ast.NodeTransformer):
    """Puts values in the place of names, and numexpr's words in the place of NumPy's."""

    def __init__(self, values: Mapping[str, ast.expr], functions: Mapping[str, ast.FunctionDef]) -> None:
        self.values, self.functions = values, functions

    def visit(self, node: ast.AST) -> ast.expr:
        match node:
            case ast.Name(id=name) if name in self.values:
                return self.values[name]
            case ast.Attribute() if ast.unparse(node) in _CONSTANTS:
                return ast.Constant(_CONSTANTS[ast.unparse(node)])
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in self.functions:
                return _inline(self.functions[name], [self.visit(arg) for arg in args], self.values, self.functions)
            case ast.Call(func=ast.Attribute(attr=word), args=args, keywords=[]) if word in _NUMEXPR:
                return ast.Call(ast.Name(word), [self.visit(arg) for arg in args], [])
            case ast.FloorDiv() | ast.Mod() | ast.Not():
                raise _Unsaid(type(node).__name__)
            case ast.Compare(ops=[_]) | ast.BinOp() | ast.UnaryOp() | ast.Constant():
                return self.generic_visit(node)  # type: ignore[return-value]
            case ast.operator() | ast.unaryop() | ast.cmpop() | ast.expr_context():
                return node  # type: ignore[return-value]
        raise _Unsaid(ast.unparse(node))


def write_cython(python: ast.Module, *, name: str, letters: str, nin: int) -> str | None:
    """The Python form as a ``@cython.ufunc`` with C's types, or None.

    Only functions of real floating-point numbers, and integers besides in the main function's parameters: what
    Python's integers do at 64 bits is not C's, and nobody would write that.

    Parameters
    ----------
    python : ast.Module
        Constants and functions.
    name : str
        The ufunc's function.
    letters : str
        Type letters of its inputs and of its one output.
    nin : int
    """
    if len(letters) != nin + 1 or not set(letters) <= set(_C_TYPES) or letters[-1] not in "dfg":
        return None
    libc = _Libc()
    tree = libc.visit(python)
    unsaid = {"round", "cmath", "complex"} & {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if unsaid or any(isinstance(node, ast.Attribute) for node in ast.walk(tree)):
        return None
    parts = ["# cython: infer_types=True, cdivision=True", "cimport cython"]
    if libc.names:
        parts.append(f"from libc.math cimport {', '.join(sorted(libc.names))}")
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                parts.append(f"cdef double {target} = {ast.unparse(value)}")
            case ast.FunctionDef() if not node.name.startswith("_"):
                parts.append(_name_type(node, letters if node.name == name else "", main=node.name == name))
            case _:
                return None
    return "\n".join([*parts, ""])


class _Libc(ast.NodeTransformer):
    """``math.exp`` as ``exp``; ``names`` are those it met."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not (isinstance(node.value, ast.Name) and node.value.id == "math"):
            return node
        self.names.add(_LIBC.get(node.attr, node.attr))
        return ast.Name(_LIBC.get(node.attr, node.attr))


def _name_type(node: ast.FunctionDef, letters: str, *, main: bool) -> str:
    names = [argument.arg for argument in node.args.args]
    kinds = [_C_TYPES[letter] for letter in letters] or ["double"] * (len(names) + 1)
    parameters = ", ".join(f"{kind} {name}" for kind, name in zip(kinds, names, strict=False))
    body = "\n".join(f"    {line}" for part in node.body for line in ast.unparse(part).split("\n"))
    head = f"cdef {kinds[-1]} {node.name}({parameters}){'' if main else ' noexcept'}:"
    return "\n".join([*(["@cython.ufunc"] if main else []), head, body])
