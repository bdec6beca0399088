"""Names of rooms."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest


def replace_name(patch: pytest.MonkeyPatch, file: ModuleType, name: str, value: object) -> None:
    """Replace a name in the file that defines it, and in the room that lends it to others."""
    patch.setattr(file, name, value)
    room = sys.modules[file.__name__.rpartition(".")[0]]
    if hasattr(room, name):
        patch.setattr(room, name, value)
