"""Expected results at some elements, and how a ufunc's results there compare with them.  No clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .agreement import agreement, disagreeing, outputs
from .perelement import columns, gather, loop, survivors
from .rows import Agreement
from .samples import edge_inputs

__all__ = ["Expected", "at_edges", "at_places", "everywhere", "judge", "same_loop", "suspects"]

#: Places where two compiled versions differ that are looked at with the slow one.
SUSPECTS = 200

Arrays = tuple[NDArray[Any], ...]


@dataclass(frozen=True, eq=False)
class Expected:
    """Expected outputs at some elements.

    ``places`` are their positions in the timed inputs, None for the edges of the domain, which are not
    timed; ``inputs`` are the elements themselves.
    """

    inputs: Arrays
    results: Arrays
    places: NDArray[np.intp] | None


def everywhere(function: Callable[..., Any], inputs: Arrays) -> Expected:
    """What a function of arrays expects at every element."""
    results = tuple(map(np.asarray, outputs(function(*inputs))))
    return Expected(inputs, results, np.arange(len(inputs[0])))


def at_places(function: Callable[..., Any], inputs: Arrays, places: NDArray[np.intp], *, nout: int) -> Expected | None:
    """What a function of scalars expects at ``places``, those left out where it raises; None if it always does."""
    few = tuple(array[places] for array in inputs)
    results, passed = survivors(function, columns(few))
    return _expected(few, results, passed, nout, places)


def at_edges(function: Callable[..., Any], types: str, *, nout: int) -> Expected | None:
    """The same at zeros, units, infinities and NaN."""
    few = edge_inputs(types)
    results, passed = survivors(function, columns(few))
    return _expected(few, results, passed, nout, None)


def _expected(
    inputs: Arrays, results: list[Any], passed: NDArray[np.bool_], nout: int, places: NDArray[np.intp] | None
) -> Expected | None:
    if not results:
        return None
    inputs = tuple(array[passed] for array in inputs)
    return Expected(inputs, outputs(gather(results, nout)), places if places is None else places[passed])


def judge(
    expected: Sequence[Expected],
    results: Any,
    *,
    ufunc: Callable[..., Any] | None = None,
    tolerance: float | None = None,
) -> Agreement | None:
    """Compare with everything expected.

    Parameters
    ----------
    expected : sequence of Expected
    results : array or tuple of arrays
        For the timed inputs, or for the first elements of them.
    ufunc : callable
        Computes the results at the edges; without it they are left out.
    tolerance : float
        As in ``agreement``.

    Returns
    -------
    Agreement or None
        None where nothing was expected at elements that ``results`` has.
    """
    columns_ = [np.asarray(result) for result in outputs(results)]
    wanted, given, places = [], [], []
    for part in expected:
        if part.places is None:
            if ufunc is None:
                continue
            got = outputs(ufunc(*part.inputs))
            kept = np.ones(len(part.inputs[0]), dtype=np.bool_)
        else:
            kept = part.places < len(columns_[0])
            got = tuple(column[part.places[kept]] for column in columns_)
        wanted.append(tuple(result[kept] for result in part.results))
        given.append(tuple(map(np.asarray, got)))
        places.append(tuple(array[kept] for array in part.inputs))
    if not any(len(part[0]) for part in wanted):
        return None
    return agreement(_joined(wanted), _joined(given), tolerance=tolerance, inputs=_joined(places))


def _joined(parts: Sequence[Arrays]) -> Arrays:
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def suspects(results: Any, others: Any) -> NDArray[np.intp]:
    """Places where two results of the same function are further apart than rounding explains; at most
    ``SUSPECTS``, evenly chosen."""
    length = min(len(result) for result in (*outputs(results), *outputs(others)))
    first, second = (tuple(result[:length] for result in outputs(side)) for side in (results, others))
    places = disagreeing(first, second)
    return places[:: max(1, -(-len(places) // SUSPECTS))]


def same_loop(function: Callable[..., Any], lists: Sequence[list[Any]], expected: Expected, *, dtypes: str) -> bool:
    """Whether the loop that is to be timed computes what is expected, in the types that C returns."""
    results = outputs(gather(loop(function, lists), len(dtypes)))
    typed = tuple(result.astype(char) for result, char in zip(results, dtypes, strict=True))
    verdict = judge([expected], typed)
    return verdict is None or verdict.ok
