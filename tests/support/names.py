"""Names of rooms."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest


def replace_name(patch: pytest.MonkeyPatch, file: ModuleType, name: str, value: object) -> None:
    """Replace a name in the file that defines it, and in the room that lends it to others."""
    room = sys.modules[file.__name__.rpartition(".")[0]]
    is_lent = hasattr(room, name)  # which binds the name there: before it is replaced, or the room keeps the new value
    patch.setattr(file, name, value)
    if is_lent:
        patch.setattr(room, name, value)
