"""Prepares what the user wants to compare: evaluates text, puts arrays where a function needs them, calls it once."""

from __future__ import annotations

import ast
import functools
import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model import ComparisonError
from ..render import Kind, needed
from ..runtime import loops_of, ufunc_of
from .agreement import outputs
from .expectation import FAULTS
from .rounds import Call, Clock, once

#: What marks a text as an expression for numexpr.
NUMEXPR = "numexpr:"

_REMEDY = f"Write the name of a function, 'lambda x: ...', or '{NUMEXPR} 4*a + exp(-a)'."

#: Letters of an error's text that are shown: Numba's are pages.
SHOWN = 300


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way of computing something.

    Attributes
    ----------
    label : str
    function : callable
        Has done its work when it returns.
    kind : Kind
    place : callable
        Moves an argument to where ``function`` wants it; outside of what is timed, as is ``fetch``, which brings
        a result back.
    compile_seconds : float or None
        What making it cost already.
    note : str
    """

    label: str
    function: Callable[..., Any]
    kind: Kind = "other"
    place: Callable[[Any], Any] | None = None
    fetch: Callable[[Any], Any] | None = None
    compile_seconds: float | None = None
    note: str = ""

    def placed(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments for ``function``."""
        if self.place is None:
            return tuple(args)
        return tuple(self.place(arg) if isinstance(arg, np.ndarray) else arg for arg in args)

    def fetched(self, results: Any) -> Any:
        """The results as NumPy's arrays."""
        if self.fetch is None:
            return results
        return tuple(map(self.fetch, results)) if isinstance(results, tuple) else self.fetch(results)


CandidateLike = Callable[..., Any] | str | Candidate


def candidates(
    callables: Mapping[str, CandidateLike] | Sequence[CandidateLike], *, names: Mapping[str, Any]
) -> tuple[Candidate, ...]:
    """Make everything callable.

    Parameters
    ----------
    callables : mapping or sequence
        Callables, or texts: ``"np.hypot"``, ``"lambda x: x**2"``, ``"numexpr: 4*a + exp(-a)"``.  Without labels a
        text is its own, and a function's name is its.
    names : mapping
        Where names of a text are looked up, besides ``np`` and ``math``.

    Raises
    ------
    ComparisonError
        If there is nothing, or something that cannot be called.
    """
    if isinstance(callables, str) or not isinstance(callables, Iterable):
        raise ComparisonError(f"{callables!r} is not a list of callables.", remedy='Pass [f, g], or {"name": f}.')
    pairs = list(callables.items() if isinstance(callables, Mapping) else _labelled(callables))
    if not pairs:
        raise ComparisonError("There is nothing to compare.", remedy='Pass at least one callable: {"name": f}.')
    return tuple(_candidate(str(label), value, names) for label, value in pairs)


def _labelled(callables: Iterable[CandidateLike]) -> Iterator[tuple[str, Any]]:
    labels: dict[str, int] = {}
    for value in callables:
        label = value if isinstance(value, str) else str(getattr(value, "__name__", value))
        labels[label] = labels.get(label, 0) + 1
        yield f"{label} ({labels[label]})" if labels[label] > 1 else label, value


def _candidate(label: str, value: Any, names: Mapping[str, Any]) -> Candidate:
    if isinstance(value, Candidate):
        return value
    if isinstance(value, str) and value.strip().startswith(NUMEXPR):
        text = value.strip().removeprefix(NUMEXPR).strip()
        return Candidate(label, numexpr_function(text))
    function = evaluated(value, names) if isinstance(value, str) else value
    if not callable(function):
        fault = f"{label!r} is {type(function).__name__}, not a function."
        remedy = f"Write 'lambda x: ...', or '{NUMEXPR} ...' for a numexpr expression."
        raise ComparisonError(fault, remedy=remedy)
    library = str(type(function).__module__).partition(".")[0]
    if library == "cupy" or str(getattr(function, "__module__", "")).startswith("cupy"):
        cupy = needed("cupy", purpose=f"comparing {label}")
        call = _synchronous(function, lambda result: cupy.cuda.get_current_stream().synchronize())
        return Candidate(label, call, "gpu", cupy.asarray, cupy.asnumpy, note="data on the GPU")
    if hasattr(function, "lower") and library in ("jax", "jaxlib"):
        return Candidate(
            label, _synchronous(function, lambda result: [part.block_until_ready() for part in outputs(result)])
        )
    kind: Kind = "other"
    if ufunc_of(function) is not None:
        kind = "ufunc" if loops_of(function) else "numpy"
    return Candidate(label, function, kind)


def evaluated(text: str, names: Mapping[str, Any], *, remedy: str = "") -> Any:
    """The value of an expression over ``names``, ``np`` and ``math``; ``remedy`` for what is no function.

    Raises
    ------
    ComparisonError
        If it has none.
    """
    try:
        return eval(text, {"np": np, "numpy": np, "math": math, **names})
    except FAULTS as fault:
        reason = f"{type(fault).__name__}: {fault}"
        raise ComparisonError(f"{text!r} cannot be evaluated: {reason}.", remedy=remedy or _REMEDY) from fault


def numexpr_function(text: str, *, order: Sequence[str] = ()) -> Callable[..., Any]:
    """An expression of numexpr's as a function of its variables: in ``order``, else in that of the alphabet."""
    numexpr = needed("numexpr", purpose=f"{NUMEXPR} {text}")
    names = list(order) or _variables(text)

    def call(*args: Any) -> Any:
        return numexpr.evaluate(text, local_dict=dict(zip(names, args, strict=True)), global_dict={})

    return call


def _variables(text: str) -> list[str]:
    """Names in an expression that are not called, sorted."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as fault:
        remedy = f"Write one expression: {NUMEXPR} 4*a + exp(-a)"
        raise ComparisonError(f"{text!r} is not an expression: {fault.msg}.", remedy=remedy) from fault
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called})


def _synchronous(function: Callable[..., Any], wait: Callable[[Any], object]) -> Callable[..., Any]:
    """A function that returns before its work is done, made to wait for it."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        result = function(*args)
        wait(result)
        return result

    return call


def variants(function: Any) -> int | None:
    """How many versions a function of Numba's has compiled so far; None for one that compiles nothing when called."""
    compiled = getattr(function, "signatures", getattr(function, "types", None))
    lazy = str(type(function).__module__).partition(".")[0] == "numba"
    return len(compiled) if lazy and compiled is not None else None


# -- the first call: what it raises, what it gives back


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
        raise _refused(name, error) from error
    result = fetch(result) if fetch is not None else result
    for part in outputs(result):
        if not numeric(part):
            fault = f"{name} returns {described(part)}, not numbers."
            raise ComparisonError(fault, remedy="Return an array of numbers, or a tuple of such arrays.")
    if ufunc_of(call.function) is not None:
        return seconds, result
    parts = tuple(part.copy() if isinstance(part, np.ndarray) else part for part in outputs(result))
    return seconds, parts if isinstance(result, tuple) or len(parts) > 1 else parts[0]


def _refused(name: str, error: Exception) -> ComparisonError:
    """The error for a callable that raised ``error``."""
    text = str(error).strip().partition("\n\n")[0]
    text = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    return ComparisonError(
        f"{name} cannot be called on these arguments: {type(error).__name__}{text and f': {text}'}",
        remedy="Pass arguments that every callable accepts. To call a function of single numbers on arrays, use "
        "np.vectorize(f).",
    )


def numeric(result: Any) -> bool:
    """Whether it is a number or an array of them, as far as its first elements tell."""
    try:
        array = np.asarray(result)
    except FAULTS:
        return False
    if array.dtype.kind != "O":
        return array.dtype.kind in "biufcmM"
    return all(isinstance(one, numbers.Number) for one in array.reshape(-1)[:20])


def described(result: Any) -> str:
    """``"None"``, ``"generator"``, ``"an array of <U1"``."""
    name = "None" if result is None else type(result).__name__
    return f"an array of {result.dtype}" if isinstance(result, np.ndarray) else name
