"""Compares results: distances in units in the last place, and the rule that judges them.  Pure.

A value agrees if it is equal (NaN equals NaN, +0 equals -0), or at most ``tolerance`` ulp away, or *eased*:

``|got - expected| <= 2 * tolerance * eps * max(|expected|, typical)``

where ``typical`` is the median of the finite, non-zero ``|expected|`` of the whole sample.  The eased rule
is for cancellation: ``exp(x) - 1`` near 0 carries an error of one ulp *of exp(x)*, which is many ulp of a
tiny result, so an ulp limit alone would accuse every correct program.  An eased difference is smaller than
the last digits of the other results.  If more than a quarter of the values need easing, the
typical value is no measure of the intermediate ones, and they count as differing after all.

A larger difference may be *explained* if the caller can compute expectations again: an element agrees if the
difference is at most ``tolerance / 2`` times what the last bits of the inputs (up to 4 ulp of each) change in
the expected result there.  That also shows how coarse its intermediate results are.
No two correct programs agree to a few ulp on ``exp(77 - 7235/T)``, on the arcsine of nearly 1, or on iterations that
amplify.  A wrong branch is not explained by that.  Of many such elements the 300 furthest off, in ulp and in value,
are examined, and one unexplained is enough.  If the inputs' last bits change too little,
as in ``1 - cos(x)`` for a tiny x, other roundings at every step are tried for 30 elements.

The default tolerance is 4 ulp, the documented bound of glibc's vector functions; 16 if one side was
computed in a wider type than the other (Python's double against C's float), because every step then
rounds differently; both are compared in the narrower type.  A result gathered from ``terms`` numbers,
such as a sum, may be off by ``sqrt(terms)`` times as much: roundings pile up as a random walk, and each order of the
terms has its own (Higham and Mary, SIAM J. Sci. Comput. 41, 2019).  A component of a complex number is measured in
ulp of its absolute value.  Integers and booleans must be equal
or explained.  With ``tolerance=0`` every bit counts.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..render import Agreement, count

#: See the module's text.
SAME_TYPE, OTHER_TYPE = 4.0, 16.0
EASED_SHARE = 0.25
EXPLAINED, ROUNDED = 300, 30

Array = NDArray[Any]
#: Numbers along each axis of a core that name it.
HEAD = 20

#: Positions along the first axis -> how far each expected output moves there with the inputs' last bits.
Explain = Callable[[NDArray[np.intp]], tuple[Array, ...]]


def compare_results(
    expected: Any,
    got: Any,
    *,
    tolerance: float | None = None,
    inputs: Sequence[Array] = (),
    explain: Explain | None = None,
    roundings: Explain | None = None,
    terms: int = 1,
) -> Agreement:
    """Compare results with the expected ones.

    Parameters
    ----------
    expected, got : array_like or tuple of array_like
        A tuple holds several outputs.  ``got`` gives the types; ``expected`` may be a list of Python numbers.
    tolerance : float
        Ulp that do not count; see the module for the default.
    inputs : sequence of array
        The inputs of the results, to name the worst place.
    explain : callable
        See the module; not called if ``tolerance`` is 0.
    roundings : callable
        Like ``explain``, for other roundings at every step; slow, so called last and for few places.
    terms : int
        Numbers that each result was gathered from; only the default tolerance grows with them.

    Returns
    -------
    Agreement
    """
    piled = math.sqrt(max(1, terms)) if tolerance is None else 1.0
    right, actual = split_outputs(expected), split_outputs(got)
    if len(right) != len(actual):
        return Agreement(False, float("inf"), detail=f"{count(len(actual), 'output')} where {len(right)} were expected")
    differences = []
    for position, (e, g) in enumerate(zip(right, actual, strict=True)):
        try:
            differences.append(_find_differences(_unmask(e), np.asarray(_unmask(g)), tolerance, piled))
        except ValueError:
            detail = f"output {position + 1} has shape {np.shape(g)} where {np.shape(e)} was expected"
            return Agreement(False, float("inf"), detail=detail)
    compared = max((difference.got.size for difference in differences), default=0)
    wrong = any(difference.wrong.any() for difference in differences)
    for spreads, most in ((explain, EXPLAINED), (roundings, ROUNDED)):
        if wrong and spreads is not None and tolerance != 0:
            allowed = SAME_TYPE if tolerance is None else tolerance
            differences = _explain_differences(differences, spreads, allowed, piled, most=most)
            wrong = any(difference.wrong.any() for difference in differences)
    if not any(difference.index.size for difference in differences):
        return Agreement(True, 0.0, compared=compared)
    position, at = _find_worst(differences, wrong=wrong)
    worst = differences[position]
    ulp, values = float(worst.ulp[at]), _pick_values(worst, int(worst.index[at]), inputs)
    if not wrong:
        detail = "up to rounding" if ulp > piled * OTHER_TYPE else ""
        return Agreement(True, ulp, worst=values, compared=compared, detail=detail)
    which = f"output {position + 1} " if len(differences) > 1 else ""
    place = f"at ({', '.join(map(_spell_value, values[0]))}) " if values[0] else ""
    least = "at least " if worst.unseen else ""
    share = f"{least}{count(int(worst.wrong.sum()))} of {count(worst.got.size)} differ"
    detail = f"{which}{place}is {_spell_value(values[2])}, expected {_spell_value(values[1])}; {share}"
    return Agreement(False, ulp, worst=values, compared=compared, detail=detail)


def find_suspects(results: Any, others: Any) -> NDArray[np.intp]:
    """Positions along the first axis where two results of the same function disagree, in their common length.

    Of many positions only those furthest apart.
    """
    length = min(len(result) for result in (*split_outputs(results), *split_outputs(others)))
    pairs = zip(split_outputs(results), split_outputs(others), strict=True)
    differences = [_find_differences(a[:length], np.asarray(b)[:length], None) for a, b in pairs]
    places = np.concatenate([_find_furthest(difference) for difference in differences])
    return np.unique(places) if places.size else places


def split_outputs(results: Any) -> tuple[Any, ...]:
    """The outputs of a call as a tuple, with the members of structures in their places."""
    parts = results if isinstance(results, tuple) else (results,)
    return tuple(member for part in parts for member in _list_members(part))


def spoil_memory(results: Any) -> None:
    """Write into free memory of the results' sizes, where the next results will lie.

    A call that writes nothing would otherwise return what an earlier one has left there.
    """
    sizes = [part.nbytes for part in split_outputs(results) if isinstance(part, np.ndarray)]
    for block in [np.empty(size, np.uint8) for size in sizes]:
        block.fill(0x5A)


def _list_members(result: Any) -> Sequence[Any]:
    names = result.dtype.names if isinstance(result, np.ndarray | np.void) else None
    return [member for name in names for member in _list_members(result[name])] if names else [result]


def is_masked(value: Any) -> bool:
    """Whether it is a masked array.  Does not import ``numpy.ma``, which takes 20 ms."""
    return "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)


def _unmask(result: Any) -> Any:
    """A masked array's visible elements: NaN, or None, where it is masked."""
    if not is_masked(result):
        return result
    if result.dtype.kind in "fc":
        return result.filled(np.nan)
    visible = np.array(result.data, dtype=object)
    visible[np.ma.getmaskarray(result)] = None
    return visible


def measure_ulp(expected: Array, got: Array, *, size: Array | None = None) -> NDArray[np.float64]:
    """``|got - expected|`` in units in the last place of ``expected``; both real, of one floating type.

    ``size`` gives the units in place of ``expected``: the absolute value, for a component of a complex number.
    0 where equal or both NaN; infinite where only one is finite, or the infinities differ.
    """
    kind = np.finfo(expected.dtype)
    with np.errstate(all="ignore"):
        # The spacing of the largest binade overflows; half the maximum has the largest finite one.
        unit = np.spacing(np.minimum(np.abs(expected) if size is None else size, kind.max / 2))
        distance: NDArray[np.float64] = (np.abs(got - expected) / unit).astype(np.float64)
    distance[~(np.isfinite(expected) & np.isfinite(got))] = np.inf
    distance[(expected == got) | (np.isnan(expected) & np.isnan(got))] = 0.0
    return distance


@dataclass(frozen=True, eq=False)
class _Differences:
    """One output: both sides in the type of the comparison, and the flat positions where they are unequal.

    ``ulp`` and ``apart`` are the distances there; ``wrong`` marks those that disagree.  ``widened``: one side was
    computed in a wider type.  ``unseen`` wrong ones were not examined for an explanation.
    """

    expected: Array
    got: Array
    index: NDArray[np.intp]
    ulp: NDArray[np.float64]
    apart: NDArray[np.float64]
    wrong: NDArray[np.bool_]
    widened: bool = False
    unseen: int = 0


def _find_differences(expected: Any, got: Array, tolerance: float | None, piled: float = 1.0) -> _Differences:
    if got.dtype.kind not in "fc":
        return _find_exact_differences(expected, got)
    raw = np.asarray(expected)
    e, g = _narrow_both(raw, got)
    e = np.broadcast_to(e, g.shape)
    widened = raw.dtype.kind in "fc" and _count_bits(raw) != _count_bits(got)
    if tolerance is None:
        tolerance = piled * (OTHER_TYPE if widened else SAME_TYPE)
    index = np.flatnonzero(~((e == g) | (np.isnan(e) & np.isnan(g))))
    here, there = e.reshape(-1)[index], g.reshape(-1)[index]
    parts = [(here.real, there.real), (here.imag, there.imag)] if e.dtype.kind == "c" else [(here, there)]
    distances = [measure_ulp(a, b, size=np.abs(here)) for a, b in parts]
    ulp = np.maximum.reduce(distances)
    wrong = ulp > tolerance
    with np.errstate(all="ignore"):
        apart = np.abs(there - here).astype(np.float64)
    eased = wrong & _is_within(parts, np.abs(here), _find_typical(e), tolerance)
    if np.count_nonzero(eased) <= EASED_SHARE * g.size:
        wrong &= ~eased
    return _Differences(e, g, index, ulp, apart, wrong, widened)


def _is_within(parts: list[tuple[Array, Array]], size: Array, typical: float, tolerance: float) -> NDArray[np.bool_]:
    allowed = 2 * tolerance * float(np.finfo(size.dtype).eps) * np.maximum(size.astype(np.float64), typical)
    with np.errstate(all="ignore"):
        within = [np.abs(b - a) <= allowed for a, b in parts]
    # An infinite expectation would allow anything.
    return np.asarray(np.logical_and.reduce(within) & np.isfinite(size), dtype=np.bool_)


def _find_typical(expected: Array) -> float:
    size = np.abs(expected.reshape(-1)[:: max(1, expected.size // 10_000)]).astype(np.float64)
    size = size[np.isfinite(size) & (size > 0)]
    return float(np.partition(size, size.size // 2)[size.size // 2]) if size.size else 0.0  # median() loads numpy.ma


def _count_bits(array: Array) -> int:
    return int(np.finfo(array.dtype).nmant)


def _narrow_both(expected: Array, got: Array) -> tuple[Array, Array]:
    """Both sides in the narrower of the two floating types, complex if either is."""
    if expected.dtype.kind not in "fc":
        expected = expected.astype(got.dtype)
    narrow = min(expected.dtype, got.dtype, key=lambda dtype: np.finfo(dtype).nmant)
    real = np.zeros(0, narrow).real.dtype
    both = np.result_type(real, np.complex64) if "c" in (expected.dtype.kind, got.dtype.kind) else real
    with np.errstate(all="ignore"):
        return expected.astype(both, copy=False), got.astype(both, copy=False)


def _find_exact_differences(expected: Any, got: Array) -> _Differences:
    e = np.asarray(expected)
    if got.dtype.kind == "b" and e.dtype.kind != "O":
        e = e.astype(np.bool_)
    e = np.broadcast_to(e, got.shape)
    # Arrays of Python integers too wide for any type are of objects, and compare exactly.
    differ = np.asarray(e != got, dtype=np.bool_)
    if e.dtype.kind == got.dtype.kind and got.dtype.kind in "mM":
        differ &= ~(np.isnat(e) & np.isnat(got))
    index = np.flatnonzero(differ)
    apart = np.abs(got.reshape(-1)[index].astype(np.float64) - e.reshape(-1)[index].astype(np.float64))
    return _Differences(e, got, index, np.fmax(apart, 1.0), apart, np.ones(index.size, np.bool_))


def _explain_differences(
    differences: list[_Differences], explain: Explain, tolerance: float, piled: float, *, most: int
) -> list[_Differences]:
    """``differences`` with only those wrong that were examined and remain unexplained."""
    rows = np.unique(np.concatenate([_find_furthest(difference, most=most) for difference in differences]))
    spreads = explain(rows)
    remaining = []
    for difference, spread in zip(differences, spreads, strict=True):
        lead, *rest = _lead(difference, difference.index)
        looked_at = difference.wrong & np.isin(lead, rows)
        place = (np.searchsorted(rows, lead[looked_at]), *(axis[looked_at] for axis in rest))
        limit = piled * (max(tolerance, OTHER_TYPE) if difference.widened else tolerance)
        with np.errstate(all="ignore"):
            apart = difference.apart[looked_at]
            within = (apart <= limit / 2 * _coarsen(np.asarray(spread), difference.got)[place]) & np.isfinite(apart)
        wrong = np.zeros_like(difference.wrong)
        wrong[looked_at] = ~within
        unseen = difference.unseen + int(difference.wrong.sum() - looked_at.sum())
        remaining.append(replace(difference, wrong=wrong, unseen=unseen))
    return remaining


def _coarsen(spread: Array, got: Array) -> Array:
    """``spread``, with the median where a result did not move: it is coarser there than the inputs' last bits."""
    moved = spread[np.isfinite(spread) & (spread > 0)]
    if got.dtype.kind not in "fc" or not moved.size:
        return spread
    return np.where(spread == 0, np.median(moved), spread)


def _find_furthest(difference: _Differences, *, most: int = EXPLAINED) -> NDArray[np.intp]:
    """Positions along the first axis of the wrong elements furthest off, in ulp or in value."""
    wrong = np.flatnonzero(difference.wrong)
    measures = (np.nan_to_num(m[wrong], nan=np.inf, posinf=np.inf) for m in (difference.ulp, difference.apart))
    chosen = [wrong[np.argsort(-m)[: most // 2]] for m in measures]
    return _lead(difference, difference.index[np.concatenate(chosen)])[0]


def _lead(difference: _Differences, places: NDArray[np.intp]) -> tuple[NDArray[np.intp], ...]:
    """Flat positions as positions along each axis; a single number is an axis of one."""
    return np.unravel_index(places, difference.got.shape or (1,))


def _find_worst(differences: list[_Differences], *, wrong: bool) -> tuple[int, int]:
    """The output with the largest distance, among the wrong values if there are any, and its position in ``index``."""
    largest = (-1.0, 0, 0)
    for position, difference in enumerate(differences):
        distance = np.where(difference.wrong, difference.ulp, -1.0) if wrong else difference.ulp
        if distance.size:
            at = int(np.argmax(distance))
            largest = max(largest, (float(distance[at]), -position, at))
    return -largest[1], largest[2]


def _pick_values(difference: _Differences, place: int, inputs: Sequence[Array]) -> tuple[Any, Any, Any]:
    where = np.unravel_index(place, difference.got.shape)
    elements = tuple(_pick_at(array, where, difference.got.shape) for array in inputs)
    return elements, _number(difference.expected[where]), _number(difference.got[where])


def _pick_at(array: Array, where: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    """The input at an output's place: of the same shape, or a core after the first axis."""
    if array.shape == shape:
        return _number(array[where])
    return _number(array[where[0]] if array.ndim and where else array)


def _number(value: Any) -> Any:
    """``value`` as Python numbers, the first ones of a core as lists."""
    if isinstance(value, np.ndarray):
        return value[(slice(HEAD),) * value.ndim].tolist()
    return value.item() if isinstance(value, np.generic) else value


def _spell_value(value: Any) -> str:
    word = str(value)
    return word if len(word) <= 40 else f"{word[:37]}..."
