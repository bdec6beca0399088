"""Saved comparisons: reports and comparisons as JSON, their files, and the changes between two comparisons."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from ..model import ComparisonError
from ..store import Cache
from .tables import Agreement, Cells, Level, Row, count, spell_duration, spell_ratio, write_text_table

#: Version of the JSON form.
FORMAT = 1

#: The least change that is reported, however steady the rows.
LEAST = 0.03


def write_json(value: Any) -> str:
    """A report or comparison as JSON; numbers JSON does not have are strings (``"nan"``, ``"inf"``)."""
    return json.dumps({"format": FORMAT, **_make_json_value(value)}, allow_nan=False)


def _make_json_value(value: Any) -> Any:
    """``value`` in JSON's types."""
    if is_dataclass(value) and not isinstance(value, type):
        saved = (f.name for f in fields(value) if f.metadata.get("saved", True))
        return {name: _make_json_value(getattr(value, name)) for name in saved}
    if isinstance(value, Mapping):
        return {str(key): _make_json_value(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_make_json_value(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)


def write_file(path: str | Path, value: Any) -> Path:
    """Write a comparison for `read_file`.

    Raises
    ------
    CacheError
        If the file cannot be written.
    """
    return Cache.write_scratch(Path(path), write_json(value) + "\n")


def read_file(path: str | Path, kind: type) -> dict[str, Any]:
    """The fields of a saved comparison of class ``kind``.

    Raises
    ------
    ComparisonError
        If there is no such file, or it contains something else.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise ComparisonError(
                f"{path} has format {data['format']}, this version reads {FORMAT}.",
                remedy="Load it with the version of ufunc_magic that saved it.",
            )
        rows, levels = tuple(map(_read_row, data["rows"])), tuple(Level(**level) for level in data.get("levels", ()))
        notes = tuple(data.get("notes", ()))
        return {"name": data["name"], **_keep_known_fields(kind, data), "rows": rows, "levels": levels, "notes": notes}
    except OSError as fault:
        raise ComparisonError(f"{path} cannot be read ({fault.strerror}).", remedy="Check the path.") from fault
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise ComparisonError(
            f"{path} is not a saved comparison ({type(fault).__name__}: {fault}).",
            remedy="Name a file that comparison.save(path) wrote.",
        ) from None


def _read_row(data: dict[str, Any]) -> Row:
    known = _keep_known_fields(Row, data)
    for name in ("seconds", "spread", "speedup", "speedup_range", "bandwidth", "compile_seconds"):
        known[name] = _read_number(known.get(name))
    check = known.get("agreement")
    if check is not None:
        worst = check["worst"] and tuple(map(_read_number, check["worst"]))
        check = Agreement(**{**check, "max_ulp": _read_number(check["max_ulp"]), "worst": worst})
    return replace(Row(**known), agreement=check)


def _keep_known_fields(kind: Any, data: dict[str, Any]) -> dict[str, Any]:
    """The part of ``data`` that this version knows."""
    return {field.name: data[field.name] for field in fields(kind) if field.name in data}


def _read_number(value: Any) -> Any:
    """A number, from its name if JSON does not have it."""
    if isinstance(value, list):
        return tuple(map(_read_number, value))
    if not isinstance(value, str):
        return value
    with contextlib.suppress(ValueError):  # an argument that was a text
        return complex(value) if value.endswith(("j", "j)")) else float(value)
    return value


# -- changes


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
        table = write_text_table(("before", "now", "times faster"), self._make_cells()) if self.changes else []
        return "\n".join([self.name, *table, *(f"  note: {note}" for note in self.notes)])

    def _make_cells(self) -> list[Cells]:
        return [
            Cells(
                f"{change.label}, {count(change.elements)}",
                (spell_duration(change.before), spell_duration(change.now), spell_ratio(change.ratio)),
                note="within the spread" if change.word == "same" else change.word,
            )
            for change in self.changes
        ]


def find_changes(old_rows: Sequence[Row], new_rows: Sequence[Row]) -> tuple[tuple[Change, ...], list[str]]:
    """The changes by label and size, and notes on rows that only one side has."""
    old, new = ({(row.label, row.elements): row for row in rows} for rows in (old_rows, new_rows))
    changes = tuple(
        Change(*place, old[place].seconds, row.seconds, max(old[place].spread or 0.0, row.spread or 0.0))
        for place, row in new.items()
        if place in old
    )
    notes = []
    for rows, others, when in ((old, new, "before"), (new, old, "now")):
        labels = dict.fromkeys(label for label, elements in rows if (label, elements) not in others)
        if labels:
            notes.append(f"measured only {when}: {', '.join(labels)}")
    return changes, notes
