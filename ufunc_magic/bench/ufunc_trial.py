"""One ufunc against its Python version: inputs, expected results, and the calls that are to be timed.

The clock is handed in.  Shares of the budget: sampling 0.1, finding the sizes and the expected results
about 0.35, the rest for the rounds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import OptionError
from ..render import Agreement, count
from .agreement import outputs
from .candidates import Candidate
from .first_call import described, numeric
from .measure import Call, Clock, affordable, once
from .per_element import FAULTS, columns, loop, survivors, takes_arrays
from .samples import CORE_SIZE, PROBES, dtypes, sample_inputs
from .timed_entry import Entry
from .verify import Expected, at_edges, at_places, everywhere, judge, same_loop, suspects

__all__ = ["Trial", "entries", "inputs"]

#: Elements where nothing speaks for fewer, and bytes that all inputs together may take.
ELEMENTS, BYTES = 1_000_000, 32 << 20

#: Shares of the budget.
SAMPLING, UFUNC_CALL, EXPECTED, PYTHON_PASS, VECTOR_PASS = 0.1, 0.04, 0.15, 0.03, 0.05

#: Distinct elements screened one by one, at most; fewer for a slow Python version.
POOL = 1 << 14

Arrays = tuple[NDArray[Any], ...]


@dataclass(frozen=True, eq=False)
class Trial:
    """What ``compare.time_function`` was asked; the fields are its parameters."""

    ufunc: Callable[..., Any]
    types: str
    cores: Sequence[Sequence[int | str]]
    python: Callable[..., Any] | None
    exact: Callable[..., Any] | None
    vector: Callable[..., Any] | None
    reference: Callable[..., Any] | None
    reference_label: str
    scalar_label: str
    threads: Callable[[int], AbstractContextManager[Any]] | None
    max_threads: int
    cautious: bool
    edges: bool
    tolerance: float | None
    budget: float
    clock: Clock
    label: str = "ufunc"
    rivals: Sequence[Candidate] = ()

    @property
    def out(self) -> str:
        return self.types.partition("->")[2]

    @property
    def nout(self) -> int:
        return len(self.out)

    @property
    def unrounded(self) -> Callable[..., Any] | None:
        """The Python version in double, where the exact one rounds to something narrower."""
        narrow = self.python is not self.exact and self.reference is None and set(self.types) & set("efF")
        return self.python if narrow else None

    def call(self, arrays: Arrays, *, threads: int = 1) -> Call:
        """The ufunc on arrays, on so many threads."""
        return Call(self.ufunc, arrays, functools.partial(self.threads, threads) if self.threads else None)

    def fits(self, run: Callable[[int], object], share: float, *, most: int) -> int:
        """Elements that ``run`` computes in a share of the budget."""
        return affordable(run, most=most, seconds=share * self.budget, clock=self.clock)


def inputs(trial: Trial, given: Sequence[NDArray[Any]] | None, *, size: int) -> Arrays:
    """The given arrays, or samples; as many elements as one call can take in its share of the budget."""
    arrays = tuple(given) if given is not None else _sampled(trial, size)
    most = min(len(array) for array in arrays)
    if size:
        return _cut(arrays, min(size, most))
    return _cut(
        arrays, trial.fits(lambda n: once(trial.call(_cut(arrays, n)), clock=trial.clock), UFUNC_CALL, most=most)
    )


def _cut(arrays: Arrays, number: int) -> Arrays:
    return tuple(array[:number] for array in arrays)


def _sampled(trial: Trial, size: int) -> Arrays:
    screen = None if trial.exact is None else functools.partial(_passes, trial.exact)
    few = sample_inputs(trial.types, size=4, cores=trial.cores, cautious=True)

    def run(number: int) -> None:
        cut = _cut(few, number)
        if screen is not None:
            cut = tuple(array[screen(*cut)] for array in cut)
        once(trial.call(cut), clock=trial.clock)

    run(1)  # whatever happens only once
    start = trial.clock()
    run(4)
    each = max(1e-9, (trial.clock() - start) / 4)
    # From here: in a new session what happens only once may take all of the time, and samples that nobody has looked at
    # are those on which plain Python raises where C has a NaN.
    deadline = trial.clock() + SAMPLING * trial.budget
    probes = max(4, min(PROBES, int(0.01 * trial.budget / each)))
    shapes = [[CORE_SIZE if isinstance(n, str) else n for n in core] for core in trial.cores]
    shapes += [[] for _ in range(len(dtypes(trial.types)) - len(shapes))]
    each_bytes = sum(
        kind.itemsize * int(np.prod(shape)) for kind, shape in zip(dtypes(trial.types), shapes, strict=True)
    )
    return sample_inputs(
        trial.types,
        size=size or max(1, min(ELEMENTS, BYTES // max(1, each_bytes))),
        probe=trial.ufunc,
        screen=screen,
        cores=trial.cores,
        cautious=trial.cautious,
        patience=lambda: trial.clock() < deadline,
        probes=probes,
        pool=max(64, min(POOL, int(SAMPLING * trial.budget / each))),
    )


def _passes(exact: Callable[..., Any], *arrays: NDArray[Any]) -> NDArray[np.bool_]:
    return survivors(exact, columns(arrays))[1]


def entries(trial: Trial, arrays: Arrays) -> tuple[list[Entry], list[str]]:
    """Everything checked and ready to be timed, in the order of the report, and what there is to note."""
    number = len(arrays[0])
    results = once(trial.call(arrays), clock=trial.clock)[1]
    whole = trial.reference is not None and takes_arrays(trial.reference, arrays, trial.nout)
    expected = _expected(trial, arrays, whole=whole)
    vector, vector_results, notes = _vector(trial, arrays)
    expected += _suspects(trial, arrays, results, vector_results, expected)
    ufunc = judge(expected, results, ufunc=trial.ufunc, tolerance=trial.tolerance)
    found = [_baseline(trial, arrays, expected, whole=whole)]
    if whole and trial.reference is not None:
        found.append(
            Entry(trial.reference_label, "other", Call(trial.reference, arrays), number, note="expected results")
        )
    if vector is not None:
        verdict = judge(expected, vector_results)
        found.append(Entry("NumPy expression", "numpy", vector, len(vector.arguments[0]), verdict))
    for rival in trial.rivals:
        made = _rival(trial, rival, arrays, expected)
        found += [made] if isinstance(made, Entry) else []
        notes += [made] if isinstance(made, str) else []
    found += _ufunc_entries(trial, arrays, results, ufunc)
    if ufunc is None:
        notes.append(_unchecked(trial, arrays))
    return found, notes


def _unchecked(trial: Trial, arrays: Arrays) -> str:
    if trial.reference is None:
        return "nothing to check the results against; --ref gives an expectation"
    try:
        trial.reference(*(column[0] for column in columns(_cut(arrays, 1))))
        said = "raises on every sample"
    except FAULTS as fault:
        said = f"raises {type(fault).__name__}: {fault}"
    return f"nothing to check the results against: --ref {trial.reference_label!r} {said}"


def _expected(trial: Trial, arrays: Arrays, *, whole: bool) -> list[Expected]:
    """Everywhere from a reference on arrays; else on a part, from the reference or the exact Python version."""
    if whole and trial.reference is not None:
        return [everywhere(trial.reference, arrays)]
    function = trial.reference or trial.exact
    if function is None:
        return []
    if trial.reference is not None:
        _numbers_expected(trial.reference, trial.reference_label, arrays, nout=trial.nout)
    part = trial.fits(lambda n: survivors(function, columns(_cut(arrays, n))), EXPECTED, most=len(arrays[0]))
    found = [at_places(function, arrays, np.arange(part), nout=trial.nout, unrounded=trial.unrounded)]
    if trial.edges and not trial.cautious and not any(trial.cores) and trial.reference is None:
        found.append(at_edges(function, trial.types, nout=trial.nout, unrounded=trial.unrounded))
    return [expected for expected in found if expected is not None]


def _numbers_expected(function: Callable[..., Any], label: str, arrays: Arrays, *, nout: int) -> None:
    """Refuse a reference that gives something else than the outputs' numbers."""
    for result in survivors(function, columns(_cut(arrays, 1)))[0]:
        given = outputs(result)
        wrong = [part for part in given if not numeric(part)]
        if wrong:
            said = f"returns {described(wrong[0])}, not {'a number' if nout == 1 else 'numbers'}"
        elif len(given) != nout:
            said = f"returns {count(len(given), 'output')} where the function has {nout}"
        else:
            continue
        raise OptionError(f"--ref {label!r} {said}.", remedy="Give a function whose results are the expected ones.")


def _suspects(
    trial: Trial, arrays: Arrays, results: Any, vector_results: Any, expected: Sequence[Expected]
) -> list[Expected]:
    """Beyond the part that Python has computed, NumPy's expression shows where to look."""
    if trial.exact is None or trial.reference is not None or vector_results is None or not expected:
        return []
    places = suspects(results, vector_results)
    known = expected[0].places
    places = places if known is None else np.setdiff1d(places, known)
    if not places.size:
        return []
    found = at_places(trial.exact, arrays, places, nout=trial.nout, unrounded=trial.unrounded)
    return [] if found is None else [found]


def _vector(trial: Trial, arrays: Arrays) -> tuple[Call | None, Any, list[str]]:
    """The NumPy expression on as many elements as it can take, its results, and a note if it fails."""
    if trial.vector is None:
        return None, None, []
    vector, number = trial.vector, len(arrays[0])
    try:
        part = trial.fits(lambda n: vector(*_cut(arrays, n)), VECTOR_PASS, most=number)
        call = Call(vector, _cut(arrays, part))
        made = outputs(once(call, clock=trial.clock)[1])
        if any(result is given for result in made for given in call.arguments):
            return None, None, []  # nothing is computed: there is nothing to time
        results = tuple(np.asarray(result) for result in made)
        # A result that does not depend on the inputs is one number.
        full = tuple(np.broadcast_to(r, (part,)) if r.ndim == 0 else r for r in results)
    except FAULTS as error:
        return None, None, [f"the NumPy expression failed: {type(error).__name__}: {error}"]
    return call, full if trial.nout > 1 else full[0], []


def _rival(trial: Trial, rival: Candidate, arrays: Arrays, expected: Sequence[Expected]) -> Entry | str:
    """Another library's version on as many elements as it can take, or what to note where it fails."""
    function = rival.function
    try:
        part = trial.fits(lambda n: function(*_cut(arrays, n)), VECTOR_PASS, most=len(arrays[0]))
        call = Call(function, _cut(arrays, part))
        results = tuple(np.asarray(result) for result in outputs(once(call, clock=trial.clock)[1]))
    except FAULTS as error:
        return f"{rival.label} failed: {type(error).__name__}: {error}"
    verdict = judge(expected, results if trial.nout > 1 else results[0])
    return Entry(rival.label, rival.kind, call, part, verdict, note=rival.note, compile_seconds=rival.compile_seconds)


def _baseline(trial: Trial, arrays: Arrays, expected: Sequence[Expected], *, whole: bool) -> Entry:
    """The Python loop: the user's reference on scalars, the Python version, or the compiled scalar.

    The version that is timed must compute what is expected; where it raises or differs (its operators
    are Python's, not C's), the exact version is timed in its place.
    """
    reference = trial.reference if not whole else None
    choices: list[tuple[str, Callable[..., Any] | None, str]] = [
        (f"Python loop of {trial.reference_label}", reference, ""),
        ("Python loop", trial.python if reference is None else None, ""),
        ("Python loop", trial.exact if reference is None else None, "with C's rules checked at every step"),
    ]
    for label, function, note in choices:
        if function is None:
            continue
        try:
            entry = _python_entry(trial, arrays, expected, label, function, note if trial.python else "")
        except FAULTS:
            continue
        if entry is not None:
            return entry
    # NumPy's numbers, not Python's: a ufunc of float32 alone takes no float64.
    part = trial.fits(lambda n: loop(trial.ufunc, [list(a) for a in _cut(arrays, n)]), PYTHON_PASS, most=len(arrays[0]))
    call = Call(loop, (trial.ufunc, [list(a) for a in _cut(arrays, part)]))
    return Entry(trial.scalar_label, "scalar", call, part)


def _python_entry(
    trial: Trial, arrays: Arrays, expected: Sequence[Expected], label: str, function: Callable[..., Any], note: str
) -> Entry | None:
    part = trial.fits(lambda n: loop(function, columns(_cut(arrays, n))), PYTHON_PASS, most=len(arrays[0]))
    lists = columns(_cut(arrays, part))
    trusted = function in (trial.exact, trial.reference) or not expected
    if not trusted and not same_loop(function, lists, expected[0], dtypes=trial.out):
        return None
    return Entry(label, "python", Call(loop, (function, lists)), part, note=note)


def _ufunc_entries(trial: Trial, arrays: Arrays, results: Any, verdict: Agreement | None) -> list[Entry]:
    number = len(arrays[0])
    nbytes = sum(array.nbytes for array in (*arrays, *map(np.asarray, outputs(results))))
    found = [Entry(f"{trial.label}, 1 thread", "ufunc", trial.call(arrays), number, verdict, nbytes)]
    if trial.threads is not None and trial.max_threads > 1:
        call = trial.call(arrays, threads=trial.max_threads)
        known = Expected(arrays, outputs(results), np.arange(number), lambda moved: outputs(trial.ufunc(*moved)))
        same = judge([known], once(call, clock=trial.clock)[1])
        found.append(Entry(f"{trial.label}, {trial.max_threads} threads", "parallel", call, number, same, nbytes))
    return found
