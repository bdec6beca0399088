"""Compilers: found, described, run, and their messages on the lines of the cell.

In comes a translation unit with options; out comes a library, or a `CompileError` with diagnostics of the cell.

``discovery`` finds compilers and says which options they need; ``description`` asks one what it is and can;
``toolchain`` compiles and links, through ``processes``, where programs are started; ``steps`` are a driver's programs
without the driver, ``standing_by`` starts one before it is needed, ``stand_ins`` is what their linker reads in place
of the C library. ``diagnostics`` reads what compilers and linkers say, ``hints`` knows what to do about it,
``line_map`` puts messages about C of Cython's back on the lines of its cell; ``compiler_texts`` are the assembly and
the remarks for ``--show``. ``includes`` says which headers a text may read, for the cache's key; ``doctor`` shows all
of it; ``nvrtc`` is the room of NVIDIA's compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .compiler_texts import CompilerTexts as CompilerTexts, texts_of as texts_of
    from .description import Description as Description, describe as describe, libmvec_path as libmvec_path
    from .diagnostics import (
        GENERATED as GENERATED,
        counted as counted,
        read_linker as read_linker,
        shorten as shorten,
        source_line as source_line,
    )
    from .discovery import (
        FAST_MATH as FAST_MATH,
        Toolchain as Toolchain,
        base_flags as base_flags,
        base_link as base_link,
        find as find,
        find_all as find_all,
        library_flags as library_flags,
    )
    from .doctor import Diagnosis as Diagnosis, diagnose as diagnose
    from .hints import header_of as header_of, missing_file as missing_file, unknown_name as unknown_name
    from .includes import (
        header_digests as header_digests,
        search_folders as search_folders,
        working_folder as working_folder,
    )
    from .line_map import places as places
    from .precompiled import including as including, precompile as precompile
    from .processes import (
        end_background as end_background,
        how_far as how_far,
        in_background as in_background,
        printed as printed,
        run_python as run_python,
        run_shown as run_shown,
        start_python as start_python,
        together as together,
    )
    from .standing_by import stand_by as stand_by, started_ahead as started_ahead
    from .toolchain import (
        compile_object as compile_object,
        compile_parts as compile_parts,
        compile_shared as compile_shared,
        link_shared as link_shared,
        preprocess as preprocess,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "compiler_texts": "CompilerTexts texts_of",
            "description": "Description describe libmvec_path",
            "diagnostics": "GENERATED counted read_linker shorten source_line",
            "discovery": "FAST_MATH Toolchain base_flags base_link find find_all library_flags",
            "doctor": "Diagnosis diagnose",
            "hints": "header_of missing_file unknown_name",
            "includes": "header_digests search_folders working_folder",
            "line_map": "places",
            "precompiled": "including precompile",
            "processes": "end_background how_far in_background printed run_python run_shown start_python together",
            "standing_by": "stand_by started_ahead",
            "toolchain": "compile_object compile_parts compile_shared link_shared preprocess",
        },
    )
