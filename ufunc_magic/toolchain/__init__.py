"""Compilers: found, described, run, and their messages on the lines of the cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .compiler_texts import CompilerTexts as CompilerTexts, texts_of as texts_of
    from .description import Description as Description, fact_name as fact_name, libmvec_path as libmvec_path
    from .diagnostics import (
        GENERATED as GENERATED,
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
    from .includes import (
        header_digests as header_digests,
        search_folders as search_folders,
        working_folder as working_folder,
    )
    from .line_map import places as places, with_lines as with_lines
    from .processes import together as together
    from .toolchain import (
        compile_object as compile_object,
        compile_shared as compile_shared,
        describe as describe,
        link_shared as link_shared,
        preprocess as preprocess,
        printed as printed,
        run as run,
        run_python as run_python,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "compiler_texts": "CompilerTexts texts_of",
            "description": "Description fact_name libmvec_path",
            "diagnostics": "GENERATED read_linker shorten source_line",
            "discovery": "FAST_MATH Toolchain base_flags base_link find find_all library_flags",
            "doctor": "Diagnosis diagnose",
            "includes": "header_digests search_folders working_folder",
            "line_map": "places with_lines",
            "processes": "together",
            "toolchain": "compile_object compile_shared describe link_shared preprocess printed run run_python",
        },
    )
