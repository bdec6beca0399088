"""Cython cells: the key they are cached under; what makes an extension module with loops of them is in ``unit``.

As for C, the key is made of what goes in, so that a cell found in the cache imports no Cython.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path

from ... import runtime, store, toolchain
from ...model import CompiledCell, Options
from ..frontend import engine, libraries
from . import cython_settings, dependencies
from .cython_flags import compiler_flags, linker_flags

__all__ = ["compile", "key", "module_name"]


def key(source: str, *, options: Options) -> str:
    """Everything that could change the machine code, digested.  Starts no process.

    Raises
    ------
    OptionError, ToolchainError
        For what no Cython cell can be compiled with.
    """
    cython_settings.check(options)
    module = options.name if options.name.isidentifier() else ""
    found = cython_settings.read(source, options=options, module=module)
    options = replace(options, cplus=options.cplus or found.cplus)
    tool = toolchain.find(cplus=options.cplus)
    flags, link = compiler_flags(tool, options, found), linker_flags(tool, options, found)
    headers = dependencies.digests(
        source, folders=found.folders, files=[Path(f) for f in (*found.sources, *found.depends)], module=module
    )
    # A header whose name a macro makes: a key that nothing was or will be stored under.
    unknown = os.urandom(16).hex() if headers is None else ""
    level = " ".join(runtime.cpu_features()) if options.arch == "native" else ""
    parts = ["cython", repr(engine()), source, repr(options.key()), module, repr(tool.identity()), repr((flags, link))]
    parts += [repr(found), repr(headers), unknown, level, repr(libraries(found.libraries, found.library_dirs))]
    return store.key([*parts, sys.version, str(sysconfig.get_config_var("SOABI")), repr(_cython())])


def compile(source: str, *, options: Options, name: str, folder: Path) -> CompiledCell:
    """Compile a cell in the private ``folder``; see `ufunc_magic.frontends.cython.cython_unit.compile`."""
    from . import requirements  # what only a new cell needs

    requirements.need_cython()
    from . import cython_unit  # Cython itself: 200 ms that a cached cell saves

    return cython_unit.compile(
        source, options=options, name=name, folder=folder, module=module_name(source, options=options)
    )


def module_name(source: str, *, options: Options) -> str:
    """What the extension module is called: ``-n NAME``, or by its key."""
    return options.name if options.name.isidentifier() else f"_ufm_{key(source, options=options)[:16]}"


def _cython() -> tuple[str, int, int] | None:
    """Which Cython would compile: the file that holds its version."""
    found = importlib.util.find_spec("Cython")
    if found is None or found.origin is None:
        return None
    try:
        status = os.stat(Path(found.origin).parent / "Shadow.py")
    except OSError:
        return (found.origin, 0, 0)
    return (found.origin, status.st_size, status.st_mtime_ns)
