"""Time per element over sizes, drawn: a log-log SVG without a plotting library, or the same lines on Matplotlib's axes.

Lines differ in colour and dashes, and each carries its label at its end, so that no meaning hangs on a
colour.  Inside a page, text takes the page's own colour and the background stays clear: light and dark themes
and paper are all served by one picture.  As a file of its own it brings its background, for it cannot know where
it is shown.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .tables import Level, Row, choose_colors, count, escape, spell_duration

DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4", "4 2 1 2")

WIDTH, HEIGHT = 720, 380
LEFT, TOP, BOTTOM = 76, 34, 52
#: Height of a line of text, and the width that a letter has on average at 12 px.
TEXT, LETTER = 15, 7.6
#: A label longer than this is cut.
LONGEST = 26

_FILE_STYLE = (
    "<style>svg{color:#1f1f1f;background:#ffffff}"
    "@media (prefers-color-scheme:dark){svg{color:#e6e6e6;background:#111111}}"
    "@media print{svg{color:#000000;background:#ffffff}}</style>"
)


@dataclass(frozen=True)
class Line:
    """One way of computing, over sizes: ``(elements, seconds per element)`` by size."""

    label: str
    points: tuple[tuple[int, float], ...]

    @property
    def words(self) -> str:
        """Its first and last points."""
        (first, slow), (last, quick) = self.points[0], self.points[-1]
        ends = f"{spell_duration(slow)} at {count(first)} elements, {spell_duration(quick)} at {count(last)}"
        return f"{self.label}: {ends}."


def make_lines(rows: Sequence[Row]) -> tuple[Line, ...]:
    """Rows of several sizes as lines, without the rows that disagree."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        if row.elements > 0 and row.seconds > 0 and row.ok:
            lines.setdefault(row.label, []).append((row.elements, row.per_element))
    return tuple(Line(label, tuple(sorted(points))) for label, points in lines.items() if len(points) > 1)


def is_drawable(rows: Sequence[Row]) -> bool:
    """Whether there are enough sizes for a line."""
    return len({row.elements for row in rows if row.elements > 0}) > 2 and bool(make_lines(rows))


def write_figure(rows: Sequence[Row], *, title: str, levels: Sequence[Level] = (), file: bool = False) -> str:
    """Time per element over sizes, as an ``<svg>``.

    Parameters
    ----------
    rows : sequence of Row
        Of several sizes; see `is_drawable`.
    title : str
        The function.
    levels : sequence of Level
        Caches, marked where their elements lie between the smallest and the largest size.
    file : bool
        A file of its own and not part of a page: with its own background and colours.

    Returns
    -------
    str
    """
    lines = make_lines(rows)
    labels = [line.label if len(line.label) <= LONGEST else f"{line.label[: LONGEST - 1]}…" for line in lines]
    chosen = choose_colors(rows)
    colors = [chosen[line.label] for line in lines]
    right = WIDTH - 22 - LETTER * max(map(len, labels))
    sizes = [point[0] for line in lines for point in line.points]
    costs = [point[1] for line in lines for point in line.points]
    x = _scale(min(sizes), max(sizes), LEFT, right)
    low, high = _pad_range(min(costs), max(costs))
    y = _scale(low, high, HEIGHT - BOTTOM, TOP)
    parts = [
        *_size_axis(x, min(sizes), max(sizes), right=right),
        *_write_cost_axis(y, low, high, right=right),
        *_write_caches(x, [level for level in levels if min(sizes) < level.elements < max(sizes)]),
        *itertools.chain.from_iterable(_write_curve(n, line, x, y, colors[n]) for n, line in enumerate(lines)),
        *_write_labels(labels, colors, [(x(line.points[-1][0]), y(line.points[-1][1])) for line in lines], right),
    ]
    heading = f"{title}: time per element over sizes"
    words = f"Both axes are logarithmic. {' '.join(line.words for line in lines)}"
    body = "".join(parts)
    key = hashlib.sha256(f"{heading}{words}{body}".encode()).hexdigest()[:8]  # ids of a page must differ
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-labelledby="t{key} d{key}" font-family="system-ui,sans-serif" font-size="12" '
        f'fill="currentColor" stroke="none" style="max-width:100%;height:auto;overflow:visible">'
        f'<title id="t{key}">{escape(heading)}</title><desc id="d{key}">{escape(words)}</desc>'
        f"{_FILE_STYLE if file else ''}{body}</svg>"
    )


def plot_rows(rows: Sequence[Row], ax: Any, *, title: str, over_sizes: bool) -> Any:
    """The lines of `write_figure` on Matplotlib's axes, in the same colours; a bar for each row at one size."""
    colors = choose_colors(rows)
    if over_sizes:
        for line in make_lines(rows):
            ax.plot(*zip(*line.points, strict=True), marker="o", color=colors[line.label], label=line.label)
        ax.set(xscale="log", yscale="log", xlabel="elements", ylabel="seconds per element", title=title)
        ax.legend()
    else:
        labels = [row.label for row in rows]
        ax.barh(labels, [row.seconds for row in rows], color=[colors[label] for label in labels])
        ax.set(xlabel="seconds", title=title)
        ax.invert_yaxis()
    return ax


def _pad_range(low: float, high: float) -> tuple[float, float]:
    """A range with room around it, wide enough that noise does not fill the picture."""
    low, high = low / 1.25, high * 1.25
    if high / low < 10:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(10), middle * math.sqrt(10)
    return low, high


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """From a logarithmic range to places."""
    width = math.log10(high / low) or 1.0
    return lambda value: start + (end - start) * math.log10(value / low) / width


def _place_ticks(low: float, high: float) -> list[float]:
    """Powers of ten; steps between them where there are too few."""
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 2, 5)):
        values = [float(f"{step}e{power}") for power in powers for step in steps]
        inside = [value for value in values if low <= value * 1.000001 and value <= high * 1.000001]
        if len(inside) > 1:
            break
    return inside


def _size_axis(x: Callable[[float], float], low: float, high: float, *, right: float) -> list[str]:
    base = HEIGHT - BOTTOM
    parts = [f'<path d="M{LEFT} {base}H{right:.1f}" stroke="currentColor" fill="none"/>']
    for value in _place_ticks(low, high):
        place = x(value)
        parts.append(f'<path d="M{place:.1f} {base}v5" stroke="currentColor" fill="none"/>')
        parts.append(_write_text(place, base + 19, _spell_short(value, _ELEMENTS), anchor="middle"))
    return [*parts, _write_text((LEFT + right) / 2, HEIGHT - 12, "elements", anchor="middle")]


def _write_cost_axis(y: Callable[[float], float], low: float, high: float, *, right: float) -> list[str]:
    ticks = _place_ticks(low, high)
    every = 1 + (len(ticks) - 1) // 9
    parts = []
    for value in ticks[::every]:
        place = y(value)
        parts.append(
            f'<path d="M{LEFT} {place:.1f}H{right:.1f}" stroke="currentColor" stroke-opacity=".18" fill="none"/>'
        )
        parts.append(_write_text(LEFT - 8, place + 4, _spell_short(value, _SECONDS), anchor="end"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f'transform="rotate(-90 16 {middle:.1f})"'
    return [*parts, f'<text x="16" y="{middle:.1f}" text-anchor="middle" {turned}>time per element</text>']


def _write_caches(x: Callable[[float], float], levels: Sequence[Level]) -> list[str]:
    """A dotted upright where the data fills a cache, named at its top; every other name is lower."""
    parts = []
    for n, level in enumerate(sorted(levels, key=lambda level: level.elements)):
        place, top = x(level.elements), TOP - 6 + TEXT * (n % 2)
        parts.append(
            f'<path d="M{place:.1f} {top + 4}V{HEIGHT - BOTTOM}" stroke="currentColor" stroke-opacity=".55" '
            f'stroke-dasharray="1 4" fill="none"/>'
        )
        parts.append(_write_text(place, top, f"{level.name} {_spell_short(level.bytes, _BYTES)}", anchor="middle"))
    return parts


def _write_curve(n: int, line: Line, x: Callable[[float], float], y: Callable[[float], float], color: str) -> list[str]:
    dash = DASHES[n % len(DASHES)]
    way = "L".join(f"{x(size):.1f} {y(cost):.1f}" for size, cost in line.points)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    parts = [f'<path d="M{way}" stroke="{color}" stroke-width="2" fill="none"{dashes}/>']
    for size, cost in line.points:
        words = f"{line.label}: {count(size)} elements, {spell_duration(cost)} per element"
        parts.append(
            f'<circle cx="{x(size):.1f}" cy="{y(cost):.1f}" r="4" fill="{color}">'
            f"<title>{escape(words)}</title></circle>"
        )
    return parts


def _write_labels(
    labels: Sequence[str], colors: Sequence[str], ends: Sequence[tuple[float, float]], right: float
) -> list[str]:
    """Each label at the end of its line, moved where two would overlap."""
    order = sorted(range(len(labels)), key=lambda n: ends[n][1])
    places = dict(zip(order, _spread_heights([ends[n][1] for n in order]), strict=True))
    parts = []
    for n, label in enumerate(labels):
        (start, height), place = ends[n], places[n]
        parts.append(
            f'<path d="M{start + 6:.1f} {height:.1f}L{right + 14:.1f} {place:.1f}" stroke="{colors[n]}" '
            f'stroke-opacity=".7" fill="none"/>'
        )
        parts.append(_write_text(right + 18, place + 4, label))
    return parts


def _spread_heights(heights: Sequence[float]) -> list[float]:
    """Places in order, at least a line of text from each other and inside the picture."""
    places = list(heights)
    for n in range(1, len(places)):
        places[n] = max(places[n], places[n - 1] + TEXT)
    floor = float(HEIGHT - BOTTOM)
    for n in reversed(range(len(places))):
        places[n] = min(places[n], floor)
        floor = places[n] - TEXT
    return places


def _write_text(x: float, y: float, words: str, *, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


_ELEMENTS = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (0.0, ""))
_SECONDS = ((1.0, " s"), (1e-3, " ms"), (1e-6, " us"), (1e-9, " ns"))
_BYTES = ((2**20, " MB"), (2**10, " kB"))


def _spell_short(value: float, units: Sequence[tuple[float, str]]) -> str:
    """``"100k"``, ``"20 us"``, ``"48 kB"``."""
    factor, unit = next(((f, unit) for f, unit in units if value >= 0.9999 * f), units[-1])
    return f"{value / (factor or 1):.3g}{unit}"
