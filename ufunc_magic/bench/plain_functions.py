"""A compiled function that stays a Python function, against the same function in Python: verified, then timed."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ..render import Agreement, Comparison, Kind
from .measure import Call, Clock
from .per_element import FAULTS
from .plain_trial import Accepted, Asked, Form, accepted
from .returned_values import fresh, run
from .timed_entry import Entry, timed_rows

__all__ = ["time_plain"]

Function = Callable[..., Any]
Arguments = tuple[Any, ...]


def time_plain(
    function: Function,
    *,
    name: str,
    samples: Sequence[str],
    parameters: Sequence[str] = (),
    python: Function | None = None,
    checked: Function | None = None,
    vector: Function | None = None,
    reference: Function | None = None,
    reference_label: str = "reference",
    unwrapped: bool = False,
    size: int = 0,
    budget: float = 0.75,
    clock: Clock = time.perf_counter,
) -> Comparison | str:
    """Check a compiled function against its Python form on the same arguments and time both.

    Parameters
    ----------
    function : callable
    name : str
    samples : sequence of str
        What each parameter takes: NumPy's type letter and the number of dimensions, ``"d1"``, ``"l0"``;
        ``"O1"`` for an array of an unknown type, for which the first is taken that the function and its
        Python form both accept and agree on.
    parameters : sequence of str
        Their names.
    python, checked, vector : callable
        The function without its types, the same with C's answers where Python has others, and as a NumPy
        expression, all on the same arguments.  ``checked`` takes the place of a ``python`` that disagrees;
        a ``vector`` that disagrees is left out, for nobody wrote it.
    reference : callable
        The user's own expectation, a row of its own.
    unwrapped : bool
        The function may have been compiled so that negative indices reach before an array: it is not called
        where its Python form has any.
    size : int
        Elements of the arrays; 0 for as many as the budget allows, at most 100,000.
    budget : float
        Seconds for everything.
    clock : callable

    Returns
    -------
    Comparison or str
        Rows "Python loop", "NumPy expression" and "compiled function"; or, where no arguments were
        accepted, a sentence that says so.
    """
    asked = Asked(function, samples, python, checked, vector, unwrapped, budget, clock() + budget, clock)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # The Python form is not the user's own text; what it warns of is nothing to act on.
        warnings.simplefilter("ignore")
        found = accepted(asked, size)
        if isinstance(found, str):
            return f"{name} was not timed: {found}"
        entries, notes = _entries(asked, found, reference, reference_label)
        elements = entries[-1].measured
        rows = timed_rows(entries, elements=elements, deadline=asked.deadline, bandwidth=None, clock=clock)
    if len(rows) == 1:
        rows = (replace(rows[0], speedup=None),)
    words = map(_word, itertools.chain(parameters, itertools.repeat("")), found.arguments)
    return Comparison(name, rows, ", ".join(words), tuple(notes))


def _entries(asked: Asked, found: Accepted, reference: Function | None, label: str) -> tuple[list[Entry], list[str]]:
    """The rows before they are timed, and what there is to note."""
    elements = max((a.size for a in found.arguments if isinstance(a, np.ndarray)), default=0)
    entries: list[Entry] = []
    notes: list[str] = []

    def add(label: str, kind: Kind, form: Form, verdict: Agreement | None = None) -> None:
        call = _call(form.function, form.arguments, spoils=found.spoils)
        entries.append(Entry(label, kind, call, elements, verdict, note=form.note))

    truth = None
    if found.form is not None and found.expected is not None:
        add("Python loop", "python", found.form)
        truth = found.form, found.expected
    if reference is not None:
        form = Form(reference, found.arguments, "expected results")
        try:
            truth = form, run(reference, found.arguments)
            add(label, "other", form)
        except FAULTS as fault:
            notes.append(f"{label} refused these arguments ({type(fault).__name__}: {fault})")
    if truth is not None and asked.vector is not None:
        form = Form(asked.vector, found.arguments)
        try:
            verdict = asked.judged(*truth, found.arguments, run(asked.vector, found.arguments))
        except FAULTS as fault:
            notes.append(f"the NumPy expression failed: {type(fault).__name__}: {fault}")
        else:
            if verdict is not None and verdict.ok:
                add("NumPy expression", "numpy", form, verdict)
    verdict = asked.judged(*truth, found.arguments, found.got) if truth else None
    add("compiled function", "compiled", Form(asked.function, found.arguments), verdict)
    if found.spoils:
        notes.append("it changes its arguments; every call had fresh ones")
    return entries, notes


def _call(function: Function, arguments: Arguments, *, spoils: bool) -> Call:
    if not spoils:
        return Call(function, arguments)
    given = fresh(arguments)

    @contextmanager
    def restored() -> Iterator[None]:
        for here, was in zip(given, arguments, strict=True):
            if isinstance(here, np.ndarray):
                here[...] = was
        yield

    return Call(function, given, restored, spoils=True)


def _word(parameter: str, argument: Any) -> str:
    """``array: float64``, ``A: float64[200, 200]``, ``n=10``."""
    if not isinstance(argument, np.ndarray):
        return f"{parameter}={argument!r}" if parameter else repr(argument)
    shape = f"[{', '.join(map(str, argument.shape))}]" if argument.ndim != 1 else ""
    return f"{parameter}: {argument.dtype}{shape}" if parameter else f"{argument.dtype}{shape}"
