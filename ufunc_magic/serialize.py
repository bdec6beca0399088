"""The functions that pickles import by name; this module never moves."""

from __future__ import annotations

from .runtime import (
    load as load,
    load_function as load_function,
    loads as loads,
    realize as realize,
    rebuild as _after,  # noqa: F401 - its name in pickles
)
