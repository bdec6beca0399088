"""The cache of compiled code: whole files or none, found by key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .cache import Cache as Cache, default as default, key as key, read_size as read_size
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "cache": "Cache default key read_size",
        },
    )
