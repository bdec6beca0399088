"""Functions as plain Python: the baseline that is timed, and what results are checked against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .c_form import NotPython as NotPython, write as write
    from .dialects import cython_text as cython_text, numexpr_text as numexpr_text
    from .runtime_names import namespace as namespace
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "c_form": "NotPython write",
            "dialects": "cython_text numexpr_text",
            "runtime_names": "namespace",
        },
    )
