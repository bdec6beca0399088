"""The switch that turns every shortcut off."""

from __future__ import annotations

import os


def is_plain() -> bool:
    """Whether ``UFUNC_MAGIC_PLAIN`` asks for the plain road: the driver's command, one unit, one object, link, load."""
    return os.environ.get("UFUNC_MAGIC_PLAIN", "") not in ("", "0")
