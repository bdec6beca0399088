"""The equality step: computes expected results, and checks other results against them.  No clock.

``check_points``   a ufunc's results, expected at some elements from a function of scalars or of arrays
``check_outcome``  a Python function's results, and its changes to its arguments
``check_whole``    the results of any callable, against those of another callable on the same arguments

All three end in `compare_results`, with what may explain a difference.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import FAULTS, ComparisonError
from ..render import Agreement
from .agreement import Explain, compare_results, is_masked, split_outputs

#: Changes of the inputs to try where rounding may explain a difference, and their size in ulp.
DRAWS, STEPS = 16, 4

#: Tuples up to this length are several outputs of a call; longer ones are sequences like lists.
OUTPUTS = 16

Arrays = tuple[NDArray[Any], ...]


# -- a function of scalars, element by element


def to_lists(inputs: Sequence[NDArray[Any]]) -> tuple[list[Any], ...]:
    """The arrays as lists of Python numbers, cores as nested lists."""
    # tolist() leaves long double as NumPy scalars, which are slow in Python's math.
    narrow = {"g": np.float64, "G": np.complex128}
    return tuple(array.astype(narrow.get(array.dtype.char, array.dtype), copy=False).tolist() for array in inputs)


def call_on_elements(function: Callable[..., Any], columns: Sequence[list[Any]]) -> list[Any]:
    """Call the function on each element, as a person would write it; results in a list."""
    match columns:
        case [xs]:
            return [function(x) for x in xs]
        case [xs, ys]:
            return [function(x, y) for x, y in zip(xs, ys, strict=True)]
        case [xs, ys, zs]:
            return [function(x, y, z) for x, y, z in zip(xs, ys, zs, strict=True)]
        case _:
            return [function(*row) for row in zip(*columns, strict=True)]


def call_each(
    function: Callable[..., Any], columns: Sequence[list[Any]], *, patience: Callable[[], bool] | None = None
) -> tuple[list[Any], NDArray[np.bool_]]:
    """Results of the elements on which ``function`` raises nothing, and which elements those are.

    Once there is a result, ``patience`` is called before each further element; false ends the search.
    """
    results: list[Any] = []
    passed = bytearray(len(columns[0]))
    for position, row in enumerate(zip(*columns, strict=True)):
        if patience is not None and results and not patience():
            break
        try:
            results.append(function(*row))
        except FAULTS:
            continue
        passed[position] = True
    return results, np.frombuffer(passed, np.bool_)


def gather(results: Sequence[Any], nout: int) -> Any:
    """A list of results as an array, or as a tuple of ``nout`` arrays."""
    if nout == 1:
        return np.asarray(results)
    return tuple(np.asarray(column) for column in zip(*results, strict=True))


def takes_arrays(function: Callable[..., Any], inputs: Sequence[NDArray[Any]], nout: int) -> bool:
    """Whether ``function`` of a few elements as arrays returns the same as element by element."""
    few = [array[:4] for array in inputs]
    try:
        whole = function(*few)
        parts = gather(call_on_elements(function, to_lists(few)), nout)
        whole, parts = (result if isinstance(result, tuple) else (result,) for result in (whole, parts))
        pairs = list(zip(whole, parts, strict=True))
        return all(np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-3, equal_nan=True) for a, b in pairs)
    except FAULTS:
        return False


# -- expected results of a ufunc


@dataclass(frozen=True, eq=False)
class Expected:
    """Expected outputs at some elements.

    ``inputs`` are the elements, and ``places`` their positions in the timed inputs; None for the edges of the domain,
    which are not timed.  ``again`` computes expectations at other inputs, and NaN where it cannot; ``unrounded``
    computes them in double if ``again`` rounds to float at every step, ``random`` with random roundings.  ``exact`` is
    ``random`` without those, where ``again`` is another function: the user's reference.
    ``undefined``: on so many further elements the function raised.
    """

    inputs: Arrays
    results: Arrays
    places: NDArray[np.intp] | None
    again: Callable[[Arrays], Arrays]
    unrounded: Callable[[Arrays], Arrays] | None = None
    random: Callable[[Arrays], Arrays] | None = None
    exact: Callable[[Arrays], Arrays] | None = None
    undefined: int = 0


def expect_everywhere(function: Callable[..., Any], inputs: Arrays) -> Expected:
    """The expectations of a function of arrays at every element."""

    def again(arrays: Arrays) -> Arrays:
        return tuple(map(np.asarray, split_outputs(function(*arrays))))

    return Expected(inputs, again(inputs), np.arange(len(inputs[0])), again)


def add_roundings(part: Expected, *, exact: Callable[..., Any], random: Callable[..., Any], nout: int) -> Expected:
    """The expectations of a reference, with the checked function's own forms: how far other roundings move it."""
    again, drawn = (functools.partial(_recompute, form, nout) for form in (exact, random))
    return replace(part, random=drawn, exact=again)


def expect_at(
    function: Callable[..., Any],
    inputs: Arrays,
    places: NDArray[np.intp] | None,
    *,
    nout: int,
    unrounded: Callable[..., Any] | None = None,
    random: Callable[..., Any] | None = None,
) -> Expected | None:
    """The expectations of a function of scalars, without the elements on which it raises; None if it always raises.

    ``places`` are positions in the timed inputs; None for the edges of the domain, which are not timed.
    """
    inputs = inputs if places is None else tuple(array[places] for array in inputs)
    results, passed = call_each(function, to_lists(inputs))
    if not results:
        return None
    if any(result is None for result in results):
        fault = "It ends without a return for some values, so its result is whatever is in a register."
        raise ComparisonError(fault, remedy="Return a number on every path.")
    undefined = len(passed) - len(results)
    inputs = tuple(array[passed] for array in inputs)
    places = places if places is None else places[passed]
    again = functools.partial(_recompute, function, nout)
    doubles, drawn = (f and functools.partial(_recompute, f, nout) for f in (unrounded, random))
    return Expected(inputs, split_outputs(gather(results, nout)), places, again, doubles, drawn, undefined=undefined)


def _recompute(function: Callable[..., Any], nout: int, arrays: Arrays) -> Arrays:
    """Results of a function of scalars; NaN where it raises."""
    values, ran = call_each(function, to_lists(arrays))
    if not values:
        return tuple(np.full(len(ran), np.nan) for _ in range(nout))
    whole = []
    for part in split_outputs(gather(values, nout)):
        full = np.full((len(ran), *part.shape[1:]), np.nan, np.result_type(part, np.float64))
        full[ran] = part
        whole.append(full)
    return tuple(whole)


def check_points(
    expected: Sequence[Expected], results: Any, *, ufunc: Callable[..., Any] | None = None
) -> Agreement | None:
    """Compare with the expectations at all their elements.

    Parameters
    ----------
    expected : sequence of Expected
    results : array or tuple of arrays
        For the timed inputs, or for the first elements of them.
    ufunc : callable
        Computes the results at the edges; without it they are left out.

    Returns
    -------
    Agreement or None
        None if ``results`` has none of the expected elements.
    """
    arrays = [np.asarray(result) for result in split_outputs(results)]
    parts, actual = [], []
    for part in expected:
        if part.places is not None:
            part = _cut(part, len(arrays[0]))
            actual.append(tuple(array[part.places] for array in arrays))
        elif ufunc is not None:
            actual.append(tuple(map(np.asarray, split_outputs(ufunc(*part.inputs)))))
        else:
            continue
        parts.append(part)
    if not any(len(part.inputs[0]) for part in parts):
        return None
    first = next(part for part in parts if len(part.inputs[0]))
    read, written = (max(array[:1].size for array in of) for of in (first.inputs, first.results))
    return compare_results(
        _join_parts([part.results for part in parts]),
        _join_parts(actual),
        inputs=_join_parts([part.inputs for part in parts]),
        terms=read // max(1, written),
        explain=functools.partial(_find_spreads, parts, _spread),
        roundings=functools.partial(_find_spreads, parts, _find_noise) if all(part.random for part in parts) else None,
    )


# -- expected results of any callable


def check_whole(
    expected: Any,
    results: Any,
    *,
    arguments: Sequence[Any],
    tolerance: float | None,
    step: int = 1,
    explain: Explain | None = None,
) -> Agreement:
    """Compare the results of two callables on the same arguments, at every ``step``-th element.

    Parameters
    ----------
    expected, results : number, array or tuple of them
    arguments : sequence
    tolerance : float
        As for `compare_results`.
    step : int
        An odd one also meets what repeats at powers of two.
    explain : callable
        See `explain_rounding`.
    """
    size = max(map(np.size, arguments), default=1)
    # Each result was gathered from at least so many numbers.
    terms = size // max(1, min((int(np.size(part)) for part in split_outputs(expected)), default=1))
    return compare_results(
        _thin(expected, step),
        _thin(results, step),
        tolerance=tolerance,
        inputs=tuple(np.asarray(arg)[::step] if np.ndim(arg) else np.asarray(arg) for arg in arguments),
        explain=explain and (lambda places: explain(places * step)),
        terms=terms,
    )


def _thin(results: Any, step: int) -> Any:
    """Every ``step``-th element of each output."""
    if step == 1:
        return results
    parts = tuple(np.asanyarray(result) for result in split_outputs(results))
    thin = tuple(part[::step] if part.ndim else part for part in parts)
    return thin if isinstance(results, tuple) else thin[0]


def explain_rounding(
    function: Callable[..., Any], arguments: Sequence[Any], *, patience: Callable[[], bool]
) -> Explain:
    """Returns a function for `compare_results`: how far each output moves with the last bits of the arguments.

    Parameters
    ----------
    function : callable
        Any function of arrays and numbers; results may have any shape.
    arguments : sequence
    patience : callable
        Called before each further call after the first two; false ends the search.
    """

    def explain(rows: NDArray[np.intp]) -> Arrays:
        rng = np.random.default_rng(0)
        known, again = (_to_numbers_of_results(function(*arguments)) for _ in range(2))
        spreads = tuple(np.zeros(array.shape) for array in known)
        for draw in range(DRAWS):
            if draw >= 2 and not patience():
                break
            try:
                moved = _to_numbers_of_results(function(*(_move_argument(argument, rng) for argument in arguments)))
                spreads = tuple(np.fmax(s, np.abs(m - k)) for s, m, k in zip(spreads, moved, known, strict=True))
            except FAULTS:
                continue
        # Results that differ by themselves, such as random numbers, are not explained by the arguments.
        spreads = tuple(np.where(_are_same(k, a), s, np.nan) for s, k, a in zip(spreads, known, again, strict=True))
        return tuple(np.take(spread, rows, axis=0, mode="clip") for spread in spreads)

    return explain


def _are_same(some: NDArray[Any], others: NDArray[Any]) -> Any:
    return some.shape == others.shape and ((some == others) | (np.isnan(some) & np.isnan(others)))


def _to_numbers_of_results(results: Any) -> Arrays:
    arrays = (np.atleast_1d(np.asarray(result)) for result in split_outputs(results))
    return tuple(a.astype(np.result_type(a, np.float64) if a.dtype.kind in "biufc" else np.float64) for a in arrays)


def _move_argument(argument: Any, rng: np.random.Generator) -> Any:
    if is_masked(argument):
        return np.ma.array(_move_numbers(argument.data, rng), mask=argument.mask)
    if isinstance(argument, np.ndarray):
        return _move_numbers(argument, rng)
    return _move_numbers(np.asarray(argument), rng).item() if isinstance(argument, (float, complex)) else argument


def _cut(part: Expected, number: int) -> Expected:
    """The part within the first ``number`` elements."""
    assert part.places is not None
    inside = part.places < number
    if inside.all():
        return part
    inputs, results = (tuple(array[inside] for array in arrays) for arrays in (part.inputs, part.results))
    return replace(part, inputs=inputs, results=results, places=part.places[inside])


def _find_spreads(
    parts: Sequence[Expected], spread: Callable[[Expected, NDArray[np.intp]], Arrays], rows: NDArray[np.intp]
) -> Arrays:
    """How far expectations move at ``rows`` of the joined parts, in the parts' order."""
    spreads, start = [], 0
    for part in parts:
        stop = start + len(part.inputs[0])
        here = rows[(rows >= start) & (rows < stop)] - start
        if here.size:
            spreads.append(spread(part, here))
        start = stop
    return _join_parts(spreads)


def _spread(part: Expected, rows: NDArray[np.intp]) -> Arrays:
    """Changes of the results over ``DRAWS`` random changes of the inputs' last bits.

    With both a float and a double form, their differences in the neighbourhood count too.
    """
    rng = np.random.default_rng(0)
    inputs = tuple(array[rows] for array in part.inputs)
    known = tuple(result[rows] for result in part.results)
    changes = [
        _find_distance(part.again(tuple(_move_numbers(array, rng) for array in inputs)), known) for _ in range(DRAWS)
    ]
    spread = _reach(part, changes, share=0.25)
    for _ in range(DRAWS if part.unrounded is not None else 0):
        near = tuple(_move_nearby(array, rng) for array in inputs)
        noise = _find_distance(part.unrounded(near), part.again(near))  # type: ignore[misc]
        spread = tuple(np.fmax(a, b) for a, b in zip(spread, noise, strict=True))
    return spread


def _find_noise(part: Expected, rows: NDArray[np.intp]) -> Arrays:
    """Changes of the results over ``DRAWS`` draws of every rounding."""
    assert part.random is not None
    inputs = tuple(array[rows] for array in part.inputs)
    known = part.exact(inputs) if part.exact else tuple(result[rows] for result in part.results)
    return _reach(part, [_find_distance(part.random(inputs), known) for _ in range(DRAWS)], share=0.6)


def _reach(part: Expected, changes: Sequence[Arrays], *, share: float) -> Arrays:
    """The largest change; at the edges the quantile ``share`` of the changes.

    An edge may lie on a branch of the function, where the maximum would let the jump explain a result from the wrong
    side.  NaN, such as ``acos`` above 1, counts as the largest number.
    """
    if part.places is None:
        ranked = [
            np.sort(np.stack(draws), axis=0)[: int(share * (DRAWS - 1)) + 1] for draws in zip(*changes, strict=True)
        ]
        return tuple(np.fmax.reduce(draws) for draws in ranked)
    return tuple(np.fmax.reduce(draws) for draws in zip(*changes, strict=True))


def _move_nearby(array: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Inputs up to a thousandth away: far enough for other roundings, near enough for roundings as large."""
    if array.dtype.kind not in "fc":
        return array
    return (array * (1 + rng.uniform(-1e-3, 1e-3, array.shape))).astype(array.dtype)


def _find_distance(some: Arrays, others: Arrays) -> Arrays:
    return tuple(np.abs(a - b.astype(a.dtype)) for a, b in zip(some, others, strict=True))


def _move_numbers(array: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """The array with each finite number but 0 moved by up to ``STEPS`` ulp; integers and booleans stay."""
    if array.dtype.kind == "c":
        moved = array.copy()
        moved.real, moved.imag = _move_numbers(array.real, rng), _move_numbers(array.imag, rng)
        return moved
    if array.dtype.kind != "f":
        return array
    signs = rng.choice((-1, 1), size=array.shape)
    steps = (signs * rng.integers(1, STEPS, size=array.shape, endpoint=True)).astype(array.dtype)
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(array) & (array != 0), array + steps * np.spacing(np.abs(array)), array)


def _join_parts(parts: Sequence[Arrays]) -> Arrays:
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def check_loop(function: Callable[..., Any], lists: Sequence[list[Any]], expected: Expected, *, dtypes: str) -> bool:
    """Whether the loop to time returns the expected results, in C's types."""
    results = split_outputs(gather(call_on_elements(function, lists), len(dtypes)))
    typed = tuple(result.astype(char) for result, char in zip(results, dtypes, strict=True))
    verdict = check_points([expected], typed)
    return verdict is None or verdict.ok


# -- expected results of a Python function


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one call returned, see `collect_numbers`, and its arguments after the call."""

    returned: Arrays | None
    arguments: tuple[Any, ...]

    def list_outputs(self, positions: Sequence[int]) -> Arrays:
        """The results, and the arguments at ``positions``, which the function changed."""
        return (*(self.returned or ()), *(self.arguments[position] for position in positions))


class Guarded(np.ndarray[Any, Any]):
    """An array without negative indices: they are other memory where C does not wrap around."""

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(_is_not_negative(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(_is_not_negative(index), value)


def _is_not_negative(index: Any) -> Any:
    for one in index if isinstance(index, tuple) else (index,):
        if isinstance(one, (int, np.integer)) and one < 0:
            raise IndexError(f"index {one} would be before the array's start")
    return index


def record_call(function: Callable[..., Any], arguments: Sequence[Any]) -> Outcome:
    """Call ``function`` on copies of the arguments."""
    own = copy_arrays(arguments)
    return Outcome(collect_numbers(function(*own)), own)


def copy_arrays(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments, with copies of the arrays."""
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments)


def find_changed(arguments: Sequence[Any], after: Sequence[Any]) -> tuple[int, ...]:
    """Positions of the arrays that changed."""
    pairs = enumerate(zip(arguments, after, strict=True))
    # Compares bytes: a NaN that stays is no change.
    return tuple(i for i, (a, b) in pairs if isinstance(a, np.ndarray) and a.tobytes() != b.tobytes())


def collect_numbers(value: Any) -> Arrays | None:
    """The numbers in a result as arrays; None if it contains anything else."""
    match value:
        case None:
            return ()
        case str():
            return (np.frombuffer(value.encode(), np.uint8),)
        case bytes() | bytearray():
            return (np.frombuffer(bytes(value), np.uint8),)
        case bool() | int() | float() | complex() | np.generic():
            return _make_numeric(value)
        case dict():
            pairs = _sort_values(value.items())
            return _list_leaves([[key for key, _ in pairs], [item for _, item in pairs]])
        case set() | frozenset():
            return collect_numbers(_sort_values(value))
        case tuple() if len(value) <= OUTPUTS:
            return _list_leaves(value)
        case list() | tuple() | range():
            return _make_numeric(value) or _list_leaves(value)
    return _make_numeric(value)  # arrays, and Cython's memoryviews


def _make_numeric(value: Any) -> Arrays | None:
    """``value`` as one array of numbers, or None."""
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError, RuntimeError, BufferError):
        return None  # ragged, or not convertible to an array
    if array.dtype.kind in "?biufc":
        return (array,)
    # Python integers wider than every NumPy type
    whole = array.dtype.kind == "O" and all(isinstance(item, int) for item in array.flat)
    return (array,) if whole else None


def _list_leaves(values: Sequence[Any]) -> Arrays | None:
    parts = [collect_numbers(value) for value in values]
    return None if any(part is None for part in parts) else tuple(leaf for part in parts for leaf in part or ())


def _sort_values(values: Any) -> list[Any]:
    """Sorted if possible: C++'s and Python's containers differ in their order."""
    try:
        return sorted(values)
    except TypeError:
        return list(values)


def check_outcome(
    expected: Outcome,
    result: Outcome,
    *,
    before: tuple[Sequence[Any], Sequence[Any]],
    again: Callable[..., Any],
    patience: Callable[[], bool],
) -> Agreement | None:
    """Compare the results and the changed arguments; None if there are none, or if they are not made of numbers.

    Sums may be taken in another order, or in float where Python has double.  Each step rounds by itself, so sums of
    ``n`` numbers differ by about ``sqrt(n)`` times as much as single results.

    Parameters
    ----------
    expected, result : Outcome
    before : pair of sequences
        The arguments of each before the call.
    again : callable
        The function of ``expected``, for other arguments; see `explain_rounding`.
    patience : callable
    """
    if expected.returned is None or result.returned is None:
        return None
    sides = zip(before, (expected.arguments, result.arguments), strict=True)
    positions = sorted({position for were, are in sides for position in find_changed(were, are)})
    right, actual = expected.list_outputs(positions), result.list_outputs(positions)
    if len(right) != len(actual):
        return compare_results(right, actual)
    if not right:
        return None  # nothing returned, nothing changed
    for position, (e, a) in enumerate(zip(right, actual, strict=True)):
        if e.shape != a.shape:
            detail = f"output {position + 1} has shape {a.shape} where {e.shape} was expected"
            return Agreement(False, math.inf, detail=detail)
    actual = tuple(map(_narrow_result, right, actual))
    terms = max((max(a.shape) for a in before[0] if isinstance(a, np.ndarray) and a.size), default=1)
    explain = explain_rounding(
        lambda *moved: record_call(again, moved).list_outputs(positions), before[0], patience=patience
    )
    return compare_results(right, actual, terms=terms, explain=explain)


def _narrow_result(expected: NDArray[Any], result: NDArray[Any]) -> NDArray[Any]:
    """``result`` as float if it was computed in float: Python has a double for each C float."""
    if expected.dtype.kind != "f" or result.dtype != np.float64:
        return result
    single = result.astype(np.float32)
    was_single = ((single == result) | np.isnan(result)).all() and not (expected.astype(np.float32) == expected).all()
    return single if was_single else result
