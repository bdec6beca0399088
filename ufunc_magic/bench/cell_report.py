"""From a build to the report of its cell: which functions are compared with what, and with how much time."""

from __future__ import annotations

import functools
import os
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import MOST_TIMED, CellFunction, ComparisonError, ObjectCode, OptionError, Options, UfuncMagicError
from ..render import BoundPlain, BoundUfunc, Comparison, Report, Row
from ..runtime import Build, device, letters
from ..toolchain import nvrtc
from .agreement import agreement
from .candidates import Candidate, CandidateLike, evaluated
from .comparing import BUDGET_OF_SIZES, Progress, compare
from .expectation import FAULTS, columns, survivors
from .function_table import Request, compare_function
from .machine import bandwidth
from .rivals import CompileCython, chosen, forms, rivals
from .samples import sample_inputs, sizes_of

#: Seconds that the comparisons of one cell may cost in all.
BUDGET = 0.75

#: What each rival adds to that, as a share of it.
RIVAL_BUDGET = 0.25

#: Elements of the arguments that are made for sizes; longer ones repeat them.
SAMPLED = 1 << 17
#: Distinct elements where the Python form must run each first.
POOL = 1 << 11

EMULATION = "CPU emulation"

#: What this session has been told once.
_announced: set[str] = set()


def report(
    build: Build,
    *,
    options: Options,
    names: Mapping[str, Any],
    compile_cython: CompileCython | None = None,
    progress: Progress | None = None,
) -> Report:
    """Verify and time the functions of ``build``; see `ufunc_magic.pipeline.report`.

    ``compile_cython`` makes the rivals of ``--vs cython``; ``progress`` is called during ``--sizes``, as by `compare`.
    """
    object_code = build.object_code
    codes = [code for code in build.report_data.functions if code.name in build]
    ufuncs = [code for code in codes if code.kind == "ufunc"]
    comparisons: list[Comparison] = []
    notes = [*build.notes, *_gpu_notices(object_code)]
    if options.time:
        chosen(options.vs)  # a slip in an option is an error before anything is timed
        sizes = sizes_of(options.sizes) if options.sizes else ()
        cell = _Cell(build, options, names, compile_cython, progress, sizes)
        comparisons, more = cell.compared(codes)
        notes += more
    if options.verbose:
        steps = ", ".join(f"{step} {seconds * 1e3:.2f} ms" for step, seconds in build.seconds.items())
        notes += [f"steps: {steps}", f"command: {build.report_data.command}"]
    known = {code.name for code in codes}
    # Modules are what the cell imported, not what it made.
    others = [name for name in build if name not in known and not isinstance(build[name], types.ModuleType)]
    return Report(
        name=build.name,
        functions=tuple(
            BoundUfunc(
                code.name,
                tuple(letters(loop.types, code.nin) for loop in code.loops),
                code.doc.partition("\n")[0],
                code.core,
                _call(code),
            )
            for code in ufuncs
        ),
        plain=tuple(_plain(code) for code in codes if code.kind != "ufunc"),
        comparisons=tuple(comparisons),
        diagnostics=build.diagnostics,
        notes=tuple(notes),
        seconds=build.seconds,
        cached=build.cached,
        toolchain=object_code.toolchain,
        others=tuple(_word(name, build[name]) for name in others),
        device=_place(object_code),
    )


# -- what was bound, in words


def _plain(code: CellFunction) -> BoundPlain:
    if code.kind == "plain":
        return BoundPlain(code.name, code.reason)
    if code.kind == "kernel":
        call = f"{code.name}[grid, block]({', '.join(code.parameters)})"
        return BoundPlain(code.name, code.reason, "kernel", call)
    return BoundPlain(code.name, code.reason, "python", _call(code))


def _word(name: str, value: Any) -> str:
    """``"Integrator (class)"``, ``"helper()"``, ``"TABLE"``."""
    return f"{name} (class)" if isinstance(value, type) else f"{name}()" if callable(value) else name


def _call(code: CellFunction) -> str:
    return f"{code.name}({', '.join(code.parameters)})"


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

    def compared(self, codes: Sequence[CellFunction]) -> tuple[list[Comparison], list[str]]:
        """A table for each of the first functions that can be timed, and notes."""
        known = [code for code in codes if code.kind == "ufunc" or code.samples]
        reference = _reference(self.options.ref, self.names) if self.options.ref and known else None
        timed = [c for c in known[:MOST_TIMED] if (c.timed or c.samples) and _runs_here(self.build[c.name])]
        notes = []
        if len(known) > MOST_TIMED:
            kinds = "ufuncs" if all(code.kind == "ufunc" for code in known) else "functions"
            notes.append(f"the first {MOST_TIMED} of {len(known)} {kinds} were timed; um.compare() times any other")
        comparisons = []
        for code in timed:
            share = 1 / len(timed)
            try:
                others = self.rivals(code)
                comparisons.append(self.table(code, reference, others, share=share))
            except UfuncMagicError as fault:
                notes.append(f"{code.name} was not timed: {fault.message} {fault.remedy}".rstrip())
                continue
            except FAULTS as fault:  # its own: a C++ exception, a status, whatever Cython raises
                notes.append(f"{code.name} was not timed, because it fails on sample inputs: {_one_line(fault)}")
                continue
            if self.sizes and code.kind == "ufunc" and not code.core:
                try:
                    comparisons.append(self.over_sizes(code, others, share=share))
                except (UfuncMagicError, *FAULTS) as fault:
                    notes.append(f"{code.name} was not timed over sizes: {_one_line(fault)}")
        return comparisons, notes

    def rivals(self, code: CellFunction) -> tuple[Sequence[Candidate], Sequence[str]]:
        """What ``--vs`` names, made once for all tables of a function, and why some are missing."""
        if code.kind != "ufunc":
            return (), ()
        return rivals(code, self.options.vs, compile_cython=self.compile_cython)

    def table(
        self,
        code: CellFunction,
        reference: Callable[..., Any] | None,
        rivals: tuple[Sequence[Candidate], Sequence[str]],
        *,
        share: float,
    ) -> Comparison:
        """One function beside the others, at one size."""
        options, object_code = self.options, self.build.object_code
        try:
            python = forms(code)
        except FAULTS as fault:
            reason = f"its Python form cannot be read ({type(fault).__name__}: {fault})"
            raise ComparisonError(reason) from fault
        request = Request(
            self.build[code.name],
            code.name,
            python=python.python,
            checked=python.checked,
            reference=reference,
            reference_label=options.ref,
            rivals=python.expression,
            size=options.size,
            budget=BUDGET * share,
        )
        others, missing = rivals
        if code.kind == "ufunc":
            function, label, gpu = _places(self.build[code.name], object_code)
            request = replace(
                request,
                function=function,
                label=label,
                gpu=gpu,
                types=letters(code.timed, code.nin),
                cores=[[int(d) if d.isdecimal() else d for d in core] for core in code.cores[: code.nin]],
                rivals=(*python.expression, *(one for one in others if one.kind != "numpy")),
                threads=self.build.threads if object_code.threads else None,
                max_threads=_most_threads(options),
                cautious=code.cautious,
                # --fast-math gives up exactly these values.
                edges=not options.fast_math,
                budget=request.budget * (1 + RIVAL_BUDGET * len(others)),
                bandwidth=bandwidth(),
            )
        else:
            request = replace(
                request,
                samples=code.samples,
                parameters=code.parameters,
                checked=python.checked if code.checked != code.python else None,
                unwrapped="wraparound" in object_code.source,
            )
        comparison = compare_function(request)
        if code.python_reason and reference is None:
            hint = "; --ref gives one to check against" if code.kind == "ufunc" else ""
            missing = (*missing, f"no Python form: it {code.python_reason}{hint}")
        return replace(comparison, notes=(*comparison.notes, *missing))

    def over_sizes(
        self, code: CellFunction, rivals: tuple[Sequence[Candidate], Sequence[str]], *, share: float
    ) -> Comparison:
        """A ufunc and its rivals over sizes; without ``--vs`` its NumPy expression."""
        function = _places(self.build[code.name], self.build.object_code)[0]
        others, notes = rivals
        python = forms(code)
        checked = python.checked or python.python

        def passes(*arrays: NDArray[Any]) -> NDArray[np.bool_]:
            return survivors(checked, columns(arrays))[1]  # type: ignore[arg-type]

        arguments = sample_inputs(
            letters(code.timed, code.nin),
            size=min(SAMPLED, self.sizes[-1]),
            probe=function,
            screen=passes if checked else None,
            cautious=code.cautious,
            pool=POOL,
        )
        compared: dict[str, CandidateLike] = {code.name: function}
        compared |= {one.label: one for one in (others if self.options.vs else python.expression)}
        comparison = compare(
            compared, *arguments, sizes=self.sizes, budget=BUDGET_OF_SIZES * share, progress=self.progress
        )
        return replace(comparison, name=code.name, notes=(*notes, *comparison.notes))


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
        remedy = "Give a function: --ref np.hypot, --ref my_f."
        raise OptionError(f"--ref {fault.message}", remedy=remedy) from fault
    if not callable(value):
        raise OptionError(
            f"--ref {expression!r} is {type(value).__name__}, not a function.", remedy="Write --ref 'lambda x: ...'."
        )
    return value  # type: ignore[no-any-return]


def _one_line(fault: Exception) -> str:
    """An exception in one line; what C++ throws is always a RuntimeError here."""
    text = str(fault)
    return text if text and isinstance(fault, RuntimeError) else ": ".join(filter(None, (type(fault).__name__, text)))


# -- CUDA cells: where their functions ran, and the rows of the GPU


def _place(object_code: ObjectCode) -> str:
    """Where functions of a CUDA cell run here; ``""`` for other cells."""
    if object_code.language != "cuda":
        return ""
    return device.name() if device.on_gpu(object_code) else EMULATION


def _gpu_notices(object_code: ObjectCode) -> list[str]:
    """What a session is told once: that there is no GPU, that there is no NVRTC."""
    if object_code.language != "cuda" or device.on_gpu(object_code):
        return []
    notices = []
    if object_code.options.get("device", "auto") == "auto":
        notices.append("there is no GPU here: functions of CUDA cells run in an emulation on the CPU")
    if not nvrtc.identity():
        notices.append(
            'NVIDIA\'s own compiler, which would check CUDA cells, is not installed: pip install "ufunc_magic[cuda]"'
        )
    new = [notice for notice in notices if notice not in _announced]
    _announced.update(new)
    return new


def _runs_here(function: Any) -> bool:
    """Whether there is code for the CPU to compare with."""
    return not isinstance(function, device.CudaFunction) or isinstance(function.emulated, np.ufunc)


def _places(
    function: Any, object_code: ObjectCode
) -> tuple[Callable[..., Any], str, Callable[[Sequence[NDArray[Any]]], Sequence[Row]] | None]:
    """What to time on the CPU, what to call it, and what makes the rows of the GPU, if there is one."""
    if object_code.language != "cuda":
        return function, "ufunc", None
    if isinstance(function, device.CudaFunction):
        return function.emulated, "CPU loop", functools.partial(gpu_rows, function)
    return function, EMULATION, None


def gpu_rows(function: Any, arrays: Sequence[NDArray[Any]], *, meter: Any = device) -> tuple[Row, ...]:
    """The function on the GPU, alone and with transfers, checked against its CPU loop.

    Parameters
    ----------
    function : CudaFunction
    arrays : sequence of ndarray
    meter : module
        The GPU's clock: ``time_function`` and ``copy_bandwidth`` as in `ufunc_magic.runtime.device`.
    """
    number = len(arrays[0])
    expected, results = function.emulated(*arrays), function(*arrays)
    check = agreement(expected, results, inputs=tuple(arrays))
    seconds = meter.time_function(function, arrays)
    share = seconds.bandwidth / _copy_bandwidth(meter)
    return (
        Row("GPU, kernel alone", "gpu", number, number, seconds.kernel, agreement=check, bandwidth=share),
        Row("GPU with transfers", "gpu", number, number, seconds.transfers, agreement=check),
    )


@functools.cache
def _copy_bandwidth(meter: Any) -> float:
    """Bytes per second of a copy: once for a session, since it takes a gigabyte of the GPU's memory."""
    return float(meter.copy_bandwidth())
