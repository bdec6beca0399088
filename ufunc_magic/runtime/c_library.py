"""The C library of this process: its standard output, its floating-point environment."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from functools import cache
from typing import Any


def flush_stdio() -> None:
    """Flush C's standard output, so that it appears before later output."""
    flush, stream = _find_output()
    flush(stream)


@cache
def _find_output() -> tuple[Any, ctypes.c_void_p | None]:
    """``fflush`` and C's ``stdout``; None, which means every stream, if ``stdout`` has another name.

    Every stream would include inputs, and a thread that reads from one holds its lock until input comes.
    """
    try:
        return _open_process().fflush, ctypes.c_void_p.in_dll(_open_process(), "stdout")
    except ValueError:
        return _open_process().fflush, None


@contextlib.contextmanager
def keep_arithmetic() -> Iterator[None]:
    """Rounding, denormals and traps stay as they are: libraries linked with -ffast-math change them when opened."""
    try:
        ask, put = _open_process().fegetenv, _open_process().fesetenv
    except AttributeError:  # a C library that has them elsewhere
        yield
        return
    before, after = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
    ask(before)
    try:
        yield
    finally:
        ask(after)
        if before.raw != after.raw:
            put(before)


@cache
def _open_process() -> ctypes.CDLL:
    """The symbols of this process, the C library's among them."""
    return ctypes.CDLL(None) if os.name == "posix" else ctypes.cdll.msvcrt
