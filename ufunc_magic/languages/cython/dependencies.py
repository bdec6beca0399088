"""Which files a Cython text draws in: .pxd, .pxi, headers.  Reads files; neither runs nor imports Cython.

As for C, a superset of what would be read is right for a cache key: every place where a name may be found
counts, and so do branches not taken.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...compilers import header_digests

#: Come with Cython, whose version stands for them, or with NumPy.
_KNOWN = frozenset({"cython", "libc", "libcpp", "cpython", "posix", "openmp", "numpy"})

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""'
    r"|'''(?:\\.|[^\\])*?'''"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'"
    r"|\#[^\n]*",
    re.DOTALL,
)
_QUOTES = re.compile(r"\"\"\"|'''|\"|'")
_DEPENDENCY = re.compile(
    r"\bfrom\s+(?P<package>(?:[.\w]+(?=\s+cimport\b))|cython[.\w]*(?=\s+import\b))\s+c?import\s*"
    r"(?P<members>\([^)]*\)|[^\n;]*)"
    r"|\b(?:cimport\s+|import\s+(?=cython\b))(?P<modules>[\w.][^\n;]*)"
    r"|\bextern\s+from\s*\"(?P<header>\d+)\""
    r"|^[ \t]*include\s*\"(?P<include>\d+)\"",
    re.MULTILINE,
)
_VERBATIM = re.compile(r"\bcdef\s+extern\s+from\s+[^:\n]*:\s*\"(\d+)\"")
_PURE = "cython.cimports."
_BINARY = frozenset({".o", ".obj", ".a", ".lib", ".so", ".dylib", ".dll"})


@dataclass(frozen=True)
class NamedFiles:
    """What a Cython text names.

    Attributes
    ----------
    modules : tuple of str
        Dotted names that may be cimported, relative ones with their leading dots; without those of Cython itself.
    includes : tuple of str
        Files of ``include`` statements.
    headers : tuple of str
        Files of ``cdef extern from``, without those in angle brackets.
    verbatim : tuple of str
        C text in ``cdef extern from`` blocks.
    numpy, openmp : bool
        NumPy's C interface, OpenMP are used.
    """

    modules: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    verbatim: tuple[str, ...] = ()
    numpy: bool = False
    openmp: bool = False


def code(text: str) -> tuple[str, list[str]]:
    """``text`` without comments, each string replaced by its number in quotes; and the strings."""
    strings: list[str] = []

    def replace(match: re.Match[str]) -> str:
        token = match[0]
        if token[0] == "#":
            return ""
        quote = _QUOTES.match(token)
        width = len(quote[0]) if quote else 0
        strings.append(token[width:-width])
        return f'"{len(strings) - 1}"'

    return _TOKEN.sub(replace, text), strings


@functools.lru_cache(maxsize=1024)
def names(text: str) -> NamedFiles:
    """Read ``text``; of a module of which only some names are imported, each may be a module itself."""
    plain, strings = code(text)
    plain = plain.replace("\\\n", " ")
    named: list[str] = []
    includes, headers = [], []
    for match in _DEPENDENCY.finditer(plain):
        package, listed = match["package"], match["modules"]
        if package:
            start = package if package.endswith(".") else f"{package}."
            named += [package, *(start + member for member in _listed(match["members"].strip("()")))]
        elif listed:
            named += _listed(listed)
        elif match["header"]:
            headers.append(strings[int(match["header"])])
        else:
            includes.append(strings[int(match["include"])])
    modules = dict.fromkeys(name.removeprefix(_PURE) for name in named)
    verbatim = tuple(strings[int(n)] for n in _VERBATIM.findall(plain))
    return NamedFiles(
        modules=tuple(m for m in modules if m.partition(".")[0] not in _KNOWN),
        includes=tuple(includes),
        headers=tuple(h for h in headers if not h.startswith("<")),
        verbatim=verbatim,
        numpy=(
            any(m.partition(".")[0] == "numpy" for m in modules)
            or any("numpy/" in c_text for c_text in (*headers, *verbatim))
            # Such a decorator makes Cython include NumPy's headers without a cimport.
            or "cython.ufunc" in modules
            or "cython.ufunc" in plain
        ),
        openmp=any(m.startswith(("cython.parallel", "openmp")) for m in modules) or "cython.parallel" in plain,
    )


def _listed(text: str) -> Iterator[str]:
    """``a as b, c`` -> a, c."""
    for part in text.split(","):
        word = re.match(r"\s*([\w.]+)", part)
        if word:
            yield word[1]


def cython_files(source: str, *, folders: Sequence[Path] = (), module: str = "") -> list[tuple[Path, str]]:
    """Every .pxd and .pxi file that ``source`` draws in, through others too, with its text.

    Parameters
    ----------
    source : str
        The cell.
    folders : sequence of Path
        Where files are looked for, besides the current folder and, for .pxd, ``sys.path``.
    module : str
        The module's name: Cython reads ``<module>.pxd`` unasked.
    """
    top = names(source)
    if not (top.modules or top.includes or module):
        return []
    cwd = Path.cwd()
    texts: dict[str, str] = {}
    places = [os.fspath(place) for place in (cwd, *folders)]
    # A module may be cimported from the folder that the interpreter imports from.
    roots = [*places, *(entry for entry in sys.path if entry)]
    waiting = [(os.fspath(cwd), top)]
    paths = [os.path.join(root, f"{module}.pxd") for root in roots] if module else []
    while True:
        for path in paths:
            path = os.path.abspath(path)
            if path not in texts and (text := _read(path)) is not None:
                texts[path] = text
                waiting.append((os.path.dirname(path), names(text)))
        if not waiting:
            return [(Path(path), text) for path, text in texts.items()]
        folder, inner = waiting.pop()
        paths = [os.path.join(place, name) for name in inner.includes for place in dict.fromkeys((folder, *places))]
        paths += [path for name in inner.modules for path in _candidates(name, folder, roots)]


def _candidates(name: str, folder: str, roots: Sequence[str]) -> Iterator[str]:
    """Where the .pxd of a module may be."""
    dots = len(name) - len(name.lstrip("."))
    parts = [part for part in name.split(".") if part]
    bases = [os.path.join(folder, *[os.pardir] * (dots - 1))] if dots else list(dict.fromkeys((folder, *roots)))
    for base in bases:
        # A folder that is not there: all files below it need not be looked for.
        if len(parts) > 1 and not os.path.isdir(os.path.join(base, parts[0])):
            continue
        for depth in range(1, len(parts) + 1):
            stem = os.path.join(base, *parts[:depth])
            yield f"{stem}.pxd"
            yield os.path.join(stem, "__init__.pxd")
        if not parts:
            yield os.path.join(base, "__init__.pxd")


def _read(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return file.read().decode(errors="surrogateescape")
    except (OSError, ValueError):  # absent, a folder, or no possible name
        return None


def digests(
    source: str,
    *,
    folders: Sequence[Path] = (),
    files: Sequence[Path] = (),
    module: str = "",
) -> tuple[tuple[str, str], ...] | None:
    """Digest every file of the user's that the compiled cell depends on.

    Parameters
    ----------
    source, folders, module
        As for `cython_files`; ``folders`` are also searched for C headers.
    files : sequence of Path
        Sources and objects that are compiled and linked along, and files named as dependencies.

    Returns
    -------
    tuple of (path, sha256) or None
        Sorted by path; None if a header's name is computed by a macro: then the result must not be cached.
    """
    cwd = Path.cwd()
    drawn = cython_files(source, folders=folders, module=module)
    texts = [(cwd, names(source)), *((path.parent, names(text)) for path, text in drawn)]
    digests = {os.fspath(p): hashlib.sha256(t.encode(errors="surrogateescape")).hexdigest() for p, t in drawn}
    binary = [path for path in files if path.suffix in _BINARY]
    digests |= {os.fspath(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in binary if p.is_file()}
    unread = [path for path in files if path not in binary]
    for folder, named in texts:
        c_text = "\n".join((*(f'#include "{header}"' for header in named.headers), *named.verbatim))
        if not c_text and not unread:
            continue
        headers = header_digests(c_text, folders=(folder, *folders), cwd=cwd, files=unread)
        unread = []
        if headers is None:
            return None
        digests.update(headers)
    return tuple(sorted(digests.items()))
