"""What every backend offers: a key for the cache, and source to ObjectCode."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ..objectcode import ObjectCode
from ..options import Options

__all__ = ["Backend"]


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
