"""Sizes to compare on: read from ``"10:1e7"``, and arguments cut or repeated to each.  No clock."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..model import ComparisonError
from .agreement import outputs

__all__ = ["at_size", "moved_bytes", "sizes_of", "work_size"]

#: Steps within a decade.
STEPS = (1, 2, 5)

#: More sizes than anybody looks at: a slip, such as ``10:1e7:1e5``.
MOST = 1000

_REMEDY = "Write --sizes 10:1e7, or --sizes 1e3,1e5."


def sizes_of(sizes: str | int | Sequence[int]) -> tuple[int, ...]:
    """Numbers of elements, ascending.

    Parameters
    ----------
    sizes : str, int or sequence of int
        ``"10:1e7"`` is 10, 20, 50, 100, ... up to 1e7; ``"10:1e7:9"`` is 9 sizes with equal ratios;
        ``"1e3,1e5"`` is these two.

    Raises
    ------
    ComparisonError
        If it cannot be read, or a size is less than 1.
    """
    if isinstance(sizes, str):
        found = _spaced(sizes) if ":" in sizes else [_number(word, sizes) for word in sizes.split(",")]
    else:
        given = sizes if isinstance(sizes, Iterable) else [sizes]
        found = [_number(str(size), sizes) for size in given]
    if not found or min(found) < 1:
        raise ComparisonError(f"sizes={sizes!r} has no elements to compare on.", remedy=_REMEDY)
    return tuple(sorted(set(found)))


def _number(word: str, whole: Any) -> int:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ComparisonError(f"{word!r} in sizes={whole!r} is not a number.", remedy=_REMEDY)
    return int(value)


def _spaced(text: str) -> list[int]:
    words = text.split(":")
    numbers = [_number(word, text) for word in words]
    if len(words) > 3 or not 1 <= numbers[0] <= numbers[1] or not 1 <= (*numbers, 1)[2] <= MOST:
        raise ComparisonError(f"sizes={text!r} is not a range.", remedy=_REMEDY)
    low, high = numbers[:2]
    if len(words) == 3:
        return [round(float(size)) for size in np.geomspace(low, high, numbers[2])]
    decades = range(int(math.log10(low)), int(math.log10(high)) + 1)
    inner = [step * 10**decade for decade in decades for step in STEPS]
    return [low, *(size for size in inner if low < size < high), high]


def at_size(args: Sequence[Any], size: int) -> tuple[Any, ...]:
    """The arguments with ``size`` elements along the first axis: the first ones, repeated where there are fewer.

    Numbers and arrays without axes stay as they are.
    """
    return tuple(_resized(arg, size) if isinstance(arg, np.ndarray) and arg.ndim else arg for arg in args)


def _resized(array: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    return array[:size] if len(array) >= size else np.resize(array, (size, *array.shape[1:]))


def work_size(args: Sequence[Any]) -> int:
    """Elements of the largest argument."""
    return max(map(_elements, args), default=1)


def _elements(arg: Any) -> int:
    try:
        return int(np.size(arg))
    except ValueError as fault:
        raise ComparisonError(
            f"The argument {arg!r:.60} has rows of various lengths.", remedy="Give an array, or a number."
        ) from fault


def moved_bytes(args: Sequence[Any], results: Any) -> int:
    """Bytes of the arrays that go in and out."""
    given = [arg for arg in args if isinstance(arg, np.ndarray)]
    return sum(array.nbytes for array in (*given, *map(np.asarray, outputs(results))))
