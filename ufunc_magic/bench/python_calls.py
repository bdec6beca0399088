"""The table of a function that stays a Python function: arguments that it accepts, and an entry for each candidate.

The arguments are those that the compiled function and its Python form accept and agree on.  The Python form runs first:
what raises there, such as an index past the end, may crash in C.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import guard
from ..model import FAULTS, CellCrashed, ComparisonError
from ..render import Agreement
from .elementwise import C_RULES
from .expectation import Guarded, Outcome, check_outcome, copy_arrays, find_changed, record_call
from .judging import Prepared
from .request import Forms, Parameters, Request, Result
from .rounds import Call, TimedCall, time_once
from .samples import parse_sizes, sample_arguments

#: Numbers along each axis: the first trial's, which is more than the integers of `sample_arguments`, and the most
#: elements.
SMALL, MOST = 20, 100_000

#: Share of the budget that one call of the slowest form may take.
FORM_PASS = 0.06

#: Seconds of the processors that a first call may take, if the budget is smaller; how many times as long it may wait.
PATIENCE, WAITING = 0.5, 6.0

#: Element types to try for an array of an unknown type.
KINDS = ("float64", "int64", "float32", "int32", "uint8", "complex128", "int16", "uint32", "uint64", "bool")

#: Bytes per second that no processor reads: a faster call has not read all elements.
UNREAD = 5e11


@dataclass(frozen=True, eq=False)
class _Form:
    """A function in Python, its arguments and its results."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    outcome: Outcome
    note: str = ""


@dataclass(frozen=True, eq=False)
class _Accepted:
    """Arguments that the compiled function accepts, its results, and a Python form of it if there is one."""

    arguments: tuple[Any, ...]
    outcome: Outcome
    form: _Form | None = None
    verdict: Agreement | None = None

    @property
    def ok(self) -> bool:
        return self.verdict is None or self.verdict.ok


def try_apart(request: Request, parameters: Parameters) -> tuple[Request, tuple[str, ...]]:
    """Call the function and its Python form in a copy of this process first, which can be ended.

    Returns
    -------
    Request
        Without the Python form if only that takes too long.
    tuple of str
        A note on it.

    Raises
    ------
    CellCrashed
        If a call of the function takes too long, or ends its process.
    """
    try:
        _try_arguments(request, parameters)
    except CellCrashed:
        if not request.forms.exact:
            raise
    else:
        return request, ()
    plain = replace(request, forms=Forms())
    _try_arguments(plain, parameters)
    return plain, ("its Python form is left out: a call takes too long",)


def _try_arguments(request: Request, parameters: Parameters) -> None:
    def attempt() -> None:
        with contextlib.suppress(*FAULTS):  # exceptions come again
            _search_arguments(request, parameters, 0.0, grow=False)

    _call_apart(request, attempt)


def _call_apart(request: Request, work: Callable[[], Result]) -> Result:
    """The result of ``work``, from a copy of this process where there are copies.

    Raises
    ------
    CellCrashed
        If it takes too long, or ends its process.
    """
    seconds = max(PATIENCE, request.budget.seconds)
    return guard.call_in_copy(work, seconds=WAITING * seconds, busy=seconds) if guard.can_copy() else work()


def prepare_function(request: Request, parameters: Parameters, deadline: float) -> Prepared:
    """Search arguments and check every candidate on them.

    Raises
    ------
    ComparisonError
        If the function refuses all sample arguments.
    """
    accepted = _search_arguments(request, parameters, deadline)
    arguments, truth = accepted.arguments, accepted.form
    elements = max((a.size for a in arguments if isinstance(a, np.ndarray)), default=0)
    spoils = bool(find_changed(arguments, accepted.outcome.arguments))
    entries: list[TimedCall] = []
    notes: list[str] = []

    def call(function: Callable[..., Any], own: tuple[Any, ...] = arguments) -> Call:
        return _restore_arguments(function, own) if spoils else Call(function, own)

    if truth is not None:
        loop = call(truth.function, truth.arguments)
        entries.append(TimedCall("Python loop", "python", loop, elements, note=truth.note))
    if reference := request.reference:
        try:
            truth = _Form(reference.function, arguments, record_call(reference.function, arguments))
            entries.append(TimedCall(reference.label, "other", call(truth.function), elements, note="expected results"))
        except FAULTS as fault:
            notes.append(f"{reference.label} failed on these arguments ({type(fault).__name__}: {fault})")
    verdict = None
    if truth is not None:
        for rival in request.rivals:
            try:
                check = _check(request, deadline, truth, arguments, record_call(rival.function, arguments))
            except FAULTS as fault:
                notes.append(rival.describe_fault(fault))
                continue
            if check is not None and check.ok:  # no person wrote the ones that disagree
                entries.append(rival.make_entry(call(rival.function), elements, check))
        verdict = _check(request, deadline, truth, arguments, accepted.outcome)
        if None in (truth.outcome.returned, accepted.outcome.returned):
            notes.append("the results are not made of numbers, so they were not compared")
    entries.append(TimedCall("compiled function", "compiled", call(request.function), elements, verdict))
    if spoils:
        notes.append("it changes its arguments, so every call gets new ones")
    words = map(_describe_argument, itertools.chain(parameters.names, itertools.repeat("")), arguments)
    most_bytes = max((a.nbytes for a in arguments if isinstance(a, np.ndarray)), default=0)
    return Prepared(entries, arguments, elements, ", ".join(words), tuple(notes), least_seconds=most_bytes / UNREAD)


def _restore_arguments(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Call:
    """A call that gets copies of the arguments each time."""
    own = copy_arrays(arguments)

    @contextmanager
    def restore() -> Iterator[None]:
        for here, before in zip(own, arguments, strict=True):
            if isinstance(here, np.ndarray):
                here[...] = before
        yield

    return Call(function, own, restore, spoils=True)


def _describe_argument(parameter: str, argument: Any) -> str:
    """``array: float64``, ``A: float64[200, 200]``, ``n=10``."""
    if not isinstance(argument, np.ndarray):
        return f"{parameter}={argument!r}" if parameter else repr(argument)
    shape = f"[{', '.join(map(str, argument.shape))}]" if argument.ndim != 1 else ""
    return f"{parameter}{': ' * bool(parameter)}{argument.dtype}{shape}"


def _check(
    request: Request, deadline: float, truth: _Form, arguments: tuple[Any, ...], result: Outcome
) -> Agreement | None:
    """Compare the results of another function on ``arguments`` with those of a form."""
    return check_outcome(
        truth.outcome,
        result,
        before=(truth.arguments, arguments),
        again=truth.function,
        patience=lambda: request.budget.clock() < deadline,
    )


# -- arguments


def _search_arguments(request: Request, parameters: Parameters, deadline: float, *, grow: bool = True) -> _Accepted:
    """The first arguments on which the function and its form agree; otherwise the first that were accepted."""
    any_type = any(sample.startswith("O") for sample in parameters.samples)
    refusals: list[ComparisonError] = []
    accepted: list[_Accepted] = []
    for kind in KINDS if any_type else KINDS[:1]:
        try:
            accepted.append(_search_size(request, parameters, deadline, kind, grow=grow))
        except ComparisonError as fault:
            refusals.append(fault)
            continue
        if accepted[-1].ok:
            return accepted[-1]
    if not accepted:
        raise refusals[0]
    return accepted[0]


def _search_size(request: Request, parameters: Parameters, deadline: float, kind: str, *, grow: bool) -> _Accepted:
    """Small arguments first: larger ones are useless if those fail."""
    samples, size = parameters.samples, parameters.size
    dimensions = max((int(sample[1:]) for sample in samples), default=0)
    along = SMALL if not size else max(1, round(size ** (1 / max(1, dimensions))))
    accepted = _verify(request, parameters, deadline, sample_arguments(samples, along=along, kind=kind))
    if size or not grow or not dimensions or not accepted.ok:
        return accepted

    def run(number: int) -> float:
        function = accepted.form.function if accepted.form else request.function
        arguments = sample_arguments(samples, along=number, kind=kind)
        return time_once(Call(function, arguments), clock=request.budget.clock)[0]

    along = SMALL
    with contextlib.suppress(CellCrashed):  # a larger size takes too long
        along = _call_apart(request, lambda: _count_affordable(run, dimensions, FORM_PASS * request.budget.seconds))
    if along == SMALL:
        return accepted
    return _verify(request, parameters, deadline, sample_arguments(samples, along=along, kind=kind))


def _count_affordable(run: Callable[[int], float], dimensions: int, limit: float) -> int:
    """Numbers along each axis, a round one, with which a call of the slowest form stays within the limit."""
    along, before, taken = SMALL, math.inf, 0.0
    for further in parse_sizes(f"{SMALL}:{MOST}")[1:]:
        # A function is not linear if its time grew by more than the elements did; short times show nothing.
        growth = max((further / along) ** dimensions, taken / before)
        if further**dimensions > MOST or (taken > limit / 100 and taken * growth > limit):
            break
        try:
            before, taken = taken or math.inf, run(further)
        except FAULTS:
            break  # it accepts no more
        if taken > limit:
            break
        along = further
    return along


def _verify(request: Request, parameters: Parameters, deadline: float, arguments: tuple[Any, ...]) -> _Accepted:
    """Call the compiled function after a Python form succeeded."""
    result: Outcome | None = None
    first: _Accepted | None = None
    refusal: Exception | None = None
    for function, own, note in _find_forms(request, arguments):
        try:
            if parameters.unwrapped and result is None:
                record_call(function, [a.view(Guarded) if isinstance(a, np.ndarray) else a for a in own])
            form = _Form(function, own, record_call(function, own), note)
        except FAULTS as fault:
            refusal = refusal or fault
            continue
        result = result or _call_compiled(request, arguments)
        accepted = _Accepted(arguments, result, form, _check(request, deadline, form, arguments, result))
        if accepted.ok:
            return accepted
        first = first or accepted
    if first is not None:
        return first
    if refusal is not None:
        raise _refuse(refusal, " by its Python form")
    return _Accepted(arguments, _call_compiled(request, arguments))


def _call_compiled(request: Request, arguments: tuple[Any, ...]) -> Outcome:
    try:
        return record_call(request.function, arguments)
    except FAULTS as fault:
        raise _refuse(fault) from fault


def _refuse(fault: Exception, by: str = "") -> ComparisonError:
    return ComparisonError(f"the sample arguments were rejected{by} ({type(fault).__name__}: {fault})")


def _find_forms(
    request: Request, arguments: tuple[Any, ...]
) -> Iterator[tuple[Callable[..., Any], tuple[Any, ...], str]]:
    """Forms that compute the expected results, the plainest first: function, arguments, note."""
    forms = request.forms
    if forms.python is not None:
        yield forms.python, arguments, ""
        wide = tuple(map(_widen, arguments))
        if any(a is not b for a, b in zip(arguments, wide, strict=True)):
            # Elements of narrow arrays keep their type in Python's sums, unlike in C's variables.
            yield forms.python, wide, "on arrays widened to 64 bits"
    if forms.checked is not None:
        yield forms.checked, arguments, C_RULES if forms.python else ""


def _widen(argument: Any) -> Any:
    if not isinstance(argument, np.ndarray) or argument.dtype.kind not in "iufc":
        return argument
    wide = np.result_type(argument.dtype, {"c": np.complex128, "f": np.float64}.get(argument.dtype.kind, np.int64))
    # uint64 and int64 have only float64 in common.
    return argument if wide == argument.dtype or argument.dtype == np.uint64 else argument.astype(wide)
