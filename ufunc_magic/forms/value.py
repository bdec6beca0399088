"""What a translation to Python is made of: Python's own nodes with what is known of them, and the forms themselves."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..ir import CType

#: A counter moves by small literal steps: it would take 2**30 of them to leave this range.
COUNTER = 1 << 30


@dataclass(frozen=True)
class PythonForm:
    """A function in Python's words.

    Attributes
    ----------
    source : str
        Module text: the imports, helpers, constants and other functions it needs, then ``def name(...)``.  It
        runs in ``namespace("timing")``.  A ufunc's function takes scalars as Python numbers and cores as nested
        lists and gives back its output or a tuple of outputs; one that stays Python's takes what it takes in
        the cell.
    checked : str
        For ``namespace("verify")``: never raises where C returns a number.
    vector : str
        The function over arrays, for ``namespace("vector")``; ``""`` where there is none.
    name : str
        The function's name in all three texts.
    pure : bool
        It does nothing but calculate.  It may write into its arguments and into variables of its module.
    loops : bool
        It holds a loop or a recursion, itself or in what it calls.
    marks : str
        ``source`` with a mark wherever C's integers may have other values than Python's, for `Watched`; ``""`` where
        there is none.
    note : str
        What went wrong with one of the texts, by a mistake of this package.
    """

    source: str
    checked: str
    vector: str
    name: str
    pure: bool = False
    loops: bool = False
    marks: str = ""
    note: str = ""


@dataclass(frozen=True)
class NotPython:
    """Why a function has no Python form: ``reason`` completes "The function ..."; ``line`` is the cell's.

    ``note`` says more, where it is a mistake of this package.
    """

    reason: str
    line: int
    note: str = ""


class Stop(Exception):
    """Internal: this cannot be said in Python; becomes a ``NotPython``.  ``row`` is where, in the reader's count."""

    def __init__(self, reason: str, row: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.row = row


@dataclass(frozen=True)
class Expr:
    """A Python expression that stands for a C one.

    ``low``/``high`` bound an integer's value, None where only its type does.  ``loose``: correct only
    modulo 2**bits, must be settled before anything but ``+ - * & | ^ ~`` sees it.  ``truth``: a Python
    bool; ``logical``: right as a condition only (``a and b``).  ``whole``: a Python int for a C double.
    ``value``: the value of a constant.
    """

    node: ast.expr
    type: CType
    low: int | None = None
    high: int | None = None
    loose: bool = False
    truth: bool = False
    logical: bool = False
    whole: bool = False
    value: int | float | None = None

    @property
    def text(self) -> str:
        return ast.unparse(self.node)

    @property
    def name(self) -> str:
        """The identifier that the expression is, or ``""``."""
        return self.node.id if isinstance(self.node, ast.Name) else ""

    @property
    def range(self) -> tuple[int, int]:
        low = self.type.low if self.low is None else self.low
        return low, self.type.high if self.high is None else self.high


@dataclass(frozen=True)
class Variable:
    """A local name: ``cell`` marks a pointer to one value, which Python holds as that value itself."""

    name: str
    type: CType
    low: int | None = None
    high: int | None = None
    cell: bool = False

    @property
    def expression(self) -> Expr:
        return Expr(ast.Name(self.name), self.type, low=self.low, high=self.high, truth=self.type.kind == "b")


Lines = list[ast.stmt]

# -- nodes --------------------------------------------------------------------------------------

Part = Expr | ast.expr | str | int | float | complex


class Spelled(int):
    """An integer that is written as it was spelled, ``0xFF``."""

    text: str

    def __new__(cls, value: int, text: str = "") -> Spelled:
        spelled = super().__new__(cls, value)
        spelled.text = text
        return spelled

    def __repr__(self) -> str:
        return self.text or super().__repr__()


def number(value: complex) -> ast.expr:
    """A number; below zero it is an operation, which binds as one."""
    if isinstance(value, int | float) and math.copysign(1.0, value) < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def _make_node(part: Part) -> ast.expr:
    match part:
        case Expr():
            return part.node
        case ast.expr():
            return part
        case str():
            return ast.Name(part) if part.isidentifier() else parse_template(part)
    return number(part)


def write_operation(op: str, left: Part, right: Part) -> ast.expr:
    """``left op right``."""
    kind, operands = _find_operator(op), [_make_node(left), _make_node(right)]
    if isinstance(kind, ast.boolop):
        first = operands[0]  # `a and b and c` is one node
        same = isinstance(first, ast.BoolOp) and first.op is kind
        return ast.BoolOp(kind, [*(first.values if same else [first]), operands[1]])  # type: ignore[attr-defined]
    if isinstance(kind, ast.cmpop):
        return ast.Compare(operands[0], [kind], operands[1:])
    return ast.BinOp(operands[0], kind, operands[1])


@functools.cache
def _find_operator(op: str) -> Any:
    node: Any = ast.parse(f"a {op} b", mode="eval").body
    return node.ops[0] if isinstance(node, ast.Compare) else node.op


def write_negation(part: Part) -> ast.expr:
    return ast.UnaryOp(ast.Not(), _make_node(part))


def write_branches(cases: Sequence[tuple[ast.expr, Lines]], otherwise: Lines) -> Lines:
    """``if``, ``elif`` and ``else``."""
    for test, body in reversed(cases):
        otherwise = [ast.If(test, body, otherwise)]
    return otherwise


def call(function: Part, *arguments: Part, **keywords: Part) -> ast.expr:
    named = [ast.keyword(name, _make_node(value)) for name, value in keywords.items()]
    return ast.Call(_make_node(function), [_make_node(a) for a in arguments], named)


def write_tuple(parts: Iterable[Part]) -> ast.expr:
    """The parts as a tuple; one alone as itself."""
    nodes = [_make_node(p) for p in parts]
    return nodes[0] if len(nodes) == 1 else ast.Tuple(nodes)


def parse_template(template: str, *parts: Part) -> ast.expr:
    """The expression that ``template`` spells, its ``{0}``, ``{1}`` (or ``{}``) replaced by ``parts``."""
    return _fill_template(_parse_template(template, len(parts)), [_make_node(p) for p in parts])  # type: ignore[no-any-return]


def assign(target: Part, value: Part) -> ast.stmt:
    return ast.Assign([_make_node(target)], _make_node(value))


def write_return(parts: Sequence[Part]) -> ast.stmt:
    """The ``return`` of these values."""
    return ast.Return(write_tuple(parts)) if parts else ast.Return()


def define(name: str, parameters: Sequence[str], body: Sequence[ast.stmt]) -> ast.FunctionDef:
    """``def name(parameters)``; a parameter may have a default (``x=1``)."""
    lines = list(body) or [ast.Pass()]
    if all(p.isascii() and p.isidentifier() for p in parameters):
        arguments = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
        return ast.FunctionDef(name, arguments, lines, [], None)
    function: ast.FunctionDef = ast.parse(f"def {name}({', '.join(parameters)}): pass").body[0]  # type: ignore[assignment]
    function.body = lines
    return function


def zero(t: CType) -> ast.expr:
    """A variable of type ``t``, zeroed."""
    match t.kind:
        case "V":
            return ast.List([])
        case "a" if t.of is not None and t.length is not None:
            return write_array(zero(t.of), [number(t.length)], copied=t.of.kind == "a")
    return number({"f": 0.0, "c": 0j, "b": False}.get(t.kind, 0))


def write_array(element: ast.expr, sizes: Sequence[ast.expr], *, copied: bool = False) -> ast.expr:
    """Nested lists of ``element``, of the given lengths; ``copied``: each element a new one."""
    for size in reversed(sizes):
        element = parse_template("[{} for _ in range({})]" if copied else "[{}] * {}", element, size)
        copied = True
    return element


def write_length(name: str, depth: int) -> ast.expr:
    """``len(name[0]...)`` of nested lists."""
    return parse_template(f"len({name}{'[0]' * depth})")


@functools.lru_cache(maxsize=512)
def _parse_template(text: str, count: int) -> ast.expr:
    return ast.parse(text.format(*(f"__{position}" for position in range(count))) if count else text, mode="eval").body


def _fill_template(node: Any, parts: Sequence[ast.expr]) -> Any:
    match node:
        case ast.Name(id=name) if name.startswith("__") and name[2:].isdigit():
            return parts[int(name[2:])]
        case ast.AST():
            return type(node)(**{name: _fill_template(value, parts) for name, value in ast.iter_fields(node)})
        case list():
            return [_fill_template(item, parts) for item in node]
    return node


def walk(tree: ast.AST) -> Iterator[ast.AST]:
    """`ast.walk` in the same order and less time.

    By fields, not by ``vars``: ``ast.parse`` shares one ``Load`` among all trees of a process, and IPython's tracebacks
    hang a ``parent`` on it.
    """
    nodes = [tree]
    for node in nodes:
        yield node
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                nodes.append(value)
            elif isinstance(value, list):
                nodes += [item for item in value if isinstance(item, ast.AST)]


def spell_expression(node: ast.expr) -> str:
    """The text of an expression that mostly is a name, or a module's name."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return f"{owner}.{name}"
    return ast.unparse(node)


# -- text ---------------------------------------------------------------------------------------


class _Readable(ast.NodeTransformer):
    """Parentheses as a person sets them, where `ast.unparse` has others.  A name is written as it is."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp:
        """Nobody remembers how ``& ^ |`` bind: parentheses around all but the same operator."""
        self.generic_visit(node)
        if isinstance(node.op, ast.BitAnd | ast.BitXor | ast.BitOr):
            sides = (
                ast.Name(f"({ast.unparse(side)})")
                if isinstance(side, ast.BinOp) and (right or not isinstance(side.op, type(node.op)))
                else side
                for right, side in enumerate((node.left, node.right))
            )
            return ast.BinOp(next(sides), node.op, next(sides))
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        self.generic_visit(node)
        match node.value:
            case ast.Tuple(elts=[_, _, *_] as parts):
                return ast.Return(ast.Name(", ".join(map(ast.unparse, parts))))
        return node


def write_module(blocks: Iterable[str | Sequence[ast.stmt]]) -> str:
    """The text of blocks of statements, or of text, with two blank lines between them."""
    return (
        "\n\n\n".join(block.rstrip("\n") if isinstance(block, str) else _write_text(block) for block in blocks if block)
        + "\n"
    )


def _write_text(block: Sequence[ast.stmt]) -> str:
    readable = _Readable()
    return "\n".join(unparse(readable.visit(node) if _has_marks(node) else node) for node in block).strip("\n")


def _has_marks(node: ast.stmt) -> bool:
    """Whether `_Readable` has anything to do."""
    return any(
        isinstance(n, ast.BitAnd | ast.BitXor | ast.BitOr)
        or (isinstance(n, ast.Return) and isinstance(n.value, ast.Tuple))
        for n in walk(node)
    )


def unparse(statement: ast.stmt) -> str:
    """`ast.unparse` for written nodes, which have no line numbers: it only asks statements for theirs."""
    statements: list[ast.AST] = [statement]
    for node in statements:
        node.lineno = 1  # type: ignore[attr-defined]
        for name in ("body", "orelse", "handlers", "finalbody", "cases"):
            statements += getattr(node, name, ())
    return ast.unparse(statement)
