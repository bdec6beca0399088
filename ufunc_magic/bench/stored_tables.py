"""Tables that an earlier process measured on this machine, kept in the cache with the cells.

A table belongs to a cell with its options and the files that its compiler read, to the machine, and to the functions
that were bound.
"""

from __future__ import annotations

import base64
import datetime
import pickle
import zlib
from collections.abc import Collection
from dataclasses import dataclass, replace

from .. import store
from ..languages import find_language
from ..model import Comfort, Options
from ..render import Comparison
from ..runtime import Build
from .machine import identify_machine

#: Options of a report that decide what its table has.
_OF_TABLES = ("time", "size", "core", "data", "ref", "vs", "sizes", "plot")


@dataclass(frozen=True)
class StoredTable:
    """The comparisons of a cell with their notes, a note on the load of other programs, and when it was."""

    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...]
    pressure: str
    date: str = ""

    @property
    def mark(self) -> str:
        return f"the table was measured on {self.date}; run the cell again to measure now"


def recall_table(build: Build, options: Options, without: Collection[str]) -> StoredTable | None:
    """The stored table of a cell that this process has just opened from the cache; None if it is to be timed."""
    name = _name(build, options, without)
    # Without "load", this process has it already, and the user runs it again.
    if not (name and build.cached and "load" in build.seconds):
        return None
    stored: list[StoredTable] = []
    with Comfort("the stored table", []):
        if text := store.open_default().recall(name):
            stored.append(pickle.loads(zlib.decompress(base64.b64decode(text))))
    return stored[0] if stored else None


def remember_table(build: Build, options: Options, without: Collection[str], table: StoredTable) -> None:
    """Store a table for the next process.  It has no operands: they may be large."""
    name = _name(build, options, without)
    if not name or not table.comparisons or any(comparison.interrupted for comparison in table.comparisons):
        return
    date = datetime.datetime.now().strftime("%Y-%m-%d at %H:%M")
    table = replace(table, comparisons=tuple(replace(c, arguments=()) for c in table.comparisons), date=date)
    with Comfort("the stored table", []):
        store.open_default().remember(name, base64.b64encode(zlib.compress(pickle.dumps(table))).decode())


def _name(build: Build, options: Options, without: Collection[str]) -> str:
    """The name of the fact; ``""`` where another table than the usual one is asked for, or the cell is not known."""
    key, usual = build.loaded.key, Options()
    if not key or any(getattr(options, name) != getattr(usual, name) for name in _OF_TABLES):
        return ""
    place = find_language(build.loaded.object_code).place(build.loaded.object_code)
    return f"table 1 {key} {identify_machine()} {place} {sorted(build)} {sorted(without)} {build.first_line}"
