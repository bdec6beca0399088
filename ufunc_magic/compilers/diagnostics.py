"""Parses messages of compilers and linkers into diagnostics on the lines of the cell.  Pure: text in, values out.

gcc, clang and zig print ``file:line:column: severity: message [-Woption]``; columns count bytes
(gcc counts display columns only in files it can open, and a cell is none).  Linkers differ: GNU ld and
gold, lld, and Apple's ld are read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ..model import Comfort, Diagnostic
from .hints import advise, find_libraries, find_unknown_name
from .line_map import is_news, place

#: The file name of the code that is written around a cell.
GENERATED = "<ufunc_magic>"

# Patterns are text, not compiled here: most cells compile, and importing this should cost nothing.

#: Compilers' names for standard input, for text without a #line.
_UNNAMED = r"<stdin>$|-$|<ufunc_magic>$|<built-in>$|<command.line>$|.*-stdin\.c(?:pp)?$"

#: Source lines longer than this are shown from the start only, or not at all.
_WIDE = 200

_MESSAGE = (
    r"(?P<file>.+?)(?::(?P<line>\d+)(?::(?P<column>\d+))?|(?<=<command-line>)): "
    r"(?P<severity>(?:fatal )?error|internal compiler error|warning|note|sorry, unimplemented|Error|Warning|"
    r"optimized|missed|remark): "
    r"(?P<message>.*?)(?: \[(?P<option>-[^\]]*)\])?$"
)
_DRIVER = (
    r"(?:[\w./+-]*?(?:gcc|g\+\+|cc1|cc1plus|cc|c\+\+|clang|clang\+\+|zig|as)(?:-[\d.]+)?(?:\.exe)?: )?"
    r"(?P<severity>fatal error|error|internal compiler error): (?P<message>.*)$"
)
_INCLUDED = r"(?:In file included from|\s+from) (?P<file>.+?):(?P<line>\d+)(?::\d+)?[:,]$"
_REQUIRED = r"(?P<file>.+?):(?P<line>\d+):(?P<column>\d+):\s+required "
_EXPANSION = r"(?:in expansion of macro|expanded from macro|expanded from here) ?(?:'(?P<macro>\w+)')?"
_HEADER_NOTE = r"(?:include|header) (?:the header )?'?<([\w./+]+)>'?"
_CHATTER = (
    r"each undeclared identifier is reported only once|in definition of macro|linker command failed|"
    r"this is the location of the previous|ld returned \d+ exit status|argument unused during compilation|"
    r"candidate expects|candidate: '?(?:constexpr )?(\w+)::\1\((?:const )?\1&&?\)|template argument deduction"
)
_ECHO = r"expected |conflicting types for |'[^']+' redeclared as "
_LIBRARY = r"[\\/](?:include[\\/])?c\+\+[\\/]"
_INSTANCE_NAME = r"\b__ufm_(?:[biufc]\d{1,2}|c?longdouble|[a-zA-Z])_(?=\w)"
_UNIVERSAL = r"\\U([0-9a-fA-F]{8})|\\u([0-9a-fA-F]{4})"


@dataclass
class _Entry:
    """A message with the notes that belong to it, while the output is being read."""

    head: Diagnostic
    notes: list[Diagnostic] = field(default_factory=list)
    included: list[tuple[str, int]] = field(default_factory=list)


def read_compiler(output: str, *, name: str, cell: str, places: Sequence[int] | None = None) -> tuple[Diagnostic, ...]:
    """Read the compiler's part of ``output``.

    Parameters
    ----------
    output : str
        Standard error of gcc, clang or zig, in the C locale.
    name, cell : str
        The cell's name in ``#line`` and its text.
    places : sequence of int
        For C that was translated from the cell: `ufunc_magic.compilers.line_map.find_places` of it.

    Returns
    -------
    tuple of Diagnostic
        Errors, then warnings, each followed by its notes.  Columns count characters.  Warnings about
        generated code are left out; errors there have a hint about it.
    """
    lines = cell.split("\n")
    entries: list[_Entry] = []
    included: list[tuple[str, int]] = []
    for raw in output.splitlines():
        text = _make_readable(raw)
        if match := re.match(_INCLUDED, text):
            included = [*(included if text.startswith(" ") else []), _find_include(match, name, places)]
        elif match := re.match(_REQUIRED, text):
            included.append(_find_include(match, name, places))
        elif diagnostic := _read_diagnostic(text, name, lines):
            if places is not None:
                diagnostic = _translate_diagnostic(diagnostic, text, name, cell, places)
            if diagnostic is None or re.search(_CHATTER, diagnostic.message):
                continue
            if diagnostic.severity == "note" and not _is_remark(diagnostic):
                if entries:
                    _attach(entries[-1], diagnostic, name)
            elif not _comes_from_macro(entries, diagnostic):
                entries.append(_Entry(diagnostic, included=included))
                included = []
    return _flatten(entries, name, lines)


def _find_include(match: re.Match[str], name: str, places: Sequence[int] | None) -> tuple[str, int]:
    line = int(match["line"])
    if places is not None and re.match(_UNNAMED, match["file"]) and 0 < line <= len(places) and places[line - 1]:
        return name, abs(places[line - 1])
    return match["file"], line


def _translate_diagnostic(
    diagnostic: Diagnostic, text: str, name: str, cell: str, places: Sequence[int]
) -> Diagnostic | None:
    """``diagnostic`` with the cell's lines and names; None for what is no news to its user."""
    verbatim = False
    if diagnostic.file == GENERATED and not text.startswith(GENERATED):
        verbatim = 0 < diagnostic.line <= len(places) and places[diagnostic.line - 1] < 0
        diagnostic = place(diagnostic, places=places, name=name, cell=cell)
    judged = diagnostic.severity == "warning" and diagnostic.file not in ("", GENERATED)
    return None if judged and not is_news(diagnostic, name=name, verbatim=verbatim) else diagnostic


def _find_advice(message: str, *, line: str = "") -> str:
    notes: list[str] = []
    with Comfort("advice", notes):
        return advise(message, line=line)
    return notes[0]


def _read_diagnostic(text: str, name: str, lines: Sequence[str]) -> Diagnostic | None:
    match = re.match(_MESSAGE, text)
    if not match:
        match = re.match(_DRIVER, text)
        if not match or re.search(_SYSTEM_LIBRARY, text):
            return None
        return Diagnostic("error", match["message"], hint=_find_advice(match["message"]))
    severity: Literal["error", "warning", "note"] = "error"
    if match["severity"] in _REMARKS:
        severity = "note"
    elif match["severity"].lower() in ("warning", "note"):
        # The cell's own message: clang prints a warning, gcc a note, which would belong to another message.
        is_message = match["message"].startswith("'#pragma message")
        severity = "note" if match["severity"] == "note" and not is_message else "warning"
    option = (match["option"] or "").rpartition(",")[2].replace("-Werror=", "-W")
    file = GENERATED if re.match(_UNNAMED, match["file"]) else match["file"]
    line, column, shown = int(match["line"] or 0), int(match["column"] or 0), ""
    if file == name and line > len(lines) and "end of input" in match["message"]:  # there is nothing below the cell
        line, column = max((n for n, text in enumerate(lines, 1) if text.strip()), default=1), 0
    if file == name and 0 < line <= len(lines):
        shown, column = _show_source(lines[line - 1], column)
    message = match["message"] if match["severity"] not in _REMARKS else f"{match['severity']}: {match['message']}"
    hint = _find_advice(message, line=shown) if severity != "note" else ""
    if match["severity"] == "internal compiler error":
        message, hint = f"the compiler itself failed: {message}", "Set CC to another compiler."
    return Diagnostic(severity, message, file, line, column, option, shown, hint)


#: What gcc's -fopt-info and clang's -Rpass report about the cell, where the user asks for it.
_REMARKS = ("optimized", "missed", "remark")


def _is_remark(diagnostic: Diagnostic) -> bool:
    return diagnostic.message.startswith(tuple(f"{word}: " for word in _REMARKS))


def _show_source(line: str, column: int) -> tuple[str, int]:
    """The line as it is shown, and the column of byte ``column`` in characters."""
    line = line.rstrip("\r")
    if not line.isascii():
        column = len(line.encode()[: max(column - 1, 0)].decode(errors="ignore")) + (column > 0)
    return show_source_line(line, column)


def show_source_line(line: str, column: int) -> tuple[str, int]:
    """``line`` as a diagnostic shows it, cut or left away where it is long, and the ``column``, in characters."""
    line = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "\N{REPLACEMENT CHARACTER}", line.rstrip("\r"))
    if len(line) > _WIDE:
        line = f"{line[:_WIDE]} ..." if column <= _WIDE else ""
    return line, column


def _make_readable(text: str) -> str:
    """``text`` with the names the user wrote, and plain quotes."""
    text = re.sub(_UNIVERSAL, lambda m: chr(int(m[1] or m[2], 16) % 0x110000), text)
    return re.sub(_INSTANCE_NAME, "", text).translate({0x2018: "'", 0x2019: "'"})


def _comes_from_macro(entries: Iterable[_Entry], diagnostic: Diagnostic) -> bool:
    """Whether it follows from an error in a macro's use that its name is unknown.

    That message has the place of the use that does not end; gcc reports the end of the text.
    """
    unknown = find_unknown_name(diagnostic.message)
    for entry in entries:
        if unknown and entry.head.message.endswith(f'argument list invoking macro "{unknown}"'):
            entry.head = replace(diagnostic, message=entry.head.message, hint=entry.head.hint)
            return True
        if unknown and entry.head.message.startswith(f'macro "{unknown}"'):
            return True
    return False


def _attach(entry: _Entry, note: Diagnostic, name: str) -> None:
    head = entry.head
    if match := re.search(_HEADER_NOTE, note.message):
        if not head.hint or head.hint.startswith("Define "):  # the compiler knows the header
            entry.head = replace(head, hint=f"Add #include <{match[1]}> at the top of the cell.")
    elif match := re.match(_EXPANSION, note.message):
        if head.file == GENERATED and note.file == name:
            # A name that --types renames is one of our macros: the right place is where the cell uses it.
            entry.head = replace(note, severity=head.severity, message=head.message, option=head.option, hint=head.hint)
        elif head.file == name and note.file == name and note.line != head.line:
            # In a chain of macros, the last note has the place that the user wrote.
            entry.notes = [n for n in entry.notes if not n.message.startswith("through macro")]
            macro = f" {match['macro']}" if match["macro"] else ""
            entry.notes.append(replace(note, message=f"through macro{macro}"))
            if head.message.startswith("expected "):  # which ; is missing is not seen in the line
                entry.head = replace(head, hint="")
    elif note.file != GENERATED and (note.file == name or note.message != "declared here"):
        entry.notes.append(note)


def _flatten(entries: Iterable[_Entry], name: str, lines: Sequence[str]) -> tuple[Diagnostic, ...]:
    remaining: dict[tuple[str, str, str, int], list[Diagnostic]] = {}
    ordered = sorted(entries, key=lambda e: e.head.severity != "error")
    # Where the cell itself is wrong, what follows from it in the loops is no news.
    own = any(e.head.severity == "error" and e.head.file != GENERATED for e in ordered)
    in_cell = any(e.head.severity == "error" and e.head.file == name for e in ordered)
    errors_at = {(e.head.file, e.head.line, e.head.column) for e in ordered if e.head.severity == "error"}
    lines_with_errors: set[tuple[str, int]] = set()
    for entry in ordered:
        head = entry.head
        place = (head.file, head.line, head.column)
        if head.severity != "error" and (head.file in ("", GENERATED) or place in errors_at):
            continue
        # Messages of the parser on the rest of a line that it could not read, such as `retrun sin(x);`.
        echo = place[:2] in lines_with_errors and bool(re.match(_ECHO, head.message))
        # C declares by itself what it does not know.
        echo |= any(
            n.message.startswith("previous implicit declaration") and (n.file, n.line, n.column) in errors_at
            for n in entry.notes
        )
        inside = (own and head.file == GENERATED) or (in_cell and re.search(_LIBRARY, head.file))
        if head.severity == "error" and (echo or inside):
            continue
        if head.severity == "error" and head.file == name:
            lines_with_errors.add(place[:2])
        notes = list(entry.notes)
        if head.file == GENERATED:
            head = replace(head, line=0, column=0, hint=OURS)
        elif head.file != name:
            for file, line in entry.included:
                if file == name and 0 < line <= len(lines):
                    notes.append(
                        Diagnostic("note", "from here", name, line, 0, "", _show_source(lines[line - 1], 0)[0])
                    )
                    break
        # The same text compiled for several types complains once for each.
        remaining.setdefault((head.severity, head.message, head.file, head.line), [head, *dict.fromkeys(notes)])
    return tuple(d for group in remaining.values() for d in group)


#: The hint for an error in generated text.
OURS = (
    "The error is in the code that ufunc_magic generates around the cell: a type or a macro of the cell "
    "conflicts with it. If your code looks correct, please report this."
)


def count_errors(diagnostics: Iterable[Diagnostic]) -> str:
    """How many errors there are: ``"1 error"``, ``"3 errors"``."""
    errors = sum(d.severity == "error" for d in diagnostics)
    return "1 error" if errors == 1 else f"{errors} errors"


def shorten(diagnostics: Sequence[Diagnostic], *, limit: int = 10) -> tuple[Diagnostic, ...]:
    """The first ``limit`` errors and warnings with their notes, and a last note that counts the rest."""
    heads = [n for n, d in enumerate(diagnostics) if d.severity != "note"]
    if len(heads) <= limit:
        return tuple(diagnostics)
    rest = len(heads) - limit
    return (*diagnostics[: heads[limit]], Diagnostic("note", f"... and {rest} more"))


# ---------------------------------------------------------------------------------------- linkers

_UNDEFINED = (
    r"undefined reference to [`'](?P<gnu>.+?)'|undefined symbol: (?P<lld>\S.*)|symbol `(?P<asm>[^']+)' is undefined"
)
_APPLE = r'^\s+"_?(?P<symbol>.+)", referenced from:'
_DUPLICATE = r"multiple definition of [`'](?P<gnu>.+?)'|duplicate symbol:? '?_?(?P<lld>[^'\s]+)"
_SYSTEM_LIBRARY = (
    r"cannot find -l ?(?P<gnu>[^\s:]+)|unable to find library -l(?P<lld>\S+)|library not found for -l(?P<old>\S+)|"
    r"library '(?P<apple>[^']+)' not found|unable to find (?:dynamic|static)? ?system library \"(?P<zig>[^\"]+)\""
)


def read_linker(output: str, *, name: str, cell: str) -> tuple[Diagnostic, ...]:
    """Read the linker's part of ``output``: missing libraries, missing symbols, duplicates.

    A missing symbol is placed where the cell's code last mentions it; line 0 where it does not.
    """
    code = _blank_cell(cell)
    diagnostic: dict[str, Diagnostic] = {}
    for raw in output.splitlines():
        text = _make_readable(raw)
        if match := re.search(_SYSTEM_LIBRARY, text):
            library = next(g for g in match.groups() if g)
            diagnostic.setdefault(
                f"l{library}",
                Diagnostic(
                    "error",
                    f"library {library!r} not found",
                    hint=f"Install the development package of {library}, or name its folder with -L FOLDER",
                ),
            )
        elif match := re.search(_UNDEFINED, text) or re.match(_APPLE, text):
            symbol = _demangle_name(next(g for g in match.groups() if g))
            diagnostic.setdefault(f"u{symbol}", _describe_missing(symbol, name, cell, code))
        elif match := re.search(_DUPLICATE, text):
            symbol = next(g for g in match.groups() if g)
            hint = f"Rename one of them, or declare the cell's {symbol} `static`."
            diagnostic.setdefault(
                f"d{symbol}", _place_diagnostic(symbol, f"{symbol!r} is defined twice", hint, name, cell, code, 0)
            )
    return tuple(diagnostic.values())


def list_undefined_symbols(output: str) -> tuple[str, ...]:
    """The symbols that the linker misses, as it spells them."""
    matches = (
        re.search(_UNDEFINED, text) or re.match(_APPLE, text) for text in map(_make_readable, output.splitlines())
    )
    return tuple(dict.fromkeys(next(g for g in match.groups() if g) for match in matches if match))


def take_name_in_symbol(symbol: str) -> str:
    """The name of a function or variable in ``double half<double>(double)``."""
    match = re.search(r"(\w+) *(?:[<(]|$)", symbol)
    return match[1] if match else symbol


def _demangle_name(symbol: str) -> str:
    """The qualified name in a C++ symbol: what opens libraries does not spell it out, as linkers do."""
    match = re.match(r"_ZN?K?(?=\d)", symbol)
    rest, names = symbol[match.end() :] if match else "", []
    while length := re.match(r"\d+", rest):
        end = length.end() + int(length[0])
        names.append(rest[length.end() : end])
        rest = rest[end:]
    return "::".join(names) or symbol


#: How header libraries of one file leave out their bodies.
_IMPLEMENTATION = re.compile(r"^[ \t]*#[ \t]*if(?:def[ \t]+|[ \t]+defined[ \t]*\(?[ \t]*)(\w+_IMPLEMENTATION)\b", re.M)


def _describe_missing(symbol: str, name: str, cell: str, code: str) -> Diagnostic:
    base = symbol.partition("(")[0]
    if libraries := find_libraries(base):
        hint = f"Link with {libraries}"
    elif macro := _IMPLEMENTATION.search(cell):
        hint = f"Write #define {macro[1]} above it: the text has the bodies under that macro."
    else:
        hint = f"Link with the library that defines it (-l NAME), or add its source file (-S {base}.c)."
    return _place_diagnostic(symbol, f"{symbol!r} is used but not defined", hint, name, cell, code, -1)


def _blank_cell(cell: str) -> str:
    """A cell of C or of Cython with spaces for its comments and strings."""
    cython = re.search(r"^\s*(?:cp?def|def|cimport)\b", cell, re.M)
    comment = r"#[^\n]*" if cython else r"/\*.*?(?:\*/|\Z)|//[^\n]*"
    ignored = re.compile(rf"{comment}|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.S)
    return ignored.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), cell)


def _place_diagnostic(symbol: str, message: str, hint: str, name: str, cell: str, code: str, place: int) -> Diagnostic:
    """An error at one of the places where ``code`` mentions the symbol: the first is a declaration, the last a use."""
    word = re.escape(symbol.partition("(")[0].rpartition("::")[2])
    uses = [m.start() for m in re.finditer(rf"\b{word}\b", code)]
    if not uses:  # a macro has built the name
        return Diagnostic("error", message, hint=hint)
    start = cell.rfind("\n", 0, uses[place]) + 1
    column = uses[place] - start + 1
    shown, _ = _show_source(cell[start:].partition("\n")[0], 0)
    line = cell.count("\n", 0, start) + 1
    return Diagnostic("error", message, name, line, column, "", shown if len(shown) >= column else "", hint)
