"""Files of the user's own that cells are compiled with: copied where they can go along, refused where they cannot."""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import packages_distributions
from pathlib import Path

from ... import compilers, store
from ...model import Options, SaveError

#: Folders of the system or of a package manager: a path there means the same on other machines.
_SYSTEM = tuple(map(Path, ("/usr", "/opt", "/lib", "/lib64", "/Library", "/System")))
_BINARY = frozenset(".o .obj .a .lib .so .dylib .dll".split())
_READS_FILES = ("-I", "-iquote", "-isystem", "-idirafter", "-cxx-isystem", "-include", "-imacros", "-L")
_ABSOLUTE = re.compile(r"(?:^|[=,\"'])(?:-[A-Za-z]+)?([/~][^,\"']*)|^-[LIFBW]([/~].*)")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*(?:include|embed)[ \t]*[\"<]([^\">\n]+)[\">]", re.MULTILINE)
_FILES_OF_COMMENTS = re.compile(
    r"^\s*#\s*distutils:\s*((?:sources|depends|extra_objects|include_dirs|(?:runtime_)?library_dirs)\s*=.*)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class SourceText:
    """A cell as it is compiled: its text, the key of its language, and its options."""

    text: str
    language: str
    options: Options


@dataclass(frozen=True)
class CarriedFiles:
    """The files that travel with some cells.

    Attributes
    ----------
    contents : mapping
        Path in the package -> what the file holds.
    include, src : sequence of tuple of str
        For each cell, these options as paths in the package, or of the system.
    distributions : frozenset of str
        Packages that have files which the cells cimport.
    """

    contents: Mapping[str, bytes]
    include: Sequence[tuple[str, ...]]
    src: Sequence[tuple[str, ...]]
    distributions: frozenset[str] = field(default=frozenset())


def carry_files(cells: Sequence[SourceText], files_of: Callable[[SourceText], Sequence[str] | None]) -> CarriedFiles:
    """Copy the files of the user's own that ``cells`` are compiled with.

    Parameters
    ----------
    cells : sequence of SourceText
    files_of : callable
        Gives the files that a cell is compiled with; None if nobody knows.

    Raises
    ------
    SaveError
        For a file, folder or library that exists on this machine only.
    """
    working_folder = Path(store.find_working_folder())
    own: list[tuple[list[Path], list[Path]]] = []
    distributions: set[str] = set()
    for cell in cells:
        _refuse(cell)
        paths, folders = _list_known_files(files_of(cell)), _list_searched(cell.options)
        installed = [path for path in paths if _is_installed(path) and cell.language == "cython"]
        installed = [path for path in installed if not _is_within(path, _make_absolute(cell.options.include))]
        distributions |= _find_distributions(installed)
        files = [path for path in paths if not _is_system(path) and path not in installed]
        searched = [f for f in folders if not _is_system(f) and any(path.is_relative_to(f) for path in files)]
        sources = [path.parent for path in _make_absolute(cell.options.src)]
        loose = [path for path in files if not _is_within(path, (*searched, *sources))]
        for path in loose:
            if not path.is_relative_to(working_folder):
                raise SaveError(
                    f"The cell is compiled with {path}, which is in none of the folders that it names.",
                    remedy="Pass the file's folder with -I, and include the file by its name there.",
                )
        # The compiler searches there first for a header in quotes.
        own.append((files, [*([working_folder] if loose else []), *dict.fromkeys(searched)]))
    every = {path for files, _ in own for path in files}
    sources = [path.parent for cell in cells for path in _make_absolute(cell.options.src) if path in every]
    places = _name_places({*sources, *(folder for _, folders in own for folder in folders)}, own=working_folder)
    contents = {place: path.read_bytes() for path in sorted(every) for place in [_place(path, places)]}
    for path in every:
        _refuse_beyond(path, contents[_place(path, places)], places)
    for files, folders in own:
        _refuse_ambiguous(files, folders)
    include = [
        tuple(
            [_place(f, places) for f in folders]
            + [f for f in cell.options.include if _is_system(_make_absolute([f])[0])]
        )
        for cell, (_, folders) in zip(cells, own, strict=True)
    ]
    src = [
        tuple(_place(path, places) if path in every else str(path) for path in _make_absolute(cell.options.src))
        for cell in cells
    ]
    return CarriedFiles(contents, include, src, frozenset(distributions))


def _list_known_files(paths: Sequence[str] | None) -> list[Path]:
    if paths is None:
        raise SaveError(
            "The cell asks with __has_include for a file whose name comes from a macro, so its files are unknown.",
            remedy="Write the file's name in the __has_include.",
        )
    return list(map(Path, paths))


def _list_searched(options: Options) -> list[Path]:
    """Folders that are searched for headers and .pxd files, by an option or for all cells."""
    words = " ".join(os.environ.get(name, "") for name in ("CPPFLAGS", "CFLAGS", "CXXFLAGS")).split()
    return _make_absolute([*options.include, *compilers.search_path(words).every])


# ------------------------------------------------------------------------------------ what cannot go along


def _refuse(cell: SourceText) -> None:
    options = cell.options
    for folder in options.library_dirs:
        if not _is_system(*_make_absolute([folder])):
            raise SaveError(
                f"-L {folder} is a folder of this machine, so the module would find no library elsewhere.",
                remedy="Compile the library's sources with the cell (-S), or install it where the linker looks, "
                "and leave -L out.",
            )
    for word in (*options.compile_args, *options.link_args):
        files = word.startswith(_READS_FILES) or (word in options.link_args and Path(word).suffix in _BINARY)
        path = next((path for match in _ABSOLUTE.finditer(word) for path in match.groups() if path), "")
        if path and _is_system(*_make_absolute([path])):
            continue
        if files or path:
            raise SaveError(
                f"{word} names a file or folder of this machine.",
                remedy="Pass folders of headers with -I and sources with -S; these are copied.",
            )
    for path in _make_absolute(options.src):
        if path.suffix in _BINARY and not _is_system(path):
            raise SaveError(f"-S {path} is machine code for this machine.", remedy="Pass its source.")
    _refuse_absolute(cell.text, "The cell")


def _refuse_absolute(text: str, whose: str) -> None:
    for name in _INCLUDE.findall(text):
        if os.path.isabs(name) and not _is_system(Path(name)):
            raise SaveError(
                f"{whose} includes {name} by its path on this machine.",
                remedy=f'Pass -I {os.path.dirname(name)}, and write #include "{os.path.basename(name)}".',
            )
    for line in _FILES_OF_COMMENTS.findall(text):
        words = re.findall(r"[\w./~+-]+", line.partition("=")[2])
        if not all(os.path.isabs(word) and _is_system(Path(word)) for word in words):
            raise SaveError(
                f"{whose} has the line # distutils: {line.strip()}, which names files of this machine.",
                remedy="Pass folders of headers with -I and sources with -S; these are copied.",
            )


def _refuse_beyond(path: Path, content: bytes, places: Mapping[Path, str]) -> None:
    """Refuse a file that includes another by a path through folders that are not copied whole."""
    text = content.decode(errors="replace")
    _refuse_absolute(text, str(path))
    for name in _INCLUDE.findall(text):
        other = Path(os.path.abspath(path.parent / name))
        if ".." in Path(name).parts and other.is_file() and _find_root(other, places) != _find_root(path, places):
            raise SaveError(
                f"{path} includes {name}, which is outside the folder that is copied.",
                remedy=f"Pass -I {os.path.commonpath([path.parent, other.parent])}, or copy the file.",
            )


def _refuse_ambiguous(files: Iterable[Path], folders: Sequence[Path]) -> None:
    """Refuse two files of one name: which one is meant would be another in the module's folder."""
    contents: dict[str, tuple[Path, bytes]] = {}
    for folder in folders:
        for path in files:
            if path.is_relative_to(folder):
                name, content = str(path.relative_to(folder)), path.read_bytes()
                other = contents.setdefault(name, (path, content))
                if other[1] != content:
                    raise SaveError(f"{name} could mean {other[0]} or {path}.", remedy="Rename one of them.")


# ------------------------------------------------------------------------------------ places of files


def _name_places(folders: Collection[Path], *, own: Path) -> dict[Path, str]:
    """Outermost folder -> its name in the package."""
    outermost = [f for f in sorted(folders) if not any(f != other and f.is_relative_to(other) for other in folders)]
    names: dict[Path, str] = {}
    for folder in outermost:
        stem = "files" if folder == own else re.sub(r"\W", "_", folder.name) or "files"
        free = (stem if n == 1 else f"{stem}{n}" for n in range(1, len(outermost) + 1))
        names[folder] = next(name for name in free if name not in names.values())
    return names


def _find_root(path: Path, places: Mapping[Path, str]) -> Path | None:
    return next((folder for folder in places if path.is_relative_to(folder)), None)


def _place(path: Path, places: Mapping[Path, str]) -> str:
    root = _find_root(path, places)
    assert root is not None, path
    return (Path(places[root]) / path.relative_to(root)).as_posix()


def _make_absolute(paths: Iterable[str]) -> list[Path]:
    return [Path(os.path.abspath(Path(path).expanduser())) for path in paths]


def _is_within(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _is_system(path: Path) -> bool:
    return _is_within(path, _SYSTEM) and not _is_installed(path)


def _is_installed(path: Path) -> bool:
    """Whether a Python package has brought the file."""
    return _is_within(path, _list_site_folders())


def _list_site_folders() -> Iterator[Path]:
    return (Path(sysconfig.get_path(name)) for name in ("purelib", "platlib"))


def _find_distributions(paths: Sequence[Path]) -> set[str]:
    """The distributions that files of installed packages belong to."""
    tops = {
        path.relative_to(site).parts[0] for path in paths for site in _list_site_folders() if path.is_relative_to(site)
    }
    known = packages_distributions() if tops else {}
    return {name for top in tops for name in known.get(top, ())}
