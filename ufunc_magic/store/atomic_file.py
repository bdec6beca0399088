"""Files that are complete or absent: written under another name, sealed with a digest, checked when they are read.

No lock is taken and no file is changed in place, so a process may be killed at any instruction.  The names of its
unfinished files begin with a dot; the next `sweep` removes them.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from .paths import make_folder, remove

_MAGIC = "ufunc_magic 2"
#: The beginning of files in the format of another version.
_OTHER_MAGIC = re.compile(rb"ufunc_magic (?!2 )\d+ ")
#: The prefix of a seal that is a signature.
_SIGNED = "hmac:"
#: Nanoseconds after which an unfinished file, or the folder of a compilation, belongs to a dead process.
_UNFINISHED = 3600 * 10**9
_STALE = 24 * 3600 * 10**9
#: Prefix of files that NFS keeps because they were removed while they were open; they are not counted or removed.
_NFS = ".nfs"


# --------------------------------------------------------------------------------------------- one file


def place(path: Path, content: bytes, *, fresh: bool = False) -> bool:
    """Write ``content`` to ``path`` atomically; False if the file exists and ``fresh`` leaves it alone.

    A library that another machine has mapped over the network loses its pages when another file gets its name, so
    code is placed ``fresh``.
    """
    descriptor, beside = tempfile.mkstemp(prefix=".", dir=make_folder(path.parent))
    try:
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(descriptor, left) :]
        finally:
            os.close(descriptor)
        if fresh:
            return _link(beside, path)
        os.replace(beside, path)
    except BaseException:  # an interrupt, too, must leave no file
        _unlink(beside)
        raise
    return True


def move(files: Iterable[Path], folder: Path, *, most: int) -> list[Path]:
    """Move whole files of the same file system into ``folder``, and remove all but the ``most`` newest there."""
    places = []
    for path in files:
        places.append(make_folder(folder) / path.name)
        if path.exists():  # otherwise an attempt that failed has moved it
            os.replace(path, places[-1])
    present = [(status.st_mtime_ns, path) for path in folder.iterdir() if (status := path.stat())]
    for _, path in sorted(present)[:-most]:
        _unlink(str(path))
    return places


def _link(beside: str, path: Path) -> bool:
    try:
        os.link(beside, path)
    except FileExistsError:
        _unlink(beside)
        return False
    except OSError:  # a file system without links
        os.replace(beside, path)
        return True
    _unlink(beside)
    return True


def read(path: Path) -> tuple[bytes, os.stat_result] | None:
    """The content of a file and its status when it was read; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(), os.fstat(file.fileno())
    except OSError:
        return None


def discard(path: Path, status: os.stat_result) -> None:
    """Remove a broken file, unless another process has replaced it since it was read."""
    with contextlib.suppress(OSError):
        if os.path.samestat(os.stat(path), status):
            os.unlink(path)


def seal(name: str, digest: str, value: bytes) -> bytes:
    """``value`` after a line with the file's name, the digest of its code, and the seal of the value."""
    return f"{_MAGIC} {name} {digest} {_compute_seal(name, digest, value)}\n".encode() + value


def _compute_seal(name: str, digest: str, value: bytes) -> str:
    """The seal of a value: a digest, or an HMAC if ``UFUNC_MAGIC_KEY`` is set."""
    key = os.environ.get("UFUNC_MAGIC_KEY", "")
    if not key:
        return hashlib.sha256(value).hexdigest()
    # The digest is that of the code, so an object without a valid signature cannot be opened.
    return (
        _SIGNED
        + hmac.digest(key.encode(errors="surrogateescape"), f"{name} {digest} ".encode() + value, "sha256").hex()
    )


def unseal(path: Path, name: str) -> tuple[str, bytes] | None:
    """Digest and value of a sealed file; None if it is absent or incomplete, or has another name."""
    if (file := read(path)) is None:
        return None
    content, status = file
    head, _, value = content.partition(b"\n")
    digest = head.split(b" ")[3].decode(errors="replace") if head.count(b" ") == 4 else ""
    if content == seal(name, digest, value) and re.fullmatch(r"[0-9a-f]{64}|-", digest):
        return digest, value
    # Other processes may be able to use a file that has another signature, no signature, or another version.
    if (_SIGNED.encode() in head) == bool(os.environ.get("UFUNC_MAGIC_KEY")) and not _OTHER_MAGIC.match(head):
        discard(path, status)
    return None


# -------------------------------------------------------------------------------------------- all files


def list_files(root: Path) -> Iterator[tuple[int, str, int]]:
    """Time of last use, path and size of every file that counts towards the limit."""
    for item in _walk(root / "keys", root / "code"):
        with contextlib.suppress(OSError):  # another process may evict, too
            if not item.name.startswith("."):
                status = item.stat(follow_symlinks=False)
                yield status.st_mtime_ns, item.path, status.st_size


def sweep(root: Path, now: int) -> None:
    """Remove the unfinished files of killed processes, and unfinished files with a time in the future."""
    with contextlib.suppress(OSError), os.scandir(root / "scratch") as listing:
        for item in listing:
            if _is_beyond(item, now, _STALE):
                remove(item.path)
    for item in _walk(root / "keys", root / "code", root / "facts"):
        if item.name.startswith(".") and not item.name.startswith(_NFS) and _is_beyond(item, now, _UNFINISHED):
            _unlink(item.path)


def remove_old(folder: Path, before: int) -> None:
    """Remove the files and folders in ``folder`` that nobody has changed since."""
    for parent, folders, files in os.walk(folder, topdown=False):
        for names, remove_one in ((files, os.unlink), (folders, os.rmdir)):
            for path in (os.path.join(parent, name) for name in names):
                with contextlib.suppress(OSError):  # not empty, or gone
                    if os.lstat(path).st_mtime_ns < before:
                        remove_one(path)


def _walk(*folders: Path) -> Iterator[os.DirEntry[str]]:
    pending = [str(folder) for folder in folders]
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as listing:
            for item in listing:
                if item.is_dir(follow_symlinks=False):
                    pending.append(item.path)
                else:
                    yield item


def _is_beyond(item: os.DirEntry[str], now: int, age: int) -> bool:
    try:
        return abs(now - item.stat(follow_symlinks=False).st_mtime_ns) > age
    except OSError:
        return False


def _unlink(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
