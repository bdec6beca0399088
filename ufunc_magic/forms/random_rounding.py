"""Numbers whose operations are rounded at random, to see how far the roundings of a function may carry its result.

That is Monte Carlo arithmetic (D. S. Parker, UCLA CSD-970002, 1997).  Unlike changes of the inputs it shows what
happens in ``1 - cos(x)`` for a tiny x, or in ``-b + sqrt(b*b - c)``, where both move together.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from ..ir import MATH_FUNCTIONS, round_to_float

#: Some seconds.
OPERATIONS = 2_000_000
#: Below it a double that is whole comes of whole numbers, which are added and multiplied exactly.
_WHOLE = 2.0**53
#: Ulp of a double in one of a float.
_NARROW = 2.0**29
#: A name of Python's ``math`` -> ulp that glibc's function may be off.
_INEXACT = {
    row.python.removeprefix("math."): row.ulp
    for row in MATH_FUNCTIONS.values()
    if row.ulp and row.python.startswith("math.") and "(" not in row.python
}


class _Draws:
    """Knuth's generator of MMIX; Python's would be no purer and slower."""

    state = left = 0

    def draw_steps(self, ulp: int) -> int:
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("too many operations")
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % (2 * ulp + 1) - ulp


_draws = _Draws()
_steps = _draws.draw_steps


def round_at_random(function: Callable[..., Any], *, operations: int = OPERATIONS) -> Callable[..., Any]:
    """``function``, which runs with `make_random_names`, for Python's numbers.

    After so many operations in all it raises: a loop that ends once two results are equal may never end here.
    """
    left, state = operations, 0

    def drawn(*arguments: Any) -> Any:
        nonlocal left, state
        _draws.left, _draws.state = left, state
        try:
            return function(*map(_make_inexact, arguments))
        finally:
            left, state = _draws.left, _draws.state

    return drawn


class _Real(float):
    def __neg__(self) -> _Real:
        return _Real(-float(self))


class _Complex(complex):
    def __neg__(self) -> _Complex:
        return _Complex(-complex(self))


def _make_inexact(value: Any) -> Any:
    """An argument of a function of scalars, or a core as nested lists, whose operations are rounded at random."""
    match value:
        case list():
            return [_make_inexact(part) for part in value]
        case complex():
            return _Complex(value)
        case float():
            return _Real(value)
    return value


def _round_result(value: Any, *, ulp: int = 1, exact: bool = True) -> Any:
    """A result up to so many units in the last place away; ``exact``: not if it is whole."""
    if isinstance(value, complex):
        unit = math.ulp(max(abs(value.real), abs(value.imag)))
        return _Complex(*(part and part + _steps(ulp) * unit for part in (value.real, value.imag)))
    if not isinstance(value, float) or not math.isfinite(value) or not value:
        return _make_inexact(value)
    if exact and abs(value) < _WHOLE and value.is_integer():
        return _Real(value)
    return _Real(value + _steps(ulp) * math.ulp(value))


def _make_operator(name: str) -> Callable[..., Any]:
    def operate(self: Any, other: Any) -> Any:
        kind = complex if isinstance(self, complex) or isinstance(other, complex) else float
        return _round_result(getattr(kind, name)(kind(self), other))

    return operate


for _word in "add sub mul truediv pow".split():
    for _name in (f"__{_word}__", f"__r{_word}__"):
        setattr(_Real, _name, _make_operator(_name))
        setattr(_Complex, _name, _make_operator(_name))


def _wrap_function(function: Callable[..., Any], ulp: int = 4) -> Callable[..., Any]:
    return lambda *values: _round_result(function(*values), ulp=ulp, exact=False)


def make_random_names(names: Mapping[str, Any]) -> dict[str, object]:
    """``names`` that a form's text runs with, their results off as those of C's may be."""
    real, other = vars(names["math"]), vars(names["cmath"])
    return {
        **names,
        "math": SimpleNamespace(
            **{**real, **{name: _wrap_function(real[name], ulp) for name, ulp in _INEXACT.items()}}
        ),
        "cmath": SimpleNamespace(
            **{**other, **{name: _wrap_function(f) for name, f in other.items() if hasattr(cmath, name)}}
        ),
        **{name: _wrap_function(names[name], 1) for name in ("_cmul", "_cdiv", "_cpow", "_libm_cpow")},
        "complex": lambda *parts: _Complex(*parts),
        "_float32": _make_float,
    }


def _make_float(value: float) -> float:
    near = round_to_float(value)
    if not math.isfinite(near) or float(value).is_integer():
        return _Real(near)
    return _Real(round_to_float(near + _steps(1) * _NARROW * math.ulp(near)))
