"""Whether files are still the same, by their sizes and times."""

from __future__ import annotations

import os
from collections.abc import Iterable


def stamp(files: Iterable[str]) -> list[tuple[str, int, int]]:
    """Files with their sizes and times, to be remembered."""
    return [(path, *stamp_of(path)) for path in files]


def are_unchanged(files: Iterable[tuple[str, int, int]]) -> bool:
    """Whether files with a `stamp` are still the same."""
    return all((size, time) == stamp_of(path) for path, size, time in files)


def stamp_of(path: str) -> tuple[int, int]:
    try:
        stat = os.stat(path)
    except OSError:
        return 0, 0
    return stat.st_size, stat.st_mtime_ns
