"""Expected results at some elements, and how a ufunc's results there compare with them.  No clock."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..render import Agreement
from .agreement import Explain, agreement, disagreeing, outputs
from .per_element import FAULTS, columns, gather, loop, survivors
from .samples import edge_inputs

__all__ = ["Expected", "at_edges", "at_places", "everywhere", "judge", "rounding", "same_loop", "suspects"]

#: Places where two compiled versions differ that are looked at with the slow one.
SUSPECTS = 200

#: Changes of the inputs that are tried where a difference may be due to rounding, and their size in ulp.
DRAWS, STEPS = 16, 4

Arrays = tuple[NDArray[Any], ...]


@dataclass(frozen=True, eq=False)
class Expected:
    """Expected outputs at some elements.

    ``places`` are their positions in the timed inputs, None for the edges of the domain, which are not
    timed; ``inputs`` are the elements themselves.  ``again`` computes expectations at other inputs, NaN
    where it cannot; ``unrounded`` does so in double where ``again`` rounds to float at every step.
    """

    inputs: Arrays
    results: Arrays
    places: NDArray[np.intp] | None
    again: Callable[[Arrays], Arrays]
    unrounded: Callable[[Arrays], Arrays] | None = None


def everywhere(function: Callable[..., Any], inputs: Arrays) -> Expected:
    """What a function of arrays expects at every element."""

    def again(arrays: Arrays) -> Arrays:
        return tuple(map(np.asarray, outputs(function(*arrays))))

    return Expected(inputs, again(inputs), np.arange(len(inputs[0])), again)


def at_places(
    function: Callable[..., Any],
    inputs: Arrays,
    places: NDArray[np.intp],
    *,
    nout: int,
    unrounded: Callable[..., Any] | None = None,
) -> Expected | None:
    """What a function of scalars expects at ``places``, those left out where it raises; None if it always does."""
    return _expected(function, tuple(array[places] for array in inputs), nout, places, unrounded)


def at_edges(
    function: Callable[..., Any], types: str, *, nout: int, unrounded: Callable[..., Any] | None = None
) -> Expected | None:
    """The same at zeros, units, infinities and NaN."""
    return _expected(function, edge_inputs(types), nout, None, unrounded)


def _expected(
    function: Callable[..., Any],
    inputs: Arrays,
    nout: int,
    places: NDArray[np.intp] | None,
    unrounded: Callable[..., Any] | None,
) -> Expected | None:
    results, passed = survivors(function, columns(inputs))
    if not results:
        return None
    kept = tuple(array[passed] for array in inputs)
    where = places if places is None else places[passed]
    doubles = None if unrounded is None else functools.partial(_again, unrounded, nout)
    return Expected(kept, outputs(gather(results, nout)), where, functools.partial(_again, function, nout), doubles)


def _again(function: Callable[..., Any], nout: int, arrays: Arrays) -> Arrays:
    """Results of a function of scalars; NaN where it raises."""
    values, ran = survivors(function, columns(arrays))
    if not values:
        return tuple(np.full(len(ran), np.nan) for _ in range(nout))
    found = []
    for part in outputs(gather(values, nout)):
        full = np.full((len(ran), *part.shape[1:]), np.nan, np.result_type(part, np.float64))
        full[ran] = part
        found.append(full)
    return tuple(found)


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
    arrays = [np.asarray(result) for result in outputs(results)]
    parts, given = [], []
    for part in expected:
        if part.places is not None:
            part = _kept(part, part.places < len(arrays[0]))
            given.append(tuple(array[part.places] for array in arrays))
        elif ufunc is not None:
            given.append(tuple(map(np.asarray, outputs(ufunc(*part.inputs)))))
        else:
            continue
        parts.append(part)
    if not any(len(part.inputs[0]) for part in parts):
        return None
    return agreement(
        _joined([part.results for part in parts]),
        _joined(given),
        tolerance=tolerance,
        inputs=_joined([part.inputs for part in parts]),
        explain=functools.partial(_spreads, parts),
    )


def rounding(function: Callable[..., Any], arguments: Sequence[Any], *, patience: Callable[[], bool]) -> Explain:
    """How far each output of ``function`` moves with the last bits of its arguments, for ``agreement``.

    Parameters
    ----------
    function : callable
        Any function of arrays and numbers; results may have any shape.
    arguments : sequence
    patience : callable
        Asked before each further call after the first two; false ends the search.
    """

    def explain(rows: NDArray[np.intp]) -> Arrays:
        rng = np.random.default_rng(0)
        known, again = (_numbers(function(*arguments)) for _ in range(2))
        spreads = tuple(np.zeros(array.shape) for array in known)
        for draw in range(DRAWS):
            if draw >= 2 and not patience():
                break
            try:
                moved = _numbers(function(*(_moved_argument(argument, rng) for argument in arguments)))
                spreads = tuple(np.fmax(s, np.abs(m - k)) for s, m, k in zip(spreads, moved, known, strict=True))
            except FAULTS:
                continue
        # What differs by itself, as random numbers do, is not explained by its arguments.
        spreads = tuple(np.where(_same(k, a), s, np.nan) for s, k, a in zip(spreads, known, again, strict=True))
        return tuple(np.take(spread, rows, axis=0, mode="clip") for spread in spreads)

    return explain


def _same(some: NDArray[Any], others: NDArray[Any]) -> Any:
    return some.shape == others.shape and ((some == others) | (np.isnan(some) & np.isnan(others)))


def _numbers(results: Any) -> Arrays:
    arrays = (np.atleast_1d(np.asarray(result)) for result in outputs(results))
    return tuple(a.astype(np.result_type(a, np.float64) if a.dtype.kind in "biufc" else np.float64) for a in arrays)


def _moved_argument(argument: Any, rng: np.random.Generator) -> Any:
    if isinstance(argument, np.ma.MaskedArray):
        return np.ma.array(_moved(argument.data, rng), mask=argument.mask)
    if isinstance(argument, np.ndarray):
        return _moved(argument, rng)
    return _moved(np.asarray(argument), rng).item() if isinstance(argument, (float, complex)) else argument


def _kept(part: Expected, kept: NDArray[np.bool_]) -> Expected:
    """``part`` without the elements that are not ``kept``."""
    if kept.all() or part.places is None:
        return part
    inputs, results = (tuple(array[kept] for array in arrays) for arrays in (part.inputs, part.results))
    return replace(part, inputs=inputs, results=results, places=part.places[kept])


def _spreads(parts: Sequence[Expected], rows: NDArray[np.intp]) -> Arrays:
    """How far expectations move at ``rows`` of the joined parts, in the parts' order."""
    found, start = [], 0
    for part in parts:
        stop = start + len(part.inputs[0])
        here = rows[(rows >= start) & (rows < stop)] - start
        if here.size:
            found.append(_spread(part, here))
        start = stop
    return _joined(found)


def _spread(part: Expected, rows: NDArray[np.intp]) -> Arrays:
    """Changes of the results over ``DRAWS`` random changes of the inputs' last bits.

    The largest change.  At the edges the lower quartile: an edge may lie on a branch of the function, and
    the jump on one of its sides must not explain the wrong side.  Where float and double can be had, what
    sets them apart in the neighbourhood counts too.
    """
    rng = np.random.default_rng(0)
    inputs = tuple(array[rows] for array in part.inputs)
    known = tuple(result[rows] for result in part.results)
    changes = [_apart(part.again(tuple(_moved(array, rng) for array in inputs)), known) for _ in range(DRAWS)]
    if part.places is None:
        found = [np.quantile(np.stack(draws), 0.25, axis=0, method="lower") for draws in zip(*changes, strict=True)]
    else:
        found = [np.fmax.reduce(draws) for draws in zip(*changes, strict=True)]
    if part.unrounded is None:
        return tuple(found)
    for _ in range(DRAWS):
        near = tuple(_nearby(array, rng) for array in inputs)
        noise = _apart(part.unrounded(near), part.again(near))
        found = [np.fmax(a, b) for a, b in zip(found, noise, strict=True)]
    return tuple(found)


def _nearby(array: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Up to a thousandth away: far enough for other roundings, near enough for as much of them."""
    if array.dtype.kind not in "fc":
        return array
    return (array * (1 + rng.uniform(-1e-3, 1e-3, array.shape))).astype(array.dtype)


def _apart(some: Arrays, others: Arrays) -> Arrays:
    return tuple(np.abs(a - b.astype(a.dtype)) for a, b in zip(some, others, strict=True))


def _moved(array: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Every finite number but 0 up to ``STEPS`` ulp away; integers and booleans as they are."""
    if array.dtype.kind == "c":
        moved = array.copy()
        moved.real, moved.imag = _moved(array.real, rng), _moved(array.imag, rng)
        return moved
    if array.dtype.kind != "f":
        return array
    signs = rng.choice((-1, 1), size=array.shape)
    steps = (signs * rng.integers(1, STEPS, size=array.shape, endpoint=True)).astype(array.dtype)
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(array) & (array != 0), array + steps * np.spacing(np.abs(array)), array)


def _joined(parts: Sequence[Arrays]) -> Arrays:
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def suspects(results: Any, others: Any) -> NDArray[np.intp]:
    """Places where two results of the same function are further apart than usual rounding explains: the
    ``SUSPECTS`` that are furthest apart."""
    length = min(len(result) for result in (*outputs(results), *outputs(others)))
    first, second = (tuple(np.asarray(result)[:length] for result in outputs(side)) for side in (results, others))
    places = disagreeing(first, second)
    if not places.size:
        return places
    apart = np.zeros(len(places))
    with np.errstate(all="ignore"):
        for a, b in zip(first, second, strict=True):
            difference = np.abs(a[places].astype(complex) - b[places]).reshape(len(places), -1)
            apart = np.maximum(apart, np.nan_to_num(difference.max(axis=1, initial=0.0), nan=np.inf))
    return np.sort(places[np.argsort(-apart)[:SUSPECTS]])


def same_loop(function: Callable[..., Any], lists: Sequence[list[Any]], expected: Expected, *, dtypes: str) -> bool:
    """Whether the loop that is to be timed computes what is expected, in the types that C returns."""
    results = outputs(gather(loop(function, lists), len(dtypes)))
    typed = tuple(result.astype(char) for result, char in zip(results, dtypes, strict=True))
    verdict = judge([expected], typed)
    return verdict is None or verdict.ok
