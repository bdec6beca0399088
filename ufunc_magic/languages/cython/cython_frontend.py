"""The key of a Cython cell in the cache; `cython_unit` makes an extension module with loops of the cell.

Nothing here imports Cython: a cell found in the cache must not pay for it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import sysconfig
from pathlib import Path

import numpy as np

from ... import compilers, runtime
from ...cells import make_cell_key
from ...model import OptionError, Options, ToolchainError
from .cython_settings import Settings, find_torch, list_compiler_flags, list_linker_flags


def make_key(source: str, *, options: Options) -> str:
    """Everything but files that could change the machine code, digested.  Starts no process.

    Raises
    ------
    OptionError, ToolchainError
        For options that no Cython cell can be compiled with.
    """
    module = options.name if options.name.isidentifier() else ""
    if runtime.is_taken(module):
        raise OptionError(
            f"name={module!r} is the name of an imported module, which the cell would replace.",
            remedy="Choose another name.",
        )
    tools = [compilers.find(cplus=options.cplus)]
    if "distutils" in source and not options.cplus:
        with contextlib.suppress(ToolchainError):  # the cell may ask for C++
            tools.append(compilers.find(cplus=True))
    torch = find_torch() if options.torch else None
    versions = [sys.version, str(sysconfig.get_config_var("SOABI")), repr(_find_cython()), np.__version__, repr(torch)]
    cpu = runtime.cpu_features() if names_a_cpu(source) else ()
    return make_cell_key(
        "cython",
        source,
        options=options,
        tools=tools,
        flags=list_compiler_flags(tools[0], options, Settings()),
        link=list_linker_flags(tools[0], options, Settings()),
        more=[module, os.environ.get("CXXFLAGS", ""), *versions, *cpu],
    )


def names_a_cpu(source: str) -> bool:
    """Whether a comment line of the cell may choose a CPU; an option does so for all languages."""
    return "-m" in source


def choose_module_name(source: str, *, options: Options) -> str:
    """The name of the extension module: ``-n NAME``, or made of its key."""
    return options.name if options.name.isidentifier() else f"{runtime.UNNAMED}{make_key(source, options=options)[:12]}"


def _find_cython() -> tuple[str, int, int] | None:
    """Which Cython would compile: the file that holds its version."""
    spec = importlib.util.find_spec("Cython")
    if spec is None or spec.origin is None:
        return None
    status = os.stat(Path(spec.origin).parent / "Shadow.py")
    return (spec.origin, status.st_size, status.st_mtime_ns)
