"""Writes a folder of the user's completely or not at all, and replaces it in steps that leave no half-new folder."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from .paths import remove


def write_project(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make a new folder with ``files``, by relative path; it gets its name when all of them are on the disk.

    Raises
    ------
    FileExistsError
        If the name is in use, but not by an empty folder.
    OSError
        If it cannot be written; then no file is left.
    """
    beside = folder.with_name(_make_name())
    try:
        _write(beside, files)
        if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
            folder.rmdir()
        if os.path.lexists(folder):
            raise FileExistsError(folder)
        os.rename(beside, folder)
    finally:  # an interrupt, too, must leave no file
        remove(beside)


def replace_project(folder: Path, part: str, files: Mapping[str, bytes]) -> None:
    """Replace files of a folder: ``part``, a folder in it, as a whole, and then the other ``files`` one by one.

    Other files in the folder stay; other files in ``part`` are removed.

    Raises
    ------
    OSError
        If it cannot be written.  Then ``part`` is unchanged or new as a whole, and so is each other file.
    """
    inside = f"{part}/"
    beside = folder / _make_name()
    new, old, others = beside / "new", beside / "old", beside / "others"
    try:
        beside.mkdir()
        _write(new, {path.removeprefix(inside): files[path] for path in files if path.startswith(inside)})
        _write(others, {path: files[path] for path in files if not path.startswith(inside)})
        os.rename(folder / part, old)
        try:
            os.rename(new, folder / part)
        except BaseException:
            os.rename(old, folder / part)
            raise
        for path in files:
            if not path.startswith(inside):
                os.replace(others / path, folder / path)
    finally:
        if os.path.lexists(folder / part):  # else the only copy is in there
            remove(beside)


def _make_name() -> str:
    """A name that is not in use.  Folders of `tempfile` would deny access to people who may read the others."""
    return f".{secrets.token_hex(8)}"


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir()
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with open(folder / path, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
