"""Runs the programs that a command of a compiler's driver would start, without the driver.

``gcc`` and ``clang`` compile nothing themselves: they start a compiler, an assembler and a linker, gcc the last one by
way of another program, and with a plugin that only link-time optimisation needs.  ``-###`` prints the
commands.  They are read once for each set of options, and remembered in the cache.
"""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .. import runtime, store
from ..compilers import Done, Toolchain, is_launched, list_language_flags, run_command, run_driver
from .stand_ins import use_stand_ins
from .switch import is_plain
from .waiting_compilers import VARIABLES, take_compiler

#: Stands for the private folder of a compilation.
_FOLDER = "{folder}"

_Commands = tuple[tuple[str, ...], ...]


def run_programs(
    toolchain: Toolchain,
    command: Sequence[str],
    text: str,
    folder: pathlib.Path,
    *,
    ahead: Sequence[str] | None = None,
) -> Done:
    """Run the programs that a driver's command would start, the first one by a compiler that waits if there is one.

    The driver runs if only the driver can do it, or if the programs fail without a clear message.

    Parameters
    ----------
    toolchain, command, text, folder
        As for `ufunc_magic.compilers.run_driver`.
    ahead : sequence of str
        Lines that may be compiled before ``text`` without a difference, such as its own first includes: a waiting
        compiler has read them.  None if no compiler may have read anything.
    """
    programs = () if is_plain() else list_programs(toolchain, command, folder)
    if not programs:
        return run_driver(toolchain, command, text, folder)
    waiting = take_compiler(programs[0], folder, ahead)
    try:
        done = run_command(programs[0], text, folder, then=programs[1:], ready=waiting and waiting.process)
    finally:
        if waiting:
            report = pathlib.Path(command[command.index("-MF") + 1])
            store.Cache.write_scratch(report, waiting.read_report())
    if not done.status:
        return done
    if len(programs) > 1 and done.command == programs[-1] and "-c" not in command:
        # A stand-in lacks a symbol: the driver finds it in the library, or reports it better.
        output = programs[-2][programs[-2].index("-o") + 1]
        linked = run_driver(toolchain, _link_command(toolchain, command, output), "", folder)
        return replace(linked, before=done.before)
    return done if _CLEAR.search(done.messages) and done.status == 1 else run_driver(toolchain, command, text, folder)


#: An error with a line: the driver's report would not be better.
_CLEAR = re.compile(r"\d: (fatal )?error: ")


def _link_command(toolchain: Toolchain, command: Sequence[str], unit: str) -> list[str]:
    """The driver's command for an object in place of the text on standard input."""
    place = command.index("-MD")
    less = [*command[:place], *command[place + len(("-MD", "-MF", "FILE")) :]]
    source = (*list_language_flags(toolchain), "-x", "none")
    start = next(n for n in range(len(less)) if (*less[n : n + len(source)],) == source)
    return [*less[:start], unit, *less[start + len(source) :]]


def list_programs(toolchain: Toolchain, command: Sequence[str], folder: pathlib.Path) -> _Commands:
    """Commands that do in turn what ``command`` does: compile standard input, assemble, link.

    Returns
    -------
    tuple of tuple of str
        Empty where only the compiler's driver will do: launchers such as ccache, link-time optimisation, another
        linker by ``-fuse-ld``, several sources, other systems than Linux.  Of zig one, which leaves its runtime out.
    """
    if toolchain.kind == "zig" and sys.platform.startswith("linux"):
        return _leave_out_runtime(toolchain, command, folder)
    unusual = any(word.startswith(("-flto", "-fuse-ld", "-save-temps", "-fsyntax-only", "@")) for word in command)
    if toolchain.kind == "zig" or unusual or is_launched(toolchain) or not sys.platform.startswith("linux"):
        return ()
    general = [word.replace(str(folder), _FOLDER) for word in command]
    around = [os.environ.get(name, "") for name in VARIABLES]
    if toolchain.kind == "clang":
        around.append(os.getcwd())
    if any(word.endswith("=native") for word in command):
        around += runtime.cpu_features()
    cache, fact = store.open_default(), f"steps 4 {toolchain.read_identity()!r} {general!r} {around!r}"
    commands = cache.recall(fact)
    if commands is None:
        commands, files = _examine(toolchain, command, folder)
        if files is not None:
            cache.remember(fact, commands, files=files)
    return tuple(tuple(word.replace(_FOLDER, str(folder)) for word in words) for words in commands)


def _leave_out_runtime(toolchain: Toolchain, command: Sequence[str], folder: pathlib.Path) -> _Commands:
    """Steps of zig that leave its runtime out, which it would build first, for 10 s, and in C++ for minutes.

    Few cells need it: those with clones for several processors, with exceptions and with containers.
    """
    if "-shared" not in command or "-c" in command or "none" not in command:
        return ()
    if not toolchain.cplus:
        return ((*command, "-nostdlib", "-lc"),)
    # Without its library C++ has no headers either.
    own, end = len(toolchain.command), command.index("none") - 1
    flags, unit = command[own : end - 3], str(folder / "unit.o")
    compiling = (*toolchain.command, *(flag for flag in flags if flag != "-shared"), "-c", "-x", "c++", "-", "-o", unit)
    as_c = ["cc" if word == "c++" else word for word in toolchain.command]
    linking = (*as_c, *(flag for flag in flags if not flag.startswith("-std=")), unit, *command[end + 2 :])
    return compiling, (*linking, "-nostdlib", "-lc")


def _examine(toolchain: Toolchain, command: Sequence[str], folder: pathlib.Path) -> tuple[_Commands, list[str] | None]:
    """Ask the driver what it would start; the files that the answer depends on, None where it gave none."""
    own = len(toolchain.command)
    # Its temporary files would be in the folder, too, under names that no other step has.
    done = run_command([*command[:own], "-###", *command[own:]], "", folder)
    lines = [shlex.split(line) for line in done.messages.splitlines() if line.startswith(" ")]
    kinds = "".join(map(_recognise_kind, lines))
    if done.status:
        return (), None
    if not re.fullmatch(r"Ca?l?|l", kinds):
        return (), []
    if kinds.startswith("Ca"):
        _connect(*lines[:2])
    files: Iterable[str] = ()
    if kinds.endswith("l"):
        *_, link = lines
        if os.path.basename(link[0]) == "collect2":
            link[:] = _drop_plugin(link)
            name = run_command([*toolchain.command, "-print-prog-name=ld"], "", folder).output.strip()
            link[0] = shutil.which(name) or ""
        if not link[0] or any(word.startswith(("-plugin", "--plugin")) for word in link):
            return (), []
        link[:], files = use_stand_ins(toolchain, link, folder)
        if kinds != "l" and not toolchain.cplus:
            link[:] = _drop_start_files(link, folder)
    commands = tuple(tuple(word.replace(str(folder), _FOLDER) for word in words) for words in lines)
    return commands, [*(words[0] for words in lines if os.path.isabs(words[0])), *files]


def _recognise_kind(words: Sequence[str]) -> str:
    """``"C"`` for a compiler that reads standard input, ``"a"`` for the assembler, ``"l"`` for the linker."""
    name = os.path.basename(words[0]) if words else ""
    if (name in ("cc1", "cc1plus") or "-cc1" in words[1:2]) and "-" in words and "-E" not in words:
        return "C"
    return "a" if re.fullmatch(r"(.*-)?as", name) else "l" if re.fullmatch(r"collect2|(.*-)?ld(\..*)?", name) else "?"


def _connect(compiling: list[str], assembling: list[str]) -> None:
    """Have the assembler read while the compiler writes."""
    place = len(compiling) - 1 - compiling[::-1].index("-o") + 1
    if assembling[-1] == compiling[place]:
        compiling[place], assembling[-1] = "-", "--"


def _drop_plugin(words: Sequence[str]) -> list[str]:
    pairs = zip(("", *words), words, strict=False)
    return [word for before, word in pairs if "-plugin" not in (before, word) and not word.startswith("-plugin-opt=")]


def _drop_start_files(words: Sequence[str], folder: pathlib.Path) -> Sequence[str]:
    """A linker's command for our objects without the start files, which call destructors of C++ and open slowly.

    Code that needs them, such as ``atexit``, refers to ``__dso_handle``, and does not link.
    """
    start = ("crti.o", "crtn.o", "crtbeginS.o", "crtendS.o")
    less = [word for word in words if os.path.basename(word) not in start]
    ours = all(word.startswith((str(folder), "-")) for word in less if word.endswith((".o", ".a")))
    return less if ours else words
