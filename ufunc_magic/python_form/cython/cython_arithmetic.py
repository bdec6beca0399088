"""Cython's operators on Python expressions: plain in the text that is timed, with C's answers in the checked one.

Where an operand is a Python object, Cython itself uses Python's operators, and so does every text.  The rules
are those of Cython's directives ``cdivision``, ``cpow`` and ``language_level``; conversions and wrapping of C
integers are pyloop's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from ..arithmetic_expressions import Arithmetic
from ..c_arithmetic import BOOL, DOUBLE, FLOAT, INT, LONG, CType, promoted, usual
from ..math_names import HELPERS
from ..value import ATOM, BIT_AND, COMPARE, POWER, PRODUCT, UNARY, Expr
from .cython_cell import Cell
from .cython_tree import stop
from .cython_types import OBJECT

__all__ = ["OWN_HELPERS", "Operators"]

_COMPARISONS = frozenset(("<", ">", "<=", ">=", "==", "!="))
_LEVELS = {"//": PRODUCT, "%": PRODUCT, "@": PRODUCT, "**": POWER}

#: Constants from here on are taken for those of a hash or a random number generator.
_MIXING = 1 << 14

#: Functions that a checked text brings along, beside pyloop's.
OWN_HELPERS = {
    "_as_int": (
        "def _as_int(x, low, high):\n    x = x.__index__()\n    if not low <= x <= high:\n"
        '        raise OverflowError("value too large to convert")\n    return x\n'
    ),
    "_power": (
        "def _power(x, y):\n    if x < 0 and y == y and y != math.floor(y):\n"
        '        raise TypeError("the result is complex")\n    return math.pow(x, y)\n'
    ),
    "_int_power": "def _int_power(x, y):\n    return pow(x, y, 1 << 128) if y >= 0 else 0\n",
    "_modulo": (
        'def _modulo(x, y):\n    if y == 0:\n        raise ZeroDivisionError("float divmod()")\n'
        "    r = math.fmod(x, y)\n    return r + (r != 0 and (r < 0) != (y < 0))*y\n"
    ),
    **HELPERS,
}


class Operators(Arithmetic):
    """Operators on ``Expr``; ``directives`` are those of the function."""

    def __init__(self, cell: Cell, *, checked: bool, directives: Mapping[str, Any]) -> None:
        super().__init__(cast(Any, cell), checked=checked)
        self.own = cell
        self.cdivision = bool(directives.get("cdivision"))
        self.cpow: bool | None = directives.get("cpow")
        self.floor_division = str(directives.get("language_level", 3)) == "2"

    # -- conversions ------------------------------------------------------------------------------

    def convert(self, e: Expr, t: CType, *, node: Any = None, final: bool = False) -> Expr:
        if t.kind == "v" or e.type.kind == "v":
            raise stop("uses the value of a function that has none", node)
        if "p" in (t.kind, e.type.kind):
            raise stop("uses a pointer", node)
        if t.kind == "o":
            return replace(self.settle(e), type=OBJECT, low=None, high=None)
        if not t.arithmetic:
            return self._compound(e, t, node)
        if e.type.kind == "o":
            return self._from_object(e, t)
        if not e.type.arithmetic:
            raise stop("uses an array or a structure where a number is expected", node)
        if not self.checked:
            e = self.settle(e)
            return e if e.type == t else replace(e, type=t, low=None, high=None)
        made = super().convert(e, t, node=None, final=final)
        if made.value is not None and made.text != e.text and e.type.integral and t.kind == "f":
            return replace(made, text=repr(float(made.value)))
        return made

    def _compound(self, e: Expr, t: CType, node: Any) -> Expr:
        if e.type.kind == "s" and t.kind == "s":
            return Expr(f"SimpleNamespace(**vars({e.text}))", t)  # a structure is copied
        if e.type.kind != t.kind and not {e.type.kind, t.kind} <= set("oanVt"):
            raise stop("mixes numbers and structures", node)
        return replace(e, type=t)

    def _from_object(self, e: Expr, t: CType) -> Expr:
        if not self.checked:
            return replace(e, type=t)
        match t.kind:
            case "b":
                return Expr(f"bool({e.text})", BOOL, truth=True)
            case "i" | "u":
                return Expr(f"{self.helper('_as_int')}({e.text}, {t.low}, {t.high})", t)
            case "f":
                return self.rounded(Expr(f"float({e.text})", t))
        return Expr(f"complex({e.text})", t)

    def cast(self, e: Expr, t: CType, node: Any) -> Expr:
        """``<t>e``."""
        if self.checked or e.type.kind not in "biufco" or not t.arithmetic:
            return self.convert(e, t, node=node)
        e = self.settle(e)
        match t.kind:
            case "b":
                return e if e.truth else Expr(f"bool({e.text})", t, truth=True)
            case "i" | "u" if e.type.kind in "fo":
                made = Expr(e.text if e.whole else f"int({e.text})", t)
                return self._narrow(made, t) if t.kind == "u" and t.bits < 64 else made
            case "i" | "u":
                fits = t.low <= e.range[0] and e.range[1] <= t.high
                made = replace(e, type=t) if fits else replace(e, type=t, low=None, high=None)
                return self._narrow(made, t) if t.kind == "u" and t.bits < e.type.bits and not fits else made
            case "f" if e.type.integral or e.whole or e.type.kind == "o":
                if e.value is not None:
                    return Expr(repr(float(e.value)), t, e.level, value=float(e.value))
                return Expr(f"float({e.text})", t)
            case "c" if e.type.kind != "c":
                return Expr(f"complex({e.text})", t)
        return replace(e, type=t)

    def _narrow(self, e: Expr, t: CType) -> Expr:
        return Expr(f"{e.at(BIT_AND)} & {t.high:#x}", t, BIT_AND)

    # -- operators --------------------------------------------------------------------------------

    def operate(self, op: str, left: Expr, right: Expr, node: Any, *, spaced: bool = True) -> Expr:
        """``left op right`` for every operator but ``and``, ``or``."""
        if op in _COMPARISONS:
            return self.comparison(op, left, right)
        for e in (left, right):
            if e.type.kind in "pvs":
                raise stop("calculates with a pointer or a structure", node)
        if not (left.type.arithmetic and right.type.arithmetic):
            return self._plain(op, self.settle(left), self.settle(right), OBJECT, spaced)
        both = left.type.integral and right.type.integral
        if op == "/" and both and (self.floor_division or self.cdivision):  # cdivision is C's division of integers too
            op = "//"
        match op:
            case "/":
                return self._quotient(left, right, spaced)
            case "//" | "%":
                return self._divided(op, left, right, spaced, both=both)
            case "**":
                return self._raised(left, right, spaced)
            case "@":
                raise stop("multiplies numbers as matrices", node)
        if op not in ("+", "-", "*") and not both:
            raise stop(f"applies `{op}` to a number that is no integer", node)
        if both and self.checked:
            return self.integer(op, left, right, spaced)
        if both:
            return self._unchecked(op, left, right, spaced)
        return self.rounded(self.infix(op, self.settle(left), self.settle(right), _float_type(left, right), spaced))

    def comparison(self, op: str, left: Expr, right: Expr) -> Expr:
        if self.checked and left.type.arithmetic and right.type.arithmetic:
            return replace(super().compare(op, left, right), type=BOOL)
        left, right = self.settle(left), self.settle(right)
        objects = not (left.type.arithmetic and right.type.arithmetic)
        text = f"{left.at(COMPARE + 1)} {op} {right.at(COMPARE + 1)}"
        return Expr(text, OBJECT if objects else BOOL, COMPARE, truth=True)

    def infix(self, op: str, left: Expr, right: Expr, t: CType, spaced: bool) -> Expr:
        return self._plain(op, left, right, t, spaced) if op in _LEVELS else super().infix(op, left, right, t, spaced)

    def _plain(self, op: str, left: Expr, right: Expr, t: CType, spaced: bool) -> Expr:
        if op not in _LEVELS:
            return super().infix(op, left, right, t, spaced)
        level = _LEVELS[op]
        gap = " " if spaced else ""
        lowest, highest = (ATOM, UNARY) if op == "**" else (level, level + 1)
        text = f"{left.at(lowest)}{gap}{op}{gap}{right.at(highest)}"
        return Expr(text, t, level, parts=(left.text, op, right.text))

    def _unchecked(self, op: str, left: Expr, right: Expr, spaced: bool) -> Expr:
        """C integers in the text that is timed: masked only where hashes and random numbers live on it."""
        t = promoted(left.type) if op in ("<<", ">>") else usual(left.type, right.type)
        if op in ("&", "^", "|", ">>"):
            keep = left.loose or right.loose
            if op == ">>" or (op != "&" and keep):
                left, right, keep = self.settle(left), self.settle(right), False
            return replace(self.infix(op, left, right, t, spaced), loose=keep)
        e = self.infix(op, left, right, t, spaced)
        constant = max((abs(x.value) for x in (left, right) if isinstance(x.value, int)), default=0)
        least = {"*": _MIXING, "+": _MIXING**2}.get(op, t.high)
        mixing = (op == "<<" and left.value is None) or constant >= least
        return replace(e, loose=t.kind == "u" and (left.loose or right.loose or mixing))

    def _quotient(self, left: Expr, right: Expr, spaced: bool) -> Expr:
        left, right = self.settle(left), self.settle(right)
        t = _float_type(left, right)
        t = DOUBLE if t.integral else t
        if self.checked and self.cdivision and not right.value:
            return self.rounded(Expr(f"{'_cdiv' if t.kind == 'c' else '_fdiv'}({left.text}, {right.text})", t))
        return self.rounded(self._divide(left, right, t, spaced))

    def _divide(self, left: Expr, right: Expr, t: CType, spaced: bool) -> Expr:
        return super().infix("/", left, right, t, spaced)

    def _divided(self, op: str, left: Expr, right: Expr, spaced: bool, *, both: bool) -> Expr:
        t = usual(left.type, right.type)
        if both and self.cdivision:
            self.own.truncates = self.own.truncates or t.kind == "i"
        if not self.checked:
            return self._plain(op, self.settle(left), self.settle(right), t, spaced or op == "%")
        if both:
            left, right = self._to_integer(left, t, False), self._to_integer(right, t, False)
            if self.cdivision:
                return self.divide("/" if op == "//" else op, left, right, t, spaced)
            e = self._plain(op, left, right, t, spaced or op == "%")
            (a, b), (c, d) = left.range, right.range
            if op == "%":
                return replace(e, low=min(c + 1, 0), high=max(d - 1, 0))
            most = max(abs(a), abs(b))
            return replace(e, low=0 if a >= 0 and c >= 0 else max(-most, t.low), high=min(most, t.high))
        left, right = self.settle(left), self.settle(right)
        if op == "%":
            if self.cdivision:
                return self.rounded(Expr(f"math.fmod({left.text}, {right.text})", t))
            return self.rounded(Expr(f"{self.helper('_modulo')}({left.text}, {right.text})", t))
        inner = self._quotient(left, right, spaced)
        return self.rounded(Expr(f"_floor({inner.text})", t))

    def _raised(self, left: Expr, right: Expr, spaced: bool, *, cpow: bool | None = None) -> Expr:
        """``left ** right``; without ``cpow`` the result may be a fraction or complex, as in Python."""
        cpow = self.cpow if cpow is None else cpow
        left, right = self.settle(left), self.settle(right)
        t = usual(left.type, right.type)
        if t.integral and (isinstance(right.value, int) or isinstance(left.value, int)):
            t = usual(t, LONG)  # Cython's literals are long
        if t.integral and not cpow and (right.type.kind == "i" if right.value is None else right.value < 0):
            t = DOUBLE
        if t.integral:
            return self._integer_power(left, right, t, spaced)
        if not self.checked:
            # Python's integers would grow without end where Cython calculates in double.
            open_ = left.type.integral and right.type.integral and right.value is None
            left = Expr(f"float({left.text})", DOUBLE) if open_ else left
            return self._plain("**", left, right, t, spaced)
        if t.kind == "c":
            return Expr(f"_cpow({left.text}, {right.text})", t)
        whole = right.type.integral or (isinstance(right.value, int | float) and float(right.value).is_integer())
        positive = left.type.kind == "u" or (left.value is not None and left.value >= 0)
        name = "math.pow" if whole or positive or cpow else self.helper("_power")
        return self.rounded(Expr(f"{name}({left.text}, {right.text})", t))

    def _integer_power(self, left: Expr, right: Expr, t: CType, spaced: bool) -> Expr:
        if not isinstance(right.value, int) or not 0 <= right.value <= 64:
            return Expr(f"{self.helper('_int_power')}({left.text}, {right.text})", t, loose=True)
        e = self._plain("**", left, right, t, spaced)
        if not self.checked:
            return e
        ends = [end**right.value for end in left.range]
        if max(map(abs, ends)) > t.high:
            return replace(e, loose=True)
        return replace(e, low=min(*ends, 0), high=max(*ends, 0))

    def direct_power(self, left: Expr, right: Expr, t: CType, *, spaced: bool) -> Expr | None:
        """``left ** right`` where it goes straight into a C number: C's own power, if ``cpow`` is not given."""
        if self.cpow is not None or t.kind not in "fiu" or not (left.type.kind in "fiub" and right.type.kind in "fiub"):
            return None
        if t.kind != "f" and not (left.type.integral and right.type.integral):
            return None
        if t.kind == "f" and left.type.integral and right.type.integral:
            return None
        return self._raised(left, right, spaced, cpow=True)

    def signed(self, op: str, e: Expr) -> Expr:
        """``-e``, ``+e`` and ``~e``."""
        if op == "-" and e.type.arithmetic and self.checked:
            return self.negative(e)
        e = self.settle(e)
        t = promoted(e.type) if e.type.arithmetic else OBJECT
        if op == "~" and self.checked and t.integral:
            flipped = Expr(f"~int({e.text})" if e.truth else f"~{e.at(UNARY)}", t, UNARY, loose=True)
            low, high = e.range
            return flipped if t.kind == "u" else replace(flipped, loose=False, low=~high, high=~low)
        value = -e.value if op == "-" and e.value is not None and not e.truth else None
        text = f"{op}{e.at(UNARY)}"
        return Expr(text, t, UNARY, loose=op == "~" and t.kind == "u", value=value, whole=e.whole)

    def chosen(self, test: Expr, left: Expr, right: Expr, t: CType) -> Expr:
        """``left if test else right``."""
        from_objects = t.kind == "o"
        if not from_objects or not self.checked:
            left, right = self.settle(left), self.settle(right)
        if self.checked and t.arithmetic:
            left, right = self.convert(left, t), self.convert(right, t)
        text = f"{left.at(2)} if {test.at(2)} else {right.at(1)}"
        e = Expr(text, t, 1, truth=left.truth and right.truth)
        if t.integral and left.type.integral and right.type.integral:
            return replace(e, low=min(left.range[0], right.range[0]), high=max(left.range[1], right.range[1]))
        return e

    def common(self, left: CType, right: CType) -> CType:
        """The type that holds either of two values."""
        if left == right:
            return left
        if left.arithmetic and right.arithmetic:
            t = usual(left, right)
            return INT if t == BOOL else t
        return OBJECT


def _float_type(left: Expr, right: Expr) -> CType:
    """The type of an operation; a whole number beside a float is written as C's double constant."""
    t = usual(left.type, right.type)
    literal = any(e.type.integral and e.value is not None for e in (left, right))
    return DOUBLE if literal and t == FLOAT else t
