"""Python expressions over whole arrays, which know the loops that they stand for as axes, and C's types.

Inside ``for i ...: for j ...:`` an element ``a[i, j]`` is the array ``a`` with the axes (i, j), ``x[j]`` has the
axis j, and a number has none.  Operands of different axes are brought together by new axes of length one.

Where types are given, Python's unbounded integers must become NumPy's that wrap: each value has its array's type and
the range of Python's value.  What leaves the array's range is right in its low bits only (``loose``), which is enough
below the text's own ``_int32(...)`` and ``... & 0xFFFFFFFF``; everywhere else its operands are widened first.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..ir import DOUBLE, INT, MATH_FUNCTIONS, CType, result_range
from .value import call, operation, python, spelled, tuple_of


class NoVector(Exception):
    """Internal: this has no NumPy expression."""


@dataclass(frozen=True)
class Val:
    """One value.

    ``axes`` are the loops it depends on, in the order of the array's dimensions; ``batch``: in a generalized ufunc it
    has the broadcast dimensions too.  ``size``: a length, which is a Python int in every case; ``constant`` a number
    in the text.  ``factors``: what it is the product of.

    ``type``: of the array's elements, with 0 bits for a Python number, None where nothing is known.  ``low``,
    ``high``: range of an integer.  ``loose``: how many of its low bits are right, 0 for all.  ``integral``: a
    floating-point number in C whose array still is of integers.
    """

    node: ast.expr
    axes: tuple[str, ...] = ()
    batch: bool = False
    boolean: bool = False
    size: bool = False
    constant: bool = False
    depth: int = 0
    factors: tuple[Val, Val] | None = None
    type: CType | None = None
    low: int = 0
    high: int = 0
    loose: int = 0
    integral: bool = False

    @property
    def whole(self) -> bool:
        return self.type is not None and self.type.kind in "iu"

    @property
    def floats(self) -> bool:
        """Whether an operation on it and an integer gives NumPy's floating-point numbers."""
        return self.type is None or (self.type.kind in "fc" and not self.integral)

    def of_type(self, t: CType | None) -> Val:
        """With any value of the type."""
        if t is None or t.kind not in "iu" or not t.bits:
            return replace(self, type=t, low=0, high=0, loose=0, boolean=t is not None and t.kind == "b")
        return replace(self, type=t, low=t.low, high=t.high, loose=0, boolean=False)

    def like(self, other: Val) -> Val:
        """With what is known of another's number."""
        known = {name: getattr(other, name) for name in ("type", "low", "high", "loose", "integral")}
        return replace(self, **known)

    def named(self, name: str, *, depth: int = 0) -> Val:
        """The same as a variable."""
        return replace(self, node=ast.Name(name), factors=None, depth=depth)


@dataclass(frozen=True)
class FunctionTypes:
    """C's types of a function: of its parameters (an array's is that of its elements) and of its result."""

    parameters: tuple[CType, ...]
    result: CType | None = None


#: Python's functions, and those that only written Python has -> NumPy's.
_FUNCTIONS = {
    **{
        word: row.numpy
        for row in MATH_FUNCTIONS.values()
        for word in (row.python, row.checked)
        if row.numpy and word and "{" not in word
    },
    **{f"math.{name}": f"np.{name}" for name in ("radians", "degrees", "gcd", "lcm", "fabs")},
    "min": "np.minimum",
    "max": "np.maximum",
}
_CONSTANTS = {f"{m}.{name}": f"np.{name}" for m in ("math", "np") for name in ("pi", "e", "inf", "nan")}
_BOOLEAN = frozenset(("np.isnan", "np.isinf", "np.isfinite", "np.signbit"))
#: Operators under other names, which the text has where C's answer is another than Python's.
_OPERATORS: dict[str, type[ast.operator]] = {
    "_fdiv": ast.Div,
    "_cdiv": ast.Div,
    "_cmul": ast.Mult,
    "_cpow": ast.Pow,
    "_libm_cpow": ast.Pow,
    "math.pow": ast.Pow,
    "pow": ast.Pow,
}
_SIGNS: dict[type[ast.operator], str] = {
    type(operation(sign, "a", "b").op): sign  # type: ignore[attr-defined]
    for sign in "+ - * // % << >> & | ^".split()
}
#: Operators that need the low bits of their operands only.
_MODULAR = (ast.Add, ast.Sub, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift)

_NUMPY_KINDS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
_LONG = CType("i", 64)
_NUMBER, _REAL, _COMPLEX = CType("i"), CType("f"), CType("c")


@dataclass
class ArrayValues:
    """Evaluates expressions; ``dimensions`` of the arrays among the parameters, ``stacked`` for core dimensions
    under broadcast ones, ``functions`` those of the cell that work on arrays, ``types`` C's, for all functions or none.
    """

    dimensions: dict[str, int]
    stacked: bool
    functions: frozenset[str]
    types: Mapping[str, FunctionTypes] = field(default_factory=dict)
    values: dict[str, Val] = field(default_factory=dict)
    loops: list[str] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)
    elements: dict[str, CType] = field(default_factory=dict)
    main: bool = True

    def value(self, node: ast.expr, *, loose: bool = False) -> Val:
        match node:
            case ast.Constant(value=bool()):
                return Val(node, constant=True, boolean=True)
            case ast.Constant(value=int(number)):
                return Val(node, constant=True, type=_NUMBER, low=number, high=number)
            case ast.Constant(value=float() | complex() as number):
                return Val(node, constant=True, type=_REAL if isinstance(number, float) else _COMPLEX)
            case ast.Name(id=name):
                return self._name(name)
            case ast.BinOp(left=left, op=ast.BitAnd(), right=ast.Constant(value=int(mask))) if self.types and mask >= 0:
                return self._masked(left, mask)
            case ast.BinOp(left=left, op=op, right=right):
                modular = loose and isinstance(op, _MODULAR)
                first = self.value(left, loose=modular)
                second = self.value(right, loose=modular and not isinstance(op, ast.LShift))
                return self.operation(op, first, second, loose=loose)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                e = self.truth(operand)
                inverse = ast.Not() if e.constant else ast.Invert()
                return replace(e, node=ast.UnaryOp(inverse, e.node), factors=None)
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(op, self.number(self.value(operand, loose=loose)), loose=loose)
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self._comparison(left, ops, others)
            case ast.BoolOp(op=op, values=values):
                word = ast.BitAnd() if isinstance(op, ast.And) else ast.BitOr()
                return self.folded(word, [self.truth(v) for v in values])
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.where(self.truth(test), self.value(body), self.value(orelse))
            case ast.Call(func=func, args=args, keywords=[]):
                return self._call(func, args, loose=loose)
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=int(axis))
            ):
                return self.extent(name, axis)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Attribute():
                return self._attribute(node)
        raise NoVector

    def number(self, e: Val) -> Val:
        if e.boolean:
            raise NoVector
        return e

    def truth(self, node: ast.expr) -> Val:
        return self._true(self.value(node))

    def _true(self, e: Val) -> Val:
        if e.boolean:
            return e
        return replace(e, node=python("{} != 0", e.node), boolean=True, size=False, type=None)

    def _name(self, name: str) -> Val:
        if name in self.hidden:
            raise NoVector
        if name not in self.values:
            raise NoVector
        return self.values[name]

    # -- bringing values together -----------------------------------------------------------------

    def together(self, values: Sequence[Val]) -> tuple[Val, list[ast.expr]]:
        """A value of all their axes (its node is none yet), and the nodes with axes added."""
        names = {axis for v in values for axis in v.axes}
        axes = tuple(one for one in self.loops if one in names)
        if len(axes) != len(names):
            raise NoVector
        result = Val(
            ast.Constant(0),
            axes=axes,
            batch=any(v.batch for v in values),
            size=all(v.size or v.constant for v in values) and any(v.size for v in values),
            constant=all(v.constant for v in values),
        )
        return result, [self.widened(v, axes) for v in values]

    def widened(self, e: Val, axes: Sequence[str]) -> ast.expr:
        """The node of ``e`` with its axes in this order, and new ones of length one."""
        if tuple(axes) == e.axes or not (e.axes or (self.stacked and e.batch)):
            return e.node
        node = e.node
        if [axis for axis in axes if axis in e.axes] != [*e.axes]:
            if len(e.axes) != 2:
                raise NoVector
            node = call("np.swapaxes", node, -1, -2)
        items: list[ast.expr] = [ast.Slice() if axis in e.axes else ast.Constant(None) for axis in axes]
        if len(items) == len(e.axes):
            return node
        if self.stacked and e.batch:
            items.insert(0, ast.Constant(...))
        return ast.Subscript(node, tuple_of(items))

    def operation(self, op: ast.operator, left: Val, right: Val, *, loose: bool = False) -> Val:
        bits = isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor)
        if left.boolean != right.boolean or (left.boolean and not bits) or isinstance(op, ast.MatMult):
            raise NoVector
        number = Val(ast.Constant(0))
        if not left.boolean and left.type is not None and right.type is not None:
            if left.whole and right.whole and not isinstance(op, ast.Div | ast.Pow):
                left, right = self._beside(left, right), self._beside(right, left)
                if isinstance(op, ast.LShift | ast.RShift) and not 0 <= right.low <= right.high < 128:
                    raise NoVector
                low, high = result_range(_SIGNS[type(op)], (left.low, left.high), (right.low, right.high))
                (left, right), number = self._ranged((left, right), _common(left, right), low, high, loose=loose)
            elif bits or isinstance(op, ast.LShift | ast.RShift):
                raise NoVector
            else:
                if not (isinstance(op, ast.Div) or left.floats or right.floats):
                    first = left.integral and not (left.constant or left.size)
                    left, right = (self.settled(left), right) if first else (left, self.settled(right))
                number = replace(number, type=_COMPLEX if _complex((left, right)) else DOUBLE)
        both, (a, b) = self.together([left, right])
        factors = (left, right) if isinstance(op, ast.Mult) else None
        return replace(both.like(number), node=ast.BinOp(a, op, b), factors=factors, boolean=left.boolean)

    def folded(self, op: ast.operator, parts: Sequence[Val]) -> Val:
        return functools.reduce(functools.partial(self.operation, op), parts)

    def where(self, test: Val, yes: Val, no: Val) -> Val:
        if yes.boolean != no.boolean:
            if not self.types:
                raise NoVector
            other = no.type if yes.boolean else yes.type
            t = other if other is not None and other.bits and other.kind in "iu" else INT
            yes, no = (self._cast(e, t) if e.boolean else e for e in (yes, no))
        if yes.whole and no.whole:
            yes, no = self._beside(yes, no), self._beside(no, yes)
        result, nodes = self.together([test, yes, no])
        result = replace(result, node=call("np.where", *nodes), boolean=yes.boolean, size=False, constant=False)
        return result.like(self._one_of(yes, no))

    def _comparison(self, left: ast.expr, ops: Sequence[ast.cmpop], others: Sequence[ast.expr]) -> Val:
        parts, first = [], self.value(left)
        for op, other in zip(ops, others, strict=True):
            if not isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE | ast.Eq | ast.NotEq):
                raise NoVector
            second = self.value(other)
            both, (a, b) = self.together([first, second])
            parts.append(replace(both, node=ast.Compare(a, [op], [b]), boolean=True))
            first = second
        return self.folded(ast.BitAnd(), parts)

    # -- C's integers -----------------------------------------------------------------------------

    def _beside(self, e: Val, other: Val) -> Val:
        """``e`` as an operand of a Python number, which must have its type's range."""
        if e.type is None or other.type is None or other.type.bits or not e.type.bits:
            return e
        if e.type.low <= other.low and other.high <= e.type.high:
            return e
        if e.loose or not (_LONG.low <= min(e.low, other.low) and max(e.high, other.high) <= _LONG.high):
            raise NoVector
        return self._cast(e, _LONG)

    def _ranged(
        self, operands: Sequence[Val], t: CType, low: int, high: int, *, loose: bool
    ) -> tuple[Sequence[Val], Val]:
        """The operands of an operation in ``t`` whose result has this range in Python, and what it is in NumPy."""
        right_bits = [e.loose for e in operands if e.loose]
        fits = not t.bits or (t.low <= low and high <= t.high)
        if loose and (right_bits or not fits):
            return operands, replace(Val(ast.Constant(0)).of_type(t), loose=min([*right_bits, t.bits]))
        if not fits:
            bounds = [low, high, *(x for e in operands for x in (e.low, e.high))]
            wide = next((w for w in (INT, _LONG) if w.low <= min(bounds) and max(bounds) <= w.high), None)
            if wide is None:
                raise NoVector
            t, operands = wide, [e if e.constant or e.size else self._cast(e, wide) for e in operands]
        return operands, Val(ast.Constant(0), type=t, low=low, high=high)

    def _unary(self, op: ast.unaryop, e: Val, *, loose: bool) -> Val:
        if e.whole and e.type is not None and not isinstance(op, ast.UAdd):
            least = -1 if isinstance(op, ast.Invert) else 0
            (e,), known = self._ranged([e], e.type, least - e.high, least - e.low, loose=loose)
            e = e.like(known)
        return replace(e, node=ast.UnaryOp(op, e.node), factors=None)

    def _low_bits(self, node: ast.expr, bits: int) -> Val:
        """A value whose lowest ``bits`` are right."""
        e = self.value(node, loose=True)
        return self.value(node) if 0 < e.loose < bits else e

    def _masked(self, node: ast.expr, mask: int) -> Val:
        """``node & mask``, which is how the text says that C's unsigned integers wrap."""
        bits = mask.bit_length()
        e = self._low_bits(node, bits)
        if not e.whole or e.type is None:
            return self.operation(ast.BitAnd(), e, Val(ast.Constant(mask), constant=True))
        unsigned = CType("u", bits) if bits in (8, 16, 32, 64) and mask == (1 << bits) - 1 else None
        top = mask if e.loose or e.low < 0 else min(mask, e.high)
        known = replace(e, low=0, high=top, loose=0, factors=None)
        if unsigned is not None and e.type == unsigned:
            return known
        if not e.type.bits or mask <= e.type.high:
            return replace(known, node=ast.BinOp(e.node, ast.BitAnd(), ast.Constant(mask)))
        if unsigned is None:
            raise NoVector
        return replace(self._cast(e, unsigned), low=0, high=top)

    def _wrapped(self, node: ast.expr, t: CType) -> Val:
        """``_int32(node)``."""
        e = self._low_bits(node, t.bits)
        if not e.whole or e.type is None or t.bits > 64:
            raise NoVector
        if not e.loose and t.low <= e.low and e.high <= t.high:
            return e
        if e.constant and e.low == e.high:
            low = (e.low - t.low & (1 << t.bits) - 1) + t.low
            return replace(e, node=ast.Constant(low), low=low, high=low)
        return e.of_type(t) if e.type == t else self._cast(e, t)

    def _cast(self, e: Val, t: CType) -> Val:
        if e.constant or e.size:
            raise NoVector
        name = f"np.{_NUMPY_KINDS[t.kind]}{t.bits * (2 if t.kind == 'c' else 1)}"
        # A function that the cell calls itself may be called with Python's numbers.
        node = python("{}.astype({})", e.node, name) if self.main else call(name, e.node)
        low, high = (0, 1) if e.boolean else (e.low, e.high)
        known = e.boolean or (e.whole and not e.loose and t.kind in "iu" and t.low <= low and high <= t.high)
        result = replace(e, node=node, factors=None, integral=False).of_type(t)
        return replace(result, low=low, high=high) if known else result

    def settled(self, e: Val) -> Val:
        """With an array of floating-point numbers where it stands for them."""
        return self._cast(e, e.type) if e.integral and e.type and not (e.constant or e.size) else e

    def _one_of(self, yes: Val, no: Val) -> Val:
        """What is known of one of the two."""
        if yes.boolean or yes.type is None or no.type is None:
            return Val(yes.node)
        if yes.whole and no.whole:
            t = _common(yes, no)
            low, high = min(yes.low, no.low), max(yes.high, no.high)
            if not t.bits and not (_LONG.low <= low and high <= _LONG.high):
                raise NoVector
            return Val(yes.node, type=t if t.bits else _LONG, low=low, high=high)
        kind = _COMPLEX if _complex((yes, no)) else DOUBLE
        return Val(yes.node, type=kind, integral=not (yes.floats or no.floats))

    # -- calls ------------------------------------------------------------------------------------

    def _call(self, func: ast.expr, args: Sequence[ast.expr], *, loose: bool) -> Val:
        name = spelled(func)
        if name in self.functions:  # the cell's, whatever Python has under that name
            return self._own_call(name, [self.value(a) for a in args])
        match name, args:
            case "len", [array]:
                return self.length(array)
            case (("_int8" | "_int16" | "_int32" | "_int64" | "_int128"), [inner]):
                return self._wrapped(inner, CType("i", int(name[4:])))
        match func, args:
            case ast.Attribute(value=inner, attr="conjugate"), []:
                return self._function("np.conj", [self.number(self.value(inner))], loose=loose)
        return self._function(name, [self.value(a) for a in args], loose=loose)

    def _function(self, name: str, values: list[Val], *, loose: bool) -> Val:
        match name, values:
            case "bool", [e]:
                return self._true(e)
            case (("float" | "int" | "_float32" | "complex"), [Val(boolean=True) as e]) if self.types:
                return self._cast(e, {"int": INT, "complex": CType("c", 64)}.get(name, DOUBLE))
        values = [self.number(e) for e in values]
        match name, values:
            case (("float" | "_float32" | "_complex64"), [e]):
                if not e.whole or e.type is None:
                    return e
                if name == "_float32" and not (e.constant or e.size):  # the text says so where C rounds
                    return self._cast(e, CType("f", 32))
                if 0 < e.type.bits < 32:  # NumPy's functions of it would be of half or single precision
                    return self._cast(e, DOUBLE)
                return replace(e.of_type(DOUBLE), integral=True)
            case "complex", [e]:
                return self.operation(ast.Add(), e, Val(ast.Constant(0j), constant=True, type=_COMPLEX))
            case "int", [e] if e.axes or e.batch:
                return e if e.whole else self._cast(e, _LONG)
            case "_truncate", [e, Val(node=ast.Constant(value=int(bits)))]:
                return self._cast(e, CType("i", bits))
            case "_count", [e, Val(low=bits)]:
                return replace(e, low=0, high=bits - 1)
            case "complex", [re, im]:
                times = self.operation(ast.Mult(), Val(ast.Constant(1j), constant=True, type=_COMPLEX), im)
                return self.operation(ast.Add(), re, times)
            case _, [left, right] if name in _OPERATORS:
                if self.types and name in ("math.pow", "pow"):
                    left, right = (replace(e, type=DOUBLE, integral=e.whole) for e in (left, right))
                return self.operation(_OPERATORS[name](), left, right)
            case (("min" | "max"), [_, _, *_, last]):
                return self._function(name, [self._function(name, values[:-1], loose=False), last], loose=False)
            case (("min" | "max"), [left, right]) if self.types:
                return self._lesser(name, left, right)
            case "abs", [Val(whole=True) as e]:
                top = max(abs(e.low), abs(e.high))
                (e,), known = self._ranged([e], e.type or _LONG, 0, top, loose=loose)
                return replace(e.like(known), node=call("np.abs", e.node), factors=None)
            case "abs", [e]:
                values = [self.settled(e)]
            case _, [e] if name.startswith("cmath.") and e.type is not None and e.type.kind != "c":
                # NumPy's functions stay real: of -1 they give NaN, not 1j.
                values = [self._function("complex", values, loose=False)]
        word = _FUNCTIONS.get(name, name if name.startswith("np.") else "")
        function: Any = getattr(np, word[3:], None)
        count = getattr(function, "nin", 1 if word == "np.angle" else -1)
        if len(values) != count or (name == "round" and self.types):
            raise NoVector
        result, nodes = self.together(values)
        result = replace(result, node=call(word, *nodes), boolean=word in _BOOLEAN, constant=False, size=False)
        if result.boolean or any(e.type is None for e in values):
            return result
        return replace(result, type=_COMPLEX if word not in ("np.abs", "np.angle") and _complex(values) else DOUBLE)

    def _own_call(self, name: str, values: list[Val]) -> Val:
        types = self.types.get(name)
        if types is not None:
            values = [self.as_type(e, t) for e, t in zip(values, types.parameters, strict=True)]
        result, nodes = self.together([self.number(e) for e in values] if types is None else values)
        result = replace(result, node=call(name, *nodes), constant=False, size=False)
        return result if types is None else result.of_type(types.result)

    def as_type(self, e: Val, t: CType | None) -> Val:
        """As a function takes or gives it: its integers in just this type."""
        if e.boolean and t is not None and t.kind != "b":
            return self._cast(e, t)
        if not e.whole or t is None or t.kind not in "iu":
            return self.settled(e)
        if e.constant or e.size:
            return replace(e, node=call(f"np.{_NUMPY_KINDS[t.kind]}{t.bits}", e.node))
        return e if e.type == t else self._cast(e, t)

    def _lesser(self, name: str, left: Val, right: Val) -> Val:
        """Python's ``min`` and ``max``, and those of C++: a NaN on the left stays, one on the right does not."""
        left, right = self._beside(left, right), self._beside(right, left)
        both, (a, b) = self.together([left, right])
        if left.constant or right.constant:
            word = f"np.f{name}" if left.constant else f"np.{name}imum"
            return replace(both.like(self._one_of(left, right)), node=call(word, a, b), constant=False)
        test = ast.Compare(b, [ast.Lt() if name == "min" else ast.Gt()], [a])
        return self.where(replace(both, node=test, boolean=True), right, left)

    # -- lengths, attributes and elements ---------------------------------------------------------

    def length(self, node: ast.expr) -> Val:
        """``len(a)``, ``len(a[0])``."""
        axis = 0
        while isinstance(node, ast.Subscript):
            node, axis = node.value, axis + 1
        if not isinstance(node, ast.Name) or node.id not in self.dimensions:
            raise NoVector
        return self.extent(node.id, axis)

    def extent(self, name: str, axis: int) -> Val:
        dimensions = self.dimensions.get(name, 0)
        if not dimensions or not 0 <= axis < max(dimensions, 1):
            raise NoVector
        if self.stacked or axis:
            node = python("{}.shape[{}]", name, axis - dimensions if self.stacked else axis)
        else:
            node = call("len", name)
        return Val(node, size=True, type=_NUMBER if self.types else None, high=INT.high)

    def _attribute(self, node: ast.Attribute) -> Val:
        if spelled(node) in _CONSTANTS:
            return Val(python(_CONSTANTS[spelled(node)]), constant=True, type=_REAL)
        if node.attr in ("real", "imag"):
            e = self.number(self.value(node.value))
            known = DOUBLE if e.type is not None else None
            return replace(e, node=ast.Attribute(e.node, node.attr), factors=None, type=known)
        raise NoVector

    def _subscript(self, node: ast.Subscript) -> Val:
        name, indices = chained(node)
        # Among the values is an array that a loop has filled.
        if name in self.hidden | self.values.keys() or self.dimensions.get(name, 0) not in (-1, len(indices)):
            raise NoVector
        axes, items = zip(*map(self._index, indices), strict=True)
        axes = tuple(filter(None, axes))
        if len(set(axes)) != len(axes):
            raise NoVector
        array: ast.expr = ast.Name(name)
        if not all(isinstance(i, ast.Slice) for i in items):
            array = ast.Subscript(array, tuple_of([*([ast.Constant(...)] if self.stacked else []), *items]))
        return Val(array, axes=axes, batch=True).of_type(self.elements.get(name))

    def _index(self, index: ast.expr) -> tuple[str, ast.expr]:
        """The loop that an index belongs to, and what is taken along that axis."""
        match index:
            case ast.Constant(value=int()):
                return "", index
            case ast.Name(id=name) if name in self.loops:
                return name, ast.Slice()
        raise NoVector


def _complex(values: Sequence[Val]) -> bool:
    return any(e.type is not None and e.type.kind == "c" for e in values)


def _common(left: Val, right: Val) -> CType:
    """NumPy's type for an operation on two integers."""
    types = [e.type for e in (left, right) if e.type is not None and e.type.bits]
    dtype = np.result_type(*(f"{t.kind}{t.bits // 8}" for t in types)) if types else None
    if dtype is not None and dtype.kind == "f":  # int64 with uint64
        raise NoVector
    return CType(dtype.kind, 8 * dtype.itemsize) if dtype is not None else _NUMBER


def chained(node: ast.expr) -> tuple[str, list[ast.expr]]:
    """``a[i][j]`` and ``a[i, j]`` as the name and its indices."""
    if isinstance(node, ast.Name):
        return node.id, []
    if isinstance(node, ast.Subscript):
        name, indices = chained(node.value)
        return name, [*indices, *(node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])]
    raise NoVector
