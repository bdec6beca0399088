"""Ends OpenMP's threads before this process forks: GNU's library would wait for them in the child, for ever."""

from __future__ import annotations

import ctypes
import os
from typing import Any

#: ``omp_pause_hard`` of omp.h: give all up that belongs to threads that wait for work.
_HARD = 2
#: The function of each OpenMP library in this process, by address.
_pausing: dict[int | None, Any] = {}


def note_threads(handle: ctypes.CDLL) -> None:
    """Note the OpenMP library that a library uses, if it uses one.  Its threads start again with the next loop."""
    pause = getattr(handle, "omp_pause_resource_all", None)
    if pause is not None and hasattr(os, "register_at_fork"):
        if not _pausing:
            os.register_at_fork(before=end_threads)
        _pausing[ctypes.cast(pause, ctypes.c_void_p).value] = pause


def end_threads() -> None:
    """End the threads that wait for this thread's next loop."""
    for pause in tuple(_pausing.values()):
        pause(_HARD)
