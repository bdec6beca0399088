"""Locks by name: if several threads would do the same thing, one does it, and the others wait."""

from __future__ import annotations

import os
import threading

#: Never dropped: there is one for each cell, smaller than the cell's name.
_locks: dict[str, threading.RLock] = {}


def lock_of(name: str) -> threading.RLock:
    """The lock of that name, the same for all threads."""
    return _locks.setdefault(name, threading.RLock())


if hasattr(os, "register_at_fork"):
    # The threads that held them do not exist in the child, so nobody would release them.
    os.register_at_fork(after_in_child=_locks.clear)
