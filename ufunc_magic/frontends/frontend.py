"""What every front end offers, a key for the cache and source to CompiledCell, and what keys are made of."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cache as remember
from pathlib import Path
from typing import Protocol

from ..model import CompiledCell, Options
from ..toolchain import Toolchain, base_flags, base_link, library_flags

__all__ = ["Backend", "compiler_flags", "engine", "libraries", "linker_flags"]


class Backend(Protocol):
    """One language.  A backend is a module with these two functions; it holds no state."""

    def key(self, source: str, *, options: Options) -> str:
        """The cache key of ``source``: everything that could change its machine code.  Starts no process."""

    def compile(self, source: str, *, options: Options, name: str, folder: Path) -> CompiledCell:
        """Compile ``source`` in the private ``folder``.

        Raises
        ------
        UfuncMagicError
            Of the kind that says what is wrong: ParseError, SignatureError, CompileError, ...
        """


def libraries(names: Sequence[str], folders: Sequence[str]) -> list[tuple[str, int, int]]:
    """Libraries in the user's own folders, which may be built anew under the same name: path, size, time."""
    found = []
    for folder in folders:
        for library in names:
            for path in Path(folder).expanduser().glob(f"lib{library}.*"):
                status = path.stat()
                found.append((str(path), status.st_size, status.st_mtime_ns))
    return sorted(found)


@remember
def engine() -> str:
    """Size and time of every file of this package, digested: another version of it may write other loops.

    Their contents would take 20 ms to read, which a cell found in the cache must not wait for.
    """
    root = Path(__file__).parents[1]
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            # Headers for CUDA cells are called as C++ calls its own: cuda/std/cmath.
            if name.endswith((".py", ".c", ".h", ".hpp", ".ll")) or "templates" in folder:
                status = os.stat(os.path.join(folder, name))
                found.append((os.path.relpath(os.path.join(folder, name), root), status.st_size, status.st_mtime_ns))
    return hashlib.sha256(repr(sorted(found)).encode()).hexdigest()


def compiler_flags(tool: Toolchain, options: Options) -> tuple[str, ...]:
    """Everything a unit is compiled with, before its text is looked at."""
    # Signed overflow wraps and types may be punned: what people expect of a C cell, and what the
    # Python form of the cell does.
    flags = [*base_flags(tool), "-fwrapv", "-fno-strict-aliasing"]
    if options.fast_math:
        flags.append("-ffast-math")
    if options.arch == "native":
        flags += ["-mcpu=native" if tool.kind == "zig" else "-march=native", "-D__UFM_ONE_TARGET"]
    if options.parallel:
        flags.append("-pthread")
    folders = [f"-I{Path(f).expanduser()}" for f in options.include]
    return (*flags, *folders, *options.compile_args)


def linker_flags(tool: Toolchain, options: Options) -> tuple[str, ...]:
    """What stands behind the unit on the linker's line."""
    libraries = library_flags(options.lib, options.library_dirs)
    return (*options.link_args, *libraries, *base_link(tool))
