"""A comparison as a value: a table, JSON, a file, a drawing, and what changed since an earlier one.

Nothing here measures: ``bench`` fills the rows, and text, HTML, JSON and pictures are made from the same rows.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from ..model import CacheError, ComparisonError
from ..store import Cache
from .figure import drawable, figure
from .tables import (
    WIDTH,
    Agreement,
    Cells,
    Level,
    Row,
    agrees,
    count,
    duration,
    escape,
    heads,
    html_group,
    html_heads,
    html_row,
    ratio,
    remark,
    text_group,
    text_table,
    verdict,
    wrapped,
)

#: Version of the JSON form.
FORMAT = 1

#: The call, and its types in words.
Title = tuple[str, str]

#: Changes smaller than this are said to be none, however steady the rows.
LEAST = 0.03

#: From so many sizes on, a line for each size and a column for each way of computing reads better than the reverse.
FEWEST = 3
#: A column's head is cut here.
HEAD = 20

_COLUMNS = (
    "label", "elements", "seconds", "spread", "per_element", "speedup", "compile_seconds", "bandwidth", "ok", "max_ulp",
    "relative", "note",
)  # fmt: skip


def installed(package: str) -> Any | None:
    """The package, or None where it is not installed."""
    try:
        return importlib.import_module(package)
    except ImportError:
        return None


def needed(package: str, *, purpose: str) -> Any:
    """The package.

    Raises
    ------
    ComparisonError
        If it is not installed.
    """
    module = installed(package)
    if module is None:
        top = package.partition(".")[0]
        raise ComparisonError(f"{purpose} needs {top}, which is not installed.", remedy=f"Run: pip install {top}")
    return module


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
        It was stopped before everything was measured; the rows are what there was.
    machine : str
        Where it was measured.
    """

    name: str
    rows: tuple[Row, ...] = ()
    signature: str = ""
    notes: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ()
    interrupted: bool = False
    machine: str = ""

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

    def text(self, *, color: bool = False) -> str:
        """The comparison as an aligned table; ``color`` marks disagreements in red for a terminal."""
        return "\n".join(text_block(self, self._title, color=color))

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return html_page([(self, self._title)], caption="", items=())

    def to_svg(self) -> str:
        """Time per element over sizes, drawn; ``""`` for fewer than three sizes."""
        return drawing(self, self.name)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return bundle(self)

    def to_json(self) -> str:
        """The comparison as JSON; numbers JSON does not have are strings (``"nan"``, ``"inf"``)."""
        return json.dumps({"format": FORMAT, **json_value(self)}, allow_nan=False)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``, one line for each row; times in seconds.

        Raises
        ------
        ComparisonError
            If pandas is not installed.
        """
        pandas = needed("pandas", purpose="to_pandas()")
        return pandas.DataFrame([_line(row) for row in self.rows], columns=list(_COLUMNS))

    def save(self, path: str | Path) -> Path:
        """Write the comparison as JSON, for `load`.

        Raises
        ------
        CacheError
            If the file cannot be written.
        """
        try:
            return Cache.write_scratch(Path(path), self.to_json() + "\n")
        except CacheError as error:
            raise CacheError(error.message, remedy="Give a path in a folder that is there.") from error.__cause__

    @staticmethod
    def load(path: str | Path) -> Comparison:
        """Read what `save` wrote; the function `load` of this module."""
        return load(path)

    def diff(self, other: Any) -> Difference:
        """What changed since ``other``, by label and size: how many times faster this one is.

        Raises
        ------
        ComparisonError
            If ``other`` is no comparison.
        """
        if not isinstance(other, Comparison):
            fault = f"diff() takes a comparison, and {other!r} is {type(other).__name__}."
            raise ComparisonError(fault, remedy="Read a saved one first: comparison.load(path).")
        old, new = ({(row.label, row.elements): row for row in one.rows} for one in (other, self))
        changes = [
            Change(*place, old[place].seconds, row.seconds, max(old[place].spread, row.spread))
            for place, row in new.items()
            if place in old
        ]
        notes = []
        for rows, others, when in ((old, new, "before"), (new, old, "now")):
            labels = dict.fromkeys(label for label, elements in rows if (label, elements) not in others)
            if labels:
                notes.append(f"measured only {when}: {', '.join(labels)}")
        if len({one.machine for one in (other, self) if one.machine}) > 1:
            notes.append("the two were measured on different machines")
        return Difference(self.name, tuple(changes), tuple(notes))

    def plot(self, ax: Any = None) -> Any:
        """Draw with Matplotlib: time per element over sizes, or a bar for each row where there is one size.

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
            _, ax = needed("matplotlib.pyplot", purpose="plot()").subplots()
        draw = _plot_lines if len({row.elements for row in self.rows}) > 1 else _plot_bars
        draw(self, ax)
        ax.set_title(self.name, parse_math=False)
        return ax

    @property
    def _title(self) -> Title:
        return self.name, self.signature


@dataclass(frozen=True)
class Change:
    """One label at one size, before and now.

    Attributes
    ----------
    label : str
    elements : int
    before, now : float
        Seconds.
    spread : float
        The larger of the two spreads.
    """

    label: str
    elements: int
    before: float
    now: float
    spread: float

    @property
    def ratio(self) -> float:
        """Times faster now."""
        return self.before / self.now if self.now else float("inf")

    @property
    def word(self) -> str:
        """``"faster"``, ``"slower"``, or ``"same"`` for what is within the spread."""
        apart = max(self.ratio, 1 / self.ratio if self.ratio else float("inf")) - 1
        return "same" if apart <= max(LEAST, self.spread) else "faster" if self.ratio > 1 else "slower"


@dataclass(frozen=True)
class Difference:
    """Rows that both comparisons have, and the notes on what only one has.

    Attributes
    ----------
    name : str
    changes : tuple of Change
    notes : tuple of str
    """

    name: str
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()

    _heads = ("before", "now", "times faster")

    def __str__(self) -> str:
        lines = [self.name, *text_table(self._heads, self._cells())] if self.changes else [self.name]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        rows = "".join(map(html_row, self._cells()))
        notes = "".join(f"<div>note: {note}</div>" for note in map(escape, self.notes))
        table = f"<table>{html_heads(self._heads)}<tbody>{rows}</tbody></table>"
        return f'<div style="overflow-x:auto">{table}{notes}</div>'

    def _cells(self) -> list[Cells]:
        several = len({change.elements for change in self.changes}) > 1
        return [
            Cells(
                f"{change.label}, {count(change.elements)}" if several else change.label,
                (duration(change.before), duration(change.now), ratio(change.ratio)),
                note="within the spread" if change.word == "same" else change.word,
            )
            for change in self.changes
        ]


# -- text and HTML


def text_block(comparison: Comparison, title: Title, *, color: bool) -> list[str]:
    """Lines of one comparison."""
    if _over_sizes(comparison):
        return _text_sizes(comparison, title)
    return text_group(comparison.rows, title, notes=comparison.notes, color=color)


def html_page(pairs: Sequence[tuple[Comparison, Title]], *, caption: str, items: Sequence[str]) -> str:
    """One table with a row group for each comparison, drawings of those over sizes, then what else there is to say."""
    flat = [(c, title) for c, title in pairs if not _over_sizes(c)]
    columns = heads([row for c, _ in flat for row in c.rows])
    bodies = [html_group(c.rows, title, notes=c.notes, columns=columns) for c, title in flat]
    parts = [_html_sizes(c, title) for c, title in pairs if _over_sizes(c)]
    if bodies:
        top = '<caption style="caption-side:bottom;text-align:left;padding:.4em .7em;color:inherit">'
        head = f"{top}{escape(caption)}</caption>" if caption else ""
        parts.append(f"{_TABLE}{head}{html_heads(columns)}{''.join(bodies)}</table>")
    elif caption:
        parts.append(f'<div style="padding:.15em .7em">{escape(caption)}</div>')
    for item in items:
        face = ";font-family:monospace" if "\n" in item else ""  # a caret stands below its column
        parts.append(_paragraph(item, face))
    return f'<div style="overflow-x:auto">{"".join(parts)}</div>'


_TABLE = (
    '<table style="border-collapse:collapse;border:none;margin:0;table-layout:auto;color:inherit;'
    'font-variant-numeric:tabular-nums">'
)


def _paragraph(text: str, style: str = "") -> str:
    return f'<div style="padding:.15em .7em;white-space:pre-wrap{style}">{escape(text)}</div>'


def bundle(value: Any) -> dict[str, str]:
    """All forms of a comparison or report; a picture only where there is one."""
    svg = value.to_svg()
    picture = {"image/svg+xml": svg} if svg else {}
    return {"text/plain": value.text(color=True), "text/html": value._repr_html_(), **picture}


# -- a comparison over many sizes: a table of time per element, and its drawing


def _over_sizes(comparison: Comparison) -> bool:
    return len(_sizes(comparison.rows)) >= FEWEST


def drawing(comparison: Comparison, title: str) -> str:
    """The picture as a file, or ``""`` where there is nothing to draw."""
    rows = comparison.rows
    return figure(rows, title=title, levels=comparison.levels, file=True) if drawable(rows) else ""


def _text_sizes(comparison: Comparison, title: Title) -> list[str]:
    """Lines: the title, whether results agree, a line for each size, remarks and notes."""
    rows, levels = comparison.rows, comparison.levels
    lines = ["  ".join(part for part in title if part), *wrapped(f"{verdict(rows)}; time per element", indent="  ")]
    sizes = [count(size) for size in _sizes(rows)]
    first = max(map(len, ["elements", *sizes]))
    columns = [[_cut(label), *cells] for label, cells in _columns(comparison)]
    widths = [max(map(len, column)) for column in columns]
    while columns:  # as many columns side by side as the width takes
        fit = 1
        while fit < len(columns) and 2 + first + sum(w + 2 for w in widths[: fit + 1]) <= WIDTH:
            fit += 1
        for n, head in enumerate(["elements", *sizes]):
            cells = [column[n].rjust(width) for column, width in zip(columns[:fit], widths, strict=False)]
            lines.append("  ".join([f"  {head.rjust(first)}", *cells]).rstrip())
        columns, widths = columns[fit:], widths[fit:]
    full = ", ".join(f"{count(level.elements)} ({level.name})" for level in levels)
    caches = [f"caches are full at {full}"] if levels else []
    below = [*_remarks(rows), *caches, *(f"note: {note}" for note in comparison.notes)]
    return [*lines, *(line for text in below for line in wrapped(text, indent="  "))]


def _html_sizes(comparison: Comparison, title: Title) -> str:
    """The title, the drawing, the table folded under it, remarks and notes."""
    rows = comparison.rows
    call, *types = title
    words = " &ensp;".join(escape(part) for part in (*types, verdict(rows)) if part)
    parts = [f'<div style="padding:.5em .7em .2em"><strong>{escape(call)}</strong> &ensp;{words}</div>']
    table = _html_table(comparison, caption=f"{call}: time per element")
    if drawable(rows):
        # The theme's own text colour; where pictures are dropped from a page, the table below says it all.
        parts.append(f'<div style="color:inherit">{figure(rows, title=call, levels=comparison.levels)}</div>')
        folded = '<details style="padding:0 .7em"><summary style="display:list-item;cursor:pointer">figures</summary>'
        table = f"{folded}{table}</details>"
    below = [*_remarks(rows), *(f"note: {note}" for note in comparison.notes)]
    return "".join([*parts, table, *map(_paragraph, below)])


def _html_table(comparison: Comparison, *, caption: str) -> str:
    cell = "padding:.1em .7em;white-space:nowrap;border:none;text-align:right"
    columns = _columns(comparison)
    titles = "".join(
        f'<th scope="col" style="{cell};font-weight:normal;font-style:italic">{escape(head)}</th>'
        for head in ("elements", *(label for label, _ in columns))
    )
    body = []
    for n, size in enumerate(_sizes(comparison.rows)):
        cells = "".join(f'<td style="{cell}">{escape(column[n])}</td>' for _, column in columns)
        first = f'<th scope="row" style="{cell};font-weight:normal">{count(size)}</th>'
        body.append(f'<tr style="background:transparent">{first}{cells}</tr>')
    return (
        f'{_TABLE}<caption style="text-align:left;padding:.2em .7em;color:inherit">'
        f"{escape(caption)}</caption><thead><tr>{titles}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    )


def _sizes(rows: Sequence[Row]) -> list[int]:
    return sorted({row.elements for row in rows if row.elements > 0})


def _columns(comparison: Comparison) -> list[tuple[str, list[str]]]:
    """Each label with its cost at every size, ``""`` where it was not measured."""
    cost = {(r.label, r.elements): duration(r.per_element) if r.ok else "DISAGREES" for r in comparison.rows}
    sizes = _sizes(comparison.rows)
    return [(label, [cost.get((label, size), "") for size in sizes]) for label in comparison.labels]


def _cut(label: str) -> str:
    return label if len(label) <= HEAD else f"{label[: HEAD - 1]}…"


def _remarks(rows: Sequence[Row]) -> list[str]:
    """What rows have to say, once for each label: of the largest size, and why results disagree."""
    remarks: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: row.elements):
        compiled = f"compiled in {duration(row.compile_seconds)}" if row.compile_seconds is not None else ""
        if row.alarm or not remarks.get(row.label, "").startswith("DISAGREES"):
            remarks[row.label] = "; ".join(part for part in (row.alarm, remark(row), compiled) if part)
    return [f"{label}: {text}" for label, text in remarks.items() if text]


# -- Matplotlib and pandas


def _line(row: Row) -> tuple[Any, ...]:
    check = row.agreement
    checked = (None, None, None) if check is None else (check.ok, check.max_ulp, _relative(check))
    return (
        row.label, row.elements, row.seconds, row.spread, row.per_element, row.speedup, row.compile_seconds,
        row.bandwidth, *checked, row.note,
    )  # fmt: skip


def _relative(check: Agreement) -> float:
    """The worst element's difference relative to what was expected there."""
    if check.worst is None:
        return 0.0
    _, expected, result = check.worst
    if not all(isinstance(value, (int, float, complex)) for value in (expected, result)):
        return math.nan
    apart = abs(result - expected)
    return float(apart / abs(expected)) if expected else (math.inf if apart else 0.0)


def _plot_lines(comparison: Comparison, ax: Any) -> None:
    """Markers and dashes differ as well as colours."""
    marks, dashes = "osD^vPX*", ("-", "--", "-.", ":")
    lines = []
    for position, label in enumerate(comparison.labels):
        rows = comparison.series(label)
        style = {"marker": marks[position % len(marks)], "linestyle": dashes[position % len(dashes)]}
        lines += ax.plot([row.elements for row in rows], [row.per_element for row in rows], label=label, **style)
    sizes = [row.elements for row in comparison.rows]
    for level in comparison.levels:
        if min(sizes) <= level.elements <= max(sizes):
            ax.axvline(level.elements, color="0.6", linewidth=0.8, linestyle=":")
            ax.annotate(level.name, (level.elements, 1), xycoords=("data", "axes fraction"), va="top", ha="right")
    ax.set(xscale="log", yscale="log", xlabel="elements", ylabel="seconds per element")
    # Matplotlib leaves names that begin with an underscore out, and reads what stands between two $ as TeX.
    legend = ax.legend(lines, [f"line {n}" for n, _ in enumerate(lines)])
    for text, label in zip(legend.get_texts(), comparison.labels, strict=True):
        text.set(text=label, parse_math=False)


def _plot_bars(comparison: Comparison, ax: Any) -> None:
    rows = comparison.rows
    ax.barh(range(len(rows)), [row.seconds for row in rows], xerr=[row.spread * row.seconds for row in rows])
    ax.set_yticks(range(len(rows)), [row.label for row in rows], parse_math=False)
    ax.invert_yaxis()
    ax.set_xlabel("seconds")


# -- JSON


def json_value(value: Any) -> Any:
    """``value`` in what JSON knows."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: json_value(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [json_value(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)


def load(path: str | Path) -> Comparison:
    """Read a comparison that ``Comparison.save`` wrote.

    Raises
    ------
    ComparisonError
        If there is no such file, or it holds something else.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise ComparisonError(
                f"{path} has format {data['format']}, this version reads {FORMAT}.",
                remedy="Load it with the version of ufunc_magic that saved it.",
            )
        return Comparison(
            **{
                **_known_fields(Comparison, data),
                "rows": tuple(map(_row, data["rows"])),
                "levels": tuple(Level(**level) for level in data.get("levels", ())),
                "notes": tuple(data.get("notes", ())),
            }
        )
    except OSError as fault:
        raise ComparisonError(f"{path} cannot be read ({fault.strerror}).", remedy="Check the path.") from fault
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        remedy = "Give a file that comparison.save(path) wrote."
        raise ComparisonError(f"{path} holds no comparison ({type(fault).__name__}: {fault}).", remedy=remedy) from None


def _row(data: dict[str, Any]) -> Row:
    known = _known_fields(Row, data)
    for name in ("seconds", "spread", "speedup", "bandwidth", "compile_seconds"):
        known[name] = _float(known.get(name))
    check = known.get("agreement")
    if check is not None:
        worst = check["worst"] and tuple(map(_values, check["worst"]))
        check = Agreement(**{**check, "max_ulp": _float(check["max_ulp"]), "worst": worst})
    return replace(Row(**known), agreement=check)


def _known_fields(kind: Any, data: dict[str, Any]) -> dict[str, Any]:
    """What this version knows of ``data``."""
    return {field.name: data[field.name] for field in fields(kind) if field.name in data}


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def _values(value: Any) -> Any:
    """Numbers that JSON does not have, from their names."""
    if isinstance(value, list):
        return tuple(map(_values, value))
    if not isinstance(value, str):
        return value
    with contextlib.suppress(ValueError):  # a text that was an argument
        return complex(value) if value.endswith(("j", "j)")) else float(value)
    return value
