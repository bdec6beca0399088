"""The functions that pickles import by name; this module never moves."""

from __future__ import annotations

from .runtime import (
    function_of as function_of,
    load as load,
    loads as loads,
    realize as realize,
    rebuild as _after,  # noqa: F401 - its name in pickles
)
