"""Finds the objects of a key that are still valid: their files are unchanged, and their absent files still absent.

A compiler reports the files that it read only afterwards, so they are not part of the key of a cell.  They are in a
manifest under the key, one record for each object, with the state of each file.  A lookup compares size and time of
a file, and reads it only if they differ.  This is the direct mode of ccache.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from ..model import FilesRead
from . import atomic_file

#: Records of one key; with more, the oldest goes.
MOST = 16
#: Nanoseconds within which a file system may give two versions of a file the same time.
_TICK = 2 * 10**9
#: A time that no file has: the content decides.
_NEVER = -1


class Snapshot:
    """The current state of files, each read once."""

    def __init__(self) -> None:
        self._stamps: dict[str, tuple[int, int] | None] = {}
        self._digests: dict[str, str] = {}

    def read_stamp(self, path: str) -> tuple[int, int] | None:
        """Size and time of a file; None if it cannot be read."""
        if path not in self._stamps:
            status = _read_status(path)
            self._stamps[path] = (status.st_size, status.st_mtime_ns) if status else None
        return self._stamps[path]

    def digest(self, path: str) -> str:
        """SHA-256 of a file; ``""`` if it cannot be read."""
        if path not in self._digests:
            with contextlib.suppress(OSError), open(path, "rb") as file:
                self._digests[path] = hashlib.sha256(file.read()).hexdigest()
        return self._digests.setdefault(path, "")


#: The folder in a cache's storage from which other processes import the modules of cells.
MODULES = "modules"
#: Before the name of a module with ``-n NAME``: the folder, in ``sys.path``, of that module alone.
NAMED = "module-"


def import_path() -> tuple[str, ...]:
    """``sys.path`` without the folders that this package has added."""
    ours = os.path.join("storage", NAMED)
    return tuple(path for path in sys.path if ours not in path)


@dataclass(frozen=True)
class Inputs:
    """The files of one object, as they were when its compiler read them.

    Attributes
    ----------
    files : tuple of (path, size, time, digest)
        The digest is ``""`` where size and time decide.
    absent : tuple of (folder, time, names)
        Names that a folder did not contain; it still does not while its time is the same.
    folder : str
        The working folder, if it matters.
    import_path : tuple of str
        ``sys.path``, if it matters.
    """

    files: tuple[tuple[str, int, int, str], ...] = ()
    absent: tuple[tuple[str, int, tuple[str, ...]], ...] = ()
    folder: str = ""
    import_path: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The files alone."""
        return tuple(path for path, *_ in self.files)

    def name(self, key: str) -> str:
        """The key of the object that was compiled from ``key`` and these files."""
        if not (self.files or self.absent):
            return key
        contents = [(path, digest or (size, time)) for path, size, time, digest in self.files]
        absent = [(folder, names) for folder, _, names in self.absent]
        values = (key, contents, absent, self.folder, self.import_path)
        return hashlib.sha256(repr(values).encode(errors="surrogatepass")).hexdigest()

    def hold(self, snapshot: Snapshot | None = None) -> bool:
        """Whether a compiler would read the same now."""
        if self.folder and self.folder != find_working_folder():
            return False
        if self.import_path and self.import_path != import_path():
            return False
        now = snapshot or Snapshot()
        for path, size, time, digest in self.files:
            stamp = now.read_stamp(path)
            if stamp is None or stamp[0] != size:
                return False
            if stamp[1] != time and now.digest(path) != digest:
                return False
        for folder, time, names in self.absent:
            stamp = now.read_stamp(folder)
            unchanged = stamp is not None and stamp[1] == time
            if not unchanged and any(now.read_stamp(os.path.join(folder, name)) for name in names):
                return False
        return True


def find_working_folder() -> str:
    """The current folder; if it has been deleted, a path in which nothing exists."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return os.devnull


def find_creation_time(folder: Path) -> int:
    """The creation time (ns) of a folder without any files, by the clock of its file system."""
    return os.stat(folder).st_mtime_ns


def stamp_files(read: FilesRead, *, since: int) -> Inputs | None:
    """Describe the files that a compilation read, as they are now.

    Parameters
    ----------
    read : FilesRead
    since : int
        When the compilation began: `find_creation_time` of its folder.

    Returns
    -------
    Inputs or None
        None if the files are unknown, or one has changed meanwhile: then the object must not be found again.
    """
    if not read.known:
        return None
    files, now = list[tuple[str, int, int, str]](), Snapshot()
    for path in (*read.files, *read.libraries):
        status = _read_status(path)
        if status is None or _read_change_time(status) > since:
            return None
        time = status.st_mtime_ns if since - status.st_mtime_ns > _TICK else _NEVER
        if path in read.libraries:
            files.append((path, status.st_size, status.st_mtime_ns, ""))
        else:
            files.append((path, status.st_size, time, now.digest(path)))
    for path in read.absent:
        if (status := _read_status(path)) and _read_change_time(status) > since:
            return None
    absent = list[tuple[str, int, tuple[str, ...]]]()
    for folder, names in _group_by_folder(read.absent).items():
        time = (now.read_stamp(folder) or (0, _NEVER))[1]
        absent.append((folder, time if since - time > _TICK else _NEVER, tuple(names)))
    return Inputs(tuple(files), tuple(absent), read.folder, read.import_path)


def _group_by_folder(paths: Iterable[str]) -> dict[str, list[str]]:
    """Missing paths as names in folders that exist; a missing folder represents everything in it."""
    names: dict[str, dict[str, None]] = {}
    for path in paths:
        if not os.path.exists(path):
            folder, name = os.path.split(path)
            while name and not os.path.isdir(folder):
                folder, name = os.path.split(folder)
            names.setdefault(folder, {})[name] = None
    return {folder: [*inside] for folder, inside in names.items()}


def _read_status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):  # absent, or an impossible name
        return None


def _read_change_time(status: os.stat_result) -> int:
    """When a file was written, by the time that no program can set on POSIX; Windows has no such time."""
    return status.st_ctime_ns if os.name == "posix" else status.st_mtime_ns


def read(root: Path, key: str) -> list[Inputs]:
    """The records under ``key``, latest first; none if the file is absent or broken, which removes it."""
    name = f"{key}.files"
    opened = atomic_file.unseal(root / "keys" / name, name)
    with contextlib.suppress(ValueError, TypeError, KeyError):
        return [_read_inputs(*record) for record in json.loads(opened[1])] if opened else []
    return []


def _read_inputs(files: Any, absent: Any, folder: str, import_path: list[str]) -> Inputs:
    groups = ((place, time, tuple(names)) for place, time, names in absent)
    return Inputs(tuple(map(tuple, files)), tuple(groups), folder, tuple(import_path))


def add(root: Path, key: str, inputs: Inputs) -> None:
    """Put a record first under ``key``, in place of an earlier one of the same object."""
    name, own = f"{key}.files", inputs.name(key)
    records = [inputs, *(other for other in read(root, key) if other.name(key) != own)]
    value = json.dumps([astuple(record) for record in records[:MOST]]).encode()
    atomic_file.place(root / "keys" / name, atomic_file.seal(name, "-", value))


def touch(root: Path, key: str) -> None:
    """Note that the records under ``key`` were used."""
    with contextlib.suppress(OSError):  # a read-only cache has no order of use
        os.utime(root / "keys" / f"{key}.files")
