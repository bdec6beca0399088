"""Ways of computing the same thing: checked against each other, then timed.  The only module with a clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..render import Comparison, Row
from .agreement import agreement
from .candidates import Candidate
from .comparing import compare
from .machine import measure_bandwidth
from .measure import Clock
from .samples import sample_inputs
from .timed_entry import compared, timed_rows
from .ufunc_trial import Trial, entries, inputs as trial_inputs

__all__ = [
    "Candidate",
    "Comparison",
    "agreement",
    "compare",
    "measure_bandwidth",
    "sample_inputs",
    "time_function",
]

#: Seconds that the report of one function may cost.
BUDGET = 0.8

STAND_IN = "Python loop calling the compiled function"


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
    rivals: Sequence[Candidate] = (),
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
    rivals : sequence of Candidate
        Other libraries' versions, a row each.
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
        rivals=rivals,
    )
    deadline = clock() + budget
    with np.errstate(all="ignore"):
        arrays = trial_inputs(trial, inputs, size=size)
        found, notes = entries(trial, arrays)
        number = len(arrays[0])
        rows = timed_rows(found, elements=number, deadline=deadline, bandwidth=bandwidth, clock=clock)
        rows += compared(rows, further(arrays) if further else ())
    return Comparison(name, rows, types, tuple(notes))
