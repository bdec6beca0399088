"""Compiles one large unit on all processors, in parts that gcc makes of it."""

from __future__ import annotations

import functools
import pathlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..compilers import (
    Toolchain,
    UnitOrigin,
    compile_object,
    continue_lto,
    count_functions,
    link_shared,
    run_jobs,
    shorten,
)
from ..model import CompileError, Diagnostic
from .driver_programs import run_programs


@dataclass(frozen=True)
class LargeUnit:
    """A unit to compile in parts.

    Attributes
    ----------
    text : str
    parts : int
        How many object files to make; gcc may find fewer.
    functions : int
        How many functions `describe_progress` is to count.
    flags : sequence of str
    """

    text: str = field(repr=False)
    parts: int
    functions: int
    flags: Sequence[str]


def compile_in_parts(
    toolchain: Toolchain,
    unit: LargeUnit,
    origin: UnitOrigin,
    *,
    output: pathlib.Path,
    link: Sequence[str] = (),
    objects: Sequence[pathlib.Path] = (),
) -> tuple[Diagnostic, ...]:
    """Compile a unit on all processors, and link it with further objects into a shared library.  Only gcc can.

    It reads the unit, decides what is inlined, and divides the rest, as for link-time optimisation.  How it does so
    depends on the unit alone.  The results are ordinary object files: no linker needs a plugin for them.

    Parameters
    ----------
    unit : LargeUnit
    origin : UnitOrigin
    output, link
        As for `ufunc_magic.compilers.link_shared`; results and errors as of `compile_shared`.
    objects : sequence of pathlib.Path
    """
    folder = output.parent
    sizes, warnings = _divide(toolchain, unit, origin, folder=folder)
    files = [*sizes]
    compiled = [pathlib.Path(f"{file}bj") for file in files]

    def compile_part(place: int) -> tuple[Diagnostic, ...]:
        words = ("-fltrans", files[place], "-o", str(compiled[place]))
        return continue_lto(toolchain, origin, words, flags=unit.flags, folder=folder)

    with count_functions(folder, unit.functions) as add:
        shares = [unit.functions * size / sum(sizes.values()) for size in sizes.values()]
        jobs = [functools.partial(compile_part, place) for place in range(len(files))]
        more = run_jobs(folder, jobs, lambda place: add(shares[place]))
    link_shared(toolchain, [*compiled, *objects], origin, output=output, flags=unit.flags, link=link, run=run_programs)
    return shorten(tuple(dict.fromkeys([*warnings, *(warning for part in more for warning in part)])))


def _divide(
    toolchain: Toolchain, unit: LargeUnit, origin: UnitOrigin, *, folder: pathlib.Path
) -> tuple[dict[str, int], tuple[Diagnostic, ...]]:
    """Have gcc read a unit and divide it: the files of the parts with their sizes, and warnings."""
    whole, listed = folder / "unit.lto.o", folder / "unit.list"
    warnings = compile_object(toolchain, unit.text, origin, output=whole, flags=[*unit.flags, "-flto"])
    words = ["-fwpa", f"-fltrans-output-list={listed}", "-flto-partition=balanced", "-flinker-output=nolto-rel"]
    words += ["--param", f"lto-partitions={unit.parts}", "--param", "lto-min-partition=200"]
    words += [str(whole), "-o", str(folder / "unit.o")]
    more = continue_lto(toolchain, origin, words, flags=unit.flags, folder=folder)
    # The size of each file is on the line before it.
    sizes = re.findall(r"(?m)^(\d+)\n(.+\.o)$", listed.read_text()) if listed.exists() else []
    if not sizes:
        fault = f"{origin.name}: the compiler has not divided the unit."
        raise CompileError(fault, remedy="Use another version of gcc.")
    return {file: int(size) for size, file in sizes}, (*warnings, *more)
