"""Cython functions as plain Python: the cell with its types taken away, or with C's answers.

In come a cell's text and what is known of its functions (`FormRequest`), out comes a `PythonForm` of each.

* `cython_tree`, `cython_types`, `cython_cell`: Cython's own parser, its types as C's, a cell's module level.
* `cython_values`, `cython_calls`, `cython_body`: expressions, calls, statements.
* `cython_form`: whole modules, with a ufunc's core dimensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .cython_form import FormRequest as FormRequest, write as write
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "cython_form": "FormRequest write",
        },
    )
