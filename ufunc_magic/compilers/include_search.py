"""Which files a compiler read, by its own report, and where it looked before it found them.

Compilers list the files that they read in rules for make (``-MD``), which costs nothing.  They do not list where they
looked in vain, and a new file there changes the meaning of the same text.  Those paths follow from the order in which
folders are searched (https://gcc.gnu.org/onlinedocs/cpp/Search-Path.html), from the ``#include`` lines of the user,
and from the names of the headers that were read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..model import FilesRead
from ..store import find_working_folder
from .description import SEARCH_VARIABLES, describe
from .discovery import Toolchain

_FOLDER_OPTIONS = ("-iquote", "-I", "-isystem", "-cxx-isystem", "-idirafter")
_FILE_OPTIONS = ("-include", "-imacros")

#: A name after a directive; where a macro has the name, its first letter.
_NAME = r"[ \t]*(?:\"([^\"\n\0]+)\"|<([^>\n\0]+)>|(\S))"
#: Directives have several spellings, so only the word counts, even in prose, which only adds candidates.
_INCLUDE = re.compile(rf"\b(?:include|include_next|import|embed)\b{_NAME}")
#: Lookups that no compiler reports: of the preprocessor for no file, and of the assembler.
_UNREPORTED = re.compile(rf"(?:__has_(?:include|embed)\w*[ \t]*\(|\.inc(?:bin|lude)[ \t]+\\?){_NAME}")
_SPLICE = re.compile(r"\\[ \t]*\r?\n")


def report_flags(output: Path) -> tuple[str, str, str]:
    """Options that make a compiler report the files that it reads; ``output`` is the file that it writes."""
    return "-MD", "-MF", str(output.with_suffix(".d"))


def read_report(rule: str) -> list[str]:
    """The files in a rule for make, as the compiler spells them."""
    _, _, files = rule.replace("\\\r\n", " ").replace("\\\n", " ").partition(": ")
    words = re.findall(r"(?:\\[ #\\]|\S)+", files)
    return [re.sub(r"\\([ #\\])", r"\1", word).replace("$$", "$") for word in words]


@dataclass(frozen=True)
class SearchPath:
    """Where a compiler looks for headers besides its own folders.

    Attributes
    ----------
    quoted : tuple of str
        Folders for names in quotes, after the folder of the including file.
    folders : tuple of str
        Folders for all names.
    late : tuple of str
        Folders after the compiler's own.
    forced : tuple of str
        Headers that are included before the text.
    """

    quoted: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    forced: tuple[str, ...] = ()

    @property
    def every(self) -> tuple[str, ...]:
        """All folders."""
        return (*self.quoted, *self.folders, *self.late)


def search_path(arguments: Iterable[str], *, environ: Mapping[str, str] | None = None) -> SearchPath:
    """The folders and files that a compiler's arguments and environment add to its search.

    Parameters
    ----------
    arguments : iterable of str
        ``-I`` and similar options, with their value in the same word or in the next.
    environ : mapping
        ``os.environ`` if omitted.
    """
    environ = os.environ if environ is None else environ
    values: dict[str, list[str]] = {name: [] for name in (*_FOLDER_OPTIONS, *_FILE_OPTIONS, *SEARCH_VARIABLES)}
    words = iter(arguments)
    for word in words:
        if word in _FILE_OPTIONS:
            values[word].append(next(words, ""))
        elif option := next((option for option in _FOLDER_OPTIONS if word.startswith(option)), ""):
            values[option].append(word.removeprefix(option) or next(words, ""))
    for name in SEARCH_VARIABLES:
        values[name] = [f or os.curdir for f in environ[name].split(os.pathsep)] if environ.get(name) else []
    ordered = ("-I", "CPATH", "-isystem", "-cxx-isystem", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")
    return SearchPath(
        quoted=tuple(values["-iquote"]),
        folders=tuple(folder for name in ordered for folder in values[name]),
        late=tuple(values["-idirafter"]),
        forced=tuple(file for name in _FILE_OPTIONS for file in values[name]),
    )


def find_files_read(
    toolchain: Toolchain,
    text: str,
    *,
    folder: Path,
    flags: Sequence[str],
    sources: Iterable[str | os.PathLike[str]] = (),
    provided: Sequence[str] = (),
) -> FilesRead:
    """The files of the user that compilations in a private folder read, by the compiler's reports there.

    Parameters
    ----------
    toolchain : Toolchain
    text : str
        What the compiler read from its standard input, as far as its includes matter.
    folder : pathlib.Path
    flags : sequence of str
        The options of the compilation.
    sources : iterable of path
        Sources and objects that were compiled and linked with ``text``.
    provided : sequence of str
        Further folders whose files do not count: their versions are in the key of the cell.
    """
    reports = (report.read_text(encoding="utf-8", errors="surrogateescape") for report in folder.glob("*.d"))
    spelled = [path for rule in reports for path in read_report(rule) if path not in ("-", "<stdin>")]
    spelled += [os.path.expanduser(os.fspath(path)) for path in sources]
    here = find_working_folder()
    read = list(dict.fromkeys(_make_absolute(path, here) for path in spelled))
    read = [path for path in read if not path.startswith(("/dev/", "/proc/", f"{folder}{os.sep}"))]
    lookups = _Lookups.follow_compilers([*flags, *toolchain.command], describe(toolchain).include_folders, provided)
    lookups.files |= dict.fromkeys(path for path in read if not path.startswith(lookups.others))
    for place, content in [(here, text), *((os.path.dirname(path), _read_content(path)) for path in [*lookups.files])]:
        lookups.follow(place, content)
    lookups.note_shadowed(path for path in read if path.startswith(lookups.compilers))
    return lookups.list_files()


def find_files_named(text: str, *, arguments: Sequence[str], provided: Sequence[str]) -> FilesRead:
    """The files of the user that a compiler without reports may read: those that ``text`` names, directly or not.

    Parameters
    ----------
    text : str
    arguments : sequence of str
        The options of the compilation.
    provided : sequence of str
        As for `find_files_read`, with the compiler's own folders.
    """
    lookups = _Lookups.follow_compilers(arguments, (), provided)
    pending, visited = [(find_working_folder(), text)], set[str]()
    while pending:
        place, content = pending.pop()
        lookups.files |= dict.fromkeys(lookups.follow(place, content))
        lookups.known = lookups.known and not any(computed for *_, computed in _INCLUDE.findall(content))
        pending += [(os.path.dirname(path), _read_content(path)) for path in lookups.files if path not in visited]
        visited |= lookups.files.keys()
    return lookups.list_files()


@dataclass
class _Lookups:
    """Follows what is included once more, and notes where a file would have been found first.

    Attributes
    ----------
    search : SearchPath
        The user's folders alone, absolute.
    bound : bool
        Whether some were relative.
    compilers, ignored : tuple of str
        What the compiler's own folders, and those of known versions, begin with.
    files : dict
        Files of the user.
    candidates : dict
        Paths that were not found.
    known : bool
        Whether these are all.
    """

    search: SearchPath
    bound: bool
    compilers: tuple[str, ...]
    ignored: tuple[str, ...]
    files: dict[str, None] = field(default_factory=dict)
    candidates: dict[str, None] = field(default_factory=dict)
    known: bool = True

    @classmethod
    def follow_compilers(cls, arguments: Sequence[str], compilers: Sequence[str], provided: Sequence[str]) -> _Lookups:
        """Lookups along the search path of a compiler with its own folders and ``provided`` ones."""
        search, here = search_path(arguments), find_working_folder()
        own, ignored = _list_starts(compilers), _list_starts(provided)

        def users(folders: Sequence[str]) -> tuple[str, ...]:
            absolute = [_make_absolute(folder, here) for folder in folders]
            return tuple(f for f in absolute if not os.path.join(os.path.realpath(f), "").startswith((*own, *ignored)))

        own_search = SearchPath(users(search.quoted), users(search.folders), users(search.late))
        lookups = cls(own_search, not all(map(os.path.isabs, search.every)), own, ignored)
        for name in search.forced:
            lookups.find(name, here)
        return lookups

    @property
    def others(self) -> tuple[str, ...]:
        """Beginnings of paths that are not the user's."""
        return (*self.compilers, *self.ignored)

    def follow(self, place: str, text: str) -> list[str]:
        """Look for all that a text in the folder ``place`` names; the files of the user among it."""
        text = _SPLICE.sub("", text)
        paths = list[str]()
        for quoted, angled, computed in _INCLUDE.findall(text):
            # If a macro gives the name, the compiler reports the file.
            names = (
                [name for path in self.files for name in self._list_names(path, place)]
                if computed
                else [quoted or angled]
            )
            paths += [self.find(name, "" if angled else place) for name in names]
        for quoted, angled, _ in _UNREPORTED.findall(text):
            name = (quoted or angled).rstrip("\\")
            self.known = self.known and bool(name)
            if path := name and self.find(name, "" if angled else place):
                self.files[path] = None
        return list(filter(None, paths))

    def find(self, name: str, place: str) -> str:
        """The file of the user that ``name`` means, or ``""``; ``place`` is the including file's folder, for quotes."""
        missing = list[str]()
        for folder in (*([place, *self.search.quoted] if place else ()), *self.search.folders):
            path = _make_absolute(name, folder)
            if os.path.isfile(path):
                self._note(missing)
                return "" if path.startswith(self.others) else path
            missing.append(path)
        if any(os.path.isfile(folder + name) for folder in self.ignored):
            return ""
        if not any(os.path.isfile(folder + name) for folder in self.compilers):
            missing += [_make_absolute(name, folder) for folder in self.search.late]
        self._note(missing)
        return ""

    def note_shadowed(self, headers: Iterable[str]) -> None:
        """Note where the compiler's own ``headers``, which include each other, would be found first."""
        for path in headers if self.search.folders else ():
            names = [path.removeprefix(start) for start in self.compilers if path.startswith(start)]
            self._note(_make_absolute(name, folder) for folder in self.search.folders for name in names)

    def list_files(self) -> FilesRead:
        """The files that were found, and the paths that were not."""
        here, files = find_working_folder(), tuple(self.files)
        bound = self.bound or any(path.startswith(os.path.join(here, "")) for path in (*files, *self.candidates))
        absent = tuple(self.candidates)
        # Another working folder means other files where one of them is in it, or could be.
        return FilesRead(files, absent=absent, folder=here * bool(bound and (files or absent)), known=self.known)

    def _list_names(self, path: str, place: str) -> list[str]:
        """The names by which a file can be included from the folder ``place``."""
        starts = (os.path.join(folder, "") for folder in (place, *self.search.every))
        return [path.removeprefix(start) for start in starts if path.startswith(start)]

    def _note(self, paths: Iterable[str]) -> None:
        self.candidates.update(dict.fromkeys(paths))


def _make_absolute(path: str, folder: str) -> str:
    path = os.path.join(folder, path)
    # ``..`` after a symbolic link is another folder than in the text.
    return os.path.realpath(path) if os.pardir in path.split(os.sep) else os.path.normpath(path)


def _list_starts(folders: Iterable[str]) -> tuple[str, ...]:
    """Beginnings of paths in ``folders``, with symbolic links followed and not followed."""
    spelled = (path for folder in folders for path in (os.path.normpath(folder), os.path.realpath(folder)))
    return tuple(dict.fromkeys(os.path.join(path, "") for path in spelled))


def _read_content(path: str) -> str:
    """The text of a file; ``""`` for machine code."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return ""
    return "" if b"\0" in content[:4096] else content.decode(errors="surrogateescape")
