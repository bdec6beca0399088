"""From a build to the report of its cell: which functions are compared with what, and with how much time."""

from __future__ import annotations

import math
import os
import types
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from .. import store
from ..model import (
    MOST_TIMED,
    TYPES,
    CellFunction,
    Diagnostic,
    ObjectCode,
    OptionError,
    Options,
    ReportData,
    UfuncMagicError,
)
from ..render import BoundPlain, BoundUfunc, Comparison, Report
from . import cuda_rows
from .function_report import STAND_IN, time_function
from .machine import measure_bandwidth
from .per_element import FAULTS
from .plain_functions import time_plain
from .python_forms import forms
from .rivals import chosen
from .sizes import sizes_of
from .versus import Asked, over_sizes

__all__ = ["bandwidth", "report"]

#: Seconds that the comparisons of one cell may cost in all.
BUDGET = 0.75

#: What each rival adds to that, as a share of it.
RIVAL_BUDGET = 0.25


class Built(Protocol):
    """What is needed of a Build."""

    @property
    def object_code(self) -> ObjectCode: ...
    @property
    def report_data(self) -> ReportData: ...
    @property
    def name(self) -> str: ...
    @property
    def cached(self) -> bool: ...
    @property
    def seconds(self) -> dict[str, float]: ...
    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    def __getitem__(self, name: str, /) -> Any: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def threads(self, count: int) -> AbstractContextManager[None]: ...


def report(
    built: Built,
    *,
    options: Options,
    names: Mapping[str, Any],
    compile_cython: Callable[[str], Mapping[str, Any]] | None = None,
    progress: Callable[[float, str], object] | None = None,
) -> Report:
    """Verify and time the functions of ``built``; see `ufunc_magic.pipeline.report`.

    ``compile_cython`` makes the rivals of ``--vs cython``; ``progress`` is told of ``--sizes``, as by `compare`.
    """
    if options.time:
        chosen(options.vs)
        if options.sizes:
            sizes_of(options.sizes)
    asked = Asked(options.vs, options.sizes, compile_cython, progress)
    codes = [code for code in built.report_data.functions if code.name in built]
    ufuncs = [code for code in codes if code.kind == "ufunc"]
    notes = [*built.notes, *cuda_rows.notices(built.object_code)]
    comparisons: list[Comparison] = []
    if options.time:
        comparisons, more = _compared(built, codes, options, names, asked)
        notes += more
    if options.verbose:
        steps = ", ".join(f"{step} {seconds * 1e3:.2f} ms" for step, seconds in built.seconds.items())
        notes += [f"steps: {steps}", f"command: {built.report_data.command}"]
    bound = [BoundUfunc(c.name, _loops(c), c.doc.partition("\n")[0], c.core, _call(c)) for c in ufuncs]
    return Report(
        name=built.name,
        functions=tuple(bound),
        plain=tuple(_plain(code) for code in codes if code.kind != "ufunc"),
        comparisons=tuple(comparisons),
        diagnostics=built.diagnostics,
        notes=tuple(notes),
        seconds=built.seconds,
        cached=built.cached,
        toolchain=built.object_code.toolchain,
        others=_others(built, {code.name for code in codes}),
        device=cuda_rows.place(built.object_code),
    )


def _compared(
    built: Built, codes: Sequence[CellFunction], options: Options, names: Mapping[str, Any], asked: Asked
) -> tuple[list[Comparison], list[str]]:
    """A table for each of the first functions that can be timed, and notes."""
    notes: list[str] = []
    candidates = [code for code in codes if code.kind == "ufunc" or code.samples]
    reference = _reference(options.ref, names) if options.ref and candidates else None
    timed = [c for c in candidates[:MOST_TIMED] if (c.timed or c.samples) and cuda_rows.can_be_timed(built[c.name])]
    if len(candidates) > MOST_TIMED:
        kinds = "ufuncs" if all(code.kind == "ufunc" for code in candidates) else "functions"
        notes.append(f"the first {MOST_TIMED} of {len(candidates)} {kinds} were timed; um.compare() times any other")
    speed = bandwidth() if any(code.kind == "ufunc" for code in timed) else 0.0
    comparisons = []
    for code in timed:
        budget = BUDGET / len(timed)
        if code.kind == "ufunc":
            try:
                comparisons.append(_compare(built, code, options, reference, budget=budget, speed=speed, asked=asked))
            except UfuncMagicError as fault:
                notes.append(f"{code.name} was not timed: {fault.message} {fault.remedy}".rstrip())
                continue
            except FAULTS as fault:  # its own: a C++ exception, a status, whatever Cython raises
                notes.append(f"{code.name} was not timed, because it fails on sample inputs: {_said(fault)}")
                continue
            if asked.sizes and not code.core:
                function = cuda_rows.parts(built[code.name], built.object_code)[0]
                comparisons.append(over_sizes(function, code, asked, share=1 / len(timed)))
            continue
        made = _compare_plain(built, code, options, reference, budget=budget)
        if isinstance(made, Comparison):
            comparisons.append(made)
        else:
            notes.append(made)
    return comparisons, notes


def bandwidth() -> float:
    """Bytes per second that this machine can stream, measured once and remembered in the cache."""
    # By machine: a cache folder on a shared disk serves several.
    fact = f"bandwidth 1 {os.uname().nodename if hasattr(os, 'uname') else ''} {os.cpu_count()}"
    cache = store.default()
    try:
        return float(cache.recall(fact) or "")
    except ValueError:
        measured = measure_bandwidth()
        cache.remember(fact, repr(measured))
        return measured


def _compare(
    built: Built,
    code: CellFunction,
    options: Options,
    reference: Callable[..., Any] | None,
    *,
    budget: float,
    speed: float,
    asked: Asked,
) -> Comparison:
    said = forms(code)
    others, missing = asked.rivals(code)
    function, label, further = cuda_rows.parts(built[code.name], built.object_code)
    made = time_function(
        function,
        name=code.name,
        types=_letters(code.timed, code.nin),
        cores=[[int(d) if d.isdecimal() else d for d in core] for core in code.cores[: code.nin]],
        python=said.python,
        exact_python=said.checked,
        vector=said.vector,
        reference=reference,
        reference_label=options.ref,
        scalar_label=STAND_IN,
        label=label,
        further=further,
        threads=built.threads if built.object_code.threads else None,
        max_threads=_most_threads(options),
        cautious=code.cautious,
        # --fast-math gives up exactly these values.
        edges=not options.fast_math,
        size=options.size,
        budget=budget * (1 + RIVAL_BUDGET * len(others)),
        bandwidth=speed,
        rivals=[one for one in others if one.kind != "numpy"],
    )
    if code.python_reason and reference is None:
        missing = (*missing, f"no Python form: it {code.python_reason}; --ref gives one to check against")
    return replace(made, notes=(*made.notes, *missing))


def _compare_plain(
    built: Built,
    code: CellFunction,
    options: Options,
    reference: Callable[..., Any] | None,
    *,
    budget: float,
) -> Comparison | str:
    try:
        said = forms(code)
    except FAULTS as fault:
        return f"{code.name} was not timed: its Python form cannot be read ({type(fault).__name__}: {fault})"
    made = time_plain(
        built[code.name],
        name=code.name,
        samples=code.samples,
        parameters=code.parameters,
        python=said.python,
        checked=said.checked if code.checked != code.python else None,
        vector=said.vector,
        reference=reference,
        reference_label=options.ref,
        unwrapped="wraparound" in built.object_code.source,
        size=options.size,
        budget=budget,
    )
    if isinstance(made, str) or not code.python_reason or reference is not None:
        return made
    return replace(made, notes=(*made.notes, f"no Python form: it {code.python_reason}"))


def _most_threads(options: Options) -> int:
    if options.parallel > 0:
        return options.parallel
    # The cores this process may use, which cgroups and taskset make fewer than the machine's.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _reference(expression: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    """What ``--ref`` names: an expression over the user's names, ``np`` and ``math``."""
    try:
        value = eval(expression, {"np": np, "numpy": np, "math": math, **names})
    except FAULTS as fault:
        raise OptionError(
            f"--ref {expression!r} cannot be evaluated: {fault}.", remedy="Give a function: --ref np.hypot, --ref my_f."
        ) from fault
    if not callable(value):
        raise OptionError(
            f"--ref {expression!r} is {type(value).__name__}, not a function.", remedy="Write --ref 'lambda x: ...'."
        )
    return value  # type: ignore[no-any-return]


def _said(fault: Exception) -> str:
    """An exception in one line; what C++ throws is always a RuntimeError here."""
    text = str(fault)
    return text if text and isinstance(fault, RuntimeError) else ": ".join(filter(None, (type(fault).__name__, text)))


def _plain(code: CellFunction) -> BoundPlain:
    if code.kind == "plain":
        return BoundPlain(code.name, code.reason)
    if code.kind == "kernel":
        call = f"{code.name}[grid, block]({', '.join(code.parameters)})"
        return BoundPlain(code.name, code.reason, "kernel", call)
    return BoundPlain(code.name, code.reason, "python", _call(code))


def _others(built: Built, known: Container[str]) -> tuple[str, ...]:
    """What was bound and is no function of the object code's: ``("Integrator (class)", "TABLE")``."""
    found = []
    for name in built:
        value = built[name]
        # Modules are what the cell imported, not what it made.
        if name not in known and not isinstance(value, types.ModuleType):
            found.append(f"{name} (class)" if isinstance(value, type) else f"{name}()" if callable(value) else name)
    return tuple(found)


def _call(code: CellFunction) -> str:
    return f"{code.name}({', '.join(code.parameters)})"


def _loops(code: CellFunction) -> tuple[str, ...]:
    return tuple(_letters(loop.types, code.nin) for loop in code.loops)


def _letters(types: Sequence[int], nin: int) -> str:
    letters = "".join(TYPES[t].char for t in types)
    return f"{letters[:nin]}->{letters[nin:]}"
