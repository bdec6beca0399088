"""Pointers, capsules and arrays of other libraries, without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .pointers import asarray as asarray, ascapsule as ascapsule, pointer as pointer
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "pointers": "asarray ascapsule pointer",
        },
    )
