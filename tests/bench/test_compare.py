"""Agreement, sample inputs and measurement: everything about time with a clock that tests set."""

import contextlib
import gc
import html
import math
import operator
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from numpy.typing import NDArray

from support import FakeClock, compare
from ufunc_magic.bench import compare_request, rounds
from ufunc_magic.bench.agreement import compare_results, find_suspects, measure_ulp
from ufunc_magic.bench.candidates import Candidate
from ufunc_magic.bench.elementwise import draw_inputs
from ufunc_magic.bench.expectation import call_each, to_lists
from ufunc_magic.bench.machine import Limits
from ufunc_magic.bench.request import Budget, Forms, Operands, Request, Threads
from ufunc_magic.bench.rounds import Call, Pace, Timing, count_affordable, measure
from ufunc_magic.bench.samples import Trials, describe_inputs, round_down, sample_inputs
from ufunc_magic.forms import Watched, make_namespace, round_at_random
from ufunc_magic.model import ComparisonError, OperandUse, OptionError
from ufunc_magic.render import Comparison


@pytest.fixture(autouse=True)
def _nothing_leaks() -> Iterator[None]:
    before = gc.isenabled(), np.geterr(), list(warnings.filters)
    yield
    assert (gc.isenabled(), np.geterr(), list(warnings.filters)) == before


# -- agreement ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["e", "f", "d", "g", "F", "D", "G"])
def test_strict_agreement_catches_a_wrong_last_bit(kind: str) -> None:
    expected = np.linspace(0.5, 0.9, 1000).astype(kind)
    got = expected.copy()
    got.real[500] = np.nextafter(got.real[500], got.real.dtype.type(0))
    strict = compare_results(expected, got, tolerance=0)
    assert (strict.ok, strict.max_ulp, strict.compared) == (False, 1.0, 1000)
    assert compare_results(expected, got).ok


def test_agreement_of_equal_arrays_is_exact() -> None:
    values = np.array([1.0, math.nan, math.inf, -math.inf, 0.0])
    found = compare_results(values, np.array([1.0, -math.nan, math.inf, -math.inf, -0.0]), tolerance=0)
    assert (found.ok, found.max_ulp, found.worst) == (True, 0.0, None)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0])
@pytest.mark.parametrize("place", [0, 9_999])
def test_wrong_branch_at_one_element_in_10_000_is_caught(bad: float, place: int) -> None:
    expected = np.exp(np.linspace(-2, 2, 10_000))
    got = expected.copy()
    got[place] = bad
    found = compare_results(expected, got, inputs=(np.linspace(-2, 2, 10_000),))
    assert not found.ok
    assert found.worst is not None
    assert found.worst[0] == (-2.0 if place == 0 else 2.0,)
    assert "1 of 10,000 differ" in found.detail


def test_a_time_that_is_none_equals_another() -> None:
    days = np.array(["2020-01-01", "NaT"], "M8[D]")
    assert compare_results(days, days.astype("M8[s]"), tolerance=0).ok
    assert not compare_results(days, days[::-1], tolerance=0).ok


def test_a_branch_wrong_by_a_millionth_of_a_millionth_is_caught() -> None:
    expected = np.linspace(1, 2, 10_000)
    got = expected.copy()
    got[77] *= 1 + 1e-12
    assert not compare_results(expected, got).ok


def test_cancellation_near_zero_is_no_disagreement() -> None:
    x = np.random.default_rng(1).uniform(-2, 2, 100_000)
    exact = np.expm1(x)
    found = compare_results(exact, np.nextafter(np.exp(x), np.inf) - 1.0)
    assert found.ok
    assert found.max_ulp > 100
    assert found.detail == "up to rounding"


def test_easing_is_for_a_minority_of_the_values() -> None:
    expected = np.concatenate([np.full(400, 1e-20), np.ones(600)])
    assert not compare_results(expected, expected + np.where(expected < 1, 1e-18, 0)).ok
    few = np.concatenate([np.full(100, 1e-20), np.ones(900)])
    assert compare_results(few, few + np.where(few < 1, 1e-18, 0)).ok


def test_tiny_results_are_held_to_their_own_scale() -> None:
    expected = np.linspace(1e-30, 2e-30, 1000)
    assert not compare_results(expected, expected * (1 + 1e-12)).ok


def test_float_results_expected_in_double_get_sixteen_ulp() -> None:
    expected = np.linspace(1, 2, 1000)
    single = expected.astype(np.float32)
    near, far = single.copy(), single.copy()
    for _ in range(10):
        near = np.nextafter(near, np.float32(9))
    far *= np.float32(1.00001)
    assert compare_results(expected.tolist(), near).ok
    assert not compare_results(single, near).ok
    assert not compare_results(expected.tolist(), far).ok


def test_long_double_is_compared_with_python_in_double() -> None:
    x = np.linspace(1, 2, 100, dtype=np.longdouble)
    assert compare_results(np.sqrt(x.astype(float)), np.sqrt(x)).ok


@pytest.mark.parametrize("kind", ["?", "b", "B", "q", "Q"])
def test_integers_must_be_equal(kind: str) -> None:
    expected = np.array([1, 0, 1], dtype=kind)
    got = np.array([1, 0, 0], dtype=kind)
    assert compare_results(expected.tolist(), expected).ok
    assert not compare_results(expected.tolist(), got).ok


def test_a_fractional_expectation_is_not_truncated_to_an_integer() -> None:
    assert not compare_results([2.5], np.array([2])).ok


def test_integers_past_every_type_are_compared_exactly() -> None:
    found = compare_results([2**64 + 1, 3], np.array([1, 3], dtype=np.uint64))
    assert (found.ok, found.compared) == (False, 2)


def test_the_output_that_disagrees_is_named() -> None:
    found = compare_results(([1.0], [2.0]), (np.array([1.0]), np.array([3.0])), inputs=(np.array([7.0]),))
    assert found.detail == "output 2 at (7.0) is 3.0, expected 2.0; 1 of 1 differ"


def test_other_shapes_and_numbers_of_outputs_disagree() -> None:
    assert "shape" in compare_results([1.0, 2.0, 3.0], np.ones(2)).detail
    assert compare_results((1.0, 2.0), np.ones(2)).detail == "1 output where 2 were expected"


def test_complex_components_are_judged_by_the_size_of_the_number() -> None:
    z = np.array([1 + 1e-20j] * 10)
    assert compare_results(z, z + 1e-18j).ok
    assert not compare_results(z, z + 1e-12j).ok


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@given(value=st.floats(-60000, 60000, width=16), steps=st.integers(0, 3))  # no step reaches infinity
@example(value=1023.0, steps=3)
def test_ulp_distance_counts_steps(kind: type[np.floating[Any]], value: float, steps: int) -> None:
    start = np.array([abs(value)], dtype=kind)
    end = start.copy()
    for _ in range(steps):
        end = np.nextafter(end, kind(np.inf))
    if np.isfinite(end[0]) and np.frexp(end[0])[1] == np.frexp(start[0])[1] and end[0] < np.finfo(kind).max / 2:
        assert measure_ulp(start, end)[0] == steps


def test_suspects_are_the_elements_that_disagree() -> None:
    expected = np.arange(1.0, 11.0)
    got = expected.copy()
    got[[2, 7]] += 1
    assert find_suspects((expected, expected), (got, expected)).tolist() == [2, 7]


def test_what_the_last_bits_of_the_inputs_change_is_explained() -> None:
    x = np.linspace(80, 90, 1000)
    expected = np.exp(77 - 7235 / x)
    got = np.exp(np.nextafter(77 - 7235 / x, np.inf))

    def explain(rows: NDArray[np.intp]) -> tuple[NDArray[Any], ...]:
        return (np.abs(np.exp(77 - 7235 / (x[rows] + 4 * np.spacing(x[rows]))) - expected[rows]),)

    assert not compare_results(expected, got).ok
    found = compare_results(expected, got, explain=explain)
    assert found.ok
    assert not compare_results(expected, got, explain=explain, tolerance=0).ok
    got[500] *= 1 + 1e-9
    spoilt = compare_results(expected, got, explain=explain, inputs=(x,))
    assert spoilt.worst is not None
    assert (spoilt.ok, spoilt.worst[0]) == (False, (x[500],))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_nothing_explains_a_result_that_is_not_finite(bad: float) -> None:
    assert not compare_results([1.0, 2.0], np.array([1.0, bad]), explain=lambda rows: (np.full(len(rows), np.inf),)).ok


# -- samples ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("types", "function"),
    [
        ("d->d", np.log),
        ("d->d", np.arccos),
        ("d->d", lambda x: np.sqrt(1 - x * x)),
        ("d->d", lambda x: np.log(np.log(x))),
        ("d->d", lambda x: 1 / np.sqrt(x - 273.15)),
        ("dd->d", np.power),
        ("dd->d", lambda a, b: np.log(a) + np.arcsin(b)),
        ("ff->f", lambda a, b: np.arctanh(a) * np.sqrt(-1.5 - b)),
        ("e->e", np.log),
        ("D->D", np.log),
    ],
)
def test_samples_stay_in_the_domain(types: str, function: Callable[..., Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inputs = sample_inputs(types, size=5000, probe=function)
    assert len(np.unique(inputs[0])) > 100
    with np.errstate(all="ignore"):
        assert np.isfinite(function(*inputs)).mean() > 0.999


def test_a_function_defined_everywhere_is_sampled_on_both_sides_of_zero() -> None:
    (x,) = sample_inputs("d->d", size=1000, probe=np.exp)
    assert (x < -1).any()
    assert (x > 1).any()


def test_an_interval_on_which_nothing_happens_is_left() -> None:
    (x,) = sample_inputs("d->d", size=1000, probe=lambda x: np.clip(x, 20, 90))
    assert len(np.unique(np.clip(x, 20, 90))) > 100


def test_an_interval_on_which_the_function_raises_is_left() -> None:
    def raising(x: NDArray[Any]) -> NDArray[Any]:
        if (x < 0).any():
            raise RuntimeError
        return np.sqrt(x)

    (x,) = sample_inputs("d->d", size=1000, probe=raising)
    assert (x > 0).all()


def test_samples_are_the_same_every_time() -> None:
    first, second = (sample_inputs("dl->d", size=100, probe=np.add) for _ in range(2))
    assert all((a == b).all() for a, b in zip(first, second, strict=True))


def _screen(function: Callable[..., Any]) -> Callable[..., NDArray[np.bool_]]:
    return lambda *arrays: call_each(function, to_lists(arrays))[1]


def test_integer_division_never_reaches_c_with_a_zero_divisor() -> None:
    seen: list[int] = []

    def c_division(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
        seen.append(int(np.count_nonzero(b == 0)))
        return np.asarray(a // b)

    a, b = sample_inputs("ll->l", size=50_000, probe=c_division, screen=_screen(lambda x, y: x // y))
    assert sum(seen) == 0
    assert np.count_nonzero(b == 0) == 0
    assert (a < 0).any()
    assert len(b) == 50_000


def test_screened_samples_are_in_an_order_that_no_processor_learns() -> None:
    screen = _screen(lambda x, y: x // y)
    a, b = sample_inputs("ii->i", size=300_000, probe=np.add, screen=screen, cautious=True, trials=Trials(pool=500))
    assert [len(a), len(b)] == [300_000] * 2
    pairs = a.astype(np.int64) * 1000 + b
    assert all(np.count_nonzero(pairs[n:] == pairs[:-n]) < len(pairs) / 50 for n in range(1, 2048))


def test_a_table_is_never_read_past_its_end() -> None:
    table = list(range(7))
    (index,) = sample_inputs(
        "i->d", size=1000, probe=lambda i: i * 1.0, screen=_screen(lambda i: table[i if i >= 0 else 99])
    )
    assert set(index.tolist()) <= set(range(7))


def test_samples_are_indices_of_their_arrays_and_rise_where_they_are_searched() -> None:
    uses = [
        OperandUse(below=("n",)),
        OperandUse(low=1, below=("256", "(n)*300")),
        OperandUse(below=("m",), rising=True),
        OperandUse(below=("7",)),
        OperandUse(rising=True),
        OperandUse(within=4),
        OperandUse(rising=True),
        OperandUse(within=6),
    ]
    cores = [["n"], ["n"], ["m"], [], ["n"], ["m"], ["n"], []]
    p, byte, ends, k, x, q, whole, place = sample_inputs("ibihdfll->d", size=3000, cores=cores, uses=uses)
    assert (np.sort(p, axis=-1) == np.arange(16)).all()
    assert (p != np.arange(16)).any()
    assert (byte.min(), byte.max()) == (1, 127)  # a signed byte has no more
    assert (ends == np.arange(16)).all()
    assert set(k.tolist()) == set(range(7))
    for array, searched in ((x, q), (whole, place[:, None])):
        assert (np.diff(array, axis=-1) > 0).all()
        assert ((array[:, :1] <= searched) & (searched <= array[:, -1:])).all()


@pytest.mark.parametrize(("most", "size"), [(1, 1), (9, 5), (10, 10), (452_221, 200_000), (10**6, 10**6)])
def test_sizes_are_round_numbers(most: int, size: int) -> None:
    assert round_down(most) == size


def test_integers_without_a_screen_are_small_and_positive() -> None:
    (x,) = sample_inputs("i->d", size=1000, probe=np.sqrt)
    assert (x.min(), x.max()) == (1, 10)


def _at(index: NDArray[Any]) -> NDArray[Any]:
    """``v.at(i)`` of a vector of three."""
    return np.array([0.5, 1.5, 2.5])[index]


def test_integers_are_the_indices_of_a_short_array_where_the_function_checks_them() -> None:
    (x,) = sample_inputs("i->d", size=1000, probe=_at)
    assert (x.min(), x.max()) == (1, 2)


def test_a_function_that_raises_on_the_first_samples_is_timed_on_others() -> None:
    request = Request("at", (Candidate("ufunc", _at),), Operands("i->d"), budget=Budget(clock=FakeClock()))
    (x,) = draw_inputs(request, Operands("i->d"))
    assert (x.min(), x.max()) == (1, 2)


def test_a_function_that_may_not_end_is_tried_with_small_positive_values_only() -> None:
    def kepler(eccentricity: NDArray[Any]) -> NDArray[Any]:
        assert ((eccentricity > 0) & (eccentricity < 1)).all(), "would not end"
        return eccentricity

    sample_inputs("d->d", size=1000, probe=kepler, cautious=True)


def test_cores_have_their_sizes() -> None:
    a, b = sample_inputs("fd->d", size=10, cores=(("n", 3), ()))
    assert (a.shape, a.dtype.char, b.shape, b.dtype.char) == ((10, 16, 3), "f", (10,), "d")


@pytest.mark.parametrize("char", "?bBhHiIlLqQefdgFDG")
def test_every_type_has_samples(char: str) -> None:
    (x,) = sample_inputs(char, size=100)
    assert (x.dtype, x.shape) == (np.dtype(char), (100,))
    assert len(np.unique(x)) > 1


# -- measurement --------------------------------------------------------------------------------


def test_rounds_are_interleaved() -> None:
    clock = FakeClock()
    order: list[str] = []
    calls = [Call(clock.working(order.append, call=1.0), (name,)) for name in "ABC"]
    measure(calls, clock=clock, pace=Pace(12.0))
    assert "".join(order) == "ABC" + "ABC" * 3


def test_the_cost_of_the_clock_is_subtracted() -> None:
    clock = FakeClock(tick=3e-5)
    (timing,) = measure([Call(clock.working(abs, call=2e-4), (1,))], clock=clock, pace=Pace(1.0))
    assert timing.seconds == pytest.approx(2e-4)


def test_waiting_counts_where_other_threads_of_the_call_work(monkeypatch: pytest.MonkeyPatch) -> None:
    now = SimpleNamespace(wall=0.0, waited=0.0, others=0.0)
    clocks = {"perf_counter": lambda: now.wall, "process_time": lambda: now.others, "thread_time": lambda: 0.0}
    monkeypatch.setattr(rounds, "time", SimpleNamespace(**clocks))
    monkeypatch.setattr(rounds, "read_waiting", lambda: now.waited)

    def wait() -> None:
        now.wall += 1.0
        now.waited += 1.0

    def share() -> None:
        wait()
        now.others += 0.5

    assert rounds.time_once(Call(wait), clock=rounds.CLOCK)[0] == 0.0
    assert rounds.time_once(Call(share), clock=rounds.CLOCK)[0] == 1.0
    (timing,) = measure([Call(share)], clock=rounds.CLOCK, pace=Pace(0.0, math.inf, 3, 3))
    assert timing.seconds == 1.0


def test_fast_calls_are_repeated_within_a_sample() -> None:
    clock = FakeClock()
    calls: list[int] = []
    (timing,) = measure([Call(clock.working(calls.append, call=1e-6), (1,))], clock=clock, pace=Pace(1.0, most=3))
    assert timing.seconds == pytest.approx(1e-6)
    assert len(calls) > 300


def _of_costs(*costs: float, **options: Any) -> Timing:
    clock = FakeClock()
    rest = iter([9.0, *costs])  # the first call looks how often to repeat it

    def work() -> None:
        clock.now += next(rest)

    return measure([Call(work)], clock=clock, pace=Pace(**options))[0]


def test_the_least_round_counts_and_the_middle_one_is_the_spread() -> None:
    timing = _of_costs(4.4, 4.0, 50.0, 4.2, 6.0, deadline=math.inf, most=5)
    assert (timing.seconds, timing.spread, timing.rounds) == (pytest.approx(4.0), pytest.approx(0.1), 5)


def test_rounds_that_disagree_are_followed_by_more_within_the_reserve() -> None:
    timing = _of_costs(1.0, *[2.0] * 9, deadline=15.0, reserve=4.0)
    assert (timing.rounds, timing.spread) == (5, 1.0)
    timing = _of_costs(1.0, 2.0, 2.0, 1.0, 1.0, 1.0, *[9.0] * 9, deadline=15.0, reserve=9.0)
    assert (timing.rounds, timing.spread) == (5, 0.0)


def test_fewer_than_three_rounds_have_no_spread() -> None:
    assert _of_costs(1.0, 2.0, deadline=11.0, reserve=0.5).spread is None
    assert _of_costs(1.0, 1.0, 1.0, 2.0, deadline=9.0, reserve=3.0).spread == 0.0


def test_rounds_end_at_the_deadline() -> None:
    clock = FakeClock()
    (timing,) = measure([Call(clock.working(abs, call=0.1), (1,))], clock=clock, pace=Pace(0.85))
    assert clock.now <= 0.85
    assert timing.rounds == 7


def test_one_round_is_enough_where_it_takes_longer_than_there_is() -> None:
    clock = FakeClock()
    assert measure([Call(clock.working(abs, call=5.0), (1,))], clock=clock, pace=Pace(1.0))[0].rounds == 1


def test_garbage_is_not_collected_while_the_clock_runs() -> None:
    clock = FakeClock()
    seen: list[bool] = []

    def work() -> None:
        clock.now += 1
        seen.append(gc.isenabled())

    measure([Call(work)], clock=clock, pace=Pace(1.0))
    assert set(seen) == {False}
    assert gc.isenabled()


@pytest.mark.parametrize(("each", "expected"), [(1e-9, 1000), (1e-4, 1000), (1e-3, 100), (10.0, 1)])
def test_affordable_fills_the_time_given(each: float, expected: int) -> None:
    clock = FakeClock()

    def run(number: int) -> None:
        clock.now += number * each

    assert count_affordable(run, most=1000, seconds=0.1, clock=clock) == pytest.approx(expected)


# -- compare ------------------------------------------------------------------------------------


def test_compare_verifies_and_ranks() -> None:
    clock = FakeClock()
    x = np.arange(1.0, 1001.0)
    functions = {
        "slow": clock.working(np.sqrt, call=4e-3),
        "fast": clock.working(lambda x: x**0.5, call=1e-3),
        "bad": clock.working(np.cbrt, call=1e-3),
    }
    found = compare(functions, x, clock=clock).rows
    assert [row.label for row in found] == ["slow", "fast", "bad"]
    assert [row.speedup for row in found] == [1.0, pytest.approx(4.0), None]
    assert [row.agreement and row.agreement.ok for row in found] == [None, True, False]


def test_compare_runs_over_sizes() -> None:
    clock = FakeClock()
    found = compare({"f": clock.working(np.sqrt, element=1e-6)}, np.ones(1000), sizes=[10, 1000], clock=clock)
    assert [(row.elements, round(row.seconds * 1e6)) for row in found.rows] == [(10, 10), (1000, 1000)]


def test_compare_takes_its_expectation_from_the_reference() -> None:
    clock = FakeClock()
    calls = {"a": clock.working(np.sqrt, call=1e-3), "b": clock.working(np.sqrt, call=1e-3)}
    assert compare(calls, np.ones(3), reference="b", clock=clock).rows[1].agreement is None
    assert not compare(calls, np.full(3, 2.0), reference=np.cbrt, clock=clock).ok


def test_compare_says_what_cannot_be_called() -> None:
    with pytest.raises(ComparisonError, match=r"'f' .*ValueError: (math domain|expected a non)"):
        compare({"f": math.sqrt}, -1.0)
    with pytest.raises(ComparisonError, match="nothing"):
        compare({}, 1.0)
    with pytest.raises(ComparisonError, match="or a label: f"):
        compare({"f": math.sqrt}, 1.0, reference="g")


# -- the report of one function -----------------------------------------------------------------


def time_function(
    function: Callable[..., Any],
    *,
    name: str,
    clock: Callable[[], float] = rounds.CLOCK,
    limit: Limits | None = None,
    budget: float = 0.8,
    **parts: Any,
) -> Comparison:
    """The table of a ufunc; ``parts`` go into the request's operands, forms, rivals, reference and threads."""
    vector = parts.pop("vector", None)
    rivals = (Candidate("NumPy expression", vector, "numpy"),) if vector else ()
    forms = {form: parts.pop(form, None) for form in ("python", "checked", "random", "watched")}
    reference, label = parts.pop("reference", None), parts.pop("reference_label", "reference")
    threads, most = parts.pop("threads", None), parts.pop("max_threads", 1)
    if "inputs" in parts:
        parts["arrays"] = parts.pop("inputs")
    return compare_request(
        Request(
            name,
            (Candidate("ufunc", function, "ufunc"), *rivals),
            Operands(**parts),
            forms=Forms(**forms),
            reference=reference and Candidate(label, reference),
            threads=threads and Threads(threads, most),
            budget=Budget(budget, clock=clock),
            limit=limit,
        )
    )


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))


def _exact_logistic(x: float) -> float:
    try:
        return _logistic(x)
    except OverflowError:
        return 0.0


def _vector_logistic(x: NDArray[Any]) -> NDArray[Any]:
    result: NDArray[Any] = 1.0 / (1.0 + np.exp(-x))
    return result


def test_the_default_report_is_exactly_this() -> None:
    clock = FakeClock()
    found = time_function(
        clock.working(_vector_logistic, element=1e-7),
        name="logistic(x)",
        types="d->d",
        python=clock.working(_logistic, call=1.5e-5),
        checked=clock.working(_exact_logistic, call=5e-5),
        vector=clock.working(_vector_logistic, element=6e-7),
        limit=Limits(((1, 200e6),)),
        clock=clock,
    )
    expected = """\
logistic(x): 100 ns an element, 150x Python, 6.00x NumPy
  logistic(x)  d->d; 200,000 elements; inputs from -2 to 2; results CHECKED
                       time  per element  speed-up    range
  Python loop        3.00 s      15.0 us        1x  timed on 1,000 elements
  NumPy expression   120 ms       600 ns     25.0x    24-26
      timed on 20,000 elements
  ufunc, 1 thread   20.0 ms       100 ns      150x  143-157
      memory-bound, 80 % of memory bandwidth"""
    text = str(found).replace("\n    ", " ", 1)
    verdict = text.split("results ")[1].split("\n")[0]
    # Python's exp and NumPy's differ by an ulp or two, or not at all, as the C library has it.
    checked = f"({found.rows[2].agreement.compared:,} checked)"  # type: ignore[union-attr]
    assert verdict in (f"are identical {checked}", f"agree to 1 ulp {checked}", f"agree to 2 ulp {checked}")
    assert text == expected.replace("CHECKED", verdict)
    assert clock.now <= 0.8
    assert found.rows[2].agreement is not None
    assert found.rows[2].agreement.compared == pytest.approx(800 + 11, abs=1)  # as many as fit, and the edges


def test_a_wrong_element_beyond_pythons_part_is_found_through_numpy() -> None:
    clock = FakeClock()

    def wrong(x: NDArray[Any]) -> NDArray[Any]:
        result = np.array(_vector_logistic(x))
        if len(x) > 150_000:
            result[150_000] = 7.0
        return result

    found = time_function(
        clock.working(wrong, element=1e-7),
        name="f",
        types="d->d",
        checked=clock.working(_exact_logistic, call=1e-5),
        vector=clock.working(_vector_logistic, element=1e-7),
        clock=clock,
    )
    assert not found.ok
    assert [row.speedup for row in found.rows] == [None, None, None]
    assert "DISAGREES" in str(found)
    assert [row.agreement.ok for row in found.rows if row.agreement] == [True, False]


def _kelvin(t: float) -> float:
    return math.exp(77.345 + 0.0057 * t - 7235 / t) / math.pow(t, 8.2) if t > 0 else math.nan


def _vector_kelvin(t: NDArray[Any]) -> NDArray[Any]:
    exponent = np.nextafter(77.345 + 0.0057 * t - 7235 / t, np.inf)  # another order of rounding
    return np.asarray(np.where(t > 0, np.exp(exponent) / np.where(t > 0, t, 1) ** 8.2, np.nan))


@pytest.mark.parametrize("wrong", [False, True])
def test_an_ill_conditioned_function_agrees_and_its_wrong_branch_does_not(wrong: bool) -> None:
    clock = FakeClock()
    temperature = np.random.default_rng(5).uniform(250, 350, 10_000)

    def ufunc(t: NDArray[Any]) -> NDArray[Any]:
        result = _vector_kelvin(t)
        return np.where(t == temperature[1234], result * (1 + 1e-9), result) if wrong else result

    found = time_function(
        clock.working(ufunc, element=1e-7), name="svp", types="d->d", inputs=(temperature,), edges=False,
        python=clock.working(_kelvin, call=1e-6), clock=clock,
    )  # fmt: skip
    assert found.ok == (not wrong)


ROOT = "def root(b, c):\n    return -b + math.sqrt(b * b - c)\n"


@pytest.mark.parametrize("wrong", [False, True])
def test_a_cancellation_that_no_input_moves_is_explained_by_other_roundings(wrong: bool) -> None:
    clock = FakeClock()
    rng = np.random.default_rng(5)
    b, c = rng.uniform(10, 100, 10_000), rng.uniform(-1, 1, 10_000)

    def form(kind: Any) -> Callable[..., Any]:
        names = make_namespace(kind)
        exec(ROOT, names)
        return names["root"]  # type: ignore[return-value]

    def ufunc(b: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
        result = np.nextafter(np.sqrt(b * b - c), np.inf) - b
        return np.where(np.arange(len(b)) == 34, result * (1 + 1e-6), result) if wrong else result

    random = form("random")
    found = time_function(
        clock.working(ufunc, element=1e-7), name="root", types="dd->d", inputs=(b, c), edges=False, clock=clock,
        python=clock.working(form("verify"), call=1e-6), random=round_at_random(random),
    )  # fmt: skip
    assert found.ok == (not wrong)


@pytest.mark.parametrize("wrong", [False, True])
def test_an_edge_where_roundings_leave_the_domain_is_explained(wrong: bool) -> None:
    """The arc between a point and itself: the cosine may be 1, a little less, or more, which has no arc."""
    clock = FakeClock()
    text = "def arc(x, y):\n    return math.acos(math.sin(x)*math.sin(y) + math.cos(x)*math.cos(y))\n"
    names = make_namespace("verify"), make_namespace("random")
    for each in names:
        exec(text, each)
    verify, random = (each["arc"] for each in names)

    def ufunc(x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(invalid="ignore"):
            cosine = np.nextafter(np.sin(x) * np.sin(y) + np.cos(x) * np.cos(y), 0)
            return np.arccos(cosine) + (1e-6 if wrong else 0) * (x == y)

    x, y = np.linspace(0, 1, 1000), np.linspace(1, 2, 1000)
    found = time_function(
        clock.working(ufunc, element=1e-7), name="arc", types="dd->d", clock=clock, inputs=(x, y),
        python=clock.working(verify, call=1e-6), random=round_at_random(random),
    )  # fmt: skip
    assert found.ok == (not wrong)


@pytest.mark.parametrize("wrong", [False, True])
def test_float_noise_is_told_from_a_wrong_branch(wrong: bool) -> None:
    clock = FakeClock()

    def python(x: float) -> float:
        return 2 * math.asin(math.sqrt(1 - x * x / 2e4))

    def checked(x: float) -> float:
        step = np.float32(x)
        return float(np.float32(2) * np.arcsin(np.sqrt(np.float32(1) - step * step / np.float32(2e4))))

    def ufunc(x: NDArray[Any]) -> NDArray[Any]:
        fused = (1 - x.astype(float) ** 2 / 2e4).astype(np.float32)  # what a compiler makes of it
        result = 2 * np.arcsin(np.sqrt(fused))
        return np.where((x > 1) & (x < 1.002), -result, result) if wrong else result

    found = time_function(
        clock.working(ufunc, element=1e-7), name="f", types="f->f", edges=False,
        python=clock.working(python, call=1e-5), checked=clock.working(checked, call=1e-5), clock=clock,
    )  # fmt: skip
    assert found.ok == (not wrong)


def test_an_edge_on_a_jump_must_fall_on_the_right_side() -> None:
    clock = FakeClock()

    def step(x: float) -> float:
        return 1.0 if x < 0.5 else 2.0

    def report(compiled: Callable[[NDArray[Any]], NDArray[Any]]) -> bool:
        ufunc = clock.working(compiled, element=1e-7)
        return time_function(ufunc, name="f", types="d->d", python=clock.working(step, call=1e-5), clock=clock).ok

    assert report(lambda x: np.where(x < 0.5, 1.0, 2.0))
    assert not report(lambda x: np.where(x <= 0.5, 1.0, 2.0))


def test_an_edge_that_samples_do_not_reach_is_checked() -> None:
    clock = FakeClock()

    def no_infinity(x: NDArray[Any]) -> NDArray[Any]:
        return np.where(np.isinf(x), 0.0, np.abs(x))

    def report(*, edges: bool) -> bool:
        ufunc = clock.working(no_infinity, element=1e-6)
        return time_function(
            ufunc, name="f", types="d->d", python=clock.working(abs, call=1e-5), edges=edges, clock=clock
        ).ok

    assert not report(edges=True)
    assert report(edges=False)


def test_a_wrong_numpy_expression_loses_only_its_own_speed_up() -> None:
    clock = FakeClock()
    found = time_function(
        clock.working(np.abs, element=1e-7),
        name="f",
        types="d->d",
        python=clock.working(abs, call=1e-5),
        vector=clock.working(np.negative, element=1e-7),
        clock=clock,
    )
    assert [(row.kind, row.speedup is None) for row in found.rows] == [
        ("python", False),
        ("numpy", True),
        ("ufunc", False),
    ]


def test_without_python_the_compiled_scalar_stands_in_and_nothing_is_checked() -> None:
    clock = FakeClock()
    found = time_function(clock.working(np.cbrt, call=1e-6, element=1e-7), name="f", types="d->d", clock=clock)
    assert [(row.label, row.kind) for row in found.rows] == [
        ("Python loop over the ufunc", "scalar"),
        ("ufunc, 1 thread", "ufunc"),
    ]
    assert "results not checked" in str(found)
    assert found.rows[1].speedup == pytest.approx(11, rel=0.01)


def test_a_python_version_that_raises_is_replaced_by_the_exact_one() -> None:
    clock = FakeClock()
    ufunc = clock.working(np.log, element=1e-7)

    def exact(x: float) -> float:
        return math.log(x) if x > 0 else math.nan if x < 0 or x != x else -math.inf

    inputs = [np.linspace(-1, 1, 1001)]
    found = time_function(
        ufunc, name="f", types="d->d", inputs=inputs, python=clock.working(math.log, call=1e-5),
        checked=clock.working(exact, call=1e-5), clock=clock,
    )  # fmt: skip
    assert found.ok
    assert (found.rows[0].label, found.rows[0].note) == ("Python loop", "with C's rules checked at every step")


def test_what_a_person_would_write_is_timed_even_where_pythons_rules_are_others() -> None:
    clock = FakeClock()
    found = time_function(
        clock.working(np.fmod, element=1e-7), name="f", types="ll->l", python=clock.working(operator.mod, call=1e-5),
        checked=clock.working(lambda a, b: int(math.fmod(a, b)), call=5e-5), clock=clock,
        inputs=[np.arange(-50, 50), np.full(100, 7)],
    )  # fmt: skip
    assert found.ok
    assert found.rows[0].note == "Python's own rules give different results for some elements"
    assert found.rows[1].speedup == pytest.approx(100)


@pytest.mark.parametrize(("largest", "note"), [(40, ""), (200, "wraps as C does")])
def test_a_loop_of_integers_has_as_much_of_cs_rules_as_its_inputs_need(largest: int, note: str) -> None:
    found = time_function(
        lambda x: x * np.uint8(3),
        name="f",
        types="B->B",
        inputs=[np.resize(np.arange(largest, 0, -1, dtype=np.uint8), 5000)],
        python=lambda x: x * 3 % 256,
        checked=lambda x: x * 3 % 256,
        watched=Watched("def f(x):\n    return __ufm_uint8(x * 3)\n", "f"),
        budget=0.05,
    )
    assert (found.ok, found.rows[0].note) == (True, note)
    assert found.rows[0].text == f"def f(x):\n    return {'(x * 3) & 0xFF' if note else 'x * 3'}\n"
    assert found.rows[0].text.split("\n")[1] in html.unescape(found._repr_html_())


def test_a_reference_on_arrays_is_the_expectation_and_a_row() -> None:
    clock = FakeClock()
    found = time_function(
        clock.working(np.hypot, element=1e-7), name="f", types="dd->d", python=clock.working(math.hypot, call=1e-5),
        reference=clock.working(lambda a, b: np.sqrt(a * a + b * b), element=1e-7), reference_label="sqrt", clock=clock,
    )  # fmt: skip
    assert [row.label for row in found.rows] == ["Python loop", "sqrt", "ufunc, 1 thread"]
    assert found.rows[2].agreement is not None
    assert (found.ok, found.rows[2].agreement.compared) == (True, 200_000)


def test_a_reference_on_scalars_is_the_python_loop() -> None:
    clock = FakeClock()
    found = time_function(
        clock.working(np.hypot, element=1e-7), name="f", types="dd->d", python=clock.working(max, call=1e-5),
        reference=clock.working(math.hypot, call=2e-5), reference_label="math.hypot", clock=clock,
    )  # fmt: skip
    assert [row.label for row in found.rows] == ["Python loop of math.hypot", "ufunc, 1 thread"]
    assert found.ok
    assert found.rows[1].speedup == pytest.approx(200)


def test_threads_have_a_row_each_and_must_agree_with_one_another() -> None:
    clock = FakeClock()
    running = [1]

    @contextlib.contextmanager
    def threads(number: int) -> Iterator[None]:
        before, running[0] = running[0], number
        yield
        running[0] = before

    def ufunc(x: NDArray[Any]) -> NDArray[Any]:
        clock.now += x.size * 1e-7 / running[0]
        return np.abs(x) if running[0] == 1 or x.size < 100_000 else np.zeros_like(x)

    found = time_function(
        ufunc, name="f", types="d->d", python=clock.working(abs, call=1e-5), threads=threads, max_threads=2, clock=clock
    )  # fmt: skip
    assert [row.label for row in found.rows] == ["Python loop", "ufunc, 1 thread", "ufunc, 2 threads"]
    assert found.rows[1].seconds == pytest.approx(2 * found.rows[2].seconds)
    assert [row.agreement.ok for row in found.rows if row.agreement] == [True, False]
    assert [row.speedup for row in found.rows] == [None, None, None]
    assert running == [1]


@pytest.mark.parametrize("element", [1e-8, 1e-6, 1e-4])
@pytest.mark.parametrize("scalar", [1e-5, 1e-3])
@pytest.mark.parametrize("budget", [0.2, 0.8])
def test_the_budget_is_kept(element: float, scalar: float, budget: float) -> None:
    clock = FakeClock(tick=5e-8)
    time_function(
        clock.working(np.abs, call=1e-6, element=element),
        name="f",
        types="d->d",
        python=clock.working(abs, call=scalar),
        vector=clock.working(np.abs, element=3 * element),
        budget=budget,
        clock=clock,
    )
    assert clock.now <= 1.15 * budget


def test_a_very_slow_function_is_timed_on_one_element() -> None:
    clock = FakeClock()
    found = time_function(clock.working(np.abs, element=0.05), name="f", types="d->d", clock=clock)
    assert found.rows[-1].elements == 1
    assert clock.now < 2


def test_a_size_that_is_asked_for_is_used() -> None:
    clock = FakeClock()
    found = time_function(clock.working(np.abs, element=1e-7), name="f", types="d->d", size=1234, clock=clock)
    assert found.rows[-1].elements == 1234


@pytest.mark.slow
def test_cores_reach_python_as_lists() -> None:
    clock = FakeClock()

    def dot(a: list[float], b: list[float]) -> float:
        clock.now += 1e-5
        return sum(x * y for x, y in zip(a, b, strict=True))

    ufunc = clock.working(np.vecdot, element=1e-9)
    found = time_function(ufunc, name="dot", types="dd->d", cores=(("n",), ("n",)), python=dot, clock=clock)
    assert found.ok
    assert found.rows[0].kind == "python"
    assert found.core == "n=1000"
    assert (found.rows[1].elements, found.rows[1].inner) == (2_000, 1000)  # 32 MB hold 2,097


def test_several_outputs_are_all_checked() -> None:
    clock = FakeClock()

    def report(python: Callable[[float], tuple[float, float]]) -> bool:
        ufunc = clock.working(np.modf, element=1e-7)
        return time_function(ufunc, name="f", types="d->dd", python=clock.working(python, call=1e-5), clock=clock).ok

    assert report(math.modf)
    assert not report(lambda x: (math.modf(x)[0], 1.0))


def test_constant_results_of_numpy_are_stretched() -> None:
    clock = FakeClock()
    found = time_function(
        clock.working(np.ones_like, element=1e-7), name="one", types="d->d",
        python=clock.working(lambda x: 1.0, call=1e-5), vector=clock.working(lambda x: 1.0, call=1e-5), clock=clock,
    )  # fmt: skip
    assert found.ok


def test_a_failing_numpy_expression_is_a_note() -> None:
    clock = FakeClock()

    def fails(x: NDArray[Any]) -> NDArray[Any]:
        raise TypeError("no such thing")

    found = time_function(
        clock.working(np.abs, element=1e-7), name="f", types="d->d", python=clock.working(abs, call=1e-5), vector=fails,
        clock=clock,
    )  # fmt: skip
    assert [row.kind for row in found.rows] == ["python", "ufunc"]
    assert found.notes == ("the NumPy expression failed: TypeError: no such thing",)


def test_a_reference_that_raises_on_every_sample_is_named_with_the_cause() -> None:
    made = time_function(
        np.sqrt,
        name="f",
        types="d->d",
        reference=lambda x, y: x,
        reference_label="two",
        size=100,
        clock=FakeClock(0.01),
    )
    assert made.notes[0].startswith("no expected results to compare with: --ref 'two' raises on every sample")


@pytest.mark.parametrize(
    ("result", "said"), [(None, "returns None, not 1 number"), ((1.0, 2.0), "returns tuple, not 1 number")]
)
def test_a_reference_without_the_outputs_numbers_is_refused(result: Any, said: str) -> None:
    def reference(x: float) -> Any:
        return result if x < 100 else None

    clock = FakeClock()
    root = clock.working(np.sqrt, element=1e-7)
    with pytest.raises(OptionError, match=said):
        time_function(
            root, name="f", types="d->d", python=None, reference=reference, reference_label="reference", clock=clock
        )


def test_an_input_of_one_value_has_no_range() -> None:
    one, near, far = np.full(3, 0.03), np.array([100.0, 100.01]), np.array([80, 120])
    assert describe_inputs(["rate", "strike"], (one, far)) == "rate = 0.03; strike from 80 to 120"
    assert describe_inputs(["a", "b"], (one, one)) == "a, b = 0.03"
    assert describe_inputs(["a", "b"], (np.full(2, 100.0), near)) == "a = 100; b around 100"
