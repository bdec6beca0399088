"""C and C++ cells: the key they are cached under; what makes object code of them is in ``unit``.

The key is made of what goes in, not of the unit that comes out, so that a cell found in the cache is
neither parsed nor preprocessed, starts no process, and imports little.
"""

from __future__ import annotations

import os
from pathlib import Path

from ... import runtime, store, toolchain
from ...model import CompiledCell, Options
from ...toolchain import header_digests, search_folders, working_folder
from ..frontend import compiler_flags, engine, libraries, linker_flags

__all__ = ["compile", "key"]


def key(source: str, *, options: Options) -> str:
    """Everything that could change the machine code, digested.  Starts no process.

    A cell whose headers cannot be known without the preprocessor (``#include MACRO``) gets a key that
    nothing was or will be stored under.
    """
    tool = toolchain.find(cplus=options.cplus)
    flags, link = compiler_flags(tool, options), linker_flags(tool, options)
    folders, forced = search_folders([*flags, *tool.command])
    sources = tuple(Path(s).expanduser() for s in options.src)
    headers = header_digests(source, folders=folders, cwd=working_folder(), files=(*forced, *sources))
    unknown = os.urandom(16).hex() if headers is None else ""
    native = " ".join(runtime.cpu_features()) if options.arch == "native" else ""
    parts = [
        "c",
        repr(engine()),
        source,
        repr(options.key()),
        repr(tool.identity()),
        repr((flags, link)),
        native,
        unknown,
    ]
    return store.key([*parts, repr(headers), repr(libraries(options.lib, options.library_dirs))])


def compile(source: str, *, options: Options, name: str, folder: Path) -> CompiledCell:
    """Compile a cell in the private ``folder``; see `ufunc_magic.frontends.c.c_unit.compile`."""
    from . import c_unit  # the parser, the code generator and the toolchain: 20 ms that a cached cell saves

    return c_unit.compile(source, options=options, name=name, folder=folder)
