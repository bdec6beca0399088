"""Python expressions over whole arrays, which know the loops that they stand for as axes, and C's types.

Inside ``for i ...: for j ...:`` an element ``a[i, j]`` is the array ``a`` with the axes (i, j), ``x[j]`` has the
axis j, and a number has none.  Operands of different axes are brought together by new axes of length one.

Where types are given, Python's unbounded integers must become NumPy's that wrap: each value has its array's type and
the range of Python's value.  What leaves the array's range is right in its low bits only (``loose``), which is enough
below the text's own ``_int32(...)`` and ``... & 0xFFFFFFFF``; everywhere else its operands are widened first.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .c_arithmetic import CType
from .value import spelled


class NoVector(Exception):
    """Internal: this has no NumPy expression."""


@dataclass(frozen=True)
class Val:
    """One value.

    ``axes`` are the loops it depends on, outermost first; ``batch``: in a generalized ufunc it has the
    broadcast dimensions too.  ``size``: a length, which is a Python int in every case; ``constant`` a number
    in the text.  ``factors``: what it is the product of.  ``stored``: the axes as an array has them, where
    ``node`` had to be transposed.

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
    stored: tuple[tuple[str, ...], ast.expr] | None = None
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
        return replace(self, node=ast.Name(name), factors=None, stored=None, depth=depth)


@dataclass(frozen=True)
class Loop:
    """``for variable in range(start, length + end)``; ``stop`` instead of a length for any other bound."""

    variable: str
    start: int = 0
    end: int = 0
    length: ast.expr | None = None
    stop: ast.expr | None = None

    @property
    def whole(self) -> bool:
        return self.start == 0 and self.end == 0 and self.stop is None


@dataclass(frozen=True)
class FunctionTypes:
    """C's types of a function: of its parameters (an array's is that of its elements) and of its result."""

    parameters: tuple[CType, ...]
    result: CType | None = None


_SAME = (
    "exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan sinh cosh tanh fmod hypot copysign nextafter ldexp "
    "floor ceil trunc isnan isinf isfinite radians degrees gcd lcm fabs"
)
#: Python's functions, and those that only written Python has -> NumPy's.
_FUNCTIONS = {
    **{f"math.{name}": f"np.{name}" for name in _SAME.split()},
    **{f"cmath.{name}": f"np.{name}" for name in "exp log sqrt sin cos tan sinh cosh tanh".split()},
    **{f"{m}.a{name}": f"np.arc{name}" for m in ("math", "cmath") for name in "sin cos tan sinh cosh tanh".split()},
    **{f"_{name}": f"np.{name}" for name in ("fmin", "fmax", "floor", "ceil", "trunc", "rint")},
    "math.atan2": "np.arctan2",
    "cmath.phase": "np.angle",
    "_cabs": "np.abs",
}
_CONSTANTS = {f"math.{name}": f"np.{name}" for name in ("pi", "e", "inf", "nan")} | {"math.tau": "(2 * np.pi)"}
_BOOLEAN = frozenset(("np.isnan", "np.isinf", "np.isfinite", "np.signbit"))
#: Operators under other names, which the text has where C's answer is another than Python's.
_OPERATORS: dict[str, type[ast.operator]] = {
    "_fdiv": ast.Div,
    "_cdiv": ast.Div,
    "_cmul": ast.Mult,
    "_cpow": ast.Pow,
    "math.pow": ast.Pow,
    "pow": ast.Pow,
}
#: Operators that need the low bits of their operands only.
_MODULAR = (ast.Add, ast.Sub, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift)

_NUMPY_KINDS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
_INT, _LONG = CType("i", 32), CType("i", 64)
_NUMBER, _REAL, _COMPLEX = CType("i"), CType("f"), CType("c")
_DOUBLE = CType("f", 64)


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
    loops: list[Loop] = field(default_factory=list)
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
                return self._name(name, node)
            case ast.BinOp(left=left, op=ast.BitAnd(), right=ast.Constant(value=int(mask))) if self.types and mask >= 0:
                return self._masked(left, mask)
            case ast.BinOp(left=left, op=op, right=right):
                modular = loose and isinstance(op, _MODULAR)
                first = self.value(left, loose=modular)
                second = self.value(right, loose=modular and not isinstance(op, ast.LShift))
                return self._operation(op, first, second, loose=loose)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                e = self.truth(operand)
                inverse = ast.Not() if e.constant else ast.Invert()
                return replace(e, node=ast.UnaryOp(inverse, e.node), factors=None, stored=None)
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(op, self.number(self.value(operand, loose=loose)), loose=loose)
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self._comparison(left, ops, others)
            case ast.BoolOp(op=op, values=values):
                word = ast.BitAnd() if isinstance(op, ast.And) else ast.BitOr()
                return self._folded(word, [self.truth(v) for v in values])
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.where(self.truth(test), self.value(body), self.value(orelse))
            case ast.Call(func=func, args=args, keywords=[]):
                return self._call(func, args, loose=loose)
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
        e = self.value(node)
        if e.boolean:
            return e
        unequal = ast.Compare(e.node, [ast.NotEq()], [ast.Constant(0)])
        return replace(e, node=unequal, boolean=True, size=False, type=None)

    def _name(self, name: str, node: ast.expr) -> Val:
        if name in self.hidden:
            raise NoVector
        if name in self.values:
            return self.values[name]
        loop = next((one for one in self.loops if one.variable == name), None)
        stop = (loop.stop or loop.length) if loop is not None else None
        if loop is None or stop is None:
            raise NoVector
        stop = ast.BinOp(stop, ast.Sub(), ast.Constant(-loop.end)) if loop.end else stop
        counter = called("np.arange", *([ast.Constant(loop.start)] if loop.start else []), stop)
        return Val(counter, axes=(name,), type=_LONG if self.types else None, low=loop.start, high=_INT.high)

    # -- bringing values together -----------------------------------------------------------------

    def together(self, values: Sequence[Val]) -> tuple[Val, list[ast.expr]]:
        """A value of all their axes (its node is none yet), and the nodes with axes added."""
        names = {axis for v in values for axis in v.axes}
        axes = tuple(one.variable for one in self.loops if one.variable in names)
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
        if tuple(axes) == e.axes or not (e.axes or (self.stacked and e.batch)):
            return e.node
        items: list[ast.expr] = [ast.Slice() if axis in e.axes else ast.Constant(None) for axis in axes]
        if self.stacked and e.batch:
            items.insert(0, ast.Constant(...))
        else:
            while isinstance(items[0], ast.Constant):
                items.pop(0)
            if len(items) == len(e.axes):
                return e.node
        return ast.Subscript(e.node, ast.Tuple(items) if len(items) > 1 else items[0])

    def _operation(self, op: ast.operator, left: Val, right: Val, *, loose: bool = False) -> Val:
        bits = isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor)
        if left.boolean != right.boolean or (left.boolean and not bits) or isinstance(op, ast.MatMult):
            raise NoVector
        number = Val(ast.Constant(0))
        if not left.boolean and left.type is not None and right.type is not None:
            if left.whole and right.whole and not isinstance(op, ast.Div | ast.Pow):
                left, right, number = self._integers(op, left, right, loose=loose)
            elif bits or isinstance(op, ast.LShift | ast.RShift):
                raise NoVector
            else:
                if not (isinstance(op, ast.Div) or left.floats or right.floats):
                    first = left.integral and not (left.constant or left.size)
                    left, right = (self.settled(left), right) if first else (left, self.settled(right))
                number = replace(number, type=_COMPLEX if _complex((left, right)) else _DOUBLE)
        both, (a, b) = self.together([left, right])
        factors = (left, right) if isinstance(op, ast.Mult) else None
        return replace(both.like(number), node=ast.BinOp(a, op, b), factors=factors, boolean=left.boolean)

    def _folded(self, op: ast.operator, parts: Sequence[Val]) -> Val:
        whole = parts[0]
        for part in parts[1:]:
            both, (a, b) = self.together([whole, part])
            whole = replace(both, node=ast.BinOp(a, op, b), boolean=True)
        return whole

    def where(self, test: Val, yes: Val, no: Val) -> Val:
        if yes.boolean != no.boolean:
            if not self.types:
                raise NoVector
            other = no.type if yes.boolean else yes.type
            t = other if other is not None and other.bits and other.kind in "iu" else _INT
            yes, no = (self._cast(e, t) if e.boolean else e for e in (yes, no))
        if yes.whole and no.whole:
            yes, no = self._beside(yes, no), self._beside(no, yes)
        result, nodes = self.together([test, yes, no])
        result = replace(result, node=called("np.where", *nodes), boolean=yes.boolean, size=False, constant=False)
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
        return self._folded(ast.BitAnd(), parts)

    # -- C's integers -----------------------------------------------------------------------------

    def _integers(self, op: ast.operator, left: Val, right: Val, *, loose: bool) -> tuple[Val, Val, Val]:
        """The operands as they must be, and what is known of the result."""
        left, right = self._beside(left, right), self._beside(right, left)
        low, high = result_range(op, (left.low, left.high), (right.low, right.high))
        (left, right), known = self._ranged((left, right), _common(left, right), low, high, loose=loose)
        return left, right, known

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
            wide = next((w for w in (_INT, _LONG) if w.low <= min(bounds) and max(bounds) <= w.high), None)
            if wide is None:
                raise NoVector
            t, operands = wide, [e if e.constant or e.size else self._cast(e, wide) for e in operands]
        return operands, Val(ast.Constant(0), type=t, low=low, high=high)

    def _unary(self, op: ast.unaryop, e: Val, *, loose: bool) -> Val:
        if e.whole and e.type is not None and not isinstance(op, ast.UAdd):
            least = -1 if isinstance(op, ast.Invert) else 0
            (e,), known = self._ranged([e], e.type, least - e.high, least - e.low, loose=loose)
            e = e.like(known)
        return replace(e, node=ast.UnaryOp(op, e.node), factors=None, stored=None)

    def _masked(self, node: ast.expr, mask: int) -> Val:
        """``node & mask``, which is how the text says that C's unsigned integers wrap."""
        bits = mask.bit_length()
        e = self.value(node, loose=True)
        if e.loose and e.loose < bits:
            e = self.value(node)
        if not e.whole or e.type is None:
            return self._operation(ast.BitAnd(), e, Val(ast.Constant(mask), constant=True))
        unsigned = CType("u", bits) if bits in (8, 16, 32, 64) and mask == (1 << bits) - 1 else None
        top = mask if e.loose or e.low < 0 else min(mask, e.high)
        known = replace(e, low=0, high=top, loose=0, factors=None, stored=None)
        if unsigned is not None and e.type == unsigned:
            return known
        if not e.type.bits or mask <= e.type.high:
            return replace(known, node=ast.BinOp(e.node, ast.BitAnd(), ast.Constant(mask)))
        if unsigned is None:
            raise NoVector
        return replace(self._cast(e, unsigned), low=0, high=top)

    def _wrapped(self, node: ast.expr, t: CType) -> Val:
        """``_int32(node)``."""
        e = self.value(node, loose=True)
        if e.loose and e.loose < t.bits:
            e = self.value(node)
        if not e.whole or e.type is None or t.bits > 64:
            raise NoVector
        if not e.loose and t.low <= e.low and e.high <= t.high:
            return e
        if e.constant and e.low == e.high:
            low = (e.low - t.low & (1 << t.bits) - 1) + t.low
            return replace(e, node=ast.Constant(low), low=low, high=low)
        return e.of_type(t) if e.type == t else self._cast(e, t)

    def _cast(self, e: Val, t: CType) -> Val:
        if e.constant and e.boolean:
            word, number = ("int", _NUMBER) if t.kind in "iu" else ("float", _REAL)
            return replace(e, node=called(word, e.node), boolean=False, type=number, low=0, high=1)
        if e.constant or e.size:
            raise NoVector
        name = ast.Attribute(ast.Name("np"), f"{_NUMPY_KINDS[t.kind]}{t.bits * (2 if t.kind == 'c' else 1)}")
        # A function that the cell calls itself may be called with Python's numbers.
        node = ast.Call(ast.Attribute(e.node, "astype"), [name], []) if self.main else ast.Call(name, [e.node], [])
        known = e.whole and not e.loose and t.kind in "iu" and t.low <= e.low and e.high <= t.high
        low, high = (e.low, e.high) if known else (0, 1) if e.boolean else (0, 0)
        result = replace(e, node=node, factors=None, stored=None, integral=False).of_type(t)
        return replace(result, low=low, high=high) if known or e.boolean else result

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
        kind = _COMPLEX if _complex((yes, no)) else _DOUBLE
        return Val(yes.node, type=kind, integral=not (yes.floats or no.floats))

    # -- calls ------------------------------------------------------------------------------------

    def _call(self, func: ast.expr, args: Sequence[ast.expr], *, loose: bool) -> Val:
        name = spelled(func)
        if name in self.functions:  # the cell's, whatever Python has under that name
            return self._own_call(name, [self.value(a) for a in args])
        match name, args:
            case "len", [array]:
                return self.length(array)
            case "np.asarray" | "np.array", [array]:
                return self.value(array)
            case (("_int8" | "_int16" | "_int32" | "_int64" | "_int128"), [inner]):
                return self._wrapped(inner, CType("i", int(name[4:])))
        match func, args:
            case ast.Attribute(value=inner, attr="conjugate"), []:
                return self._function("np.conj", [self.number(self.value(inner))], loose=loose)
        return self._function(name, [self.value(a) for a in args], loose=loose)

    def _function(self, name: str, values: list[Val], *, loose: bool) -> Val:
        first = values[0] if values else None
        match name, values:
            case (("float" | "int" | "_float32" | "complex"), [Val(boolean=True) as e]) if self.types:
                return self._cast(e, {"int": _INT, "complex": CType("c", 64)}.get(name, self._real()))
            case ("bool", [Val(boolean=True) as e]):
                return e
        values = [self.number(e) for e in values]
        match name, values:
            case (("float" | "_float32" | "_complex64"), [e]):
                if not e.whole or e.type is None:
                    return e
                if name == "_float32" and not (e.constant or e.size):  # the text says so where C rounds
                    return self._cast(e, CType("f", 32))
                if 0 < e.type.bits < 32:  # NumPy's functions of it would be of half or single precision
                    return self._cast(e, self._real())
                return replace(e.of_type(_DOUBLE), integral=True)
            case "complex", [e]:
                return self._operation(ast.Add(), e, Val(ast.Constant(0j), constant=True, type=_COMPLEX))
            case "int", [Val(size=True) | Val(constant=True) as e]:
                return replace(e, node=called("int", e.node))
            case "int", [e] if e.axes or e.batch:
                return e if e.whole else self._cast(e, _LONG)
            case "_truncate", [e, Val(node=ast.Constant(value=int(bits)))]:
                return self._cast(e, CType("i", bits))
            case "_count", [e, Val(low=bits)]:
                return replace(e, low=0, high=bits - 1)
            case "bool", [e]:
                unequal = ast.Compare(e.node, [ast.NotEq()], [ast.Constant(0)])
                return replace(e, node=unequal, boolean=True, type=None)
            case "complex", [re, im]:
                times = self._operation(ast.Mult(), Val(ast.Constant(1j), constant=True, type=_COMPLEX), im)
                return self._operation(ast.Add(), re, times)
            case _, [left, right] if name in _OPERATORS and (name not in ("math.pow", "pow") or not self.types):
                return self._operation(_OPERATORS[name](), left, right)
            case (("math.pow" | "pow"), [left, right]):
                return self._operation(ast.Pow(), *(replace(e, type=_DOUBLE, integral=e.whole) for e in (left, right)))
        if name in ("min", "max") and len(values) == 2 and self.types:
            return self._lesser(name, *values)
        word = self._numpy_call(name, len(values))
        if name == "abs" and first is not None and (first.whole or first.integral):
            return self._absolute(first, loose=loose)
        if not word:
            raise NoVector
        result, nodes = self.together(values)
        result = replace(result, constant=False, size=False)
        if word in ("np.minimum", "np.maximum") and len(nodes) > 2:
            node = nodes[0]
            for other in nodes[1:]:
                node = called(word, node, other)
            return replace(result, node=node)
        result = replace(result, node=called(word, *nodes), boolean=word in _BOOLEAN)
        if result.boolean or any(e.type is None for e in values):
            return result
        return replace(result, type=_COMPLEX if word not in ("np.abs", "np.angle") and _complex(values) else _DOUBLE)

    def _own_call(self, name: str, values: list[Val]) -> Val:
        types = self.types.get(name)
        if types is not None:
            values = [self.as_type(e, t) for e, t in zip(values, types.parameters, strict=True)]
        result, nodes = self.together([self.number(e) for e in values] if types is None else values)
        result = replace(result, node=called(name, *nodes), constant=False, size=False)
        return result if types is None else result.of_type(types.result)

    def as_type(self, e: Val, t: CType | None) -> Val:
        """As a function takes or gives it: its integers in just this type."""
        if e.boolean and t is not None and t.kind != "b":
            return self._cast(e, t)
        if not e.whole or t is None or t.kind not in "iu":
            return self.settled(e)
        if e.constant or e.size:
            return replace(e, node=called(f"np.{_NUMPY_KINDS[t.kind]}{t.bits}", e.node))
        return e if e.type == t else self._cast(e, t)

    def _lesser(self, name: str, left: Val, right: Val) -> Val:
        """Python's ``min`` and ``max``, and those of C++: a NaN on the left stays, one on the right does not."""
        if not (left.constant or right.constant or left.whole or right.whole):
            _, (a, b) = self.together([left, right])
            order = ast.Lt() if name == "min" else ast.Gt()
            return self.where(Val(ast.Compare(b, [order], [a]), right.axes, right.batch), right, left)
        left, right = self._beside(left, right), self._beside(right, left)
        result, nodes = self.together([left, right])
        result = result.like(self._one_of(left, right))
        return replace(
            result, node=called(f"np.f{name}" if left.constant else f"np.{name}imum", *nodes), constant=False
        )

    def _absolute(self, e: Val, *, loose: bool) -> Val:
        if not e.whole:
            return replace(self._cast(e, _DOUBLE), node=called("np.abs", self._cast(e, _DOUBLE).node))
        top = max(abs(e.low), abs(e.high))
        t = e.type
        if t is not None and t.bits and top > t.high:
            if not loose and top > _LONG.high:
                raise NoVector
            e = e if loose else self._cast(e, _LONG)
            return replace(e, node=called("np.abs", e.node), low=0, high=top, loose=t.bits if loose else 0)
        return replace(e, node=called("np.abs", e.node), low=0, high=top, factors=None, stored=None)

    def _real(self) -> CType:
        """The floating-point type that a truth value becomes: float where all others are."""
        types = {t for one in self.types.values() for t in (*one.parameters, one.result) if t and t.kind in "fc"}
        return CType("f", 32) if {t.bits for t in types} == {32} else _DOUBLE

    def _numpy_call(self, name: str, count: int) -> str:
        """NumPy's function for Python's ``name`` of ``count`` arguments, or ``""``."""
        if name in _FUNCTIONS or name.startswith("np."):
            word = _FUNCTIONS.get(name, name)
            function: Any = getattr(np, word[3:], None)
            return word if name == "cmath.phase" or getattr(function, "nin", -1) == count else ""
        if name in ("min", "max"):
            return f"np.{name}imum" if count > 1 and not self.types else ""
        words = {"abs": "np.abs"} if self.types else {"abs": "np.abs", "round": "np.rint"}
        return words.get(name, "") if count == 1 else ""

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
        if not dimensions or axis >= max(dimensions, 1):
            raise NoVector
        if not self.stacked and axis == 0:
            node: ast.expr = called("len", ast.Name(name))
        else:
            shape = ast.Attribute(ast.Name(name), "shape")
            node = ast.Subscript(shape, ast.Constant(axis - dimensions if self.stacked else axis))
        return Val(node, size=True, type=_NUMBER if self.types else None, high=_INT.high)

    def _attribute(self, node: ast.Attribute) -> Val:
        text = spelled(node)
        if text in _CONSTANTS or text in ("np.pi", "np.e", "np.inf", "np.nan"):
            return Val(ast.parse(_CONSTANTS.get(text, text), mode="eval").body, constant=True, type=_REAL)
        if node.attr in ("real", "imag"):
            e = self.number(self.value(node.value))
            known = _DOUBLE if e.type is not None else None
            return replace(e, node=ast.Attribute(e.node, node.attr), factors=None, stored=None, type=known)
        if node.attr == "size" and isinstance(node.value, ast.Name) and self.dimensions.get(node.value.id) in (1, -1):
            return self.extent(node.value.id, 0)
        raise NoVector

    def _subscript(self, node: ast.Subscript) -> Val:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            owner, axis = node.value.value, node.slice
            if isinstance(owner, ast.Name) and isinstance(axis, ast.Constant) and isinstance(axis.value, int):
                return self.extent(owner.id, axis.value % max(self.dimensions.get(owner.id, 1), 1))
        name, indices = chained(node)
        if name in self.hidden or self.dimensions.get(name, 0) not in (-1, len(indices)):
            raise NoVector
        filled = self.values.get(name)
        if filled is not None and filled.axes:
            if [spelled(i) for i in indices] != list(filled.axes):
                raise NoVector
            return filled
        items = [self._index(index) for index in indices]
        axes = tuple(axis for axis, _ in items if axis)
        if len(set(axes)) != len(axes):
            raise NoVector
        array = self._taken(ast.Name(name), [item for _, item in items])
        element = Val(array, axes=axes, batch=True, stored=(axes, array)).of_type(self.elements.get(name))
        order = tuple(one.variable for one in self.loops if one.variable in axes)
        if order == axes:
            return element
        if len(axes) != 2:
            raise NoVector
        turned = called("np.swapaxes", array, ast.Constant(-1), ast.Constant(-2))
        return replace(element, node=turned, axes=order)

    def _index(self, index: ast.expr) -> tuple[str, ast.expr]:
        """The loop that an index belongs to, and what is taken along that axis."""
        shift = 0
        match index:
            case ast.Constant(value=int()):
                return "", index
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
                return "", index
            case ast.BinOp(left=ast.Name() as name, op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=int(by))):
                shift = by if isinstance(op, ast.Add) else -by
                index = name
        loop = next((one for one in self.loops if isinstance(index, ast.Name) and one.variable == index.id), None)
        if loop is None or loop.start + shift < 0 or (loop.stop is None and loop.end + shift > 0):
            raise NoVector
        start = ast.Constant(loop.start + shift) if loop.start + shift else None
        if loop.stop is None:
            last = loop.end + shift
            return loop.variable, ast.Slice(start, ast.Constant(last) if last else None)
        stop = ast.BinOp(loop.stop, ast.Add(), ast.Constant(shift)) if shift else loop.stop
        return loop.variable, ast.Slice(start, stop)

    def _taken(self, array: ast.expr, items: list[ast.expr]) -> ast.expr:
        if all(isinstance(i, ast.Slice) and i.lower is None and i.upper is None for i in items):
            return array
        if self.stacked:
            items = [ast.Constant(...), *items]
        return ast.Subscript(array, ast.Tuple(items) if len(items) > 1 else items[0])


def _complex(values: Sequence[Val]) -> bool:
    return any(e.type is not None and e.type.kind == "c" for e in values)


def _common(left: Val, right: Val) -> CType:
    """NumPy's type for an operation on two integers."""
    a, b = left.type, right.type
    if a is None or b is None or "b" in a.kind + b.kind:
        raise NoVector
    if not (a.bits and b.bits):
        return a if a.bits else b
    if a.kind == b.kind:
        return a if a.bits >= b.bits else b
    signed, unsigned = (a, b) if a.kind == "i" else (b, a)
    bits = max(signed.bits, 2 * unsigned.bits)
    if bits > 64:  # NumPy calculates in double
        raise NoVector
    return CType("i", bits)


def result_range(op: ast.operator, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """Bounds of Python's ``a op b`` of integers."""
    match op:
        case ast.Add():
            return a[0] + b[0], a[1] + b[1]
        case ast.Sub():
            return a[0] - b[1], a[1] - b[0]
        case ast.Mult():
            products = [x * y for x in a for y in b]
            return min(products), max(products)
        case ast.LShift() | ast.RShift() if b[0] >= 0 and b[1] < 128:
            shifted = [(operator.lshift if isinstance(op, ast.LShift) else operator.rshift)(x, y) for x in a for y in b]
            return min(shifted), max(shifted)
        case ast.Mod() | ast.FloorDiv():
            most = max(map(abs, b)) - 1 if isinstance(op, ast.Mod) else max(map(abs, a))
            return (0 if a[0] >= 0 and b[0] >= 0 else -most), most
        case ast.BitAnd() | ast.BitOr() | ast.BitXor():
            positive = [r[1] for r in (a, b) if r[0] >= 0]
            if isinstance(op, ast.BitAnd) and positive:
                return 0, min(positive)
            top = (1 << max((x if x >= 0 else ~x).bit_length() for x in (*a, *b))) - 1
            return (0 if len(positive) == 2 else -top - 1), top
    raise NoVector


def chained(node: ast.expr) -> tuple[str, list[ast.expr]]:
    """``a[i][j]`` and ``a[i, j]`` as the name and its indices."""
    if isinstance(node, ast.Name):
        return node.id, []
    if isinstance(node, ast.Subscript):
        name, indices = chained(node.value)
        return name, [*indices, *(node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])]
    raise NoVector


def called(name: str, *args: ast.expr) -> ast.expr:
    root, _, attribute = name.rpartition(".")
    function: ast.expr = ast.Attribute(ast.Name(root), attribute) if root else ast.Name(attribute)
    return ast.Call(function, list(args), [])
