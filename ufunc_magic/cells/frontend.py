"""Shared by languages: keys for the cache, flags for the compiler and the linker."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cache as remember
from pathlib import Path

from .. import runtime, store
from ..compilers import Toolchain, list_base_flags, list_base_link_options, list_library_flags
from ..model import Options

#: Variables by which compilers choose folders.
_VARIABLES = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "LIBRARY_PATH")


def make_cell_key(
    language: str,
    source: str,
    *,
    options: Options,
    tools: Sequence[Toolchain | None],
    flags: Sequence[str],
    link: Sequence[str],
    more: Sequence[str] = (),
) -> str:
    """Everything but files that could change the machine code of a cell, digested.

    It is made of what goes in, not of the unit that comes out, so that a cell found in the cache is neither parsed
    nor preprocessed, starts no process, and imports little.  The files that its compiler reads are in the cache's
    record of the object (`ufunc_magic.store.Inputs`).

    Parameters
    ----------
    tools : sequence of Toolchain
        The compilers that the cell may be compiled with.
    more : sequence of str
        What else matters to this language.
    """
    native = " ".join(runtime.cpu_features()) if options.arch == "native" else ""
    around = [os.environ.get(name, "") for name in _VARIABLES]
    libraries = _list_library_files(options.lib, options.library_dirs)
    values = [
        options.make_key(),
        [tool and tool.read_identity() for tool in tools],
        (*flags,),
        (*link,),
        around,
        libraries,
    ]
    return store.make_key([language, _find_engine(), source, native, *map(repr, values), *more])


def make_c_key(
    language: str, source: str, *, options: Options, tool: Toolchain | None, more: Sequence[str] = ()
) -> str:
    """The key of a cell whose text a C or C++ compiler reads unchanged; see `make_cell_key`."""
    return make_cell_key(
        language,
        source,
        options=options,
        tools=(tool,),
        flags=list_compiler_flags(tool, options) if tool else options.compile_args,
        link=list_linker_flags(tool, options) if tool else (),
        more=more,
    )


def _list_library_files(names: Sequence[str], folders: Sequence[str]) -> list[tuple[str, int, int]]:
    """Libraries in the user's own folders: path, size, time."""
    files = []
    for folder in folders:
        for library in names:
            for path in Path(folder).expanduser().glob(f"lib{library}.*"):
                status = path.stat()
                files.append((str(path), status.st_size, status.st_mtime_ns))
    return sorted(files)


@remember
def _find_engine() -> str:
    """Size and time of every file of this package, digested: another version of it may write other loops.

    Their contents would take 20 ms to read, which a cell found in the cache must not wait for.
    """
    root = Path(__file__).parents[1]
    files = []
    for folder, _, names in os.walk(root):
        for name in names:
            # A language's own headers may have names like C++'s own: cmath.
            if name.endswith((".py", ".c", ".h", ".hpp", ".ll")) or "templates" in folder:
                path = os.path.join(folder, name)
                status = os.stat(path)
                files.append((os.path.relpath(path, root), status.st_size, status.st_mtime_ns))
    return hashlib.sha256(repr(sorted(files)).encode()).hexdigest()


def list_flags(tool: Toolchain, options: Options) -> list[str]:
    """The flags of the options for a compiler of C, whatever the language of the cell."""
    # Signed overflow wraps and types may be punned: what people expect of a C cell, and what the
    # Python form of the cell does.
    flags = ["-fwrapv", "-fno-strict-aliasing"]
    if options.fast_math:
        flags.append("-ffast-math")
    if options.arch == "native":
        flags += ["-mcpu=native" if tool.kind == "zig" else "-march=native", "-D__UFM_ONE_TARGET"]
    if options.parallel:
        flags.append("-pthread")
    return flags


def list_compiler_flags(tool: Toolchain, options: Options) -> tuple[str, ...]:
    """Everything a unit is compiled with, before its text is looked at."""
    folders = [f"-I{Path(f).expanduser()}" for f in options.include]
    return (*list_base_flags(tool), *list_flags(tool, options), *folders, *options.compile_args)


def list_linker_flags(tool: Toolchain, options: Options) -> tuple[str, ...]:
    """The words after the unit on the linker's line."""
    return (*options.link_args, *list_library_flags(options.lib, options.library_dirs), *list_base_link_options(tool))
