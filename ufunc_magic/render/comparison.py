"""A comparison as a value: a table, JSON, a file, a drawing, and what changed since an earlier one.

Nothing here measures: ``bench`` fills the rows, and text, HTML, JSON and pictures are made from the same rows.
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import io
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from ..model import Comfort, ComparisonError
from ..store import Cache
from .figure import drawable, figure
from .tables import (
    CAPTION,
    HEADS,
    MEANINGS,
    TABLE,
    WIDTH,
    Agreement,
    Cells,
    Level,
    Row,
    agrees,
    cells_of,
    count,
    duration,
    escape,
    explained,
    html_group,
    html_heads,
    html_row,
    ratio,
    remark,
    text_group,
    text_table,
    verdict,
    widths,
    words_in,
    wrapped,
)

#: Version of the JSON form.
FORMAT = 1

#: The call, and its types in words.
Title = tuple[str, str]

#: Changes smaller than this are said to be none, however steady the rows.
LEAST = 0.03

#: A column's head is cut here.
HEAD = 20


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
    inputs : str
        What the inputs hold, ``"m, v from -2 to 2"``.
    arguments : tuple of ndarray
        The inputs that were drawn or given, their first 10,000 elements; not part of what is saved.
    """

    name: str
    rows: tuple[Row, ...] = ()
    signature: str = ""
    notes: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ()
    interrupted: bool = False
    machine: str = ""
    inputs: str = ""
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
        return "\n".join(text_block(self, self._title))

    def _repr_html_(self) -> str:
        return html_page([(self, self._title)], caption="", items=())

    def to_svg(self) -> str:
        """Time per element over sizes, drawn; ``""`` for fewer than three sizes."""
        return drawing(self, self.name)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return bundle(self, [self])

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
        return Cache.write_scratch(Path(path), self.to_json() + "\n")

    @staticmethod
    def load(path: str | Path) -> Comparison:
        """Read what `save` wrote.

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
            remedy = "Name a file that comparison.save(path) wrote."
            raise ComparisonError(
                f"{path} is not a saved comparison ({type(fault).__name__}: {fault}).", remedy=remedy
            ) from None

    def diff(self, other: Comparison) -> Difference:
        """What changed since ``other``, by label and size: how many times faster this one is."""
        old, new = ({(row.label, row.elements): row for row in one.rows} for one in (other, self))
        changes = [
            Change(*place, old[place].seconds, row.seconds, max(old[place].spread or 0.0, row.spread or 0.0))
            for place, row in new.items()
            if place in old
        ]
        notes = []
        for rows, others, when in ((old, new, "before"), (new, old, "now")):
            labels = dict.fromkeys(label for label, elements in rows if (label, elements) not in others)
            if labels:
                notes.append(f"measured only {when}: {', '.join(labels)}")
        if len({one.machine for one in (other, self) if one.machine}) > 1:
            notes.append("the comparisons come from different machines")
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
        if _over_sizes(self):
            for label in self.labels:
                rows = self.series(label)
                ax.plot([row.elements for row in rows], [row.per_element for row in rows], marker="o", label=label)
            ax.set(xscale="log", yscale="log", xlabel="elements", ylabel="seconds per element", title=self.name)
            ax.legend()
        else:
            ax.barh(self.labels, [row.seconds for row in self.rows])
            ax.set(xlabel="seconds", title=self.name)
            ax.invert_yaxis()
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

    def __str__(self) -> str:
        table = text_table(("before", "now", "times faster"), self._cells()) if self.changes else []
        return "\n".join([self.name, *table, *(f"  note: {note}" for note in self.notes)])

    def _cells(self) -> list[Cells]:
        return [
            Cells(
                f"{change.label}, {count(change.elements)}",
                (duration(change.before), duration(change.now), ratio(change.ratio)),
                note="within the spread" if change.word == "same" else change.word,
            )
            for change in self.changes
        ]


# -- text and HTML


def text_block(comparison: Comparison, title: Title) -> list[str]:
    """Lines of one comparison."""
    if _over_sizes(comparison):
        return _text_sizes(comparison, title)
    return text_group(comparison.rows, title, inputs=comparison.inputs, notes=comparison.notes)


def html_page(pairs: Sequence[tuple[Comparison, Title]], *, caption: str, items: Sequence[str]) -> str:
    """One table with a row group for each comparison, drawings of those over sizes, then what else there is to say."""
    flat = [(c, title) for c, title in pairs if not _over_sizes(c)]
    columns = widths(HEADS, [cells for c, _ in flat for cells in cells_of(c.rows)])
    bodies = [html_group(c.rows, title, inputs=c.inputs, notes=c.notes, widths=columns) for c, title in flat]
    parts = [_html_sizes(c, title) for c, title in pairs if _over_sizes(c)]
    if bodies:
        end = f'<caption style="{CAPTION};order:1">{escape(caption)}</caption>' if caption else ""
        parts.append(f"{TABLE}{end}{html_heads(HEADS, columns)}{''.join(bodies)}</table>")
    parts += map(_paragraph, items if bodies or not caption else (caption, *items))
    if bodies:
        parts.append(_how_to_read("\n".join([*(str(c) for c, _ in flat), *items])))
    return f'<div style="overflow-x:auto">{"".join(parts)}</div>'


#: How a compiler's message begins, and the colour of the bar beside it, which shows on light and dark pages.
_MESSAGE = re.compile(r".*?:\d+(?::\d+)?: (error|warning): ")
_BARS = {"error": "#d32f2f", "warning": "#e08a00"}


def _paragraph(text: str) -> str:
    style = "padding:.15em .3em;white-space:pre-wrap"
    if message := _MESSAGE.match(text):
        style += f";border-left:4px solid {_BARS[message[1]]};padding-left:.6em;margin:.3em 0"
    if "\n" in text:
        style += ";font-family:monospace"  # a caret stands below its column
    return f'<div style="{style}">{explained(text)}</div>'


def _how_to_read(page: str) -> str:
    """What the words of a page mean, folded: where there are no pointers, there are no tooltips."""
    words = dict.fromkeys([*HEADS, *words_in(" ".join(page.split()))])
    lines = "".join(f"<div><em>{escape(word)}</em>: {escape(MEANINGS[word])}</div>" for word in words)
    return _folded("how to read the table", lines)


def _folded(summary: str, page: str) -> str:
    return (
        f'<details style="padding:.15em .3em"><summary style="display:list-item;cursor:pointer">{summary}</summary>'
        f"{page}</details>"
    )


def bundle(value: Any, comparisons: Sequence[Comparison]) -> dict[str, str]:
    """All forms of a comparison or report; a picture, for paper, where there is one and the notebook uses Matplotlib.

    The HTML holds the drawing as SVG.  Beside it that would make nbconvert call Inkscape, and fail without it.
    """
    picture: dict[str, str] = {}
    with Comfort("the picture", []):  # the HTML has it, too, and says what is wrong
        drawn = next((one for one in comparisons if drawable(one.rows)), None)
        if drawn is not None and "matplotlib" in sys.modules:  # importing it may take seconds
            page, file = needed("matplotlib.figure", purpose="the picture").Figure(layout="constrained"), io.BytesIO()
            drawn.plot(page.subplots())
            page.savefig(file, format="png", dpi=150)
            picture = {"image/png": base64.b64encode(file.getvalue()).decode()}
    return {"text/plain": str(value), "text/html": value._repr_html_(), **picture}


# -- a comparison over many sizes: a table of time per element, and its drawing


def _over_sizes(comparison: Comparison) -> bool:
    return len(_sizes(comparison.rows)) > 1


def drawing(comparison: Comparison, title: str) -> str:
    """The picture as a file, or ``""`` where there is nothing to draw."""
    rows = comparison.rows
    return figure(rows, title=title, levels=comparison.levels, file=True) if drawable(rows) else ""


def _text_sizes(comparison: Comparison, title: Title) -> list[str]:
    """Lines: the title, whether results agree, a line for each size, remarks and notes."""
    rows, levels = comparison.rows, comparison.levels
    lines = ["  ".join(part for part in title if part), *wrapped(f"{verdict(rows)}; time per element", indent="  ")]
    heads, cells = _by_size(comparison)
    # As many columns side by side as the width takes.
    fit = (WIDTH - max(len(row.label) for row in cells) - 2) // (max(map(len, [*heads, "1,230 ns"])) + 2)
    for start in range(0, len(heads), fit):
        part = slice(start, start + fit)
        lines += text_table(heads[part], [Cells(row.label, row.figures[part]) for row in cells])
    full = ", ".join(f"{count(level.elements)} ({level.name})" for level in levels)
    caches = [f"caches are full at {full}"] if levels else []
    below = [*_remarks(rows), *caches, *(f"note: {note}" for note in comparison.notes)]
    return [*lines, *(line for text in below for line in wrapped(text, indent="  "))]


def _html_sizes(comparison: Comparison, title: Title) -> str:
    """The title, the drawing, the table folded under it, remarks and notes."""
    rows = comparison.rows
    call, *types = title
    words = " &ensp;".join(explained(part) for part in (*types, verdict(rows)) if part)
    parts = [f'<div style="padding:.5em .3em .2em"><strong>{escape(call)}</strong> &ensp;{words}</div>']
    heads, cells = _by_size(comparison)
    columns = widths(heads, cells)
    body = "".join(html_row(row, columns, bars=False) for row in cells)
    table = (
        f'{TABLE}<caption style="{CAPTION}">{escape(call)}: time per element</caption>'
        f'{html_heads(heads, columns, bars=False)}<tbody style="display:block">{body}</tbody></table>'
    )
    if drawable(rows):
        # The theme's own text colour; where pictures are dropped from a page, the table below says it all.
        parts.append(f'<div style="color:inherit">{figure(rows, title=call, levels=comparison.levels)}</div>')
        table = _folded("figures", table)
    below = [*_remarks(rows), *(f"note: {note}" for note in comparison.notes)]
    return "".join([*parts, table, *map(_paragraph, below)])


def _sizes(rows: Sequence[Row]) -> list[int]:
    return sorted({row.elements for row in rows if row.elements > 0})


def _by_size(comparison: Comparison) -> tuple[list[str], list[Cells]]:
    """Heads, and for each size what each label costs, ``""`` where it was not measured."""
    labels = comparison.labels
    cost = {(r.label, r.elements): duration(r.per_element) if r.ok else "DISAGREES" for r in comparison.rows}
    heads = [label if len(label) <= HEAD else f"{label[: HEAD - 1]}…" for label in labels]
    sizes = _sizes(comparison.rows)
    return heads, [Cells(count(n, "element"), tuple(cost.get((label, n), "") for label in labels)) for n in sizes]


def _remarks(rows: Sequence[Row]) -> list[str]:
    """What rows have to say, once for each label: of the largest size, and why results disagree."""
    remarks: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: row.elements):
        if row.alarm or not remarks.get(row.label, "").startswith("DISAGREES"):
            remarks[row.label] = "; ".join(filter(None, (row.alarm, remark(row))))
    return [f"{label}: {text}" for label, text in remarks.items() if text]


# -- JSON


def json_value(value: Any) -> Any:
    """``value`` in what JSON knows."""
    if is_dataclass(value) and not isinstance(value, type):
        saved = (f.name for f in fields(value) if f.metadata.get("saved", True))
        return {name: json_value(getattr(value, name)) for name in saved}
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [json_value(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)


def _row(data: dict[str, Any]) -> Row:
    known = _known_fields(Row, data)
    for name in ("seconds", "spread", "speedup", "speedup_range", "bandwidth", "compile_seconds"):
        known[name] = _values(known.get(name))
    check = known.get("agreement")
    if check is not None:
        worst = check["worst"] and tuple(map(_values, check["worst"]))
        check = Agreement(**{**check, "max_ulp": _values(check["max_ulp"]), "worst": worst})
    return replace(Row(**known), agreement=check)


def _known_fields(kind: Any, data: dict[str, Any]) -> dict[str, Any]:
    """What this version knows of ``data``."""
    return {field.name: data[field.name] for field in fields(kind) if field.name in data}


def _values(value: Any) -> Any:
    """Numbers that JSON does not have, from their names."""
    if isinstance(value, list):
        return tuple(map(_values, value))
    if not isinstance(value, str):
        return value
    with contextlib.suppress(ValueError):  # a text that was an argument
        return complex(value) if value.endswith(("j", "j)")) else float(value)
    return value
