"""Sources to objects and libraries: the commands of a compiler, and its failures as errors."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from ..model import CompileError, Diagnostic, LinkError, ToolchainError
from .diagnostics import count_errors, read_compiler, read_linker, shorten
from .discovery import FAST_MATH, Toolchain, list_language_flags
from .include_search import report_flags
from .processes import Done, run_command


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
    words = (f for f in flags if f not in ("-shared", "-fdirectives-only"))  # the latter keeps macros
    command = [*toolchain.command, "-E", *words, *list_language_flags(toolchain)]
    done = run_command(command, source)
    _check(done, UnitOrigin(name, source if cell is None else cell))
    # gcc writes names as ``gr\\U000000f6\\U000000dfe``.
    return re.sub(r"\\U([0-9a-fA-F]{8})", _decode_letter, done.output)


def _decode_letter(code_point: re.Match[str]) -> str:
    number = int(code_point[1], 16)
    return chr(number) if number <= 0x10FFFF and chr(number).isalnum() else code_point[0]


#: Runs a command of a compiler's driver on a text in a private folder: `run_driver`, or `shortcuts.run_programs`.
Runner = Callable[[Toolchain, Sequence[str], str, pathlib.Path], Done]


def run_driver(toolchain: Toolchain, command: Sequence[str], text: str, folder: pathlib.Path) -> Done:
    """Run a command of a compiler's driver as it is."""
    return run_command(command, text, folder)


@dataclass(frozen=True)
class UnitOrigin:
    """Where a unit comes from, for diagnostics.

    Attributes
    ----------
    name, cell : str
        The cell's name in ``#line``, and its text.
    places : sequence of int
        Where the unit was translated from the cell: `ufunc_magic.compilers.line_map.find_places` of it.
    """

    name: str
    cell: str = field(repr=False)
    places: Sequence[int] | None = field(default=None, repr=False)

    def read(self, messages: str) -> tuple[Diagnostic, ...]:
        """The compiler's messages on the cell's lines."""
        return read_compiler(messages, name=self.name, cell=self.cell, places=self.places)


def compile_shared(
    toolchain: Toolchain,
    source: str,
    origin: UnitOrigin,
    *,
    output: pathlib.Path,
    flags: Sequence[str],
    link: Sequence[str] = (),
    extra_sources: Sequence[str | os.PathLike[str]] = (),
    run: Runner = run_driver,
) -> tuple[Diagnostic, ...]:
    """Compile ``source`` and link it into a shared library.

    Parameters
    ----------
    toolchain : Toolchain
    source : str
        The whole translation unit; the compiler reads it from standard input.
    origin : UnitOrigin
    output : pathlib.Path
        The library to make, in a private folder, where the compiler also keeps its own temporary files.
    flags, link : sequence of str
        All options: `list_base_flags` and `list_base_link_options` with whatever the caller adds.
    extra_sources : sequence of path
        C, C++, assembler or object files to compile along.
    run : Runner
        Runs the command.

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
    extras = [os.path.abspath(os.path.expanduser(os.fspath(path))) for path in extra_sources]
    if FAST_MATH.intersection(flags) or any(map(_is_source, extras)):
        return _compile_apart(toolchain, source, origin, output=output, flags=flags, link=link, extras=extras, run=run)
    # "-x none": without it, objects and libraries among the later arguments would be read as C.
    inputs = [*list_language_flags(toolchain), "-x", "none", *extras]
    options = [*flags, *_find_limits(toolchain), *report_flags(output)]
    done = run(toolchain, [*toolchain.command, *options, *inputs, "-o", str(output), *link], source, output.parent)
    _check(done, origin)
    _check_output(done, output, flags)
    return shorten(origin.read(done.before + done.messages))


def _compile_apart(
    toolchain: Toolchain,
    source: str,
    origin: UnitOrigin,
    *,
    output: pathlib.Path,
    flags: Sequence[str],
    link: Sequence[str],
    extras: Sequence[str],
    run: Runner,
) -> tuple[Diagnostic, ...]:
    """Compile and link in steps of their own, and each further source alone.

    gcc makes "-ffast-math" of a link flush denormals to zero in the whole process that opens the library.  The files
    of further sources are reported one by one.
    """
    sources = list(filter(_is_source, extras))
    foreign = [path for path in sources if _is_foreign(path, toolchain)]
    objects = [output.parent / "unit.o"]
    warnings = compile_object(toolchain, source, origin, output=objects[0], flags=flags, run=run)
    plain = [f for f in flags if not f.startswith("-std=") and f != "-Werror=implicit-function-declaration"]
    for path in sources:
        objects.append(output.parent / f"unit{len(objects)}.o")
        driver = _choose_driver(toolchain, cplus=toolchain.cplus is not (path in foreign))
        options = [f for f in (plain if path in foreign else flags) if f != "-shared"]
        options += [*_find_limits(toolchain), *report_flags(objects[-1])]
        done = run_command([*driver, *options, "-c", path, "-o", str(objects[-1])], "", output.parent)
        alone = replace(origin, places=None)
        _check(done, alone)
        warnings = shorten((*warnings, *alone.read(done.messages)))
    standard = "-lc++" if sys.platform == "darwin" else "-lstdc++"
    runtime = [standard] if foreign and toolchain.kind != "zig" else []
    linker = replace(toolchain, command=_choose_driver(toolchain, cplus=toolchain.cplus or bool(foreign)))
    parts = [*objects, *(pathlib.Path(path) for path in extras if path not in sources)]
    link_shared(linker, parts, origin, output=output, flags=flags, link=[*link, *runtime], run=run)
    return warnings


def compile_object(
    toolchain: Toolchain,
    source: str,
    origin: UnitOrigin,
    *,
    output: pathlib.Path,
    flags: Sequence[str],
    run: Runner = run_driver,
    reported: bool = True,
) -> tuple[Diagnostic, ...]:
    """Compile ``source`` into an object file, for `link_shared`; parameters and errors as of `compile_shared`.

    With ``reported`` the files that it reads are among those of `files_read`.
    """
    report = report_flags(output) if reported else ()
    compiling = [f for f in (*flags, *_find_limits(toolchain), *report) if f != "-shared"]
    command = [*toolchain.command, *compiling, "-c", *list_language_flags(toolchain), "-o", str(output)]
    done = run(toolchain, command, source, output.parent)
    _check(done, origin)
    _check_output(done, output, flags)
    return shorten(origin.read(done.before + done.messages))


def compile_assembly(
    toolchain: Toolchain, source: str, origin: UnitOrigin, *, output: pathlib.Path, flags: Sequence[str]
) -> None:
    """Compile ``source`` to assembly; parameters and errors as of `compile_shared`."""
    compiling = [f for f in (*flags, *_find_limits(toolchain)) if f != "-shared"]
    command = [*toolchain.command, *compiling, "-S", *list_language_flags(toolchain), "-o", str(output)]
    done = run_command(command, source, output.parent)
    _check(done, origin)
    _check_output(done, output, flags)


def link_shared(
    toolchain: Toolchain,
    objects: Sequence[pathlib.Path],
    origin: UnitOrigin,
    *,
    output: pathlib.Path,
    flags: Sequence[str],
    link: Sequence[str] = (),
    run: Runner = run_driver,
) -> None:
    """Link object files into a shared library; parameters and errors as of `compile_shared`."""
    linking = [f for f in flags if f not in FAST_MATH]
    command = [*toolchain.command, *linking, *map(str, objects), "-o", str(output), *link]
    _check(run(toolchain, command, "", output.parent), replace(origin, places=None))


def continue_lto(
    toolchain: Toolchain, origin: UnitOrigin, words: Sequence[str], *, flags: Sequence[str], folder: pathlib.Path
) -> tuple[Diagnostic, ...]:
    """Have gcc continue with what it has written of a unit for link-time optimisation; its warnings."""
    flags = [f for f in (*flags, *_find_limits(toolchain)) if f != "-shared"]
    warnings = _OF_WALL if "-Wall" in flags else ()
    done = run_command([*toolchain.command, "-xlto", "-c", *flags, *warnings, *words], "", folder)
    _check(done, origin)
    return origin.read(done.messages)


#: Warnings that gcc finds while it optimises, for which -Wall is not enough there.
_OF_WALL = ("-Warray-bounds", "-Wuninitialized", "-Wmaybe-uninitialized", "-Wrestrict")


#: Suffixes of sources that the driver compiles; other files go to the linker.
_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".C", ".c++", ".s", ".S", ".sx")


def _choose_driver(toolchain: Toolchain, *, cplus: bool) -> tuple[str, ...]:
    """gcc and clang know a source's language by its suffix; zig has a command for each."""
    if toolchain.kind != "zig":
        return toolchain.command
    return tuple(("c++" if cplus else "cc") if word in ("cc", "c++") else word for word in toolchain.command)


def _find_limits(toolchain: Toolchain) -> list[str]:
    return ["-fdiagnostics-color=never", "-fmax-errors=20" if toolchain.kind == "gcc" else "-ferror-limit=20"]


def _is_source(path: str) -> bool:
    return os.path.splitext(path)[1] in _SOURCES


def _is_foreign(path: str, toolchain: Toolchain) -> bool:
    """A source in the other language: the unit's ``-std`` would not do for it."""
    suffix = os.path.splitext(path)[1]
    return suffix == ".c" if toolchain.cplus else suffix in (".cc", ".cpp", ".cxx", ".C", ".c++")


def _check_output(done: Done, output: pathlib.Path, flags: Sequence[str]) -> None:
    """Raise for a compiler that reports success but writes no output."""
    if "-fsyntax-only" not in flags and not output.exists():
        raise ToolchainError(
            f"{shlex.join(done.command[:1])} succeeded, but wrote no {output.name}.",
            remedy="Set CC to a C compiler, or unset it.",
        )


def _check(done: Done, origin: UnitOrigin) -> None:
    """Raise the errors that a compiler or linker has reported."""
    if not done.status:
        return
    done, name = replace(done, messages=done.before + done.messages), origin.name
    diagnostics = origin.read(done.messages)
    if any(d.severity == "error" for d in diagnostics):
        what = f"{name} does not compile: {count_errors(diagnostics)}."
        raise CompileError(what, diagnostics=shorten(diagnostics), output=done.messages)
    missing = read_linker(done.messages, name=name, cell=origin.cell)
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
