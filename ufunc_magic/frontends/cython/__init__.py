"""Cython cells: Cython's own tree and C, with loops appended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .annotate import Annotated as Annotated
    from .cython_frontend import key as key
    from .cython_unit import compile as compile
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "annotate": "Annotated",
            "cython_frontend": "key",
            "cython_unit": "compile",
        },
    )
