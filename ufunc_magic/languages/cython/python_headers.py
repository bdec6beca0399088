"""The headers that Cython's C always reads, compiled once per compiler and Python: of a cell of C++ almost half."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ... import cells, compilers, shortcuts
from ...model import Options
from . import cython_settings
from .cython_settings import Settings

_PYTHON = '#define PY_SSIZE_T_CLEAN\n#include "Python.h"\n'
_MORE = ("pythread.h", "structmember.h", "compile.h", "frameobject.h", "traceback.h")
#: Options that change none of these headers.
_NO_MATTER = re.compile(r"-fno-builtin-(?:pow|cos)f?|-D__UFM_LEVEL=\d|-I" + re.escape(np.get_include()))


def choose_header_flags(c: str, *, tool: compilers.Toolchain, unit: Sequence[str]) -> tuple[str, ...]:
    """Options with which the unit ``c`` of Cython's, compiled with the flags ``unit``, begins with these headers.

    Empty where they are not compiled yet, where other flags are given, or where ``c`` has something before them.
    """
    usual = _list_flags(tool)
    others = [flag for flag in unit if flag not in usual and not _NO_MATTER.fullmatch(flag)]
    first = re.search(r"^[ \t]*#[ \t]*include[ \t]*(.*)", c, re.M)
    # Headers compiled with this one serve without it.
    needed = {*usual} - {"-fno-trapping-math"}
    if others or not needed <= {*unit} or not first or first[1] != '"Python.h"':
        return ()
    return shortcuts.include_precompiled(tool, _write_text(tool), flags=usual)


def precompile_headers(*, options: Options) -> None:
    """Compile them, if they are not compiled: for the background, since it takes seconds."""
    tool = compilers.find(cplus=options.cplus)
    shortcuts.precompile(tool, _write_text(tool), flags=_list_flags(tool))


def has_headers(*, cplus: bool) -> bool:
    """Whether they are compiled, or the compiler cannot do that."""
    tool = compilers.find(cplus=cplus)
    if not shortcuts.can_precompile(tool):
        return True
    return bool(shortcuts.include_precompiled(tool, _write_text(tool), flags=_list_flags(tool)))


def is_cplus(source: str, *, options: Options) -> bool:
    """Whether a cell is compiled as C++, by its options or by its own comments."""
    return options.cplus or cython_settings.read(source, options=options).cplus


def _write_text(tool: compilers.Toolchain) -> str:
    own = ["math.h", "cmath", "ios", "cstdlib", "atomic"] if tool.cplus else ["stdatomic.h"]
    return _PYTHON + "".join(f"#include <{header}>\n" for header in ("stddef.h", *own, *_MORE))


def _list_flags(tool: compilers.Toolchain) -> tuple[str, ...]:
    """The flags of a cell without settings."""
    plain = cython_settings.list_compiler_flags(tool, Options(cplus=tool.cplus), Settings(cplus=tool.cplus))
    copies = cells.find_sound_copies(compilers.describe(tool))
    return (*plain, *copies, "-fno-math-errno", "-fno-trapping-math")
