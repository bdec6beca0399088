"""Functions to C loops: pure text, out of ``ufunc_magic/templates``.

In come a cell's text and the `Signature` of each function; out comes one translation unit with its loops.

``unit`` writes the whole unit, and reads the loops' types back from what the compiler made of it; ``loops`` writes one
loop; ``loop_types`` spells the types of its operands, ``record_layout`` those of structures; ``plain_calls``
writes callers for functions that are no ufuncs.
``templates/driver.c`` does what is the same for all cells: strides, blocks, threads, floating-point flags, interrupts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .loop_types import (
        INSTRUCTIONS as INSTRUCTIONS,
        NO_VECTORS as NO_VECTORS,
        Instance as Instance,
        VectorMath as VectorMath,
        callee as callee,
        cplus_type as cplus_type,
        type_numbers as type_numbers,
        type_text as type_text,
    )
    from .loops import template as template
    from .plain_calls import Exports as Exports, contained as contained
    from .unit import (
        Translation as Translation,
        append as append,
        c_string as c_string,
        copy as copy,
        driver as driver,
        in_terms_of_t as in_terms_of_t,
        instances as instances,
        prefix_of as prefix_of,
        reached as reached,
        read_records as read_records,
        read_types as read_types,
        translate as translate,
        types_wanted as types_wanted,
        vector_math as vector_math,
        with_headers as with_headers,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "loop_types": "INSTRUCTIONS NO_VECTORS Instance VectorMath callee cplus_type type_numbers type_text",
            "loops": "template",
            "plain_calls": "Exports contained",
            "unit": (
                "Translation append c_string copy driver in_terms_of_t instances prefix_of reached read_records "
                "read_types translate types_wanted vector_math with_headers"
            ),
        },
    )
