"""Lazy names of a room: the file that defines a name is loaded on first use, not when the room is imported."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(room: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` (PEP 562) for the public names of a room.

    Parameters
    ----------
    room : str
        The room's full name.
    homes : mapping of str to str
        File of the room -> the names it defines, separated by spaces.

    Notes
    -----
    The name is not bound in the room, so that a test that replaces it in its own file replaces it everywhere.
    """
    files = {name: file for file, names in homes.items() for name in names.split()}

    def __getattr__(name: str) -> Any:
        if name in files:
            file = f"{room}.{files[name]}"
            # Not from sys.modules: what another thread is importing is there before it is whole.
            return getattr(importlib.import_module(file), name)
        raise AttributeError(f"module {room!r} has no attribute {name!r}")

    return __getattr__
