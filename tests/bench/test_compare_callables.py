"""`um.compare`: any callables, over sizes, interrupted, kept and set against one another; with a clock that is set."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import ufunc_magic as um
from support import FakeClock, compare, replace_name
from ufunc_magic.bench.candidates import Candidate, make_candidates
from ufunc_magic.bench.judging import judge
from ufunc_magic.bench.machine import Limits
from ufunc_magic.bench.samples import parse_sizes, resize_arguments
from ufunc_magic.model import CacheError, ComparisonError, OptionError
from ufunc_magic.notebook.compare_line import run_line
from ufunc_magic.render import Comparison, import_required, optional_packages

X = np.arange(1.0, 1001.0)
LIMIT = Limits(((1 << 24, 1e10),))


# -- measuring ----------------------------------------------------------------------------------


# -- sizes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("10:1000", (10, 20, 50, 100, 200, 500, 1000)),
        ("3:30", (3, 5, 10, 20, 30)),
        ("10:1e4:4", (10, 100, 1000, 10_000)),
        ("1e3,10", (10, 1000)),
        ("7", (7,)),
        (5, (5,)),
        (np.int64(5), (5,)),
        (5e2, (500,)),
        ([100, 10, 10], (10, 100)),
    ],
)
def test_sizes_are_read(given: Any, expected: tuple[int, ...]) -> None:
    assert parse_sizes(given) == expected


def test_seven_decades_are_twenty_two_sizes() -> None:
    sizes = parse_sizes("1:1e7")
    assert (len(sizes), sizes[0], sizes[-1]) == (22, 1, 10_000_000)


@pytest.mark.parametrize(
    "given", ["", "ten", "1:2:3:4", "100:10", "0:10", "nan", "1:inf", [], [0], ["x"], "1:9:0", "1:9:1e6"]
)
def test_sizes_that_cannot_be_read_are_refused_by_value(given: Any) -> None:
    with pytest.raises(ComparisonError, match="sizes"):
        parse_sizes(given)


@given(st.text(alphabet="0123456789.:,e- ", max_size=12))
def test_any_text_of_sizes_is_read_or_refused(text: str) -> None:
    try:
        sizes = parse_sizes(text) if len(text.split("e")) < 2 else (1,)
    except ComparisonError:
        return
    assert list(sizes) == sorted(set(sizes))


def test_arguments_are_cut_or_repeated() -> None:
    table, number = np.arange(6.0).reshape(3, 2), 2.5
    short, same = resize_arguments((table, number), 2)
    assert (short.tolist(), same) == ([[0, 1], [2, 3]], 2.5)
    assert resize_arguments((np.arange(3),), 7)[0].tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert resize_arguments((table,), 4)[0].tolist() == [[0, 1], [2, 3], [4, 5], [0, 1]]


# -- what can be compared -----------------------------------------------------------------------


@pytest.mark.parametrize("given", ["1e30", "10:1e14"])
def test_sizes_beyond_the_memory_are_refused_by_value(given: str) -> None:
    with pytest.raises(ComparisonError, match=f"sizes='{given}'.* memory"):
        compare([np.sqrt], X, sizes=given, limit=LIMIT, clock=FakeClock())


@pytest.mark.parametrize("given", [np.sqrt, "np.sqrt", 3])
def test_what_is_no_list_of_callables_is_refused(given: Any) -> None:
    with pytest.raises(ComparisonError, match="is not a list of callables"):
        compare(given, X, limit=LIMIT, clock=FakeClock())


def test_labels_may_be_anything_that_has_a_text() -> None:
    made = compare({1: np.sqrt, None: np.cbrt}, X, limit=LIMIT, clock=FakeClock(0.05))  # type: ignore[dict-item]
    assert made.labels == ("1", "None")


def test_a_reference_that_is_no_function_is_refused() -> None:
    with pytest.raises(ComparisonError, match="reference is 2"):
        run_line("np.sqrt --ref 1+1 -- 2.0", names={})


def test_texts_are_evaluated_in_the_users_names() -> None:
    found = compare(["np.sqrt", "lambda x: x**half"], X, names={"half": 0.5}, clock=FakeClock(tick=0.02))
    assert [row.label for row in found.rows] == ["np.sqrt", "lambda x: x**half"]
    assert found.ok


def test_functions_without_labels_are_told_apart() -> None:
    made = make_candidates([np.sqrt, np.sqrt, "np.sqrt"], names={})
    assert [one.label for one in made] == ["sqrt", "sqrt (2)", "np.sqrt"]
    assert [one.kind for one in made] == ["numpy"] * 3


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("nobody", "'nobody' cannot be evaluated: NameError: name 'nobody' is not defined"),
        ("1 +", "cannot be evaluated"),
        ("3", "'3' is int, not a function"),
        ("1/0", "'1/0' cannot be evaluated: ZeroDivisionError: division by zero"),
    ],
)
def test_texts_that_are_no_functions_are_refused(text: str, fault: str) -> None:
    with pytest.raises(ComparisonError, match=fault):
        compare([text], X)


def test_numexpr_expressions_take_their_variables_by_name() -> None:
    pytest.importorskip("numexpr", reason="numexpr is not installed")
    y = X[::-1].copy()
    found = compare({"np": lambda a, b: a - 2 * b, "ne": "numexpr: a - 2*b"}, X, y, budget=0.05)
    assert found.ok


def test_a_missing_package_is_named() -> None:
    with pytest.raises(ComparisonError, match=r"no_such_package.* not installed"):
        import_required("no_such_package", purpose="this")


def test_data_is_moved_and_brought_back_outside_of_the_timing() -> None:
    clock = FakeClock()

    def moved(value: Any) -> Any:
        clock.now += 100.0
        return value

    one = Candidate("there", clock.working(np.sqrt, call=1e-3), "gpu", place=moved, fetch=moved)
    found = compare({"here": clock.working(np.sqrt, call=2e-3), "there": one}, X, clock=clock, budget=1e6)
    assert [row.speedup for row in found.rows] == [1.0, pytest.approx(2.0)]
    assert found.ok


def test_numbers_are_drawn_where_none_are_given() -> None:
    clock = FakeClock(tick=0.02)
    found = compare([np.log, "lambda x: np.log2(x) / np.log2(np.e)"], sizes=[100], clock=clock)
    assert found.ok
    assert [row.elements for row in found.rows] == [100, 100]
    with pytest.raises(ComparisonError, match="Pass arrays"):
        compare({"f": lambda *args: args}, clock=clock)


# -- equality -----------------------------------------------------------------------------------


def test_strict_catches_a_wrong_last_bit() -> None:
    clock = FakeClock()

    def off(x: Any) -> Any:
        result = np.sqrt(x)
        result[500] = np.nextafter(result[500], 0)
        return result

    calls = {"right": clock.working(np.sqrt, call=1e-3), "off": clock.working(off, call=1e-3)}
    assert compare(calls, X, clock=clock).ok
    strict = compare(calls, X, strict=True, clock=clock)
    assert [row.agreement.ok for row in strict.rows if row.agreement] == [False]
    assert [row.speedup for row in strict.rows] == [1.0, None]


@pytest.mark.parametrize("sizes", [None, "10:10000"])
def test_a_wrong_branch_at_one_in_ten_thousand_is_caught(sizes: str | None) -> None:
    clock = FakeClock(tick=0.02)
    x = np.random.default_rng(3).permutation(np.linspace(0, 1, 10_000))
    calls = {"right": np.sin, "wrong": clock.working(lambda v: np.where(v == x[7777], 0.25, np.sin(v)), call=1e-3)}
    found = compare(calls, x, sizes=sizes, budget=1e3, clock=clock)
    assert not found.rows[-1].agreement or not found.rows[-1].agreement.ok


def test_a_wrong_branch_is_caught_where_only_a_part_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ufunc_magic.bench.callables.CHECKED", 1000)
    clock = FakeClock(tick=0.02)
    x = np.random.default_rng(4).permutation(np.linspace(0, 1, 20_000))
    wrong = clock.working(lambda v: np.where(v < 0.005, 7.0, np.sin(v)), call=1e-3)
    found = compare({"right": np.sin, "wrong": wrong}, x, sizes=[10, 20_000], budget=1e3, clock=clock)
    verdict = found.series("wrong")[-1].agreement
    assert verdict is not None
    assert (verdict.ok, verdict.compared) == (False, math.ceil(20_000 / 21))


def test_every_output_is_checked_and_nan_equals_nan() -> None:
    clock = FakeClock(tick=0.02)
    x = np.array([1.5, math.nan, math.inf])
    calls = {"modf": np.modf, "same": clock.working(lambda v: np.modf(v), call=1e-3)}
    assert compare(calls, x, strict=True, clock=clock).ok
    calls["same"] = clock.working(lambda v: (np.modf(v)[0], np.ceil(v)), call=1e-3)
    found = compare(calls, x, clock=clock).rows[1].agreement
    assert found is not None
    assert found.detail.startswith("output 2 at (1.5) is 2.0, expected 1.0")


# -- over sizes ---------------------------------------------------------------------------------


def test_a_callable_that_changes_its_argument_is_named_and_what_it_changed_put_back() -> None:
    def doubled(x: Any) -> Any:
        x *= 2
        return x

    x = X.copy()
    with pytest.raises(ComparisonError, match=r"'b' changes its argument 1 in place"):
        compare({"a": lambda x: 2 * x, "b": doubled}, x, limit=LIMIT, clock=FakeClock(0.05))
    np.testing.assert_array_equal(x, X)


def test_random_results_are_not_explained_by_their_arguments() -> None:
    rng = np.random.default_rng(1)
    given = {name: lambda x: rng.uniform(size=len(x)) for name in "ab"}
    assert not compare(given, X[:10], limit=LIMIT, clock=FakeClock(0.05)).ok


def test_of_a_masked_array_counts_what_is_seen() -> None:
    x = np.ma.masked_array(X, X > 3)
    same = {"log": np.log, "ma": np.ma.log}  # what lies below the mask differs
    made = compare(same, x, strict=True, limit=LIMIT, clock=FakeClock(0.05))
    assert made.ok
    other = {"log": np.ma.log, "mask": lambda x: np.ma.masked_array(np.log(x.data), x.data > 4)}
    assert not compare(other, x, limit=LIMIT, clock=FakeClock(0.05)).ok
    whole = np.ma.masked_array([1, 2, 3], [False, False, True])
    made = compare({"a": lambda x: x + 1, "b": lambda x: x.data + 1}, whole, limit=LIMIT, clock=FakeClock(0.05))
    assert made.rows[1].agreement is not None
    assert made.rows[1].agreement.detail == "at (3) is 4, expected None; 1 of 3 differ"


def test_results_in_one_array_are_told_apart() -> None:
    out = np.empty_like(X)
    given = {"sin": lambda x: np.sin(x, out=out), "cos": lambda x: np.cos(x, out=out)}
    made = compare(given, X, limit=LIMIT, clock=FakeClock(0.05))
    assert made.rows[1].agreement is not None
    assert not made.rows[1].agreement.ok


def _generator(x: Any) -> Any:
    yield x


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (_generator, "generator"),
        (lambda x: None, "None"),
        (lambda x: "text", "str"),
        (lambda x: [[1, 2], [3]], "list"),
        (lambda x: np.array(["a"]), "an array of <U1"),
    ],
)
def test_what_returns_no_numbers_is_refused(function: Any, what: str) -> None:
    with pytest.raises(ComparisonError, match=f"'f' returns {what}, not numbers"):
        compare({"f": function}, X, limit=LIMIT, clock=FakeClock(0.05))


def _of_one(x: Any) -> Any:
    return math.exp(x) if x > 0 else 0.0


def _raising(x: Any) -> Any:
    raise RuntimeError("no")


@pytest.mark.parametrize(
    ("function", "said"),
    [(_of_one, "np.vectorize"), (_raising, "RuntimeError: no\nPass arguments that")],
)
@pytest.mark.parametrize("args", [(X,), ()])
def test_what_cannot_be_called_is_named_with_what_helps(function: Any, said: str, args: tuple[Any, ...]) -> None:
    with pytest.raises(ComparisonError) as caught:
        compare({"f": function}, *args, limit=LIMIT, clock=FakeClock(0.05))
    assert "'f' cannot be called on these arguments" in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize("x", [np.zeros(0), np.ones((2, 0, 3))])
def test_arguments_without_elements_are_refused(x: Any) -> None:
    with pytest.raises(ComparisonError, match="have no elements"):
        compare([np.sin], x, limit=LIMIT, clock=FakeClock(0.05))


@pytest.mark.parametrize("x", [3.0, [1.0, 2.0]])
def test_sizes_of_what_is_no_array_are_refused(x: Any) -> None:
    with pytest.raises(ComparisonError, match=f"the arguments are {type(x).__name__}"):
        compare([np.sin], x, sizes="10:100", limit=LIMIT, clock=FakeClock(0.05))


def test_sums_in_another_order_agree_and_one_term_less_does_not() -> None:
    rng = np.random.default_rng(1)
    given = {
        "in order": lambda x: np.cumsum(x)[-1],
        "in pairs": np.sum,
        "without one": lambda x: np.sum(x[1:]),
    }
    for x in (rng.normal(size=1 << 18), rng.uniform(1, 2, size=1 << 18)):
        _, pairs, less = compare(given, x, limit=LIMIT, clock=FakeClock(0.05)).rows
        assert [row.agreement and row.agreement.ok for row in (pairs, less)] == [True, False]


def test_what_nobody_looked_at_is_not_said_to_agree() -> None:
    made = compare({"a": lambda x: x * x, "b": lambda x: x + 1e9}, X, limit=LIMIT, clock=FakeClock(0.05))
    assert "; at least " in made.rows[1].agreement.detail  # type: ignore[union-attr]


def test_a_long_core_is_shown_by_its_beginning() -> None:
    x = np.arange(100_000.0)
    made = compare({"a": np.sum, "b": lambda x: np.sum(x) + 1}, x, limit=LIMIT, clock=FakeClock(0.05))
    assert len(made.to_json()) < 10_000


def test_a_row_that_disagrees_is_set_against_no_limit() -> None:
    made = compare({"a": np.sin, "b": lambda x: x[:-1]}, X, limit=LIMIT, clock=FakeClock(0.05))
    assert "of memory bandwidth" not in made.rows[1].note


def test_a_view_is_not_set_against_the_memory_it_does_not_move() -> None:
    assert "returns a view" in judge(16.0, 1e-7)


def test_time_per_element_over_sizes() -> None:
    clock = FakeClock()
    calls = {"a": clock.working(np.sqrt, call=1e-5, element=1e-8), "b": clock.working(np.sqrt, element=2e-8)}
    found = compare(calls, X, sizes="10:1e4", clock=clock)
    sizes = [row.elements for row in found.series("a")]
    assert sizes == [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]
    per_element = [row.per_element for row in found.series("a")]
    assert per_element == [pytest.approx(1e-5 / n + 1e-8) for n in sizes]
    assert [row.label for row in found.rows[:4]] == ["a", "b", "a", "b"]


@pytest.mark.slow
def test_what_is_too_slow_is_left_out_of_the_larger_sizes_and_named() -> None:
    clock = FakeClock()
    calls = {"fast": clock.working(np.sqrt, element=1e-8), "slow": clock.working(np.sqrt, element=1e-5)}
    found = compare(calls, X, sizes="10:1e6", budget=4.0, clock=clock)
    assert found.series("fast")[-1].elements == 1_000_000
    assert 1000 <= found.series("slow")[-1].elements < 100_000
    assert any(note.startswith("slow: left out from") for note in found.notes)
    assert clock.now <= 4.5


def test_what_is_too_slow_alone_ends_with_the_budget() -> None:
    clock = FakeClock()
    found = compare({"slow": clock.working(np.sqrt, element=1e-4)}, X, sizes="10:1e6", budget=2.0, clock=clock)
    assert 1000 <= found.rows[-1].elements < 100_000
    assert found.notes[0].startswith("slow: left out from")
    assert clock.now <= 3.0


def test_a_stall_leaves_out_nobody_who_is_fast() -> None:
    clock = FakeClock()
    stalls = iter([5.0])

    def stalling(x: Any) -> Any:
        clock.now += next(stalls, 0.0) if len(x) == 100 else 0.0
        return np.sqrt(x)

    found = compare({"a": clock.working(stalling, element=1e-8), "b": clock.working(np.sqrt, element=1e-8)}, X,
                    sizes="10:1e4", budget=1.0, clock=clock)  # fmt: skip
    assert [found.series(label)[-1].elements for label in "ab"] == [10_000, 10_000]


def test_another_expectation_is_taken_where_the_first_callable_is_left_out() -> None:
    clock = FakeClock()
    calls = {
        "slow": clock.working(np.sqrt, element=1e-4),
        "a": clock.working(np.sqrt, element=1e-8),
        "b": clock.working(np.cbrt, element=1e-8),
    }
    found = compare(calls, X, sizes="10:1e5", clock=clock)
    last = [row for row in found.rows if row.elements == 100_000]
    assert [(row.label, row.speedup) for row in last] == [("a", None), ("b", None)]
    assert last[1].agreement is not None
    assert not last[1].agreement.ok


@pytest.mark.slow
@pytest.mark.parametrize("element", [1e-9, 1e-7])
def test_the_budget_of_sizes_is_kept(element: float) -> None:
    clock = FakeClock(tick=5e-8)
    calls = {name: clock.working(np.sqrt, call=1e-6, element=element * k) for k, name in enumerate("abcd", 1)}
    compare(calls, X, sizes="10:1e6", budget=4.0, clock=clock)
    assert clock.now <= 4.8


def test_progress_rises_to_one() -> None:
    clock = FakeClock()
    told: list[tuple[float, str]] = []
    compare(
        {"f": clock.working(np.sqrt, call=1e-4)}, X, sizes=[10, 100], clock=clock,
        progress=lambda share, what: told.append((share, what)),
    )  # fmt: skip
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert {what for _, what in told} == {"10 elements", "100 elements"}


def test_an_interrupt_keeps_the_rows_that_there_are() -> None:
    clock = FakeClock(tick=0.02)

    def interrupted(x: Any) -> Any:
        if len(x) == 1000:
            raise KeyboardInterrupt
        return np.sqrt(x)

    found = compare({"a": np.sqrt, "f": interrupted}, X, sizes=[10, 100, 1000], budget=1e3, clock=clock)
    assert found.interrupted
    assert found.notes[-1] == "interrupted: the table shows the rows measured so far"
    assert {row.elements for row in found.rows} == {10, 100}
    with pytest.raises(KeyboardInterrupt):
        compare({"f": interrupted}, X, clock=clock)


def test_a_row_of_one_round_says_so() -> None:
    clock = FakeClock()
    found = compare({"f": clock.working(np.sqrt, call=10.0)}, X, clock=clock)
    assert found.rows[0].note == "timed once"


# -- a value ------------------------------------------------------------------------------------


@pytest.fixture
def made() -> Comparison:
    clock = FakeClock()
    calls = {
        "a": clock.working(np.sqrt, call=2e-3),
        "b": clock.working(lambda x: x**0.5, call=1e-3),
        "bad": clock.working(lambda x: np.where(x > 5, np.inf, np.nan), call=1e-3),
    }
    return compare(calls, X, sizes=[10, 1000], clock=clock)


def test_what_was_saved_is_loaded(made: Comparison, tmp_path: Path) -> None:
    path = made.save(tmp_path / "made.json")
    assert repr(Comparison.load(path)) == repr(made)
    assert Comparison.load(str(path)).to_json() == made.to_json()
    assert json.loads(made.to_json())["format"] == 1


def test_complex_numbers_are_saved_and_loaded(tmp_path: Path) -> None:
    calls = {"a": np.exp, "b": lambda z: np.exp(z) * (1 + 1e-15)}
    for z in (1j * X, X + math.nan * 1j):
        made = compare(calls, z, limit=LIMIT, clock=FakeClock(0.05))
        assert repr(Comparison.load(made.save(tmp_path / "complex.json"))) == repr(made)


def test_what_is_no_comparison_is_refused(made: Comparison, tmp_path: Path) -> None:
    with pytest.raises(ComparisonError, match="cannot be read"):
        Comparison.load(tmp_path / "none.json")
    wrong = tmp_path / "wrong.json"
    for text in ("{}", "[]", "nothing", '{"format": 1, "rows": [3], "name": "x"}'):
        wrong.write_text(text)
        with pytest.raises(ComparisonError, match=r"is not a saved comparison"):
            Comparison.load(wrong)
    wrong.write_text(made.to_json().replace('"format": 1', '"format": 9'))
    with pytest.raises(ComparisonError, match="format 9"):
        Comparison.load(wrong)
    with pytest.raises(CacheError):
        made.save(tmp_path / "no folder" / "x.json")


def test_a_data_frame_has_a_line_for_each_row(made: Comparison) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = made.to_pandas()
    assert list(frame.label) == ["a", "b", "bad"] * 2
    assert frame.elements.tolist() == [10] * 3 + [1000] * 3
    assert frame.ok.tolist() == [None, True, False] * 2
    assert frame.seconds[0] == pytest.approx(2e-3)


def test_a_difference_tells_faster_from_the_spread(made: Comparison) -> None:
    clock = FakeClock()
    work = {"a": 1e-3, "b": 1.01e-3, "new": 1.0}
    calls = {name: clock.working(np.sqrt, call=call) for name, call in work.items()}
    changed = compare(calls, X, sizes=[1000], clock=clock).diff(made)
    assert [(c.label, c.elements, c.word, round(c.ratio, 2)) for c in changed.changes] == [
        ("a", 1000, "faster", 2.0),
        ("b", 1000, "same", 0.99),
    ]
    assert changed.notes == ("measured only before: a, b, bad", "measured only now: new")
    assert "2.00x  faster" in str(changed)


def test_a_plot_has_a_line_for_each_callable_that_agrees(made: Comparison) -> None:
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert made.plot(ax=ax) is ax
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    bars = Figure().subplots()
    compare({"a": np.sqrt}, X, budget=0.01).plot(bars)
    assert len(bars.patches) == 1


# -- the line -----------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["", "-- x", "f --help", "f -h --sizes 10"])
def test_a_line_without_functions_and_one_that_asks_for_help_compare_nothing(line: str) -> None:
    assert run_line(line, names={}) is None


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("f 'x", "Close the quote"),
        ("f --size 10", "Did you mean --sizes"),
        ("f --sizes", "--sizes needs a value"),
        ("f --sizes -- x", "--sizes needs a value"),
        ("f --plot=3", "--plot takes no value"),
        ("f --budget soon", "--budget 'soon' is not a number"),
    ],
)
def test_a_line_that_cannot_be_read_is_refused(line: str, fault: str) -> None:
    with pytest.raises(OptionError, match=fault):
        run_line(line, names={})


def test_a_plot_that_cannot_be_drawn_is_refused_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_name(monkeypatch, optional_packages, "import_optional", lambda name: None)
    with pytest.raises(ComparisonError, match="--plot needs matplotlib"):
        run_line("f --plot", names={"f": lambda: pytest.fail("called")})


def test_a_line_is_carried_out() -> None:
    names = {"f": np.sqrt, "x": X}
    found = run_line("f 'lambda x: x**0.5' --ref np.sqrt --strict --budget 0.05 -- x[:100]", names=names)
    assert found is not None
    assert [(row.label, row.elements) for row in found.rows] == [("f", 100), ("lambda x: x**0.5", 100)]
    assert found.rows[0].agreement is not None
    with pytest.raises(ComparisonError, match="'nothing' cannot be evaluated"):
        run_line("f --ref nothing", names=names)


def _make_cheats() -> dict[str, Callable[[Any], Any]]:
    """Wrong squares, each right at some time."""
    calls, by_address, last = [0], {}, [np.empty(0), np.empty(0)]  # type: ignore[var-annotated]
    random = np.random.default_rng()

    def late(x: Any) -> Any:
        calls[0] += 1
        return x * x if calls[0] < 8 else x * x * 1.01

    def only_first(x: Any) -> Any:
        calls[0] += 1
        return x * x if calls[0] < 2 else x * 1.0

    def remembers_the_array(x: Any) -> Any:
        return by_address.setdefault(x.ctypes.data, x * x)

    def remembers_the_last_call(x: Any) -> Any:
        if not np.array_equal(last[0], x[:1]):
            last[:] = x[:1].copy(), x * x
        return last[1]

    def guesses(x: Any) -> Any:
        result = x * x
        result[random.integers(result.size)] += 1
        return result

    def ends_early(x: Any) -> Any:
        result = x * x
        result[-1] = 0
        return result

    return {
        "late": late,
        "only first": only_first,
        "remembers the array": remembers_the_array,
        "remembers the last call": remembers_the_last_call,
        "guesses": guesses,
        "ends early": ends_early,
        "large arrays": lambda x: x * x + (x.size > 10_000),
        "NaN": lambda x: np.where(np.isnan(x), 0, x * x),
        "single precision": lambda x: (x.astype("f4") ** 2).astype("f8"),
        "one element": lambda x: np.where(np.arange(x.size) == 12_345, 1, x * x),
    }


@pytest.mark.parametrize("name", _make_cheats())
def test_a_candidate_that_is_right_at_some_time_only_is_found(name: str) -> None:
    x = np.random.default_rng(1).uniform(2, 3, 20_000)
    x[77] = np.nan
    comparison = um.compare({"NumPy": lambda x: x * x, "cheat": _make_cheats()[name]}, x, budget=0.1)
    assert not comparison.ok
    assert comparison.rows[1].speedup is None
