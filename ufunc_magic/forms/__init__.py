"""Functions as plain Python: the baseline that is timed, what results are checked against, and what rivals are made of.

In comes a C, C++ or CUDA text or its tree (`CText`) with a signature (`write`), or a Cython cell with the functions of
it that are wanted (`cython.write`); out comes a `PythonForm`, three texts of the function, or a `NotPython` with the
reason.

* `value`: expressions as ``ast`` nodes with what is known of their values; forms; nodes to text.
* `arithmetic_expressions`: C's operators and conversions as Python's.
* `integer_rules`: where C's integers may differ from Python's, and what a person writes who knows the inputs.
* `operand_lists`: a ufunc's operands as parameters, nested lists and results.
* `math_names`, `runtime_names`, `random_rounding`: C's library in Python's words, and what the texts run with.
* `c_tree`, `c_cell`, `c_values`, `c_body`, `c_form`: the reader of tree-sitter's tree.
* `cython`: the reader of Cython's tree.
* `numpy_writer` with `numpy_values`, `numpy_reductions`, `dataflow`; `dialects`: what is made of the Python form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .c_form import write as write
    from .c_tree import (
        CText as CText,
        one_at_a_time as one_at_a_time,
        readable as readable,
        text_of as text_of,
        tree as tree,
        walk as walk,
    )
    from .dialects import cython_text as cython_text, numexpr_text as numexpr_text
    from .integer_rules import Watched as Watched, agreeing_text as agreeing_text
    from .random_rounding import at_random as at_random
    from .runtime_names import namespace as namespace
    from .value import NotPython as NotPython, PythonForm as PythonForm
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "c_form": "write",
            "c_tree": "CText one_at_a_time readable text_of tree walk",
            "dialects": "cython_text numexpr_text",
            "integer_rules": "Watched agreeing_text",
            "random_rounding": "at_random",
            "runtime_names": "namespace",
            "value": "PythonForm NotPython",
        },
    )
