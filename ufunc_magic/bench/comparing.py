"""The comparison of any callables: equality first, then interleaved rounds, at one size or over many."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..model import ComparisonError
from ..render import Comparison, Row, count, duration
from ..runtime import ufunc_of
from .agreement import agreement, outputs
from .candidates import Candidate, CandidateLike, candidates, first_call, variants
from .expectation import FAULTS, changed, fresh, rounding
from .machine import Limits, Pressure, cache_levels, judged, limits, machine_name
from .rounds import CLOCK, SAMPLE, Call, Clock, TimedCall, Timing, measure, once
from .samples import at_size, moved_bytes, sample_inputs, sizes_of, work_size

#: Seconds, at one size and over several.
BUDGET, BUDGET_OF_SIZES = 2.0, 4.0

#: Elements that are drawn where there are neither arguments nor sizes.
DRAWN = 100_000

#: Share of the budget that asking what the inputs' last bits change may take, where results differ.
EXPLAINING = 0.25

#: Rounds, as time allows: with 31 the same call twice was 0.4 to 1.4 times as fast, with 101 0.9 to 1.0.
LEAST_ROUNDS, MOST_ROUNDS = 11, 101

#: What more rounds may take where they disagree, as a share of the budget.
RESERVE = 0.5

#: Seconds of calls within a round, at most: short moments show their machine's mood.
LONGEST_SAMPLE = 0.01

#: Passes that a callable needs at a size: one to verify, one to find the repeats, and some rounds.
PASSES = 4

#: Share of the budget that the passes at one size may take even where it is spent; ten times that for the cheapest.
OVERRUN = 0.01

#: Elements that are compared where there are several sizes, evenly spaced: the smaller sizes have shown the others.
CHECKED = 1 << 19

Arguments = tuple[Any, ...]
Progress = Callable[[float, str], object]


def compare(
    callables: Mapping[str, CandidateLike] | Sequence[CandidateLike],
    *args: Any,
    sizes: str | int | Sequence[int] | None = None,
    reference: str | Callable[..., Any] | None = None,
    strict: bool = False,
    tolerance: float | None = None,
    budget: float = 0.0,
    names: Mapping[str, Any] | None = None,
    limit: Limits | None = None,
    progress: Progress | None = None,
    clock: Clock = CLOCK,
) -> Comparison:
    """Verify that callables agree on the same arguments, then time them in turns.

    Parameters
    ----------
    callables : mapping or sequence
        Label -> callable, or callables alone.  Texts are evaluated (``"lambda x: x*x"``); one that begins with
        ``numexpr:`` is an expression for that.  The first one is the baseline of the speed-ups.
    *args
        Arguments, the same for all; random numbers in the domain of the first one if omitted.
    sizes : str, int or sequence of int
        Time at each of these numbers of elements (``"10:1e7"``): on the first ones of the arguments' first axis,
        or on those repeated.
    reference : str or callable
        Label of the callable, or a further callable, whose results are the expected ones; the first
        one if omitted.
    strict : bool
        Every bit counts: ``tolerance=0``.
    tolerance : float
        Differences in ulp that do not count; 0 wants every bit.  By default as in
        ``ufunc_magic.bench.agreement``.  Unless it is 0, what the last bits of the arguments change in the
        expected results does not count either.
    budget : float
        Seconds that it may take in all; 2, or 4 with ``sizes``, if omitted.
    names : mapping
        Where names in texts are looked up, besides ``np`` and ``math``.
    limit : Limits
        What the machine can do at most; measured once and remembered if omitted.
    progress : callable
        Called now and then with the share that is done and what is going on.

    Returns
    -------
    Comparison
        Rows by size, then in the order of ``callables``.  A row that disagrees says so and has no speed-up.  An
        interrupt ends it early, with the rows that there are.

    Raises
    ------
    ComparisonError
        If there is nothing to compare, or a callable fails on the arguments.

    Examples
    --------
    >>> double = um.c_ufunc("double twice(double x) { return 2 * x; }")
    >>> comparison = um.compare({"NumPy": "lambda x: x + x", "C": double}, np.arange(1000.0), budget=0.1)
    >>> comparison.ok, [row.label for row in comparison.rows]  # print(comparison) shows the table
    (True, ['NumPy', 'C'])
    """
    compared = candidates(callables, names=names or {})
    labels = [one.label for one in compared]
    if reference is not None and reference not in labels and not callable(reference):
        remedy = f"Pass a function that returns the expected results, or a label: {', '.join(labels)}."
        raise ComparisonError(f"The reference is {reference!r}, not a function.", remedy=remedy)
    numbers = () if sizes is None else sizes_of(sizes)
    try:
        whole = args or _sampled(compared, size=max(numbers, default=DRAWN))
        largest = at_size(whole, numbers[-1]) if numbers else whole
        groups = [at_size(largest, size) for size in numbers] or [tuple(whole)]
    except (MemoryError, OverflowError) as error:
        raise ComparisonError(
            f"sizes={sizes!r} needs more memory than this machine has.", remedy="Use smaller sizes."
        ) from error
    if not all(map(work_size, groups)):
        raise ComparisonError("The arguments have no elements.", remedy="Pass arrays with at least one element.")
    if len(groups) > 1 and len({work_size(group) for group in groups}) == 1:
        kinds = ", ".join(dict.fromkeys(type(arg).__name__ for arg in whole))
        fault = f"sizes={sizes!r} needs array arguments to take elements from, but the arguments are {kinds}."
        raise ComparisonError(fault, remedy="Pass NumPy arrays, or omit the arguments.")
    run = _Run(
        candidates=compared,
        groups=groups,
        reference=reference,
        tolerance=0.0 if strict else tolerance,
        limit=limits() if limit is None and clock is CLOCK else limit,
        budget=budget or (BUDGET_OF_SIZES if len(groups) > 1 else BUDGET),
        progress=progress,
        clock=clock,
        pressure=Pressure(clock),
    )
    interrupted = run.interrupted()
    if busy := run.pressure.words(run.rows):
        run.notes.append(busy)
    if interrupted:
        run.notes.append("interrupted: the table shows the rows measured so far")
    return Comparison(
        " / ".join(labels),
        tuple(run.rows),
        notes=tuple(run.notes),
        levels=cache_levels(bytes_per_element=run.bytes_per_element) if len(groups) > 1 else (),
        interrupted=interrupted,
        machine=machine_name(),
    )


def _sampled(compared: Sequence[Candidate], *, size: int) -> Arguments:
    """Random numbers for the first ufunc, or for as many parameters as the first function has."""
    ufunc = next(filter(None, (ufunc_of(one.function) for one in compared)), None)
    first = ufunc or compared[0].function
    if ufunc is not None:
        loops = [loop.partition("->")[0] for loop in ufunc.types if "O" not in loop]
        doubles = "d" * ufunc.nin
        types = doubles if doubles in loops else loops[-1] if loops and ufunc.signature is None else ""
    else:
        types = "d" * _parameters(first)
    if not types:
        fault = f"There are no arguments, and {compared[0].label!r} does not reveal how many it needs."
        raise ComparisonError(fault, remedy="Pass arrays: compare({...}, x), or -- x on the line.")

    def probe(*args: Any) -> Any:
        try:
            return first(*args)
        except FAULTS:
            return np.full(len(args[0]), np.nan)

    return sample_inputs(types, size=size, probe=probe)


def _parameters(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in plain and one.default is inspect.Parameter.empty for one in parameters)


@dataclass(eq=False, kw_only=True)
class _Run:
    """A comparison under way: what is compared, and the rows so far.

    Attributes
    ----------
    candidates : sequence of Candidate
        The first one is the baseline.
    groups : sequence of tuple
        The arguments at each size, ascending.
    reference : str or callable
    tolerance : float
    limit : Limits
    budget : float
        Seconds in all.
    progress, clock : callable
    pressure : Pressure
    """

    candidates: Sequence[Candidate]
    groups: Sequence[Arguments]
    reference: str | Callable[..., Any] | None
    tolerance: float | None
    limit: Limits | None
    budget: float
    progress: Progress | None
    clock: Clock
    pressure: Pressure
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: Label -> seconds per element at the sizes so far.
    costs: dict[str, list[float]] = field(default_factory=dict)
    #: The last size.
    reached: int = 1
    #: Label -> seconds that the first call spent on compiling.
    compiled: dict[str, float] = field(default_factory=dict)
    bytes_per_element: float = 0.0

    def interrupted(self) -> bool:
        """Fill ``rows`` size by size; whether that was interrupted."""
        sizes = [work_size(group) for group in self.groups]
        weights = [max(1.0, 20 * size / max(sizes)) for size in sizes]
        progress = self.progress or (lambda share, words: None)
        start, left = self.clock(), self.budget
        with np.errstate(all="ignore"):
            try:
                for position, (group, size) in enumerate(zip(self.groups, sizes, strict=True)):
                    progress(min(1.0, 1 - left / self.budget), count(size, "element"))
                    self.at_one_size(group, seconds=left * weights[position] / sum(weights[position:]), left=left)
                    left = self.budget - (self.clock() - start)
            except KeyboardInterrupt:
                if not self.rows:
                    raise
                return True
        progress(1.0, count(sizes[-1], "element"))
        return False

    def at_one_size(self, args: Arguments, *, seconds: float, left: float) -> None:
        """Verify and time within so many of the seconds that are left."""
        start, size = self.clock(), work_size(args)
        present = self.affordable(args, seconds, left=left) if self.rows else self.candidates
        if not present:
            return
        entries = self.entries(present, args, patience=EXPLAINING * seconds)
        timings = measure(
            [entry.call for entry in entries],
            clock=self.clock,
            deadline=start + seconds,
            reserve=RESERVE * seconds,
            least=LEAST_ROUNDS,
            most=MOST_ROUNDS,
            sample=max(SAMPLE, min(LONGEST_SAMPLE, seconds / len(entries) / MOST_ROUNDS)),
        )
        self.add(entries, timings, size)
        self.reached = size

    def affordable(self, args: Arguments, seconds: float, *, left: float) -> list[Candidate]:
        """Those whose passes fit into the time, for the cheapest into all that is left; the others are named once."""
        size = work_size(args)
        known = [one for one in self.candidates if one.label in self.costs]
        cost = {one.label: self.cost(one, args, 1.2 * seconds) for one in known}
        total, fitting = 0.0, set[str]()
        for label in sorted(cost, key=lambda label: cost[label]):
            total += PASSES * cost[label]
            overrun = OVERRUN * self.budget if fitting else max(left, 10 * OVERRUN * self.budget)
            if total <= max(1.2 * seconds, overrun):
                fitting.add(label)
            else:
                left_out = f"left out from {count(size, 'element')} on, where a call takes about"
                self.notes.append(f"{label}: {left_out} {duration(cost[label])}")
                del self.costs[label]
        return [one for one in self.candidates if one.label in fitting]

    def cost(self, one: Candidate, args: Arguments, patience: float) -> float:
        """Seconds of a call, from what an element took at the sizes so far; tried out where they are far from this."""
        size, number = work_size(args), self.reached
        # The least of three: an interruption must not cost a callable its place.
        each = min(self.costs[one.label][-3:])
        while number * 10 < size and PASSES * each * size > patience:
            number *= 8
            seconds = once(Call(one.function, one.placed(at_size(args, number))), clock=self.clock)[0]
            each = seconds / number
            if seconds > patience / 8:
                break
        return each * size

    def entries(self, present: Sequence[Candidate], args: Arguments, *, patience: float) -> list[TimedCall]:
        """Each candidate called once and compared with the expected results."""
        size = work_size(args)
        calls = {one.label: Call(one.function, one.placed(args)) for one in present}
        results = {one.label: self.first_result(one, calls[one.label]) for one in present}
        label = self.reference if isinstance(self.reference, str) else self.candidates[0].label
        truth = next((one for one in present if one.label == label), present[0])
        function, expected = truth.function, results[truth.label]
        if callable(self.reference):
            function = self.reference
            expected = first_call("The reference", Call(function, args), clock=self.clock)[1]
        until = self.clock() + patience
        step = 1 if self.tolerance == 0 or len(self.groups) == 1 else max(1, size // CHECKED) | 1
        explain = None
        if truth.place is None:
            explain = rounding(function, args, patience=lambda: self.clock() < until)
        # Numbers that each result was gathered from, at least.
        terms = size // max(1, min((int(np.size(part)) for part in outputs(expected)), default=1))
        entries = []
        for one in present:
            check = None
            if one is not truth or callable(self.reference):
                check = agreement(
                    _thinned(expected, step),
                    _thinned(results[one.label], step),
                    tolerance=self.tolerance,
                    inputs=tuple(np.asarray(arg)[::step] if np.ndim(arg) else np.asarray(arg) for arg in args),
                    explain=explain and (lambda places: explain(places * step)),
                    terms=terms,
                )
            nbytes = moved_bytes(args, results[one.label])
            self.bytes_per_element = nbytes / max(1, size)
            compiled = self.compiled.get(one.label) if one.compile_seconds is None else one.compile_seconds
            entries.append(TimedCall(one.label, one.kind, calls[one.label], size, check, nbytes, one.note, compiled))
        return entries

    def first_result(self, one: Candidate, call: Call) -> Any:
        before = variants(one.function)
        # The smallest size shows whether arguments are changed, which would make those behind it look wrong.
        originals = () if self.rows else fresh(call.arguments)
        seconds, result = first_call(repr(one.label), call, clock=self.clock, fetch=one.fetched)
        spoilt = () if self.rows else changed(originals, call.arguments)
        for position in spoilt:
            np.copyto(call.arguments[position], originals[position])
        if spoilt:
            fault = (
                f"{one.label!r} changes its argument {spoilt[0] + 1} in place, so the next call would get "
                "different values."
            )
            raise ComparisonError(fault, remedy="Pass it a copy: 'lambda x: f(x.copy())'.")
        if before is not None and (variants(one.function) or 0) > before:
            again, _ = once(call, clock=self.clock)
            self.compiled[one.label] = max(0.0, seconds - again)
        return result

    def add(self, entries: Sequence[TimedCall], timings: Sequence[Timing], size: int) -> None:
        """Rows with their speed-ups over the first callable, and how far they are from the machine's limit."""
        for entry, timing in zip(entries, timings, strict=True):
            self.costs.setdefault(entry.label, []).append(timing.seconds / max(1, size))
        baseline, crowded = self.candidates[0].label, self.pressure.crowded
        self.rows += judged(entries, timings, elements=size, baseline=baseline, limit=self.limit, crowded=crowded)


def _thinned(results: Any, step: int) -> Any:
    """Every so many-th element of each output; an odd ``step`` meets what repeats at powers of two."""
    if step == 1:
        return results
    parts = tuple(np.asanyarray(result) for result in outputs(results))
    thin = tuple(part[::step] if part.ndim else part for part in parts)
    return thin if isinstance(results, tuple) else thin[0]
