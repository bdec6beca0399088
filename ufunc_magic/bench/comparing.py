"""The comparison of any callables: equality first, then interleaved rounds, at one size or over many."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..model import ComparisonError
from ..render import Comparison
from .bounds import arithmetic_of
from .candidates import Candidate, Given, candidates
from .first_call import refused
from .machine import Limits, cache_levels, limits, machine_name
from .measure import Clock, affordable
from .one_size import Progress, Run, at_one_size
from .per_element import FAULTS
from .samples import sample_inputs
from .sizes import at_size, moved_bytes, sizes_of, work_size

__all__ = ["compare"]

#: Seconds, at one size and over several.
BUDGET, BUDGET_OF_SIZES = 2.0, 4.0


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
    """
    made = candidates(callables, names=names or {})
    _check(reference, made)
    if sizes is None:
        wanted: tuple[int, ...] = ()
    else:
        wanted = sizes_of(sizes)
    seconds = budget or (BUDGET_OF_SIZES if len(wanted) > 1 else BUDGET)
    try:
        whole = args or _sampled(made, size=max(wanted, default=0), seconds=0.1 * seconds, clock=clock)
        groups = _groups(whole, wanted)
    except (MemoryError, OverflowError) as error:
        raise ComparisonError(f"sizes={sizes!r} needs more memory than there is.", remedy="Give less.") from error
    if limit is None and clock is time.perf_counter:
        limit = limits()
    work = next((found for one in made if (found := arithmetic_of(one)) is not None), None)
    if not all(map(work_size, groups)):
        raise ComparisonError("The arguments have no elements.", remedy="Give arrays that hold numbers.")
    if len(groups) > 1 and len({work_size(group) for group in groups}) == 1:
        kinds = ", ".join(dict.fromkeys(type(arg).__name__ for arg in whole))
        fault = f"sizes={sizes!r} needs an array to take that many elements of, and the arguments are {kinds}."
        raise ComparisonError(fault, remedy="Give NumPy arrays, or leave the arguments out.")
    run = Run(made, reference, 0.0 if strict else tolerance, clock, len(groups) > 1, progress, limit, work)
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


def _check(reference: Any, made: Sequence[Candidate]) -> None:
    labels = [one.label for one in made]
    if isinstance(reference, str) and reference not in labels:
        raise ComparisonError(f"reference={reference!r} is not a label.", remedy=f"Labels are {', '.join(labels)}.")
    if reference is not None and not isinstance(reference, str) and not callable(reference):
        fault = f"The reference is {reference!r}, not a function."
        raise ComparisonError(fault, remedy="Give a function whose results are the expected ones.")


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

    def probe(*args: Any) -> Any:
        try:
            return first(*args)
        except FAULTS:
            return np.full(len(args[0]), np.nan)

    if not size:
        few = sample_inputs(chosen, size=1024, probe=probe)
        try:
            size = 1024 * affordable(lambda n: _repeated(n, first, few), most=1024, seconds=seconds / 4, clock=clock)
        except FAULTS as error:
            raise refused(repr(made[0].label), first, few, error) from error
    return sample_inputs(chosen, size=size, probe=probe)


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


def _over(run: Run, groups: Sequence[tuple[Any, ...]], *, deadline: float) -> bool:
    """Fill ``run.rows`` size by size; whether that was interrupted."""
    sizes = [work_size(group) for group in groups]
    weights = [max(1.0, 20 * size / max(sizes)) for size in sizes]
    start = run.clock()
    run.budget = deadline - start
    with np.errstate(all="ignore"):
        try:
            for position, (group, size) in enumerate(zip(groups, sizes, strict=True)):
                now = run.clock()
                share = weights[position] / sum(weights[position:])
                done = (now - start) / max(deadline - start, 1e-9)
                run.tell(done, size)
                at_one_size(run, group, seconds=(deadline - now) * share, done=(done, share), first=not position)
        except KeyboardInterrupt:
            if not run.rows:
                raise
            return True
    run.tell(1.0, sizes[-1])
    return False
