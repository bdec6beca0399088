"""C and C++ cells: text to functions with their types and effects, and the road to object code.

In goes a cell's text; out comes a `Unit` with every function in it, and the tree that it was read from, which
`forms` reads on.  The text is parsed once: as typed, or as the preprocessor leaves it.  Nothing is run, and text
that is not C is no error: the compiler reports it.

===============  ======================================================================================
`c_frontend`     the key of a cell
`c_unit`         the road of ``compile``, readable from top to bottom
`parser`         functions of a text: where they stand, their parameters, what their bodies do
`prototypes`     functions that are only declared, in the cell or in headers that are wrapped: for a library to bind
`declarations`   specifiers and declarators to names, types and parameters; typedefs seen through
`side_effects`   what bodies do to their pointers and to the world, calls followed
`index_bounds`   pointers whose length one of the integers is, by the loops around their indices
`lowering`       the tree to the IR, function by function; `statement_lowering`, `loop_lowering`, `call_lowering`,
                 `expression_lowering`, `type_lowering` lower their part, `lowering_context`, `lowering_values` hold it
`c_text`         the syntax tree, and below it comments, directives, constant expressions
`line_markers`   the preprocessor's output: which lines are the user's
`plain_functions`  functions that are no ufuncs: which are bound, and what points to them
`cffi_types`     type definitions for functions that are called through cffi
`cuda_names`     CUDA's own types and functions
===============  ======================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .c_frontend import key as key
    from .c_text import read as read
    from .c_unit import compile as compile
    from .cffi_types import type_definitions as type_definitions
    from .cuda_names import (
        PACKED as PACKED,
        PREDEFINED as PREDEFINED,
        TYPES as TYPES,
        VECTORS as VECTORS,
        stand_for as stand_for,
    )
    from .lowering import lower as lower
    from .parser import parse as parse, parse_cell as parse_cell
    from .plain_functions import BUILTIN as BUILTIN
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "c_frontend": "key",
            "c_text": "read",
            "c_unit": "compile",
            "cffi_types": "type_definitions",
            "cuda_names": "PACKED PREDEFINED TYPES VECTORS stand_for",
            "lowering": "lower",
            "parser": "parse parse_cell",
            "plain_functions": "BUILTIN",
        },
    )
