"""C and C++ cells: the key they are cached under; what makes object code of them is in ``unit``.

The key is made of what goes in, not of the unit that comes out, so that a cell found in the cache is
neither parsed nor preprocessed, starts no process, and imports little.
"""

from __future__ import annotations

import os
from functools import cache as remember
from pathlib import Path

from ... import cache, compilers, loader
from ...includes import header_digests, search_folders
from ...objectcode import ObjectCode
from ...options import Options
from .flags import compiler_flags, linker_flags

__all__ = ["compile", "key"]


def key(source: str, *, options: Options) -> str:
    """Everything that could change the machine code, digested.  Starts no process.

    A cell whose headers cannot be known without the preprocessor (``#include MACRO``) gets a key that
    nothing was or will be stored under.
    """
    tool = compilers.find(cplus=options.cplus)
    flags, link = compiler_flags(tool, options), linker_flags(tool, options)
    folders, forced = search_folders([*flags, *tool.command])
    sources = tuple(Path(s).expanduser() for s in options.src)
    headers = header_digests(source, folders=folders, cwd=Path.cwd(), files=(*forced, *sources))
    unknown = os.urandom(16).hex() if headers is None else ""
    native = " ".join(loader.cpu_features()) if options.arch == "native" else ""
    parts = [
        "c",
        repr(_engine()),
        source,
        repr(options.key()),
        repr(tool.identity()),
        repr((flags, link)),
        native,
        unknown,
    ]
    return cache.key([*parts, repr(headers), repr(_libraries(options))])


def compile(source: str, *, options: Options, name: str, folder: Path) -> ObjectCode:
    """Compile a cell in the private ``folder``; see `ufunc_magic.backends.c.unit.compile`."""
    from . import unit  # the parser, the code generator and the toolchain: 20 ms that a cached cell saves

    return unit.compile(source, options=options, name=name, folder=folder)


def _libraries(options: Options) -> list[tuple[str, int, int]]:
    """Libraries in the user's own folders, which may be built anew under the same name."""
    found = []
    for folder in options.library_dirs:
        for library in options.lib:
            for path in Path(folder).expanduser().glob(f"lib{library}.*"):
                status = path.stat()
                found.append((str(path), status.st_size, status.st_mtime_ns))
    return sorted(found)


@remember
def _engine() -> tuple[tuple[str, int, int], ...]:
    """Size and time of every file of this package: another version of it may write other loops.

    Their contents would take 20 ms to read, which a cell found in the cache must not wait for.
    """
    root = Path(__file__).parent.parent.parent
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith((".py", ".c", ".h", ".hpp")):
                status = os.stat(os.path.join(folder, name))
                found.append((os.path.relpath(os.path.join(folder, name), root), status.st_size, status.st_mtime_ns))
    return tuple(sorted(found))
