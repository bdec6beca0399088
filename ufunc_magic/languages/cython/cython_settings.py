"""The compiler's and the linker's arguments for a Cython cell, from its comment lines and the magic's options.

Neither Cython is imported, for which a cell found in the cache must not pay, nor torch, which takes seconds.

A module is compiled with ``-O3``.  Most of its C is Cython's own functions, which a cell of numbers calls only to
convert arguments: with gcc these are compiled with ``-O1`` there, between pragmas, which takes a third less time.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import os
import re
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from ...cells import list_flags
from ...compilers import Toolchain, list_base_flags, list_base_link_options, list_library_flags
from ...model import OptionError, Options, ToolchainError, chooses_cpu

#: Keys of ``# distutils:`` that hold lists.
_LISTS = tuple(
    "sources define_macros undef_macros libraries library_dirs runtime_library_dirs include_dirs extra_objects "
    "extra_compile_args extra_link_args export_symbols depends".split()
)
#: Keys of a cimported .pxd that also apply to the cell.
_INHERITED = frozenset(
    "language libraries library_dirs runtime_library_dirs include_dirs extra_compile_args extra_link_args "
    "depends".split()
)
#: ``name`` is the magic's own business.
_KEYS = (*_LISTS, "language", "name")

_STRING = r"(?:\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')"
#: A header of the user's that a file declares.
_HEADER = re.compile(r"\bextern\s+from\s*[\"'](?!<)")
_DISTUTILS = re.compile(r"#\s*(distutils|cython):(.*)$")


@dataclass(frozen=True)
class Settings:
    """The arguments of the C or C++ compiler and of the linker, and the cell's other settings.

    Attributes
    ----------
    cplus : bool
        In C++.
    flags : tuple of str
        Compiler options: folders, macros, the user's own.
    link : tuple of str
        Options after the unit on the linker's line.
    sources : tuple of str
        C, C++ and object files to compile and link along.
    depends : tuple of str
        Files that the result depends on besides.
    libraries, library_dirs : tuple of str
        What ``link`` was made of: a library of the user's may be built again under the same name.
    folders : tuple of Path
        Where headers of the user's and .pxd, .pxi files are looked for, besides the current folder.
    preload : tuple of str
        Modules to import before the compiled one is opened.
    ignored : tuple of str
        Options of Microsoft's compiler, which others take for files.
    """

    cplus: bool = False
    flags: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    depends: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    library_dirs: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    preload: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


def read(source: str, *, options: Options | None = None, drawn: Mapping[str, str] = MappingProxyType({})) -> Settings:
    """Read a cell's comment lines, those of the files that Cython read for it, and the magic's options.

    Parameters
    ----------
    source : str
        The cell.
    options : Options
        The defaults if omitted.
    drawn : mapping
        Path -> text of the .pxd and .pxi files, first read first.

    Raises
    ------
    OptionError
        For an unknown key or a bad value in a ``# distutils:`` line.
    ToolchainError
        With ``torch`` where torch is not installed.
    """
    options = options or Options()
    folders = _make_absolute(options.include)
    comments: dict[str, tuple[str, ...]] = dict.fromkeys((*_LISTS, "language"), ()) | _read_comments(source)
    for inherited in map(_read_comments, drawn.values()):
        for key in _INHERITED & inherited.keys():
            comments[key] = tuple(dict.fromkeys((*comments[key], *inherited[key])))
    libraries = (*options.lib, *comments["libraries"])
    library_dirs = (*options.library_dirs, *comments["library_dirs"])
    torch = find_torch() if options.torch else None
    # A header in the folder of a cimported .pxd is found, as with -I for that folder.
    header_folders = [Path(path).parent for path, text in drawn.items() if _HEADER.search(text)]
    places = dict.fromkeys([*folders, *_make_absolute(comments["include_dirs"]), *header_folders])
    compiling = (*comments["extra_compile_args"], *options.compile_args)
    linking = (*comments["extra_link_args"], *options.link_args)
    return Settings(
        cplus=bool(options.cplus or torch or comments["language"][:1] == ("c++",)),
        flags=(
            *(f"-I{place}" for place in places),
            *(torch.flags if torch else ()),
            *(f"-D{macro}" for macro in comments["define_macros"]),
            *(f"-U{macro}" for macro in comments["undef_macros"]),
            *itertools.filterfalse(_is_foreign, compiling),
        ),
        link=(
            *itertools.filterfalse(_is_foreign, linking),
            *(f"-Wl,-rpath,{place}" for place in _make_absolute([w[2:] for w in linking if w[:2] == "-L" and w[2:]])),
            *(f"-Wl,-rpath,{place}" for place in _make_absolute(comments["runtime_library_dirs"])),
            *list_library_flags(libraries, library_dirs),
            *(torch.link if torch else ()),
        ),
        sources=_list_paths((*comments["sources"], *comments["extra_objects"], *options.src)),
        depends=_list_paths(comments["depends"]),
        libraries=libraries,
        library_dirs=library_dirs,
        folders=tuple(places),
        preload=("torch",) if torch else (),
        ignored=tuple(dict.fromkeys(filter(_is_foreign, (*compiling, *linking)))),
    )


def _is_foreign(word: str) -> bool:
    """Whether a word is an option of Microsoft's compiler, ``/openmp`` or ``/std:c++17``, and this is none."""
    return sys.platform != "win32" and word.startswith("/") and "/" not in word[1:] and not os.path.exists(word)


def complete_options(options: Options, settings: Settings) -> Options:
    """The options with those of the cell's comments: C++, and arguments that choose a CPU."""
    arch = "native" if chooses_cpu(settings.flags) else options.arch
    return replace(options, cplus=options.cplus or settings.cplus, arch=arch)


def _make_absolute(folders: Sequence[str]) -> list[Path]:
    return [Path(folder).expanduser().absolute() for folder in folders]


def _list_paths(files: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(path) for path in _make_absolute(files))


# --------------------------------------------------------------------------------------- comments


_LANGUAGES = {"c": "c", "c++": "c++", "cpp": "c++", "cxx": "c++"}


@functools.lru_cache(maxsize=1024)
def _read_comments(text: str) -> dict[str, tuple[str, ...]]:
    """The ``# distutils:`` and ``# cython:`` lines among the comments that open ``text``."""
    lists: dict[str, tuple[str, ...]] = {}
    for line in map(str.strip, text.removeprefix("\ufeff").splitlines()):
        if line and line[0] != "#":
            break  # the first line of code
        match = _DISTUTILS.match(line)
        if not match:
            continue
        key, _, value = (part.strip() for part in match[2].partition("="))
        if match[1] == "cython" and key not in _KEYS:
            continue
        if key not in _KEYS:
            remedy = f"Valid settings: {', '.join(_LISTS)} and language."
            raise OptionError(f"{line!r} has an unknown setting: {key!r}.", remedy=remedy)
        if key in _LISTS:
            lists[key] = _split_words(value)
        elif key == "language":
            if (word := value.strip("'\"").lower()) not in _LANGUAGES:
                raise OptionError(f"{line!r} names a language that Cython does not support.", remedy="Write c or c++.")
            lists[key] = (_LANGUAGES[word],)
    return lists


def _split_words(value: str) -> tuple[str, ...]:
    """``a b c`` or ``[a, "b c"]`` -> words; spaces and commas inside of quotes do not part words."""
    listed = re.match(rf"\[((?:{_STRING}|[^\]])*)\]", value)
    # Quoted text stays whole; a quote without its counterpart is a letter like others.
    parts = re.findall(rf"(?:{_STRING}|[^,])+" if listed else rf"(?:{_STRING}|\S)+", listed[1] if listed else value)
    words = [word.strip() for word in parts if word.strip()]
    comment = next((n for n, word in enumerate(words) if word.startswith("#")), len(words))
    return tuple(_unquote(word) for word in words[: len(words) if listed else comment])


def _unquote(word: str) -> str:
    return word[1:-1] if re.fullmatch(_STRING, word) else word


# ----------------------------------------------------------------------------------------- torch

#: The libraries of a CPU build that code outside of torch calls; other builds have more, which these load.
_TORCH_LIBRARIES = ("torch", "torch_cpu", "torch_python", "c10")


@dataclass(frozen=True)
class LibTorch:
    """The installed torch package for a C++ compiler and the linker."""

    version: str
    flags: tuple[str, ...]
    link: tuple[str, ...]


def find_torch() -> LibTorch:
    """Find torch.

    Raises
    ------
    ToolchainError
        Where it is not installed.
    """
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise ToolchainError(
            f"torch is not installed for {sys.executable}, and --torch needs its headers and libraries.",
            remedy="pip install torch",
        )
    folder = Path(spec.submodule_search_locations[0])
    include, library = folder / "include", folder / "lib"
    version = re.search(r"^__version__\s*=\s*['\"](.*)['\"]", (folder / "version.py").read_text(encoding="utf-8"), re.M)
    rpath = [f"-Wl,-rpath,{library}"] if sys.platform != "win32" else []
    return LibTorch(
        version[1] if version else "",
        (f"-isystem{include}", f"-isystem{include / 'torch' / 'csrc' / 'api' / 'include'}"),
        (f"-L{library}", *rpath, *(f"-l{name}" for name in _TORCH_LIBRARIES)),
    )


# ----------------------------------------------------------------------------------------- flags


@functools.cache
def _list_python_folders() -> tuple[str, ...]:
    # Asking takes 0.2 ms, a third of what the same cell again takes.
    return tuple(dict.fromkeys(f"-I{folder}" for folder in list_provided_folders()))


@functools.cache
def list_provided_folders() -> tuple[str, ...]:
    """The folders of Python's and NumPy's headers, whose versions are in the key of a cell."""
    return (*map(sysconfig.get_path, ("include", "platinclude")), np.get_include())


def list_compiler_flags(tool: Toolchain, options: Options, settings: Settings) -> tuple[str, ...]:
    """Everything the unit is compiled with, before its text is looked at."""
    # The C library's check of a buffer aborts in the C library, which a call of Python's cannot leave; the stack's can.
    base = [f for f in list_base_flags(tool) if f != "-Wall" and not f.startswith("-D_FORTIFY_SOURCE")]
    macros = ("-DNDEBUG", "-DCYTHON_CLINE_IN_TRACEBACK=0")
    return (*base, *list_flags(tool, options), *macros, *_list_python_folders(), *settings.flags)


def list_linker_flags(tool: Toolchain, options: Options, settings: Settings) -> tuple[str, ...]:
    """The arguments after the unit on the linker's line.

    Python's own symbols are found in the process, so the linker cannot be asked to find them all.
    """
    base = [f for f in list_base_link_options(tool) if f != "-Wl,-z,defs"]
    if sys.platform == "darwin":
        base += ["-Wl,-undefined,dynamic_lookup"]
    if sys.platform == "win32":
        version = "".join(map(str, sys.version_info[:2]))
        base += [f"-L{sys.base_prefix}/libs", f"-lpython{version}"]
    return (*settings.link, *base)


def choose_cold_options(flags: Sequence[str], tool: Toolchain) -> str:
    """The words of ``#pragma GCC optimize`` for code that need not be quick; ``""`` where ``flags`` ask for a level.

    The pragma starts from the level's defaults, so that other options are repeated.
    """
    levels = [f for f in flags if f.startswith("-O")]
    if tool.kind != "gcc" or levels != ["-O3"]:
        return ""
    again = [f[2:] for f in flags if re.fullmatch(r"-f(?:no-)?(?:math-errno|trapping-math|wrapv|strict-aliasing)", f)]
    again += [
        f[2:] for f in flags if f in ("-ffast-math", "-frounding-math") or f.startswith(("-ffp-", "-fno-builtin-"))
    ]
    return ", ".join(f'"{word}"' for word in ("O1", *again))
