"""The preprocessor's output: which of its lines are the user's own, and the types that the rest defines."""

from __future__ import annotations

import re
from typing import NamedTuple

from .c_text import find_called, find_words

_MARKER = re.compile(r'#(?:line)?[ \t]+(\d+)[ \t]+"((?:[^"\\]|\\.)*)"((?:[ \t]+\d)*)')
_TYPE = re.compile(
    r"\btypedef\b[^;{}]*|\busing\s+(?P<alias>\w+)\s*=[^;{}]*|"
    r"\bstruct\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?\w+\s*(?=\{)"
)
_NAMES = re.compile(r"([^\W\d]\w*)\s*(?:\)\s*(?=\()|(?:\[[^\]]*\]\s*)*(?:__attribute__.*)?(?=[;,]|$))", re.S)
_TAG = re.compile(r"\bstruct\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?(\w+)")


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


def find_types(text: str, code: str, *, cplus: bool = False) -> list[str]:
    """Statements of ``text`` that define the types that ``code`` names, or those that such types need, in order.

    In C++ a structure's name alone is its type, unless the name is called.
    """
    statements: list[str] = []
    by_name: dict[str, list[int]] = {}
    for match in _TYPE.finditer(text):
        statement = match[0] + _find_rest(text, match.end())
        names = _NAMES.findall(_drop_bodies(statement)) if match[0].startswith("typedef") else []
        tags = _find_tags(match[0]) if statement[len(match[0]) :].startswith("{") else []
        for name in [match["alias"]] if match["alias"] else [*names, *tags]:
            by_name.setdefault(name, []).append(len(statements))
        statements.append(statement)
    needed: set[int] = set()
    names_left, done = {*find_words(code), *_find_tags(code)}, set[str]()
    names_left |= {f"struct {word}" for word in find_words(code) - find_called(code)} if cplus else set()
    while names_left:
        done |= names_left
        new = {index for name in names_left for index in by_name.get(name, ())} - needed
        needed |= new
        names_left = {word for n in new for word in (*find_words(statements[n]), *_find_tags(statements[n]))} - done
    return [" ".join(statements[index].split()) + ";" for index in sorted(needed)]


def _find_tags(text: str) -> list[str]:
    """The structures that a text names."""
    return [f"struct {tag}" for tag in _TAG.findall(text)]


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
