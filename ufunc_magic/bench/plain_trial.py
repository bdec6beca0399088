"""Arguments that a compiled function and its form in Python both accept and agree on.  The clock is handed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..render import Agreement
from .measure import Call, Clock, once
from .per_element import FAULTS
from .returned_values import Guarded, Run, changed, judge_runs, run
from .samples import sample_arguments

__all__ = ["Accepted", "Asked", "Form", "accepted"]

#: Numbers along each axis: the first trial's, which is more than the integers of ``sample_arguments``, and the most.
SMALL, ELEMENTS = 20, 100_000

_LADDER = [n * 10**k for k in range(1, 5) for n in (1, 2, 3, 5) if n * 10**k > SMALL] + [ELEMENTS]

#: Share of the budget that one call of the slowest form may take.
PASS = 0.06

#: Element types to try where the function takes any, or one that it does not show.
KINDS = ("float64", "int64", "float32", "int32", "uint8", "complex128", "int16", "uint32", "uint64", "bool")

Function = Callable[..., Any]
Arguments = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Asked:
    """The parameters of ``time_plain``."""

    function: Function
    samples: Sequence[str]
    python: Function | None
    checked: Function | None
    vector: Function | None
    unwrapped: bool
    budget: float
    deadline: float
    clock: Clock

    def forms(self, arguments: Arguments) -> Iterator[Form]:
        """Ways to compute what is expected, the plainest first."""
        if self.python is not None:
            yield Form(self.python, arguments)
            wide = tuple(map(_widened, arguments))
            if any(a is not b for a, b in zip(arguments, wide, strict=True)):
                # Elements of narrow arrays keep their type in Python's sums, which C's variables do not.
                yield Form(self.python, wide, "on arrays widened to 64 bits")
        if self.checked is not None:
            yield Form(self.checked, arguments, "with C's rules checked at every step" if self.python else "")

    def judged(self, form: Form, expected: Run, arguments: Arguments, got: Run) -> Agreement | None:
        """What ``form`` gave against what another function gave for ``arguments``."""
        return judge_runs(
            expected,
            got,
            before=(form.arguments, arguments),
            again=form.function,
            patience=lambda: self.clock() < self.deadline,
        )


@dataclass(frozen=True, eq=False)
class Form:
    """A function in Python and what it is called with."""

    function: Function
    arguments: Arguments
    note: str = ""


@dataclass(frozen=True, eq=False)
class Accepted:
    """The function called once, beside a form of it in Python where there is one."""

    arguments: Arguments
    got: Run
    form: Form | None = None
    expected: Run | None = None
    verdict: Agreement | None = None

    @property
    def ok(self) -> bool:
        return self.verdict is None or self.verdict.ok

    @property
    def spoils(self) -> bool:
        """The function changes its arguments."""
        return bool(changed(self.arguments, self.got.arguments))


class _RefusedError(Exception):
    """A call raised."""

    def __init__(self, fault: Exception, *, by: str = "") -> None:
        super().__init__(f"refused{by} ({type(fault).__name__}: {fault})")


def accepted(asked: Asked, size: int) -> Accepted | str:
    """The first arguments on which everybody agrees; else the first that were accepted; else why not."""
    any_type = any(sample.startswith("O") for sample in asked.samples)
    refused: list[str] = []
    best: Accepted | None = None
    for kind in KINDS if any_type else KINDS[:1]:
        try:
            found = _checked_on(asked, kind, size)
        except _RefusedError as fault:
            refused.append(str(fault))
            continue
        if found.ok:
            return found
        best = best or found
    if best is not None:
        return best
    return f"{'every sample array was' if any_type else 'its sample arguments were'} {refused[0]}"


def _checked_on(asked: Asked, kind: str, size: int) -> Accepted:
    """Small arguments first: what fails there needs no large ones."""
    dimensions = max((int(sample[1:]) for sample in asked.samples), default=0)
    along = SMALL if not size else max(1, round(size ** (1 / max(1, dimensions))))
    found = _verified(asked, sample_arguments(asked.samples, along=along, kind=kind))
    if size or not dimensions or not found.ok:
        return found
    along = _affordable(asked, found, dimensions, kind)
    return _verified(asked, sample_arguments(asked.samples, along=along, kind=kind)) if along > SMALL else found


def _affordable(asked: Asked, found: Accepted, dimensions: int, kind: str) -> int:
    """Numbers along each axis, a round one, with which a call of the slowest form keeps to its share."""
    function = found.form.function if found.form else asked.function
    limit, along, taken, before = PASS * asked.budget, SMALL, 0.0, 0.0

    def seconds(along: int) -> float:
        arguments = sample_arguments(asked.samples, along=along, kind=kind)
        return once(Call(function, arguments), clock=asked.clock)[0]

    def too_long(growth: float) -> bool:
        # Where time grew by more than the elements did, the function is not linear; short times say nothing.
        return taken > limit / 100 and taken * max(growth, taken / before if before else 0.0) > limit

    try:
        for further in _LADDER:
            growth = (further / along) ** dimensions
            if further**dimensions > ELEMENTS:
                break
            if too_long(growth):
                taken = min(taken, seconds(along))  # it may have been interrupted
                if too_long(growth):
                    break
            before, taken = taken, seconds(further)
            if taken > limit:
                break
            along = further
    except FAULTS:
        return along  # it takes no more
    return along


def _verified(asked: Asked, arguments: Arguments) -> Accepted:
    """Called after a form in Python got through: what raises there, an index past the end, may crash in C."""
    got: Run | None = None
    first: Accepted | None = None
    refused: Exception | None = None
    for form in asked.forms(arguments):
        try:
            if asked.unwrapped and got is None:
                run(form.function, [a.view(Guarded) if isinstance(a, np.ndarray) else a for a in form.arguments])
            expected = run(form.function, form.arguments)
        except FAULTS as fault:
            refused = refused or fault
            continue
        got = got or _called(asked, arguments)
        found = Accepted(arguments, got, form, expected, asked.judged(form, expected, arguments, got))
        if found.ok:
            return found
        first = first or found
    if first is not None:
        return first
    if refused is not None:
        raise _RefusedError(refused, by=" by its Python form")
    return Accepted(arguments, _called(asked, arguments))


def _called(asked: Asked, arguments: Arguments) -> Run:
    try:
        return run(asked.function, arguments)
    except FAULTS as fault:
        raise _RefusedError(fault) from fault


def _widened(argument: Any) -> Any:
    if not isinstance(argument, np.ndarray) or argument.dtype.kind not in "iufc":
        return argument
    wide = np.result_type(argument.dtype, {"c": np.complex128, "f": np.float64}.get(argument.dtype.kind, np.int64))
    # uint64 and int64 have only float64 in common.
    return argument if wide == argument.dtype or argument.dtype == np.uint64 else argument.astype(wide)
