"""What languages share: keys for the cache, flags for the compiler and the linker."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cache as remember
from pathlib import Path

from .. import compilers, runtime, store
from ..compilers import (
    Toolchain,
    base_flags,
    base_link,
    header_digests,
    library_flags,
    search_folders,
    working_folder,
)
from ..model import Options, ToolchainError


def cell_key(
    language: str,
    source: str,
    *,
    options: Options,
    tool: Toolchain | None,
    flags: Sequence[str],
    link: Sequence[str],
    headers: Sequence[tuple[str, str]] | None,
    libraries: tuple[Sequence[str], Sequence[str]],
    more: Sequence[str] = (),
) -> str:
    """Everything that could change the machine code of a cell, digested.

    It is made of what goes in, not of the unit that comes out, so that a cell found in the cache is neither parsed
    nor preprocessed, starts no process, and imports little.

    Parameters
    ----------
    headers : sequence of (str, str) or None
        Files that the cell includes, with digests; None where they cannot be known without the preprocessor
        (``#include MACRO``): then the key is one that nothing was or will be stored under.
    libraries : (names, folders)
        Those of ``-l`` and ``-L``, which may be built anew under the same name.
    more : sequence of str
        What else matters to this language.
    """
    native = " ".join(runtime.cpu_features()) if options.arch == "native" else ""
    unknown = os.urandom(16).hex() if headers is None else ""
    values = [options.key(), tool and tool.identity(), (*flags,), (*link,), headers, _library_files(*libraries)]
    return store.key([language, _engine(), source, native, unknown, *map(repr, values), *more])


def c_key(language: str, source: str, *, options: Options, tool: Toolchain | None, more: Sequence[str] = ()) -> str:
    """The key of a cell whose text a C or C++ compiler reads as it stands; see `cell_key`."""
    flags = compiler_flags(tool, options) if tool else options.compile_args
    return cell_key(
        language,
        source,
        options=options,
        tool=tool,
        flags=flags,
        link=linker_flags(tool, options) if tool else (),
        headers=users_files(source, options=options, tool=tool, flags=flags),
        libraries=(options.lib, options.library_dirs),
        more=more,
    )


def users_files(
    source: str, *, options: Options, tool: Toolchain | None, flags: Sequence[str]
) -> tuple[tuple[str, str], ...] | None:
    """Files of the user's that the compiler would read for the cell, as `header_digests` gives them."""
    folders, forced = search_folders([*flags, *(tool.command if tool else ())])
    sources = [Path(file).expanduser() for file in options.src]
    return header_digests(source, folders=folders, cwd=working_folder(), files=(*forced, *sources))


def drawn_files(source: str, *, options: Options, cplus: bool) -> tuple[tuple[str, ...] | None, tuple[Path, ...]]:
    """Return the user's files that a compiler of C may read for a cell, and the folders where headers are.

    Of the files, which may be more than the compiler reads, None where their names are computed by macros.
    """
    try:
        tool = compilers.find(cplus=cplus)
    except ToolchainError:  # a Build that came from elsewhere
        tool = None
    folders = [f"-I{Path(f).expanduser()}" for f in options.include]
    flags = compiler_flags(tool, options) if tool else (*folders, *options.compile_args)
    files = users_files(source, options=options, tool=tool, flags=flags)
    return None if files is None else tuple(path for path, _ in files), search_folders(
        [*flags, *(tool.command if tool else ())]
    )[0]


def _library_files(names: Sequence[str], folders: Sequence[str]) -> list[tuple[str, int, int]]:
    """Libraries in the user's own folders: path, size, time."""
    files = []
    for folder in folders:
        for library in names:
            for path in Path(folder).expanduser().glob(f"lib{library}.*"):
                status = path.stat()
                files.append((str(path), status.st_size, status.st_mtime_ns))
    return sorted(files)


@remember
def _engine() -> str:
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


def flags_of(tool: Toolchain, options: Options) -> list[str]:
    """What the options mean to a compiler of C, whatever the language of the cell."""
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


def compiler_flags(tool: Toolchain, options: Options) -> tuple[str, ...]:
    """Everything a unit is compiled with, before its text is looked at."""
    folders = [f"-I{Path(f).expanduser()}" for f in options.include]
    return (*base_flags(tool), *flags_of(tool, options), *folders, *options.compile_args)


def linker_flags(tool: Toolchain, options: Options) -> tuple[str, ...]:
    """What stands behind the unit on the linker's line."""
    return (*options.link_args, *library_flags(options.lib, options.library_dirs), *base_link(tool))
