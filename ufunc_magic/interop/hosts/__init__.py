"""Programs in C and C++: addresses, headers, libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .c_address import address as address, leaf_address as leaf_address
    from .c_header import get_include as get_include, write_header as write_header
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "c_address": "address leaf_address",
            "c_header": "get_include write_header",
        },
    )
