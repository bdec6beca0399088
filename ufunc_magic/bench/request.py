"""A request: what to compare, on which inputs, against which results, and in how much time.

The tables of a cell, ``--vs``, ``--sizes`` and `compare` are all made from one `Request` by `compare_request`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from .. import guard
from ..forms import Watched
from ..model import OperandUse
from ..render import Row
from .candidates import Candidate
from .loop_reports import recall_loop
from .machine import Limits
from .rounds import CLOCK, Call, Clock, count_affordable
from .samples import round_down

if TYPE_CHECKING:
    from ..render import LoopReport

Progress = Callable[[float, str], object]
Result = TypeVar("Result")

#: Seconds that a copy of the process may take for a comparison, and for each second of its budget.
PATIENCE, PATIENCE_EACH = 30.0, 20.0


@dataclass(frozen=True, eq=False)
class Operands:
    """The inputs of a ufunc: elements along the first axis; each candidate gets as many as it can compute.

    Attributes
    ----------
    types : str
        The loop to time, ``"dd->d"``.
    names : sequence of str
    cores : sequence of sequence of int or str
        Core dimensions of each input.
    arrays : sequence of ndarray
        `sample_inputs` draws them if omitted.
    size : int
        Elements; 0 for as many as the budget allows, at most a million.
    cautious : bool
        See `sample_inputs`.
    edges : bool
        Check zeros, infinities and NaN as well, if the inputs are scalars and ``cautious`` is false.
    core_sizes : mapping
        Sizes of named core dimensions that the user gave; the others are as large as the budget allows.
    uses : sequence of OperandUse
        See `sample_inputs`.
    """

    types: str
    names: Sequence[str] = ()
    cores: Sequence[Sequence[int | str]] = ()
    arrays: Sequence[NDArray[Any]] | None = None
    size: int = 0
    cautious: bool = False
    edges: bool = True
    core_sizes: Mapping[str, int] = field(default_factory=dict)
    uses: Sequence[OperandUse] = ()

    @property
    def out(self) -> str:
        """Types of the outputs."""
        return self.types.partition("->")[2]


@dataclass(frozen=True, eq=False)
class Parameters:
    """The parameters of a function that stays a Python function; arguments that it accepts are searched.

    Attributes
    ----------
    samples : sequence of str
        NumPy's type letter and the number of dimensions of each parameter, ``"d1"``, ``"l0"``; ``"O1"`` for an array
        of an unknown type: the first type that the function and its Python form accept and agree on.
    names : sequence of str
    size : int
        Elements; 0 for as many as the budget allows, at most 100,000.
    unwrapped : bool
        Negative indices may reach before an array: the function is not called if its Python form has any.
    """

    samples: Sequence[str]
    names: Sequence[str] = ()
    size: int = 0
    unwrapped: bool = False


@dataclass(frozen=True, eq=False)
class Arguments:
    """The same arguments for all candidates, at one or more sizes.

    ``groups`` are the arguments at each size, ascending.
    """

    groups: Sequence[tuple[Any, ...]]


@dataclass(frozen=True, eq=False)
class Forms:
    """The Python forms of a function, ready to call; None if there is no such form.

    Attributes
    ----------
    python : callable
        As a person would write it, on scalars (nested lists for cores): the one to time.
    checked : callable
        With C's results where Python's differ: the one whose results are expected.
    random : callable
        The expected one, with every rounding at random.
    vector : callable
        The NumPy expression, on arrays.
    watched : Watched
        The Python function of integers, with as many of C's rules as the timed inputs need; preferred to ``python``.
    text : str
        The text of ``python``.
    """

    python: Callable[..., Any] | None = None
    checked: Callable[..., Any] | None = None
    random: Callable[..., Any] | None = None
    vector: Callable[..., Any] | None = None
    watched: Watched | None = None
    text: str = ""

    @property
    def exact(self) -> Callable[..., Any] | None:
        """The form whose results are expected."""
        return self.checked or self.python

    @property
    def expression(self) -> tuple[Candidate, ...]:
        """The NumPy expression as a candidate."""
        return () if self.vector is None else (Candidate("NumPy expression", self.vector, "numpy"),)


@dataclass(frozen=True, eq=False)
class Threads:
    """``with use(n):`` sets the threads of a parallel ufunc; ``most`` is the number to show."""

    use: Callable[[int], AbstractContextManager[Any]]
    most: int


@dataclass(frozen=True, eq=False)
class Budget:
    """Time for a comparison.

    Attributes
    ----------
    seconds : float
    reserve : float
        Seconds for more rounds where rounds disagree.
    thorough : bool
        Rounds that agree do not end the comparison early.
    clock : callable
    """

    seconds: float = 0.8
    reserve: float = 0.8
    thorough: bool = False
    clock: Clock = CLOCK


@dataclass(frozen=True, eq=False)
class Request:
    """Candidates to compare, with their inputs, their expected results and a budget.

    Attributes
    ----------
    name : str
        The function, or the labels of all candidates.
    candidates : sequence of Candidate
        For `Operands` and `Parameters` the compiled function, then its rivals on arrays; for `Arguments` in the order
        of the rows, the baseline first.
    inputs : Operands, Parameters or Arguments
    forms : Forms
        Without any, a loop that calls the ufunc for each element is timed, and nothing can be checked.
    reference : Candidate
        The user's own expectation, on arrays or on scalars, in place of the forms: one of the candidates if it has
        the label of one.
    tolerance : float
        See `compare_results`.
    threads : Threads
        For a row on several threads.
    on_device : callable
        Makes further rows from the timed arrays.
    budget : Budget
    limit : Limits
        The machine's bandwidth; without it no row has a share of it.
    find_loop : callable
        Returns the compiler's report on the loop of a ufunc, None if there is none.
    stateful : bool
        A candidate keeps state between calls or changes other objects: all of it runs in copies of this process, and
        compared results begin with the same state.
    progress : callable
        Receives the share that is done and the current size.
    """

    name: str
    candidates: Sequence[Candidate]
    inputs: Operands | Parameters | Arguments
    forms: Forms = Forms()
    reference: Candidate | None = None
    tolerance: float | None = None
    threads: Threads | None = None
    on_device: Callable[[Sequence[NDArray[Any]]], Sequence[Row]] | None = None
    budget: Budget = Budget()
    limit: Limits | None = None
    find_loop: Callable[[object], LoopReport | None] = recall_loop
    progress: Progress | None = None
    stateful: bool = False

    @property
    def function(self) -> Callable[..., Any]:
        """The compiled function."""
        return self.candidates[0].function

    @property
    def rivals(self) -> Sequence[Candidate]:
        """The candidates after the compiled function."""
        return self.candidates[1:]

    def call(self, arrays: Sequence[Any], *, threads: int = 1) -> Call:
        """A call of the ufunc on arrays, on so many threads."""
        context = functools.partial(self.threads.use, threads) if self.threads else nullcontext
        return Call(self.function, arrays, context)

    def call_apart(self, work: Callable[[], Result]) -> Result:
        """The result of ``work``; of a stateful request in a copy of the process, so that it leaves no trace."""
        if not self.stateful:
            return work()
        return guard.call_in_copy(work, seconds=PATIENCE + PATIENCE_EACH * self.budget.seconds)

    def count_fitting(self, run: Callable[[int], object], share: float, *, most: int) -> int:
        """Elements that ``run`` computes in a share of the budget, a round number."""
        seconds = share * self.budget.seconds
        return round_down(count_affordable(run, most=most, seconds=seconds, clock=self.budget.clock))
