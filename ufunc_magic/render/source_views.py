"""Views of a compiled cell by its lines: assembly of hot loops, vectorization remarks, the generated C code.

Pure: reads the texts that ``compilers.compiler_texts`` has the compiler leave.

Styles are inline, for JupyterLab drops style sheets; a tint always comes with a figure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Literal

from ..compilers import GENERATED, CompilerTexts
from ..model import CellPlace, CompiledCell, ObjectCode
from ..runtime import cpu_features
from .assembly import HotLoop, Placed, find_hot_loops, read
from .tables import escape
from .vectorization import LoopReport, Remark, find_loop_line, find_span, read_remarks, report_loops, spell_reason

ViewName = Literal["asm", "vec", "c", "annotate"]

_LINE = "font-family:var(--jp-code-font-family,ui-monospace,monospace);white-space:pre"


@dataclass(frozen=True)
class View:
    """One way of looking at a cell: a title, and parts with titles of their own; shows itself in a notebook.

    Parts of a view that is not ``opened`` are in the HTML only, where a click opens them.
    """

    name: str
    title: str
    parts: tuple[tuple[str, str], ...] = ()
    opened: bool = True

    def to_text(self) -> str:
        """The parts, one below the other."""
        lines = [f"{title}\n{text}".rstrip() if self.opened else title.rstrip() for title, text in self.parts]
        return "\n".join([f"{self.name}: {self.title}", *lines])

    def to_html(self) -> str:
        """One fragment with inline styles only, the parts folded."""
        parts = "".join(self._fold(escape(title), escape(text)) for title, text in self.parts)
        head = f"<div>{escape(self.name)}: {escape(self.title)}</div>"
        return f'<div style="overflow-x:auto;padding:.3em .7em">{head}{parts}</div>'

    def _fold(self, title: str, text: str) -> str:
        if not text:
            return f'<div style="{_LINE};margin-left:1.4em">{title}</div>'
        return (
            f'<details{" open" * self.opened}><summary style="display:list-item;list-style-position:outside;'
            f'margin-left:1.4em;cursor:pointer;{_LINE}">{title}</summary>'
            f'<pre style="margin:.2em 0 .6em 2.8em;background:transparent;color:inherit;line-height:1.35">{text}</pre>'
            "</details>"
        )

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()


def read_loops(cell: CompiledCell, texts: CompilerTexts) -> tuple[LoopReport, ...]:
    """The compiler's reports on the hot loops of a cell."""
    listing = read(texts.assembly)
    loops = find_hot_loops(cell, listing, features=cpu_features())
    return report_loops(cell, listing, read_remarks(texts.remarks), loops)


def make_source_views(
    cell: CompiledCell, names: Sequence[ViewName], texts: CompilerTexts, *, place: CellPlace
) -> tuple[View, ...]:
    """The views of these names, in that order.

    Parameters
    ----------
    cell : CompiledCell
        Of a language that a compiler of C reads.
    names : sequence of {"asm", "vec", "c", "annotate"}
    texts : CompilerTexts
        The compiler's further outputs for the same cell.
    place : CellPlace
        The cell's current name and lines.

    Returns
    -------
    tuple of View
    """
    object_code = cell.object_code
    listing, remarks = read(texts.assembly), read_remarks(texts.remarks)
    loops = find_hot_loops(cell, listing, features=cpu_features())

    def view(name: ViewName) -> View:
        match name:
            case "asm":
                return show_assembly(place, _list_source_lines(object_code), loops, object_code.toolchain)
            case "vec":
                reports = report_loops(cell, listing, remarks, loops)
                return show_vectorization(cell, reports, remarks, loops, place=place)
            case "c":
                return replace(show_generated(texts.unit, name=object_code.name), name=place.name)
            case "annotate":
                return annotate(place, _list_source_lines(object_code), loops)

    return tuple(map(view, dict.fromkeys(names)))


def _list_source_lines(object_code: ObjectCode) -> tuple[str, ...]:
    return tuple(object_code.source.replace("\r\n", "\n").split("\n"))


def _read_source(lines: Sequence[str], line: int) -> str:
    """A line of the cell, ``""`` for one that is not the cell's."""
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


# -- asm: the hot loops


def show_assembly(place: CellPlace, lines: Sequence[str], loops: Sequence[HotLoop], toolchain: str = "") -> View:
    """The hot loops of a cell, their instructions under the lines of the cell that they come from.

    An instruction of an inner loop has a bar for each loop it is in.
    """
    parts = []
    for loop in loops:
        rows = []
        for line, group in _group_instructions(loop):
            source = _read_source(lines, line) if line else "loads, stores and loop counter"
            rows.append(f"  {f'line {place.line(line)}' if line else 'loop':9} {source}")
            rows += [f"      {'| ' * placed.inner}{_show_instruction(placed)}" for placed in group]
        parts.append((f"{loop.name}  {loop.types}: {loop.words}", "\n".join(rows)))
    by = f" ({toolchain})" if toolchain else ""
    return View(place.name, f"the hot loop of each function, by line{by}", tuple(parts))


def _group_instructions(loop: HotLoop) -> list[tuple[int, list[Placed]]]:
    """Instructions by line, the cell's first and in its order."""
    lines = sorted({placed.line for placed in loop.placed}, key=lambda line: (line == 0, line))
    return [(line, [placed for placed in loop.placed if placed.line == line]) for line in lines]


def _show_instruction(placed: Placed) -> str:
    mnemonic, _, operands = placed.text.partition(" ")
    return f"{mnemonic:<12}{operands}{_name_callee(placed, operands)}".rstrip()


def _name_callee(placed: Placed, operands: str) -> str:
    """The function that an instruction calls, as a comment, unless its operands show it."""
    return f"    ; {placed.calls}" if placed.calls and placed.calls not in operands else ""


# -- annotate: each line with its share of the hot loop


def annotate(place: CellPlace, lines: Sequence[str], loops: Sequence[HotLoop]) -> View:
    """A cell's lines with the largest share that each has of any function's hot loop; assembly is folded under it."""
    words = "; ".join(f"{loop.name} {loop.types}: {loop.words}" for loop in loops)
    width = max(4, len(str(place.line(len(lines)))))
    parts = [(f"{'line':>{width}} {'share':>5}  source", "")]
    for n, source in enumerate(lines, 1):
        share = max((loop.shares.get(n, 0.0) for loop in loops), default=0.0)
        placed = [p for loop in loops for p in loop.placed if p.line == n]
        code = "\n".join(f"{'| ' * p.inner}{p.text}{_name_callee(p, p.text)}" for p in placed)
        parts.append((f"{place.line(n):>{width}} {f'{share:.0%}' if share else '':>5}  {source}", code))
    return View(place.name, words or "no function in the cell has a loop", tuple(parts), opened=False)


# -- c: the generated unit

_MARKER = re.compile(r'#(?:line)? +(\d+) +"((?:[^"\\]|\\.)*)"')


def show_generated(preprocessed: str, *, name: str) -> View:
    """Take the unit out of its preprocessed text.

    Parameters
    ----------
    preprocessed : str
        With line markers; directives may still be in it.
    name : str
        What ``#line`` calls the cell.
    """
    rows: list[tuple[str, str]] = []
    file = ""
    for line in preprocessed.split("\n"):
        if match := _MARKER.match(line):
            file = match[2].replace('\\"', '"')
        elif file in (name, GENERATED) and not line.startswith(("#define __GCC", "#undef __GCC")):  # the compiler's own
            rows.append((file, line))
    groups = ((f"/* {file} */", _tidy([line for _, line in lines])) for file, lines in groupby(rows, itemgetter(0)))
    return View(name, "the generated unit", tuple((title, text) for title, text in groups if text))


def _tidy(lines: list[str]) -> str:
    """The lines with no more than one empty one in a row, and none at the ends."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).strip("\n")


# -- vec: what was vectorized


def show_vectorization(
    cell: CompiledCell,
    reports: Sequence[LoopReport],
    remarks: Sequence[Remark],
    loops: Sequence[HotLoop],
    *,
    place: CellPlace,
) -> View:
    """Whether the loop of each function is vectorized, and each loop in the cell.

    Parameters
    ----------
    cell : CompiledCell
    reports : sequence of LoopReport
    remarks : sequence of Remark
    loops : sequence of HotLoop
        In the order of ``reports``.
    """
    object_code = cell.object_code
    lines = _list_source_lines(object_code)
    parts: list[tuple[str, str]] = []
    for report, loop in zip(reports, loops, strict=True):
        calls = dict.fromkeys(placed.calls for placed in loop.placed if placed.calls)
        called = f"; calls {', '.join(calls)}" if calls else ""
        parts.append((f"{report.name}  {report.types}: {report.describe(place)}{called}", ""))
    # The compiler also made a copy without vectors of such a function, or left an outer loop as it was.
    fine = [find_span(object_code, report.name) for report in reports if report.vectors and not report.ordered]
    by_line: dict[int, list[Remark]] = {}
    for remark in remarks:
        if remark.file.endswith(object_code.name) and (line := find_loop_line(cell, remark.line)):
            by_line.setdefault(line, []).append(remark)
    for line, about in sorted(by_line.items()):
        # A clone for another CPU, or a copy in another loop, may have fared otherwise.
        if any(report.ordered and report.line == line for report in reports):
            words = "adds one element at a time"
        elif any(remark.vectorized for remark in about):
            words = "is vectorized"
        elif any(line in span for span in fine):
            continue
        else:
            words = ": ".join(
                filter(None, ("is not vectorized", spell_reason(about[0].words, cell.report_data.loop_lines.get(line))))
            )
        parts.append((f"line {place.line(line)}: this loop {words}", f"    {_read_source(lines, line)}"))
    return View(place.name, f"loops that {object_code.toolchain or 'the compiler'} vectorized", tuple(parts))
