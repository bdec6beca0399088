"""NVRTC's log as diagnostics on the lines of the cell.  Pure: text in, values out.

A message is ``file(line): severity #number: words``, with continuation lines behind twelve spaces; then the
source line behind two spaces and a caret under its place, which counts bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ...model import Diagnostic
from ..diagnostics import GENERATED, shorten, source_line
from .nvrtc_hints import advise

_HEAD = (
    r"(?:(?P<file>.+)\((?P<line>\d+)\)|(?P<end>At end of source)): "
    r"(?P<severity>(?:catastrophic |internal )?error|warning|note|remark)(?: #(?P<number>\d+)(?:-D)?)?: (?P<words>.*)$"
)
_BARE = r"(?P<severity>Note|Warning|Error) #(?P<number>\d+)(?:-D)?: (?P<words>.*)$"
_DRIVER = r"nvrtc: (?P<severity>fatal error|error|warning): (?P<words>.*)$"
_ASSEMBLER = r"ptxas .*?(?:line \d+; )?(?P<severity>error|fatal|warning)\s*: (?P<words>.*)$"
_INSTANCE = r'\s*(?:detected during:?\s*)?(?P<what>\S.*?) at line (?P<line>\d+)(?: of "?(?P<file>[^"]+)"?)?$'
_CHATTER = r"The warnings can be suppressed|detected in the compilation of|Compilation terminated|Ptx assembly aborted"
#: What the compiler advises here is an option of nvrtc's; ours stands in the hint.
_ASIDE = (
    r", and host (?:functions|variables) are not allowed in JIT mode.*$| \(declared implicitly\)|"
    r" \(no directories in search list\)$"
)
#: Of a function that has many overloads each one is told why it is not meant.
_MOST_NOTES = 4


@dataclass
class _Message:
    """One message while its lines are being read."""

    head: Diagnostic
    notes: list[Diagnostic] = field(default_factory=list)


def read_log(log: str, *, name: str, cell: str) -> tuple[Diagnostic, ...]:
    """Read NVRTC's log.

    Parameters
    ----------
    log : str
    name, cell : str
        The cell's name in ``#line`` and its text.

    Returns
    -------
    tuple of Diagnostic
        Errors, then warnings, each followed by its notes.  Columns count characters.  Warnings about
        generated code are left out, and errors there where the cell itself has some.
    """
    lines = cell.split("\n")
    messages: list[_Message] = []
    for block in _blocks(log):
        message = _read_block(block, name, lines)
        if message is None:
            continue
        if message.head.severity == "note":
            if messages:
                messages[-1].notes += [message.head, *message.notes]
        else:
            messages.append(message)
    return shorten(tuple(_flatten(messages, name)))


def _blocks(log: str) -> Iterator[list[str]]:
    """The lines of each message."""
    block: list[str] = []
    for line in log.splitlines():
        if re.search(_CHATTER, line):
            continue
        if re.match(f"{_HEAD}|".replace("?P<", "?P<_") + _BARE + "|nvrtc: |ptxas ", line):
            if block:
                yield block
            block = [line]
        elif block:
            block.append(line)
    if block:
        yield block


def _read_block(block: Sequence[str], name: str, lines: Sequence[str]) -> _Message | None:
    match = re.match(_HEAD, block[0])
    if not match:
        bare = re.match(_BARE, block[0]) or re.match(_DRIVER, block[0])
        if bare:
            severity, words = _severity(bare["severity"]), bare["words"]
            return _Message(Diagnostic(severity, words, hint=advise(words) if severity != "note" else ""))
        assembler = re.match(_ASSEMBLER, block[0])
        return _Message(_assembled(assembler["words"], name, lines)) if assembler else None
    severity = _severity(match["severity"])
    caret = next((n for n, line in enumerate(block) if n > 1 and line.strip() == "^"), 0)
    # It says so in two ways, by whether it had folders to search.
    first = match["words"].replace("cannot open source file", "could not open source file")
    words = [first, *(line.strip() for line in block[1 : caret - 1 if caret else 1])]
    message = re.sub(_ASIDE, "", "; ".join(words).replace(":; ", ": "))
    file = name if match["end"] else match["file"]
    line = len(lines) if match["end"] else int(match["line"])
    shown, column = _place(block, caret, file, line, name, lines)
    option = f"#{match['number']}-D" if match["number"] and severity == "warning" else ""
    # What is wrong in somebody's header is no advice for the cell, but that a header is missing there.
    theirs = file not in (name, GENERATED) and "open source file" not in message
    hint = "" if severity == "note" or theirs else advise(message, shown)
    if match["severity"] == "internal error":
        message, hint = f"the compiler itself failed: {message}", "Simplify the cell."
    head = Diagnostic(severity, message, file, line, column, option, shown, hint)
    return _Message(head, list(_instances(block[caret + 1 :] if caret else [], file, name, lines)))


def _severity(word: str) -> Literal["error", "warning", "note"]:
    match word.lower().rpartition(" ")[2]:
        case "warning":
            return "warning"
        case "note" | "remark":
            return "note"
    return "error"


def _place(block: Sequence[str], caret: int, file: str, line: int, name: str, lines: Sequence[str]) -> tuple[str, int]:
    """The source line and the column in characters, 0 where it is not known."""
    column = block[caret].index("^") - 1 if caret else 0
    text = block[caret - 1][2:] if caret else ""
    if file == name and 0 < line <= len(lines):
        text = lines[line - 1]
    if column:
        # A caret of bytes; where a macro or a cut line is quoted, it may point behind the text.
        column = len(text.encode()[: column - 1].decode(errors="ignore")) + 1
    shown, column = source_line(text, column)
    return shown, column if column <= len(shown) + 1 else 0


def _instances(rest: Sequence[str], file: str, name: str, lines: Sequence[str]) -> Iterator[Diagnostic]:
    """What a message says of the templates in which it arose."""
    for text in rest:
        if match := re.match(_INSTANCE, text):
            line, place = int(match["line"]), match["file"] or file
            shown = source_line(lines[line - 1], 0)[0] if place == name and 0 < line <= len(lines) else ""
            what = re.sub(r"^detected during:?\s*", "", match["what"])
            yield Diagnostic("note", f"in the {what}", place, line, 0, "", shown)


def _assembled(words: str, name: str, lines: Sequence[str]) -> Diagnostic:
    """A fault in inline assembly: the assembler counts lines of its own, so it is placed at the cell's first asm."""
    hint = "The text of asm() must be PTX, which the PTX ISA manual describes."
    at = next((n for n, line in enumerate(lines, 1) if re.search(r"\b(?:asm|__asm__)\b", line)), 0)
    shown = source_line(lines[at - 1], 0)[0] if at else ""
    return Diagnostic("error", words, name if at else "", at, 0, "", shown, hint if at else "")


def _flatten(messages: Sequence[_Message], name: str) -> Iterator[Diagnostic]:
    own = any(m.head.severity == "error" and m.head.file not in (GENERATED, "") for m in messages)
    shown: set[tuple[str, str, str, int]] = set()
    for message in sorted(messages, key=lambda m: m.head.severity != "error"):
        head = message.head
        if head.file == GENERATED:
            if head.severity == "warning" or own:
                continue
            head = replace(head, line=0, column=0, text="", hint=_OURS)
        elif head.severity == "warning" and head.file != name:
            continue
        # A character that C++ does not have is refused byte by byte, a template once for each type.
        at = (head.severity, head.message, head.file, head.line)
        if head.message in _ONCE or any(m.startswith("in the ") for m in (n.message for n in message.notes)):
            if at in shown:
                continue
            shown.add(at)
        yield head
        yield from message.notes[:_MOST_NOTES]
        if (rest := len(message.notes) - _MOST_NOTES) > 0:
            yield Diagnostic("note", f"... and {rest} more of these")


_ONCE = frozenset({"unrecognized token"})
_OURS = (
    "This is in the text that is written behind the cell: a type or a macro of the cell does not fit there. "
    "If the cell looks right to you, please report it."
)
