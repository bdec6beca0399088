"""The preprocessor's output: which of its lines are the user's own, and the typedefs among the rest."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from .c_text import find_words

_MARKER = re.compile(r'#(?:line)?[ \t]+(\d+)[ \t]+"((?:[^"\\]|\\.)*)"((?:[ \t]+\d)*)')
_TYPEDEF = re.compile(r"\btypedef\b[^;{}]*|\busing\s+\w+\s*=[^;{}]*")
_NAMES = re.compile(r"([^\W\d]\w*)\s*(?:\)\s*(?=\()|(?:\[[^\]]*\]\s*)*(?:__attribute__.*)?(?=[;,]|$))", re.S)
_USING = re.compile(r"using\s+(\w+)")


class MarkedLine(NamedTuple):
    """A line of text, where it was written (``file`` is ``""`` for the cell), and whether that is the user's."""

    text: str
    file: str
    number: int
    own: bool


def split_lines(text: str, *, cell_name: str) -> list[MarkedLine]:
    """Every line but the markers.

    The markers are those of https://gcc.gnu.org/onlinedocs/cpp/Preprocessor-Output.html: flag 3 is a
    system header.  gcc also gives it to a line of the cell on which it expands a system macro, so a file once
    known as the user's stays so.
    """
    lines = []
    own_files = {cell_name}
    file, number, own = "", 1, False
    for line in text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"):
        if line.startswith("#") and (marker := _MARKER.match(line)):
            number = int(marker[1])
            file = re.sub(r"\\(.)", r"\1", marker[2])
            if "3" not in marker[3].split() and not (file.startswith("<") and file.endswith(">")):
                own_files.add(file)
            own = file in own_files
            continue
        lines.append(MarkedLine(line, "" if file == cell_name else file, number, own))
        number += 1
    return lines


def find_typedefs(text: str, used: Collection[str]) -> list[str]:
    """Statements of ``text`` that define types named in ``used``, or needed by those, in order."""
    statements: list[str] = []
    by_name: dict[str, list[int]] = {}
    for match in _TYPEDEF.finditer(text):
        statement = match[0] + _find_rest(text, match.end())
        alias = _USING.match(statement)
        for name in [alias[1]] if alias else _NAMES.findall(_drop_bodies(statement)):
            by_name.setdefault(name, []).append(len(statements))
        statements.append(" ".join(statement.split()) + ";")
    needed: set[int] = set()
    names, done = set(used), set[str]()
    while names:
        done |= names
        new = {index for name in names for index in by_name.get(name, ())} - needed
        needed |= new
        names = {name for index in new for name in find_words(statements[index])} - done
    return [statements[index] for index in sorted(needed)]


def _find_rest(text: str, start: int) -> str:
    """From ``start`` to the next semicolon outside braces."""
    level = 0
    for match in re.compile(r"[{};]").finditer(text, start):
        level += {"{": 1, "}": -1, ";": 0}[match[0]]
        if level < 0 or (level == 0 and match[0] == ";"):
            return text[start : match.start()]
    return text[start:]


def _drop_bodies(statement: str) -> str:
    """A statement without its parts in braces."""
    if "{" not in statement:
        return statement
    return statement[: statement.index("{")] + statement[statement.rfind("}") + 1 :]
