"""A comparison as a value that can be kept: as a table, as JSON, in a file, drawn, and set against another one."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from .. import render
from ..model import CacheError, ComparisonError
from ..render import Agreement, Level, Row
from ..store import Cache
from .difference import Difference, difference
from .optional import needed

__all__ = ["Comparison", "load"]

_COLUMNS = (
    "label", "elements", "seconds", "spread", "per_element", "speedup", "compile_seconds", "bandwidth", "ok", "max_ulp",
    "relative", "note",
)  # fmt: skip


@dataclass(frozen=True)
class Comparison(render.Comparison):
    """What `compare` gives back: rows by size, then in the order of the callables.

    Attributes
    ----------
    interrupted : bool
        It was stopped before everything was measured; the rows are what there was.
    machine : str
        Where it was measured.
    """

    interrupted: bool = False
    machine: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """In the order of the rows."""
        return tuple(dict.fromkeys(row.label for row in self.rows))

    def series(self, label: str) -> tuple[Row, ...]:
        """Rows of one callable, by size."""
        return tuple(sorted((row for row in self.rows if row.label == label), key=lambda row: row.elements))

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

    def diff(self, other: render.Comparison) -> Difference:
        """What changed since ``other``, by label and size: how many times faster this one is."""
        return difference(self, before=other)

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
        if len({row.elements for row in self.rows}) > 1:
            _lines(self, ax)
        else:
            _bars(self.rows, ax)
        ax.set_title(self.name, parse_math=False)
        return ax


def _line(row: Row) -> tuple[Any, ...]:
    verdict = row.agreement
    checked = (None, None, None) if verdict is None else (verdict.ok, verdict.max_ulp, _relative(verdict))
    return (
        row.label, row.elements, row.seconds, row.spread, row.per_element, row.speedup, row.compile_seconds,
        row.bandwidth, *checked, row.note,
    )  # fmt: skip


def _relative(verdict: Agreement) -> float:
    """The worst element's difference relative to what was expected there."""
    if verdict.worst is None:
        return 0.0
    _, expected, got = verdict.worst
    if not all(isinstance(value, (int, float, complex)) for value in (expected, got)):
        return math.nan
    apart = abs(got - expected)
    return float(apart / abs(expected)) if expected else (math.inf if apart else 0.0)


def _lines(comparison: Comparison, ax: Any) -> None:
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


def _bars(rows: Sequence[Row], ax: Any) -> None:
    places = range(len(rows))
    ax.barh(places, [row.seconds for row in rows], xerr=[row.spread * row.seconds for row in rows])
    ax.set_yticks(places, [row.label for row in rows], parse_math=False)
    ax.invert_yaxis()
    ax.set_xlabel("seconds")


def load(path: str | Path) -> Comparison:
    """Read a comparison that ``Comparison.save`` wrote.

    Raises
    ------
    ComparisonError
        If there is no such file, or it holds something else.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        if data["format"] != render.FORMAT:
            raise ComparisonError(
                f"{path} has format {data['format']}, this version reads {render.FORMAT}.",
                remedy="Load it with the version of ufunc_magic that saved it.",
            )
        return _comparison(data)
    except OSError as fault:
        raise ComparisonError(f"{path} cannot be read ({fault.strerror}).", remedy="Check the path.") from fault
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        remedy = "Give a file that comparison.save(path) wrote."
        raise ComparisonError(f"{path} holds no comparison ({type(fault).__name__}: {fault}).", remedy=remedy) from None


def _comparison(data: dict[str, Any]) -> Comparison:
    known = _known(Comparison, data)
    known["rows"] = tuple(_row(row) for row in data["rows"])
    known["levels"] = tuple(Level(**level) for level in data.get("levels", ()))
    known["notes"] = tuple(data.get("notes", ()))
    return Comparison(**known)


def _row(data: dict[str, Any]) -> Row:
    known = _known(Row, data)
    for name in ("seconds", "spread", "speedup", "bandwidth", "compile_seconds"):
        known[name] = _float(known.get(name))
    verdict = known.get("agreement")
    if verdict is not None:
        worst = verdict["worst"] and tuple(map(_values, verdict["worst"]))
        verdict = Agreement(**{**verdict, "max_ulp": _float(verdict["max_ulp"]), "worst": worst})
    return replace(Row(**known), agreement=verdict)


def _known(kind: Any, data: dict[str, Any]) -> dict[str, Any]:
    """What this version knows of ``data``."""
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in data.items() if name in names}


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
