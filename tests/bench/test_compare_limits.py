"""How far from the limit, and against whom: machine limits, arithmetic read from text, verdicts, rivals."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import replace_name
from ufunc_magic.bench import compare, compare_request, judging, load_limits, machine, make_request, report
from ufunc_magic.bench.candidates import Candidate
from ufunc_magic.bench.elementwise import fill_gaps
from ufunc_magic.bench.judging import (
    Prepared,
    compare_rounds,
    describe_loop,
    judge,
    judge_rows,
    measure_rows,
)
from ufunc_magic.bench.machine import (
    CROWDED_DOUBT,
    QUIET_DOUBT,
    Limits,
    Pressure,
    Slowdown,
    Yardsticks,
    measure_limits,
    read_cache_levels,
    revise_limits,
)
from ufunc_magic.bench.request import Arguments, Request
from ufunc_magic.bench.rivals import load_forms, make_rivals, parse_rivals
from ufunc_magic.bench.rounds import CLOCK, Call, Pace, TimedCall, Timing
from ufunc_magic.bench.samples import convert_inputs
from ufunc_magic.forms import write_cython, write_numexpr
from ufunc_magic.model import CellFunction, CellPlace, ComparisonError, ObjectCode, Options, ReportData, Target
from ufunc_magic.render import Comparison, LoopReport, Row
from ufunc_magic.runtime import Build, LoadedObject

LIMITS = Limits(((1 << 15, 80e9), (48 << 20, 10e9)))

PYTHON = """\
K = 3.5


def sq(x):
    return x*x


def f(a):
    return 4*a + math.exp(-a) if a < 0.5 else sq(a) + K
"""
VECTOR = """\
K = 3.5


def sq(x):
    return x*x


def f(a):
    t = sq(a)
    return np.where(a < 0.5, 4*a + np.exp(-a), t + K)
"""
CODE = CellFunction(
    "f",
    "ufunc",
    nin=1,
    nout=1,
    python=PYTHON,
    checked=PYTHON,
    vector=VECTOR,
    python_name="f",
    timed=(12, 12),
    traceless=True,
)


# -- the machine --------------------------------------------------------------------------------


def test_limits_are_measured_once_and_remembered() -> None:
    asked = []

    def found() -> Limits:
        asked.append(1)
        return LIMITS

    assert [load_limits(measured=found), load_limits(measured=found)] == [LIMITS, LIMITS]
    assert len(asked) == 1


def test_limits_that_a_row_contradicts_are_measured_again_and_the_highest_count() -> None:
    slow, fast = Limits(((1 << 15, 80e9), (48 << 20, 5e9))), Limits(((1 << 15, 60e9), (48 << 20, 10e9)))
    load_limits(measured=lambda: slow)

    def after(bandwidth: float) -> Limits:
        revise_limits(load_limits(), [Row("f", "ufunc", 1, 1, 1.0, bandwidth=bandwidth)], measured=lambda: fast)
        return load_limits()

    assert [after(share) for share in (1.0, 1.1, machine.IMPOSSIBLE + 1)] == [slow] * 3
    assert after(1.6) == Limits(((1 << 15, 80e9), (48 << 20, 10e9)), measured=2)
    assert [after(1.6).measured, after(1.6).measured] == [3, 3]


def test_what_can_be_moved_depends_on_how_much_is_touched() -> None:
    assert [LIMITS.find_bandwidth(n) for n in (1, 1 << 15, 48 << 20, 1 << 40)] == [80e9, 80e9, 10e9, 10e9]
    assert 10e9 < LIMITS.find_bandwidth(1 << 20) < 80e9


def test_limits_of_a_clock_that_jumps_are_finite_numbers() -> None:
    now = [0.0]

    def clock() -> float:
        now[0] += 1e-4
        return now[0]

    found = measure_limits(clock=clock)
    assert len(found.moved) == len(machine.SETS)
    assert all(0 < rate < math.inf for _, rate in found.moved)


def test_yardsticks_remember_the_best_of_all_tables() -> None:
    yardsticks = Yardsticks(0, clock=CLOCK)

    def after(seconds: float) -> float:
        return yardsticks.compare([Timing((seconds, seconds, 9.0))]).python

    assert [after(2.0), after(1.0)] == [1.0, 1.0]
    assert after(2.0) == pytest.approx(2 / machine.STEADY_YARDSTICK)
    assert not Yardsticks(0, clock=lambda: 0.0).calls
    assert [len(Yardsticks(n, clock=CLOCK).calls) for n in (machine.LARGE - 1, machine.LARGE)] == [1, 2]


def test_a_slow_down_widens_ranges_where_it_matters() -> None:
    entries = [
        TimedCall("loop", "python", Call(abs), 10),
        TimedCall("near", "ufunc", Call(abs), 10, nbytes=8_000),
        TimedCall("far", "ufunc", Call(abs), 10, nbytes=8),
    ]
    request = replace(REQUEST, limit=Limits(((8, 1000.0), (8_000, 10_000.0))))
    timings = [Timing((4.0,) * 5), Timing((1.0,) * 5), Timing((1.0,) * 5)]
    _, near, far = judge_rows(
        request, Prepared(entries, (), 10), timings, doubt=1.0, slowdown=Slowdown(python=1.25, memory=1.5)
    )
    assert (near.speedup_range, far.speedup_range) == ((3.2, 6.0), (3.2, 4.0))
    callables = [replace(entry, kind="other") for entry in entries]
    _, near, _ = judge_rows(
        request, Prepared(callables, (), 10), timings, doubt=1.0, slowdown=Slowdown(python=1.25, memory=1.5)
    )
    assert near.speedup_range == (4.0, 4.0)


def test_numbers_of_a_new_list_lie_in_a_row_while_there_is_padding() -> None:
    many = [float(n) for n in range(200_000)]
    random = np.random.default_rng(1)
    left = [many[n] for n in random.choice(len(many), 100_000, replace=False)]
    del many

    def find_order() -> float:
        places = np.fromiter(map(id, np.arange(20_000.0).tolist()), np.uintp, 20_000)
        steps = np.diff(places.astype(np.intp))
        return float(np.mean(steps == np.median(steps)))

    before, padding = find_order(), fill_gaps()
    assert before < 0.9 < find_order()
    assert len(left) + len(padding) > 100_000


REQUEST = Request("f", (Candidate("f", abs),), Arguments([(1,)]))


def _judged(*timings: Timing) -> list[Any]:
    entries = [TimedCall(str(n), "python" if not n else "ufunc", Call(abs), 10) for n in range(len(timings))]
    return list(judge_rows(REQUEST, Prepared(entries, (), 10), timings))


def test_a_speed_up_is_taken_round_by_round_and_has_a_range() -> None:
    """A load that slows both rows of a round cancels; the range is that of the ratios' median (sign test)."""
    load = [1.0, 3.0, 1.0, 5.0, 1.0, 2.0, 1.0, 1.0]
    base, same, other = _judged(
        Timing(tuple(8.0 * x for x in load)),
        Timing(tuple(2.0 * x for x in load)),
        Timing((1.0, 2.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0)),
    )
    assert (base.speedup, base.speedup_range) == (1.0, None)
    assert same.speedup == 4.0
    assert same.speedup_range == pytest.approx((4 / QUIET_DOUBT, 4 * QUIET_DOUBT))
    ratios = sorted(8 * x / y for x, y in zip(load, (1, 2, 1, 1, 0.5, 1, 1, 1), strict=True))
    assert other.speedup == pytest.approx((ratios[3] + ratios[4]) / 2)
    assert other.speedup_range == pytest.approx((min(ratios[0], other.speedup / QUIET_DOUBT), ratios[-1]))


@pytest.mark.parametrize(("rounds", "outside"), [(3, 0), (6, 0), (9, 1), (15, 3), (60, 21)])
def test_a_range_leaves_out_as_many_ratios_as_the_sign_test_allows(rounds: int, outside: int) -> None:
    base, other = Timing((1.0,) * rounds), Timing(tuple(1 / (2 + n) for n in range(rounds)))
    assert compare_rounds(base, other, doubt=1.0)[1] == pytest.approx((2 + outside, 1 + rounds - outside))


def test_speed_ups_of_a_crowded_machine_are_less_certain() -> None:
    entries = [TimedCall("loop", "python", Call(abs), 10), TimedCall("f", "ufunc", Call(abs), 10)]
    timings = [Timing((8.0,) * 5), Timing((2.0,) * 5)]
    base, row = judge_rows(REQUEST, Prepared(entries, (), 10), timings, doubt=CROWDED_DOUBT)
    assert base.speedup_range is None
    assert row.speedup_range == pytest.approx((4 / CROWDED_DOUBT, 4 * CROWDED_DOUBT))


def test_a_row_that_was_timed_once_has_no_range() -> None:
    _, row = _judged(Timing((8.0,) * 5), Timing((2.0,)))
    assert (row.speedup, row.speedup_range, row.note) == (4.0, None, "timed once")


@pytest.mark.parametrize(
    ("value", "kind"),
    [(np.ones(3), "f"), (np.array([1, 2**40]), "i"), (np.array([-1]), "I"), (np.ones(3), "i"), (np.ones(3, "D"), "d")],
)
def test_data_that_a_call_would_not_take_is_refused(value: Any, kind: str) -> None:
    with pytest.raises(ComparisonError, match=r"array 1 has dtype .* not fit"):
        convert_inputs((value,), [np.dtype(kind)], [])


@pytest.mark.parametrize(("value", "kind"), [(2.5, "f"), (np.arange(3), "i"), (7, "B"), (np.ones(3, "f"), "d")])
def test_data_that_a_call_takes_is_of_the_inputs_type(value: Any, kind: str) -> None:
    (array,) = convert_inputs((value,), [np.dtype(kind)], [])
    assert array.dtype == np.dtype(kind)
    np.testing.assert_array_equal(array, np.atleast_1d(value))


def test_caches_are_read_where_linux_tells_them(tmp_path: Path) -> None:
    rows = [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2M"), ("3", "Unified", "odd")]
    for position, words in enumerate(rows):
        folder = tmp_path / f"index{position}"
        folder.mkdir()
        for name, word in zip(("level", "type", "size"), words, strict=True):
            (folder / name).write_text(word + "\n")
    found = read_cache_levels(bytes_per_element=16, folder=tmp_path)
    assert [(level.name, level.bytes, level.elements) for level in found] == [
        ("L1", 48 << 10, 3072),
        ("L2", 2 << 20, 1 << 17),
    ]
    assert read_cache_levels(bytes_per_element=16, folder=tmp_path / "none") == ()


# -- verdicts -----------------------------------------------------------------------------------


def _function(source: str, python: str = "") -> CellFunction:
    return CellFunction("f", "ufunc", source=source, line=4, python=python)


EXP = _function("double f(double x) { return exp(x) / 2; }", "def f(x):\n    return c_exp(x) / 2\n")


def test_a_row_that_another_one_beats_is_not_bound_by_memory() -> None:
    """A sum reads its inputs and writes nothing: it may be faster than the addition that the limit comes from."""
    request = replace(REQUEST, limit=Limits(((1, 100.0),)))
    entries = [TimedCall(label, "other", Call(abs), 10, nbytes=80) for label in ("slow", "quick")]
    slow, quick = judge_rows(request, Prepared(entries, (), 10), [Timing((1.0,) * 5), Timing((0.7,) * 5)])
    assert (slow.note, quick.note) == ("80 % of memory bandwidth", "memory-bound, 100 % of memory bandwidth")


@pytest.mark.parametrize(
    ("share", "code", "expected"),
    [
        (0.93, None, "memory-bound, 93 % of memory bandwidth"),
        (1.4, EXP, "memory-bound, 100 % of memory bandwidth"),
        (0.35, EXP, "compute-bound in exp"),
        (0.001, _function("double f(double x) { return x; }"), "compute-bound"),
        (0.01, _function("double f(double x) { while (x > 1) x /= 2; return x; }"), "compute-bound"),
        (0.3, None, "30 % of memory bandwidth"),
        (9.0, EXP, "faster than memory allows: it returns a view, or does not compute each element in each call"),
    ],
)  # fmt: skip
def test_verdicts(share: float, code: CellFunction | None, expected: str) -> None:
    assert judge(share, 1.0, code) == expected


@pytest.mark.parametrize(
    ("loop", "words"),
    [
        (LoopReport("f", "d->d", "512-bit vectors"), "compute-bound in exp; vectorized, 512-bit vectors"),
        (LoopReport("f", "d->d", line=5, reason="control flow in loop"),
         "not vectorized: the loop on line 6 (control flow in loop)"),
        (LoopReport("f", "d->d", line=5, ordered=True),
         "not vectorized: C fixes the order of the sum on line 6; --fast-math allows any order"),
        (LoopReport("f", "d->d", "256-bit vectors", line=5, ordered=True),
         "compute-bound in exp; vectorized, 256-bit vectors, but C fixes the order of the sum on line 6; "
         "--fast-math allows any order"),
        (LoopReport("f", "d->d", reason="call has no vector form"), "not vectorized: call has no vector form"),
    ],
)  # fmt: skip
def test_a_compute_bound_row_has_the_compiler_s_report_on_its_loop(loop: LoopReport, words: str) -> None:
    assert describe_loop("compute-bound in exp", loop, CellPlace("In[1]", 2)) == words


def test_a_short_call_is_mostly_its_own_cost() -> None:
    assert judge(0.01, 1e-6, EXP) == "mostly the cost of a call"


@pytest.mark.slow
def test_rows_say_how_far_they_are_from_the_limit() -> None:
    now = [0.0]

    def clock() -> float:
        return now[0]

    def add(x: Any) -> Any:
        now[0] += x.nbytes * 2 / 10e9 / 0.9
        return x + 1

    request = make_request({"add": add}, [np.ones(4_000_000)])
    found = compare_request(replace(request, limit=LIMITS, budget=replace(request.budget, clock=clock)))
    assert found.rows[0].note == "memory-bound, 90 % of memory bandwidth"


# -- rivals -------------------------------------------------------------------------------------


def test_rivals_are_chosen_by_name() -> None:
    assert parse_rivals("numpy, numba,numpy") == ("numpy", "numba")
    with pytest.raises(ComparisonError, match=r"(?s)'fortran'.*--vs.*numpy,numba"):
        parse_rivals("numpy,fortran")


def test_rivals_compute_the_same() -> None:
    x = np.linspace(0, 1, 101)
    python = load_forms(CODE).python
    assert python is not None
    found, notes = make_rivals(CODE, "numpy,vectorize")
    assert notes == ()
    assert [one.label for one in found] == ["NumPy expression", "np.vectorize"]
    for one in found:
        np.testing.assert_allclose(one.function(x), [python(v) for v in x.tolist()], rtol=1e-15)


def test_rivals_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ufunc_magic.bench.rivals.import_optional", lambda name: None)
    found, notes = make_rivals(CODE, "numba,numexpr,cython")
    assert found == ()
    assert notes == (
        "numba skipped: Numba is not installed (pip install numba)",
        "numexpr skipped: numexpr is not installed (pip install numexpr)",
        "cython skipped: Cython is not installed (pip install cython)",
    )


def test_functions_without_a_python_form_have_no_rivals() -> None:
    code = CellFunction("f", "ufunc", nin=1, nout=1)
    assert make_rivals(code, "numpy") == ((), ("numpy skipped: the function has no Python form",))
    core = CellFunction("f", "ufunc", nin=1, nout=1, python=PYTHON, core="(n)->()")
    assert make_rivals(core, "numpy") == ((), ("numpy skipped: the function works on arrays",))


@pytest.mark.numba
def test_numba_computes_the_same_and_tells_what_compiling_cost() -> None:
    pytest.importorskip("numba", reason="Numba is not installed")
    (one,), notes = make_rivals(CODE, "numba")
    assert notes == ()
    assert one.compile_seconds is not None
    assert one.compile_seconds > 1e-3
    np.testing.assert_allclose(one.function(np.array([0.25, 2.0])), [1 + math.exp(-0.25), 7.5])


def test_numexpr_gets_one_expression() -> None:
    text = write_numexpr(ast.parse(VECTOR), name="f")
    assert text == ("where(a < 0.5, 4 * a + exp(-a), a * a + 3.5)", ("a",))
    numexpr = pytest.importorskip("numexpr", reason="numexpr is not installed")
    assert numexpr.evaluate(text[0], {"a": np.array([2.0])}).tolist() == [7.5]


def test_a_function_called_twice_is_written_with_both_arguments() -> None:
    twice = "def sq(x):\n    return x * x\n\n\ndef f(a, b):\n    return sq(a) - sq(b)\n"
    assert write_numexpr(ast.parse(twice), name="f") == ("a * a - b * b", ("a", "b"))


@pytest.mark.parametrize(
    "body",
    ["np.hypot(a, 1.0)", "a[0]", "a % 2", "b", "1 < a < 2", "f(a)", "np.where(a < 1, a, out=a)", "(lambda: a)()"],
)
def test_what_numexpr_has_no_words_for_is_not_said(body: str) -> None:
    assert write_numexpr(ast.parse(f"def f(a):\n    return {body}\n"), name="f") is None


def test_cython_gets_types() -> None:
    assert write_cython(ast.parse(PYTHON), name="f", letters="dd", nin=1) == (
        "# cython: infer_types=True, cdivision=True\ncimport cython\nfrom libc.math cimport exp\ncdef double K = 3.5\n"
        "cdef double sq(double x) noexcept:\n    return x * x\n@cython.ufunc\ncdef double f(double a):\n"
        "    return 4 * a + exp(-a) if a < 0.5 else sq(a) + K\n"
    )


@pytest.mark.parametrize(
    ("letters", "text"),
    [
        ("Dd", "def f(a):\n    return a.real"),
        ("dl", "def f(a):\n    return 1"),
        ("dd", "def f(a):\n    return round(a)"),
    ],
)
def test_what_cython_would_not_say_the_same_way_is_not_said(letters: str, text: str) -> None:
    assert write_cython(ast.parse(text), name="f", letters=letters, nin=1) is None


def test_cython_is_compiled_by_whoever_can() -> None:
    pytest.importorskip("Cython", reason="Cython is not installed")
    asked = []

    def compiled(text: str) -> dict[str, Any]:
        asked.append(text)
        return {"f": np.exp}

    (one,), notes = make_rivals(CODE, "cython", compile_cython=compiled)
    assert (one.function, notes, "@cython.ufunc" in asked[0]) == (np.exp, (), True)


def test_a_cell_s_function_and_its_rivals_over_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    vector = load_forms(CODE).vector
    assert vector is not None
    monkeypatch.setattr("ufunc_magic.bench.cell_report.BUDGET_OF_SIZES", 0.2)
    object_code = ObjectCode(b"", Target("elf", "linux", "x"), (CODE.function_code,), "c")
    build = Build(LoadedObject(object_code, functions={"f": vector}, report_data=ReportData((CODE,))), "In[3]")
    shares: list[float] = []

    def over_sizes(**options: Any) -> Comparison:
        progress = lambda share, _: shares.append(share)  # noqa: E731
        return report(build, options=Options(time=0.05, **options), names={}, progress=progress).comparisons[1]

    comparison = over_sizes(vs="vectorize", sizes="10:100")
    assert comparison.ok
    assert (comparison.name, comparison.labels) == ("f", ("f", "NumPy expression", "np.vectorize"))
    assert [row.elements for row in comparison.series("f")] == [10, 20, 50, 100]
    assert shares[-1] == 1.0
    assert over_sizes(sizes="10").labels == ("f", "NumPy expression")


def test_a_candidate_carries_its_compile_time_to_its_row() -> None:
    made = Candidate("x", np.sqrt, compile_seconds=0.25)
    assert compare({"a": np.sqrt, "x": made}, np.ones(10), budget=0.02).rows[1].compile_seconds == 0.25


@pytest.mark.parametrize("helped", [True, False])
def test_a_row_that_ran_on_one_thread_says_so(helped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_name(monkeypatch, judging, "has_helpers", lambda call: helped)
    kinds = {"f, 1 thread": "ufunc", "f, 2 threads": "parallel"}
    entries = [TimedCall(label, kind, Call(abs, (1,)), 10) for label, kind in kinds.items()]  # type: ignore[arg-type]
    pace = Pace(0.0, least=1, most=1, sample=0.0)
    rows = measure_rows(REQUEST, Prepared(entries, (), 10), pace=pace, pressure=Pressure())
    assert ["one thread" in row.note for row in rows] == [False, not helped]
