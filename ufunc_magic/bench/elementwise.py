"""The table of a ufunc: inputs in its domain, expected results, and an entry for each way of computing.

Samples lie along one axis, and each way of computing gets as many of them as it can compute in its share of the time.
Shares of the budget: sampling 0.1, finding the sizes and the expected results about 0.35, the rest for the rounds.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import FAULTS, OptionError, UfuncMagicError
from ..render import Agreement, count
from . import expectation
from .agreement import find_suspects, split_outputs, spoil_memory
from .candidates import Candidate, describe, is_numeric
from .expectation import Expected, call_each, call_on_elements, check_points, to_lists
from .judging import Prepared
from .request import Operands, Request
from .rounds import Call, TimedCall, count_affordable, time_once
from .samples import POOL, PROBES, Trials, list_edges, sample_inputs, shape_cores

#: The most elements by default, and the most bytes of all inputs together.
ELEMENTS, BYTES = 1_000_000, 32 << 20

#: Shares of the budget.
SAMPLING, UFUNC_CALL, EXPECTED, PYTHON_PASS, VECTOR_PASS = 0.1, 0.03, 0.05, 0.02, 0.03

#: The least seconds for the search of a function's domain: a table of inputs outside of it is useless.
SEARCH = 0.03

#: Sizes of core dimensions to choose from: of rows, and where an operand has more dimensions.
ROWS, IMAGES = (16, 100, 1000), (16, 64, 256)

#: Seconds that the Python form may take for one element of the chosen core sizes, and the least share of the budget.
ONE_ELEMENT, ELEMENT_SHARE = 0.002, 0.05

#: Numbers in a piece of padding, and the most pieces; every so many numbers a neighbour is looked at, and so many
#: pieces of which this share lies in order end it.
PIECE, MOST_PIECES, STEP, IN_ORDER, ORDER = 1 << 12, 1 << 7, 1 << 4, 2, 0.98

STAND_IN = "Python loop over the ufunc"
NO_EXPECTATION = "no expected results to compare with; name a function with --ref"

#: Notes on the form that replaces the one that a person would write, and on the latter if its results differ.
C_RULES = "with C's rules checked at every step"
_PYTHON_RULES = "Python's own rules give different results for some elements"

Arrays = tuple[NDArray[Any], ...]


def prepare_ufunc(request: Request, operands: Operands) -> Prepared:
    """Choose the inputs and check every candidate on them.

    Raises
    ------
    OptionError
        If the reference returns something else than numbers for the outputs.
    Exception
        Anything that the ufunc raises on its sample inputs.
    """
    arrays = request.call_apart(lambda: _choose_inputs(request, operands))
    number, clock, reference = len(arrays[0]), request.budget.clock, request.reference
    results = request.call_apart(lambda: time_once(request.call(arrays), clock=clock)[1])
    whole = reference if reference and expectation.takes_arrays(reference.function, arrays, len(operands.out)) else None
    if whole:
        expected = [_expect_roundings(request, operands, expectation.expect_everywhere(whole.function, arrays))]
    else:
        expected = _expect(request, operands, arrays)
    computed = [(rival, _compute(request, operands, rival, arrays)) for rival in request.rivals]
    for rival, run in computed:
        if rival.kind == "numpy" and isinstance(run, tuple):
            expected += _expect_suspects(request, operands, arrays, (results, run[1]), expected[:1])
    verdict = check_points(expected, results, ufunc=request.function)
    entries, notes = [_time_python_loop(request, operands, arrays, expected, scalar=not whole)], []
    if whole:
        call = Call(whole.function, arrays)
        entries.append(TimedCall(whole.label, "other", call, number, note="expected results"))
    for rival, run in computed:
        if isinstance(run, str):
            notes += [run] if run else []
        else:
            part = len(run[0].arguments[0])
            entries.append(rival.make_entry(run[0], part, check_points(expected, run[1])))
    nbytes = sum(array.nbytes for array in (*arrays, *map(np.asarray, split_outputs(results))))
    label = request.candidates[0].label
    entries.append(TimedCall(f"{label}, 1 thread", "ufunc", request.call(arrays), number, verdict, nbytes))
    if request.threads is not None and not request.stateful and (threads := request.threads.most) > 1:
        call = request.call(arrays, threads=threads)
        alone = Expected(
            arrays, split_outputs(results), np.arange(number), lambda moved: split_outputs(request.function(*moved))
        )
        same = check_points([alone], time_once(call, clock=clock)[1])
        entries.append(TimedCall(f"{label}, {threads} threads", "parallel", call, number, same))
    if note := _note_missing(request, expected, checked=verdict is not None):
        notes.append(note)
    core = {
        name: length
        for core, array in zip(operands.cores, arrays, strict=False)
        for name, length in zip(core, array.shape[1:], strict=False)
        if isinstance(name, str)
    }
    inner = max(array[:1].size for array in (*arrays, *map(np.asarray, split_outputs(results))) if array.ndim)
    words = ", ".join(f"{name}={length}" for name, length in core.items())

    def check_again() -> Agreement | None:
        spoil_memory(results)
        later = time_once(request.call(arrays), clock=clock)[1]
        if reference:
            return check_points(expected, later)
        pairs = zip(map(np.asarray, split_outputs(results)), map(np.asarray, split_outputs(later)), strict=True)
        return Agreement(all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in pairs), 0.0)

    prepared = Prepared(entries, arrays, number, operands.types, tuple(notes), inner=max(1, inner), core=words)
    return replace(prepared, check_again=check_again) if request.stateful else prepared


def _note_missing(request: Request, expected: Sequence[Expected], *, checked: bool) -> str:
    """The note on elements without an expectation."""
    if request.reference:
        fault = f"--ref {request.reference.label!r} raises on every sample"
        return "" if checked else f"no expected results to compare with: {fault}"
    if request.forms.exact is None:
        return "" if checked else NO_EXPECTATION
    missing = [count(part.undefined, "result") for part in expected if part.places is not None] or ["all results"]
    return "" if missing[0].startswith("0 ") else f"{missing[0]} not compared: the language leaves them undefined"


# -- inputs


def _choose_inputs(request: Request, operands: Operands) -> Arrays:
    """The request's arrays, or samples; as many elements as one call can compute in its share of the budget."""
    arrays = draw_inputs(request, operands)
    most = min(map(len, arrays))
    if operands.size:
        return _cut(arrays, min(operands.size, most))

    def run(number: int) -> None:
        time_once(request.call(_cut(arrays, number)), clock=request.budget.clock)

    return _cut(arrays, request.count_fitting(run, UFUNC_CALL, most=most))


def _cut(arrays: Arrays, number: int) -> Arrays:
    return tuple(array[:number] for array in arrays)


def draw_inputs(request: Request, operands: Operands) -> Arrays:
    """The request's arrays; without any, random inputs on which the ufunc and its Python form are defined."""
    if operands.arrays is not None:
        return tuple(operands.arrays)
    exact, budget, clock = request.forms.exact, request.budget, request.budget.clock
    # A function of numbers is screened by its Python form, so that its checks of an index show, too.
    uses = operands.uses if exact is None or any(operands.cores) else ()
    few = sample_inputs(operands.types, size=POOL, cores=operands.cores, cautious=True, uses=uses)
    sizes = _choose_core_sizes(request, operands)
    shapes = shape_cores(operands.cores, sizes)
    # How many times as large an element is as those that the domain is searched with.
    larger = max(1, sum(map(math.prod, shapes)) // max(1, sum(map(math.prod, shape_cores(operands.cores, {})))))

    def screen(*arrays: NDArray[Any]) -> NDArray[np.bool_]:
        if exact is None:
            return np.ones(len(arrays[0]), np.bool_)
        # One element of a recursion may take as long as all elements should.
        end = clock() + SAMPLING * budget.seconds
        return call_each(exact, to_lists(arrays), patience=(lambda: clock() < end) if operands.cautious else None)[1]

    def run(number: int) -> None:
        arrays = _cut(few, number)
        passed = screen(*arrays)
        try:
            time_once(request.call(tuple(array[passed] for array in arrays)), clock=clock)
        except UfuncMagicError:  # a crash or an exit, which must not happen again
            raise
        except FAULTS:
            pass  # `sample_inputs` searches an interval where it does not raise

    run(1)  # includes all that happens only once
    pool = request.count_fitting(run, SAMPLING, most=POOL)
    # From here on: unscreened samples are those on which plain Python raises where C returns NaN.
    deadline = clock() + max(SEARCH, SAMPLING * budget.seconds)
    each_bytes = larger * sum(array.nbytes for array in few) // POOL
    return sample_inputs(
        operands.types,
        size=operands.size or max(1, min(ELEMENTS, BYTES // max(1, each_bytes))),
        cores=operands.cores,
        cautious=operands.cautious,
        probe=request.function,
        screen=screen if exact else None,
        trials=Trials(
            max(4, min(PROBES, pool // 10)), max(4, max(64, pool) // larger), lambda: clock() < deadline, sizes
        ),
        uses=uses,
    )


def _choose_core_sizes(request: Request, operands: Operands) -> dict[str, int]:
    """The sizes of named core dimensions: those that people use, as far as the Python form computes one element soon.

    Those that the user gave are taken as they are.
    """
    known, clock = operands.core_sizes, request.budget.clock
    names = {name for core in operands.cores for name in core if isinstance(name, str) and name not in known}
    if not names:
        return dict(known)
    steps = ROWS if max(map(len, operands.cores)) < 2 else IMAGES
    function = request.forms.exact or request.function
    limit = max(ONE_ELEMENT, ELEMENT_SHARE * request.budget.seconds)
    chosen, taken = steps[0], list[float]()
    for size, following in itertools.pairwise((*steps, 0)):
        chosen = size
        sizes = dict.fromkeys(names, size) | dict(known)
        trials = Trials(core_sizes=sizes)
        arrays = sample_inputs(
            operands.types, size=1, cores=operands.cores, cautious=True, trials=trials, uses=operands.uses
        )
        call = Call(call_on_elements, (function, to_lists(arrays) if request.forms.exact else arrays))
        try:
            taken.append(request.call_apart(lambda call=call: time_once(call, clock=clock)[0]))  # type: ignore[misc]
        except UfuncMagicError:  # a crash or an exit, which must not happen again
            raise
        except FAULTS:  # the search for the domain decides
            break
        largest = sum(map(math.prod, shape_cores(operands.cores, dict.fromkeys(names, following) | dict(known))))
        if not following or 8 * largest * operands.size > BYTES:
            break
        if taken[-1] * _find_growth(steps, taken, least=max(map(len, operands.cores))) > limit:
            break
    return dict.fromkeys(names, chosen) | dict(known)


def _find_growth(steps: Sequence[int], taken: Sequence[float], *, least: int) -> float:
    """How many times as long the next size takes, if time grows by the same power again, of ``least`` or more."""
    number, order = len(taken), float(least)
    if number > 1 and min(taken[-2:]) > 0:
        order = max(order, math.log(taken[-1] / taken[-2]) / math.log(steps[number - 1] / steps[number - 2]))
    return float((steps[number] / steps[number - 1]) ** order)


# -- expected results


def _expect(request: Request, operands: Operands, arrays: Arrays) -> list[Expected]:
    """The expectations of a function of scalars on a part: of the reference, or of the exact Python form."""
    reference, nout = request.reference, len(operands.out)
    function = reference.function if reference else request.forms.exact
    if function is None:
        return []
    if reference:
        _check_reference(reference.label, call_each(function, to_lists(_cut(arrays, 1)))[0], nout)

    def run(number: int) -> None:
        call_each(function, to_lists(_cut(arrays, number)))

    seconds = EXPECTED * request.budget.seconds
    most, clock = len(arrays[0]), request.budget.clock
    part = request.call_apart(lambda: count_affordable(run, most=most, seconds=seconds, clock=clock))
    parts = [_expect_at(request, operands, arrays, np.arange(part))]
    scalars = not operands.cautious and not any(operands.cores)
    if operands.edges and scalars and not reference and not request.stateful:
        parts.append(_expect_at(request, operands, list_edges(operands.types), None))
    return [part for part in parts if part is not None]


def _expect_at(
    request: Request, operands: Operands, arrays: Arrays, places: NDArray[np.intp] | None
) -> Expected | None:
    """The expectations of the reference, or of the exact form with the forms that have other roundings."""
    forms, nout = request.forms, len(operands.out)
    if request.reference:
        part = expectation.expect_at(request.reference.function, arrays, places, nout=nout)
        return part and _expect_roundings(request, operands, part)
    if request.stateful:  # a second call of it would begin with another state
        return expectation.expect_at(forms.exact, arrays, places, nout=nout)  # type: ignore[arg-type]
    narrow = forms.python is not forms.exact and set(operands.types) & set("efF")
    doubles = forms.python if narrow else None
    return expectation.expect_at(forms.exact, arrays, places, nout=nout, unrounded=doubles, random=forms.random)  # type: ignore[arg-type]


def _expect_roundings(request: Request, operands: Operands, part: Expected) -> Expected:
    """The expectations of the reference, with the roundings of the function's own form where it has one."""
    exact, random = request.forms.exact, request.forms.random
    if request.stateful or exact is None or random is None:
        return part
    return expectation.add_roundings(part, exact=exact, random=random, nout=len(operands.out))


def _check_reference(label: str, results: Sequence[Any], nout: int) -> None:
    """Refuse a reference that returns something else than numbers for the outputs."""
    for result in results:
        if len(split_outputs(result)) != nout or not all(map(is_numeric, split_outputs(result))):
            fault = f"returns {describe(result)}, not {count(nout, 'number')}"
            remedy = "Name a function that returns the expected results."
            raise OptionError(f"--ref {label!r} {fault}.", remedy=remedy)


def _expect_suspects(
    request: Request, operands: Operands, arrays: Arrays, both: tuple[Any, Any], first: Sequence[Expected]
) -> list[Expected]:
    """Expectations where the ufunc and NumPy's expression differ, beyond the part that Python has computed."""
    if request.forms.exact is None or request.reference is not None or not first:
        return []
    places, known = find_suspects(*both), first[0].places
    if places.size and known is not None:
        places = np.setdiff1d(places, known)
    part = _expect_at(request, operands, arrays, places) if places.size else None
    return [] if part is None else [part]


# -- the other ways of computing


def _compute(request: Request, operands: Operands, rival: Candidate, arrays: Arrays) -> tuple[Call, Any] | str:
    """A call on as many elements as a function of arrays can compute, and its results; or a note if it fails."""
    try:
        part = request.count_fitting(lambda n: rival.function(*_cut(arrays, n)), VECTOR_PASS, most=len(arrays[0]))
        call = Call(rival.function, _cut(arrays, part))
        results = split_outputs(time_once(call, clock=request.budget.clock)[1])
        same = any(result is argument for result in results for argument in call.arguments)
        if same or not any(map(np.ndim, results)):
            return ""  # its input, or one number: there is nothing to time
        full = tuple(np.broadcast_to(r, (part,)) if r.ndim == 0 else r for r in map(np.asarray, results))
    except FAULTS as error:
        return rival.describe_fault(error)
    return call, full if len(operands.out) > 1 else full[0]


def _time_python_loop(
    request: Request, operands: Operands, arrays: Arrays, expected: Sequence[Expected], *, scalar: bool
) -> TimedCall:
    """The Python loop: of the user's reference on scalars, of a Python form, or of the compiled scalar.

    A form of integers has as many of C's rules as the inputs need.  Other forms are timed as a person would write them
    even if their results are Python's and not C's; where that form raises, the exact one replaces it.
    """
    forms, reference = request.forms, request.reference if scalar else None
    ways: list[tuple[str, Callable[..., Any] | None, str]] = [
        ("Python loop", forms.watched.function if forms.watched else None, ""),
        ("Python loop", forms.python, ""),
        ("Python loop", forms.exact, C_RULES if forms.python else ""),
    ]
    for label, function, note in [(f"Python loop of {reference.label}", reference.function, "")] if reference else ways:
        if function is None:
            continue
        try:
            padding, lists = _fit_lists(request, function, arrays)
            text = forms.text if function is forms.python else ""
            trusted = not expected or request.stateful or function is forms.exact or request.reference is not None
            if forms.watched and function is forms.watched.function:
                call_on_elements(function, lists)
                natural = forms.watched.make_natural()
                function, note, text = natural.function, natural.note, natural.text
                if not trusted and not expectation.check_loop(function, lists, expected[0], dtypes=operands.out):
                    continue
            elif not trusted and not expectation.check_loop(function, lists, expected[0], dtypes=operands.out):
                note = _PYTHON_RULES
            call = Call(call_on_elements, (function, lists), padding=padding)
            return TimedCall(label, "python", call, len(lists[0]), note=note, text=text)
        except FAULTS:
            continue

    # NumPy's numbers, not Python's: a ufunc of float32 alone rejects float64.
    def to_numbers(number: int) -> list[list[Any]]:
        return [list(array) for array in _cut(arrays, number)]

    most = len(arrays[0])
    part = request.count_fitting(lambda n: call_on_elements(request.function, to_numbers(n)), PYTHON_PASS, most=most)
    return TimedCall(STAND_IN, "scalar", Call(call_on_elements, (request.function, to_numbers(part))), part)


def _fit_lists(
    request: Request, function: Callable[..., Any], arrays: Arrays
) -> tuple[list[list[float]], tuple[list[Any], ...]]:
    """Padding, and the arrays as lists, as many elements as ``function`` computes in its share of the budget."""

    def run(number: int) -> None:
        call_on_elements(function, to_lists(_cut(arrays, number)))

    number = request.count_fitting(run, PYTHON_PASS, most=len(arrays[0]))
    return fill_gaps(), to_lists(_cut(arrays, number))


def fill_gaps() -> list[list[float]]:
    """Numbers in the places that freed numbers have left.

    New numbers lie in the order of their list while this exists, as in a new process.  Otherwise they lie where there
    is room, and a Python loop takes twice as long in a session that has shown a hundred tables.
    """
    numbers: list[list[float]] = []
    in_order = 0
    while in_order < IN_ORDER and len(numbers) < MOST_PIECES:
        numbers.append(np.arange(PIECE, dtype=float).tolist())
        pairs = zip(numbers[-1][::STEP], numbers[-1][1::STEP], strict=True)
        steps = [id(after) - id(before) for before, after in pairs]
        in_order = in_order + 1 if steps.count(statistics.mode(steps)) > ORDER * len(steps) else 0
    return numbers
