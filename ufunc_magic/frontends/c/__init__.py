"""C and C++ cells: parsed once, their functions and types, the unit to compile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .c_frontend import key as key
    from .c_text import read as read
    from .c_unit import compile as compile
    from .cffi_types import type_definitions as type_definitions
    from .cuda_names import PACKED as PACKED, TYPES as TYPES, VECTORS as VECTORS, stand_for as stand_for
    from .declarations import Reference as Reference
    from .line_markers import own_lines as own_lines
    from .parser import parse as parse, parse_preprocessed as parse_preprocessed
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "c_frontend": "key",
            "c_text": "read",
            "c_unit": "compile",
            "cffi_types": "type_definitions",
            "cuda_names": "PACKED TYPES VECTORS stand_for",
            "declarations": "Reference",
            "line_markers": "own_lines",
            "parser": "parse parse_preprocessed",
        },
    )
