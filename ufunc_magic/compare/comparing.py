"""The comparison of any callables: equality first, then interleaved rounds, at one size or over many."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import ComparisonError
from ..report import Agreement, Row
from ..report.rows import agrees
from ..report.tables import count, duration
from .agreement import agreement, outputs
from .bounds import arithmetic_of, remark_of, words
from .candidates import Candidate, Given, candidates, variants
from .comparison import Comparison
from .entry import Entry, row_of
from .machine import Limits, cache_levels, limits, machine_name
from .measure import Call, Clock, Stopped, Timing, affordable, measure, once
from .perelement import FAULTS
from .samples import sample_inputs
from .sizes import at_size, moved_bytes, sizes_of, work_size
from .verify import rounding
from .work import Work

__all__ = ["compare"]

#: Seconds, at one size and over several.
BUDGET, BUDGET_OF_SIZES = 2.0, 4.0

#: Share of the time that asking what the inputs' last bits change may take, where results differ.
EXPLAINING = 0.25

#: Rounds end when every median is known to this share of itself; there are at most so many.
PRECISION, MOST_ROUNDS = 0.005, 101

#: Seconds of work before the first size, in which a CPU reaches its frequency, and before each further one.
WARMUP, WARMUP_EACH = 0.1, 0.005

#: Passes that a callable needs at a size: one to verify, one to find the repeats, and some rounds.
PASSES = 4

#: Elements that are compared where there are several sizes, evenly spaced: the smaller sizes have shown the others.
CHECKED = 1 << 19

Progress = Callable[[float, str], object]


def compare(
    callables: Mapping[str, Given] | Sequence[Given],
    *args: Any,
    sizes: str | int | Sequence[int] | None = None,
    reference: str | Callable[..., Any] | None = None,
    strict: bool = False,
    tolerance: float | None = None,
    budget: float = 0.0,
    names: Mapping[str, Any] | None = None,
    limit: Limits | None = None,
    progress: Progress | None = None,
    clock: Clock = time.perf_counter,
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
        ``ufunc_magic.compare.agreement``.  Unless it is 0, what the last bits of the arguments change in the
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
    """
    made = candidates(callables, names=names or {})
    _check(reference, made)
    if sizes is None:
        wanted: tuple[int, ...] = ()
    else:
        wanted = sizes_of(sizes)
    seconds = budget or (BUDGET_OF_SIZES if len(wanted) > 1 else BUDGET)
    whole = args or _sampled(made, size=max(wanted, default=0), seconds=0.1 * seconds, clock=clock)
    groups = _groups(whole, wanted)
    if limit is None and clock is time.perf_counter:
        limit = limits()
    work = next((found for one in made if (found := arithmetic_of(one)) is not None), None)
    run = _Run(made, reference, 0.0 if strict else tolerance, clock, len(groups) > 1, progress, limit, work)
    interrupted = _over(run, groups, deadline=clock() + seconds)
    each = [moved_bytes(group, ()) / work_size(group) for group in groups[-1:] if len(groups) > 1]
    return Comparison(
        " / ".join(one.label for one in made),
        tuple(run.rows),
        notes=(*run.notes, *(["interrupted: these rows are what there was"] if interrupted else [])),
        levels=cache_levels(bytes_per_element=run.bytes_per_element or each[0]) if each else (),
        interrupted=interrupted,
        machine=machine_name(),
    )


@dataclass(eq=False)
class _Run:
    """A comparison under way: what it was asked, and what it has found."""

    candidates: list[Candidate]
    reference: str | Callable[..., Any] | None
    tolerance: float | None
    clock: Clock
    several: bool
    progress: Progress | None
    limit: Limits | None
    work: Work | None
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: Label -> seconds per element at the sizes so far.
    taken: dict[str, list[float]] = field(default_factory=dict)
    compiled: dict[str, float] = field(default_factory=dict)
    bytes_per_element: float = 0.0

    def tell(self, share: float, elements: int) -> None:
        if self.progress is not None:
            self.progress(min(1.0, share), f"{count(elements, 'element')}")


def _check(reference: str | Callable[..., Any] | None, made: Sequence[Candidate]) -> None:
    labels = [one.label for one in made]
    if isinstance(reference, str) and reference not in labels:
        raise ComparisonError(f"reference={reference!r} is not a label.", remedy=f"Labels are {', '.join(labels)}.")


def _groups(args: Sequence[Any], wanted: Sequence[int]) -> list[tuple[Any, ...]]:
    if not wanted:
        return [tuple(args)]
    whole = at_size(args, wanted[-1])
    return [at_size(whole, size) for size in wanted]


def _sampled(made: Sequence[Candidate], *, size: int, seconds: float, clock: Clock) -> tuple[Any, ...]:
    """Random numbers for the first ufunc, or for as many parameters as the first function has."""
    ufunc = next((one.function for one in made if isinstance(one.function, np.ufunc)), None)
    first = ufunc or made[0].function
    if isinstance(ufunc, np.ufunc):
        types = [loop.partition("->")[0] for loop in ufunc.types if "O" not in loop]
        doubles = "d" * ufunc.nin
        chosen = doubles if doubles in types else types[-1] if types and ufunc.signature is None else ""
    else:
        chosen = "d" * _parameters(first)
    if not chosen:
        fault = f"There are no arguments, and {made[0].label!r} does not tell how many it takes."
        raise ComparisonError(fault, remedy="Give arrays: compare({...}, x), or -- x on the line.")
    if not size:
        few = sample_inputs(chosen, size=1024)
        size = 1024 * affordable(lambda n: _repeated(n, first, few), most=1024, seconds=seconds / 4, clock=clock)
    return sample_inputs(chosen, size=size, probe=first)


def _repeated(number: int, function: Callable[..., Any], args: Sequence[Any]) -> None:
    for _ in range(number):
        function(*args)


def _parameters(function: Callable[..., Any]) -> int:
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in plain and one.default is inspect.Parameter.empty for one in found)


def _over(run: _Run, groups: Sequence[tuple[Any, ...]], *, deadline: float) -> bool:
    """Fill ``run.rows`` size by size; whether that was interrupted."""
    sizes = [work_size(group) for group in groups]
    weights = [max(1.0, 20 * size / max(sizes)) for size in sizes]
    start = run.clock()
    with np.errstate(all="ignore"):
        try:
            for position, (group, size) in enumerate(zip(groups, sizes, strict=True)):
                now = run.clock()
                share = weights[position] / sum(weights[position:])
                done = (now - start) / max(deadline - start, 1e-9)
                run.tell(done, size)
                _at(run, group, seconds=(deadline - now) * share, done=(done, share), first=not position)
        except KeyboardInterrupt:
            if not run.rows:
                raise
            return True
    run.tell(1.0, sizes[-1])
    return False


def _at(run: _Run, args: tuple[Any, ...], *, seconds: float, done: tuple[float, float], first: bool) -> None:
    """Verify and time at one size."""
    clock, size = run.clock, work_size(args)
    deadline = clock() + seconds
    last = _last(run, args)
    present = _affordable(run, size, seconds) if run.several and not first else run.candidates
    found = _entries(run, present, args, patience=EXPLAINING * seconds)
    if not found:
        return
    before, share = done

    def tell(part: float) -> None:
        run.tell(before + (1 - before) * share * part, size)

    try:
        timings = measure(
            [entry.call for entry in found],
            clock=clock,
            deadline=deadline,
            most=MOST_ROUNDS,
            precision=PRECISION,
            warmup=min(WARMUP if first else WARMUP_EACH, 0.1 * seconds),
            tell=tell if run.progress is not None else None,
        )
    except Stopped as stop:
        _keep(run, found, stop.timings, last=True)
        raise
    _keep(run, found, timings, last=last)


def _last(run: _Run, args: Sequence[Any]) -> bool:
    """Whether rows of this size say how far they are from the limits."""
    return not run.several or work_size(args) >= 100_000


def _affordable(run: _Run, size: int, seconds: float) -> list[Candidate]:
    """Those whose passes fit into the time, the cheapest first to be kept; the others are named once."""
    # The least of three: an interruption must not cost a callable its place.
    cost = {label: size * min(each[-3:]) for label, each in run.taken.items()}
    kept: set[str] = set()
    total = 0.0
    for label in sorted(cost, key=lambda label: cost[label]):
        total += PASSES * cost[label]
        if total <= 1.2 * seconds or not kept:
            kept.add(label)
        else:
            took = duration(cost[label])
            run.notes.append(f"{label}: left out from {count(size, 'element')} on, where a call takes about {took}")
            del run.taken[label]
    return [one for one in run.candidates if one.label in kept]


def _entries(run: _Run, present: Sequence[Candidate], args: tuple[Any, ...], *, patience: float) -> list[Entry]:
    clock, size = run.clock, work_size(args)
    calls = {one.label: Call(one.function, one.placed(args)) for one in present}
    results = {one.label: one.fetched(_first_result(run, one, calls[one.label])) for one in present}
    named = run.reference if isinstance(run.reference, str) else run.candidates[0].label
    truth = next((one for one in present if one.label == named), present[0])
    function = truth.function
    expected = results[truth.label]
    if callable(run.reference):
        function = run.reference
        expected = _called("the reference", Call(function, args), clock)[1]
    until = clock() + patience
    whole = run.tolerance == 0 or not run.several
    step = 1 if whole else max(1, size // CHECKED) | 1
    explain = rounding(function, args, patience=lambda: clock() < until) if truth.place is None else None
    found = []
    for one in present:
        verdict: Agreement | None = None
        if one is not truth or callable(run.reference):
            verdict = agreement(
                _thinned(expected, step),
                _thinned(results[one.label], step),
                tolerance=run.tolerance,
                inputs=tuple(np.asarray(arg)[::step] if np.ndim(arg) else np.asarray(arg) for arg in args),
                explain=explain and (lambda places: explain(places * step)),
            )
        nbytes = moved_bytes(args, results[one.label])
        run.bytes_per_element = nbytes / max(1, size)
        seconds = one.compile_seconds if one.compile_seconds is not None else run.compiled.get(one.label)
        call = calls[one.label]
        found.append(Entry(one.label, one.kind, call, size, verdict, nbytes, one.note, seconds))
    return found


def _thinned(results: Any, step: int) -> Any:
    """Every so many-th element of each output; an odd ``step`` meets what repeats at powers of two."""
    if step == 1:
        return results
    parts = tuple(np.asarray(result) for result in outputs(results))
    thin = tuple(part[::step] if part.ndim else part for part in parts)
    return thin if isinstance(results, tuple) else thin[0]


def _first_result(run: _Run, one: Candidate, call: Call) -> Any:
    before = variants(one.function)
    seconds, result = _called(repr(one.label), call, run.clock)
    if before is not None and (variants(one.function) or 0) > before:
        again, result = once(call, clock=run.clock)
        run.compiled[one.label] = max(0.0, seconds - again)
    return result


def _called(name: str, call: Call, clock: Clock) -> tuple[float, Any]:
    try:
        return once(call, clock=clock)
    except FAULTS as error:
        fault = f"{name} cannot be called on these arguments: {type(error).__name__}: {error}"
        raise ComparisonError(fault, remedy="Give arguments that every callable takes, or leave it out.") from error


def _keep(run: _Run, found: Sequence[Entry], timings: Iterable[Timing], *, last: bool) -> None:
    """Rows with their speed-ups over the first callable, where it is there and nothing speaks against it."""
    rows = []
    for entry, timing in zip(found, timings, strict=True):
        run.taken.setdefault(entry.label, []).append(timing.seconds / max(1, entry.measured))
        row = row_of(entry, timing, entry.measured, None)
        rows.append(replace(row, note=_noted(run, row, entry)) if last else row)
    base = next((row for row in rows if row.label == run.candidates[0].label and agrees([row])), None)
    for row in rows:
        fair = base is not None and agrees([row]) and row.seconds
        run.rows.append(replace(row, speedup=base.seconds / row.seconds) if base is not None and fair else row)


def _noted(run: _Run, row: Row, entry: Entry) -> str:
    """The row's note, with how far it is from the machine's limits."""
    if run.limit is None or row.kind == "gpu":
        return row.note
    one = next(one for one in run.candidates if one.label == row.label)
    said = words(row, entry.nbytes, run.limit, work=run.work, remark=remark_of(one), args=entry.call.arguments)
    return "; ".join(part for part in (row.note, said) if part)
