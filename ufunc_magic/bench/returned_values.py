"""Whatever a Python function returns and leaves in its arguments, as arrays that can be compared.  No clock."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..render import Agreement, count
from .agreement import SAME_TYPE, agreement
from .verify import rounding

__all__ = ["Guarded", "Run", "changed", "fresh", "judge_runs", "leaves", "run"]

#: Tuples up to this length are outputs of a call, each by itself; longer ones are sequences like lists.
OUTPUTS = 16

Leaves = tuple[NDArray[Any], ...]


@dataclass(frozen=True, eq=False)
class Run:
    """What one call returned, as ``leaves``, and its arguments as it left them."""

    returned: Leaves | None
    arguments: tuple[Any, ...]

    def outputs(self, positions: Sequence[int]) -> Leaves:
        """The results and the arguments at ``positions``, which the function changed."""
        return (*(self.returned or ()), *(self.arguments[position] for position in positions))


class Guarded(np.ndarray[Any, Any]):
    """An array whose elements have no negative indices: where C does not wrap around, they are other memory."""

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(_not_negative(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(_not_negative(index), value)


def _not_negative(index: Any) -> Any:
    for one in index if isinstance(index, tuple) else (index,):
        if isinstance(one, (int, np.integer)) and one < 0:
            raise IndexError(f"index {one} would be before the array's start")
    return index


def run(function: Callable[..., Any], arguments: Sequence[Any]) -> Run:
    """Call ``function`` on copies of the arguments."""
    given = fresh(arguments)
    return Run(leaves(function(*given)), given)


def fresh(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments with arrays copied."""
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments)


def changed(arguments: Sequence[Any], after: Sequence[Any]) -> tuple[int, ...]:
    """Positions of the arrays that are not what they were."""
    pairs = enumerate(zip(arguments, after, strict=True))
    # By their bytes: a NaN that stayed is no change.
    return tuple(i for i, (a, b) in pairs if isinstance(a, np.ndarray) and a.tobytes() != b.tobytes())


def leaves(value: Any) -> Leaves | None:
    """The numbers in a result as arrays; None where it holds something that is not made of numbers."""
    match value:
        case None:
            return ()
        case str():
            return (np.frombuffer(value.encode(), np.uint8),)
        case bytes() | bytearray():
            return (np.frombuffer(bytes(value), np.uint8),)
        case bool() | int() | float() | complex() | np.generic():
            return _numeric(value)
        case dict():
            pairs = _sorted(value.items())
            return _joined([[key for key, _ in pairs], [item for _, item in pairs]])
        case set() | frozenset():
            return leaves(_sorted(value))
        case tuple() if len(value) <= OUTPUTS:
            return _joined(value)
        case list() | tuple() | range():
            return _numeric(value) or _joined(value)
    return _numeric(value)  # arrays, and memoryviews of Cython's


def _numeric(value: Any) -> Leaves | None:
    """``value`` as one array of numbers, or None."""
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError, RuntimeError, BufferError):
        return None  # ragged, or something that refuses to be an array
    if array.dtype.kind in "?biufc":
        return (array,)
    # Python integers wider than every type of NumPy's
    whole = array.dtype.kind == "O" and all(isinstance(item, int) for item in array.flat)
    return (array,) if whole else None


def _joined(values: Sequence[Any]) -> Leaves | None:
    parts = [leaves(value) for value in values]
    return None if any(part is None for part in parts) else tuple(leaf for part in parts for leaf in part or ())


def _sorted(values: Any) -> list[Any]:
    """In an order of their own: C++'s containers and Python's have different ones."""
    try:
        return sorted(values)
    except TypeError:
        return list(values)


def judge_runs(
    expected: Run,
    got: Run,
    *,
    before: tuple[Sequence[Any], Sequence[Any]],
    again: Callable[..., Any],
    patience: Callable[[], bool],
) -> Agreement | None:
    """Compare what was returned and what was changed; None where that is nothing, or not made of numbers.

    Sums may be taken in another order, or in float where Python has double: each step rounds by itself, so
    that sums of ``n`` numbers differ by about ``sqrt(n)`` times as much as single results.

    Parameters
    ----------
    expected, got : Run
    before : pair of sequences
        The arguments of each, as they were.
    again : callable
        The function of ``expected``, for other arguments; asked as in ``verify.rounding``.
    patience : callable
    """
    if expected.returned is None or got.returned is None:
        return None
    sides = zip(before, (expected.arguments, got.arguments), strict=True)
    positions = sorted({position for were, are in sides for position in changed(were, are)})
    wanted, given = expected.outputs(positions), got.outputs(positions)
    if len(wanted) != len(given):
        return agreement(wanted, given)
    if not wanted:
        return None  # nothing returned, nothing changed
    for position, (e, g) in enumerate(zip(wanted, given, strict=True)):
        if e.shape != g.shape:
            detail = f"output {position + 1} has shape {g.shape} where {e.shape} was expected"
            return Agreement(False, math.inf, detail=detail)
    given = tuple(map(_narrowed, wanted, given))
    strict = agreement(wanted, given)
    if strict.ok:
        return strict
    terms = max((max(a.shape) for a in before[0] if isinstance(a, np.ndarray) and a.size), default=1)
    tolerance = SAME_TYPE * math.sqrt(terms)
    summed = agreement(wanted, given, tolerance=tolerance)
    if summed.ok and not summed.detail:
        return replace(summed, detail=f"to {count(math.ceil(summed.max_ulp))} ulp, as sums in another order do")
    explain = rounding(functools.partial(_outputs, again, positions), before[0], patience=patience)
    return agreement(wanted, given, tolerance=tolerance, explain=explain)


def _outputs(function: Callable[..., Any], positions: Sequence[int], *arguments: Any) -> Leaves:
    return run(function, arguments).outputs(positions)


def _narrowed(expected: NDArray[Any], got: NDArray[Any]) -> NDArray[Any]:
    """``got`` as float where it was computed so: Python has a double for each float of C's."""
    if expected.dtype.kind != "f" or got.dtype != np.float64:
        return got
    single = got.astype(np.float32)
    was_single = ((single == got) | np.isnan(got)).all() and not (expected.astype(np.float32) == expected).all()
    return single if was_single else got
