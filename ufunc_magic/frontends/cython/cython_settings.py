"""What a Cython cell is to be compiled with: its comment lines and the magic's options as one value.

Cython is not imported: the settings are part of the cache key, and a cell found in the cache must not pay
for Cython.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ... import model
from ...model import OptionError, Options
from ...toolchain import library_flags
from . import dependencies, libtorch

__all__ = ["Settings", "check", "read", "search_folders"]

#: Keys of ``# distutils:`` that hold lists.
_LISTS = tuple(
    "sources define_macros undef_macros libraries library_dirs runtime_library_dirs include_dirs extra_objects "
    "extra_compile_args extra_link_args export_symbols depends".split()
)
#: Those that a cimported .pxd gives to who cimports it.
_INHERITED = frozenset(
    "libraries library_dirs runtime_library_dirs include_dirs extra_compile_args extra_link_args depends".split()
)
#: ``name`` is the magic's own business; ``np_pythran`` needs another compiler.
_KEYS = (*_LISTS, "language", "name", "np_pythran")

_DIRECTIVE = re.compile(r"#\s*cython\s*:\s*([\w.]+\s*=.*)$")
_STRING = r"(?:\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')"
_DISTUTILS = re.compile(r"#\s*(distutils|cython):(.*)$")


@dataclass(frozen=True)
class Settings:
    """What the C or C++ compiler and the linker get, and what else the cell asks for.

    Attributes
    ----------
    language : {"", "c", "c++"}
        ``""`` where nothing says.
    flags : tuple of str
        Compiler options: folders, macros, the user's own.
    link : tuple of str
        Options that stand behind the unit on the linker's line.
    sources : tuple of str
        C, C++ and object files to compile and link along.
    depends : tuple of str
        Files that the result depends on besides.
    libraries, library_dirs : tuple of str
        What ``link`` was made of: a library of the user's may be built anew under the same name.
    folders : tuple of Path
        Where headers of the user's and .pxd, .pxi files are looked for, besides the current folder.
    directives : tuple of (str, str)
        ``# cython:`` lines as written, for who wants to know; Cython reads them itself.
    uses_numpy, uses_openmp : bool
    preload : tuple of str
        Modules to import before the compiled one is opened.
    versions : tuple of str
        Of the packages whose headers are used, for the cache key.
    """

    language: str = ""
    flags: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    depends: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    library_dirs: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    directives: tuple[tuple[str, str], ...] = ()
    uses_numpy: bool = False
    uses_openmp: bool = False
    preload: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()

    @property
    def cplus(self) -> bool:
        return self.language == "c++"


@dataclass(frozen=True)
class _Comments:
    """The comment lines at the top of one text."""

    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)
    language: str = ""
    directives: tuple[tuple[str, str], ...] = ()

    def get(self, key: str) -> tuple[str, ...]:
        return self.lists.get(key, ())

    def under(self, other: _Comments) -> _Comments:
        """With what a cimported text adds."""
        lists = dict(self.lists)
        for key in _INHERITED & other.lists.keys():
            lists[key] = tuple(dict.fromkeys((*self.get(key), *other.get(key))))
        return _Comments(lists, self.language or other.language, self.directives)


def check(options: Options) -> None:
    """Refuse options that mean nothing for a Cython cell.

    Raises
    ------
    OptionError
    """
    model.refuse(options, language="cython")


def search_folders(options: Options) -> tuple[Path, ...]:
    """The folders of ``-I``."""
    return tuple(Path(folder).expanduser().absolute() for folder in options.include)


def read(source: str, *, options: Options | None = None, module: str = "") -> Settings:
    """Read a cell's comment lines, those of the .pxd files that it cimports, and the magic's options.

    Parameters
    ----------
    source : str
        The cell.
    options : Options
        The defaults if omitted.
    module : str
        The module's name, if the user chose it: ``<module>.pxd`` counts too.

    Raises
    ------
    OptionError
        For an unknown key or a bad value in a ``# distutils:`` line.
    ToolchainError
        With ``torch`` where torch is not installed.
    """
    options = options or Options()
    folders = search_folders(options)
    drawn = dependencies.cython_files(source, folders=folders, module=module)
    comments = _comments(source)
    texts = [source, *(text for _, text in drawn)]
    for text in texts[1:]:
        comments = comments.under(_comments(text))
    libraries = (*options.lib, *comments.get("libraries"))
    library_dirs = (*options.library_dirs, *comments.get("library_dirs"))
    used = [dependencies.names(text) for text in texts]
    torch = libtorch.find() if options.torch else None
    language = "c++" if options.cplus or torch else comments.language
    uses_numpy = any(names.numpy for names in used)
    # A header beside a cimported .pxd is found, as if the .pxd's folder had been given with -I.
    beside = [path.parent for (path, _), names in zip(drawn, used[1:], strict=True) if names.headers]
    places = dict.fromkeys([*folders, *_absolute(comments.get("include_dirs")), *beside])
    return Settings(
        language=language,
        flags=(
            *(f"-I{place}" for place in places),
            *([f"-I{np.get_include()}"] if uses_numpy else []),
            *(torch.flags if torch else ()),
            *_macros(comments),
            *comments.get("extra_compile_args"),
            *options.compile_args,
        ),
        link=(
            *comments.get("extra_link_args"),
            *options.link_args,
            *(f"-Wl,-rpath,{place}" for place in _absolute(comments.get("runtime_library_dirs"))),
            *library_flags(libraries, library_dirs),
            *(torch.link if torch else ()),
        ),
        sources=_paths((*comments.get("sources"), *comments.get("extra_objects"), *options.src)),
        depends=_paths(comments.get("depends")),
        libraries=libraries,
        library_dirs=library_dirs,
        folders=tuple(places),
        directives=comments.directives,
        uses_numpy=uses_numpy,
        uses_openmp=any(names.openmp for names in used),
        preload=("torch",) if torch else (),
        versions=(
            *([f"numpy {np.__version__}"] if uses_numpy else []),
            *([f"torch {torch.version}"] if torch else []),
        ),
    )


def _macros(comments: _Comments) -> Iterator[str]:
    for macro in comments.get("define_macros"):
        yield f"-D{macro}"
    for macro in comments.get("undef_macros"):
        yield f"-U{macro}"


def _absolute(folders: Sequence[str]) -> list[Path]:
    return [Path(folder).expanduser().absolute() for folder in folders]


def _paths(files: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(path) for path in _absolute(files))


# --------------------------------------------------------------------------------------- comments


@functools.lru_cache(maxsize=1024)
def _comments(text: str) -> _Comments:
    """The ``# distutils:`` and ``# cython:`` lines among the comments that open ``text``."""
    lists: dict[str, tuple[str, ...]] = {}
    language = ""
    directives: list[tuple[str, str]] = []
    for line in _opening(text):
        if found := _DIRECTIVE.match(line):
            directives += _directives(found[1])
        match = _DISTUTILS.match(line)
        if not match:
            continue
        key, _, value = (part.strip() for part in match[2].partition("="))
        if match[1] == "cython" and key not in _KEYS:
            continue
        _check_key(key, line)
        if key in _LISTS:
            lists[key] = _words(value)
        elif key == "language":
            language = _language(value, line)
    return _Comments(lists, language, tuple(directives))


def _opening(text: str) -> Iterator[str]:
    """The comment lines before the first line of code."""
    for line in text.removeprefix("\ufeff").splitlines():
        line = line.strip()
        if line and line[0] != "#":
            return
        if line:
            yield line


def _directives(text: str) -> Iterator[tuple[str, str]]:
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.partition("="))
        if equals:
            yield name, value


def _check_key(key: str, line: str) -> None:
    if key == "np_pythran":
        raise OptionError(f"{line!r} asks for Pythran, which is not supported.", remedy="Leave the line out.")
    if key in _KEYS:
        return
    near = difflib.get_close_matches(key, _KEYS, n=1)
    remedy = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(_LISTS)} and language."
    raise OptionError(f"{line!r} has no setting that is known: {key!r}.", remedy=remedy)


def _language(value: str, line: str) -> str:
    word = value.strip("'\"").lower()
    language = {"c": "c", "c++": "c++", "cpp": "c++", "cxx": "c++"}.get(word)
    if language is None:
        raise OptionError(f"{line!r} names no language that Cython writes.", remedy="Write c or c++.")
    return language


def _words(value: str) -> tuple[str, ...]:
    """``a b c`` or ``[a, "b c"]`` -> words; spaces and commas inside of quotes do not part words."""
    listed = re.match(rf"\[((?:{_STRING}|[^\]])*)\]", value)
    # What is quoted stays whole; a quote that nothing closes is a letter like others.
    found = re.findall(rf"(?:{_STRING}|[^,])+" if listed else rf"(?:{_STRING}|\S)+", listed[1] if listed else value)
    words = [word.strip() for word in found if word.strip()]
    comment = next((n for n, word in enumerate(words) if word.startswith("#")), len(words))
    return tuple(_unquoted(word) for word in words[: len(words) if listed else comment])


def _unquoted(word: str) -> str:
    return word[1:-1] if re.fullmatch(_STRING, word) else word
