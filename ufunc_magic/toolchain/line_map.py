"""C that Cython wrote: which line of the cell each of its lines is for, and what its names are in the cell.

Pure: text in, values out.  A compiler reads that C from standard input, without ``#line``: a debugger and a
profiler then show what really runs, and messages are put back here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from functools import cached_property
from typing import overload

from ..model import Diagnostic
from .hints import header_of, libraries_of

__all__ = ["advise", "is_news", "place", "places", "restore", "with_lines"]

_MARK = r'\s*/\* "(?P<file>.+)":(?P<line>\d+)$'
_INCLUDE = r'\s*#\s*include\s+(?:"(?P<own>[^"]+)"|<(?P<system>[^>]+)>)'
_EXTERN = r'^[ \t]*cdef[ \t]+extern[ \t]+from[ \t]+(?P<quote>["\'])(?P<header>.+?)(?P=quote)'
_VERBATIM = (
    r"^[ \t]*cdef[ \t]+extern[ \t]+from[^\n]*:[ \t]*(?:#[^\n]*)?\n(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*"
    r"[rR]?(\"\"\"|''')(.*?)\1"
)


def places(text: str, *, module: str, name: str = "", cell: str = "") -> Sequence[int]:
    """For each line of ``text`` the line of the cell that it is for; found when it is first asked for.

    Parameters
    ----------
    text : str
        What Cython wrote for the module, with its comments.
    module, name : str
        What the comments may call the cell: ``<module>.pyx``, or its name ``"In[3]"``.
    cell : str
        The cell: its blocks of C (the text under ``cdef extern from``) and the headers it names are found in
        ``text`` too.

    Returns
    -------
    sequence of int
        Element ``n`` is for line ``n + 1``.  0 where a line is for none of the cell's; negative where it is a
        line of C that the cell holds itself, so that the compiler's columns hold.
    """
    # Most cells compile without a word, and ten thousand lines take 15 ms.
    return _Places(lambda: _places(text, module, name, cell))


class _Places(Sequence[int]):
    """A list that is made when it is first looked into."""

    def __init__(self, make: Callable[[], list[int]]) -> None:
        self._make = make

    @cached_property
    def _list(self) -> list[int]:
        return self._make()

    def __len__(self) -> int:
        return len(self._list)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        return self._list[index]


def _places(text: str, module: str, name: str, cell: str) -> list[int]:
    lines = text.split("\n")
    made = _marked(lines, {f"{module.rpartition('.')[2]}.pyx", name.rpartition("/")[2]})
    headers = _cimported(cell)
    headers.update({m["header"].strip("<>"): _line_at(cell, m.start()) for m in re.finditer(_EXTERN, cell, re.M)})
    for number, line in enumerate(lines):
        if made[number] == 0 and line.startswith("#") and (found := re.match(_INCLUDE, line)):
            made[number] = headers.get(found["own"] or found["system"], 0)
    for block in re.finditer(_VERBATIM, cell, re.S | re.M):
        _lay(block[2].split("\n"), _line_at(cell, block.start(2)), lines, made)
    return made


def with_lines(text: str, found: Sequence[int], *, name: str) -> str:
    """``text`` with ``#line`` directives of the cell ``name``, for debug information.

    Parameters
    ----------
    text : str
        C of Cython's.
    found : sequence of int
        `places` of it.
    name : str
    """
    made, inside, marked = [], False, False
    for line, at in zip(text.split("\n"), found, strict=True):
        # Behind a backslash a directive would be part of the line.
        if not inside and not line.lstrip().startswith("#") and (at or marked):
            made.append(f'#line {at} "{name}"' if at else '#line 1 "<translated>"')
            marked = bool(at)
        made.append(line)
        inside = line.endswith("\\")
    return "\n".join(made)


def _line_at(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _marked(lines: Sequence[str], files: Set[str]) -> list[int]:
    made, current, comment = [0] * len(lines), 0, False
    for number, line in enumerate(lines):
        if comment:
            comment = line != "*/"
        elif '":' in line and (found := re.match(_MARK, line)):
            current = int(found["line"]) if found["file"].rpartition("/")[2] in files else 0
            comment = True
        elif line.startswith("/* #### Code section: "):
            current = 0
        made[number] = current
    return made


def _cimported(cell: str) -> dict[str, int]:
    """Header -> line of the cimport that brings it, for Cython's own modules."""
    found: dict[str, int] = {}
    for match in re.finditer(r"^[ \t]*(?:from[ \t]+|cimport[ \t]+)(libc|libcpp|posix)\.(\w+)", cell, re.M):
        header = match[2] if match[1] == "libcpp" else f"{match[2]}.h"
        found.setdefault(header, _line_at(cell, match.start()))
    numpy = re.search(r"^[ \t]*(?:from[ \t]+numpy[ \t]+cimport|cimport[ \t]+numpy)\b", cell, re.M)
    if numpy:
        found["numpy/arrayobject.h"] = found["numpy/ndarrayobject.h"] = _line_at(cell, numpy.start())
    return found


def _lay(block: Sequence[str], first: int, lines: Sequence[str], made: list[int]) -> None:
    """Mark where the ``block`` that starts in line ``first`` of the cell stands in ``lines``."""
    inner = [(n, line.rstrip()) for n, line in enumerate(block) if line.strip()]
    if not inner:
        return
    offset, top = inner[0]
    for start, line in enumerate(lines):
        here = start - offset
        if (
            line.rstrip() == top
            and here >= 0
            and all(here + n < len(lines) and lines[here + n].rstrip() == text for n, text in inner)
        ):
            for n in range(offset, inner[-1][0] + 1):
                made[here + n] = -(first + n)
            return


# ------------------------------------------------------------------------------------------ messages

_MANGLED = r"__pyx_(?P<kind>f|pf|pw|v|t|e|k|obj|opt_args|vtabstruct|mdef|api_f)_(?P<rest>\w+)"
#: Warnings that speak of what the cell says, not of how Cython says it in C.
_OF_THE_CELL = (
    r"-W(?:div-by-zero|division-by-zero|array-bounds|infinite-recursion|incompatible-pointer-types|int-conversion|"
    r"uninitialized|overflow|shift-count-overflow|shift-count-negative|implicit-function-declaration|cpp|#warnings)"
)
_INSTALLED = r"(?:^|[\\/])(?:numpy|python[\d.]*t?|Python\.framework|site-packages|dist-packages|torch)[\\/]"
#: Cython's and Python's own names, which are nobody's but theirs.
_THEIRS = r"__[Pp]yx|PyObject|\b_?Py_|a value of this line"
_QUOTED = r"'(?:[^']*?[^\w'])?(?P<name>\w+)(?:\([^']*\))?'"


def restore(message: str) -> str:
    """``message`` with the names that the user wrote."""
    message = re.sub(r"__ufm_(?:def_)?(?=\w)", "", message)
    message = re.sub(r"__pyx_fuse_\d+(?:_\d+)*(?=__pyx_)", "", message)
    message = re.sub(r"\b__pyx_ctuple_\w+", "tuple", message)
    message = re.sub(_MANGLED, lambda m: _name(m["kind"], m["rest"]) or m[0], message)
    message = re.sub(r"'?\b__pyx_t_\d+\b'?|'?\b__pyx_temp\w*'?", "a value of this line", message)
    return re.sub(r"'?\b__pyx_r\b'?", "the result", message)


def _name(kind: str, rest: str) -> str:
    """The last name of ``4_ufm_1A_method``: each part but the last is preceded by its length."""
    if kind == "t" and rest.isdigit():
        return ""
    while found := re.match(r"(\d+)", rest):
        part = rest[len(found[1]) : len(found[1]) + int(found[1])]
        after = rest[len(found[1]) + int(found[1]) :]
        if len(part) < int(found[1]) or not after.startswith("_"):
            break
        rest = after[1:]
    return re.sub(r"^(?:\d+)(?=\D)", "", rest) if kind in ("pf", "pw") else rest


def place(found: Diagnostic, *, places: Sequence[int], name: str, cell: str) -> Diagnostic:
    """A message about line ``found.line`` of the C, as one about the cell where that line is for a line of it.

    Messages about other lines are placed at the name that they quote, if the cell has it, else left.
    """
    message = restore(found.message)
    number = places[found.line - 1] if 0 < found.line <= len(places) else 0
    lines = cell.split("\n")
    column = found.column if number < 0 else 0
    line = abs(number)
    if found.severity == "error" and number >= 0:
        line = _line_of_names(message, cell, line)
    hint = advise(message) if number >= 0 else found.hint.replace("top of the cell", "top of this block of C")
    hint = hint if found.severity != "note" else ""
    if not line or line > len(lines):
        return replace(found, message=message, hint=hint)
    text = lines[line - 1].rstrip()
    return replace(found, message=message, file=name, line=line, column=column, text=text, hint=hint)


def _line_of_names(message: str, cell: str, line: int) -> int:
    """The line that a message means: C declares a function's variables, and uses a header's names, elsewhere."""
    if re.match(r"'?[^ :'.]+'?(?:: No such file|' file not found)", message):  # a C++ header
        cimported = re.search(r"^[ \t]*(?:from|cimport)[ \t]+libcpp\b", cell, re.M)
        return line or (_line_at(cell, cimported.start()) if cimported else 0)
    lines = cell.split("\n")
    words = [rf"\b{re.escape(quoted['name'])}\b" for quoted in re.finditer(_QUOTED, message)]
    if line:
        return next((n for word in words for n in _block(lines, line) if re.search(word, lines[n - 1])), line)
    for word in words:
        declared = rf"^[ \t]*(?:cdef|cpdef|def|ctypedef|from|cimport)\b[^\n]*{word}"
        for pattern in (declared, rf"^[ \t]*[\w \t*]+[ \t*]{word}[ \t]*\(", word):
            if found := re.search(pattern, cell, re.M):
                return _line_at(cell, found.start())
    return 0


def _block(lines: Sequence[str], first: int) -> range:
    """The numbers of line ``first`` and of those that belong to it by their indentation."""
    depth = len(lines[first - 1]) - len(lines[first - 1].lstrip()) if first <= len(lines) else 0
    last = first
    while last < len(lines) and (not lines[last].strip() or len(lines[last]) - len(lines[last].lstrip()) > depth):
        last += 1
    return range(first, min(last, len(lines)) + 1)


def is_news(found: Diagnostic, *, name: str, verbatim: bool) -> bool:
    """Whether a warning is about what the user wrote, and not about Cython's way of writing C."""
    if found.file != name:
        return not re.search(_INSTALLED, found.file)
    if verbatim:
        return not found.option.startswith("-Wunused")
    return bool(re.match(_OF_THE_CELL, found.option)) and not re.search(_THEIRS, found.message)


_ADVICE: tuple[tuple[str, str], ...] = (
    (r"too (?:few|many) arguments|no matching function|incompatible type for argument|from incompatible pointer type|"
     r"cannot convert|invalid conversion|makes (?:integer|pointer) from|incompatible (?:pointer|types|integer)",
     "Compare the function's cdef extern declaration with its header."),
    (r"has no member named '(\w+)'|no member named '(\w+)'",
     "The C type has no such member: compare its cdef extern declaration with its header."),
    (r"conflicting types for|redefinition of|redeclared as different|ambiguates old declaration",
     "C has another of this name: rename the cell's, or name it apart: cdef double f \"my_f\" (double x)"),
)  # fmt: skip


def advise(message: str) -> str:
    """What to do in a Cython cell about a C compiler's ``message``."""
    if found := re.search(r"([^ :']+): No such file or directory|'([^']+)' file not found", message):
        return _no_header(found[1] or found[2])
    unknown = re.search(
        r"(?:implicit(?:ly)? declar(?:ation|ing)(?: of| library)? function|undeclared (?:library )?function|"
        r"undeclared identifier|unknown type name) '([^']+)'|"
        r"'([^']+)' (?:undeclared|was not declared in this scope|does not name a type)",
        message,
    )
    if unknown:
        word = unknown[1] or unknown[2]
        if header := header_of(word):
            return f'Name its header: cdef extern from "{header}":'
        if libraries := libraries_of(word):
            link = " ".join(f"-l {library}" for library in libraries)
            return f'Name the header that declares {word} (cdef extern from "...":), and link with {link}'
        return (
            f'No header of the cell declares {word}: name the one that does (cdef extern from "mine.h":), '
            "or write its C under 'cdef extern from *:' between three quotes."
        )
    return next((advice for pattern, advice in _ADVICE if re.search(pattern, message)), "")


def _no_header(header: str) -> str:
    if header == "Python.h":
        return "Install the headers of this Python."
    if header.startswith("numpy/"):
        return "Reinstall NumPy: its headers come with it."
    if "." not in header:
        return "This is a C++ header: compile the cell with -+"
    return f"Say where {header} is with -I FOLDER, or install the development package that holds it."
