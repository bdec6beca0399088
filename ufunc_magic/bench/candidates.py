"""Candidates for a comparison: evaluates texts, moves arrays to the device that a function needs, calls it once."""

from __future__ import annotations

import ast
import functools
import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model import FAULTS, ComparisonError
from ..render import Agreement, Kind, import_required
from ..runtime import find_loops, find_origin, find_ufunc
from .agreement import split_outputs
from .rounds import Call, Clock, TimedCall, time_once

#: Prefix of a text that is an expression for numexpr.
NUMEXPR = "numexpr:"

_REMEDY = f"Write the name of a function, 'lambda x: ...', or '{NUMEXPR} 4*a + exp(-a)'."

#: Letters of an error's text to show: Numba's errors fill pages.
SHOWN = 300


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way of computing something.

    Attributes
    ----------
    label : str
    function : callable
        Its work is done when it returns.
    kind : Kind
    place : callable
        Moves an argument to the device of ``function``, outside of the timing.
    fetch : callable
        Moves a result back, outside of the timing.
    compile_seconds : float or None
        Seconds that compiling it took.
    note : str
    """

    label: str
    function: Callable[..., Any]
    kind: Kind = "other"
    place: Callable[[Any], Any] | None = None
    fetch: Callable[[Any], Any] | None = None
    compile_seconds: float | None = None
    note: str = ""

    def place_arguments(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments for ``function``."""
        if self.place is None:
            return tuple(args)
        return tuple(self.place(arg) if isinstance(arg, np.ndarray) else arg for arg in args)

    def fetch_results(self, results: Any) -> Any:
        """The results as NumPy arrays."""
        if self.fetch is None:
            return results
        return tuple(map(self.fetch, results)) if isinstance(results, tuple) else self.fetch(results)

    def make_entry(
        self,
        call: Call,
        measured: int,
        agreement: Agreement | None,
        nbytes: int = 0,
        compile_seconds: float | None = None,
    ) -> TimedCall:
        """Its row before it is timed."""
        seconds = compile_seconds if self.compile_seconds is None else self.compile_seconds
        return TimedCall(self.label, self.kind, call, measured, agreement, nbytes, self.note, seconds)

    def describe_fault(self, error: Exception) -> str:
        """A note on its failure."""
        return f"{'the ' * (self.kind == 'numpy')}{self.label} failed: {type(error).__name__}: {error}"


CandidateLike = Callable[..., Any] | str | Candidate


def make_candidates(
    callables: Mapping[str, CandidateLike] | Sequence[CandidateLike], *, names: Mapping[str, Any]
) -> tuple[Candidate, ...]:
    """Make everything callable.

    Parameters
    ----------
    callables : mapping or sequence
        Callables, or texts: ``"np.hypot"``, ``"lambda x: x**2"``, ``"numexpr: 4*a + exp(-a)"``.  Without labels,
        texts and functions' names are the labels.
    names : mapping
        Names for the texts, besides ``np`` and ``math``.

    Raises
    ------
    ComparisonError
        If there is nothing, or something that cannot be called.
    """
    if isinstance(callables, str) or not isinstance(callables, Iterable):
        raise ComparisonError(f"{callables!r} is not a list of callables.", remedy='Pass [f, g], or {"name": f}.')
    pairs = list(callables.items() if isinstance(callables, Mapping) else _add_labels(callables))
    if not pairs:
        raise ComparisonError("There is nothing to compare.", remedy='Pass at least one callable: {"name": f}.')
    return tuple(_make_candidate(str(label), value, names) for label, value in pairs)


def _add_labels(callables: Iterable[CandidateLike]) -> Iterator[tuple[str, Any]]:
    labels: dict[str, int] = {}
    for value in callables:
        label = value if isinstance(value, str) else str(getattr(value, "__name__", value))
        labels[label] = labels.get(label, 0) + 1
        yield f"{label} ({labels[label]})" if labels[label] > 1 else label, value


def _make_candidate(label: str, value: Any, names: Mapping[str, Any]) -> Candidate:
    if isinstance(value, Candidate):
        return value
    if isinstance(value, str) and value.strip().startswith(NUMEXPR):
        text = value.strip().removeprefix(NUMEXPR).strip()
        return Candidate(label, make_numexpr(text))
    function = evaluate(value, names) if isinstance(value, str) else value
    if not callable(function):
        fault = f"{label!r} is {type(function).__name__}, not a function."
        remedy = f"Write 'lambda x: ...', or '{NUMEXPR} ...' for a numexpr expression."
        raise ComparisonError(fault, remedy=remedy)
    library = str(type(function).__module__).partition(".")[0]
    if library == "cupy" or str(getattr(function, "__module__", "")).startswith("cupy"):
        cupy = import_required("cupy", purpose=f"comparing {label}")
        call = _make_synchronous(function, lambda result: cupy.cuda.get_current_stream().synchronize())
        return Candidate(label, call, "gpu", cupy.asarray, cupy.asnumpy, note="data on the GPU")
    if hasattr(function, "lower") and library in ("jax", "jaxlib"):
        return Candidate(
            label,
            _make_synchronous(function, lambda result: [part.block_until_ready() for part in split_outputs(result)]),
        )
    kind: Kind = "other"
    if find_ufunc(function) is not None:
        kind = "ufunc" if find_loops(function) else "numpy"
    return Candidate(label, function, kind, note=_note_one_thread(function))


def _note_one_thread(function: Any) -> str:
    """A note on a method of a parallel ufunc for which NumPy calls the loop once for each row."""
    owner = getattr(function, "__self__", None)
    origin = find_origin(owner) if getattr(function, "__name__", "") == "accumulate" and callable(owner) else None
    return "accumulate runs on one thread" if origin is not None and origin.object_code.threads else ""


def evaluate(text: str, names: Mapping[str, Any], *, remedy: str = "") -> Any:
    """The value of an expression over ``names``, ``np`` and ``math``; ``remedy`` ends the error.

    Raises
    ------
    ComparisonError
        If the expression raises.
    """
    try:
        return eval(text, {"np": np, "numpy": np, "math": math, **names})
    except FAULTS as fault:
        reason = f"{type(fault).__name__}: {fault}"
        raise ComparisonError(f"{text!r} cannot be evaluated: {reason}.", remedy=remedy or _REMEDY) from fault


def make_numexpr(text: str, *, order: Sequence[str] = ()) -> Callable[..., Any]:
    """A numexpr expression as a function of its variables in ``order``; in alphabetical order if omitted."""
    numexpr = import_required("numexpr", purpose=f"{NUMEXPR} {text}")
    names = list(order) or _list_variables(text)

    def call(*args: Any) -> Any:
        return numexpr.evaluate(text, local_dict=dict(zip(names, args, strict=True)), global_dict={})

    return call


def _list_variables(text: str) -> list[str]:
    """Names of variables in an expression, sorted."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as fault:
        remedy = f"Write one expression: {NUMEXPR} 4*a + exp(-a)"
        raise ComparisonError(f"{text!r} is not an expression: {fault.msg}.", remedy=remedy) from fault
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called})


def _make_synchronous(function: Callable[..., Any], wait: Callable[[Any], object]) -> Callable[..., Any]:
    """The function, waiting for its result: some return before their work is done."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        result = function(*args)
        wait(result)
        return result

    return call


def count_variants(function: Any) -> int | None:
    """Number of versions that a Numba function has compiled so far; None for functions that compile no versions."""
    compiled = getattr(function, "signatures", getattr(function, "types", None))
    lazy = str(type(function).__module__).partition(".")[0] == "numba"
    return len(compiled) if lazy and compiled is not None else None


# -- the first call: its errors and its result


def try_call(name: str, call: Call, *, clock: Clock, fetch: Callable[[Any], Any] | None = None) -> tuple[float, Any]:
    """Call once; return its seconds, and a result that later calls do not overwrite.

    Parameters
    ----------
    name : str
        The callable's, for errors.
    call : Call
    clock : callable
    fetch : callable
        Moves a result to NumPy.

    Raises
    ------
    ComparisonError
        If it raises, or returns anything but numbers and arrays of numbers.
    """
    try:
        seconds, result = time_once(call, clock=clock)
    except FAULTS as error:
        raise _refuse(name, error) from error
    result = fetch(result) if fetch is not None else result
    for part in split_outputs(result):
        if not is_numeric(part):
            fault = f"{name} returns {describe(part)}, not numbers."
            raise ComparisonError(fault, remedy="Return an array of numbers, or a tuple of such arrays.")
    if find_ufunc(call.function) is not None:
        return seconds, result
    parts = tuple(part.copy() if isinstance(part, np.ndarray) else part for part in split_outputs(result))
    return seconds, parts if isinstance(result, tuple) or len(parts) > 1 else parts[0]


def _refuse(name: str, error: Exception) -> ComparisonError:
    """The error for a callable that raised ``error``."""
    text = str(error).strip().partition("\n\n")[0]
    text = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    return ComparisonError(
        f"{name} cannot be called on these arguments: {type(error).__name__}{text and f': {text}'}",
        remedy="Pass arguments that every callable accepts. To call a function of single numbers on arrays, use "
        "np.vectorize(f).",
    )


def is_numeric(result: Any) -> bool:
    """Whether the result is a number or an array of numbers, judged by its first elements."""
    try:
        array = np.asarray(result)
    except FAULTS:
        return False
    if array.dtype.kind != "O":
        return array.dtype.kind in "biufcmM"
    return all(isinstance(one, numbers.Number) for one in array.reshape(-1)[:20])


def describe(result: Any) -> str:
    """``"None"``, ``"generator"``, ``"an array of <U1"``."""
    name = "None" if result is None else type(result).__name__
    return f"an array of {result.dtype}" if isinstance(result, np.ndarray) else name
