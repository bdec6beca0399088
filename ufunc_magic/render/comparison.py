"""A comparison as a value, and its tables in text and HTML.

``bench`` fills the rows; text, HTML, JSON and pictures are made from the same rows.
"""

from __future__ import annotations

import base64
import io
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..model import Comfort
from . import tables
from .figure import is_drawable, plot_rows, write_figure
from .optional_packages import import_required
from .saved import Difference, find_changes, read_file, write_file, write_json
from .tables import Cells, Level, Row, agrees, count, escape, explain_words, spell_duration, write_verdict

#: The call, and its types in words.
Title = tuple[str, str]

#: A column's head is cut here.
HEAD = 20


@dataclass(frozen=True)
class Comparison:
    """Several ways of computing one thing, verified and timed on the same inputs.

    Attributes
    ----------
    name : str
        The function, or the labels of all callables.
    rows : tuple of Row
        By size, then in the order of the callables.
    signature : str
        Types of the loop that was timed, ``"dd->d"``.
    notes : tuple of str
    levels : tuple of Level
        The caches of this machine, where the rows are of several sizes.
    interrupted : bool
        An interrupt ended it early, with the rows so far.
    machine : str
        The machine that measured it.
    inputs : str
        The ranges of the inputs, ``"m, v from -2 to 2"``.
    core : str
        Sizes of the core dimensions, ``"n=1000"``.
    plotted : bool
        Matplotlib has drawn it, so its page has no picture of its own.
    arguments : tuple of ndarray
        The first 10,000 elements of the inputs; not saved.
    """

    name: str
    rows: tuple[Row, ...] = ()
    signature: str = ""
    notes: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ()
    interrupted: bool = False
    machine: str = ""
    inputs: str = ""
    core: str = ""
    plotted: bool = field(default=False, compare=False, metadata={"saved": False})
    arguments: tuple[Any, ...] = field(default=(), repr=False, compare=False, metadata={"saved": False})

    @property
    def ok(self) -> bool:
        """No row disagrees with the expected results."""
        return agrees(self.rows)

    @property
    def labels(self) -> tuple[str, ...]:
        """In the order of the rows."""
        return tuple(dict.fromkeys(row.label for row in self.rows))

    def series(self, label: str) -> tuple[Row, ...]:
        """Rows of one callable, by size."""
        return tuple(sorted((row for row in self.rows if row.label == label), key=lambda row: row.elements))

    def __str__(self) -> str:
        return "\n".join(write_text_block(self, self._title))

    def _repr_html_(self) -> str:
        return write_html_page([(self, self._title)], caption="", items=())

    def to_svg(self) -> str:
        """Time per element over sizes, drawn; ``""`` for fewer than three sizes."""
        return write_drawing(self, self.name)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return make_bundle(self, [self])

    def to_json(self) -> str:
        """The comparison as JSON; numbers JSON does not have are strings (``"nan"``, ``"inf"``)."""
        return write_json(self)

    def to_markdown(self) -> str:
        """The table in Markdown, below its headline."""
        return write_markdown(self, self._title)

    def to_latex(self) -> str:
        """The table in LaTeX, a ``tabular``; it needs the package ``booktabs``."""
        return write_latex(self, self._title)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``, one line for each row; times in seconds.

        Raises
        ------
        ComparisonError
            If pandas is not installed.
        """
        pandas = import_required("pandas", purpose="to_pandas()")
        lines = []
        for row in self.rows:
            ok, ulp = (row.agreement.ok, row.agreement.max_ulp) if row.agreement else (None, None)
            lines.append({**vars(row), "per_element": row.per_element, "ok": ok, "max_ulp": ulp})
        return pandas.DataFrame(lines).drop(columns="agreement", errors="ignore")

    def save(self, path: str | Path) -> Path:
        """Write the comparison as JSON, for `load`.

        Raises
        ------
        CacheError
            If the file cannot be written.
        """
        return write_file(path, self)

    @staticmethod
    def load(path: str | Path) -> Comparison:
        """Read a file of `save`.

        Raises
        ------
        ComparisonError
            If there is no such file, or it contains something else.
        """
        return Comparison(**read_file(path, Comparison))

    def diff(self, other: Comparison) -> Difference:
        """The changes since ``other``, by label and size: how many times faster this one is."""
        changes, notes = find_changes(other.rows, self.rows)
        if len({one.machine for one in (other, self) if one.machine}) > 1:
            notes.append("the comparisons come from different machines")
        return Difference(self.name, changes, tuple(notes))

    def plot(self, ax: Any = None) -> Any:
        """Draw with Matplotlib: time per element over sizes, or a bar for each row at one size.

        Parameters
        ----------
        ax : matplotlib.axes.Axes
            A new one if omitted.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ComparisonError
            If Matplotlib is not installed.
        """
        if ax is None:
            _, ax = import_required("matplotlib.pyplot", purpose="plot()").subplots()
        return plot_rows(self.rows, ax, title=self.name, over_sizes=_is_over_sizes(self))

    @property
    def _title(self) -> Title:
        return self.name, self.signature


# -- text and HTML


def write_text_block(comparison: Comparison, title: Title) -> list[str]:
    """Lines of one comparison."""
    if _is_over_sizes(comparison):
        return _write_text_sizes(comparison, title)
    line = tables.write_headline(_name(comparison), comparison.rows)
    return tables.write_text_group(comparison.rows, title, line=line, inputs=comparison.inputs, notes=comparison.notes)


def write_html_page(
    pairs: Sequence[tuple[Comparison, Title]], *, caption: str, items: Sequence[str], more: Sequence[str] = ()
) -> str:
    """A table for each comparison, drawings of those over sizes, then what else there is to say; ``more`` is folded."""
    parts = [_write_html_sizes(c, title) if _is_over_sizes(c) else _write_html_rows(c, title) for c, title in pairs]
    parts += map(_write_paragraph, items)
    parts += [_fold(tables.count(len(more), "more note"), "".join(map(_write_paragraph, more)))] if more else []
    parts += [_write_paragraph(caption)] if caption else []
    flat = [c for c, _ in pairs if not _is_over_sizes(c)]
    if any(c.rows for c in flat):
        parts.append(_write_meanings("\n".join([*map(str, flat), *items])))
    return f"<div>{''.join(parts)}</div>"


def _write_html_rows(comparison: Comparison, title: Title) -> str:
    line = tables.write_headline(_name(comparison), comparison.rows)
    return tables.write_html_group(comparison.rows, title, line=line, inputs=comparison.inputs, notes=comparison.notes)


#: The beginning of a compiler's message, and the colours of its bar, visible on light and dark pages.
_MESSAGE = re.compile(r".*?:\d+(?::\d+)?: (error|warning): ")
_BARS = {"error": "#d32f2f", "warning": "#e08a00"}


def _write_paragraph(text: str) -> str:
    style = "padding:.15em .3em;white-space:pre-wrap"
    if message := _MESSAGE.match(text):
        style += f";border-left:4px solid {_BARS[message[1]]};padding-left:.6em;margin:.3em 0"
    if "\n" in text:
        style += ";font-family:monospace"  # so that a caret is below its column
    return f'<div style="{style}">{explain_words(text)}</div>'


def _write_meanings(page: str) -> str:
    """The meanings of a page's words, folded: touch screens show no tooltips."""
    words = dict.fromkeys(tables.find_words(" ".join(page.split())))
    lines = "".join(f"<div><em>{escape(word)}</em>: {escape(tables.MEANINGS[word])}</div>" for word in words)
    return _fold("how to read the table", lines)


def _fold(summary: str, page: str) -> str:
    return (
        f'<details style="padding:.15em .3em"><summary style="display:list-item;cursor:pointer">{summary}</summary>'
        f"{page}</details>"
    )


def make_bundle(value: Any, comparisons: Sequence[Comparison]) -> dict[str, str]:
    """All forms of a comparison or report; with a PNG for paper if it has a drawing and the notebook uses Matplotlib.

    The HTML holds the drawing as SVG.  An SVG of its own would make nbconvert call Inkscape, and fail without it.
    """
    picture: dict[str, str] = {}
    with Comfort("the picture", []):  # the HTML shows it too, with the fault
        drawn = next((one for one in comparisons if is_drawable(one.rows)), None)
        if drawn is not None and "matplotlib" in sys.modules:  # importing it may take seconds
            page, file = (
                import_required("matplotlib.figure", purpose="the picture").Figure(layout="constrained"),
                io.BytesIO(),
            )
            drawn.plot(page.subplots())
            page.savefig(file, format="png", dpi=150)
            picture = {"image/png": base64.b64encode(file.getvalue()).decode()}
    return {"text/plain": str(value), "text/html": value._repr_html_(), **picture}


# -- for papers and web pages


def _make_grid(comparison: Comparison, title: Title) -> tuple[str, tuple[str, ...], list[Cells]]:
    """The headline, the heads with one for the labels, and the rows."""
    if _is_over_sizes(comparison):
        heads, cells = _group_by_size(comparison, "element")
        return f"{title[0]}: time per element", ("", *heads), cells
    line = tables.write_headline(_name(comparison), comparison.rows) or "  ".join(filter(None, title))
    return line, ("", *tables.list_heads(comparison.rows)), tables.list_cells(comparison.rows)


def write_markdown(comparison: Comparison, title: Title) -> str:
    """The headline in bold, then a table of GitHub's Markdown."""
    line, heads, cells = _make_grid(comparison, title)
    rows = [heads, *((one.label, *one.figures) for one in cells)]
    lines = ["| " + " | ".join(map(_escape_markdown, row)) + " |" for row in rows]
    lines.insert(1, " | ".join(["| ---", *["---:"] * (len(heads) - 1)]) + " |")
    alarms = [_escape_markdown(f"{one.label}: {one.alarm}") for one in cells if one.alarm]
    return "\n".join([f"**{_escape_markdown(line)}**", "", *lines, *(["", *alarms] if alarms else [])])


def _escape_markdown(text: str) -> str:
    """The text with a backslash before what Markdown would read as a mark; ``<lambda>`` would be an HTML tag.

    An underscore inside a word is no mark.
    """
    return re.sub(r"[\\`*<|]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", text)


#: Letters that mean something else in LaTeX.
_LATEX = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    # Other signs in LaTeX's default encoding.
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def write_latex(comparison: Comparison, title: Title) -> str:
    """The headline as a comment, then a ``tabular``."""
    line, heads, cells = _make_grid(comparison, title)

    def write(texts: Sequence[str]) -> str:
        return " & ".join("".join(_LATEX.get(letter, letter) for letter in text) for text in texts) + r" \\"

    rows = [write((one.label, *one.figures)) for one in cells]
    alarms = [f"% {one.label}: {one.alarm}" for one in cells if one.alarm]
    columns = "l" + "r" * (len(heads) - 1)
    body = [r"\toprule", write(heads), r"\midrule", *rows, r"\bottomrule"]
    return "\n".join([f"% {line}", *alarms, rf"\begin{{tabular}}{{{columns}}}", *body, r"\end{tabular}"])


# -- a comparison over many sizes: a table of time per element, and its drawing


def _name(comparison: Comparison) -> str:
    return f"{comparison.name} ({comparison.core})" if comparison.core else comparison.name


def _is_over_sizes(comparison: Comparison) -> bool:
    return len(_list_sizes(comparison.rows)) > 1


def write_drawing(comparison: Comparison, title: str) -> str:
    """The picture as a file; ``""`` if there is nothing to draw."""
    rows = comparison.rows
    return write_figure(rows, title=title, levels=comparison.levels, file=True) if is_drawable(rows) else ""


def _write_text_sizes(comparison: Comparison, title: Title) -> list[str]:
    """Lines: the title, whether results agree, a line for each size, remarks and notes."""
    rows, levels = comparison.rows, comparison.levels
    lines = [
        "  ".join(part for part in title if part),
        *tables.wrap(f"{write_verdict(rows)}; time per element", indent="  "),
    ]
    heads, cells = _group_by_size(comparison, "element")
    # As many columns in a row as fit.
    fit = (tables.WIDTH - max(len(row.label) for row in cells) - 2) // (max(map(len, [*heads, "1,230 ns"])) + 2)
    for start in range(0, len(heads), fit):
        part = slice(start, start + fit)
        lines += tables.write_text_table(heads[part], [Cells(row.label, row.figures[part]) for row in cells])
    full = ", ".join(f"{count(level.elements)} ({level.name})" for level in levels)
    caches = [f"caches are full at {full}"] if levels else []
    below = [*_list_remarks(rows), *caches, *(f"note: {note}" for note in comparison.notes)]
    return [*lines, *(line for text in below for line in tables.wrap(text, indent="  "))]


def _write_html_sizes(comparison: Comparison, title: Title) -> str:
    """The title, the drawing, the table folded under it, remarks and notes."""
    rows = comparison.rows
    call, *types = title
    words = " &ensp;".join(explain_words(part) for part in (*types, write_verdict(rows)) if part)
    parts = [f'<div style="padding:.5em .3em .2em"><strong>{escape(call)}</strong> &ensp;{words}</div>']
    heads, cells = _group_by_size(comparison)
    parts.append(tables.write_html_table(heads, cells, name=f"{call}: time per element", bars=False, corner="elements"))
    if is_drawable(rows) and not comparison.plotted:
        # The theme's own text colour; where pictures are dropped from a page, the table says it all.
        parts.append(f'<div style="color:inherit">{write_figure(rows, title=call, levels=comparison.levels)}</div>')
    below = [*_list_remarks(rows), *(f"note: {note}" for note in comparison.notes)]
    return "".join([*parts, *map(_write_paragraph, below)])


def _list_sizes(rows: Sequence[Row]) -> list[int]:
    return sorted({row.elements for row in rows if row.elements > 0})


def _group_by_size(comparison: Comparison, unit: str = "") -> tuple[list[str], list[Cells]]:
    """Heads, and for each size the time of each label; ``""`` if it was not measured."""
    labels = comparison.labels
    cost = {(r.label, r.elements): spell_duration(r.per_element) if r.ok else "DISAGREES" for r in comparison.rows}
    heads = [label if len(label) <= HEAD else f"{label[: HEAD - 1]}…" for label in labels]
    sizes = _list_sizes(comparison.rows)
    return heads, [Cells(count(n, unit), tuple(cost.get((label, n), "") for label in labels)) for n in sizes]


def _list_remarks(rows: Sequence[Row]) -> list[str]:
    """The remarks of rows, once for each label: of the largest size, and why results disagree."""
    remarks: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: row.elements):
        if row.alarm or not remarks.get(row.label, "").startswith("DISAGREES"):
            remarks[row.label] = "; ".join(filter(None, (row.alarm, tables.write_remark(row))))
    return [f"{label}: {text}" for label, text in remarks.items() if text]
