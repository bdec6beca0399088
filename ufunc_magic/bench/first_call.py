"""The first call of a callable that is compared: what it raises, what it gives back, what it changes.

What is said here would otherwise be said of somebody else: a function that changes its argument makes those
behind it look wrong, and one that writes each result into the same array agrees with all who do so too.
"""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..model import ComparisonError
from .agreement import outputs
from .measure import Call, Clock, once
from .per_element import FAULTS

__all__ = ["copies", "described", "first_call", "numeric", "refused", "restored"]

#: Letters of an error's text that are shown: Numba's are pages.
SHOWN = 300


def first_call(name: str, call: Call, *, clock: Clock, fetch: Callable[[Any], Any] | None = None) -> tuple[float, Any]:
    """Seconds of one call, and its result, which nobody else writes to.

    Parameters
    ----------
    name : str
        The callable's, as errors have it.
    call : Call
    clock : callable
    fetch : callable
        Brings a result to NumPy.

    Raises
    ------
    ComparisonError
        If it raises, or gives back what is no number and no array of them.
    """
    try:
        seconds, result = once(call, clock=clock)
    except FAULTS as error:
        raise refused(name, call.function, call.arguments, error) from error
    result = fetch(result) if fetch is not None else result
    for part in outputs(result):
        if not numeric(part):
            if inspect.iscoroutine(part):
                part.close()
            fault = f"{name} returns {described(part)}, not numbers."
            raise ComparisonError(fault, remedy="Let it return an array of numbers, or a tuple of such arrays.")
    if isinstance(call.function, np.ufunc):
        return seconds, result
    parts = tuple(part.copy() if isinstance(part, np.ndarray) else part for part in outputs(result))
    return seconds, parts if isinstance(result, tuple) else parts[0]


def refused(name: str, function: Callable[..., Any], args: Sequence[Any], error: Exception) -> ComparisonError:
    """The error for a callable that raised ``error``."""
    said = str(error).strip().partition("\n\n")[0]
    said = said if len(said) <= SHOWN else f"{said[:SHOWN]}..."
    fault = f"{name} cannot be called on these arguments: {type(error).__name__}{said and f': {said}'}"
    if isinstance(error, (TypeError, ValueError)) and _takes_numbers(function, args):
        return ComparisonError(fault, remedy="It takes single numbers.  np.vectorize(f) calls it for each element.")
    return ComparisonError(fault, remedy="Give arguments that every callable takes, or leave it out.")


def _takes_numbers(function: Callable[..., Any], args: Sequence[Any]) -> bool:
    """Whether a function of the user's takes the first elements; libraries' are not called again."""
    if not inspect.isfunction(function) or not any(np.ndim(arg) for arg in args):
        return False
    try:
        first = [np.asarray(arg).flat[0].item() if np.ndim(arg) else arg for arg in args]
        return all(isinstance(part, numbers.Number) for part in outputs(function(*first)))
    except FAULTS:
        return False


def numeric(result: Any) -> bool:
    """Whether it is a number or an array of them, as far as its first elements tell."""
    if inspect.isawaitable(result):
        return False
    try:
        array = np.asarray(result)
    except FAULTS:
        return False
    if array.dtype.kind != "O":
        return array.dtype.kind in "biufcmM"
    return all(isinstance(one, numbers.Number) for one in array.reshape(-1)[:20])


def described(result: Any) -> str:
    """``"None"``, ``"a generator"``, ``"an array of <U1"``."""
    if result is None:
        return "None"
    if isinstance(result, np.ndarray):
        return f"an array of {result.dtype}"
    name = type(result).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def copies(args: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments, their arrays copied; lists and pandas' objects as arrays."""
    return tuple(map(_copied, args))


def _copied(arg: Any) -> Any:
    if isinstance(arg, np.ndarray):
        return arg.copy()
    # Other libraries' arrays may be on a GPU, or not computed yet.
    if isinstance(arg, list) or type(arg).__module__.partition(".")[0] == "pandas":
        return np.array(arg)
    return arg


def restored(args: Sequence[Any], kept: Sequence[Any]) -> int:
    """Put back what a call changed in ``args`` since the `copies` were made.

    Returns
    -------
    int
        Which argument was changed, from 1; 0 if none was.
    """
    changed = 0
    for position, (arg, before) in reversed(list(enumerate(zip(args, kept, strict=True), 1))):
        if isinstance(before, np.ndarray) and not _same(np.asanyarray(arg), before):
            changed = position
            if isinstance(arg, np.ndarray):
                np.copyto(arg, before)
            elif isinstance(arg, list):
                arg[:] = before.tolist()
            elif hasattr(arg, "__setitem__") and np.shape(arg) == before.shape:
                arg[:] = before
    return changed


def _same(array: np.ndarray[Any, Any], before: np.ndarray[Any, Any]) -> bool:
    return array.shape == before.shape and np.array_equal(array, before, equal_nan=array.dtype.kind in "fcmM")
