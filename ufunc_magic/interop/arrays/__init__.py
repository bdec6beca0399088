"""Pointers, capsules and arrays of other libraries, without a copy.

* `pointers`: `asarray`, `ascapsule`, `pointer`, and whether a shape and strides fit what they are laid over.
* `memory`: the memory that an object describes.
* `capsules`: PyCapsules, and the tensors of DLPack in them.
"""

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
