"""C's operators and conversions as Python's, with marks: conversions, arithmetic, and where integers must be wrapped.

Integers are Python's, wrapped only where a result may leave its C type *and* something looks at it: a chain
of ``+ - *`` is wrapped once, at its end, because it is exact modulo 2**bits.  Known ranges (literals, loop
counters, sizes) save the wrap altogether; subscripts need none, since C leaves such an overflow undefined.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from dataclasses import replace

from ..ir import (
    COMPLEX,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    CType,
    MathFunction,
    Node,
    convert_usually,
    find_result_range,
    promote,
)
from .integer_rules import read_mark, write_hexadecimal, write_mark
from .marks import write_library_mark
from .value import Expr, Spelled, Stop, assign, call, number, parse_template, write_operation

#: Up to here a floating-point type has every integer.
_EXACT = {32: 1 << 24, 64: 1 << 53}


def write_constant(value: int, t: CType, text: str = "") -> Expr:
    """An integer constant, spelled as the cell has it."""
    return Expr(number(Spelled(value, text) if text else value), t, low=value, high=value, value=value)


def is_inexact(e: Expr, t: CType) -> bool:
    """Whether C rounds an integer that is used as a floating-point number of type ``t``, and Python may not."""
    low, high = e.range
    most = _EXACT.get(t.bits)
    return most is not None and e.type.kind in "iu" and not -most <= low <= high <= most


def round_result(e: Expr) -> Expr:
    """A result of C's float or of its complex type, which C rounds."""
    if e.type == CType("c", 32):
        return replace(e, node=write_mark("complex64", e))
    return replace(e, node=write_mark("float32", e)) if e.type == FLOAT else e


def write_test(e: Expr) -> Expr:
    """``e`` where all that matters is whether it is 0: a remainder's sign does not."""
    parts = read_mark(e.node, "rem")
    return replace(e, node=write_operation("%", *parts)) if parts else e


class Operators:
    """Operators on ``Expr``."""

    def stop(self, reason: str, node: Node | None = None) -> Stop:
        """The exception for what has no Python form."""
        return Stop(reason, node.at.line if node is not None else 0)

    def settle(self, e: Expr) -> Expr:
        """``e`` with the value that C sees."""
        if e.logical:
            return replace(e, node=call("bool", e), logical=False, truth=True)
        return self.wrap(e, e.type) if e.loose else e

    def wrap(self, e: Expr, t: CType) -> Expr:
        return Expr(write_mark(f"{'u' if t.kind == 'u' else ''}int{t.bits}", e), t)

    # -- conversions (C17 6.3) --------------------------------------------------------------------

    def convert(self, e: Expr, t: CType, *, node: Node | None = None, final: bool = False) -> Expr:
        """``e`` as C converts it to ``t`` on assignment, call or return (``final``: as a plain number)."""
        if "a" in (t.kind, e.type.kind):
            if t.kind != e.type.kind:
                raise self.stop("uses a pointer where a number is expected", node)
            return e
        if "v" in (t.kind, e.type.kind):
            raise self.stop("uses the value of a void expression", node)
        match t.kind:
            case "b":
                e = e if e.logical or e.truth else self.settle(e)
                return e if e.truth else Expr(call("bool", e), t, truth=True)
            case "i" | "u":
                return self.to_integer(e, t, final=final)
            case "f":
                return self.to_float(e, t)
            case "c":
                e = self.settle(e)
                as_complex = replace(e, type=t) if e.type.kind == "c" else Expr(call("complex", e), t)
                return round_result(as_complex) if e.type.bits > t.bits else as_complex
        raise self.stop(f"uses the type `{t.name}`" if t.name else "uses a type that Python does not have", node)

    def to_integer(self, e: Expr, t: CType, *, final: bool = False) -> Expr:
        if e.logical or e.truth:
            e = self.settle(e)
            return Expr(write_mark("truth", e), t, low=0, high=1) if final else replace(e, type=t)
        if e.type.kind == "c":
            e = Expr(parse_template("{}.real", e), DOUBLE)
        if e.type.kind == "f":
            kind = number(t.bits), number(int(t.kind == "u"))
            return Expr(write_mark("integer" if e.whole else "truncate", e, *kind), t)
        if e.loose:
            if e.type.bits >= t.bits:
                return self.wrap(e, t)
            e = self.settle(e)
        low, high = e.range
        return replace(e, type=t) if t.low <= low and high <= t.high else self.wrap(e, t)

    def to_float(self, e: Expr, t: CType) -> Expr:
        if e.type.kind == "c":
            return Expr(parse_template("{}.real", e), t)
        if e.type.integral:
            e = self.settle(e)
            if e.value is not None:
                return Expr(number(float(e.value)), t, value=float(e.value))
            # A float by way of double would be rounded twice.
            return Expr(write_mark("single", e) if t == FLOAT and is_inexact(e, t) else call("float", e), t)
        if e.whole:
            e = Expr(write_mark("whole", e), e.type)
        return round_result(replace(e, type=t)) if t.bits == 32 and e.type.bits > 32 else replace(e, type=t)

    def convert_operand(self, e: Expr, t: CType) -> Expr:
        """An integer beside a number of floating-point type ``t``, which Python converts exactly, and C rounds."""
        if not is_inexact(e, t):
            return e
        return Expr(write_mark("float32" if t == FLOAT else "double", self.settle(e)), t)

    # -- operators (C17 6.5) ----------------------------------------------------------------------

    def write_binary(self, op: str, left: Expr, right: Expr, node: Node | None) -> Expr:
        """An arithmetic operation, not of pointers; of floating-point numbers the operands may still be integers."""
        if left.type.integral and right.type.integral:
            return self.write_integer(op, left, right)
        if op not in ("+", "-", "*", "/"):
            raise self.stop(f"applies `{op}` to a floating-point number", node)
        left, right = self.settle(left), self.settle(right)
        t = convert_usually(left.type, right.type)
        left, right = self._make_real(left, right, t)
        if t == FLOAT:
            left, right = self.convert_operand(left, t), self.convert_operand(right, t)
        if op == "/" and (t.kind == "c" or not right.value):
            return round_result(Expr(write_mark("cdiv" if t.kind == "c" else "fdiv", left, right), t))
        if op == "*" and t.kind == "c":
            return round_result(Expr(write_mark("cmul", left, right), t))
        return round_result(Expr(write_operation(op, left, right), t))

    def _make_real(self, left: Expr, right: Expr, t: CType) -> tuple[Expr, Expr]:
        """Two operands, at least one of them as Python's float: both may be an int where C has a double."""
        if left.whole and (right.whole or right.type.integral):
            return Expr(write_mark("whole", left), t), right
        if right.whole and left.type.integral:
            return left, Expr(write_mark("whole", right), t)
        return left, right

    def compare(self, op: str, left: Expr, right: Expr) -> Expr:
        left, right = self.settle(left), self.settle(right)
        if op in ("==", "!=") and right.value == 0:
            left = write_test(left)
        if left.type.integral and right.type.integral:
            t = convert_usually(left.type, right.type)
            left, right = self.to_integer(left, t), self.to_integer(right, t)
        elif (
            t := convert_usually(left.type, right.type)
        ).kind == "f":  # Python compares an integer with its exact value
            left, right = self.convert_operand(left, t), self.convert_operand(right, t)
        return Expr(write_operation(op, left, right), INT, low=0, high=1, truth=True)

    def write_integer(self, op: str, left: Expr, right: Expr) -> Expr:
        if op in ("<<", ">>"):
            return self.shift(op, left, right)
        t = convert_usually(left.type, right.type)
        if op in ("/", "%"):
            return self.divide(op, self.to_integer(left, t), self.to_integer(right, t), t)
        left, right = self.make_modular(left, t), self.make_modular(right, t)
        e = Expr(write_operation(op, left, right), t)
        if left.loose or right.loose:
            masks = [m for m in (left, right) if not m.loose and m.range[0] >= 0]
            if op == "&" and masks:
                return replace(e, low=0, high=masks[0].range[1])
            return replace(e, loose=True)
        low, high = find_result_range(op, left.range, right.range)
        if low < t.low or high > t.high:
            return replace(e, loose=True)
        known = low if left.value is not None and right.value is not None and low == high else None
        return replace(e, low=low, high=high, value=known)

    def make_modular(self, e: Expr, t: CType) -> Expr:
        """``e`` as an operand of ring arithmetic in ``t``: right modulo 2**bits is enough."""
        if e.logical or (e.loose and e.type.bits < t.bits):
            e = self.settle(e)
        low, high = e.range
        fits = not e.loose and t.low <= low and high <= t.high
        return replace(e, type=t, low=low, high=high) if fits else replace(e, type=t, low=None, high=None, loose=True)

    def divide(self, op: str, left: Expr, right: Expr, t: CType) -> Expr:
        """C's ``/`` or ``%`` of integers, which rounds to zero (6.5.5)."""
        (a, b), (c, d) = left.range, right.range
        if a >= 0 and c >= 0:
            if left.value is not None and right.value and isinstance(left.value, int) and isinstance(right.value, int):
                return write_constant(left.value // right.value if op == "/" else left.value % right.value, t)
            e = Expr(write_operation("//" if op == "/" else "%", left, right), t)
        else:
            e = Expr(write_mark("div" if op == "/" else "rem", left, right), t)
        if op == "%":
            most = max(abs(c), abs(d)) - 1
            return replace(e, low=0 if a >= 0 else max(-most, t.low), high=min(b, most) if b >= 0 else 0)
        return replace(e, low=min(a, -b, 0) if a < 0 or c < 0 else 0, high=min(max(b, -a), t.high))

    def shift(self, op: str, left: Expr, right: Expr) -> Expr:
        t = promote(left.type)
        right = self.settle(right)
        if right.range[0] < 0 or right.range[1] >= t.bits:  # undefined in C; x86 takes the count modulo the width
            right = Expr(write_mark("shift", right, t.bits - 1), right.type, low=0, high=t.bits - 1)
        left = replace(self.settle(left) if op == ">>" or left.logical else left, type=t)
        e = Expr(write_operation(op, left, right), t)
        if op == ">>":
            low, high = left.range
            return replace(e, low=min(low, 0), high=max(high, 0) >> right.range[0])
        if left.loose or left.range[0] < t.low >> right.range[1] or left.range[1] << right.range[1] > t.high:
            return replace(e, loose=True)
        ends = (left.range[0] << right.range[1], left.range[1] << right.range[1])
        return replace(e, low=min(ends[0], left.range[0]), high=max(ends[1], 0))

    def flip_bits(self, e: Expr) -> Expr:
        """``~e``."""
        e = self.make_modular(e, promote(e.type))
        if e.type.kind == "u":
            # Not ~, as below; and NumPy's unsigned numbers know no -1.
            return Expr(write_operation("^", e, write_hexadecimal(e.type.high)), e.type, loose=e.loose)
        low, high = e.range
        flipped = Expr(write_mark("flip", e), e.type, loose=e.loose)
        return flipped if e.loose else replace(flipped, low=~high, high=~low)

    def negate(self, e: Expr) -> Expr:
        """``-e``."""
        value = -e.value if e.value is not None else None
        if not e.type.integral:
            return Expr(ast.UnaryOp(ast.USub(), e.node), e.type, whole=e.whole, value=value)
        e = self.make_modular(e, promote(e.type))
        low, high = e.range
        negated = Expr(ast.UnaryOp(ast.USub(), e.node), e.type, loose=True)
        if e.loose or -high < e.type.low or -low > e.type.high:
            return negated
        return replace(negated, loose=False, low=-high, high=-low, value=value)

    def write_choice(self, test: Expr, left: Expr, right: Expr, t: CType) -> Expr:
        """``left if test else right``."""
        left, right = self.convert(left, t), self.convert(right, t)
        e = Expr(ast.IfExp(test.node, left.node, right.node), t, truth=left.truth and right.truth)
        if t.integral:
            return replace(e, low=min(left.range[0], right.range[0]), high=max(left.range[1], right.range[1]))
        return e

    def store(self, target: Expr, value: Expr, node: Node | None) -> ast.stmt:
        """The statement that puts ``value`` into a place; ``x += y`` where that is all it does."""
        e = self.convert(value, target.type, node=node)
        match e.node:
            case ast.BinOp(left=left, op=op, right=right) if left is target.node:
                return ast.AugAssign(target.node, op, right)  # type: ignore[arg-type]
        return assign(target, e)

    def write_extreme(self, name: str, values: Sequence[Expr]) -> Expr:
        """``min`` or ``max`` of numbers."""
        t = functools.reduce(lambda a, b: a if a == b else convert_usually(a, b), (v.type for v in values))
        values = [self.convert(v, t) for v in values]
        e = Expr(call(name, *values), t)
        if not t.integral:
            return e
        pick = min if name == "min" else max
        return replace(e, low=pick(v.range[0] for v in values), high=pick(v.range[1] for v in values))

    # -- C's library (C17 7.12) -------------------------------------------------------------------

    def write_library_call(self, row: MathFunction, t: CType, values: Sequence[Expr], node: Node) -> Expr:
        """A call of a function of C's library, which works in the floating-point type ``t``."""
        values = [self.settle(v) for v in values]
        if row.result == "same" and row.python == "abs" and values[0].type.integral:
            return self._write_absolute(values[0])
        if row.result not in ("same", "complex") and t.kind == "f":
            count = row.integer[0] if row.integer is not None else -1
            values = [v if at == count else self._convert_argument(v, t, row) for at, v in enumerate(values)]
        elif row.name == "cpow" and all(v.type.kind != "c" for v in values):  # NumPy's power would be real
            values[0] = self.convert(values[0], COMPLEX)
        if row.python == "{0}":
            return values[0]
        nodes = [v.node for v in values]
        if row.checked:
            written = write_library_mark(row.name, nodes)
        else:
            written = parse_template(row.python, *nodes) if "{" in row.python else call(row.python, *nodes)
        types = {
            "same": values[0].type,
            "int": INT,
            "long": LONG,
            "bool": INT,
            "complex": replace(COMPLEX, bits=t.bits),
        }
        of = types.get(row.result, t)
        if of.kind == "c" and row.real:
            of = replace(of, kind="f")
        flag = row.result == "bool"
        e = Expr(written, of, 0 if flag else None, 1 if flag else None, truth=flag, whole=row.whole)
        return round_result(e)

    def _convert_argument(self, e: Expr, t: CType, row: MathFunction) -> Expr:
        """An argument as a parameter of type ``t`` holds it, where that changes its value."""
        returned = row.python in ("min", "max")  # as it is, not as a floating-point number
        if not e.type.arithmetic or (returned and (e.type.integral or e.whole)):
            return self.convert(e, t)
        if e.type.kind == "f" and e.type.bits > t.bits:
            return self.to_float(e, t)
        return self.convert_operand(e, t)

    def _write_absolute(self, e: Expr) -> Expr:
        t = promote(e.type)
        low, high = e.range
        loose = max(high, -low) > t.high
        return Expr(call("abs", e), t, None if loose else 0, None if loose else max(high, -low), loose=loose)
