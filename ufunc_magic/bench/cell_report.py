"""From a build to the report of its cell: which functions are compared with what, and with how much time."""

from __future__ import annotations

import functools
import os
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..cells import DeviceTime, Language
from ..languages import language_of
from ..model import (
    MOST_TIMED,
    TIME,
    TYPES,
    CellFunction,
    CellPlace,
    Comfort,
    ComparisonError,
    OptionError,
    Options,
    UfuncMagicError,
)
from ..render import Bound, Comparison, Report, Row
from ..runtime import Build, letters, operand_dtypes, ufunc_of
from .agreement import agreement
from .candidates import CandidateLike, evaluated
from .comparing import BUDGET_OF_SIZES, Progress, compare
from .expectation import FAULTS
from .function_table import Request, compare_function, sampled
from .machine import Pressure, doubt, limits
from .rivals import CompileCython, Forms, chosen, forms, rivals
from .samples import LastDraw, given_inputs, shuffled, sizes_of

#: Share of a cell's time that goes into its comparisons; the rest is for Python forms and for the page.
COMPARING = 0.8

#: Seconds for more rounds, where they disagree.
MORE = 0.55

#: What each rival adds to a cell's time, as a share of it.
RIVAL_BUDGET = 0.25

#: Elements of the arguments that are made for sizes; longer ones repeat them.
SAMPLED = 1 << 17

#: What this session has been told once.
_announced: set[str] = set()


def report(
    build: Build,
    *,
    options: Options,
    names: Mapping[str, Any],
    compile_cython: CompileCython | None = None,
    progress: Progress | None = None,
    without: Collection[str] = (),
) -> Report:
    """Verify and time the functions of ``build``; see `ufunc_magic.pipeline.report`.

    ``compile_cython`` makes the rivals of ``--vs cython``; ``progress`` is called during ``--sizes``, as by `compare`.
    """
    object_code = build.loaded.object_code
    codes = [code for code in build.report_data.functions if code.name in build and code.name not in without]
    comparisons: list[Comparison] = []
    busy = ""
    notes = [*build.notes]
    language = language_of(object_code)
    with Comfort("what the session is told once", notes):
        notes += _new_notices(language.notices(object_code))
    if options.time:
        chosen(options.vs)  # a slip in an option is an error before anything is timed
        sizes = sizes_of(options.sizes) if options.sizes else ()
        cell = _Cell(build, options, names, compile_cython, progress, sizes)
        with Comfort("the timing", notes, passing=UfuncMagicError):
            pressure = Pressure()
            comparisons, more = cell.compared(codes)
            notes += more
            busy = pressure.words([row for comparison in comparisons for row in comparison.rows])
    if options.verbose:
        steps = ", ".join(f"{step} {seconds * 1e3:.2f} ms" for step, seconds in build.seconds.items())
        notes += [f"steps: {steps}", f"command: {build.report_data.command}"]
    known = {*without, *(code.name for code in codes)}
    # Modules are what the cell imported, not what it made.
    others = [name for name in build if name not in known and not isinstance(build[name], types.ModuleType)]
    return Report(
        name=build.name,
        functions=tuple(_bound(code, build.place) for code in codes),
        comparisons=tuple(comparisons),
        diagnostics=build.diagnostics,
        notes=tuple(notes),
        seconds=build.seconds,
        cached=build.cached,
        toolchain=object_code.toolchain,
        others=tuple(_word(name, build[name]) for name in others),
        device=language.place(object_code),
        pressure=busy,
        first_line=build.first_line,
    )


# -- what was bound, in words


def _bound(code: CellFunction, place: CellPlace) -> Bound:
    call = f"{code.name}({', '.join(code.parameters)})"
    if code.kind == "ufunc":
        types = tuple(letters(loop.types, code.nin) for loop in code.loops)
        return Bound(code.name, call=call, types=types, core=code.core, doc=code.doc.partition("\n")[0])
    if code.kind == "kernel":
        call = f"{code.name}[grid, block]({', '.join(code.parameters)})"
    return Bound(code.name, code.kind, call, place.text(code.reason))


def _word(name: str, value: Any) -> str:
    """``"Integrator (class)"``, ``"helper()"``, ``"TABLE"``."""
    return f"{name} (class)" if isinstance(value, type) else f"{name}()" if callable(value) else name


# -- comparisons


@dataclass(frozen=True, eq=False)
class _Cell:
    """A build, and what its comparisons are made with."""

    build: Build
    options: Options
    names: Mapping[str, Any]
    compile_cython: CompileCython | None = None
    progress: Progress | None = None
    sizes: Sequence[int] = ()
    last: LastDraw = field(default_factory=LastDraw)

    @property
    def language(self) -> Language:
        return language_of(self.build.loaded.object_code)

    def compared(self, codes: Sequence[CellFunction]) -> tuple[list[Comparison], list[str]]:
        """A table for each of the first functions that can be timed, and notes."""
        known = [code for code in codes if code.kind == "ufunc" or code.samples]
        reference = _reference(self.options.ref, self.names) if self.options.ref and known else None
        data = _data(self.options.data, self.names) if self.options.data and known else None
        runs = self.language.host_candidate
        timed = [c for c in known if (c.timed or c.samples) and runs(self.build[c.name])[0] is not None][:MOST_TIMED]
        notes = []
        harmless = sum(not code.effects for code in known)  # each other one has a note of its own
        if harmless > MOST_TIMED:
            notes.append(f"the report times {len(timed)} of {harmless} functions; use um.compare() for the others")
        comparisons = []
        for code in timed:
            step = "timed"
            try:
                request, missing = self.request(code, reference, data, share=1 / len(timed))
                comparison = compare_function(request)
                if request.limit:
                    doubt(request.limit, comparison.rows)
                comparisons.append(replace(comparison, notes=(*comparison.notes, *missing)))
                if self.sizes and code.kind == "ufunc" and not code.core:
                    step = "timed over sizes"
                    comparisons.append(self.over_sizes(request, share=1 / len(timed)))
            except FAULTS as fault:  # its own: a C++ exception, a status, whatever Cython raises
                notes.append(f"{code.name} was not {step}: {_one_line(fault)}")
        return comparisons, notes

    def request(
        self,
        code: CellFunction,
        reference: Callable[..., Any] | None,
        data: Sequence[Any] | None,
        *,
        share: float,
    ) -> tuple[Request, tuple[str, ...]]:
        """What one function is compared with, and what is missing there."""
        options, object_code = self.options, self.build.loaded.object_code
        python = Forms()
        ufunc = code.kind == "ufunc"
        missing: list[str] = []
        with Comfort(f"the Python form of {code.name}", missing):
            python = forms(code)
        if code.python_reason and reference is None:
            hint = "; to check the results, name a function with --ref" if ufunc else ""
            missing.append(f"no Python form: it {code.python_reason}{hint}")
        request = Request(
            self.build[code.name],
            code.name,
            python=python.python,
            checked=python.checked,
            random=python.random,
            watched=python.watched,
            text=code.python,
            reference=reference,
            reference_label=options.ref,
            rivals=python.expression,
            parameters=code.parameters,
            size=options.size,
            budget=COMPARING * options.time * share,
            reserve=max(MORE, options.time) * share,
            thorough=options.time > TIME,
            last=self.last,
        )
        if not ufunc:
            request = replace(
                request,
                samples=code.samples,
                checked=python.checked if code.checked != code.python else None,
                unwrapped="wraparound" in object_code.source,
            )
            return request, tuple(missing)
        others, left_out = rivals(code, options.vs, compile_cython=self.compile_cython)
        # A def with keyword-only parameters takes no arrays by their place; its ufunc does.
        bound = self.build[code.name]
        bound = ufunc_of(bound) or bound
        host, label = self.language.host_candidate(bound)
        host = host or bound
        device_times = self.language.device_times(bound)
        request = replace(
            request,
            function=host,
            label=label,
            on_device=device_times and functools.partial(device_rows, host, bound, device_times),
            types=letters(code.timed, code.nin),
            inputs=known_inputs(code, options.size or SAMPLED) or None,
            parameters=code.parameters[: code.nin],
            cores=[[int(d) if d.isdecimal() else d for d in core] for core in code.cores[: code.nin]],
            rivals=(*python.expression, *(one for one in others if one.kind != "numpy")),
            threads=self.build.threads if object_code.threads else None,
            max_threads=_most_threads(options),
            cautious=code.cautious,
            # --fast-math gives up exactly these values.
            edges=not options.fast_math,
            budget=request.budget * (1 + RIVAL_BUDGET * len(others)),
            limit=limits(),
        )
        if data is not None:
            kinds = operand_dtypes(code.function_code)[: code.nin]
            arrays = given_inputs(data, kinds, request.cores)
            request = replace(request, inputs=arrays, size=request.size or len(arrays[0]))
        return request, (*left_out, *missing)

    def over_sizes(self, request: Request, *, share: float) -> Comparison:
        """A ufunc and its rivals over sizes."""
        compared: dict[str, CandidateLike] = {request.name: request.function}
        compared |= {one.label: one for one in request.rivals}
        comparison = compare(
            compared,
            *sampled(replace(request, size=min(SAMPLED, self.sizes[-1]))),
            sizes=self.sizes,
            budget=BUDGET_OF_SIZES * share,
            progress=self.progress,
        )
        return replace(comparison, name=request.name)


def known_inputs(code: CellFunction, size: int) -> tuple[NDArray[Any], ...]:
    """Inputs on which a function works that fails on ordinary ones, repeated; empty for one that does not.

    For structures, those that any takes.
    """
    if code.records:
        rng = np.random.default_rng(20240229)
        return tuple(_filled(np.zeros(size, dtype), rng) for dtype in operand_dtypes(code.function_code)[: code.nin])
    columns = [
        np.array(values, TYPES[number].char)
        for values, number in zip(zip(*code.inputs, strict=True), code.timed, strict=False)
    ]
    return shuffled(columns, size) if columns else ()


def _filled(array: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """The array with small positive numbers in it, of structures in every member."""
    if array.dtype.names:
        for name in array.dtype.names:
            _filled(array[name], rng)
    else:
        low, high = (1, 10) if array.dtype.kind in "iu" else (0.05, 0.95)
        array[...] = rng.uniform(low, high, array.shape).astype(array.dtype)
    return array


def _most_threads(options: Options) -> int:
    if options.parallel > 0:
        return options.parallel
    # The cores this process may use, which cgroups and taskset make fewer than the machine's.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _reference(expression: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    """What ``--ref`` names: an expression over the user's names, ``np`` and ``math``."""
    try:
        value = evaluated(expression, names)
    except ComparisonError as fault:
        remedy = "Name a function: --ref np.hypot, --ref my_f."
        raise OptionError(f"--ref {fault.message}", remedy=remedy) from fault
    if not callable(value):
        raise OptionError(
            f"--ref {expression!r} is {type(value).__name__}, not a function.", remedy="Write --ref 'lambda x: ...'."
        )
    return value  # type: ignore[no-any-return]


def _data(expression: str, names: Mapping[str, Any]) -> tuple[Any, ...]:
    """What ``--data`` names: one value for each input."""
    try:
        value = evaluated(expression, names)
    except ComparisonError as fault:
        remedy = "Name arrays: --data x,y, --data 'np.linspace(0, 1, 1000)'."
        raise OptionError(f"--data {fault.message}", remedy=remedy) from fault
    return value if isinstance(value, tuple) else (value,)


def _one_line(fault: Exception) -> str:
    """An exception in one line; what C++ throws is always a RuntimeError here."""
    if isinstance(fault, UfuncMagicError):
        return f"{fault.message} {fault.remedy}".rstrip()
    text = str(fault)
    return text if text and isinstance(fault, RuntimeError) else ": ".join(filter(None, (type(fault).__name__, text)))


# -- what runs on a device


def _new_notices(notices: Sequence[str]) -> list[str]:
    """Those that this session has not shown."""
    new = [notice for notice in notices if notice not in _announced]
    _announced.update(new)
    return new


def device_rows(
    host: Callable[..., Any],
    function: Callable[..., Any],
    times: Callable[[Sequence[NDArray[Any]]], Iterable[DeviceTime]],
    arrays: Sequence[NDArray[Any]],
) -> tuple[Row, ...]:
    """The function on its device, checked against its loop on the host.

    Parameters
    ----------
    host, function : callable
        For the CPU, and for the device.
    times : callable
        What a language gives for ``function``, see `ufunc_magic.cells.Language.device_times`.
    arrays : sequence of ndarray
    """
    number = len(arrays[0])
    check = agreement(host(*arrays), function(*arrays), inputs=tuple(arrays))
    return tuple(
        Row(t.label, t.kind, number, number, t.seconds, agreement=check, bandwidth=t.bandwidth, note=t.note)
        for t in times(arrays)
    )
