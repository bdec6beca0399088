"""C that Cython wrote: which line of the cell each of its lines is for, and what its names are in the cell.

Pure: text in, values out.  A compiler reads that C from standard input, without ``#line``: a debugger and a
profiler then show what really runs, and messages are put back here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from functools import cached_property
from typing import Any

from ..model import Diagnostic
from .hints import advise_in_cython, find_missing_file

_MARK = r'\s*/\* "(?P<file>.+)":(?P<line>\d+)$'
_VERBATIM = (
    r"^[ \t]*cdef[ \t]+extern[ \t]+from[^\n]*:[ \t]*(?:#[^\n]*)?\n(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*"
    r"[rR]?(\"\"\"|''')(.*?)\1"
)


def find_places(text: str, *, module: str, name: str = "", cell: str = "") -> Sequence[int]:
    """For each line of ``text`` the line of the cell that it is for; found when it is first asked for.

    Parameters
    ----------
    text : str
        What Cython wrote for the module, with its comments.
    module, name : str
        What the comments may call the cell: ``<module>.pyx``, or its name ``"In[3]"``.
    cell : str
        The cell: its blocks of C (the text under ``cdef extern from``) are found in ``text`` too.

    Returns
    -------
    sequence of int
        Element ``n`` is for line ``n + 1``.  0 where a line is for none of the cell's; negative where it is a
        line of C that the cell holds itself, so that the compiler's columns hold.
    """
    # Most cells compile without a message, and ten thousand lines take 15 ms.
    return _Places(lambda: _search_places(text, module, name, cell))


class _Places(Sequence[int]):
    """A list that is computed when it is first looked into."""

    def __init__(self, compute: Callable[[], list[int]]) -> None:
        self._compute = compute

    @cached_property
    def _list(self) -> list[int]:
        return self._compute()

    def __len__(self) -> int:
        return len(self._list)

    def __getitem__(self, index: Any) -> Any:
        return self._list[index]


def _search_places(text: str, module: str, name: str, cell: str) -> list[int]:
    lines = text.split("\n")
    numbers = _read_marks(lines, {f"{module.rpartition('.')[2]}.pyx", name.rpartition("/")[2]})
    for block in re.finditer(_VERBATIM, cell, re.S | re.M):
        inner = block[2].strip("\n")
        if inner and (at := text.find(inner)) >= 0:
            start, first = text.count("\n", 0, at), _find_line(cell, cell.index(inner, block.start(2)))
            count = inner.count("\n") + 1
            numbers[start : start + count] = range(-first, -first - count, -1)
    return numbers


def _find_line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _read_marks(lines: Sequence[str], files: Set[str]) -> list[int]:
    numbers, current, comment = [0] * len(lines), 0, False
    for number, line in enumerate(lines):
        if comment:
            comment = line != "*/"
        elif '":' in line and (mark := re.match(_MARK, line)):
            current = int(mark["line"]) if mark["file"].rpartition("/")[2] in files else 0
            comment = True
        elif line.startswith("/* #### Code section: "):
            current = 0
        numbers[number] = current
    return numbers


# ------------------------------------------------------------------------------------------ messages

_MANGLED = r"__pyx_(?P<kind>f|pf|pw|v|t|e|k|obj|opt_args|vtabstruct|mdef|api_f)_(?P<rest>\w+)"
#: Warnings about the cell's text, not about the C that Cython writes.
_OF_THE_CELL = (
    r"-W(?:div-by-zero|division-by-zero|array-bounds|infinite-recursion|incompatible-pointer-types|int-conversion|"
    r"uninitialized|overflow|shift-count-overflow|shift-count-negative|implicit-function-declaration|cpp|#warnings)"
)
_INSTALLED = r"(?:^|[\\/])(?:numpy|python[\d.]*t?|Python\.framework|site-packages|dist-packages|torch)[\\/]"
#: Cython's and Python's own names.
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
    while digits := re.match(r"\d+", rest):
        start, length = digits.end(), int(digits[0])
        part, after = rest[start : start + length], rest[start + length :]
        if len(part) < length or not after.startswith("_"):
            break
        rest = after[1:]
    return re.sub(r"^(?:\d+)(?=\D)", "", rest) if kind in ("pf", "pw") else rest


def place(diagnostic: Diagnostic, *, places: Sequence[int], name: str, cell: str) -> Diagnostic:
    """A message about line ``diagnostic.line`` of the C, as one about the cell where that line is for a line of it.

    Messages about other lines are placed at the name that they quote, if the cell has it, else left.
    """
    message = restore(diagnostic.message)
    number = places[diagnostic.line - 1] if 0 < diagnostic.line <= len(places) else 0
    lines = cell.split("\n")
    column = diagnostic.column if number < 0 else 0
    line = abs(number)
    if diagnostic.severity == "error" and number >= 0:
        line = _find_line_of_names(message, cell, line)
    hint = advise_in_cython(message) if number >= 0 and diagnostic.severity != "note" else diagnostic.hint
    if not line or line > len(lines):
        return replace(diagnostic, message=message, hint=hint)
    text = lines[line - 1].rstrip()
    return replace(diagnostic, message=message, file=name, line=line, column=column, text=text, hint=hint)


def _find_line_of_names(message: str, cell: str, line: int) -> int:
    """The line that a message means: C declares a function's variables, and uses a header's names, elsewhere."""
    if header := find_missing_file(message):  # named by the cell, or by the module of Cython's that is called like it
        places = [cell.find(word) for word in (header, header.partition("/")[0], "libcpp")]
        return next((_find_line(cell, place) for place in places if place >= 0), line)
    lines = cell.split("\n")
    words = [rf"\b{re.escape(quoted['name'])}\b" for quoted in re.finditer(_QUOTED, message)]
    if line:
        return next((n for word in words for n in _find_block(lines, line) if re.search(word, lines[n - 1])), line)
    for word in words:
        declared = rf"^[ \t]*(?:cdef|cpdef|def|ctypedef|from|cimport)\b[^\n]*{word}"
        for pattern in (declared, rf"^[ \t]*[\w \t*]+[ \t*]{word}[ \t]*\(", word):
            if match := re.search(pattern, cell, re.M):
                return _find_line(cell, match.start())
    return 0


def _find_block(lines: Sequence[str], first: int) -> range:
    """The numbers of line ``first`` and of those that belong to it by their indentation."""
    depth = len(lines[first - 1]) - len(lines[first - 1].lstrip()) if first <= len(lines) else 0
    last = first
    while last < len(lines) and (not lines[last].strip() or len(lines[last]) - len(lines[last].lstrip()) > depth):
        last += 1
    return range(first, min(last, len(lines)) + 1)


def is_news(diagnostic: Diagnostic, *, name: str, verbatim: bool) -> bool:
    """Whether a warning is about what the user wrote, and not about Cython's way of writing C."""
    if diagnostic.file != name:
        return not re.search(_INSTALLED, diagnostic.file)
    if verbatim:
        return not diagnostic.option.startswith("-Wunused")
    return bool(re.match(_OF_THE_CELL, diagnostic.option)) and not re.search(_THEIRS, diagnostic.message)
