"""The report of a cell: which functions are compared with what, and in how much time."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import guard
from ..cells import DeviceTime, Language
from ..languages import find_language
from ..model import (
    FAULTS,
    MOST_TIMED,
    TIME,
    TYPES,
    CellFunction,
    CellPlace,
    Comfort,
    ComparisonError,
    ObjectCode,
    OptionError,
    Options,
    UfuncMagicError,
    read_core_sizes,
)
from ..render import ANY_ORDER, Bound, Comparison, Report, Row, spell_ratio
from ..runtime import Build, count_processors, find_operand_dtypes, find_ufunc, spell_letters
from .agreement import compare_results
from .candidates import Candidate, evaluate
from .comparing import BUDGET_OF_SIZES, compare_request, make_groups
from .elementwise import NO_EXPECTATION, draw_inputs
from .judging import compare_rounds
from .loop_reports import LoopReports
from .machine import BUSY_NOTE, Pressure, load_limits, revise_limits
from .request import Arguments, Budget, Operands, Parameters, Progress, Request, Threads
from .rivals import CompileCython, load_forms, make_rivals, parse_rivals
from .rounds import CLOCK, Call, Pace, measure
from .samples import CORE_SIZE, convert_inputs, parse_sizes, shape_cores, shuffle_arrays
from .stored_tables import StoredTable, recall_table, remember_table

#: Seconds to measure what --fast-math gains.
GAIN = 0.01

#: Share of a cell's time that goes into its comparisons; the rest is for Python forms and for the page.
COMPARING = 0.8

#: Seconds for more rounds where rounds disagree.
MORE = 0.55

#: The time that each rival adds to a cell's, as a share of it.
RIVAL_BUDGET = 0.25

#: Elements of the arguments that are made for sizes; longer ones repeat them.
SAMPLED = 1 << 17


def report(
    build: Build,
    *,
    options: Options,
    names: Mapping[str, Any],
    loops: LoopReports | None = None,
    compile_cython: CompileCython | None = None,
    progress: Progress | None = None,
    without: Collection[str] = (),
    stored: bool = False,
) -> Report:
    """Verify and time the functions of ``build``; see `ufunc_magic.pipeline.report`.

    ``loops`` has the compiler's reports on the cell's loops; ``compile_cython`` makes the rivals of ``--vs cython``;
    ``progress`` is called during ``--sizes``.
    """
    object_code = build.loaded.object_code
    codes = [code for code in build.report_data.functions if code.name in build and code.name not in without]
    comparisons: list[Comparison] = []
    busy = ""
    notes = [*build.notes]
    language = find_language(object_code)
    if options.time:
        # An error in an option is raised before anything is timed.
        parse_rivals(options.vs)
        if options.sizes:
            parse_sizes(options.sizes)
        _check_core_sizes(options.core, codes)
        cell = _Cell(build, options, names, loops, compile_cython, progress)
        if table := recall_table(build, options, without) if stored else None:
            comparisons, busy = list(table.comparisons), table.pressure
            notes += [table.mark, *table.notes]
        else:
            with Comfort("the timing", notes, passing=UfuncMagicError):
                pressure = Pressure()
                comparisons, more = cell.compare_all(codes)
                notes += more
                busy = pressure.describe()
                if stored:
                    remember_table(build, options, without, StoredTable(tuple(comparisons), tuple(more), busy))
    if options.verbose:
        steps = ", ".join(f"{step} {seconds * 1e3:.2f} ms" for step, seconds in build.seconds.items())
        notes += [f"steps: {steps}", f"command: {build.report_data.command}"]
    known = {*without, *(code.name for code in codes)}
    # The cell imported modules, and did not make them.
    names_of_others = [name for name in build if name not in known and not isinstance(build[name], types.ModuleType)]
    others = [Bound(name, "other", call=_spell_kind(name, build[name])) for name in names_of_others]
    return Report(
        name=build.name,
        functions=(*(_bound(code, build.place) for code in codes), *others),
        comparisons=tuple(comparisons),
        diagnostics=build.diagnostics,
        notes=tuple(notes),
        pressure=busy,
        seconds=build.seconds,
        cached=build.cached,
        toolchain=object_code.toolchain,
        device=language.place(object_code),
        first_line=build.first_line,
        verbose=options.verbose,
    )


# -- functions and other names that were bound


def _bound(code: CellFunction, place: CellPlace) -> Bound:
    call = f"{code.name}({', '.join(code.parameters)})"
    if code.kind == "ufunc":
        types = tuple(spell_letters(loop.types, code.nin) for loop in code.loops)
        return Bound(code.name, call=call, types=types, core=code.core, doc=code.doc.partition("\n")[0])
    if code.kind == "kernel":
        call = f"{code.name}[grid, block]({', '.join(code.parameters)})"
    return Bound(code.name, code.kind, call, place.replace_marks(code.reason))


def _spell_kind(name: str, value: Any) -> str:
    """``"Integrator (class)"``, ``"helper()"``, ``"TABLE"``."""
    return f"{name} (class)" if isinstance(value, type) else f"{name}()" if callable(value) else name


# -- comparisons


@dataclass(frozen=True, eq=False)
class _Cell:
    """A build, and everything that its requests are made from."""

    build: Build
    options: Options
    names: Mapping[str, Any]
    loops: LoopReports | None = None
    compile_cython: CompileCython | None = None
    progress: Progress | None = None

    @property
    def object_code(self) -> ObjectCode:
        return self.build.loaded.object_code

    @property
    def language(self) -> Language:
        return find_language(self.object_code)

    def compare_all(self, codes: Sequence[CellFunction]) -> tuple[list[Comparison], list[str]]:
        """A table for each of the first functions that can be timed, and notes."""
        known = [code for code in codes if code.kind == "ufunc" or code.samples]
        reference = find_reference(self.options.ref, self.names) if self.options.ref and known else None
        data = _find_data(self.options.data, self.names) if self.options.data and known else None
        runs = self.language.find_host_candidate
        timed = [c for c in known if (c.timed or c.samples) and runs(self.build[c.name])[0] is not None][:MOST_TIMED]
        notes = []
        if not guard.can_copy() and (stateful := [c.name for c in timed if not c.traceless]):
            timed = [c for c in timed if c.traceless]
            notes.append(
                f"{', '.join(stateful)} may keep state, and this system cannot copy the process, so it was not timed"
            )
        harmless = sum(not code.effects for code in known)  # each other one has a note of its own
        if harmless > MOST_TIMED:
            notes.append(f"the report times {len(timed)} of {harmless} functions; use um.compare() for the others")
        if self.loops and any(code.kind == "ufunc" for code in timed):
            if not (self.options.show or self.options.annotate):  # which show all loops
                self.loops.choose([code.name for code in timed])
            if count_processors() > 1:
                self.loops.begin()
        comparisons = []
        for code in timed:
            step = "timed"
            try:
                request, missing = self.make_request(code, reference, data, share=1 / len(timed))
                comparison = compare_request(request)
                if request.limit:
                    revise_limits(request.limit, comparison.rows)
                comparison = self.add_gain(code, comparison)
                # The reason says the same, and why.
                unsaid = [note for note in comparison.notes if not (code.python_reason and note == NO_EXPECTATION)]
                comparisons.append(replace(comparison, notes=(*unsaid, *missing)))
                if self.options.sizes and isinstance(request.inputs, Operands) and not code.core:
                    step = "timed over sizes"
                    sizes = compare_request(self.make_request_over_sizes(request, share=1 / len(timed)))
                    # The report has a note of its own on a busy machine.
                    notes_of_it = [note for note in sizes.notes if not note.startswith(BUSY_NOTE)]
                    comparisons.append(replace(sizes, notes=tuple(notes_of_it)))
            except FAULTS as fault:  # of any class: a C++ exception, a status, an exception of Cython's
                notes.append(f"{code.name} was not {step}: {_describe_fault(fault)}")
        return comparisons, notes

    def add_gain(self, code: CellFunction, comparison: Comparison) -> Comparison:
        """The table with what ``--fast-math`` gains, where C fixes the order of a sum."""
        fast = self.loops.find_fast(code.name) if self.loops and code.traceless and comparison.arguments else None
        if fast is None:
            return comparison
        calls = [Call(function, comparison.arguments) for function in (self.build[code.name], fast)]
        gain = compare_rounds(*measure(calls, clock=CLOCK, pace=Pace(CLOCK() + GAIN)))[0]
        assert self.loops is not None
        self.loops.remember_gain(code.name, gain)
        words = f"{ANY_ORDER}: {spell_ratio(gain)}"
        rows = tuple(replace(row, note=row.note.replace(ANY_ORDER, words)) for row in comparison.rows)
        return replace(comparison, rows=rows)

    def make_request(
        self, code: CellFunction, reference: Candidate | None, data: Sequence[Any] | None, *, share: float
    ) -> tuple[Request, tuple[str, ...]]:
        """The request for one function, and notes on what is missing in it."""
        options, missing = self.options, list[str]()
        request = Request(
            code.name,
            (Candidate("compiled function", self.build[code.name], "compiled"),),
            Parameters(code.samples, code.parameters, options.size, "wraparound" in self.object_code.source),
            reference=reference,
            budget=Budget(
                COMPARING * options.time * share, max(MORE, options.time) * share, thorough=options.time > TIME
            ),
            stateful=not code.traceless,
        )
        with Comfort(f"the Python form of {code.name}", missing):
            request = replace(request, forms=load_forms(code))
        if code.python_reason and reference is None:
            hint = "; to check the results, name a function with --ref" if code.kind == "ufunc" else ""
            missing.append(f"no Python form: it {code.python_reason}{hint}")
        if code.kind != "ufunc":
            if code.checked == code.python:
                request = replace(request, forms=replace(request.forms, checked=None))
            return replace(request, candidates=(*request.candidates, *request.forms.expression)), tuple(missing)
        others, left_out = make_rivals(code, options.vs, compile_cython=self.compile_cython)
        return self.complete(request, code, others, data), (*left_out, *missing)

    def complete(
        self, request: Request, code: CellFunction, others: Sequence[Candidate], data: Sequence[Any] | None
    ) -> Request:
        """The request for a ufunc."""
        options, bound = self.options, self.build[code.name]
        core_sizes = read_core_sizes(options.core)
        # A def with keyword-only parameters accepts no arrays by position; its ufunc does.
        bound = find_ufunc(bound) or bound
        host, label = self.language.find_host_candidate(bound)
        host, device_times = host or bound, self.language.find_device_times(bound)
        rivals = (*request.forms.expression, *(one for one in others if one.kind != "numpy"))
        operands = Operands(
            spell_letters(code.timed, code.nin),
            code.parameters[: code.nin],
            [[int(d) if d.isdecimal() else d for d in core] for core in code.cores[: code.nin]],
            make_known_inputs(code, options.size or SAMPLED, core_sizes) or None,
            options.size,
            cautious=code.cautious,
            edges=not (options.fast_math or code.size_operands),  # the former gives up exactly these values
            core_sizes=core_sizes,
            uses=code.uses,
        )
        if data is not None:
            arrays = convert_inputs(data, find_operand_dtypes(code.function_code)[: code.nin], operands.cores)
            operands = replace(operands, arrays=arrays, size=operands.size or len(arrays[0]))
        request = replace(
            request,
            candidates=(Candidate(label, host, "ufunc"), *rivals),
            inputs=operands,
            threads=Threads(self.build.threads, _count_threads(options)) if self.object_code.threads else None,
            on_device=device_times and functools.partial(make_device_rows, host, bound, device_times),
            stateful=request.stateful and not device_times,  # a copy cannot use the device
            budget=replace(request.budget, seconds=request.budget.seconds * (1 + RIVAL_BUDGET * len(others))),
            limit=load_limits(),
        )
        return replace(request, find_loop=self.loops.find) if self.loops else request

    def make_request_over_sizes(self, request: Request, *, share: float) -> Request:
        """The request for a ufunc and its rivals at each of ``--sizes``."""
        operands: Operands = request.inputs  # type: ignore[assignment]
        function = Candidate(request.name, request.function, "ufunc")

        def draw(largest: int) -> tuple[Any, ...]:
            drawn = replace(operands, size=min(SAMPLED, largest))
            return request.call_apart(lambda: draw_inputs(request, drawn))

        return Request(
            request.name,
            (function, *request.rivals),
            Arguments(make_groups((), self.options.sizes, draw=draw)),
            budget=Budget(BUDGET_OF_SIZES * share),
            limit=request.limit,
            find_loop=request.find_loop,
            progress=self.progress,
            stateful=request.stateful,
        )


def make_known_inputs(code: CellFunction, size: int, core_sizes: Mapping[str, int]) -> tuple[NDArray[Any], ...]:
    """Inputs on which a function works that fails on ordinary ones, repeated; empty for one that does not.

    For structures, and for numbers that give sizes, those that any takes.
    """
    if code.records or code.size_operands:
        rng = np.random.default_rng(20240229)
        sizes = {place: core_sizes.get(name, CORE_SIZE) for name, place in code.size_operands.items()}
        shapes = shape_cores(
            [[int(d) if d.isdecimal() else d for d in core] for core in code.cores[: code.nin]], core_sizes
        )
        inputs = []
        for place, dtype in enumerate(find_operand_dtypes(code.function_code)[: code.nin]):
            array = np.zeros((size, *shapes[place]), dtype)
            # An integer may be the place in an array of its structure.
            inputs.append(_fill(array, rng, most=1 if dtype.names and code.cautious else 10))
            if place in sizes:
                array[...] = sizes[place]
        return tuple(inputs)
    columns = [
        np.array(values, TYPES[number].char)
        for values, number in zip(zip(*code.inputs, strict=True), code.timed, strict=False)
    ]
    return shuffle_arrays(columns, size) if columns else ()


def _fill(array: NDArray[Any], rng: np.random.Generator, *, most: int) -> NDArray[Any]:
    """The array with small positive numbers in it, of structures in every member; integers up to ``most``."""
    if array.dtype.names:
        for name in array.dtype.names:
            _fill(array[name], rng, most=most)
    else:
        low, high = (1, most) if array.dtype.kind in "iu" else (0.05, 0.95)
        array[...] = rng.uniform(low, high, array.shape).astype(array.dtype)
    return array


def _count_threads(options: Options) -> int:
    return options.parallel if options.parallel > 0 else count_processors()


def _check_core_sizes(text: str, codes: Sequence[CellFunction]) -> None:
    """Refuse sizes of core dimensions that no function has."""
    names = dict.fromkeys(name for code in codes for core in code.cores for name in core if name.isidentifier())
    if unknown := [name for name in read_core_sizes(text) if name not in names]:
        fault = f"--core {text}: no function of the cell has a core dimension {unknown[0]!r}."
        has = f"The cell has {', '.join(names)}." if names else "Use --size for the number of elements."
        raise OptionError(fault, remedy=has)


def find_reference(expression: str, names: Mapping[str, Any]) -> Candidate:
    """The function of ``--ref``."""
    value = _evaluate("--ref", expression, names, remedy="Name a function: --ref np.hypot, --ref my_f.")
    if not callable(value):
        fault = f"--ref {expression!r} is {type(value).__name__}, not a function."
        raise OptionError(fault, remedy="Write --ref 'lambda x: ...'.")
    return Candidate(expression, value)


def _find_data(expression: str, names: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values of ``--data``, one for each input."""
    remedy = "Name arrays: --data x,y, --data 'np.linspace(0, 1, 1000)'."
    value = _evaluate("--data", expression, names, remedy=remedy)
    return value if isinstance(value, tuple) else (value,)


def read_data(expression: str, names: Mapping[str, Any]) -> Callable[[CellFunction], tuple[NDArray[Any], ...]]:
    """Read ``--data`` for a trial: the arrays for the inputs of each function, none for one that they do not fit."""
    data = _find_data(expression, names)

    def data_of(code: CellFunction) -> tuple[NDArray[Any], ...]:
        cores = [[int(d) if d.isdecimal() else d for d in core] for core in code.cores[: code.nin]]
        try:
            return (
                () if code.records else convert_inputs(data, find_operand_dtypes(code.function_code)[: code.nin], cores)
            )
        except (ComparisonError, ValueError):  # the table says so
            return ()

    return data_of


def _evaluate(option: str, expression: str, names: Mapping[str, Any], *, remedy: str) -> Any:
    """The value of an option: an expression over the user's names, ``np`` and ``math``."""
    try:
        return evaluate(expression, names)
    except ComparisonError as fault:
        raise OptionError(f"{option} {fault.message}", remedy=remedy) from fault


def _describe_fault(fault: Exception) -> str:
    """An exception in one line; exceptions of C++ are always RuntimeErrors here."""
    if isinstance(fault, UfuncMagicError):
        return f"{fault.message} {fault.remedy}".rstrip()
    text = str(fault)
    return text if text and isinstance(fault, RuntimeError) else ": ".join(filter(None, (type(fault).__name__, text)))


# -- what runs on a device


def make_device_rows(
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
    check = compare_results(host(*arrays), function(*arrays), inputs=tuple(arrays))
    return tuple(
        Row(t.label, t.kind, number, number, t.seconds, agreement=check, bandwidth=t.bandwidth, note=t.note)
        for t in times(arrays)
    )
