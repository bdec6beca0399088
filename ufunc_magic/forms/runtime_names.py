"""The names that written Python runs with: Python's own ``math``, or the same with the values of C's Annex F."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from ..ir import MATH_FUNCTIONS, round_to_float
from .random_rounding import make_random_names


def _raise_never(name: str, function: Callable[..., Any], kind: type) -> Callable[..., Any]:
    """``function`` with C's answer, which is NumPy's, where Python raises."""
    other = getattr(np, {"pow": "power"}.get(name, name), None) or getattr(np, f"arc{name[1:]}", None)

    def same(*values: Any) -> Any:
        try:
            return function(*values)
        except (ValueError, OverflowError) as error:
            if name in ("gamma", "lgamma"):  # NumPy has none
                if name == "gamma" and values[0] == 0:
                    return math.copysign(math.inf, values[0])
                return math.nan if name == "gamma" and isinstance(error, ValueError) else math.inf
            with np.errstate(all="ignore"):
                return kind(other(*(v if name == "ldexp" else kind(v) for v in values))) if other else math.nan

    return same


def _fdiv(a: float, b: float) -> float:
    if b != 0:
        return a / b
    if a == 0 or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _cdiv(a: complex, b: complex) -> complex:
    if not isinstance(b, complex) or b == 0:
        return complex(_fdiv(a.real, b.real), _fdiv(a.imag, b.real))
    return a / b


def _cmul(a: Any, b: Any) -> complex:
    """C's product (C17, G.5.1): a real factor stays real, an infinity survives where the formula gives NaN twice."""
    if not isinstance(a, complex):
        return complex(a * b.real, a * b.imag)
    if not isinstance(b, complex):
        return complex(a.real * b, a.imag * b)
    plain = complex(a * b)
    if plain.real == plain.real or plain.imag == plain.imag:
        return plain
    if not (cmath.isinf(a) or cmath.isinf(b)):
        return plain
    a, b = (
        _find_corner(z) if cmath.isinf(z) else complex(*(0.0 if p != p else p for p in (z.real, z.imag)))
        for z in (a, b)
    )
    re, im = a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real
    return complex(math.inf * re, math.inf * im)


def _complex64(z: complex) -> complex:
    return complex(round_to_float(z.real), round_to_float(z.imag))


def _find_corner(z: complex) -> complex:
    """An infinity as a number in its direction."""
    return complex(*(math.copysign(1.0 if math.isinf(part) else 0.0, part) for part in (z.real, z.imag)))


def _cpow(a: complex, b: complex) -> complex:
    try:
        return complex(a**b)
    except (ZeroDivisionError, OverflowError):
        return complex(math.nan, math.nan)


def _libm_cpow(a: complex, b: complex) -> complex:
    """The function of C, as glibc and musl compute it: 0 to the power of 0 is NaN."""
    return complex(_exp(_cmul(complex(b), _log(complex(a)))))


def _fmin(a: float, b: float) -> float:
    return float(b if a != a or b < a else a)


def _fmax(a: float, b: float) -> float:
    return float(b if a != a or b > a else a)


def _fdim(a: float, b: float) -> float:
    return math.nan if a != a or b != b else a - b if a > b else 0.0


def _hypot3(x: float, y: float, z: float) -> float:
    """C++'s own of three numbers, for which libstdc++ and libc++ disagree on infinities."""
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        raise OverflowError("of infinities and NaN")
    return math.hypot(x, y, z)


def _cabs(z: complex) -> float:
    return math.hypot(z.real, z.imag)


def _truncate(x: float, bits: int, unsigned: int = 0) -> int:
    """Double to integer; what does not fit is undefined in C, where processors differ, and vector code from scalar."""
    low, high = (0.0, 2.0**bits) if unsigned else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1))
    if not low - 1 < x < high:
        raise OverflowError(f"{x} as an integer of {bits} bits")
    return int(x)


def _round_whole(function: Callable[[float], float]) -> Callable[[float], float]:
    """``function``, which rounds, with a floating-point result as C's."""
    return lambda x: math.copysign(float(function(x)), x) if math.isfinite(x) else x


_exp, _log = (_raise_never(name, getattr(cmath, name), complex) for name in ("exp", "log"))

_VERIFY: dict[str, object] = {
    "math": SimpleNamespace(
        **{
            name: _raise_never(name, value, float) if callable(value) else value
            for name, value in vars(math).items()
            if not name.startswith("_")
        }
    ),
    "cmath": SimpleNamespace(
        **{
            name: _raise_never(name, getattr(cmath, name), complex)
            for row in MATH_FUNCTIONS.values()
            if row.result == "complex" and row.python.startswith("cmath.")
            for name in [row.python.removeprefix("cmath.")]
        },
        phase=lambda z: math.atan2(z.imag, z.real),
    ),
    **{f.__name__: f for f in (_fdiv, _cdiv, _cmul, _cpow, _libm_cpow, _cabs, _complex64)},
    **{f.__name__: f for f in (_fmin, _fmax, _fdim, _truncate, _hypot3)},
    **{f"_{f.__name__}": _round_whole(f) for f in (math.floor, math.ceil, math.trunc)},
    "_rint": _round_whole(round),
    "_float32": round_to_float,
}


def make_namespace(kind: Literal["timing", "verify", "random", "vector"]) -> dict[str, object]:
    """Fresh globals in which to execute a form's text.

    Parameters
    ----------
    kind : {"timing", "verify", "random", "vector"}
        "timing" for ``source``: Python's own ``math`` and ``cmath``, whose functions raise outside
        their domain.  "verify" for ``checked`` (``source`` runs in it too): the same names with the
        values of C's Annex F, and never an exception.  "random": the same, its results rounded at random;
        for a function that is called ``at_random``.  "vector" for ``vector``: ``np``.
    """
    if kind == "random":
        return make_random_names(_VERIFY)
    names: dict[str, dict[str, object]]
    names = {"timing": {"math": math, "cmath": cmath}, "verify": {**_VERIFY}, "vector": {"np": np}}
    return names[kind]
