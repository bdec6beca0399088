"""One compiled function beside its Python form, NumPy, the user's reference and other libraries: its table.

A `Request` says what to compare.  For a ufunc, samples are drawn along one axis and every way of computing gets as
many of them as it can take; for a function that stays a Python function, arguments are looked for that it and its
Python form accept and agree on.  Both give entries with their verdicts, which are timed in turns and judged.

Shares of the budget for a ufunc: sampling 0.1, finding the sizes and the expected results about 0.35, the rest for
the rounds.
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..forms import Watched
from ..model import ComparisonError, OptionError, UfuncMagicError
from ..render import Agreement, Comparison, Kind, Row, count
from . import expectation
from .agreement import outputs, suspects
from .candidates import Candidate, described, numeric
from .expectation import FAULTS, Expected, Outcome, columns
from .machine import Limits, Pressure, faster, judged
from .rounds import CLOCK, ROUNDS, Call, Clock, TimedCall, affordable, measure, once
from .samples import (
    POOL,
    PROBES,
    LastDraw,
    described_inputs,
    edge_inputs,
    rounded_down,
    sample_arguments,
    sample_inputs,
    sizes_of,
)

#: Elements where nothing speaks for fewer, and bytes that all inputs together may take.
ELEMENTS, BYTES = 1_000_000, 32 << 20

#: Elements of each argument that a report keeps.
REMEMBERED = 10_000

#: Shares of the budget.
SAMPLING, UFUNC_CALL, EXPECTED, PYTHON_PASS, VECTOR_PASS = 0.1, 0.03, 0.05, 0.02, 0.03

#: Seconds for the search of a function's domain, however little there is: a table of inputs outside of it is of no use.
SEARCH = 0.03

#: Rounds that agree so well need no more of them; as many as anybody may ask for.
STEADY, MANY = 0.05, 10_000

#: For a Python function, numbers along each axis: the first trial's, which is more than the integers of
#: ``sample_arguments``, and the most elements.
SMALL, MOST = 20, 100_000

#: Share of the budget that one call of the slowest form of a Python function may take.
FORM_PASS = 0.06

#: Bytes per second that no processor reads: what takes less time has not looked at all elements.
UNREAD = 5e11

#: Element types to try where a Python function takes any, or one that it does not show.
KINDS = ("float64", "int64", "float32", "int32", "uint8", "complex128", "int16", "uint32", "uint64", "bool")

STAND_IN = "Python loop calling the compiled function"

#: A note on the form that stands in where Python's operators and C's differ.
_C_RULES = "with C's rules checked at every step"

#: A note on the form that a person would write, where its results are others.
_PYTHON_RULES = "Python's own rules give different results for some elements"

Arrays = tuple[NDArray[Any], ...]


@dataclass(frozen=True, eq=False)
class Request:
    """A compiled function, and what it is compared with.

    Attributes
    ----------
    function : callable
    name : str
    types : str
        The loop of a ufunc to time, ``"dd->d"``; ``""`` for a function that stays a Python function.
    cores : sequence of sequence of int or str
        Core dimensions of each input.
    samples : sequence of str
        What each parameter of a Python function takes: NumPy's type letter and the number of dimensions, ``"d1"``,
        ``"l0"``; ``"O1"`` for an array of an unknown type, for which the first is taken that the function and its
        Python form both accept and agree on.
    parameters : sequence of str
        Names of the inputs.
    inputs : sequence of ndarray
        What to time a ufunc on, elements along the first axis; made by ``sample_inputs`` if omitted.
    python, checked : callable
        The function in Python (on scalars, nested lists for cores): the one that is timed, and the one with C's answers
        where Python has others, whose results are expected; each stands in for the other.  Without both the loop that
        calls a ufunc per element is timed, and nothing can be checked.
    random : callable
        The one whose results are expected, with every rounding drawn anew.
    text : str
        The text of ``python``.
    watched : Watched
        The Python function of integers, to be written as the inputs that are timed ask for; goes before ``python``.
    reference : callable
        The user's own expectation, on arrays or on scalars.  On scalars it also takes the place of ``python``.
    rivals : sequence of Candidate
        The NumPy expression and other libraries' versions, on arrays, a row each.
    label : str
        What the rows of a ufunc are called.
    on_device : callable
        Makes further rows of the arrays that the others were timed on.
    threads : callable
        ``with threads(n):`` sets the threads of a parallel ufunc; ``max_threads`` is the most to show.
    cautious : bool
        See ``sample_inputs``.
    edges : bool
        Check zeros, infinities and NaN as well, where the inputs are scalars and ``cautious`` is false.
    unwrapped : bool
        A Python function may have been compiled so that negative indices reach before an array: it is not called
        where its Python form has any.
    size : int
        Elements to time; 0 for as many as the budget allows, at most a million, or 100,000 for a Python function.
    budget, reserve : float
        Seconds for everything, and for more rounds where they disagree.
    thorough : bool
        Rounds that agree are no reason to end before the budget is spent.
    last : LastDraw
        Inputs that another function of the cell was timed on.
    limit : Limits
        What the machine can move; without it no row has a share of it.
    clock : callable
    """

    function: Callable[..., Any]
    name: str
    types: str = ""
    cores: Sequence[Sequence[int | str]] = ()
    samples: Sequence[str] = ()
    parameters: Sequence[str] = ()
    inputs: Sequence[NDArray[Any]] | None = None
    python: Callable[..., Any] | None = None
    checked: Callable[..., Any] | None = None
    random: Callable[..., Any] | None = None
    text: str = ""
    watched: Watched | None = None
    reference: Callable[..., Any] | None = None
    reference_label: str = "reference"
    rivals: Sequence[Candidate] = ()
    label: str = "ufunc"
    on_device: Callable[[Sequence[NDArray[Any]]], Sequence[Row]] | None = None
    threads: Callable[[int], AbstractContextManager[Any]] | None = None
    max_threads: int = 1
    cautious: bool = False
    edges: bool = True
    unwrapped: bool = False
    size: int = 0
    budget: float = 0.8
    reserve: float = 0.8
    thorough: bool = False
    last: LastDraw | None = None
    limit: Limits | None = None
    clock: Clock = CLOCK

    @property
    def out(self) -> str:
        """Types of a ufunc's outputs."""
        return self.types.partition("->")[2]

    @property
    def exact(self) -> Callable[..., Any] | None:
        """The form whose results are expected."""
        return self.checked or self.python

    @property
    def otherwise(self) -> dict[str, Callable[..., Any] | None]:
        """The exact form with other roundings, for ``at_places``: in double where it has narrower types, at random."""
        if self.reference is not None:
            return {}
        narrow = self.python is not self.exact and set(self.types) & set("efF")
        return {"unrounded": self.python if narrow else None, "random": self.random}

    def call(self, arrays: Sequence[Any], *, threads: int = 1) -> Call:
        """The ufunc on arrays, on so many threads."""
        return Call(self.function, arrays, functools.partial(self.threads, threads) if self.threads else nullcontext)

    def fitting(self, run: Callable[[int], object], share: float, *, most: int) -> int:
        """Elements that ``run`` computes in a share of the budget, a round number."""
        return rounded_down(affordable(run, most=most, seconds=share * self.budget, clock=self.clock))


@dataclass(frozen=True, eq=False)
class _Prepared:
    """Everything verified and ready to be timed, in the order of the report, and what there is to note."""

    entries: Sequence[TimedCall]
    notes: Sequence[str]
    arguments: tuple[Any, ...]
    elements: int
    signature: str


def compare_function(request: Request) -> Comparison:
    """Check one function against the forms that the request names and time all of them.

    Raises
    ------
    ComparisonError
        If a Python function refuses all sample arguments.
    OptionError
        If the reference gives something else than the outputs' numbers.
    Exception
        Whatever a ufunc raises on its sample inputs.
    """
    deadline = request.clock() + request.budget
    pressure = Pressure(request.clock)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # The Python form is not the user's own text; what it warns of is nothing to act on.
        warnings.simplefilter("ignore")
        prepared = _prepared_ufunc(request) if request.types else _prepared_function(request, deadline)
        calls = [entry.call for entry in prepared.entries]
        most, steady = (MANY, 0.0) if request.thorough else (ROUNDS, STEADY)
        timings = measure(
            calls, clock=request.clock, deadline=deadline, reserve=request.reserve, most=most, steady=steady
        )
        rows = judged(
            prepared.entries, timings, elements=prepared.elements, limit=request.limit, crowded=pressure.crowded
        )
        if len(rows) == 1:
            rows = (replace(rows[0], speedup=None),)
        if not request.types and max(row.seconds for row in rows) * UNREAD < _most_bytes(prepared.arguments):
            rows = tuple(replace(row, elements=0, measured=0) for row in rows)
        if request.on_device is not None:
            on_device = tuple(request.on_device(prepared.arguments))
            rows += on_device if rows[0].speedup is None else faster(on_device, rows[0])
    words = described_inputs(request.parameters, prepared.arguments) if request.types else ""
    return Comparison(
        request.name,
        rows,
        prepared.signature,
        tuple(prepared.notes),
        inputs=words,
        arguments=tuple(map(_first_elements, prepared.arguments)),
    )


def _most_bytes(arguments: Sequence[Any]) -> int:
    """Bytes of the largest array, 0 where there is none."""
    return max((argument.nbytes for argument in arguments if isinstance(argument, np.ndarray)), default=0)


def _first_elements(argument: Any) -> Any:
    """What a report keeps of an argument: IPython keeps the reports of all cells, with what they hold."""
    return argument[:REMEMBERED].copy() if isinstance(argument, np.ndarray) and argument.ndim else argument


# -- a ufunc


def _prepared_ufunc(request: Request) -> _Prepared:
    arrays = _inputs(request)
    number, nout = len(arrays[0]), len(request.out)
    results = once(request.call(arrays), clock=request.clock)[1]
    reference = request.reference
    whole = reference is not None and expectation.takes_arrays(reference, arrays, nout)
    expected = [expectation.everywhere(reference, arrays)] if whole and reference else _expected(request, arrays)
    tried = [(rival, _on_arrays(request, rival, arrays)) for rival in request.rivals]
    expected += [
        part
        for rival, run in tried
        if rival.kind == "numpy" and isinstance(run, tuple)
        for part in _suspects(request, arrays, results, run[1], expected)
    ]
    verdict = expectation.judge(expected, results, ufunc=request.function)
    entries = [_baseline(request, arrays, expected, None if whole else reference)]
    notes = []
    if whole and reference is not None:
        call = Call(reference, arrays)
        entries.append(TimedCall(request.reference_label, "other", call, number, note="expected results"))
    for rival, run in tried:
        if isinstance(run, str):
            notes += [run] if run else []
            continue
        call, values = run
        check = expectation.judge(expected, values)
        part = len(call.arguments[0])
        entries.append(
            TimedCall(
                rival.label, rival.kind, call, part, check, note=rival.note, compile_seconds=rival.compile_seconds
            )
        )
    nbytes = sum(array.nbytes for array in (*arrays, *map(np.asarray, outputs(results))))
    entries.append(TimedCall(f"{request.label}, 1 thread", "ufunc", request.call(arrays), number, verdict, nbytes))
    if request.threads is not None and request.max_threads > 1:
        call = request.call(arrays, threads=request.max_threads)
        known = Expected(arrays, outputs(results), np.arange(number), lambda moved: outputs(request.function(*moved)))
        same = expectation.judge([known], once(call, clock=request.clock)[1])
        entries.append(TimedCall(f"{request.label}, {request.max_threads} threads", "parallel", call, number, same))
    if verdict is None:
        notes.append(_why_unchecked(request))
    return _Prepared(entries, notes, arrays, number, request.types)


def _inputs(request: Request) -> Arrays:
    """The request's arrays, or samples; as many elements as one call can take in its share of the budget."""
    arrays = sampled(request)
    most = min(map(len, arrays))
    if request.size:
        return _cut(arrays, min(request.size, most))

    def run(number: int) -> None:
        once(request.call(_cut(arrays, number)), clock=request.clock)

    return _cut(arrays, request.fitting(run, UFUNC_CALL, most=most))


def _cut(arrays: Arrays, number: int) -> Arrays:
    return tuple(array[:number] for array in arrays)


def sampled(request: Request) -> Arrays:
    """The request's arrays; without any, random inputs on which the ufunc and its Python form are defined."""
    if request.inputs is not None:
        return tuple(request.inputs)
    exact, clock = request.exact, request.clock
    few = sample_inputs(request.types, size=POOL, cores=request.cores, cautious=True)

    def screen(*arrays: NDArray[Any]) -> NDArray[np.bool_]:
        if exact is None:
            return np.ones(len(arrays[0]), np.bool_)
        # Of a recursion each element may take as long as all of them should.
        end = clock() + SAMPLING * request.budget
        patience = (lambda: clock() < end) if request.cautious else None
        return expectation.survivors(exact, columns(arrays), patience=patience)[1]

    def run(number: int) -> None:
        arrays = _cut(few, number)
        passed = screen(*arrays)
        try:
            once(request.call(tuple(array[passed] for array in arrays)), clock=clock)
        except UfuncMagicError:  # a crash or an exit, which is not to be repeated
            raise
        except FAULTS:
            pass  # where it does not raise is looked for below

    run(1)  # whatever happens only once
    pool = request.fitting(run, SAMPLING, most=POOL)
    # From here: samples that nobody has looked at are those on which plain Python raises where C has a NaN.
    deadline = clock() + max(SEARCH, SAMPLING * request.budget)
    each_bytes = sum(array.nbytes for array in few) // POOL
    return sample_inputs(
        request.types,
        size=request.size or max(1, min(ELEMENTS, BYTES // max(1, each_bytes))),
        probe=request.function,
        screen=screen if exact else None,
        cores=request.cores,
        cautious=request.cautious,
        patience=lambda: clock() < deadline,
        probes=max(4, min(PROBES, pool // 10)),
        pool=max(64, pool),
        last=request.last,
    )


def _expected(request: Request, arrays: Arrays) -> list[Expected]:
    """What a function of scalars expects on a part: the reference, or the exact Python version."""
    reference, nout = request.reference, len(request.out)
    function = reference or request.exact
    if function is None:
        return []
    if reference is not None:
        _check_reference(request, reference, arrays)

    def run(number: int) -> None:
        expectation.survivors(function, columns(_cut(arrays, number)))

    part = affordable(run, most=len(arrays[0]), seconds=EXPECTED * request.budget, clock=request.clock)
    parts = [expectation.at_places(function, arrays, np.arange(part), nout=nout, **request.otherwise)]
    if request.edges and not request.cautious and not any(request.cores) and reference is None:
        parts.append(expectation.at_places(function, edge_inputs(request.types), None, nout=nout, **request.otherwise))
    return [part for part in parts if part is not None]


def _check_reference(request: Request, reference: Callable[..., Any], arrays: Arrays) -> None:
    """Refuse a reference that gives something else than the outputs' numbers."""
    nout = len(request.out)
    for result in expectation.survivors(reference, columns(_cut(arrays, 1)))[0]:
        if len(outputs(result)) != nout or not all(map(numeric, outputs(result))):
            fault = f"returns {described(result)}, not {count(nout, 'number')}"
            remedy = "Name a function that returns the expected results."
            raise OptionError(f"--ref {request.reference_label!r} {fault}.", remedy=remedy)


def _suspects(
    request: Request, arrays: Arrays, results: Any, others: Any, expected: Sequence[Expected]
) -> list[Expected]:
    """Beyond the part that Python has computed, NumPy's expression shows where to look."""
    if request.exact is None or request.reference is not None or not expected:
        return []
    places, known = suspects(results, others), expected[0].places
    if places.size and known is not None:
        places = np.setdiff1d(places, known)
    if not places.size:
        return []
    part = expectation.at_places(request.exact, arrays, places, nout=len(request.out), **request.otherwise)
    return [] if part is None else [part]


def _on_arrays(request: Request, rival: Candidate, arrays: Arrays) -> tuple[Call, Any] | str:
    """A function of arrays on as many elements as it can take, and its results; or what to note where it fails."""
    try:
        part = request.fitting(lambda n: rival.function(*_cut(arrays, n)), VECTOR_PASS, most=len(arrays[0]))
        call = Call(rival.function, _cut(arrays, part))
        results = outputs(once(call, clock=request.clock)[1])
        if any(result is argument for result in results for argument in call.arguments):
            return ""  # nothing is computed: there is nothing to time
        # A result that does not depend on the inputs is one number.
        full = tuple(np.broadcast_to(r, (part,)) if r.ndim == 0 else r for r in map(np.asarray, results))
    except FAULTS as error:
        return _failure(rival, error)
    return call, full if len(request.out) > 1 else full[0]


def _failure(rival: Candidate, error: Exception) -> str:
    return f"{'the ' * (rival.kind == 'numpy')}{rival.label} failed: {type(error).__name__}: {error}"


def _baseline(
    request: Request, arrays: Arrays, expected: Sequence[Expected], reference: Callable[..., Any] | None
) -> TimedCall:
    """The Python loop: the user's reference on scalars, the Python version, or the compiled scalar.

    Of integers, the version with as much of C's rules as the inputs ask for.  Else the version that a person would
    write is timed even where its results are Python's and not C's; where it raises, the exact version takes its place.
    """
    most, watched = len(arrays[0]), request.watched
    forms: list[tuple[str, Callable[..., Any] | None, str]] = [
        ("Python loop", watched.function if watched else None, ""),
        ("Python loop", request.python, ""),
        ("Python loop", request.exact, _C_RULES if request.python else ""),
    ]
    for label, function, note in [(f"Python loop of {request.reference_label}", reference, "")] if reference else forms:
        if function is None:
            continue
        try:
            part = request.fitting(
                lambda n, function=function: expectation.loop(function, columns(_cut(arrays, n))),  # type: ignore[misc]
                PYTHON_PASS,
                most=most,
            )
            lists = columns(_cut(arrays, part))
            if watched and function is watched.function:
                expectation.loop(function, lists)
                natural = watched.natural()
                function, note = natural.function, natural.note
                if expected and not expectation.same_loop(function, lists, expected[0], dtypes=request.out):
                    continue
                loop = Call(expectation.loop, (function, lists))
                return TimedCall(label, "python", loop, part, note=note, text=natural.text)
            trusted = function in (request.exact, reference) or not expected
            if not (trusted or expectation.same_loop(function, lists, expected[0], dtypes=request.out)):
                note = _PYTHON_RULES
            text = request.text if function is request.python else ""
            return TimedCall(label, "python", Call(expectation.loop, (function, lists)), part, note=note, text=text)
        except FAULTS:
            continue

    # NumPy's numbers, not Python's: a ufunc of float32 alone takes no float64.
    def lists_of(number: int) -> list[list[Any]]:
        return [list(array) for array in _cut(arrays, number)]

    part = request.fitting(lambda n: expectation.loop(request.function, lists_of(n)), PYTHON_PASS, most=most)
    return TimedCall(STAND_IN, "scalar", Call(expectation.loop, (request.function, lists_of(part))), part)


def _why_unchecked(request: Request) -> str:
    nothing = "no expected results to compare with"
    if request.reference is None:
        return f"{nothing}; name a function with --ref"
    return f"{nothing}: --ref {request.reference_label!r} raises on every sample"


# -- a function that stays a Python function


@dataclass(frozen=True, eq=False)
class _Form:
    """A function in Python, what it is called with and what came of it."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    outcome: Outcome
    note: str = ""


@dataclass(frozen=True, eq=False)
class _Accepted:
    """The compiled function called once, beside a form of it in Python where there is one."""

    arguments: tuple[Any, ...]
    outcome: Outcome
    form: _Form | None = None
    verdict: Agreement | None = None

    @property
    def ok(self) -> bool:
        return self.verdict is None or self.verdict.ok


def _prepared_function(request: Request, deadline: float) -> _Prepared:
    accepted = _accepted(request, deadline)
    arguments, truth = accepted.arguments, accepted.form
    elements = max((a.size for a in arguments if isinstance(a, np.ndarray)), default=0)
    spoils = bool(expectation.changed(arguments, accepted.outcome.arguments))
    entries: list[TimedCall] = []
    notes: list[str] = []

    def add(label: str, kind: Kind, call: Call, verdict: Agreement | None = None, note: str = "") -> None:
        call = _restoring(call) if spoils else call
        entries.append(TimedCall(label, kind, call, elements, verdict, note=note))

    if truth is not None:
        add("Python loop", "python", Call(truth.function, truth.arguments), note=truth.note)
    if request.reference is not None:
        try:
            truth = _Form(request.reference, arguments, expectation.outcome(request.reference, arguments))
            add(request.reference_label, "other", Call(truth.function, arguments), note="expected results")
        except FAULTS as fault:
            notes.append(f"{request.reference_label} failed on these arguments ({type(fault).__name__}: {fault})")
    verdict = None
    if truth is not None:
        for rival in request.rivals:
            try:
                check = _verdict(request, deadline, truth, arguments, expectation.outcome(rival.function, arguments))
            except FAULTS as fault:
                notes.append(_failure(rival, fault))
                continue
            if check is not None and check.ok:  # nobody wrote one that disagrees
                add(rival.label, rival.kind, Call(rival.function, arguments), check)
        verdict = _verdict(request, deadline, truth, arguments, accepted.outcome)
        if None in (truth.outcome.returned, accepted.outcome.returned):
            notes.append("the results are not made of numbers, so they were not compared")
    add("compiled function", "compiled", Call(request.function, arguments), verdict)
    if spoils:
        notes.append("it changes its arguments, so every call gets new ones")
    words = map(_argument_word, itertools.chain(request.parameters, itertools.repeat("")), arguments)
    return _Prepared(entries, notes, arguments, elements, ", ".join(words))


def _restoring(call: Call) -> Call:
    """The same on fresh arguments."""
    own = expectation.fresh(call.arguments)

    @contextmanager
    def restored() -> Iterator[None]:
        for here, before in zip(own, call.arguments, strict=True):
            if isinstance(here, np.ndarray):
                here[...] = before
        yield

    return Call(call.function, own, restored, spoils=True)


def _argument_word(parameter: str, argument: Any) -> str:
    """``array: float64``, ``A: float64[200, 200]``, ``n=10``."""
    if not isinstance(argument, np.ndarray):
        return f"{parameter}={argument!r}" if parameter else repr(argument)
    shape = f"[{', '.join(map(str, argument.shape))}]" if argument.ndim != 1 else ""
    return f"{parameter}{': ' * bool(parameter)}{argument.dtype}{shape}"


def _verdict(
    request: Request, deadline: float, truth: _Form, arguments: tuple[Any, ...], result: Outcome
) -> Agreement | None:
    """What another function did with ``arguments`` against what a form did."""
    return expectation.judge_outcomes(
        truth.outcome,
        result,
        before=(truth.arguments, arguments),
        again=truth.function,
        patience=lambda: request.clock() < deadline,
    )


def _accepted(request: Request, deadline: float) -> _Accepted:
    """The first arguments on which everybody agrees; else the first that were accepted."""
    any_type = any(sample.startswith("O") for sample in request.samples)
    refusals: list[ComparisonError] = []
    accepted: list[_Accepted] = []
    for kind in KINDS if any_type else KINDS[:1]:
        try:
            accepted.append(_accepted_of(request, deadline, kind))
        except ComparisonError as fault:
            refusals.append(fault)
            continue
        if accepted[-1].ok:
            return accepted[-1]
    if not accepted:
        raise refusals[0]
    return accepted[0]


def _accepted_of(request: Request, deadline: float, kind: str) -> _Accepted:
    """Small arguments first: what fails there needs no large ones."""
    dimensions = max((int(sample[1:]) for sample in request.samples), default=0)
    along = SMALL if not request.size else max(1, round(request.size ** (1 / max(1, dimensions))))
    accepted = _verified(request, deadline, sample_arguments(request.samples, along=along, kind=kind))
    if request.size or not dimensions or not accepted.ok:
        return accepted
    function = accepted.form.function if accepted.form else request.function
    along = _affordable_along(request, function, dimensions, kind)
    if along == SMALL:
        return accepted
    return _verified(request, deadline, sample_arguments(request.samples, along=along, kind=kind))


def _affordable_along(request: Request, function: Callable[..., Any], dimensions: int, kind: str) -> int:
    """Numbers along each axis, a round one, with which a call of the slowest form keeps to its share."""
    limit, along, before, taken = FORM_PASS * request.budget, SMALL, math.inf, 0.0
    for further in sizes_of(f"{SMALL}:{MOST}")[1:]:
        # Where time grew by more than the elements did, the function is not linear; short times say nothing.
        growth = max((further / along) ** dimensions, taken / before)
        if further**dimensions > MOST or (taken > limit / 100 and taken * growth > limit):
            break
        try:
            arguments = sample_arguments(request.samples, along=further, kind=kind)
            before, taken = taken or math.inf, once(Call(function, arguments), clock=request.clock)[0]
        except FAULTS:
            break  # it takes no more
        if taken > limit:
            break
        along = further
    return along


def _verified(request: Request, deadline: float, arguments: tuple[Any, ...]) -> _Accepted:
    """Called after a form in Python got through: what raises there, an index past the end, may crash in C."""
    result: Outcome | None = None
    first: _Accepted | None = None
    refusal: Exception | None = None
    for function, own, note in _forms(request, arguments):
        try:
            if request.unwrapped and result is None:
                guarded = [a.view(expectation.Guarded) if isinstance(a, np.ndarray) else a for a in own]
                expectation.outcome(function, guarded)
            form = _Form(function, own, expectation.outcome(function, own), note)
        except FAULTS as fault:
            refusal = refusal or fault
            continue
        result = result or _compiled_outcome(request, arguments)
        accepted = _Accepted(arguments, result, form, _verdict(request, deadline, form, arguments, result))
        if accepted.ok:
            return accepted
        first = first or accepted
    if first is not None:
        return first
    if refusal is not None:
        raise _refused(refusal, " by its Python form")
    return _Accepted(arguments, _compiled_outcome(request, arguments))


def _compiled_outcome(request: Request, arguments: tuple[Any, ...]) -> Outcome:
    try:
        return expectation.outcome(request.function, arguments)
    except FAULTS as fault:
        raise _refused(fault) from fault


def _refused(fault: Exception, by: str = "") -> ComparisonError:
    return ComparisonError(f"the sample arguments were rejected{by} ({type(fault).__name__}: {fault})")


def _forms(request: Request, arguments: tuple[Any, ...]) -> Iterator[tuple[Callable[..., Any], tuple[Any, ...], str]]:
    """Ways to compute what is expected, the plainest first: function, arguments, note."""
    if request.python is not None:
        yield request.python, arguments, ""
        wide = tuple(map(_widened, arguments))
        if any(a is not b for a, b in zip(arguments, wide, strict=True)):
            # Elements of narrow arrays keep their type in Python's sums, which C's variables do not.
            yield request.python, wide, "on arrays widened to 64 bits"
    if request.checked is not None:
        yield request.checked, arguments, _C_RULES if request.python else ""


def _widened(argument: Any) -> Any:
    if not isinstance(argument, np.ndarray) or argument.dtype.kind not in "iufc":
        return argument
    wide = np.result_type(argument.dtype, {"c": np.complex128, "f": np.float64}.get(argument.dtype.kind, np.int64))
    # uint64 and int64 have only float64 in common.
    return argument if wide == argument.dtype or argument.dtype == np.uint64 else argument.astype(wide)
