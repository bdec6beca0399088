"""Sources to objects and libraries: the commands of a compiler, and its failures as errors."""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .. import store
from ..model import CompileError, Diagnostic, LinkError, ToolchainError
from .diagnostics import counted, read_compiler, read_linker, shorten
from .discovery import FAST_MATH, Toolchain, language_flags
from .include_search import report_flags
from .processes import Done, at_once, counting, finished
from .standing_by import taken
from .steps import steps


def preprocess(
    toolchain: Toolchain,
    source: str,
    *,
    name: str,
    flags: Sequence[str] = (),
    cell: str | None = None,
) -> str:
    """The preprocessor's output with its line markers.

    Parameters
    ----------
    name, flags : str, sequence of str
        As for `compile_shared`.
    cell : str
        Text that diagnostics quote; ``source`` if omitted.

    Raises
    ------
    CompileError
        For a missing header, an ``#error``, an unterminated ``#if``.
    """
    command = [*toolchain.command, "-E", *(f for f in flags if f != "-shared"), *language_flags(toolchain)]
    done = finished(command, source)
    _check(done, name, source if cell is None else cell)
    # gcc writes names as ``gr\\U000000f6\\U000000dfe``.
    return re.sub(r"\\U([0-9a-fA-F]{8})", _letter, done.output)


def _letter(code_point: re.Match[str]) -> str:
    number = int(code_point[1], 16)
    return chr(number) if number <= 0x10FFFF and chr(number).isalnum() else code_point[0]


def compile_shared(
    toolchain: Toolchain,
    source: str,
    *,
    output: pathlib.Path,
    flags: Sequence[str],
    link: Sequence[str] = (),
    extra_sources: Sequence[str | os.PathLike[str]] = (),
    name: str,
    cell: str,
    places: Sequence[int] | None = None,
    ahead: Sequence[str] | None = None,
) -> tuple[Diagnostic, ...]:
    """Compile ``source`` and link it into a shared library.

    Parameters
    ----------
    toolchain : Toolchain
    source : str
        The whole translation unit; the compiler reads it from standard input.
    output : pathlib.Path
        The library to make, in a private folder, where the compiler also keeps its own temporary files.
    flags, link : sequence of str
        All options: `base_flags` and `base_link` with whatever the caller adds.
    extra_sources : sequence of path
        C, C++, assembler or object files to compile along.
    name, cell : str
        The cell's name in ``#line`` and its text, for diagnostics.
    places : sequence of int
        Where ``source`` was translated from the cell: `ufunc_magic.compilers.line_map.places` of it.
    ahead : sequence of str
        Lines that a compiler that waits may have read before ``source``: its own first includes.  None for no such one.

    Returns
    -------
    tuple of Diagnostic
        Warnings.

    Raises
    ------
    CompileError, LinkError
        With diagnostics on the cell's lines.
    ToolchainError
        If the compiler cannot be started or does not end.
    """
    folder = output.parent
    extras = [os.path.abspath(os.path.expanduser(os.fspath(path))) for path in extra_sources]
    sources = [path for path in extras if os.path.splitext(path)[1] in _SOURCES]
    if not sources and not FAST_MATH.intersection(flags):
        # Without "-x none" objects and libraries among the later arguments would be read as C.
        inputs = [*language_flags(toolchain), "-x", "none", *extras, "-o", str(output)]
        command = [*toolchain.command, *flags, *_limits(toolchain), *report_flags(output), *inputs, *link]
        short = steps(toolchain, command, folder)
        waiting = taken(short[0], folder, ahead) if short else None
        with _reporting(waiting, output):
            done = finished([*short, command][0], source, folder, then=short[1:], ready=waiting and waiting.process)
        if done.status and len(short) > 1 and done.command == short[-1] and "-c" not in flags:
            # Libraries' stand-ins lack something: the driver finds it in the libraries, or has words for it.
            unit = short[-2][short[-2].index("-o") + 1]
            linking = [*toolchain.command, *flags, unit, *extras, "-o", str(output), *link]
            done = replace(finished(linking, "", folder), before=done.before)
        elif done.status and short and not _is_clear(done):
            done = finished(command, source, folder)
        _check(done, name, cell, places)
        _check_output(done, output, flags)
        return shorten(read_compiler(done.before + done.messages, name=name, cell=cell, places=places))
    # gcc makes "-ffast-math" of a link flush denormals to zero in the whole process that opens the library.  There,
    # and for further sources, whose reports would overwrite each other, compiling and linking are separate steps.
    foreign = [path for path in sources if _is_foreign(path, toolchain)]
    objects = [folder / "unit.o"]
    warnings = compile_object(toolchain, source, output=objects[0], flags=flags, name=name, cell=cell, places=places)
    plain = [f for f in flags if not f.startswith("-std=") and f != "-Werror=implicit-function-declaration"]
    for path in sources:
        objects.append(folder / f"unit{len(objects)}.o")
        driver = _driver(toolchain, cplus=toolchain.cplus is not (path in foreign))
        options = [f for f in (plain if path in foreign else flags) if f != "-shared"]
        options += [*_limits(toolchain), *report_flags(objects[-1])]
        done = finished([*driver, *options, "-c", path, "-o", str(objects[-1])], "", folder)
        _check(done, name, cell)
        warnings = shorten((*warnings, *read_compiler(done.messages, name=name, cell=cell)))
    standard = "-lc++" if sys.platform == "darwin" else "-lstdc++"
    runtime = [standard] if foreign and toolchain.kind != "zig" else []
    linker = replace(toolchain, command=_driver(toolchain, cplus=toolchain.cplus or bool(foreign)))
    parts = [*objects, *(pathlib.Path(path) for path in extras if path not in sources)]
    link_shared(linker, parts, output=output, flags=flags, link=[*link, *runtime], name=name, cell=cell)
    return warnings


@contextlib.contextmanager
def _reporting(waiting: Any, output: pathlib.Path) -> Iterator[None]:
    """Write the report of a compiler that waited, if there is one, where others write theirs."""
    try:
        yield
    finally:
        if waiting:
            store.Cache.write_scratch(output.with_suffix(".d"), waiting.read_report())


def compile_object(
    toolchain: Toolchain,
    source: str,
    *,
    output: pathlib.Path,
    flags: Sequence[str],
    name: str,
    cell: str,
    places: Sequence[int] | None = None,
    reported: bool = True,
) -> tuple[Diagnostic, ...]:
    """Compile ``source`` into an object file, for `link_shared`; parameters and errors as of `compile_shared`.

    With ``reported`` the files that it reads are among those of `files_read`.
    """
    report = report_flags(output) if reported else ()
    compiling = [f for f in (*flags, *_limits(toolchain), *report) if f != "-shared"]
    command = [*toolchain.command, *compiling, "-c", *language_flags(toolchain), "-o", str(output)]
    short = steps(toolchain, command, output.parent)
    done = finished([*short, command][0], source, output.parent, then=short[1:])
    if done.status and short and not _is_clear(done):
        done = finished(command, source, output.parent)
    _check(done, name, cell, places)
    _check_output(done, output, flags)
    return shorten(read_compiler(done.before + done.messages, name=name, cell=cell, places=places))


@dataclass(frozen=True)
class LargeUnit:
    """A unit to compile in parts.

    Attributes
    ----------
    text : str
    output : pathlib.Path
        The object file if there is one part; else what the names of several begin with.
    parts : int
        How many object files to make; gcc may find fewer.
    functions : int
        How many functions `how_far` is to count; 0 for none.
    flags : sequence of str
    places : sequence of int
        As for `compile_shared`.
    """

    text: str = field(repr=False)
    output: pathlib.Path
    parts: int
    functions: int
    flags: Sequence[str]
    places: Sequence[int] | None = field(default=None, repr=False)


#: Suffixes of sources that the driver compiles; other files go to the linker.
_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".C", ".c++", ".s", ".S", ".sx")
#: What gcc finds while it optimises, and -Wall means only while it reads.
_OF_WALL = ("-Warray-bounds", "-Wuninitialized", "-Wmaybe-uninitialized", "-Wrestrict")


def compile_in_parts(
    toolchain: Toolchain,
    units: Sequence[LargeUnit],
    *,
    output: pathlib.Path,
    flags: Sequence[str],
    link: Sequence[str] = (),
    extra_sources: Sequence[pathlib.Path] = (),
    name: str,
    cell: str,
) -> tuple[Diagnostic, ...]:
    """Compile units of one folder on all processors, and link them into a shared library.  Only gcc can.

    It reads each unit, decides what is inlined, and divides the rest, as for link-time optimisation.  How it does so
    depends on the unit alone.  What is linked are ordinary object files: no linker needs a plugin for them.

    Parameters
    ----------
    units : sequence of LargeUnit
    extra_sources : sequence of pathlib.Path
        Object files.
    output, flags, link, name, cell
        As for `link_shared`; results and errors as of `compile_shared`.
    """
    objects, jobs, shares, messages = list[pathlib.Path](), list[Callable[[], Any]](), list[float](), list[Any]()
    about = {"name": name, "cell": cell}
    reading = [functools.partial(_divided, toolchain, unit, **about) for unit in units]
    for unit, (sizes, warnings) in zip(units, at_once(output.parent, reading, lambda place: None), strict=True):
        messages.append(warnings)
        objects += [pathlib.Path(f"{file}bj") for file in sizes] or [unit.output]
        for file, size in sizes.items():
            words = ("-fltrans", file, "-o", f"{file}bj")
            jobs.append(functools.partial(_read_again, toolchain, unit, words, **about))
            shares.append(unit.functions * size / sum(sizes.values()))
    with counting(output.parent, sum(unit.functions for unit in units)) as ready:
        messages += at_once(output.parent, jobs, lambda place: ready(shares[place]))
    link_shared(toolchain, [*objects, *extra_sources], output=output, flags=flags, link=link, **about)
    return shorten(tuple(dict.fromkeys(warning for warnings in messages for warning in warnings)))


def _divided(
    toolchain: Toolchain, unit: LargeUnit, *, name: str, cell: str
) -> tuple[dict[str, int], tuple[Diagnostic, ...]]:
    """The files of a unit's parts with their sizes, and warnings; no files where there is one part, compiled by now."""
    output = unit.output.with_suffix(".lto.o") if unit.parts > 1 else unit.output
    flags = [*unit.flags, "-flto"] if unit.parts > 1 else unit.flags
    about: dict[str, Any] = {"name": name, "cell": cell}
    warnings = compile_object(toolchain, unit.text, output=output, flags=flags, places=unit.places, **about)
    if unit.parts < 2:
        return {}, warnings
    listed = unit.output.with_suffix(".list")
    words = ["-fwpa", f"-fltrans-output-list={listed}", "-flto-partition=balanced", "-flinker-output=nolto-rel"]
    words += ["--param", f"lto-partitions={unit.parts}", "--param", "lto-min-partition=200"]
    more = _read_again(toolchain, unit, [*words, str(output), "-o", str(unit.output)], **about)
    # Each file's size stands on the line before it.
    sizes = re.findall(r"(?m)^(\d+)\n(.+\.o)$", listed.read_text()) if listed.exists() else []
    if not sizes:
        raise CompileError(f"{name}: the compiler has not divided the unit.", remedy="Use another version of gcc.")
    return {file: int(size) for size, file in sizes}, (*warnings, *more)


def _read_again(
    toolchain: Toolchain, unit: LargeUnit, words: Sequence[str], *, name: str, cell: str
) -> tuple[Diagnostic, ...]:
    """Have gcc go on with what it has written of a unit; its warnings."""
    flags = [f for f in (*unit.flags, *_limits(toolchain)) if f != "-shared"]
    warnings = _OF_WALL if "-Wall" in flags else ()
    done = finished([*toolchain.command, "-xlto", "-c", *flags, *warnings, *words], "", unit.output.parent)
    _check(done, name, cell, unit.places)
    return read_compiler(done.messages, name=name, cell=cell, places=unit.places)


def link_shared(
    toolchain: Toolchain,
    objects: Sequence[pathlib.Path],
    *,
    output: pathlib.Path,
    flags: Sequence[str],
    link: Sequence[str] = (),
    name: str,
    cell: str,
) -> None:
    """Link object files into a shared library; parameters and errors as of `compile_shared`."""
    linking = [f for f in flags if f not in FAST_MATH]
    command = [*toolchain.command, *linking, *map(str, objects), "-o", str(output), *link]
    short = steps(toolchain, command, output.parent)
    done = finished([*short, command][0], "", output.parent)
    if done.status and short:
        done = finished(command, "", output.parent)
    _check(done, name, cell)


def _is_clear(done: Done) -> bool:
    """Whether a compiler without its driver has said what is wrong, and need not be asked again."""
    return done.status == 1 and bool(re.search(r"\d: (fatal )?error: ", done.messages))


def _driver(toolchain: Toolchain, *, cplus: bool) -> tuple[str, ...]:
    """gcc and clang know a source's language by its suffix; zig has a command for each."""
    if toolchain.kind != "zig":
        return toolchain.command
    return tuple(("c++" if cplus else "cc") if word in ("cc", "c++") else word for word in toolchain.command)


def _limits(toolchain: Toolchain) -> list[str]:
    return ["-fdiagnostics-color=never", "-fmax-errors=20" if toolchain.kind == "gcc" else "-ferror-limit=20"]


def _is_foreign(path: str, toolchain: Toolchain) -> bool:
    """A source in the other language: the unit's ``-std`` would not do for it."""
    suffix = os.path.splitext(path)[1]
    return suffix == ".c" if toolchain.cplus else suffix in (".cc", ".cpp", ".cxx", ".C", ".c++")


def _check_output(done: Done, output: pathlib.Path, flags: Sequence[str]) -> None:
    """Raise where a compiler has done nothing, and said that all is well."""
    if "-fsyntax-only" not in flags and not output.exists():
        raise ToolchainError(
            f"{shlex.join(done.command[:1])} succeeded, but wrote no {output.name}.",
            remedy="Set CC to a C compiler, or unset it.",
        )


def _check(done: Done, name: str, cell: str, places: Sequence[int] | None = None) -> None:
    """Raise what a compiler or linker that failed has said."""
    if not done.status:
        return
    done = replace(done, messages=done.before + done.messages)
    diagnostics = read_compiler(done.messages, name=name, cell=cell, places=places)
    if any(d.severity == "error" for d in diagnostics):
        what = f"{name} does not compile: {counted(diagnostics)}."
        raise CompileError(what, diagnostics=shorten(diagnostics), output=done.messages)
    missing = read_linker(done.messages, name=name, cell=cell)
    if missing:
        raise LinkError(
            f"{name} compiles, but does not link.", diagnostics=(*shorten(missing), *diagnostics), output=done.messages
        )
    fault = f"was killed by signal {-done.status}" if done.status < 0 else f"failed with status {done.status}"
    last = "\n".join(done.messages.strip().splitlines()[-5:])
    raise CompileError(
        f"{name} does not compile: {shlex.join(done.command[:1])} {fault}.\n{last}".rstrip(),
        remedy="Use -v to show the whole command, or set CC to another compiler.",
        output=done.messages,
    )
