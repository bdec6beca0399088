"""Draws arguments inside a function's domain, reads sizes, and cuts or repeats arguments to a size.  No clock.

A signature does not show the domain, so a few intervals are tried, and the one with the fewest results that are not
finite wins; among equals the earlier one in the lists below, which show more of a function first.  A trial runs the
user's code: where C could crash (integer division by zero, an index past a table) or never end, the harmless Python
version runs first, as the ``screen``; without one only small positive integers are used.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import FAULTS, ComparisonError, OperandUse, UfuncMagicError
from .agreement import split_outputs

#: Size of a core dimension that only has a name, where its function's domain is searched.
CORE_SIZE = 16

#: Elements that each trial of an interval uses, and distinct elements that are screened one by one.
PROBES = 200
POOL = 1 << 11

#: Distinct numbers of an input; longer inputs repeat them.  A processor learns fewer: having met the same 2,048 pairs
#: before, it predicts every branch of ``gcd``, which then takes less than half the time.
DISTINCT = 1 << 17

#: Share of elements that the screen may reject (a zero divisor among 201 integers) without a disadvantage.
TOLERATED = 0.05

_FLOATS = (
    (-2.0, 2.0),
    (0.05, 5.0),
    (-0.99, 0.99),
    (0.05, 0.95),
    (1.5, 100.0),
    (100.0, 1000.0),
    (1e3, 1e4),
    (-100.0, -1.5),
)
#: Both ends belong to the interval.
_INTEGERS = ((-100.0, 100.0), (1.0, 100.0), (1.0, 10.0), (0.0, 1.0))
_SAFE_FLOATS = ((0.05, 0.95), (0.05, 5.0), (1.5, 100.0), (-2.0, 2.0))
_SAFE_INTEGERS = ((1.0, 10.0), (1.0, 2.0))

#: By kind.  No huge or tiny values, where a fused multiply-add may rightly differ from two roundings.  No extremes:
#: signed overflow, such as INT_MIN / -1, is undefined in C and may trap.
_EDGE: dict[str, Sequence[Any]] = {
    "b": (False, True),
    "i": (0, 1, -1, 2, 3, -7, 10, 100),
    "u": (0, 1, 2, 3, 7, 10, 100, 255),
    "c": (0j, 1 + 0j, -1 + 0j, 1j, 0.5 - 0.5j, 2 + 1e-8j),
    "f": (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 10.0, 1e-8, math.inf, -math.inf, math.nan),
}
_EDGES = 256

#: Indices are drawn without repetitions if there are at most so many times as many as are needed.
_MOST_TURNED = 4

Interval = tuple[float, float]
Arrays = tuple[NDArray[Any], ...]


@dataclass(frozen=True)
class Trials:
    """The effort of the search for an interval.

    Attributes
    ----------
    probes : int
        Elements that each trial uses.
    pool : int
        Elements to choose from where every one is screened: integer inputs, and cautious functions.
    patience : callable
        Called before each trial after the first; false ends the search.
    core_sizes : mapping
        Sizes of named core dimensions in the inputs that are returned; the domain is searched with small ones.
    seed : int
        The same seed gives the same inputs.
    """

    probes: int = PROBES
    pool: int = POOL
    patience: Callable[[], bool] = lambda: True
    core_sizes: Mapping[str, int] = field(default_factory=dict)
    seed: int = 20240229


def _find_dtypes(types: str) -> list[np.dtype[Any]]:
    """Types of the inputs of ``"dd->d"``."""
    return [np.dtype(char) for char in types.partition("->")[0]]


def sample_inputs(
    types: str,
    *,
    size: int,
    cores: Sequence[Sequence[int | str]] = (),
    cautious: bool = False,
    probe: Callable[..., Any] | None = None,
    screen: Callable[..., NDArray[np.bool_]] | None = None,
    trials: Trials = Trials(),
    uses: Sequence[OperandUse] = (),
) -> Arrays:
    """Draw random inputs on which the function is defined.

    Parameters
    ----------
    types : str
        ``"dd->d"``.
    size : int
        Elements, the length of the first axis.
    cores : sequence of sequence of int or str
        Core dimensions of each input; a named one has ``CORE_SIZE`` unless ``trials`` has its size.
    cautious : bool
        The function may loop for ever, recurse, or index a table: small positive values first, no
        search once they give finite results, and every element is screened.
    probe : callable
        The function, on arrays.  Without it the first interval of the list is taken.
    screen : callable
        Called with the arrays before ``probe``; returns which elements ``probe`` may receive.
    trials : Trials
    uses : sequence of OperandUse
        What the function does with the values, if that is known: indices are drawn inside of their arrays, what is
        searched is in order.

    Returns
    -------
    tuple of ndarray
        C-contiguous, of shape ``(size, *core)``.
    """
    dtypes = _find_dtypes(types)
    kinds = uses or (OperandUse(),) * len(dtypes)

    def list_candidates(*, cautious: bool, screened: bool) -> list[Sequence[Interval]]:
        """The intervals for each input; an index has none but that of its array."""
        return [
            ((0.0, 0.0),) if use.below else _list_intervals(dtype, cautious=cautious, screened=screened)
            for use, dtype in zip(kinds, dtypes, strict=True)
        ]

    def draw(intervals: Sequence[Interval], length: int, sizes: Mapping[str, int] = trials.core_sizes) -> Arrays:
        rng, known = np.random.default_rng(trials.seed), {n: CORE_SIZE for c in cores for n in c if isinstance(n, str)}
        shapes = shape_cores((*cores, *[()] * len(dtypes)), sizes)
        arrays = [
            _draw_used(rng, dtype, (length, *shape), _index_interval(use, dtype, known | dict(sizes)) or interval, use)
            for dtype, shape, interval, use in zip(dtypes, shapes, intervals, kinds, strict=False)
        ]
        return tuple(
            _draw_within(rng, array, arrays[use.within]) if use.within >= 0 else array
            for array, use in zip(arrays, kinds, strict=True)
        )

    candidates = list_candidates(cautious=cautious, screened=screen is not None)

    best = tuple(options[0] for options in candidates)
    if probe is not None and dtypes:

        def score(intervals: Sequence[Interval]) -> tuple[float, bool]:
            return _score_inputs(draw(intervals, trials.probes, {}), probe, screen)

        best = _search(candidates, score, trials.patience)
    items = max([1, *map(math.prod, shape_cores(cores, trials.core_sizes))])
    distinct = min(size, max(POOL, DISTINCT // items))
    if screen is None or not (cautious or any(dtype.kind in "iu" for dtype in dtypes)):
        return repeat_arrays(draw(best, distinct), size)
    inputs = draw(best, min(size, trials.pool))
    passed = screen(*inputs)
    if not passed.any():
        safest = tuple(options[0] for options in list_candidates(cautious=True, screened=False))
        return repeat_arrays(draw(safest, distinct), size)
    return shuffle_arrays(tuple(array[passed] for array in inputs), size)


def shape_cores(cores: Iterable[Sequence[int | str]], sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
    """The core shape of each input."""
    return [tuple(n if isinstance(n, int) else sizes.get(n, CORE_SIZE) for n in core) for core in cores]


def repeat_arrays(arrays: Sequence[NDArray[Any]], size: int) -> Arrays:
    """Repeat the arrays to ``size`` elements."""
    return tuple(_resize_array(array, size) for array in arrays)


def shuffle_arrays(arrays: Sequence[NDArray[Any]], size: int) -> Arrays:
    """``size`` elements: all of the arrays', then random ones of them, in an order that no processor learns."""
    length = len(arrays[0])
    rest = np.random.default_rng(0).integers(length, size=max(0, min(size, DISTINCT) - length))
    order = np.concatenate([np.arange(min(size, length)), rest])
    return repeat_arrays([array[order] for array in arrays], size)


def sample_arguments(samples: Sequence[str], *, along: int, kind: str) -> tuple[Any, ...]:
    """Arguments of a Python function, positive and small.

    Parameters
    ----------
    samples : sequence of str
        NumPy's type letter and the number of dimensions of each, ``"d1"``; ``"O1"`` stands for an array of ``kind``.
    along : int
        Size of every axis.
    kind : str
        A type's name.

    Returns
    -------
    tuple
        Arrays, and Python numbers that differ from one another: integers from 10 downwards, so that they are
        indices of axes of eleven, and others from 0.75 upwards.
    """
    arguments: list[Any] = []
    numbers = itertools.count()
    for position, sample in enumerate(samples):
        dtype = np.dtype(kind if sample[0] == "O" else sample[0])
        shape = (along,) * int(sample[1:])
        if shape:
            trials = Trials(seed=position + 1)
            (drawn,) = sample_inputs(dtype.char, size=math.prod(shape), cautious=True, trials=trials)
            arguments.append(drawn.reshape(shape))
        elif dtype.kind in "iu":
            arguments.append(max(2, 10 - next(numbers)))
        else:
            arguments.append(dtype.type(0.75 + next(numbers) / 2).item())
    return tuple(arguments)


def list_edges(types: str) -> Arrays:
    """Zeros, units, infinities and NaN in all combinations, at most 256 of them; for scalar inputs only."""
    kinds = _find_dtypes(types)
    values = [_EDGE[kind.kind] for kind in kinds]
    rows = list(itertools.islice(itertools.product(*values), 20_000))
    if len(rows) > _EDGES:
        rng = np.random.default_rng(0)
        rows = [tuple(column[int(rng.integers(len(column)))] for column in values) for _ in range(_EDGES)]
    return tuple(np.array(column, dtype=kind) for column, kind in zip(zip(*rows, strict=True), kinds, strict=True))


def describe_inputs(names: Sequence[str], arrays: Arrays) -> str:
    """The arrays' ranges, ``"m, v from -2 to 2; n = 10"``; ``""`` where an array has none."""
    if not arrays or any(array.dtype.kind not in "iuf" or not array.size for array in arrays):
        return ""
    ranges: dict[str, list[str]] = {}
    for name, array in itertools.zip_longest(names, arrays, fillvalue=""):
        ranges.setdefault(_spell_range(float(np.nanmin(array)), float(np.nanmax(array))), []).append(name)
    return "; ".join(f"{', '.join(filter(None, names)) or 'inputs'} {words}" for words, names in ranges.items())


def _spell_range(least: float, most: float) -> str:
    low, high = _spell_number(least), _spell_number(most)
    if least == most:
        return f"= {low}"
    return f"from {low} to {high}" if low != high else f"around {low}"


def _spell_number(number: float) -> str:
    """Three digits as people write them: ``"0.05"``, ``"30,000"``, ``"1e+20"``."""
    rounded = float(f"{number:.3g}")
    return f"{rounded:,.0f}" if 1e3 <= abs(rounded) < 1e15 else f"{rounded:g}"


def convert_inputs(
    values: Sequence[Any], kinds: Sequence[np.dtype[Any]], cores: Sequence[Sequence[int | str]]
) -> Arrays:
    """The user's values as inputs of a ufunc: elements along the first axis, single numbers repeated.

    Raises
    ------
    ComparisonError
        If there are more or fewer than inputs, or they do not fit.
    """
    if len(values) != len(kinds):
        raise ComparisonError(
            f"there are {len(values)} arrays for {len(kinds)} inputs.", remedy="Pass one array for each input."
        )
    arrays = []
    for number, (value, kind) in enumerate(zip(values, kinds, strict=True)):
        array = np.asarray(value)
        if not _accepts(array, kind):
            fault = f"array {number + 1} has dtype {array.dtype}, which does not fit the input of type {kind}."
            raise ComparisonError(fault, remedy=f"Convert it: .astype({kind.str[1:]!r}).")
        core = len(cores[number]) if number < len(cores) else 0
        if array.ndim < core:
            fault = f"array {number + 1} has {array.ndim} dimensions, but the input needs at least {core}."
            raise ComparisonError(fault, remedy="Pass an array with more dimensions.")
        array = array.astype(kind, copy=False)
        arrays.append(array.reshape(-1, *array.shape[array.ndim - core :]))
    length = max(map(len, arrays), default=0)
    if not length or any(len(array) not in (1, length) for array in arrays):
        lengths = " and ".join(str(len(array)) for array in arrays)
        raise ComparisonError(f"the arrays have {lengths} elements.", remedy="Pass arrays of the same length.")
    return tuple(np.ascontiguousarray(np.broadcast_to(array, (length, *array.shape[1:]))) for array in arrays)


def _accepts(array: np.ndarray[Any, Any], kind: np.dtype[Any]) -> bool:
    """Whether a call accepts the array for an input of ``kind``: no wider floats, no integer that does not fit."""
    if array.dtype.kind in "iu" and kind.kind in "iu":
        return bool((array.astype(kind) == array).all())
    return np.can_cast(array.dtype, kind, "safe" if array.ndim else "same_kind")


def _list_intervals(kind: np.dtype[Any], *, cautious: bool, screened: bool) -> Sequence[Interval]:
    match kind.kind:
        case "b":
            return ((0.0, 1.0),)
        case "i" | "u":
            options = _INTEGERS if screened and not cautious else _SAFE_INTEGERS
            return options if kind.kind == "i" else tuple((max(low, 0.0), high) for low, high in options)
        case _:
            return _SAFE_FLOATS if cautious else _FLOATS


def _search(
    candidates: Sequence[Sequence[Interval]],
    score: Callable[[Sequence[Interval]], tuple[float, bool]],
    patience: Callable[[], bool],
) -> tuple[Interval, ...]:
    """Try the same interval for every input; then, if none is perfect, each input by itself, twice."""
    best = tuple(options[0] for options in candidates)
    best_score = score(best)

    def combinations() -> Iterator[tuple[Interval, ...]]:
        for level in range(1, max(map(len, candidates))):
            yield tuple(options[min(level, len(options) - 1)] for options in candidates)
        for _ in range(2):
            for position, options in enumerate(candidates):
                for option in options:
                    yield (*best[:position], option, *best[position + 1 :])

    for trial in combinations():
        if best_score == (0.0, False) or not patience():
            break
        trial_score = score(trial)
        if trial_score < best_score:
            best, best_score = trial, trial_score
    return best


def _score_inputs(
    inputs: Arrays, probe: Callable[..., Any], screen: Callable[..., NDArray[np.bool_]] | None
) -> tuple[float, bool]:
    """Share of elements that did not run or whose result is not finite, and whether all results are the same.

    An interval on which nothing happens shows nothing.
    """
    lost = 0.0
    if screen is not None:
        passed = screen(*inputs)
        inputs = tuple(array[passed] for array in inputs)
        lost = 1.0 - float(passed.mean())
    if not len(inputs[0]):
        return 1.0, True
    try:
        with np.errstate(all="ignore"):
            results = probe(*inputs)
    except UfuncMagicError:  # a crash or an exit, which must not happen again
        raise
    except FAULTS:
        return 1.0, True
    results = tuple(map(np.asarray, split_outputs(results)))
    good = np.ones(len(inputs[0]), dtype=np.bool_)
    for result in results:
        if result.dtype.kind in "fc" and result.shape[:1] == good.shape:
            good &= np.isfinite(result.reshape(len(good), -1)).all(axis=1)
    same = all(bool((result == result.flat[0]).all()) for result in results if result.size)
    bad = 1.0 - float(good.mean())
    return bad + (lost if lost > TOLERATED else 0.0), same


def _draw(rng: np.random.Generator, kind: np.dtype[Any], shape: tuple[int, ...], interval: Interval) -> NDArray[Any]:
    low, high = interval
    match kind.kind:
        case "b" | "i" | "u":
            return rng.integers(int(low), int(high), size=shape, endpoint=True).astype(kind)
        case "c":
            real, imaginary = rng.uniform(low, high, size=(2, *shape))
            return np.asarray(real + 1j * imaginary, kind)
        case _:
            return rng.uniform(low, high, size=shape).astype(kind)


def _index_interval(use: OperandUse, kind: np.dtype[Any], sizes: Mapping[str, int]) -> Interval | None:
    """The interval of an index; None for another number."""
    if not use.below:
        return None
    stop = use.stop(sizes)
    if kind.kind in "iu":
        stop = min(stop, int(np.iinfo(kind).max) + 1)
    return float(use.low), float(max(use.low, stop - 1))


def _draw_used(
    rng: np.random.Generator, kind: np.dtype[Any], shape: tuple[int, ...], interval: Interval, use: OperandUse
) -> NDArray[Any]:
    """Draw an operand as the function uses it: indices without repetitions if there are enough, numbers in order."""
    items, low = math.prod(shape[1:]), interval[0]
    span = int(interval[1] - low) + 1
    if use.below and len(shape) > 1 and (use.rising or span <= _MOST_TURNED * items):
        count = np.arange(max(items, span))
        order = np.arange(items) * span // max(items, 1) if use.rising else count % span
        rows = np.broadcast_to(order, (shape[0], len(order)))
        rows = rows if use.rising else rng.permuted(rows, axis=1)[:, :items]
        return (low + rows).astype(kind).reshape(shape)
    if use.below:
        return rng.integers(int(low), int(low) + span, size=shape).astype(kind)
    if use.rising and kind.kind in "iu" and len(shape) > 1:  # drawn ones would be equal
        return np.broadcast_to(int(low) + np.arange(shape[-1]), shape).astype(kind)
    array = _draw(rng, kind, shape, interval)
    return np.sort(array, axis=-1) if use.rising and len(shape) > 1 else array


def _draw_within(rng: np.random.Generator, array: NDArray[Any], searched: NDArray[Any]) -> NDArray[Any]:
    """Draw numbers between the ends of the arrays that they are searched in."""
    shape = (len(array), *(1,) * (array.ndim - 1))
    first, last = (searched.reshape(len(searched), -1)[:, end].reshape(shape) for end in (0, -1))
    drawn: NDArray[Any] = first + (last - first) * rng.uniform(size=array.shape)
    return drawn.astype(array.dtype)


# -- sizes

#: Steps within a decade.
STEPS = (1, 2, 5)

#: The most sizes; more are a typing error, such as ``10:1e7:1e5``.
MOST = 1000

_REMEDY = "Write a range such as --sizes 10:1e7, or a list such as --sizes 1e3,1e5."


def parse_sizes(sizes: str | int | Sequence[int]) -> tuple[int, ...]:
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
        numbers = _space_numbers(sizes) if ":" in sizes else [_number(word, sizes) for word in sizes.split(",")]
    else:
        numbers = [_number(str(size), sizes) for size in (sizes if isinstance(sizes, Iterable) else [sizes])]
    if not numbers or min(numbers) < 1:
        raise ComparisonError(f"sizes={sizes!r} has no elements to compare on.", remedy=_REMEDY)
    return tuple(sorted(set(numbers)))


def _number(word: str, whole: Any) -> int:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ComparisonError(f"{word!r} in sizes={whole!r} is not a number.", remedy=_REMEDY)
    return int(value)


def _space_numbers(text: str) -> list[int]:
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


def round_down(number: int) -> int:
    """The largest of 1, 2, 5, 10, 20, ... that is not above."""
    decade: int = 10 ** (len(str(number)) - 1)
    return max(step * decade for step in STEPS if step * decade <= number)


def resize_arguments(args: Sequence[Any], size: int) -> tuple[Any, ...]:
    """The arguments with ``size`` elements along the first axis: the first ones, repeated where there are fewer.

    Numbers and arrays without axes stay as they are.
    """
    return tuple(_resize_array(arg, size) if isinstance(arg, np.ndarray) and arg.ndim else arg for arg in args)


def _resize_array(array: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    """The first ``size`` elements, repeated if there are fewer."""
    if len(array) >= size:
        return array[:size]
    shape = (size, *array.shape[1:])
    # np.resize makes a tuple of all repetitions: memory that a Python without a GIL promises and does not have.
    if math.prod(shape) * array.itemsize > sys.maxsize:
        raise MemoryError
    result = np.zeros(shape, array.dtype)
    have = len(array)
    result[:have] = array
    while 0 < have < size:
        result[have : 2 * have] = result[: min(have, size - have)]
        have *= 2
    return result


def count_elements(args: Sequence[Any]) -> int:
    """Elements of the largest argument."""
    return max(map(np.size, args), default=1)


def count_bytes(args: Sequence[Any], results: Any) -> int:
    """Bytes of the arrays that go in and out."""
    arrays = [arg for arg in args if isinstance(arg, np.ndarray)]
    return sum(array.nbytes for array in (*arrays, *map(np.asarray, split_outputs(results))))
