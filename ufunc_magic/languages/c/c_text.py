"""C text: its tree; below that what is comment, directive or code, and what a constant expression is worth.

Offsets are in bytes of the UTF-8 text, as tree-sitter counts them.
"""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from types import MappingProxyType

from tree_sitter import Node

from ...ir import Binary, Constant, CType, Expression, Logical, Unary, evaluate_integer, read_integer
from .c_tree import parse_initializer, take_text, take_turns

#: Wider than any integer of C: an unsigned constant of 64 bits stays what it is.
_WIDEST = CType("i", 128)
_BLANK = bytes(c if c in b"\n" else 32 for c in range(256))

# No alternative of these can fail after it has begun, so nothing backtracks.
_STRING = rb"\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?"
_COMMENT = rb"//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)"
_LITERAL = (
    rb"(?:u8|[uUL])?R\"(?P<raw>[^()\\\s\"]{0,16})\(.*?\)(?P=raw)\""
    rb"|(?<=[0-9a-fA-F])(?<!u8)'(?=[0-9a-fA-F])"  # a digit separator opens no character constant
    rb"|" + _STRING
)
_TOKEN = re.compile(
    rb"(?P<comment>" + _COMMENT + rb")"
    rb"|(?P<directive>^[ \t]*\#(?:\"(?:[^\"\\\n]|\\.)*\"|/\*.*?(?:\*/|\Z)|//(?:\\\n|[^\n])*|\\\n|[^\n])*)"
    rb"|" + _LITERAL,
    re.S | re.M,
)
_NO_CODE = re.compile((_COMMENT + rb"|" + _LITERAL).decode(), re.S | re.M)
_COMMENTS = re.compile(rb"(" + _STRING + rb")|" + _COMMENT, re.S)
_DIRECTIVE = re.compile(rb"\s*#\s*(\w*)\s*(.*?)\s*\Z", re.S)
_DEFINE = re.compile(r"([^\W\d]\w*)(\([^)]*\))?\s*(.*)", re.S)
_INCLUDE = re.compile(r'<[^>\n]*>|"[^"\n]*"')
_WORD = re.compile(_STRING.decode() + r"|\.?\d[\w.']*|([^\W\d][\w$]*)", re.S)
_CALLED = re.compile(_STRING.decode() + r"|(?<!\w)([^\W\d][\w$]*)\s*\(", re.S)
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_UFUNC = re.compile(r"ufunc:(?!:)\s*(.*)")

_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    _Alignas _Alignof _Atomic _Bool _Complex _Generic _Imaginary _Noreturn _Static_assert _Thread_local
    __attribute__ __extension__ __restrict __restrict__ __inline __inline__ __asm__ asm typeof __typeof__
    alignof defined
"""
KEYWORDS = frozenset(_KEYWORDS.split())

#: Macros that compilers predefine and cells test; anything else a cell does not define is 0.
_PREDEFINED = {"__STDC__": "1", "__STDC_VERSION__": "201710", "__STDC_HOSTED__": "1", "__GNUC__": "12"}


@dataclass(frozen=True)
class Text:
    """A cell's text, taken apart.

    Attributes
    ----------
    raw : bytes
        The text with ``\\n`` line ends and no byte-order mark.
    code : bytes
        As long as ``raw``, with comments, directives and what ``#if`` leaves out turned into blanks.
    comments : tuple of (int, int)
        Start and end of each comment that is compiled past.
    macros : dict
        Name -> replacement text, parameter list first for a function-like macro.
    includes : tuple of str
        Headers with their delimiters.
    functions : frozenset of str
        The macros that take parameters.
    conditional : bool
        ``#if`` or ``#undef`` decide what is compiled, or an ``#include`` names no file.
    """

    raw: bytes
    code: bytes
    comments: tuple[tuple[int, int], ...] = ()
    macros: dict[str, str] = field(default_factory=dict)
    includes: tuple[str, ...] = ()
    functions: frozenset[str] = frozenset()
    conditional: bool = False

    def read_comment_of(self, line: int) -> tuple[str, str]:
        """`comment_above` a 1-based line."""
        start = self._starts[min(line, len(self._starts)) - 1]
        return self.read_comment_above(start + len(self.raw[start:]) - len(self.raw[start:].lstrip(b" \t")))

    def get_lines(self, first: int, last: int) -> str:
        """Some lines, 1-based."""
        starts = (*self._starts, len(self.raw) + 1)
        return self.raw[starts[first - 1] : starts[last] - 1].decode(errors="replace") if last < len(starts) else ""

    @cached_property
    def _beside(self) -> re.Pattern[bytes]:
        """Lines that may separate a comment from its function."""
        macros = b"|".join(re.escape(name.encode()) for name in self.macros) or rb"(?!)"
        return re.compile(rb"^[ \t]*(?:#[ \t]*pragma[^\n]*|(?:" + macros + rb")[ \t]*(?:\([^()\n]*\))?[ \t]*)\n", re.M)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.raw.split(b"\n")[:-1])]

    def start_of_line(self, line: int) -> int:
        """The first byte of a 1-based line, or the end of the text."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.raw)

    @property
    def own_headers(self) -> bool:
        """Whether it includes files of the user's."""
        return any(header.startswith('"') for header in self.includes)

    def read_comment_above(self, start: int) -> tuple[str, str]:
        """The comment that ends just above byte ``start``: its text, and what follows ``ufunc:`` in it.

        Lines that start with ``ufunc:`` may be further above, with only directives and blank lines between.
        """
        lines: list[str] = []
        near = True
        for first, last in reversed(self.comments[: bisect_right(self.comments, start, key=lambda span: span[1])]):
            # A pragma between the comment and its function does not part them, nor does EXPORT on a line of its own.
            between = self._beside.sub(b"", self.raw[last:start])
            own_line = not self.code[self.code.rfind(b"\n", 0, first) + 1 : first].strip()
            if self._beside.sub(b"", self.code[last:start]).strip() or not own_line:
                break
            near = near and not between.strip() and between.count(b"\n") <= 1
            above = _strip_marks(self.raw[first:last].decode(errors="replace"))
            lines[:0] = above if near else [line for line in above if _UFUNC.match(line.strip())]
            start = first
        return _split_notes(lines)

    def read_comment_between(self, start: int, end: int) -> tuple[str, str]:
        """The comments inside a span of bytes: their text, and the words after ``ufunc:`` in it."""
        inside = self.comments[bisect_right(self.comments, start, key=lambda span: span[0]) :]
        lines: list[str] = []
        for first, last in inside[: bisect_right(inside, end, key=lambda span: span[1])]:
            lines += _strip_marks(self.raw[first:last].decode(errors="replace"))
        return _split_notes(lines)

    def list_notes(self) -> list[tuple[int, str]]:
        """The line of each comment with words after ``ufunc:``, and these words."""
        notes = []
        for first, last in self.comments:
            words = _split_notes(_strip_marks(self.raw[first:last].decode(errors="replace")))[1]
            if words:
                notes.append((bisect_right(self._starts, first), words))
        return notes


def read(text: str, *, cplus: bool = False, predefined: Mapping[str, str] = MappingProxyType({})) -> Text:
    """Take ``text`` apart.  Conditions of ``#if`` are evaluated with the cell's own macros and those ``predefined``."""
    raw = text.encode("utf-8", errors="replace").replace(b"\r\n", b"\n").removeprefix(b"\xef\xbb\xbf")
    pieces: list[bytes] = []
    comments: list[tuple[int, int]] = []
    includes: list[str] = []
    conditions = Directives(predefined, cplus=cplus)
    done = 0
    for token in _TOKEN.finditer(raw):
        kind = token.lastgroup
        if kind not in ("comment", "directive"):
            continue
        start, end = token.span()
        before = raw[done:start]
        pieces.append(before if conditions.active else before.translate(_BLANK))
        pieces.append(raw[start:end].translate(_BLANK))
        done = end
        if kind == "comment":
            if conditions.active:
                comments.append((start, end))
        else:
            includes += conditions.take(token[0])
    rest = raw[done:]
    pieces.append(rest if conditions.active else rest.translate(_BLANK))
    return Text(
        raw,
        b"".join(pieces),
        tuple(comments),
        conditions.defined,
        tuple(includes),
        frozenset(conditions.functions),
        conditions.decide,
    )


class Directives:
    """The state of conditional compilation while directives go by."""

    def __init__(self, predefined: Mapping[str, str], *, cplus: bool) -> None:
        self.macros = _PREDEFINED | ({"__cplusplus": "201703"} if cplus else {}) | dict(predefined)
        self.defined: dict[str, str] = {}
        self.functions: set[str] = set()
        #: Whether any of them decide what is compiled.
        self.decide = False
        self.active = True
        #: For each open ``#if``: whether the text around it is active, whether a branch was taken.
        self.stack: list[tuple[bool, bool]] = []

    def follow(self, raw: bytes) -> Iterator[tuple[int, int, list[str]]]:
        """Follow the directives of a text, and yield the place of each with the headers it includes.

        What it includes may be followed before the next one.
        """
        for token in _TOKEN.finditer(raw):
            if token.lastgroup == "directive":
                yield *token.span(), self.take(token[0])

    def take(self, directive: bytes) -> list[str]:
        """Follow one directive; the headers it includes."""
        plain = _COMMENTS.sub(lambda m: m[1] or b" ", directive.replace(b"\\\n", b" "))
        match = _DIRECTIVE.match(plain)
        word, rest = (part.decode(errors="replace") for part in match.groups()) if match else ("", "")
        self.decide = self.decide or word in ("if", "ifdef", "ifndef", "undef")
        if word in ("if", "ifdef", "ifndef"):
            true = self.active and self._is_true(word, rest)
            self.stack.append((self.active, true))
            self.active = true
        elif word in ("elif", "elifdef", "elifndef", "else") and self.stack:
            around, taken = self.stack[-1]
            self.active = around and not taken and (word == "else" or self._is_true(word[2:], rest))
            self.stack[-1] = (around, taken or self.active)
        elif word == "endif" and self.stack:
            self.active = self.stack.pop()[0]
        elif self.active and word == "define" and (define := _DEFINE.match(rest)):
            self.macros[define[1]] = self.defined[define[1]] = (define[2] or "") + define[3]
            self.functions |= {define[1]} if define[2] else set()
        elif self.active and word == "undef":
            self.macros.pop(rest, None)
        elif self.active and word in ("include", "include_next", "import"):
            headers = _INCLUDE.findall(rest)[:1]
            self.decide = self.decide or not headers
            return headers
        return []

    def _is_true(self, word: str, rest: str) -> bool:
        if word != "if":
            return ("".join(rest.split()[:1]) in self.macros) is (word == "ifdef")
        condition = _DEFINED.sub(lambda m: str(int((m[1] or m[2]) in self.macros)), rest)
        return bool(evaluate_constant(condition, self.macros, missing=0))


def _split_notes(lines: list[str]) -> tuple[str, str]:
    """The text of a comment, and the words after ``ufunc:`` in it."""
    notes = [note[1].strip() for line in lines if (note := _UFUNC.match(line.strip()))]
    return _dedent_lines([line for line in lines if not _UFUNC.match(line.strip())]), " ".join(filter(None, notes))


def blank_out_literals(text: str) -> str:
    """``text`` with spaces for comments, strings and character constants; directives stay, and so do lines."""
    return _NO_CODE.sub(lambda match: "\n".join(" " * len(line) for line in match[0].split("\n")), text)


def find_words(text: str) -> frozenset[str]:
    """Every identifier of a piece of code, keywords left out."""
    return frozenset(_WORD.findall(text)) - KEYWORDS - {""}


def find_called(text: str) -> frozenset[str]:
    """Every identifier that an opening parenthesis follows, keywords left out."""
    return frozenset(_CALLED.findall(text)) - KEYWORDS - {""}


def _strip_marks(comment: str) -> list[str]:
    """The lines of one comment without its marks."""
    if comment.startswith("//"):
        return [line.lstrip().removeprefix("//").lstrip("/!").removeprefix("<") for line in comment.split("\n")]
    first, *rest = comment[2:].removesuffix("*/").rstrip("*").lstrip("*!").removeprefix("<").split("\n")
    if all(line.lstrip().startswith("*") for line in rest if line.strip()):
        return [first, *(line.lstrip().lstrip("*") for line in rest)]
    # Without stars the first line follows the mark, so its indentation is not the others'.
    return [first.lstrip(), *textwrap.dedent("\n".join(rest)).split("\n")]


def _dedent_lines(lines: list[str]) -> str:
    """Lines joined, with the indentation they share and outer blank lines taken away."""
    text = textwrap.dedent("\n".join(line.expandtabs().rstrip() for line in lines))
    return text.strip("\n").rstrip()


@take_turns
def evaluate_constant(text: str, names: Mapping[str, str], *, missing: int | None = None) -> int | None:
    """The value of an integer constant expression, or None.

    Parameters
    ----------
    text : str
        C operators, integer literals, and names that ``names`` gives a text for.
    names : mapping
        Name -> replacement text, as of macros and enumerators.
    missing : int, optional
        Value of names that ``names`` lacks; without it they make the expression no constant.
    """
    known: dict[str, Expression | None] = {}

    def read_text(text: str) -> Expression | None:
        value = parse_initializer(text) if len(text) <= 200 else None
        return read_node(value) if value is not None else None

    def read_node(node: Node) -> Expression | None:
        word = take_text(node)
        match node.type, node.children:
            case "parenthesized_expression", [_, inner, _]:
                return read_node(inner)
            case "number_literal", _:
                number = read_integer(word.lstrip("+-"))  # the grammar counts some signs to the number
                return number and Constant(type=_WIDEST, value=-number[0] if word[0] == "-" else number[0])
            case "identifier", _:
                if word not in known:
                    known[word] = None  # while it is read: a name may not need itself
                    absent = None if missing is None else Constant(type=_WIDEST, value=missing)
                    known[word] = read_text(names[word]) if word in names else absent
                return known[word]
            case "unary_expression", [sign, operand]:
                value = read_node(operand)
                if value is None or sign.type == "+":
                    return value
                return Unary(type=_WIDEST, op=sign.type, operand=value)  # type: ignore[arg-type]
            case "binary_expression", [left, sign, right]:
                a, b = read_node(left), read_node(right)
                kind = Logical if sign.type in ("&&", "||") else Binary
                return a and b and kind(type=_WIDEST, op=sign.type, left=a, right=b)  # type: ignore[arg-type]
        return None

    e = read_text(text)
    value = evaluate_integer(e) if e is not None else None
    return value if value is not None and not abs(value) >> 64 else None
