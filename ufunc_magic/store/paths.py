"""Creates and checks folders from which libraries are loaded, and replaces unsafe ones by private ones."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..model import CacheError

_T = TypeVar("_T")

_ATTEMPTS = 3
#: Bytes that a compilation may need for its intermediate files.
_ROOM = 8 << 20


def persist(action: Callable[[Path], _T], root: Path) -> _T:
    """Do ``action`` in ``root``, which is created if it is missing; try up to three times.

    Other processes remove old files.  Network file systems fail with ESTALE, EBUSY or EXDEV when a later attempt
    succeeds, or with ENOENT after a rename that they have done.

    Raises
    ------
    OSError
        The error of the last attempt; EPERM if the folder is not safe.
    """
    for _ in range(_ATTEMPTS - 1):
        with contextlib.suppress(OSError):
            return _try_on(action, root)
    return _try_on(action, root)


def _try_on(action: Callable[[Path], _T], root: Path) -> _T:
    make_folder(root)
    if unsafe := find_fault(root):
        raise OSError(errno.EPERM, unsafe)
    return action(root)


def make_folder(path: Path) -> Path:
    """Create every missing level of ``path`` for this user only; os.makedirs protects only the last."""
    missing = [path]
    while not missing[-1].parent.is_dir():
        missing.append(missing[-1].parent)
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    return path


def make_own_folder(root: Path, *names: str) -> Path:
    """Create a folder inside ``root`` if it is missing.

    Raises
    ------
    OSError
        EPERM if it, or one above it in ``root``, is not safe.
    """
    folder = make_folder(root.joinpath(*names))
    for inner in (root.joinpath(*names[: n + 1]) for n in range(len(names))):
        if unsafe := find_fault(inner):
            raise OSError(errno.EPERM, f"{inner} {unsafe}")
    return folder


def find_fault(folder: Path) -> str:
    """Why ``folder`` is not safe to load libraries from, or ``""``; a missing folder has no fault."""
    try:
        status = os.lstat(folder)
        if stat.S_ISLNK(status.st_mode):
            return "is a symbolic link"
        if not stat.S_ISDIR(status.st_mode):
            return "is not a folder"
        if os.name != "posix":
            return ""
        if status.st_uid != os.geteuid():
            return "belongs to another user"
        if status.st_mode & stat.S_IWOTH:
            return "is writable by everybody"
        if status.st_mode & stat.S_IWGRP:
            return "is writable by its group"
        if not runs_programs(folder):
            return "is on a file system that loads no libraries (noexec)"
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"cannot be inspected ({error.strerror or error})"
    return ""


def runs_programs(folder: Path) -> bool:
    """Whether libraries can be opened from the file system; hardened machines mount /tmp with noexec."""
    return os.name != "posix" or not os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0)


def has_room(folder: Path) -> bool:
    """Whether the file system has room for a compiler's intermediate files.

    Checked before it starts: on a full disk a cell must compile elsewhere, and not fail.
    """
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return False
    return usage.total == 0 or usage.free >= _ROOM


def remove(folder: str | os.PathLike[str]) -> None:
    """Remove a folder with its contents, as far as possible."""
    # rmtree raises some errors in spite of ignore_errors.
    with contextlib.suppress(OSError):
        shutil.rmtree(folder, ignore_errors=True)


def read_time(root: Path) -> int:
    """The file system's own time (ns), 0 if unknown; clocks of machines that share it differ."""
    with contextlib.suppress(OSError):
        os.utime(root)
        return os.stat(root).st_mtime_ns
    return 0


def make_private_folder() -> Path:
    """Create a folder that is removed when this process ends.

    Raises
    ------
    CacheError
        If there is no place for one.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="ufunc_magic-", dir=_find_room()))
    except OSError as error:
        raise CacheError(
            f"No folder for compiled cells can be created: {error}.", remedy="Set TMPDIR to a writable folder."
        ) from error
    owner = os.getpid()
    # A forked child that ends normally must not remove its parent's folder.
    atexit.register(lambda: remove(folder) if os.getpid() == owner else None)
    return folder


def _find_room() -> str:
    """The folder for temporary files; another such folder if it is full or libraries cannot be opened from it."""
    first = tempfile.gettempdir()
    for folder in (first, "/var/tmp", "/dev/shm"):
        if has_room(Path(folder)) and os.access(folder, os.W_OK) and runs_programs(Path(folder)):
            return folder
    return first
