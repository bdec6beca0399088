"""What a C unit is compiled and linked with, before its text is looked at."""

from __future__ import annotations

from pathlib import Path

from ... import compilers
from ...options import Options

__all__ = ["compiler_flags", "linker_flags"]


def compiler_flags(tool: compilers.Toolchain, options: Options) -> tuple[str, ...]:
    """Everything a unit is compiled with, before its text is looked at."""
    # Signed overflow wraps and types may be punned: what people expect of a C cell, and what the
    # Python form of the cell does.
    flags = [*compilers.base_flags(tool), "-fwrapv", "-fno-strict-aliasing"]
    if options.fast_math:
        flags.append("-ffast-math")
    if options.arch == "native":
        flags += ["-mcpu=native" if tool.kind == "zig" else "-march=native", "-D__UFM_ONE_TARGET"]
    if options.parallel:
        flags.append("-pthread")
    folders = [f"-I{Path(f).expanduser()}" for f in options.include]
    return (*flags, *folders, *options.compile_args)


def linker_flags(tool: compilers.Toolchain, options: Options) -> tuple[str, ...]:
    """What stands behind the unit on the linker's line."""
    libraries = compilers.library_flags(options.lib, options.library_dirs)
    return (*options.link_args, *libraries, *compilers.base_link(tool))
