"""The Python form of a function in the words of numexpr and of Cython.  Pure: text in, text out."""

from __future__ import annotations

import ast

__all__ = ["cython_text", "numexpr_text"]

#: NumPy's name -> numexpr's; https://numexpr.readthedocs.io/en/latest/user_guide.html#supported-functions
_NUMEXPR = {
    name: name
    for name in "where sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh log log10 log1p "
    "exp expm1 sqrt abs floor ceil".split()
}
_LONGEST = 4000

#: Python's ``math`` -> ``libc.math``.
_LIBC = {"gamma": "tgamma", "inf": "INFINITY", "nan": "NAN", "pi": "M_PI", "e": "M_E"}
_C_TYPES = {"d": "double", "f": "float", "g": "long double", "i": "int", "l": "long", "q": "long long", "?": "bint"}


class _Unsaid(ValueError):
    """It has no word for that."""


def numexpr_text(vector: str, *, name: str) -> tuple[str, tuple[str, ...]] | None:
    """The NumPy form as one expression with the order of its variables, or None.

    Parameters
    ----------
    vector : str
        A module of assignments and functions of straight lines.
    name : str
        The function.
    """
    tree = ast.parse(vector)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    values: dict[str, ast.expr] = {}
    try:
        for node in tree.body:
            if isinstance(node, ast.Assign):
                _assign(node, values, functions, {})
        main = functions[name]
        order = tuple(argument.arg for argument in main.args.args)
        text = ast.unparse(_inlined(main, [ast.Name(one) for one in order], values, functions))
    except (_Unsaid, KeyError, RecursionError):
        return None
    return (text, order) if len(text) <= _LONGEST else None


def _assign(
    node: ast.Assign,
    values: dict[str, ast.expr],
    functions: dict[str, ast.FunctionDef],
    outer: dict[str, ast.expr],
) -> None:
    (target,) = node.targets
    if not isinstance(target, ast.Name):
        raise _Unsaid(ast.unparse(node))
    values[target.id] = _Inline(values, functions, outer).visit(node.value)


def _inlined(
    function: ast.FunctionDef,
    arguments: list[ast.expr],
    outer: dict[str, ast.expr],
    functions: dict[str, ast.FunctionDef],
) -> ast.expr:
    """What a function returns, in terms of its arguments."""
    values = dict(outer)
    values |= {given.arg: value for given, value in zip(function.args.args, arguments, strict=True)}
    for node in function.body:
        match node:
            case ast.Assign():
                _assign(node, values, functions, outer)
            case ast.Return(value=ast.expr() as value):
                found: ast.expr = _Inline(values, functions, outer).visit(value)
                return found
            case _:
                raise _Unsaid(ast.unparse(node))
    raise _Unsaid(function.name)


class _Inline(ast.NodeTransformer):
    """Puts values in the place of names, and numexpr's words in the place of NumPy's."""

    def __init__(
        self, values: dict[str, ast.expr], functions: dict[str, ast.FunctionDef], outer: dict[str, ast.expr]
    ) -> None:
        self.values, self.functions, self.outer = values, functions, outer

    def visit(self, node: ast.AST) -> ast.expr:
        allowed = (
            ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Name, ast.Constant, ast.Attribute, ast.operator,
            ast.unaryop, ast.cmpop, ast.expr_context,
        )  # fmt: skip
        if not isinstance(node, allowed) or isinstance(node, ast.FloorDiv | ast.Mod | ast.Not):
            raise _Unsaid(type(node).__name__)
        found: ast.expr = super().visit(node)
        return found

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.values:
            raise _Unsaid(node.id)
        return self.values[node.id]

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) > 1:
            raise _Unsaid("a chain of comparisons")
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        constants = {"pi": 3.141592653589793, "e": 2.718281828459045}
        if ast.unparse(node.value) != "np" or node.attr not in constants:
            raise _Unsaid(ast.unparse(node))
        return ast.Constant(constants[node.attr])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if node.keywords:
            raise _Unsaid(ast.unparse(node))
        arguments = [self.visit(argument) for argument in node.args]
        if isinstance(node.func, ast.Name) and node.func.id in self.functions:
            return _inlined(self.functions[node.func.id], arguments, self.outer, self.functions)
        word = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if word not in _NUMEXPR:
            raise _Unsaid(ast.unparse(node.func))
        return ast.Call(ast.Name(_NUMEXPR[word]), arguments, [])


def cython_text(python: str, *, name: str, letters: str, nin: int) -> str | None:
    """The Python form as a ``@cython.ufunc`` with C's types, or None.

    Only functions of real floating-point numbers, and integers besides in the main function's parameters: what
    Python's integers do at 64 bits is not C's, and nobody would write that.

    Parameters
    ----------
    python : str
        A module of constants and functions.
    name : str
        The ufunc's function.
    letters : str
        Type letters of its inputs and of its one output.
    nin : int
    """
    tree = ast.parse(python)
    if len(letters) != nin + 1 or not set(letters) <= set(_C_TYPES) or letters[-1] not in "dfg":
        return None
    words = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _is_math(node)}
    others = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and not _is_math(node)]
    helpers = any(isinstance(node, ast.FunctionDef) and node.name.startswith("_") for node in tree.body)
    rounds = any(isinstance(node, ast.Name) and node.id in ("round", "cmath", "complex") for node in ast.walk(tree))
    if others or helpers or rounds:
        return None
    parts = []
    for node in _Libc().visit(tree).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                parts.append(f"cdef double {target} = {ast.unparse(value)}")
            case ast.FunctionDef():
                parts.append(_typed(node, letters if node.name == name else "", main=node.name == name))
            case _:
                return None
    cimports = ", ".join(sorted(_LIBC.get(word, word) for word in words))
    head = ["# cython: infer_types=True, cdivision=True", "cimport cython"]
    return "\n".join([*head, *([f"from libc.math cimport {cimports}"] if cimports else []), *parts, ""])


def _is_math(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "math"


class _Libc(ast.NodeTransformer):
    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return ast.Name(_LIBC.get(node.attr, node.attr)) if _is_math(node) else node


def _typed(node: ast.FunctionDef, letters: str, *, main: bool) -> str:
    names = [argument.arg for argument in node.args.args]
    kinds = [_C_TYPES[letter] for letter in letters] or ["double"] * (len(names) + 1)
    parameters = ", ".join(f"{kind} {name}" for kind, name in zip(kinds, names, strict=False))
    body = "\n".join(f"    {line}" for part in node.body for line in ast.unparse(part).split("\n"))
    head = f"cdef {kinds[-1]} {node.name}({parameters}){'' if main else ' noexcept'}:"
    return "\n".join([*(["@cython.ufunc"] if main else []), head, body])
