"""What a Cython cell is cached under; `cython_unit` makes an extension module with loops of it.

Nothing here imports Cython: a cell found in the cache must not pay for it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from pathlib import Path

from ... import compilers, runtime
from ...cells import cell_key
from ...model import OptionError, Options
from . import cython_settings, dependencies


def key(source: str, *, options: Options) -> str:
    """Everything that could change the machine code, digested.  Starts no process.

    Raises
    ------
    OptionError, ToolchainError
        For what no Cython cell can be compiled with.
    """
    module = options.name if options.name.isidentifier() else ""
    if runtime.is_taken(module):
        raise OptionError(
            f"name={module!r} is the name of an imported module, which the cell would replace.",
            remedy="Choose another name.",
        )
    settings = cython_settings.read(source, options=options, module=module)
    options = cython_settings.completed(options, settings)
    tool = compilers.find(cplus=options.cplus)
    files = [Path(f) for f in (*settings.sources, *settings.depends)]
    return cell_key(
        "cython",
        source,
        options=options,
        tool=tool,
        flags=cython_settings.compiler_flags(tool, options, settings),
        link=cython_settings.linker_flags(tool, options, settings),
        headers=dependencies.digests(source, folders=settings.folders, files=files, module=module),
        libraries=(settings.libraries, settings.library_dirs),
        more=[module, repr(settings), sys.version, str(sysconfig.get_config_var("SOABI")), repr(_cython())],
    )


def drawn_files(source: str, *, options: Options) -> tuple[tuple[str, ...] | None, tuple[Path, ...]]:
    """Files that a cell may be compiled with, those of installed packages too, and the folders where they are.

    Of the files, which may be more than the compiler reads, None where their names are computed by macros.
    """
    settings = cython_settings.read(source, options=options)
    files = [Path(f) for f in (*settings.sources, *settings.depends)]
    digests = dependencies.digests(source, folders=settings.folders, files=files)
    return None if digests is None else tuple(path for path, _ in digests), settings.folders


def module_name(source: str, *, options: Options) -> str:
    """What the extension module is called: ``-n NAME``, or by its key."""
    return options.name if options.name.isidentifier() else f"_ufm_{key(source, options=options)[:16]}"


def _cython() -> tuple[str, int, int] | None:
    """Which Cython would compile: the file that holds its version."""
    spec = importlib.util.find_spec("Cython")
    if spec is None or spec.origin is None:
        return None
    status = os.stat(Path(spec.origin).parent / "Shadow.py")
    return (spec.origin, status.st_size, status.st_mtime_ns)
