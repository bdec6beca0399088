"""Which .pxd and .pxi files Cython reads for a cell, and where a file would be found first, noted while it searches."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ._private import Main, find_root_package_dir, standard_include_path

#: Packages that come with Cython, whose version is in the key, or with NumPy.
_KNOWN = frozenset({"cython", "libc", "libcpp", "cpython", "posix", "openmp", "numpy", "__builtin__"})
_PACKAGE_FILES = ("__init__.py", "__init__.pyx", "__init__.pxd")


@dataclass
class Searches:
    """The files that Cython looked for in one compilation.

    Attributes
    ----------
    module : str
        The cell's module, if nobody else can know its name; it is not searched for.
    folders : tuple of str
        Where .pxd, .pxi and header files are looked for.
    files : dict
        Paths of the files that were found.
    candidates : dict
        Paths where a new file would be found first.
    """

    module: str
    folders: tuple[str, ...] = ()
    files: dict[str, None] = field(default_factory=dict)
    candidates: dict[str, None] = field(default_factory=dict)

    def note(self, name: str, suffix: str, places: list[str], path: str | None) -> None:
        """Note a search for ``name`` in the folders ``places``."""
        if name == self.module or name.partition(".")[0] in _KNOWN:
            return
        if path:
            self.files[os.path.abspath(path)] = None
        names = list(_list_names(name, suffix) if suffix else [name])
        possible = (os.path.join(os.path.abspath(place), name) for place in places for name in names)
        self.candidates.update(dict.fromkeys(possible))


def _list_names(name: str, suffix: str) -> Iterator[str]:
    """Paths below a folder by which Cython finds a module, or which make a package of a folder."""
    yield name + suffix
    *packages, module = name.split(".")
    yield os.path.join(*packages, module + suffix)
    yield os.path.join(*packages, module, "__init__" + suffix)
    for depth in range(1, len(packages) + 1):
        yield from (os.path.join(*packages[:depth], file) for file in _PACKAGE_FILES)


class SearchContext(Main.Context):  # type: ignore[misc]
    """Cython's context that notes its searches."""

    searches: Searches

    def search_include_directories(
        self,
        qualified_name: str,
        suffix: str | None = None,
        source_pos: Any = None,
        include: bool = False,
        sys_path: bool = False,
        source_file_path: str | None = None,
    ) -> str | None:
        """As Cython's own: the path of a file, or None."""
        path: str | None = super().search_include_directories(
            qualified_name, suffix, source_pos, include, sys_path, source_file_path
        )
        places = [*self.include_directories, *(sys.path if sys_path else ()), standard_include_path]
        source = source_file_path or getattr(source_pos[0] if source_pos else None, "filename", "")
        if source and include:
            places.insert(0, os.path.dirname(source))
        elif source:
            places.insert(0, find_root_package_dir(source))
        self.searches.note(str(qualified_name), "" if include else suffix or "", places, path)
        return path
