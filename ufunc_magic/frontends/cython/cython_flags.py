"""What the C of a Cython cell is compiled and linked with.

Most of that C is the module's machinery, which gains nothing from optimisation but takes it: with gcc it
is compiled with ``-O1``, and the cell's own functions and our loops, between pragmas, with ``-O3``.
"""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Sequence
from functools import cache as remember

from ... import toolchain
from ...model import Options
from .cython_settings import Settings

__all__ = ["compiler_flags", "hot_options", "include", "linker_flags"]


@remember
def include() -> str:
    """The folder of ``Python.h``."""
    return sysconfig.get_path("include")


@remember
def _folders() -> tuple[str, ...]:
    # Asking takes 0.2 ms, a third of what the same cell again takes.
    return tuple(dict.fromkeys(f"-I{sysconfig.get_path(word)}" for word in ("include", "platinclude")))


def compiler_flags(tool: toolchain.Toolchain, options: Options, found: Settings) -> tuple[str, ...]:
    """Everything the unit is compiled with, before its text is looked at."""
    given = [*found.flags]
    base = [f for f in toolchain.base_flags(tool) if f != "-Wall"]
    if tool.kind == "gcc" and not _asks_level(given):
        base = ["-O1" if f == "-O3" else f for f in base]
    flags = [*base, "-fwrapv", "-fno-strict-aliasing", "-DNDEBUG", "-DCYTHON_CLINE_IN_TRACEBACK=0"]
    if options.fast_math:
        flags.append("-ffast-math")
    if options.arch == "native":
        flags += ["-mcpu=native" if tool.kind == "zig" else "-march=native", "-D__UFM_ONE_TARGET"]
    if options.parallel:
        flags.append("-pthread")
    return (*flags, *_folders(), *given)


def linker_flags(tool: toolchain.Toolchain, options: Options, found: Settings) -> tuple[str, ...]:
    """What stands behind the unit on the linker's line.

    Python's own symbols are found in the process, so the linker cannot be asked to find them all.
    """
    base = [f for f in toolchain.base_link(tool) if f != "-Wl,-z,defs"]
    if sys.platform == "darwin":
        base += ["-Wl,-undefined,dynamic_lookup"]
    if sys.platform == "win32":
        version = "".join(map(str, sys.version_info[:2]))
        base += [f"-L{sys.base_prefix}/libs", f"-lpython{version}"]
    return (*found.link, *base)


def hot_options(flags: Sequence[str]) -> str:
    """The words of ``#pragma GCC optimize`` for what is worth it, ``""`` where the whole unit has one level.

    The pragma starts from the level's defaults, so that options given otherwise are said again.
    """
    if "-O1" not in flags or _asks_level([f for f in flags if f != "-O1"]):
        return ""
    again = [f[2:] for f in flags if re.fullmatch(r"-f(?:no-)?(?:math-errno|trapping-math|wrapv|strict-aliasing)", f)]
    again += [
        f[2:] for f in flags if f in ("-ffast-math", "-frounding-math") or f.startswith(("-ffp-", "-fno-builtin-"))
    ]
    return ", ".join(f'"{word}"' for word in ("O3", *again))


def _asks_level(flags: Sequence[str]) -> bool:
    return any(re.fullmatch(r"-O\w*", f) for f in flags)
