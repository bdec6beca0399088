"""The functions that pickles of every release import by name, so this module never moves."""

from __future__ import annotations

from .runtime import (
    exception as exception,
    function_of as function_of,
    load as load,
    loads as loads,
    realize as realize,
    rebuild as _after,  # noqa: F401 - its name in pickles
)
