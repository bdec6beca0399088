"""Locks by name: of threads that would do the same at once, one does it, and the others find it done."""

from __future__ import annotations

import os
import threading

#: Never dropped: as many as there are cells, each smaller than its cell's name.
_locks: dict[str, threading.RLock] = {}


def lock_of(name: str) -> threading.RLock:
    """The lock of that name, the same for all threads."""
    return _locks.setdefault(name, threading.RLock())


if hasattr(os, "register_at_fork"):
    # The threads that had them are not in the child to let go.
    os.register_at_fork(after_in_child=_locks.clear)
