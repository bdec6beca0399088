"""`compare_request`, the road of every comparison, and `compare`, which makes a request of any callables."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..model import FAULTS, ComparisonError
from ..render import Comparison, Row
from ..runtime import find_origin, find_ufunc
from .callables import compare_on_arguments
from .candidates import Candidate, CandidateLike, make_candidates
from .elementwise import prepare_ufunc
from .judging import Prepared, add_speedups, measure_rows
from .machine import Pressure, load_limits
from .python_calls import prepare_function, try_apart
from .request import Arguments, Budget, Operands, Parameters, Request
from .rounds import ROUNDS, Pace
from .samples import count_elements, describe_inputs, parse_sizes, resize_arguments, sample_inputs

#: Seconds, at one size and over several.
BUDGET, BUDGET_OF_SIZES = 2.0, 4.0

#: Elements to draw if there are neither arguments nor sizes.
DRAWN = 100_000

#: Rounds with a spread below this need no more rounds; the most rounds of a thorough comparison.
STEADY, MANY = 0.05, 10_000

#: Elements of each argument that a comparison keeps.
REMEMBERED = 10_000


def compare_request(request: Request) -> Comparison:
    """Check the candidates of a request against the expected results, and time them in turns.

    Raises
    ------
    ComparisonError
        If a candidate fails on the arguments, or a Python function refuses all sample arguments.
    OptionError
        If the reference returns something else than numbers for the outputs.
    Exception
        Anything that a ufunc raises on its sample inputs.
    """
    if not request.stateful:
        return _compare(request)
    # The compiler's report comes from a thread of this process, and a copy shows no progress.
    loops = {id(one.function): request.find_loop(one.function) for one in request.candidates}
    apart = replace(request, progress=None, find_loop=lambda function: loops.get(id(function)))
    return request.call_apart(lambda: _compare(apart))


def _compare(request: Request) -> Comparison:
    match request.inputs:
        case Arguments() as arguments:
            return compare_on_arguments(request, arguments)
        case Operands() | Parameters() as inputs:
            return _compare_function(request, inputs)


def _compare_function(request: Request, inputs: Operands | Parameters) -> Comparison:
    """The table of a compiled function on inputs that are chosen for it."""
    request, missing = try_apart(request, inputs) if isinstance(inputs, Parameters) else (request, ())
    budget = request.budget
    deadline = budget.clock() + budget.seconds
    pressure = Pressure(budget.clock)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # The user did not write the Python form, so its warnings help nobody.
        warnings.simplefilter("ignore")
        if isinstance(inputs, Operands):
            prepared = prepare_ufunc(request, inputs)
            ranges = describe_inputs(inputs.names, prepared.arguments)
        else:
            prepared, ranges = prepare_function(request, inputs, deadline), ""
        most, steady = (MANY, 0.0) if budget.thorough else (ROUNDS, STEADY)
        pace = Pace(deadline, budget.reserve, most=most, steady=steady)
        rows = measure_rows(request, prepared, pace=pace, pressure=pressure)
        rows, note = _check_state(request, prepared, rows)
        if request.on_device is not None:
            more = tuple(request.on_device(prepared.arguments))
            rows += more if rows[0].speedup is None else add_speedups(more, rows[0])
    arguments = tuple(map(_keep_head, prepared.arguments))
    return Comparison(
        request.name,
        rows,
        prepared.signature,
        (*missing, *prepared.notes, *filter(None, [note])),
        inputs=ranges,
        core=prepared.core,
        arguments=arguments,
    )


def _check_state(request: Request, prepared: Prepared, rows: tuple[Row, ...]) -> tuple[tuple[Row, ...], str]:
    """The rows, and a note if the timed calls have changed what the function returns.

    With a reference its row disagrees then; without one the first results may be as right as the later ones.
    """
    verdict = prepared.check_again() if prepared.check_again else None
    if verdict is None or verdict.ok:
        return rows, ""
    if not request.reference:
        return rows, "it keeps state: its results after the timed calls differ from the first ones"
    wrong = replace(verdict, detail=f"after the timed calls, {verdict.detail}")
    return tuple(
        replace(row, agreement=wrong, speedup=None, speedup_range=None)
        if row.ok and row.kind in ("ufunc", "parallel")
        else row
        for row in rows
    ), ""


def _keep_head(argument: Any) -> Any:
    """The part of an argument that a comparison keeps: IPython keeps the reports of all cells."""
    return argument[:REMEMBERED].copy() if isinstance(argument, np.ndarray) and argument.ndim else argument


def compare(
    callables: Mapping[str, CandidateLike] | Sequence[CandidateLike],
    *args: Any,
    sizes: str | int | Sequence[int] | None = None,
    reference: str | Callable[..., Any] | None = None,
    strict: bool = False,
    tolerance: float | None = None,
    budget: float = 0.0,
    names: Mapping[str, Any] | None = None,
) -> Comparison:
    """Verify that callables agree on the same arguments, then time them in turns.

    Parameters
    ----------
    callables : mapping or sequence
        Label -> callable, or callables alone.  Texts are evaluated (``"lambda x: x*x"``); a text that begins with
        ``numexpr:`` is a numexpr expression.  The first callable is the baseline of the speed-ups.
    *args
        Arguments, the same for all; random numbers in the domain of the first callable if omitted.
    sizes : str, int or sequence of int
        Time at each of these numbers of elements (``"10:1e7"``): on the first elements of the arguments' first axis,
        repeated if there are fewer.
    reference : str or callable
        Label of the callable, or a further callable, whose results are the expected ones; the first
        one if omitted.
    strict : bool
        Every bit counts: ``tolerance=0``.
    tolerance : float
        Differences in ulp that do not count; with 0 every bit counts.  By default as in
        ``ufunc_magic.bench.agreement``.  Unless it is 0, changes in the expected results that the last bits of the
        arguments cause do not count either.
    budget : float
        Seconds in all; 2, or 4 with ``sizes``, if omitted.
    names : mapping
        Names for the texts, besides ``np`` and ``math``.

    Returns
    -------
    Comparison
        Rows by size, then in the order of ``callables``.  A row that disagrees says so and has no speed-up.  An
        interrupt ends it early, with the rows so far.

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
    tolerance = 0.0 if strict else tolerance
    request = make_request(
        callables, args, sizes=sizes, reference=reference, tolerance=tolerance, budget=budget, names=names
    )
    return compare_request(replace(request, limit=load_limits()))


def make_request(
    callables: Mapping[str, CandidateLike] | Sequence[CandidateLike],
    args: Sequence[Any],
    *,
    sizes: str | int | Sequence[int] | None = None,
    reference: str | Callable[..., Any] | None = None,
    tolerance: float | None = None,
    budget: float = 0.0,
    names: Mapping[str, Any] | None = None,
) -> Request:
    """The request for `compare`, without the limits of the machine."""
    candidates = make_candidates(callables, names=names or {})
    expectation = _make_reference(reference, candidates)
    request = Request(
        " / ".join(one.label for one in candidates),
        candidates,
        Arguments([]),
        reference=expectation,
        tolerance=tolerance,
        stateful=any(_may_keep_state(one.function) for one in candidates),
    )

    def draw(size: int) -> tuple[Any, ...]:
        return request.call_apart(lambda: _draw_arguments(candidates, size=size))

    groups = make_groups(args or (), sizes, draw=draw)
    seconds = budget or (BUDGET_OF_SIZES if len(groups) > 1 else BUDGET)
    return replace(request, inputs=Arguments(groups), budget=Budget(seconds))


def _may_keep_state(function: Callable[..., Any]) -> bool:
    """Whether it is a compiled function of a cell that may keep state; one that came from elsewhere may."""
    origin = find_origin(function)
    return origin is not None and not (origin.cell_function and origin.cell_function.traceless)


def _make_reference(reference: str | Callable[..., Any] | None, candidates: Sequence[Candidate]) -> Candidate | None:
    functions = {one.label: one.function for one in candidates}
    if reference is None:
        return None
    if isinstance(reference, str) and reference in functions:
        return Candidate(reference, functions[reference])
    if callable(reference):
        return Candidate("", reference)
    remedy = f"Pass a function that returns the expected results, or a label: {', '.join(functions)}."
    raise ComparisonError(f"The reference is {reference!r}, not a function.", remedy=remedy)


def make_groups(
    args: Sequence[Any], sizes: str | int | Sequence[int] | None, *, draw: Callable[[int], tuple[Any, ...]]
) -> list[tuple[Any, ...]]:
    """The arguments at each size, or as they are without sizes; ``draw`` makes arguments if there are none."""
    numbers = () if sizes is None else parse_sizes(sizes)
    try:
        whole = tuple(args) or draw(max(numbers, default=DRAWN))
        largest = resize_arguments(whole, numbers[-1]) if numbers else whole
        groups = [resize_arguments(largest, size) for size in numbers] or [whole]
    except (MemoryError, OverflowError) as error:
        raise ComparisonError(
            f"sizes={sizes!r} needs more memory than this machine has.", remedy="Use smaller sizes."
        ) from error
    if not all(map(count_elements, groups)):
        raise ComparisonError("The arguments have no elements.", remedy="Pass arrays with at least one element.")
    if len(groups) > 1 and len({count_elements(group) for group in groups}) == 1:
        kinds = ", ".join(dict.fromkeys(type(arg).__name__ for arg in whole))
        fault = f"sizes={sizes!r} needs array arguments to take elements from, but the arguments are {kinds}."
        raise ComparisonError(fault, remedy="Pass NumPy arrays, or omit the arguments.")
    return groups


def _draw_arguments(candidates: Sequence[Candidate], *, size: int) -> tuple[Any, ...]:
    """Random numbers for the first ufunc, or for as many parameters as the first function has."""
    ufunc = next(filter(None, (find_ufunc(one.function) for one in candidates)), None)
    first = ufunc or candidates[0].function
    if ufunc is not None:
        loops = [loop.partition("->")[0] for loop in ufunc.types if "O" not in loop]
        doubles = "d" * ufunc.nin
        types = doubles if doubles in loops else loops[-1] if loops and ufunc.signature is None else ""
    else:
        types = "d" * _count_parameters(first)
    if not types:
        fault = f"There are no arguments, and {candidates[0].label!r} does not reveal how many it needs."
        raise ComparisonError(fault, remedy="Pass arrays: compare({...}, x), or -- x on the line.")

    def probe(*args: Any) -> Any:
        try:
            return first(*args)
        except FAULTS:
            return np.full(len(args[0]), np.nan)

    return sample_inputs(types, size=size, probe=probe)


def _count_parameters(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in plain and one.default is inspect.Parameter.empty for one in parameters)
