"""One stored object: a key's file, which says what the code is, and the file of the code."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..model import CacheError
from . import atomic_file

__all__ = ["Entry", "code_of", "read_entry", "saying", "write_entry"]


@dataclass(frozen=True)
class Entry:
    """One stored object.

    ``library`` is the file to open, ``code`` its bytes, ``digest`` their sha256, ``record`` what the
    publisher wrote about them.
    """

    key: str
    digest: str
    library: Path
    record: bytes = field(repr=False)
    code: bytes = field(repr=False)

    def copy_to(self, path: Path) -> Path:
        """Write the code to a file of its own, for a linker that goes by file names."""
        with saying("written", path):
            path.write_bytes(self.code)
        return path


def read_entry(root: Path, key: str) -> Entry | None:
    """The object under ``key``, None where its files are not whole; what is broken is removed."""
    name = root / "keys" / key
    if not (opened := atomic_file.unseal(name, key)):
        return None
    digest, record = opened
    library = _library(root, digest)
    if (file := atomic_file.read(library)) is None:
        return None
    code, status = file
    if hashlib.sha256(code).hexdigest() != digest:
        atomic_file.discard(library, status)
        return None
    for path in (library, name):
        with contextlib.suppress(OSError):  # a read-only cache has no order of use
            os.utime(path)
    return Entry(key, digest, library, record, code)


def write_entry(root: Path, key: str, record: bytes, code: bytes) -> Entry:
    """Store an object under ``key``, whatever was there."""
    digest = hashlib.sha256(code).hexdigest()
    library = _library(root, digest)
    for fresh in (True, False):
        # A whole file is left alone: it may be open somewhere.  A broken one is replaced, never written to.
        if (file := atomic_file.read(library)) and file[0] == code:
            os.utime(library)
            break
        if atomic_file.place(library, code, fresh=fresh):
            break
    # The object first: a key never stands for an object that is not there yet.
    atomic_file.place(root / "keys" / key, atomic_file.seal(key, digest, record))
    return Entry(key, digest, library, record, code)


def _library(root: Path, digest: str) -> Path:
    return root / "code" / digest[:2] / f"{digest}.so"


def code_of(path: Path) -> bytes:
    """What a compiler has made."""
    with saying("read", path):
        return path.read_bytes()


@contextlib.contextmanager
def saying(what: str, path: Path) -> Iterator[None]:
    """Raise CacheError, with a remedy, where a file cannot be written or read."""
    try:
        yield
    except OSError as error:
        raise CacheError(
            f"{path} cannot be {what} ({error.strerror or error}).",
            remedy="Free some disk space, or set UFUNC_MAGIC_CACHE to a folder of your own; then run the cell again.",
        ) from error
