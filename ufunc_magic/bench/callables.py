"""The comparison of any callables on the same arguments, at one size or at several."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..model import FAULTS, ComparisonError
from ..render import Agreement, Comparison, Row, count, spell_duration
from .agreement import split_outputs, spoil_memory
from .candidates import Candidate, count_variants, try_call
from .expectation import check_whole, copy_arrays, explain_rounding, find_changed
from .judging import Prepared, measure_rows
from .machine import Pressure, describe_machine, read_cache_levels
from .request import Arguments, Request
from .rounds import SAMPLE, Call, Pace, TimedCall, time_once
from .samples import count_bytes, count_elements, resize_arguments

#: Share of the budget for the question what the inputs' last bits change, if results differ.
EXPLAINING = 0.25

#: Rounds, as time allows: with 31 the same call twice was 0.4 to 1.4 times as fast, with 101 0.9 to 1.0.
LEAST_ROUNDS, MOST_ROUNDS = 11, 101

#: Share of the time of a size that more rounds may take where rounds disagree.
RESERVE = 0.5

#: The most seconds of calls within a round: short moments show the machine's mood.
LONGEST_SAMPLE = 0.01

#: Passes that a candidate needs at a size: three to check it, one to find the repeats, and some rounds.
PASSES = 6

#: Share of the budget that the passes at one size may take even if it is spent; ten times that for the cheapest.
OVERRUN = 0.01

#: Ulp that do not count where only the order of elements is in question.
ANY_ROUNDING = 1e6

#: Elements that are compared at each of several sizes, evenly spaced: smaller sizes have shown the others.
CHECKED = 1 << 19


def compare_on_arguments(request: Request, arguments: Arguments) -> Comparison:
    """Check and time all candidates at each size; an interrupt ends it early, with the rows so far."""
    run = _Sizes(request, arguments.groups, Pressure(request.budget.clock))
    with np.errstate(all="ignore"):
        interrupted = run.measure_all()
    notes = [*run.notes, run.pressure.describe()]
    if interrupted:
        notes.append("interrupted: the table shows the rows measured so far")
    return Comparison(
        request.name,
        tuple(run.rows),
        notes=tuple(filter(None, notes)),
        levels=read_cache_levels(bytes_per_element=run.bytes_per_element) if len(run.groups) > 1 else (),
        interrupted=interrupted,
        machine=describe_machine(),
    )


@dataclass(eq=False)
class _Sizes:
    """A comparison under way: the request, the arguments at each size, and the rows so far."""

    request: Request
    groups: Sequence[tuple[Any, ...]]
    pressure: Pressure
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: Label -> seconds per element at the sizes so far; without the candidates that are left out.
    costs: dict[str, list[float]] = field(default_factory=dict)
    #: The last size.
    reached: int = 1
    #: Label -> seconds that the first call spent on compiling.
    compiled: dict[str, float] = field(default_factory=dict)
    bytes_per_element: float = 0.0
    #: Compares results with the expected ones at this size; the label of the candidate that they are from, "" for none.
    check: Callable[[Any], Agreement] = lambda result: Agreement(True, 0.0)
    truth: str = ""
    #: The expected results at this size.
    first: Any = None

    def measure_all(self) -> bool:
        """Fill the rows size by size; whether an interrupt ended it."""
        budget, progress = self.request.budget, self.request.progress or (lambda share, words: None)
        sizes = [count_elements(group) for group in self.groups]
        weights = [max(1.0, 20 * size / max(sizes)) for size in sizes]
        start, left = budget.clock(), budget.seconds
        try:
            for position, (group, size) in enumerate(zip(self.groups, sizes, strict=True)):
                progress(min(1.0, 1 - left / budget.seconds), count(size, "element"))
                self.measure_size(group, seconds=left * weights[position] / sum(weights[position:]), left=left)
                left = budget.seconds - (budget.clock() - start)
        except KeyboardInterrupt:
            if not self.rows:
                raise
            return True
        progress(1.0, count(sizes[-1], "element"))
        return False

    def measure_size(self, args: tuple[Any, ...], *, seconds: float, left: float) -> None:
        """Check and time the candidates that can be afforded, within ``seconds`` of the seconds left."""
        request, start, size = self.request, self.request.budget.clock(), count_elements(args)
        args = tuple(arg.copy() if type(arg) is np.ndarray else arg for arg in args)  # they are reordered later
        present = self.select_affordable(args, seconds, left=left) if self.rows else request.candidates
        if not present:
            return
        entries = self.check_candidates(present, args, patience=EXPLAINING * seconds)
        checking = 2 * (request.budget.clock() - start)  # as long again after the timed calls, twice
        sample = max(SAMPLE, min(LONGEST_SAMPLE, seconds / len(entries) / MOST_ROUNDS))
        pace = Pace(start + max(0.0, seconds - checking), RESERVE * seconds, LEAST_ROUNDS, MOST_ROUNDS, sample)
        baseline = request.candidates[0].label
        prepared = Prepared(entries, args, size)

        def measure_and_check() -> tuple[tuple[Row, ...], str]:
            rows = measure_rows(request, prepared, pace=pace, pressure=self.pressure, baseline=baseline)
            rows, note = self.check_again(entries, rows)
            return (rows, note) if note else (self.check_reordered(entries, rows, args), "")

        rows, note = request.call_apart(measure_and_check)  # each size begins with the same state
        self.notes += [note] if note and note not in self.notes else []
        for row in rows:
            self.costs.setdefault(row.label, []).append(row.seconds / max(1, size))
        self.rows += rows
        self.reached = size

    # -- which candidates

    def select_affordable(self, args: tuple[Any, ...], seconds: float, *, left: float) -> list[Candidate]:
        """The candidates whose passes fit into the time, the cheapest one's into all that is left.

        A note names each of the others once.
        """
        size, budget = count_elements(args), self.request.budget.seconds
        known = [one for one in self.request.candidates if one.label in self.costs]
        cost = {one.label: self.estimate_seconds(one, args, 1.2 * seconds) for one in known}
        total, fitting = 0.0, set[str]()
        for label in sorted(cost, key=lambda label: cost[label]):
            total += PASSES * cost[label]
            overrun = OVERRUN * budget if fitting else max(left, 10 * OVERRUN * budget)
            if total <= max(1.2 * seconds, overrun):
                fitting.add(label)
            else:
                left_out = f"left out from {count(size, 'element')} on, where a call takes about"
                self.notes.append(f"{label}: {left_out} {spell_duration(cost[label])}")
                del self.costs[label]
        return [one for one in known if one.label in fitting]

    def estimate_seconds(self, one: Candidate, args: tuple[Any, ...], patience: float) -> float:
        """Seconds of a call, from the time of an element at the sizes so far; calls it if those are much smaller."""
        size, number = count_elements(args), self.reached
        # The least of three: an interruption must not exclude a candidate.
        each = min(self.costs[one.label][-3:])
        clock = self.request.budget.clock
        while number * 10 < size and PASSES * each * size > patience:
            number *= 8
            call = Call(one.function, one.place_arguments(resize_arguments(args, number)))
            seconds = self.request.call_apart(functools.partial(time_once, call, clock=clock))[0]
            each = seconds / number
            if seconds > patience / 8:
                break
        return each * size

    # -- equality

    def check_candidates(
        self, present: Sequence[Candidate], args: tuple[Any, ...], *, patience: float
    ) -> list[TimedCall]:
        """Call each candidate once, and compare its results with the expected ones."""
        request, clock, size = self.request, self.request.budget.clock, count_elements(args)
        calls = {one.label: Call(one.function, one.place_arguments(args)) for one in present}
        results = {one.label: self.call_first(one, calls[one.label]) for one in present}
        reference = request.reference
        label = reference.label if reference else request.candidates[0].label
        truth = next((one for one in present if one.label == label), present[0])
        function, expected = truth.function, results[truth.label]
        apart = reference is not None and label not in (one.label for one in request.candidates)
        if reference and apart:
            function = reference.function
            expected = try_call("The reference", Call(function, args), clock=clock)[1]
        until = clock() + patience
        explain = None
        if truth.place is None:
            explain = explain_rounding(function, args, patience=lambda: clock() < until)
        several = request.tolerance != 0 and len(self.groups) > 1
        step = max(1, size // CHECKED) | 1 if several else 1

        def check(result: Any) -> Agreement:
            return check_whole(
                expected, result, arguments=args, tolerance=request.tolerance, step=step, explain=explain
            )

        self.check, self.truth, self.first = check, "" if apart else truth.label, expected
        nbytes = {one.label: count_bytes(args, results[one.label]) for one in present}
        self.bytes_per_element = nbytes[present[-1].label] / max(1, size)
        return [
            one.make_entry(
                calls[one.label],
                size,
                None if one.label == self.truth else check(results[one.label]),
                nbytes[one.label],
                self.compiled.get(one.label),
            )
            for one in present
        ]

    def check_again(self, entries: Sequence[TimedCall], rows: tuple[Row, ...]) -> tuple[tuple[Row, ...], str]:
        """The rows after one more call of each candidate, and a note.

        Millions of timed calls may have changed what it returns.  Where the candidate that has the expected results
        keeps state itself, later results say nothing.
        """
        order = sorted(zip(entries, rows, strict=True), key=lambda pair: pair[0].label != self.truth)
        checked: dict[str, Row] = {}
        for entry, row in order:
            fetch = next(one.fetch_results for one in self.request.candidates if one.label == entry.label)
            spoil_memory(self.first)
            try:
                result = try_call(repr(entry.label), entry.call, clock=self.request.budget.clock, fetch=fetch)[1]
                verdict = self.check(result)
            except ComparisonError as error:
                verdict = Agreement(False, float("inf"), detail=error.message)
            if entry.label == self.truth and not verdict.ok:
                return rows, f"{entry.label} keeps state: its results after the timed calls differ from the first ones"
            if row.ok and not verdict.ok:
                detail = f"after the timed calls, {verdict.detail}"
                row = replace(row, agreement=replace(verdict, detail=detail), speedup=None, speedup_range=None)
            checked[entry.label] = row
        return tuple(checked[row.label] for row in rows), ""

    def check_reordered(
        self, entries: Sequence[TimedCall], rows: tuple[Row, ...], args: tuple[Any, ...]
    ) -> tuple[Row, ...]:
        """The rows after a call on the same arrays with their elements in another, unpredictable order.

        A candidate that remembers results by the array, and computes nothing in timed calls, returns the old ones.
        Where the expected results depend on the order (a sum, a search), nothing is asked.
        """
        entry = next((one for one in entries if one.label == self.truth), None)
        arrays = [arg for arg in args if type(arg) is np.ndarray and arg.ndim]
        if entry is None or not arrays or len({len(array) for array in arrays}) > 1 or len(arrays[0]) < 2:
            return rows
        clock, random, size = self.request.budget.clock, np.random.default_rng(), len(arrays[0])
        # Two exchanged elements show a candidate that looks at some elements only before it returns old results.
        exchange = np.arange(size)
        first, second = random.choice(size, 2, replace=False)
        exchange[[first, second]] = second, first
        place = np.arange(size)

        def call(one: TimedCall) -> Any:
            spoil_memory(self.first)
            return time_once(one.call, clock=clock)[1]

        try:
            before = call(entry)
            for order in (random.permutation(size), exchange):
                for array in arrays:
                    array[...] = array[order]
                place = place[order]
                expected = call(entry)
                if not _is_reordered(before, expected, order):
                    return rows
                rows = tuple(
                    self._accuse(one, row, call, expected, args) for one, row in zip(entries, rows, strict=True)
                )
                before = expected
            return rows
        except FAULTS:
            return rows
        finally:
            back = np.argsort(place)
            for array in arrays:
                array[...] = array[back]

    def _accuse(
        self, entry: TimedCall, row: Row, call: Callable[[TimedCall], Any], expected: Any, args: tuple[Any, ...]
    ) -> Row:
        """The row, which disagrees if its results are not those of the reordered arrays."""
        candidate = next(one for one in self.request.candidates if one.label == entry.label)
        if not row.ok or candidate.place is not None or entry.label == self.truth:
            return row
        verdict = check_whole(expected, call(entry), arguments=args, tolerance=ANY_ROUNDING)
        if verdict.ok:
            return row
        detail = f"with the same arrays in another order, {verdict.detail}"
        return replace(row, agreement=replace(verdict, detail=detail), speedup=None, speedup_range=None)

    def call_first(self, one: Candidate, call: Call) -> Any:
        """The results of a candidate's first call at a size.

        Raises
        ------
        ComparisonError
            If it fails, or changes its arguments.
        """
        clock, before = self.request.budget.clock, count_variants(one.function)
        # The smallest size shows whether a candidate changes its arguments, which would make the others look wrong.
        originals = () if self.rows else copy_arrays(call.arguments)
        seconds, result = self.request.call_apart(
            lambda: try_call(repr(one.label), call, clock=clock, fetch=one.fetch_results)
        )
        spoilt = () if self.rows else find_changed(originals, call.arguments)
        for position in spoilt:
            np.copyto(call.arguments[position], originals[position])
        if spoilt:
            fault = (
                f"{one.label!r} changes its argument {spoilt[0] + 1} in place, so the next call would get "
                "different values."
            )
            raise ComparisonError(fault, remedy="Pass it a copy: 'lambda x: f(x.copy())'.")
        if before is not None and (count_variants(one.function) or 0) > before:
            again, _ = time_once(call, clock=clock)
            self.compiled[one.label] = max(0.0, seconds - again)
        return result


def _is_reordered(before: Any, after: Any, order: np.ndarray[Any, Any]) -> bool:
    """Whether results are those of before in another order."""
    pairs = zip(split_outputs(before), split_outputs(after), strict=True)
    return all(
        type(a) is type(b) is np.ndarray
        and a.shape == b.shape
        and len(a) == len(order)
        and np.array_equal(a[order], b, equal_nan=a.dtype.kind in "fc")
        for a, b in pairs
        if np.ndim(a)
    ) and any(np.ndim(a) for a in split_outputs(before))
