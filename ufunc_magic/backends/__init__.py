"""What every backend offers, a key for the cache and source to ObjectCode, and what every key is made of."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache as remember
from pathlib import Path
from typing import Protocol

from ..objectcode import ObjectCode
from ..options import Options

__all__ = ["Backend", "engine", "libraries"]


class Backend(Protocol):
    """One language.  A backend is a module with these two functions; it holds no state."""

    def key(self, source: str, *, options: Options) -> str:
        """The cache key of ``source``: everything that could change its machine code.  Starts no process."""

    def compile(self, source: str, *, options: Options, name: str, folder: Path) -> ObjectCode:
        """Compile ``source`` in the private ``folder``.

        Raises
        ------
        UfuncMagicError
            Of the kind that says what is wrong: ParseError, SignatureError, CompileError, ...
        """


def libraries(names: Sequence[str], folders: Sequence[str]) -> list[tuple[str, int, int]]:
    """Libraries in the user's own folders, which may be built anew under the same name: path, size, time."""
    found = []
    for folder in folders:
        for library in names:
            for path in Path(folder).expanduser().glob(f"lib{library}.*"):
                status = path.stat()
                found.append((str(path), status.st_size, status.st_mtime_ns))
    return sorted(found)


@remember
def engine() -> tuple[tuple[str, int, int], ...]:
    """Size and time of every file of this package: another version of it may write other loops.

    Their contents would take 20 ms to read, which a cell found in the cache must not wait for.
    """
    root = Path(__file__).parent.parent
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith((".py", ".c", ".h", ".hpp", ".ll")):
                status = os.stat(os.path.join(folder, name))
                found.append((os.path.relpath(os.path.join(folder, name), root), status.st_size, status.st_mtime_ns))
    return tuple(sorted(found))
