"""NVRTC's log as diagnostics on the lines of the cell.  Pure: text in, values out.

A message is ``file(line): severity #number: words``, with continuation lines after twelve spaces; then the
source line after two spaces and a caret under its place, which counts bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from ....compilers import GENERATED, OURS, shorten, show_source_line
from ....model import Diagnostic
from .nvrtc_hints import advise

_HEAD = (
    r"(?:(?P<file>.+)\((?P<line>\d+)\)|(?P<end>At end of source)): "
    r"(?P<severity>(?:catastrophic |internal )?error|warning|note|remark)(?: #(?P<number>\d+)(?:-D)?)?: (?P<words>.*)$"
)
_BARE = (
    r"(?:nvrtc: |ptxas .*?(?:line \d+; )?)?(?P<severity>Note|Warning|Error|(?:fatal )?error|fatal|warning)\s*"
    r"(?: #\d+(?:-D)?)?: (?P<words>.*)$"
)
_CHATTER = r"The warnings can be suppressed|detected in the compilation of|Compilation terminated|Ptx assembly aborted"
#: For a function with many overloads NVRTC reports why each one does not fit.
_MOST_NOTES = 4


def read_log(log: str, *, name: str, cell: str, ptx: str = "") -> tuple[Diagnostic, ...]:
    """Read NVRTC's log.

    Parameters
    ----------
    log : str
    name, cell : str
        The cell's name in ``#line`` and its text.
    ptx : str
        What the assembler and the linker read, with lines of the cell: their messages name its lines and symbols.

    Returns
    -------
    tuple of Diagnostic
        Errors, then warnings, each followed by its notes.  Columns count characters.  Warnings about
        generated code are left out, and errors there where the cell itself has some.
    """
    lines = cell.split("\n")
    messages: list[list[Diagnostic]] = []
    for block in _split_blocks(log):
        diagnostic = _read_block(block, name, lines, ptx)
        if diagnostic.severity != "note":
            messages.append([diagnostic])
        elif messages:
            messages[-1].append(diagnostic)
    return shorten(tuple(_flatten(messages, name)))


def _split_blocks(log: str) -> Iterator[list[str]]:
    """The lines of each message."""
    block: list[str] = []
    # The assembler ends what it reports with a NUL, and puts its errors at the end.
    for line in log.replace("\0", "").splitlines():
        if re.search(_CHATTER, line):
            continue
        if re.match(_HEAD, line) or re.match(_BARE, line):
            if block:
                yield block
            block = [line]
        elif block:
            block.append(line)
    if block:
        yield block


def _read_block(block: Sequence[str], name: str, lines: Sequence[str], ptx: str) -> Diagnostic:
    match = re.match(_HEAD, block[0])
    if not match:
        bare = re.match(_BARE, block[0])
        assert bare  # a block starts with one of the two
        severity, words = _read_severity(bare["severity"]), bare["words"]
        hint = advise(words) if severity != "note" else ""
        line = _find_in_ptx(block[0], ptx, name)
        if not 0 < line <= len(lines):
            return Diagnostic(severity, words, hint=hint)
        return Diagnostic(severity, words, name, line, text=show_source_line(lines[line - 1], 0)[0], hint=hint)
    severity = _read_severity(match["severity"])
    caret = next((n for n, line in enumerate(block) if n > 1 and line.strip() == "^"), 0)
    # It says so in two ways, by whether it had folders to search.
    first = match["words"].replace("cannot open source file", "could not open source file")
    words = [first, *(line.strip() for line in block[1 : caret - 1 if caret else 1])]
    # The compiler suggests an option of its own here; the hint has ours.
    aside = r", and host (?:functions|variables) are not allowed in JIT mode.*$"
    message = re.sub(aside, "", "; ".join(words).replace(":; ", ": "))
    file = name if match["end"] else match["file"]
    line = len(lines) if match["end"] else int(match["line"])
    shown, column = _read_place(block, caret, file, line, name, lines)
    option = f"#{match['number']}-D" if match["number"] and severity == "warning" else ""
    # An error in another header is no advice for the cell, unless a header is missing there.
    theirs = file not in (name, GENERATED) and "open source file" not in message
    hint = "" if severity == "note" or theirs else advise(message, shown)
    return Diagnostic(severity, message, file, line, column, option, shown, hint)


def _find_in_ptx(message: str, ptx: str, name: str) -> int:
    """The line of the cell that a message about PTX means, 0 where it is not known."""
    files = re.findall(r'^\s*\.file\s+(\d+) "(.*)"', ptx, re.MULTILINE)
    ours = {number for number, path in files if path.endswith(name)}
    rows = ptx.split("\n")
    marks = [re.match(r"\s*\.loc\s+(\d+) (\d+)", row) for row in rows]
    lines = [(n, int(mark[2])) for n, mark in enumerate(marks) if mark and mark[1] in ours]
    number, symbol = re.search(r", line (\d+);", message), re.search(r"'(\w+)'", message)
    if number:
        place = int(number[1]) - 1
    else:
        # Of constant memory the largest array is named, by the code that reads it.
        sizes = [(int(size), word) for word, size in re.findall(r"\.const .* (\w+)\[(\d+)\]", ptx)]
        word = symbol[1] if symbol else max(sizes)[1] if sizes and "constant data" in message else "$"
        use = rf"\.entry {re.escape(word)}\(|^(?!\s*[./]).*(?<!\w){re.escape(word)}(?!\w)"
        place = next((n for n, row in enumerate(rows) if re.search(use, row)), 0)
    before = [line for n, line in lines if n <= place]
    after = [line for n, line in lines if n > place]
    of_function = not number and ".entry" in rows[place]
    return next(iter(after[:1] if of_function else before[-1:]), 0)


def _read_severity(word: str) -> Literal["error", "warning", "note"]:
    kinds: dict[str, Literal["warning", "note"]] = {"warning": "warning", "note": "note", "remark": "note"}
    return kinds.get(word.lower(), "error")


def _read_place(
    block: Sequence[str], caret: int, file: str, line: int, name: str, lines: Sequence[str]
) -> tuple[str, int]:
    """The source line and the column in characters, 0 where it is not known."""
    column = block[caret].index("^") - 1 if caret else 0
    text = block[caret - 1][2:] if caret else ""
    if file == name and 0 < line <= len(lines):
        text = lines[line - 1]
    if column:
        # A caret of bytes; where a macro or a cut line is quoted, it may point past the text.
        column = len(text.encode()[: column - 1].decode(errors="ignore")) + 1
    shown, column = show_source_line(text, column)
    return shown, column if column <= len(shown) + 1 else 0


def _flatten(messages: Sequence[Sequence[Diagnostic]], name: str) -> Iterator[Diagnostic]:
    own = any(head.severity == "error" and head.file not in (GENERATED, "") for head, *_ in messages)
    # Of copies of a function, which the compiler may merge, one at least has its line.
    placed = {head.message for head, *_ in messages if head.file}
    shown: set[tuple[str, str, str, int]] = set()
    for head, *notes in sorted(messages, key=lambda message: message[0].severity != "error"):
        generated, warning = head.file == GENERATED, head.severity == "warning"
        # A character that C++ does not have is refused byte by byte, a template once for each type.
        at = (head.severity, head.message, head.file, head.line)
        if (
            at in shown
            or (not head.file and head.message in placed)
            or (generated and (warning or own))
            or (warning and head.file != name)
        ):
            continue
        shown.add(at)
        yield replace(head, line=0, column=0, text="", hint=OURS) if generated else head
        yield from notes[:_MOST_NOTES]
