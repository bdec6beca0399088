"""The notebook: option lines and cells in, bound names and a report out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .magics import load as load, unload as unload
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "magics": "load unload",
        },
    )
