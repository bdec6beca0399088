"""A Python function of scalars run over arrays, element by element.  No clock, no judgement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FAULTS", "columns", "gather", "loop", "survivors", "takes_arrays"]

#: What the user's functions may raise, and what is made of them, is the user's choice: anything but an interrupt.
FAULTS = (Exception,)


def columns(inputs: Sequence[NDArray[Any]]) -> tuple[list[Any], ...]:
    """The arrays as lists of Python numbers, cores as nested lists."""
    # tolist() leaves long double as NumPy scalars, which Python's math takes but slowly.
    narrow = {"g": np.float64, "G": np.complex128}
    return tuple(array.astype(narrow.get(array.dtype.char, array.dtype), copy=False).tolist() for array in inputs)


def loop(function: Callable[..., Any], columns: Sequence[list[Any]]) -> list[Any]:
    """What a person would write: one call for each element, results in a list."""
    match columns:
        case [xs]:
            return [function(x) for x in xs]
        case [xs, ys]:
            return [function(x, y) for x, y in zip(xs, ys, strict=True)]
        case [xs, ys, zs]:
            return [function(x, y, z) for x, y, z in zip(xs, ys, zs, strict=True)]
        case _:
            return [function(*row) for row in zip(*columns, strict=True)]


def survivors(function: Callable[..., Any], columns: Sequence[list[Any]]) -> tuple[list[Any], NDArray[np.bool_]]:
    """Results of the elements on which ``function`` raises nothing, and which elements those are."""
    results: list[Any] = []
    passed = np.zeros(len(columns[0]), dtype=np.bool_)
    for position, row in enumerate(zip(*columns, strict=True)):
        try:
            results.append(function(*row))
        except FAULTS:
            continue
        passed[position] = True
    return results, passed


def gather(results: Sequence[Any], nout: int) -> Any:
    """A list of results as an array, or as a tuple of ``nout`` arrays."""
    if nout == 1:
        return np.asarray(results)
    return tuple(np.asarray(column) for column in zip(*results, strict=True))


def takes_arrays(function: Callable[..., Any], inputs: Sequence[NDArray[Any]], nout: int) -> bool:
    """Whether ``function`` gives for arrays what it gives element by element, seen on a few elements."""
    few = [array[:4] for array in inputs]
    try:
        whole = function(*few)
        parts = gather(loop(function, columns(few)), nout)
        whole, parts = (result if isinstance(result, tuple) else (result,) for result in (whole, parts))
        pairs = list(zip(whole, parts, strict=True))
        return all(np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-3, equal_nan=True) for a, b in pairs)
    except FAULTS:
        return False
