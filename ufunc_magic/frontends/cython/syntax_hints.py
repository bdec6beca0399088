"""What a line that Cython cannot parse was meant to be: C, Python 2, a colon left out, a bracket left open.

Cython tells where its parser stopped, which is often the line after the fault.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class ShownMessage:
    """A message as it is shown: words, place and advice."""

    message: str
    line: int
    column: int
    hint: str


@dataclass(frozen=True)
class Place:
    """Where Cython points, and the cell around it."""

    line: int
    column: int
    text: str
    cell: str

    @property
    def before(self) -> tuple[int, str]:
        """The last line above that holds code, and its number; 0 if there is none."""
        lines = self.cell.split("\n")[: max(self.line - 1, 0)]
        for number in range(len(lines), 0, -1):
            if _bare(lines[number - 1]).strip():
                return number, lines[number - 1]
        return 0, ""


_C_TYPE = (
    r"(?:(?:unsigned|signed|const|static|inline|long|short)\s+)*"
    r"(?:double|float|int|long|short|char|void|size_t|unsigned)"
)


def _bare(line: str) -> str:
    """``line`` without its comment and with its strings emptied."""
    line = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", lambda m: m[0][0] + " " * (len(m[0]) - 2) + m[0][0], line)
    return line.partition("#")[0]


SYNTAX = (
    r"^Syntax error|^Expected |indentation|^Unrecognized character|^Unclosed string|^Mixed use of tabs|"
    r"^Empty declarator|^Unexpected token .* in string literal"
)

_BRACES = "This is C: use %%c_ufunc for it. In Cython the line ends with a colon and the body is indented."

#: Pattern in the line that Cython points at -> what to write instead.
_SLIPS: tuple[tuple[str, str], ...] = (
    (r"^\s*%%?\w+", "A magic stands in the first line of its cell: take this line away, or make it the first."),
    (r"^\s*(?:static\s+|inline\s+|const\s+)*\w[\w\s*]*\([^()]*\)\s*\{", _BRACES),
    (rf"^\s*(?:static\s+|inline\s+|const\s+)*{_C_TYPE}[\s*]+\w+\s*\(.*\).*:\s*$",
     "A C function starts with cdef or cpdef: cdef double f(double x):"),
    (rf"^\s*{_C_TYPE}[\s*]+\w+\s*(?:=.*|,.*|\[.*)?;?\s*$", "A C variable is declared with cdef: cdef double y = 0"),
    (r"^\s*print\s+[^(=]", "print is a function: print(x)"),
    (r"^\s*exec\s+[^(=]", "exec is a function: exec(text)"),
    (r"^\s*(?:for|while|if|switch)\s*\(.*;|^\s*for\s*\(", "This is C's for; Cython's is: for i in range(n):"),
    (r"^\s*\}|\{\s*$", "Braces are C's: in Cython a colon and indentation make a block."),
    (r"^\s*//|//\s*[A-Za-z]+ [A-Za-z]", "A comment starts with #; // divides integers."),
    (r"/\*", "A comment starts with #."),
    (r"&&|\|\|", "Write 'and' for &&, 'or' for ||."),
    (r"except\s*\?\s*(?::|nogil)", "except? is followed by the value that may mean an error: except? -1"),
    (r"except[^:,()]*,\s*nogil", "No comma before nogil: except -1 nogil"),
    (r"^\s*(?:cdef|cpdef)\b.*\)\s*(?:raises|throws)\b", "Write 'except -1' (an error value) or 'except *'."),
    (r"^\s*(?:from\b.*\b)?c?import\b", "Names of an import are parted by commas."),
    (r"^\s*ctypedef\s+fused\b.*:\s*\w", "Each type of a fused type stands in a line of its own."),
    (rf"\(\s*{_C_TYPE}\s*\**\s*\)\s*[\w(]", "A cast has angle brackets: <double>x"),
    (r"\?.*:", "Write 'a if condition else b' for 'condition ? a : b'."),
    (r"\+\+|--", "Write i += 1 for i++, i -= 1 for i--."),
    (r"^(?!\s*def\b).*->\s*\w", "Write p.x for p->x; Cython knows that p is a pointer."),
    (r"(?<![\w=!<>])!\s*\w", "Write 'not x' for !x."),
    (r"^\s*(?:if|elif|while)\b[^=]*[^=!<>]=[^=]", "Compare with ==; = assigns."),
    (r"^\s*(?:cdef\s+)?template\b",
     "Cython has no templates: use a fused type (ctypedef fused T: ...)."),
    (r"except[^:]*noexcept|noexcept[^:]*except",
     "noexcept and except exclude each other: keep one."),
    (r"^\s*(?:cdef|cpdef)\b.*\b(?:nogil|noexcept|except)\b[^()]*\w\s*\(",
     "nogil, noexcept and except stand behind the parentheses: cdef double f(double x) noexcept nogil:"),
    (r"^\s*(?:cdef|cpdef)\b.*\bnogil\b.*\b(?:noexcept|except)\b",
     "except and noexcept stand before nogil: ... noexcept nogil:"),
    (r"^\s*(?:cdef|cpdef)\b[^(]*\([^)]*\*\w",
     "A cdef function takes no *args or **kwargs: name its parameters, or make it def."),
    (r"^\s*(?:cdef|cpdef)\s+static\b", "Leave static away: what a cdef function is called stays in the cell."),
    (r"^\s*else\s+if\b", "Write elif for else if."),
    (r"^\s*switch\b", "Write if and elif for switch."),
    (r"^\s*(?:cdef|cpdef)\b.*->", "A cdef function names its result first: cdef double f(double x):"),
    (r"^\s*(?:cdef|cpdef)\b.*\b\w+\s*:\s*(?:double|float|int|long)\b",
     "Types stand before names: cdef double f(double x):"),
    (r"^\s*ctypedef\b.*=", "ctypedef names the type last: ctypedef double real"),
    (r"^\s*(?:typedef|struct|union|enum)\b", "Write ctypedef for typedef, and cdef before struct, union and enum."),
    (r"^\s*async\s|\bawait\b", "await belongs into an 'async def' function."),
)  # fmt: skip


def syntax_hint(place: Place, message: str) -> ShownMessage | str:
    """What to say for a ``message`` of Cython's parser; only a hint where its own words will do."""
    code = _bare(place.text)
    if message.startswith("Unrecognized character"):
        return _character(place)
    if message.startswith("Unexpected token"):
        return _unclosed_text(place)
    if message.startswith("Unclosed string"):
        return "A \" or ' is not closed in this line; text of several lines stands between three of them."
    if message.startswith("Expected ':', found 'NEWLINE'"):
        return _colon(place.line, code)
    number, above = place.before
    if number and _opens_block(above) and message.startswith(_AFTER_A_HEAD):
        if _bare(above).rstrip().endswith("{"):
            return ShownMessage("Expected ':', found '{'", number, _bare(above).rindex("{") + 1, _BRACES)
        if depth_of(place.text) > depth_of(above) and not _unclosed(place):
            return _colon(number, _bare(above))
    if hint := next((hint for pattern, hint in _SLIPS if re.search(pattern, code)), ""):
        return hint
    if (extra := _unopened(code)) and message.startswith(("Syntax error", "Expected")):
        return ShownMessage(f"'{code[extra - 1]}' closes nothing", place.line, extra, "")
    if opened := _unclosed(place):
        bracket = place.cell.split("\n")[opened[0] - 1][opened[1] - 1]
        return ShownMessage(f"'{bracket}' is never closed", *opened, "")
    return _by_words(place, message, number, above)


_AFTER_A_HEAD = ("Expected an id", "Possible inc", "Expected an inc", "Syntax error", "Inconsistent")


def _colon(line: int, code: str) -> ShownMessage:
    hint = "A line that opens a block ends with a colon."
    return ShownMessage("Expected ':' at the end of the line", line, len(code.rstrip()) + 1, hint)


def _opens_block(line: str) -> bool:
    """Whether a line without a colon at its end is the head of a block all the same."""
    head = _bare(line).rstrip()
    function = r"(?:cdef|cpdef)\b[^=]*\)\s*(?:except\b[^()]*|noexcept|nogil|with\s+gil|\s)*\{?$"
    block = r"(?:def|if|elif|else|for|while|with|try|class|cdef\s+(?:class|struct|union|enum|extern))\b"
    plain_c = r"\w[\w\s*]*\([^()]*\)\s*\{$"
    return not head.endswith((":", ",", "\\")) and bool(re.match(rf"\s*(?:{function}|{block}|{plain_c})", head))


def _by_words(place: Place, message: str, number: int, above: str) -> ShownMessage | str:
    if message.startswith("Expected an id") and not _bare(place.text[place.column - 1 :]).strip():
        return "The line ends where a value or a name should stand."
    if message.startswith("Expected an increase in indentation"):
        return f"The block that line {number} opens is indented, or holds 'pass'." if number else ""
    if message.startswith("Mixed use of tabs"):
        return "Indent with spaces only."
    if re.match("Inconsistent indentation", message):
        hint = "Start this line in the same column as another of its block."
        return ShownMessage("Inconsistent indentation", place.line, depth_of(place.text) + 1, hint)
    deeper = number and depth_of(place.text) > depth_of(above) and not _bare(above).rstrip().endswith(":")
    if re.match("Expected an id|Possible inc", message) and deeper:
        hint = f"Line {number} opens no block: indent this line like it."
        return ShownMessage("Unexpected indentation", place.line, depth_of(place.text) + 1, hint)
    return ""


def _character(place: Place) -> ShownMessage:
    start = max(place.column - 2, 0)
    column, character = next(
        ((n, c) for n, c in enumerate(place.text[start:], start + 1) if not (c.isascii() and c.isprintable())),
        (place.column, place.text[place.column - 1 : place.column]),
    )
    if not character:
        return ShownMessage("Unrecognized character", place.line, place.column, "")
    hint = f"Retype it: Cython has no {character!r} outside of texts."
    if character.isascii():
        hint = f"Cython gives {character!r} no meaning here."
    elif character in "\u2018\u2019\u201c\u201d":
        hint = "A typographic quote, as word processors make them: retype it as ' or \"."
    return ShownMessage(f"Unrecognized character {character!r} (U+{ord(character):04X})", place.line, column, hint)


def _unclosed_text(place: Place) -> ShownMessage | str:
    """The last three quotes that open a text, where one is open to the end of the cell."""
    opened = None
    for match in re.finditer(r"#[^\n]*|\"\"\"|'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", place.cell):
        if opened is None and match[0] in ('"""', "'''"):
            opened = match
        elif opened is not None and match[0] == opened[0]:
            opened = None
    if opened is None:
        return ""
    column = opened.start() - (place.cell.rfind("\n", 0, opened.start()) + 1) + 1
    return ShownMessage(f"{opened[0]} is never closed", place.cell.count("\n", 0, opened.start()) + 1, column, "")


def depth_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def _unopened(code: str) -> int:
    """The column of the first bracket of a line that closes none of it; 0 if there is none."""
    depth = 0
    for column, character in enumerate(code, 1):
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            return column
    return 0


def _unclosed(place: Place) -> tuple[int, int] | None:
    """The bracket in a line above, or before the end of this line, that is open where Cython stopped."""
    opened: list[tuple[int, int]] = []
    lines = place.cell.split("\n")
    for number, line in enumerate(lines[: place.line], 1):
        code = _bare(line)
        for column, character in enumerate(code, 1):
            if character in "([{":
                opened.append((number, column))
            elif character in ")]}" and opened:
                opened.pop()
    rest = "\n".join(lines[place.line - 1 :])
    if not opened or sum(rest.count(c) for c in ")]}") > sum(rest.count(c) for c in "([{"):
        return None
    return opened[-1]
