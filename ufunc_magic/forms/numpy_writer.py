"""A function of the IR as a function of whole arrays: the one writer of NumPy.

A value of C's type ``int`` is an array of ``int32``, so that NumPy's operations wrap and round as C's do, and a
conversion of the IR is an ``astype`` where NumPy does not convert by itself.  Branches become ``np.where``.

Inside ``for i ...: for j ...:`` an element ``a[i][j]`` is the array ``a`` with the axes (i, j), ``x[j]`` has the
axis j, and a number has none.  Operands of different axes are brought together by new axes of length one.  A loop
becomes a sum, a product, or an element-wise result.

Many functions have no such form: loops that look back, recursion, stores through the pointers of functions that they
call.
"""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import ir
from ..ir import (
    BOOL,
    DOUBLE,
    FLOAT,
    INDEX,
    INT,
    LONG,
    MATH_FUNCTIONS,
    OBJECT,
    CType,
    Symbol,
    evaluate,
    evaluate_integer,
)
from ..model import Signature
from .module_scope import choose_python_name
from .value import (
    assign,
    call,
    define,
    number,
    parse_template,
    spell_expression,
    unparse,
    walk,
    write_return,
    write_tuple,
)

#: Nobody would write a longer text, or an expression of more parts.
_LINES, _CHARACTERS, _PARTS = 40, 4000, 600
#: A function with more statements would be longer, and to find that out takes longer than to write the function.
_STATEMENTS = 200
#: Functions of Python's `math` -> their rows.
_PYTHON_NAMES = {row.python: row for row in MATH_FUNCTIONS.values() if row.python.startswith("math.")}
_NEUTRAL = {"+": 0, "-": 0, "*": 1}
#: A sum of products by the dimensions of the factors, where broadcast dimensions come before them.
_PRODUCTS = {(1, 1): "np.vecdot", (2, 1): "np.matvec", (1, 2): "np.vecmat"}
#: C's ``round``, which rounds halves away from 0.
_ROUND = """\
def _round(x):
    whole = np.trunc(x)
    return np.copysign(np.where(np.abs(x - whole) < 0.5, whole, np.abs(whole) + 1), x)"""

#: The length of an array along one dimension: a number, the name of a core dimension, or `_ANY`.
_Extent = int | str
#: In a function of Python's all arrays have the same length.
_ANY = "*"


class _NoVector(Exception):
    """Internal: this has no NumPy expression."""


def write_numpy(program: ir.Program, function: ir.FunctionIR, signature: Signature | None) -> str:
    """The NumPy text of a function, or ``""`` where there is none.

    Parameters
    ----------
    program : Program
        The cell.
    function : FunctionIR
    signature : Signature or None
        The ufunc's; None for a function that stays one of Python.
    """
    if sum(isinstance(node, ir.Statement) for node in ir.walk(function.body)) > _STATEMENTS:
        return ""
    module = _Module(program)
    try:
        module.add(function, signature)
    except (_NoVector, RecursionError):
        return ""
    blocks = ["\n".join(map(unparse, module.constants.values()))] if module.constants else []
    texts = [unparse(block) for block in module.functions.values() if block is not None]
    blocks += [_ROUND] if any("_round(" in text for text in texts) else []
    text = "\n\n\n".join([*blocks, *texts]) + "\n"
    return text if len(text.splitlines()) <= _LINES and len(text) <= _CHARACTERS else ""


@dataclass
class _Module:
    """The functions and constants of a text; a function that is being written is None."""

    program: ir.Program
    functions: dict[ir.FunctionIR, ast.FunctionDef | None] = field(default_factory=dict)
    constants: dict[Symbol, ast.stmt] = field(default_factory=dict)

    def add(self, function: ir.FunctionIR, signature: Signature | None, *, called: bool = False) -> str:
        """Write a function; its name."""
        name = choose_python_name(function.name)
        name += "_" * any(f is not None and f.name == name for f in self.functions.values())
        self.functions[function] = None
        definition = _Function(self, function, signature, called=called).write(name)
        del self.functions[function]  # it comes after the functions that it calls
        self.functions[function] = definition
        return name

    def call_function(self, node: ir.FunctionCall) -> tuple[str, ir.FunctionIR]:
        """The name of a function of the cell that is called, and the function."""
        function = self.program.functions[node.name][max(node.overload, 0)]
        known = self.functions.get(function)
        # np.where computes both branches: a recursion would never end.
        if (known is None and function in self.functions) or len(function.returns) != 1:
            raise _NoVector
        if len(function.parameters) != len(node.arguments):
            raise _NoVector
        return known.name if known is not None else self.add(function, None, called=True), function

    def find_outer_value(self, symbol: Symbol) -> _Value:
        """The value of a variable from outside of the functions, as a constant of the text."""
        initial = symbol.initial if symbol.const or not symbol.assigned else None
        values = [value for of, value in map(_split_assignment, self.program.statements) if of is symbol]
        if len(values) == 1:  # the module level of Cython
            bodies = (function.body for several in self.program.functions.values() for function in several)
            changes = (_split_assignment(node)[0] for body in bodies for node in ir.walk(body))
            initial = values[0] if symbol not in changes else None
        v = _Values(self).write_value(initial) if initial is not None else None
        if v is None or not v.plain:
            raise _NoVector
        name = choose_python_name(symbol.name)
        self.constants[symbol] = assign(name, v.node)
        return v.name_variable(name)


# -- values ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Value:
    """One value.

    Attributes
    ----------
    node : ast.expr
    type : CType
        C's; kind "o" where nothing is known.
    stored : CType, optional
        The type of the array's elements where it is another, of truth values mostly, or of integers that NumPy
        converts by itself.
    axes : tuple of Symbol
        The counters of the loops that it depends on, in the order of the array's dimensions.
    plain : bool
        A Python number: a constant or a length.
    extent : int or str, optional
        Of a plain number: the length that it is.
    depth : int
        The number of loops around its assignment.
    factors : (_Value, _Value), optional
        It is their product.
    parts : int
        The size of the expression.
    """

    node: ast.expr
    type: CType
    stored: CType | None = None
    axes: tuple[Symbol, ...] = ()
    plain: bool = False
    extent: _Extent | None = None
    depth: int = 0
    factors: tuple[_Value, _Value] | None = None
    parts: int = 1

    @property
    def dtype(self) -> CType:
        return self.stored or self.type

    @property
    def boolean(self) -> bool:
        return self.dtype.kind == "b"

    def name_variable(self, name: str, *, depth: int = 0) -> _Value:
        """The same as a variable."""
        return replace(self, node=ast.Name(name), factors=None, depth=depth, parts=1)


def _find_dtype(t: CType) -> np.dtype[Any]:
    """NumPy's type for a type of C's."""
    if not t.arithmetic or t.bits > 80:
        raise _NoVector
    if t.bits == 80:
        return np.dtype("G" if t.kind == "c" else "g")
    return np.dtype(f"{t.kind}{max(t.bits // 8, 1) * (2 if t.kind == 'c' else 1)}")


def _find_common_type(values: Sequence[_Value]) -> CType | None:
    """NumPy's type for an operation on these."""
    numbers = {"b": True, "f": 1.0, "c": 1j}
    known = [numbers.get(v.dtype.kind, 1) if v.plain else _find_dtype(v.dtype) for v in values]
    return ir.from_number(np.result_type(*known).num)


@dataclass
class _Values:
    """Writes the expressions of one function.

    Attributes
    ----------
    module : _Module
    arrays : dict
        Arrays -> the lengths of their dimensions.
    stacked : bool
        Core dimensions come after broadcast ones.
    methods : bool
        Its numbers are arrays, which have ``astype``; else they may be Python's.
    values : dict
        The variables.
    loops : dict
        The counters of the loops around -> how often they run.
    hidden : set
        Variables that the loops around sum up.
    stores : dict
        The arrays that were filled.
    current : list
        What a place holds that is being assigned to.
    """

    module: _Module
    stacked: bool = False
    methods: bool = False
    arrays: dict[Symbol, tuple[_Extent, ...]] = field(default_factory=dict)
    values: dict[Symbol, _Value] = field(default_factory=dict)
    loops: dict[Symbol, _Extent] = field(default_factory=dict)
    hidden: set[Symbol] = field(default_factory=set)
    stores: dict[Symbol, _Value] = field(default_factory=dict)
    current: list[_Value | None] = field(default_factory=list)

    def write_value(self, e: ir.Expression) -> _Value:
        e = _evaluate_static(e)
        match e:
            case ir.Constant():
                return self._write_constant(e)
            case ir.Name(symbol=symbol):
                return self._write_name(symbol)
            case ir.Current():
                if self.current[-1] is not None:
                    return self.current[-1]
            case ir.Convert():
                return self._convert(e)
            case ir.Unary():
                return self._write_unary(e)
            case ir.Binary():
                return self._write_binary(e)
            case ir.Logical(op=op, left=left, right=right):
                return self.fold("&" if op == "&&" else "|", self.write_truth(left), self.write_truth(right))
            case ir.Conditional(test=test, yes=yes, no=no):
                return self.write_where(self.write_truth(test), self.write_value(yes), self.write_value(no), e.type)
            case ir.Field(base=base, name="real" | "imag" as name):
                return self.apply(f"{{}}.{name}", [self.write_value(base)], e.type)
            case ir.Aggregate(items=(re, im)) if e.type.kind == "c":
                return self.apply(
                    "{} + 1j * {}", [self.settle(self.write_value(re)), self.settle(self.write_value(im))], e.type
                )
            case ir.FunctionCall():
                return self._write_call(e)
            case ir.Dynamic(operands=(ir.Name(symbol=module), *operands)):
                return self._call_module(e, module, operands)
            case ir.Length(base=base, axis=axis):
                array, indices = _split_indices(base)
                if array in self.arrays:
                    return self.write_extent(array, axis + len(indices))
            case ir.Element():
                return self._write_element(e)
        raise _NoVector

    # -- bringing values together -----------------------------------------------------------------

    def apply(self, text: str, values: Sequence[_Value], t: CType, stored: CType | None = None) -> _Value:
        """A template, or a function by its name, on values."""
        names = {axis for v in values for axis in v.axes}
        axes = tuple(counter for counter in self.loops if counter in names)
        parts = 1 + sum(v.parts for v in values)
        if len(axes) != len(names) or parts > _PARTS:
            raise _NoVector
        nodes = [self.widen(v, axes) for v in values]
        plain = "{" in text and all(v.plain for v in values)
        node = parse_template(text, *nodes) if "{" in text else call(text, *nodes)
        return _Value(node, t, stored, axes, plain, parts=parts)

    def widen(self, v: _Value, axes: Sequence[Symbol]) -> ast.expr:
        """The node of ``v`` with its axes in this order, and new ones of length one."""
        batch = self.stacked and not v.plain
        if tuple(axes) == v.axes or not (v.axes or batch):
            return v.node
        node = v.node
        if [axis for axis in axes if axis in v.axes] != [*v.axes]:
            if len(v.axes) != 2:
                raise _NoVector
            node = call("np.swapaxes", node, -1, -2)
        items: list[ast.expr] = [ast.Slice() if axis in v.axes else ast.Constant(None) for axis in axes]
        if len(items) == len(v.axes):
            return node
        return ast.Subscript(node, write_tuple([*([ast.Constant(...)] if batch else []), *items]))

    # -- types ------------------------------------------------------------------------------------

    def cast(self, v: _Value, t: CType) -> _Value:
        """``v`` with elements of this type."""
        name = f"np.{_find_dtype(t).name}"
        node = parse_template("{}.astype({})", v.node, name) if self.methods and not v.plain else call(name, v.node)
        return replace(v, node=node, type=t, stored=None, factors=None, plain=False)

    def settle(self, v: _Value) -> _Value:
        """``v`` with elements of C's type."""
        if not v.plain:
            return self.cast(v, v.type) if v.stored else v
        match v.dtype.kind, v.type.kind:
            case "b", "i" | "u" | "f":
                node = call("int", v.node)
            case "i" | "u", "f":
                constant = isinstance(v.node, ast.Constant)
                node = number(float(v.node.value)) if constant else call("float", v.node)  # type: ignore[attr-defined]
            case before, "c" if before != "c":
                node = parse_template("{} + 0j", v.node)
            case _:
                node = v.node
        return replace(v, node=node, stored=None)

    def make_alike(self, values: Sequence[_Value], t: CType) -> Sequence[_Value]:
        """Operands of an operation in ``t``, with casts where NumPy would do it in another type."""
        values = list(values)
        if "o" not in (t.kind, *(v.type.kind for v in values)) and not all(v.plain for v in values):
            for at, v in enumerate(values):
                if _find_common_type(values) == t:
                    break
                values[at] = self.settle(v)
        return values

    def write_truth(self, e: ir.Expression) -> _Value:
        return self.write_test(self.write_value(e))

    def write_test(self, v: _Value) -> _Value:
        """Whether a value is not 0."""
        return v if v.boolean else self.apply("{} != 0", [v], INT, BOOL)

    def convert(self, v: _Value, t: CType) -> _Value:
        """``v`` as C converts it to ``t``."""
        if "o" in (t.kind, v.type.kind) or t == v.type:
            return v
        if not (t.arithmetic and v.type.arithmetic):
            raise _NoVector
        if t.kind == "b":
            return replace(self.write_test(v), type=t, stored=None)
        if v.type.kind == "c" and t.kind != "c":
            return self.convert(self.apply("{}.real", [v], replace(v.type, kind="f")), t)
        if v.boolean or v.plain or (v.dtype.integral and t == DOUBLE):
            return replace(v, type=t, stored=v.dtype, factors=None)
        if t.kind == "c" and v.type.kind != "c":
            return self.apply("{} + 0j", [self.settle(v)], t)
        return self.cast(v, t)

    def _convert(self, e: ir.Convert) -> _Value:
        v = self.write_value(e.value)
        before = evaluate(e.value) if v.plain else None
        if before is None:
            return self.convert(v, e.type)
        after = evaluate(e)
        if after is None:
            raise _NoVector
        digits = v.node.value if isinstance(v.node, ast.Constant) else after
        if e.type.kind in "iuf" and after == after and not after == before == digits:
            return _write_literal(after, e.type)
        return self.convert(v, e.type)

    # -- constants and names ----------------------------------------------------------------------

    def _write_constant(self, e: ir.Constant) -> _Value:
        if not e.type.arithmetic and e.type.kind != "o":
            raise _NoVector
        if e.type.kind == "b" or e.spelling in ("true", "false"):
            return _Value(ast.Constant(bool(e.value)), BOOL, plain=True)
        v = _write_literal(e.value, e.type)
        if e.spelling in ir.CONSTANTS:
            return replace(v, node=parse_template(ir.CONSTANTS[e.spelling].replace("math.", "np.")))
        # The preprocessor leaves these digits of M_PI.
        return replace(v, node=parse_template("np.pi")) if e.spelling.startswith("3.14159265358979323846") else v

    def _write_name(self, symbol: Symbol) -> _Value:
        if symbol in self.hidden:
            raise _NoVector
        if symbol in self.stores:
            return self.stores[symbol]
        if symbol not in self.values:
            if symbol.storage in ("parameter", "local"):
                raise _NoVector
            self.values[symbol] = self.module.find_outer_value(symbol)
        return self.values[symbol]

    # -- operators --------------------------------------------------------------------------------

    def _write_unary(self, e: ir.Unary) -> _Value:
        if e.op == "!":
            v = self.write_truth(e.operand)
            return self.apply("not {}" if v.plain else "~{}", [v], e.type, BOOL)
        (v,) = self.make_alike([self.write_value(e.operand)], e.type)
        known = evaluate_integer(e) if v.plain and e.type.integral else None
        return self.apply(f"{e.op}{{}}", [v], e.type) if known is None else _write_literal(known, e.type)

    def _write_binary(self, e: ir.Binary) -> _Value:
        t, text = e.type, f"{{}} {e.op} {{}}"
        if e.compares:
            sides = _narrow_constant(e.left, e.right), _narrow_constant(e.right, e.left)
            return self.apply(text, [self.write_value(side) for side in sides], t, BOOL)
        left, right = values = [self.write_value(e.left), self.write_value(e.right)]
        if left.boolean and right.boolean and e.op in ("&", "|", "^"):
            return self.apply(text, values, t, BOOL)
        if left.plain and right.plain:
            if t.integral and (known := evaluate_integer(e)) is not None:
                return _write_literal(known, t)
            if e.op in ("/", "//", "%") and evaluate(e.right) == 0:
                raise _NoVector
        if e.op in ("<<", ">>"):
            return self._write_shift(e, left, right)
        if e.op != "/" or t != DOUBLE:
            values = [*self.make_alike(values, t)]
        v = self.apply(self._write_operator(e, plain=left.plain and right.plain), values, t)
        if v.plain and t.kind == "f" and e.op != "/" and left.dtype.integral and right.dtype.integral:
            return replace(v, stored=LONG)
        return replace(v, factors=(values[0], values[1])) if e.op == "*" else v

    def _write_operator(self, e: ir.Binary, *, plain: bool) -> str:
        """The template of an operation, not one of bits."""
        t, op = e.type, e.op
        if not t.arithmetic and t.kind != "o":
            raise _NoVector
        if t.integral and op in ("/", "//", "%"):
            if e.python or plain or t.kind == "u":
                return "{0} % {1}" if op == "%" else "{0} // {1}"
            return "np.fmod({0}, {1})" if op == "%" else "({0} - np.fmod({0}, {1})) // {1}"
        if t.kind == "f" and op == "%" and not e.python:
            return "np.fmod({}, {})"
        if t.integral and op == "**" and evaluate_integer(e.right) not in range(64):
            raise _NoVector
        return f"{{}} {op} {{}}"

    def _write_shift(self, e: ir.Binary, left: _Value, right: _Value) -> _Value:
        """A shift, whose count has a type of its own."""
        if right.plain and evaluate_integer(e.right) not in range(e.type.bits):
            raise _NoVector
        if not right.plain and (left.plain or right.dtype != left.dtype):
            left, right = self.cast(left, e.type) if left.plain else self.settle(left), self.cast(right, e.type)
        return self.apply(f"{{}} {e.op} {{}}", [self.settle(left), right], e.type)

    def fold(self, op: str, left: _Value, right: _Value) -> _Value:
        """Two truth values, joined by an operator of bits."""
        return self.apply(f"{{}} {op} {{}}", [left, right], INT, BOOL)

    def write_where(self, test: _Value, yes: _Value, no: _Value, t: CType) -> _Value:
        """``yes if test else no``."""
        if not (yes.boolean and no.boolean):
            yes, no = self.make_alike([yes, no], t)
        known = "o" not in (yes.type.kind, no.type.kind)
        stored = _find_common_type([yes, no]) if known else None
        return self.apply("np.where", [test, yes, no], t, stored if stored != t else None)

    # -- calls ------------------------------------------------------------------------------------

    def _write_call(self, e: ir.FunctionCall) -> _Value:
        if e.target == "cell":
            name, function = self.module.call_function(e)
            pairs = zip(e.arguments, function.parameters, strict=True)
            return self.apply(
                name, [self.write_exact(self.write_value(a), s.type) for a, s in pairs], function.returns[0]
            )
        short = e.name.removeprefix("__builtin_").removeprefix("std::")
        if short.startswith(("inf", "huge_val")) or short in ("nan", "nanf", "nanl"):
            return _Value(parse_template("np.nan" if short[0] == "n" else "np.inf"), e.type, plain=True)
        values = [self.write_value(a) for a in e.arguments]
        if short in ("min", "max", "clamp") and e.type.arithmetic:
            words = ["max", "min"] if short == "clamp" else [short] * (len(values) - 1)
            v = values[0]
            for word, other in zip(words, values[1:], strict=True):
                v = self._write_lesser(word, v, other, e.type)
            return v
        row, _ = ir.find_math_function(e.name) or (None, None)
        if row is None or len(values) != row.arguments:
            raise _NoVector
        operators = row.python[:1] == "{" and "(" not in row.python and " or " not in row.python
        text = row.python if operators and not row.numpy else row.numpy
        if not text:
            raise _NoVector
        plain = all(v.plain for v in values)
        values = [self.settle(v) for v in values] if plain else [*self.make_alike(values, e.arguments[0].type)]
        v = self.apply(text, values, e.type, BOOL if row.result == "bool" else None)
        return replace(v, plain=False)

    def write_exact(self, v: _Value, t: CType) -> _Value:
        """``v`` as a function takes it or gives it back: in just this type."""
        v = self.settle(v)
        return self.cast(v, t) if v.plain and t.kind in "iuf" and t != DOUBLE else v

    def _write_lesser(self, word: str, left: _Value, right: _Value, t: CType) -> _Value:
        """``min`` and ``max`` of C++ and of Python: a NaN on the left stays, one on the right does not."""
        left, right = self.make_alike([left, right], t)
        if left.plain or right.plain or t.integral:
            return self.apply(f"np.f{word}" if left.plain else f"np.{word}imum", [left, right], t)
        test = self.apply("{} < {}" if word == "min" else "{} > {}", [right, left], INT, BOOL)
        return self.write_where(test, right, left, t)

    def _call_module(self, e: ir.Dynamic, module: Symbol, operands: Sequence[ir.Expression]) -> _Value:
        """A function or a constant of the modules ``math`` and ``numpy``."""
        imported = self.module.program.imports.get(module.name, "").removeprefix("import ").partition(" as ")[0]
        name, _, arguments = e.template.removeprefix("{}.").partition("(")
        if imported not in ("math", "numpy"):
            raise _NoVector
        if not arguments and name in ("pi", "e", "inf", "nan"):
            return _Value(parse_template(f"np.{name}"), DOUBLE, plain=True)
        row = _PYTHON_NAMES.get(f"{imported}.{name}")
        function = getattr(np, name, None)
        known = row is not None or (isinstance(function, np.ufunc) and function.nin == len(operands))
        text = row.numpy if row is not None else f"np.{name}"
        if not text or not known or arguments != f"{', '.join(['{}'] * len(operands))})":
            raise _NoVector
        return self.apply(text, [self.settle(self.write_value(operand)) for operand in operands], e.type)

    # -- arrays -----------------------------------------------------------------------------------

    def name(self, symbol: Symbol) -> str:
        """The name of a variable in the text."""
        raise _NoVector

    def write_extent(self, symbol: Symbol, axis: int) -> _Value:
        """The length of an array along one dimension."""
        extents = self.arrays[symbol]
        if axis >= len(extents):
            raise _NoVector
        name, at = self.name(symbol), axis - len(extents) if self.stacked else axis
        node = parse_template("{}.shape[{}]", name, at) if self.stacked or axis else call("len", name)
        return _Value(node, INDEX, plain=True, extent=extents[axis])

    def _write_element(self, e: ir.Element) -> _Value:
        symbol, indices = _split_indices(e)
        if symbol is None or symbol in self.hidden or symbol in self.stores:
            raise _NoVector
        extents = self.arrays.get(symbol)
        if extents is None:  # a pointer to one number
            if [evaluate_integer(index) for index in indices] != [0]:
                raise _NoVector
            return self._write_name(symbol)
        if len(indices) == 1 and len(extents) == 2:
            indices = self._unflatten(indices[0], extents[1])
        if len(indices) != len(extents):
            raise _NoVector
        items = [
            self._write_index(index, extent, from_end=e.from_end)
            for index, extent in zip(indices, extents, strict=True)
        ]
        axes = tuple(axis for axis in items if isinstance(axis, Symbol))
        if len(set(axes)) != len(axes):
            raise _NoVector
        array: ast.expr = ast.Name(self.name(symbol))
        if len(axes) < len(items):
            nodes = [ast.Slice() if isinstance(item, Symbol) else item for item in items]
            array = ast.Subscript(array, write_tuple([*([ast.Constant(...)] if self.stacked else []), *nodes]))
        return _Value(array, e.type, axes=axes)

    def _write_index(self, index: ir.Expression, extent: _Extent, *, from_end: bool) -> Symbol | ast.expr:
        """The counter of the loop over a dimension, or the place that is taken."""
        index, known = _strip_conversions(index), evaluate_integer(index)
        if isinstance(index, ir.Name) and self.loops.get(index.symbol) == extent:
            return index.symbol
        if known is None or (known < 0 and not from_end):
            raise _NoVector
        return number(known)

    def _unflatten(self, index: ir.Expression, columns: _Extent) -> list[ir.Expression]:
        """``i*n + j`` as the two indices ``i`` and ``j`` of an array with rows of ``n`` elements."""
        match _strip_conversions(index):
            case ir.Binary(op="+", left=left, right=column):
                match _strip_conversions(left):
                    case ir.Binary(op="*", left=row, right=width) if self.write_value(width).extent == columns:
                        return [row, column]
        raise _NoVector


def _write_literal(value: complex, t: CType) -> _Value:
    return _Value(number(value), t, plain=True, extent=value if isinstance(value, int) else None)


# -- functions ------------------------------------------------------------------------------------


class _Function(_Values):
    """Writes one function.

    Attributes
    ----------
    lines : list
        The statements written so far.
    sums : dict
        What a statement of a loop adds to variables, or multiplies them by: the operator and the operand.
    blank : set
        New arrays, of zeros, that are not filled yet.
    """

    def __init__(self, module: _Module, function: ir.FunctionIR, signature: Signature | None, *, called: bool) -> None:
        super().__init__(module, signature is not None and bool(signature.core), signature is not None)
        self.function, self.signature, self.called = function, signature, called
        self.lines: list[ast.stmt] = []
        self.sums: dict[Symbol, tuple[str, _Value]] = {}
        self.blank: set[Symbol] = set()
        self.names: dict[Symbol, str] = {}
        self.words = {symbol.name for symbol in _find_symbols(function.body)}
        self.taken = {*module.program.functions, *map(choose_python_name, module.program.symbols)}

    def name(self, symbol: Symbol) -> str:
        if symbol not in self.names:
            self.names[symbol] = self._choose_name(choose_python_name(symbol.name), self.taken)
        return self.names[symbol]

    def _choose_name(self, stem: str, taken: Set[str]) -> str:
        """A name that is not among these."""
        names = (f"{stem}{n}" if n > 1 else stem for n in itertools.count(1))
        name = next(name for name in names if name not in taken)
        self.taken.add(name)
        return name

    def _put_aside(self, stem: str, v: _Value, position: int) -> _Value:
        """``v`` under a new name, which a line at ``position`` gives it."""
        name = self._choose_name(stem, self.taken | self.words)
        self.lines.insert(position, assign(name, v.node))
        return v.name_variable(name)

    def write(self, name: str) -> ast.FunctionDef:
        parameters = self._write_parameters()
        results = self._write_return(self.function.body.body, branch=False)
        if not results and not self.stores:
            raise _NoVector
        return define(
            name,
            parameters,
            _drop_unused([*self.lines, *([write_return([v.node for v in results])] if results else [])]),
        )

    def _write_parameters(self) -> list[str]:
        """Give the parameters their values; the text of those that the function has in NumPy."""
        signature, written = self.signature, {}
        operands = {o.index: o for o in (*signature.inputs, *signature.outputs)} if signature is not None else {}
        for at, symbol in enumerate(self.function.parameters):
            operand, t = operands.get(at), symbol.type
            if signature is not None and at in signature.sizes:
                continue
            if signature is not None and operand is None:
                raise _NoVector
            name = written[at] = self.name(symbol)
            core = operand.core if operand is not None else (_ANY,) * (t.depth or _count_indices(self.function, symbol))
            output = operand is not None and operand.role == "output"
            if core and not self.called:
                self.arrays[symbol] = core
                self.blank |= {symbol} if output else set()
                continue
            one = t.of if t.of is not None and operand is not None else t
            if not one.arithmetic and one.kind != "o":
                raise _NoVector
            plain = output or not (signature is not None or self.called or one.kind == "o")
            v = self.values[symbol] = _Value(ast.Constant(0) if output else ast.Name(name), one, plain=plain)
            if one == FLOAT and self.methods and not output and _is_widened(self.function, symbol):
                self._put(symbol, self.cast(v, DOUBLE), depth=0)
            if signature is None and symbol.initial is not None:
                written[at] += f"={ast.unparse(self.write_value(symbol.initial).node)}"
        for at, dimension in signature.sizes.items() if signature is not None else ():
            array = next((s for s, core in self.arrays.items() if dimension in core and s not in self.blank), None)
            if array is None:
                raise _NoVector
            length = self.write_extent(array, self.arrays[array].index(dimension))
            self._put(self.function.parameters[at], length, depth=0)
        return [*written.values()] if signature is None else [written[o.index] for o in signature.inputs]

    # -- results ----------------------------------------------------------------------------------

    def _write_return(self, body: Sequence[ir.Statement], *, branch: bool) -> list[_Value]:
        """The results of these statements; in a ``branch`` nothing may be written before it."""
        statements = list(_flatten(body))
        for position, node in enumerate(statements):
            match node:
                case ir.Return(values=values):
                    return self._write_results([self.write_value(v) for v in values])
                case ir.If() if any(isinstance(n, ir.Return) for n in ir.walk(node)):
                    return self._write_branches(node, statements[position + 1 :], branch=branch)
            self._write_statement(node, branch=branch)
        if self.function.returns and (self.called or self.signature):
            raise _NoVector
        return self._write_results([])

    def _write_results(self, values: Sequence[_Value]) -> list[_Value]:
        """The results where C returns ``values``."""
        results = [*values]
        if self.called:
            results = [self.write_exact(v, t) for v, t in zip(values, self.function.returns, strict=True)]
        elif self.signature is not None:
            returned, parameters = iter(values), self.function.parameters
            outputs = self.signature.outputs
            results = [next(returned) if o.index < 0 else self._read_stored(parameters[o.index]) for o in outputs]
        if any(v.axes for v in results):
            raise _NoVector
        return results

    def _read_stored(self, symbol: Symbol) -> _Value:
        if symbol in self.arrays and symbol not in self.stores:
            raise _NoVector
        return self.stores[symbol] if symbol in self.arrays else self.values[symbol]

    def _write_branches(self, node: ir.If, rest: Sequence[ir.Statement], *, branch: bool) -> list[_Value]:
        """``if`` with a ``return`` in it."""
        test = self.write_truth(node.test)
        if not _always_returns(node.then):
            raise _NoVector
        start = dict(self.values)
        left = self._write_return(node.then.body, branch=True)
        self.values = start
        position = len(self.lines)
        other = node.otherwise.body if node.otherwise is not None else ()
        right = self._write_return([*other, *rest], branch=branch or bool(other))
        if len(left) != len(right):
            raise _NoVector
        # What the lines that follow change is put aside.
        changed = set().union(*map(_find_assigned_names, self.lines[position:]))
        test, *left = (
            self._put_aside("mask" if v.boolean else "early", v, position) if _find_names(v.node) & changed else v
            for v in (test, *left)
        )
        return [self.write_where(test, a, b, b.type) for a, b in zip(left, right, strict=True)]

    # -- statements -------------------------------------------------------------------------------

    def _put(self, symbol: Symbol, v: _Value, *, depth: int) -> None:
        """Write ``symbol = v``."""
        self.lines.append(assign(self.name(symbol), v.node))
        self.values[symbol] = v.name_variable(self.name(symbol), depth=depth)

    def _write_statement(self, node: ir.Statement, *, branch: bool) -> None:
        """A statement; in a ``branch`` its variables stay in their own words."""
        symbol, value = _split_assignment(node)
        match node:
            case ir.Assert() | ir.If(then=ir.Block(body=(ir.Raise(),)), otherwise=None):
                pass
            case ir.If(then=ir.Block(body=(ir.DynamicStatement(template=text),))) if text.startswith("raise "):
                pass
            case ir.If():
                self._choose(node, branch=branch)
            case ir.CountedFor() | ir.ForEach() if not branch:
                self._write_loop(node)
            case ir.Declare(value=None, symbol=Symbol(type=t) as array):
                if t.kind == "a":
                    self._add_blank(array, t.depth)
            case ir.Evaluate(value=ir.Assignment(place=place, value=stored)) if symbol is None and not branch:
                self._store(place, stored)
            case ir.Evaluate() | ir.Declare() if symbol is not None and value is not None:
                if symbol in self.hidden:
                    self._accumulate(symbol, value, branch=branch)
                elif symbol.type.kind not in "ao" or not self._is_alias(symbol, _evaluate_static(value)):
                    self.current.append(self.values.get(symbol))
                    self._keep(symbol, self.write_value(value), branch=branch)
                    self.current.pop()
            case _:
                raise _NoVector

    def _keep(self, symbol: Symbol, v: _Value, *, branch: bool) -> None:
        """A variable's new value: by name, or in a branch in its own words."""
        depth = len(self.loops)
        if branch or (depth and isinstance(v.node, ast.Name | ast.Constant)):
            self.values[symbol] = replace(v, depth=depth)
        else:
            self._put(symbol, v, depth=depth)

    def _add_blank(self, symbol: Symbol, depth: int) -> None:
        self.blank.add(symbol)
        self.arrays[symbol] = (_ANY,) * depth

    def _is_alias(self, symbol: Symbol, value: ir.Expression) -> bool:
        """Whether ``symbol = value`` gives an array a name, or makes one: ``np.zeros(n)``."""
        match value:
            case ir.Name(symbol=array) if array in self.arrays and symbol not in self.values:
                self.arrays[symbol], self.names[symbol] = self.arrays[array], self.name(array)
                return True
            case ir.Dynamic(template="{}.zeros({})" | "{}.empty({})"):
                self._add_blank(symbol, 1)
                return True
        return False

    def _choose(self, node: ir.If, *, branch: bool) -> None:
        """``if`` whose branches only assign: one ``np.where`` for each variable."""
        test = self.write_truth(node.test)
        start, sums = self.values, self.sums
        branches = []
        for block in (node.then, node.otherwise or ir.Block()):
            self.values, self.sums = dict(start), dict(sums)
            for inner in _flatten(block.body):
                self._write_statement(inner, branch=True)
            branches.append((self.values, self.sums))
        self.values, self.sums = start, sums
        (yes, added), (no, other) = branches
        symbols = [s for s in {**yes, **no} if not yes.get(s) is no.get(s) is start.get(s)]
        for symbol in {**added, **other}:
            op = (added.get(symbol) or other[symbol])[0]
            nothing = op, _write_literal(_NEUTRAL[op], INT)
            pair = added.get(symbol, nothing), other.get(symbol, nothing)
            if any(of != op for of, _ in pair):
                raise _NoVector
            sums[symbol] = op, self.write_where(test, pair[0][1], pair[1][1], symbol.type.element)
        self._flush(branch=branch)
        several = len(symbols) > 1 and not branch
        if several:
            test = self._put_aside("mask", test, len(self.lines))
        chosen = {s: self.write_where(test, yes.get(s) or no[s], no.get(s) or yes[s], s.type.element) for s in symbols}
        names = {self.name(s) for s in symbols}
        if several and any(_find_names(v.node) & names for v in chosen.values()):
            targets = ast.Tuple([ast.Name(self.name(s)) for s in symbols])
            self.lines.append(assign(targets, ast.Tuple([v.node for v in chosen.values()])))
            self.values |= {s: v.name_variable(self.name(s), depth=len(self.loops)) for s, v in chosen.items()}
            return
        for symbol, v in chosen.items():
            self._keep(symbol, v, branch=branch)

    # -- loops ------------------------------------------------------------------------------------

    def _write_loop(self, node: ir.CountedFor | ir.ForEach) -> None:
        """Run through a loop once, with arrays in the place of elements."""
        counter, extent = self._write_header(node)
        if counter in self.loops or node.otherwise is not None:
            raise _NoVector
        changed = [change for inner in _flatten(node.body.body) for change in _find_changes(inner)]
        carried = {symbol for symbol, before in changed if not before} | {counter}
        summed = {symbol for symbol, before in changed if before} - carried
        self.values = {symbol: v for symbol, v in self.values.items() if symbol not in carried}
        if isinstance(node, ir.ForEach):
            array = _split_indices(node.iterable)[0]
            self.values[counter] = _Value(ast.Name(self.name(array)), counter.type, axes=(counter,))  # type: ignore[arg-type]
        self.loops[counter] = extent
        self.hidden |= summed
        for inner in _flatten(node.body.body):
            self._write_statement(inner, branch=False)
        del self.loops[counter]
        self.hidden -= summed
        self.values = {symbol: v for symbol, v in self.values.items() if symbol not in carried}

    def _write_header(self, node: ir.CountedFor | ir.ForEach) -> tuple[Symbol, _Extent]:
        """The counter of a loop over all of a dimension, and the length of that."""
        match node:
            case ir.ForEach(targets=(ir.Name(symbol=counter),), iterable=iterable):
                array, indices = _split_indices(iterable)
                extents = self.arrays.get(array, ()) if array not in self.blank else ()  # type: ignore[arg-type]
                if len(extents) == 1 and not indices:
                    return counter, extents[0]
            case ir.CountedFor(counter=counter, step=1, inclusive=False, start=start, stop=stop):
                v = self.write_value(stop)
                if evaluate_integer(start) == 0 and v.extent is not None:
                    return counter, v.extent
        raise _NoVector

    def _accumulate(self, symbol: Symbol, value: ir.Expression, *, branch: bool) -> None:
        """``s += e``, summed over the loops that are inside of where ``s`` began."""
        op, operand = _split_sum(value, symbol)
        if symbol in self.sums:
            raise _NoVector
        self.sums[symbol] = op, self.write_value(operand)
        self._flush(branch=branch)

    def _flush(self, *, branch: bool) -> None:
        """Write the sums of a statement of a loop, after its branches."""
        for symbol, (op, operand) in self.sums.items() if not branch else ():
            t, start = symbol.type.element, self.values.get(symbol)
            if start is None:
                raise _NoVector
            sums = self._reduce("prod" if op == "*" else "sum", operand, t, [*self.loops][start.depth :])
            name = self.name(symbol)
            lines = [n for n in self.lines if isinstance(n, ast.Assign) and name in _find_assigned_names(n)]
            began = lines[-1].value if lines and spell_expression(start.node) == name else start.node
            if not (isinstance(began, ast.Constant) and began.value == _NEUTRAL[op]) or op == "-":
                sums = self.apply(f"{{}} {op} {{}}", self.make_alike([start, sums], t), t)
            self._put(symbol, sums, depth=start.depth)
        self.sums = self.sums if branch else {}

    def _reduce(self, word: str, v: _Value, t: CType, over: Sequence[Symbol]) -> _Value:
        """The sum or the product of ``v`` in the type ``t`` along axes."""
        if not over or not set(over) <= set(v.axes):
            raise _NoVector
        left = tuple(axis for axis in v.axes if axis not in over)
        if word == "sum" and v.factors is not None and len(over) == 1:
            product = self._contract(v.factors, over[0], left)
            if product is not None:
                return _Value(product, t, axes=left)
        if len(v.axes) > 2:
            raise _NoVector
        if v.dtype.kind == "f":
            v = self.settle(v)
        at = [ast.Constant(v.axes.index(axis) - len(v.axes)) for axis in over]
        keywords = [ast.keyword("axis", write_tuple(at))] if self.stacked or left else []
        named = isinstance(v.node, ast.Name)
        node = ast.Call(ast.Attribute(v.node if named else ast.Name("np"), word), [] if named else [v.node], keywords)
        # NumPy adds integers up in 64 bits.
        wide = v.dtype if not v.dtype.integral else CType(v.dtype.kind if v.dtype.kind == "u" else "i", 64)
        sums = _Value(node, t, wide if wide != t else None, left, parts=v.parts)
        return self.settle(sums) if t.integral else sums

    def _contract(self, factors: tuple[_Value, _Value], over: Symbol, left: tuple[Symbol, ...]) -> ast.expr | None:
        """A sum of products of elements as ``@``, ``np.vecdot``, ``np.matvec``."""
        arrays = {self.name(symbol) for symbol in self.arrays}
        if not all(isinstance(v.node, ast.Subscript) or spell_expression(v.node) in arrays for v in factors):
            return None
        for first, second in (factors, factors[::-1]):
            a, b = first.axes, second.axes
            if a[-1:] == b[:1] == (over,) and (*a[:-1], *b[1:]) == left and len(a) <= 2 >= len(b):
                word = _PRODUCTS.get((len(a), len(b))) if self.stacked else None
                return parse_template(f"{word}({{}}, {{}})" if word else "{} @ {}", first.node, second.node)
        return None

    def _store(self, place: ir.Expression, value: ir.Expression) -> None:
        """``out[i] = e``, or ``out[i] += e`` in a loop inside of that over ``i``."""
        symbol, indices = _split_indices(place)
        loops, axes = tuple(self.loops), tuple(getattr(_strip_conversions(index), "symbol", None) for index in indices)
        extents = self.arrays.get(symbol, ()) if symbol not in self.stores else ()  # type: ignore[arg-type]
        blank = symbol in self.blank
        if symbol is None or len(extents) != len(axes) or not axes or axes != loops[: len(axes)]:
            raise _NoVector
        if any(of not in (_ANY, self.loops[axis]) for of, axis in zip(extents, axes, strict=True)):
            raise _NoVector
        inner = loops[len(axes) :]
        if blank and evaluate(value) == 0:
            return
        if (self.stacked or inner) and not blank:
            raise _NoVector
        t = place.type
        if blank and any(isinstance(n, ir.Current) for n in ir.walk(value)):
            op, operand = _split_sum(value, symbol)
            if op != "+":
                raise _NoVector
            v = self._reduce("sum", self.write_value(operand), t, inner)
        else:
            self.current.append(None if blank else _Value(ast.Name(self.name(symbol)), t, axes=axes))
            v = self.write_value(value)
            self.current.pop()
        if {*v.axes} != {*axes}:
            raise _NoVector
        node, name = self.widen(v, axes), ast.Name(self.name(symbol))
        self.lines.append(assign(name if blank else ast.Subscript(name, ast.Slice()), node))
        self.stores[symbol] = replace(v, node=name, axes=())


# -- the IR's nodes -------------------------------------------------------------------------------


def _evaluate_static(e: Any) -> Any:
    """Python's own operation as the one of C that it is on arrays of numbers."""
    match e:
        case (
            ir.Convert(type=CType(kind="o"), value=inner)
            | ir.Convert(value=ir.Expression(type=CType(kind="o")) as inner)
        ):
            return _evaluate_static(inner)
        case ir.Element(base=ir.Dynamic(template="{}.shape", operands=(array,)), index=index):
            return ir.Length(INDEX, array, evaluate_integer(index) or 0)
        case ir.Dynamic(template="len({})", operands=(array,)):
            return ir.Length(INDEX, array, 0)
        case ir.Dynamic(template="{}[{}]", operands=(base, index)):
            return ir.Element(OBJECT, base, index, from_end=True)
        case ir.Dynamic(template="{}.asarray({})" | "{}.array({})", operands=(_, array)):
            return _evaluate_static(array)
        case ir.Dynamic(template="{}.real" | "{}.imag", operands=(base,)):
            return ir.Field(e.type, base, e.template[3:])
        case ir.Dynamic(template="{}.conjugate()", operands=arguments):
            return ir.FunctionCall(e.type, "conj", arguments, "library")
        case ir.Dynamic(template=text, operands=(left, right)) if text[:3] == "{} " and text[-3:] == " {}":
            if text[3:-3] in ("+", "-", "*", "/", "**", "<", ">", "<=", ">=", "==", "!="):
                return ir.Binary(e.type, text[3:-3], left, right, python=True)  # type: ignore[arg-type]
    return e


def _strip_conversions(e: ir.Expression) -> ir.Expression:
    """An expression without conversions around it."""
    bare: ir.Expression = _evaluate_static(e)
    return _strip_conversions(bare.value) if isinstance(bare, ir.Convert) else bare


def _narrow_constant(e: ir.Expression, other: ir.Expression) -> ir.Expression:
    """One side of a comparison, as a ``float`` where the other is a constant that ``float`` has too."""
    known = evaluate(other)
    exact = isinstance(known, float) and ir.round_to_float(known) == known
    return e.value if exact and isinstance(e, ir.Convert) and e.value.type == FLOAT and e.type == DOUBLE else e


def _split_indices(e: ir.Node) -> tuple[Symbol | None, list[ir.Expression]]:
    """The variable and the indices of ``a[i][j]``."""
    e = _evaluate_static(e)
    if isinstance(e, ir.Element):
        symbol, indices = _split_indices(e.base)
        return symbol, [*indices, e.index]
    return (e.symbol if isinstance(e, ir.Name) else None), []


def _count_indices(function: ir.FunctionIR, symbol: Symbol) -> int:
    """The number of indices with which an object is used, or a name of it."""
    counts = [0]
    for node in ir.walk(function.body) if symbol.type.kind == "o" else ():
        of, indices = _split_indices(node.iterable if isinstance(node, ir.ForEach) else node)
        counts += [len(indices) + isinstance(node, ir.ForEach)] if of is symbol else []
        alias, value = _split_assignment(node)
        if alias is not None and value is not None and _split_indices(value)[0] is symbol:
            counts.append(alias.type.depth)
    return max(counts)


def _find_symbols(node: ir.Node) -> set[Symbol]:
    return {n.symbol for n in ir.walk(node) if isinstance(n, ir.Name)}


def _is_widened(function: ir.FunctionIR, symbol: Symbol) -> bool:
    """Whether a ``float`` is used as a double only."""
    widened = {id(n.value) for n in ir.walk(function.body) if isinstance(n, ir.Convert) and n.type == DOUBLE}
    return all(id(n) in widened for n in ir.walk(function.body) if isinstance(n, ir.Name) and n.symbol is symbol)


def _flatten(body: Sequence[ir.Statement]) -> Iterator[ir.Statement]:
    """Statements without blocks and commas; a ``switch`` as ``if``."""
    for node in body:
        match node:
            case ir.Block(body=inner) | ir.DoWhile(test=ir.Constant(value=0), body=ir.Block(body=inner)):
                yield from _flatten(inner)
            case ir.Evaluate(value=ir.Comma(first=first, second=second)):
                yield from _flatten([ir.Evaluate(first), ir.Evaluate(second)])
            case ir.Evaluate(value=ir.Assignment(value=v) as outer) if isinstance(
                again := _strip_conversions(v), ir.Assignment
            ):
                value = ir.Convert(outer.place.type, again.place)
                yield from _flatten([ir.Evaluate(again), ir.Evaluate(replace(outer, value=value))])
            case ir.Evaluate(value=ir.Name() | ir.Constant() | ir.Convert(type=CType(kind="v"), value=ir.Name())):
                pass
            case ir.Switch():
                yield from _write_as_if(node)
            case _:
                yield node


def _write_as_if(node: ir.Switch) -> Sequence[ir.Statement]:
    """A ``switch`` as ``if`` and ``else if``."""
    rest = ir.Block()
    arms: list[tuple[list[ir.Expression | None], ir.Block]] = [([], rest)]
    for arm in node.arms:
        if arm.falls and arm.body:
            raise _NoVector
        arms[-1][0].extend(arm.labels)
        if not arm.falls:
            arms[-1] = arms[-1][0], ir.Block(arm.body)
            arms.append(([], rest))
    rest = next((body for labels, body in arms if None in labels), rest)
    for labels, body in reversed(arms):
        tests: list[ir.Expression] = [
            ir.Binary(INT, "==", node.subject, label) for label in labels if label is not None
        ]
        if tests and None not in labels:
            test = functools.reduce(lambda a, b: ir.Logical(INT, "||", a, b), tests)
            rest = ir.Block((ir.If(test, body, rest),))
    return rest.body


def _always_returns(block: ir.Block | None) -> bool:
    """Whether every way through a block returns."""
    match list(_flatten(block.body))[-1:] if block is not None else []:
        case [ir.If(then=then, otherwise=otherwise)]:
            return _always_returns(then) and _always_returns(otherwise)
        case [ir.Return() | ir.Raise()]:
            return True
    return False


def _split_assignment(node: ir.Node) -> tuple[Symbol | None, ir.Expression | None]:
    """The variable that a statement gives a value, or the number that a pointer leads to, and the value."""
    match node:
        case ir.Declare(symbol=symbol, value=value):
            return symbol, value
        case ir.Evaluate(value=ir.Assignment(place=ir.Name(symbol=symbol), value=value)):
            return symbol, value
        case ir.Evaluate(value=ir.Assignment(place=ir.Element(base=base, index=ir.Constant(value=0)), value=value)):
            if isinstance(base, ir.Name) and base.symbol.type.length is None:
                return base.symbol, value
    return None, None


def _split_sum(value: ir.Expression, symbol: Symbol) -> tuple[str, ir.Expression]:
    """The operator and the operand of ``s += e`` or ``s = s + e``, without conversions in between."""
    value = _evaluate_static(value)
    if not isinstance(value, ir.Binary) or value.op not in _NEUTRAL or value.type not in (symbol.type.element, OBJECT):
        raise _NoVector
    left = _evaluate_static(value.left)
    if not (isinstance(left, ir.Current) or (isinstance(left, ir.Name) and left.symbol is symbol)):
        raise _NoVector
    return value.op, value.right


def _find_changes(node: ir.Statement) -> Iterator[tuple[Symbol, bool]]:
    """Variables that a statement of a loop changes, and whether from their values before."""
    symbol, value = _split_assignment(node)
    if symbol is not None and value is not None:
        yield symbol, symbol in _find_symbols(value) or any(isinstance(n, ir.Current) for n in ir.walk(value))
    match node:
        case ir.CountedFor(body=body) | ir.ForEach(body=body):
            if isinstance(node, ir.CountedFor):
                yield node.counter, False
            yield from (change for inner in _flatten(body.body) for change in _find_changes(inner))
        case ir.If(test=test, then=then, otherwise=otherwise):
            # `if (e > m) m = e;` keeps m from one turn to the next
            read = _find_symbols(test)
            inside = _flatten([then, otherwise or ir.Block()])
            yield from ((of, before or of in read) for inner in inside for of, before in _find_changes(inner))


# -- Python's statements --------------------------------------------------------------------------


def _drop_unused(lines: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The lines without assignments that nothing reads; ``s = v.sum()`` just before ``return s`` is one line."""
    read: set[str] = set()
    alive: list[ast.stmt] = []
    for node in reversed(lines):
        names = _find_assigned_names(node)
        if names and isinstance(node, ast.Assign):
            if not names & read:
                continue
            read = (read - names) | _find_names(node.value)
        else:
            read |= _find_names(node)
        alive.insert(0, node)
    match alive:
        case [*first, ast.Assign(targets=[ast.Name(id=name)], value=value), ast.Return(value=ast.Name(id=last))]:
            return [*first, ast.Return(value)] if name == last else alive
    return alive


def _find_names(node: ast.AST) -> set[str]:
    return {n.id for n in walk(node) if isinstance(n, ast.Name)}


def _find_assigned_names(node: ast.stmt) -> set[str]:
    """The variables that a line gives values, not elements."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    return set().union(*(_find_names(target) for target in targets if not isinstance(target, ast.Subscript)))
