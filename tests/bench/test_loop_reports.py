"""What a table says of vectorization comes from the compiler, as in ``--show vec``."""

from __future__ import annotations

import re
from typing import Any

import pytest

import ufunc_magic as um
from support import replace_name
from ufunc_magic.bench.machine import Limits
from ufunc_magic.compilers import compiler_texts, find
from ufunc_magic.model import ToolchainError

pytestmark = pytest.mark.skipif(find().kind == "zig", reason="zig keeps no assembly")

EXP = """\
#include <math.h>
// ufunc: (n)->(n)
void vexp(const double *a, double *out, int n) {
    for (int i = 0; i < n; i++)
        out[i] = exp(a[i]);
}
"""
SUM = """\
// ufunc: (n)->()
double total(const double *a, int n) {
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i];
    return s;
}
"""
ROOT = """\
#include <math.h>
double root(double a) {
    double x = a;
    for (int i = 0; i < 50 && fabs(x * x - a) > 1e-15; i++)
        x = 0.5 * (x + a / x);
    return x;
}
"""
LOGIT = "#include <math.h>\ndouble logit(double x) { return log(x / (1 - x)); }\n"


@pytest.fixture(autouse=True)
def _far_from_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is compute-bound, and the compiler has time enough."""
    monkeypatch.setattr("ufunc_magic.bench.loop_reports.PATIENCE", 120)
    monkeypatch.setattr("ufunc_magic.bench.cell_report.load_limits", lambda: Limits(((1, 1e18),)))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The folders in which cells are compiled for their loops."""
    folders: list[object] = []

    def replace_reader(name: str, read: Any) -> None:
        def count(folder: object, **keywords: Any) -> object:
            folders.append(folder)
            return read(folder, **keywords)

        replace_name(monkeypatch, compiler_texts, name, count)

    replace_reader("read_loop_texts", compiler_texts.read_loop_texts)
    replace_reader("read_compiler_texts", compiler_texts.read_compiler_texts)
    return folders


def _note(report: um.Report) -> str:
    return next(row.note for row in report.rows if row.kind == "ufunc")


def test_a_loop_that_is_vectorized_is_so_in_the_table_and_in_the_view() -> None:
    report = um.compile_c(EXP).report(time=0.1, size=20_000, show="vec")
    vectors = re.search(r"compute-bound in exp; (vectorized, \S+ vectors)$", _note(report))
    assert vectors is not None
    assert f"vexp  d->d: {vectors[1]}" in str(report.views[0])


def test_a_sum_whose_order_c_fixes_says_so_with_the_remedy() -> None:
    report = um.compile_c(SUM).report(time=0.1, size=20_000, show="vec")
    words = "not vectorized: C fixes the order of the sum on line 4; --fast-math allows any order"
    assert re.search(rf"{words}: [\d.]+x$", _note(report))
    assert f"total  d->d: {words}" in str(report.views[0])
    report = um.compile_c(SUM, fast_math=True).report(time=0.1, size=20_000, show="vec")
    assert re.fullmatch(r"compute-bound; vectorized, \S+ vectors", _note(report))
    assert "total  d->d: vectorized" in str(report.views[0])


def test_a_loop_that_depends_on_data_is_named_by_its_line() -> None:
    report = um.compile_c(ROOT).report(time=0.1, size=20_000, show="vec")
    assert _note(report).startswith("not vectorized: the loop on line 4")
    assert f"root  d->d: {_note(report)}" in str(report.views[0])


@pytest.mark.skipif(find().kind != "gcc", reason="a reason of gcc's")
def test_a_gather_that_is_not_vectorized_has_its_reason_and_the_remedy() -> None:
    source = """\
// ufunc: (m),(n)->(n)
void take(const double *Q t, const int *Q i, double *Q out, int m, int n) {
    for (int k = 0; k < n; k++)
        out[k] = t[i[k]];
}
"""
    options = {"time": 0.1, "data": "np.arange(9e4), np.arange(90_000, dtype=np.int32)", "show": "vec"}
    build = um.compile_c(source.replace("*Q", "*"))
    assert "line 3 (it reads or writes by an index" in str(build.report(**options).views[0])
    assert "restrict" in _note(build.report(**options))
    view = str(um.compile_c(source.replace("*Q", "*restrict")).report(**options).views[0])
    assert "by an index" not in view


def test_a_table_costs_at_most_one_compilation_and_another_one_none(compiled: list[object]) -> None:
    build = um.compile_c(ROOT)
    notes = [_note(build.report(time=0.1, size=20_000, show=show)) for show in ("vec", "", "")]
    assert len(compiled) == 1
    assert len(set(notes)) == 1
    comparison = um.compare({"root": build.root}, [2.0] * 20_000, budget=0.05)
    assert comparison.ok


@pytest.mark.parametrize(("source", "options"), [(ROOT, {"time": False}), (LOGIT, {"time": 0.1})])
def test_nothing_is_compiled_without_a_table_or_without_a_loop(
    compiled: list[object], source: str, options: dict[str, object]
) -> None:
    um.compile_c(source).report(size=1000, **options)
    assert compiled == []


def test_a_table_without_the_compiler_s_report_says_nothing_of_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **keywords: object) -> None:
        raise ToolchainError("no listing")

    replace_name(monkeypatch, compiler_texts, "read_loop_texts", refuse)
    report = um.compile_c(ROOT).report(time=0.1, size=20_000)
    assert _note(report) == "compute-bound"
    assert report.notes == ()


def test_what_a_free_order_gains_is_measured_once_and_remembered() -> None:
    build = um.compile_c(SUM)
    notes = [_note(build.report(time=0.1, size=20_000)) for _ in range(2)]
    gains = [re.search(r"--fast-math allows any order: ([\d.]+)x", note) for note in notes]
    assert gains[0]
    assert gains[1]
    assert gains[0][1] == gains[1][1]
    assert "allows any order" not in _note(um.compile_c(SUM, fast_math=True).report(time=0.1, size=20_000))
