"""Ways of computing the same thing: checked against each other, then timed.  The only module with a clock."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ComparisonError
from ..report import Comparison, Row
from .agreement import agreement
from .measure import Call, Clock, Entry, compared, once, timed_rows
from .perelement import FAULTS
from .samples import sample_inputs
from .trial import Trial, entries
from .trial import inputs as trial_inputs
from .verify import rounding

__all__ = ["agreement", "compare", "measure_bandwidth", "sample_inputs", "time_function"]

#: Bytes of each of the two arrays a copy streams through: past the second-level cache of every machine and,
#: together, near the share of the last level that one core of a large machine gets.
STREAM = 24 << 20

#: Seconds that the report of one function may cost.
BUDGET = 0.8

#: Share of the time that asking what the inputs' last bits change may take, where results differ.
EXPLAINING = 0.25

STAND_IN = "Python loop calling the compiled function"


def measure_bandwidth(*, clock: Clock = time.perf_counter) -> float:
    """Bytes per second that one thread reads and writes in ``b = a + 1``, best of four; about 50 ms.

    An addition and not ``memcpy``, whose streaming stores skip the read of the line to be written
    that a compiled loop causes: this is what a loop can reach.  That read is not counted, here or in a row.
    """
    source = np.ones(STREAM // 8)
    target = np.empty_like(source)
    call = Call(functools.partial(np.add, out=target), (source, 1.0))
    once(call, clock=clock)  # maps the pages of the target
    return (source.nbytes + target.nbytes) / max(1e-9, min(once(call, clock=clock)[0] for _ in range(4)))


def compare(
    callables: Mapping[str, Callable[..., Any]],
    *args: Any,
    sizes: Sequence[int] | None = None,
    reference: str | Callable[..., Any] | None = None,
    tolerance: float | None = None,
    budget: float = 2.0,
    clock: Clock = time.perf_counter,
) -> Comparison:
    """Verify that callables agree on the same arguments, then time them in turns.

    Parameters
    ----------
    callables : mapping
        Label -> callable.  The first one is the baseline of the speed-ups.
    *args
        Arguments, the same for all.
    sizes : sequence of int
        Time on the first ``n`` elements of the arguments' first axis, for each ``n``.
    reference : str or callable
        Label of the callable, or a further callable, whose results are the expected ones; the first
        one if omitted.
    tolerance : float
        Differences in ulp that do not count; 0 wants every bit.  By default as in
        ``ufunc_magic.compare.agreement``.  Unless it is 0, what the last bits of the arguments change in the
        expected results does not count either.
    budget : float
        Seconds that the timing may take in all.

    Returns
    -------
    Comparison
        Rows in the order of ``callables``, for each size.  A row that disagrees says so and has no
        speed-up.

    Raises
    ------
    ComparisonError
        If there is nothing to compare, or a callable fails on the arguments.
    """
    if not callables:
        raise ComparisonError("There is nothing to compare.", remedy='Give at least one callable: {"name": f}.')
    if isinstance(reference, str) and reference not in callables:
        raise ComparisonError(f"reference={reference!r} is not a label.", remedy=f"Labels are {', '.join(callables)}.")
    rows: list[Row] = []
    groups = [args] if sizes is None else [tuple(_first(arg, size) for arg in args) for size in sizes]
    for group in groups:
        with np.errstate(all="ignore"):
            seconds = budget / len(groups)
            entries = _entries(callables, group, reference, tolerance, seconds=seconds, clock=clock)
            deadline = clock() + seconds
            elements = entries[0].measured
            rows += timed_rows(entries, elements=elements, deadline=deadline, bandwidth=None, clock=clock)
    return Comparison(" / ".join(callables), tuple(rows))


def _entries(
    callables: Mapping[str, Callable[..., Any]],
    args: Sequence[Any],
    reference: str | Callable[..., Any] | None,
    tolerance: float | None,
    *,
    seconds: float,
    clock: Clock,
) -> list[Entry]:
    label = reference if isinstance(reference, str) else next(iter(callables))
    results = {name: _called(name, function, args, clock) for name, function in callables.items()}
    further = callable(reference)
    expected = _called("the reference", reference, args, clock) if callable(reference) else results[label]
    elements = max((int(np.size(arg)) for arg in args), default=1)
    arrays = tuple(np.asarray(arg) for arg in args)
    patient = clock() + EXPLAINING * seconds
    truth = reference if callable(reference) else callables[label]
    explain = rounding(truth, args, patience=lambda: clock() < patient)
    return [
        Entry(
            name,
            "other",
            Call(function, args),
            elements,
            None
            if name == label and not further
            else agreement(expected, results[name], tolerance=tolerance, inputs=arrays, explain=explain),
        )
        for name, function in callables.items()
    ]


def _called(name: str, function: Callable[..., Any], args: Sequence[Any], clock: Clock) -> Any:
    try:
        return once(Call(function, args), clock=clock)[1]
    except FAULTS as error:
        fault = f"{name!r} cannot be called on these arguments: {type(error).__name__}: {error}"
        raise ComparisonError(fault, remedy="Give arguments that every callable takes, or leave it out.") from error


def _first(argument: Any, size: int) -> Any:
    return argument[:size] if isinstance(argument, np.ndarray) and argument.ndim else argument


def time_function(
    ufunc: Callable[..., Any],
    *,
    name: str,
    types: str,
    cores: Sequence[Sequence[int | str]] = (),
    inputs: Sequence[NDArray[Any]] | None = None,
    python: Callable[..., Any] | None = None,
    exact_python: Callable[..., Any] | None = None,
    vector: Callable[..., Any] | None = None,
    reference: Callable[..., Any] | None = None,
    reference_label: str = "reference",
    scalar_label: str = STAND_IN,
    label: str = "ufunc",
    further: Callable[[Sequence[NDArray[Any]]], Sequence[Row]] | None = None,
    threads: Callable[[int], AbstractContextManager[Any]] | None = None,
    max_threads: int = 1,
    cautious: bool = False,
    edges: bool = True,
    tolerance: float | None = None,
    size: int = 0,
    budget: float = BUDGET,
    bandwidth: float | None = None,
    clock: Clock = time.perf_counter,
) -> Comparison:
    """Check one ufunc against its Python version and time both: the default report of a function.

    Parameters
    ----------
    ufunc : callable
    name : str
    types : str
        The loop to time, ``"dd->d"``.
    cores : sequence of sequence of int or str
        Core dimensions of each input.
    inputs : sequence of ndarray
        What to time on, elements along the first axis; made by ``sample_inputs`` if omitted.
    python, exact_python : callable
        The function on Python scalars (nested lists for cores): the one that is timed, and the one
        whose results are expected; each stands in for the other.  Without both the loop that
        calls ``ufunc`` per element is timed, as ``scalar_label``, and nothing can be checked.
    vector : callable
        The function as a NumPy expression, on arrays.
    reference : callable
        The user's own expectation, on arrays or on scalars.  On scalars it also takes the place of
        ``python``.
    label : str
        What the rows of ``ufunc`` are called.
    further : callable
        Makes further rows of the arrays that the others were timed on.
    threads : callable
        ``with threads(n):`` sets the threads of a parallel ufunc; ``max_threads`` is the most to show.
    cautious : bool
        See ``sample_inputs``.
    edges : bool
        Check zeros, infinities and NaN as well, where the inputs are scalars and ``cautious`` is false.
    tolerance : float
        As in ``agreement``.
    size : int
        Elements to time; 0 for as many as the budget allows, at most a million.
    budget : float
        Seconds for everything.
    bandwidth : float
        From ``measure_bandwidth``; without it no row has one.
    clock : callable

    Returns
    -------
    Comparison
    """
    trial = Trial(
        ufunc=ufunc,
        types=types,
        cores=cores,
        python=python,
        exact=exact_python or python,
        vector=vector,
        reference=reference,
        reference_label=reference_label,
        scalar_label=scalar_label,
        threads=threads,
        max_threads=max_threads,
        cautious=cautious,
        edges=edges,
        tolerance=tolerance,
        budget=budget,
        clock=clock,
        label=label,
    )
    deadline = clock() + budget
    with np.errstate(all="ignore"):
        arrays = trial_inputs(trial, inputs, size=size)
        found, notes = entries(trial, arrays)
        number = len(arrays[0])
        rows = timed_rows(found, elements=number, deadline=deadline, bandwidth=bandwidth, clock=clock)
        rows += compared(rows, further(arrays) if further else ())
    return Comparison(name, rows, types, tuple(notes))
