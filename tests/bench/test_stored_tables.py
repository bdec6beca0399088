"""A cell from the cache shows the table that an earlier process measured, says so, and is timed when it runs again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ufunc_magic as um
from support import replace_name
from ufunc_magic import pipeline
from ufunc_magic.bench import stored_tables
from ufunc_magic.model import Options, make_options
from ufunc_magic.render import Report

CELL = "double stored_1(double x) { return x * x + 3; }"


def table(*, opened: bool, options: Options | None = None, cell: str = CELL) -> Report:
    """The report of the cell, which the process opens from the cache, or has."""
    if opened:
        pipeline.BUILDS.clear()
    return pipeline.report(um.compile_c(cell), options=options or Options(), announced=set())


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "stored"),
    [
        ({}, True),
        ({"verbose": True}, True),
        ({"annotate": True}, True),
        ({"size": 100}, False),
        ({"time": 0.02}, False),
        ({"sizes": "10:100", "time": 0.02}, False),
        ({"data": "np.linspace(0, 1, 9)", "time": 0.02}, False),
    ],
    ids=str,
)
def test_only_the_usual_table_is_shown_again(options: dict[str, Any], stored: bool) -> None:
    table(opened=True)
    assert is_stored(table(opened=True, options=make_options(options))) is stored


@pytest.mark.slow
@pytest.mark.parametrize(
    "cell",
    [
        "static double sum;\ndouble stored_2(double x) { sum += x; return sum; }",
        "double stored_3(double x) { return x + 1; }\nlong stored_4(long k) { return k ^ 3; }",
        "// ufunc: (n)->()\ndouble stored_5(const double *x, int n) { return n ? x[0] : 0; }",
    ],
)
def test_a_cell_of_another_text_has_a_table_of_its_own(cell: str) -> None:
    table(opened=True)
    reports = [table(opened=True, cell=text) for text in (cell, cell, f"{cell}\n// other", cell)]
    assert [is_stored(report) for report in reports] == [False, True, False, True]
