"""Which headers of the user's a text may include, with the digests of their contents.  Reads files, starts nothing.

A superset of what the preprocessor would read is right for a cache key: directives in comments and in
branches not taken count, and every folder's header of a name counts, not just the first.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

_DIRECTIVE = r"(?:#|%:|\?\?=)[ \t]*(?:include(?:_next)?|import|embed)\b[ \t]*(\S[^\r\n]*)?"
_HAS_INCLUDE = r"__has_(?:include|include_next|embed)\s*\(\s*(\"[^\"\n]+\"|<[^>\n]+>|[^)\n]*)"
_ASSEMBLED = r"\.inc(?:bin|lude)\s+\\?(\"[^\"\\\n]+)"
_SPLICE = r"\\[ \t]*\r?\n"
_COMMENT = r"(?s:/\*.*?\*/)"
_BROKEN = r"(?:#|%:|\?\?=)[ \t]*/\*|(?:include|include_next|import|embed)[ \t]*/\*"

#: Folders whose headers belong to the system even when named with -I: the compiler's identity stands for them.
_SYSTEM = ("/usr/include", "/usr/local/include")

_WITH_FOLDER = ("-I", "-iquote", "-isystem", "-idirafter", "-cxx-isystem")
_WITH_FILE = ("-include", "-imacros")
_VARIABLES = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")


def working_folder() -> Path:
    """The current folder or, where it has been deleted, one that holds nothing."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(os.devnull)


def header_digests(
    text: str, *, folders: Sequence[Path] = (), cwd: Path, files: Sequence[Path] = ()
) -> tuple[tuple[str, str], ...] | None:
    """Digest every header outside the system's that ``text`` may include, directly or not.

    Parameters
    ----------
    text : str
        Source text.
    folders : sequence of Path
        Where headers are looked for besides the including file's folder: `search_folders` reads them
        from the compiler's arguments.
    cwd : Path
        The folder that stands for the including file's where the text has no file.
    files : sequence of Path
        Source files compiled along and headers included by force: digested, and read like ``text``.

    Returns
    -------
    tuple of (path, sha256) or None
        Sorted by path; ``path`` is absolute.  None if a header's name is computed by a macro: then
        nobody but the preprocessor knows, and the result must not be cached.
    """
    if not folders and not files and not _may_include(text):
        return ()
    places = [str(folder) for folder in folders if os.path.realpath(folder) not in _SYSTEM]
    digests: dict[str, str] = {}
    pending: list[tuple[str, tuple[str, ...] | None]] = [(os.fspath(cwd), _included(text))]

    def visit(path: str) -> None:
        path = os.path.abspath(path)
        if path in digests:
            return
        try:
            with open(path, "rb") as file:
                content = file.read()
        except (OSError, ValueError):  # absent, or no possible name
            return
        digests[path] = hashlib.sha256(content).hexdigest()
        pending.append((os.path.dirname(path), _included_in(content)))

    for path in files:
        visit(os.fspath(path))
    while pending:
        folder, names = pending.pop()
        if names is None:
            return None
        for name in names:
            near = (folder, os.fspath(cwd)) if name[0] == '"' else ()
            for place in dict.fromkeys((*near, *places)):
                visit(os.path.join(place, name[1:]))
    return tuple(sorted(digests.items()))


def _may_include(text: str) -> bool:
    """Whether ``text`` includes anything but ``<...>``, which without folders is the system's."""
    if not any(word in text for word in ("import", "embed", ".inc", "\\")):
        # The usual cell, at the speed of str.count.
        plain = text.count("#include <") + text.count("#include<")
        if text.count("include") == plain:
            return False
    names = _included(text)
    return names is None or any(name[0] == '"' for name in names)


@functools.lru_cache(maxsize=4096)
def _included_in(content: bytes) -> tuple[str, ...] | None:
    return _included(content.decode(errors="surrogateescape"))


def _included(text: str) -> tuple[str, ...] | None:
    """Names that ``text`` includes, each after its opening delimiter; None if one is computed."""
    if "inc" not in text and "import" not in text and "embed" not in text and "\\" not in text:
        return ()
    if "\\" in text:
        text = re.sub(_SPLICE, "", text)
    if re.search(_BROKEN, text):
        text += "\n" + re.sub(_COMMENT, " ", text)
    names: dict[str, None] = {}
    arguments = re.findall(_DIRECTIVE, text)
    if "__has_" in text:
        arguments += re.findall(_HAS_INCLUDE, text)
    if ".inc" in text:
        arguments += re.findall(_ASSEMBLED, text)
    for argument in arguments:
        close = {'"': '"', "<": ">"}.get(argument[:1])
        if close:
            names[argument[: argument.find(close, 1)] if close in argument[1:] else argument.rstrip()] = None
        elif re.match(r"[A-Za-z_]", argument):
            return None
    return tuple(names)


def search_folders(
    arguments: Iterable[str], *, environ: Mapping[str, str] | None = None
) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Folders that a compiler's arguments and environment add to its search, and files included by force.

    Parameters
    ----------
    arguments : iterable of str
        ``-I`` and its kin, joined with their value or not.
    environ : mapping
        ``os.environ`` if omitted: ``CPATH`` and its kin.

    Returns
    -------
    folders, files : tuple of Path
    """
    environ = os.environ if environ is None else environ
    folders: list[str] = []
    files: list[str] = []
    words = iter(arguments)
    for word in words:
        if word in _WITH_FILE:
            files.append(next(words, ""))
        elif option := next((o for o in _WITH_FOLDER if word.startswith(o)), ""):
            folders.append(word.removeprefix(option) or next(words, ""))
    for variable in _VARIABLES:
        folders += environ.get(variable, "").split(os.pathsep) if environ.get(variable) else []
    return (
        tuple(Path(os.path.abspath(os.path.expanduser(f or os.curdir))) for f in folders),
        tuple(Path(os.path.abspath(f)) for f in files if f),
    )
