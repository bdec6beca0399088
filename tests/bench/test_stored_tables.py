"""A cell from the cache shows the table that an earlier process measured, says so, and is timed when it runs again."""

from __future__ import annotations

from pathlib import Path

import pytest

import ufunc_magic as um
from support import replace_name
from ufunc_magic import pipeline
from ufunc_magic.bench import stored_tables
from ufunc_magic.model import Options
from ufunc_magic.render import Report

CELL = "double stored_1(double x) { return x * x + 3; }"


def table(*, opened: bool, options: Options | None = None) -> Report:
    """The report of the cell, which the process opens from the cache, or has."""
    if opened:
        pipeline.BUILDS.clear()
    return pipeline.report(um.compile_c(CELL), options=options or Options(), announced=set())


def is_stored(report: Report) -> bool:
    return any("was measured on" in note for note in report.notes)


def test_a_cell_from_the_cache_shows_its_table_until_it_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    new, known, again = table(opened=True), table(opened=True), table(opened=False)
    assert [is_stored(report) for report in (new, known, again)] == [False, True, False]
    (one,), (other,) = new.comparisons, known.comparisons
    assert [(r.label, r.seconds, r.speedup) for r in other.rows] == [(r.label, r.seconds, r.speedup) for r in one.rows]
    assert known.comparisons != again.comparisons
    assert not is_stored(table(opened=True, options=Options(size=100)))
    replace_name(monkeypatch, stored_tables, "identify_machine", lambda: "another machine")
    assert not is_stored(table(opened=True))


def test_a_damaged_table_is_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table(opened=True)
    replace_name(monkeypatch, stored_tables, "pickle", None)
    assert not is_stored(table(opened=True))
