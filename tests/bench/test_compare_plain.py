"""Functions that stay Python functions: what they are called with, what counts as the same, and their tables."""

import array
import math
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from support import FakeClock, compare
from ufunc_magic.bench import compare_request, report
from ufunc_magic.bench.candidates import Candidate
from ufunc_magic.bench.expectation import collect_numbers, find_changed
from ufunc_magic.bench.request import Budget, Forms, Parameters, Request
from ufunc_magic.bench.samples import sample_arguments
from ufunc_magic.model import MOST_TIMED, CellFunction, ComparisonError, ObjectCode, Options, ReportData, Target
from ufunc_magic.render import Comparison
from ufunc_magic.runtime import Build, LoadedObject


@pytest.fixture(autouse=True)
def _nothing_leaks() -> Iterator[None]:
    before = np.geterr(), list(warnings.filters)
    yield
    assert (np.geterr(), list(warnings.filters)) == before


def _total(v: NDArray[Any]) -> Any:
    total = 0
    for i in range(v.shape[0]):
        total += v[i]
    return total


def _request(
    function: Callable[..., Any], samples: tuple[str, ...], *, clock: Callable[[], float], budget: float, **parts: Any
) -> Request:
    """The request for a Python function; ``parts`` go into its parameters, forms, rivals and reference."""
    vector = parts.pop("vector", None)
    rivals = (Candidate("NumPy expression", vector, "numpy"),) if vector else ()
    forms = {form: parts.pop(form, None) for form in ("python", "checked")}
    reference, label = parts.pop("reference", None), parts.pop("reference_label", "reference")
    return Request(
        "f",
        (Candidate("compiled function", function, "compiled"), *rivals),
        Parameters(samples, parts.pop("parameters", ()), **parts),
        forms=Forms(**forms),
        reference=reference and Candidate(label, reference),
        budget=Budget(budget, clock=clock),
    )


def _timed(function: Callable[..., Any], samples: tuple[str, ...] = ("d1",), **options: Any) -> Comparison:
    """The table; where the caller has no clock, every call takes long enough to be given few elements."""
    if "clock" not in options:
        clock = options["clock"] = FakeClock()
        function = clock.working(function, call=0.03)
        forms = {"python", "checked", "vector", "reference"} & options.keys()
        options.update({form: clock.working(options[form], call=0.03) for form in forms})
    return compare_request(_request(function, samples, budget=0.75, **options))


def _refusal(function: Callable[..., Any], samples: tuple[str, ...], **options: Any) -> str:
    with pytest.raises(ComparisonError) as refused:
        compare_request(_request(function, samples, clock=FakeClock(), budget=0.8, **options))
    return str(refused.value)


# -- the table ----------------------------------------------------------------------------------


def test_the_classic_table_comes_out_of_one_function() -> None:
    clock = FakeClock()
    made = _timed(
        clock.working(math.fsum, call=2**-13),
        ("O1",),
        parameters=("array",),
        python=clock.working(_total, call=2**-7),
        vector=clock.working(np.sum, call=2**-14),
        clock=clock,
    )
    ulps = made.rows[1].agreement, made.rows[2].agreement
    assert all(verdict is not None and verdict.ok for verdict in ulps)
    text = str(made).split("\n")
    assert text[0] == "f: 1.22 ns an element, 64.0x Python, 2.00x slower than NumPy"
    assert re.fullmatch(r"  f  array: float64; 100,000 elements; results agree to \d+ ulp \(1 checked\)", text[1])
    assert text[2:] == [
        "                        time  per element  speed-up    range",
        "  Python loop        7.81 ms      78.1 ns        1x",
        "  NumPy expression   61.0 us     0.610 ns      128x  122-134",
        "  compiled function   122 us      1.22 ns     64.0x    61-67",
    ]


def test_a_call_that_cannot_have_looked_at_the_elements_has_no_time_per_element() -> None:
    clock = FakeClock()
    made = _timed(
        clock.working(lambda v: (v.dtype, v.itemsize), call=2**-23), parameters=("v",),
        python=clock.working(lambda v: (v.dtype, v.itemsize), call=2**-23), clock=clock,
    )  # fmt: skip
    assert str(made).split("\n") == [
        "f: 119 ns a call, 1x Python",
        "  f  v: float64; results not checked",
        "                       time  per element  speed-up     range",
        "  Python loop        119 ns                     1x",
        "  compiled function  119 ns                     1x  0.95-1.1",
        "  note: the results are not made of numbers, so they were not compared",
    ]


def test_a_call_without_arrays_is_timed_by_itself() -> None:
    clock = FakeClock()
    made = _timed(
        clock.working(lambda n: [2, 3, 5][:n], call=2**-20), ("i0",), parameters=("n",),
        python=clock.working(lambda n: [2, 3, 5][:n], call=2**-14), clock=clock,
    )  # fmt: skip
    assert str(made) == (
        "f: 954 ns a call, 64.0x Python\n"
        "  f  n=10; results are identical (3 checked)\n"
        "                        time  per element  speed-up  range\n"
        "  Python loop        61.0 us                     1x\n"
        "  compiled function   954 ns                  64.0x  61-67"
    )


def test_without_a_python_form_the_function_stands_alone() -> None:
    clock = FakeClock()
    made = _timed(clock.working(np.sum, element=1e-9), clock=clock)
    assert [(row.label, row.speedup, row.agreement) for row in made.rows] == [("compiled function", None, None)]
    assert "results not checked" in str(made)


# -- what it is called with ---------------------------------------------------------------------


def test_sample_arguments_are_arrays_of_one_size_and_numbers_that_differ() -> None:
    a, n, b, m, x, flag, z = sample_arguments(("d2", "l0", "O1", "i0", "d0", "?0", "D0"), along=7, kind="uint8")
    assert (a.shape, a.dtype.char, b.shape, b.dtype.char) == ((7, 7), "d", (7,), "B")
    assert (n, m, x, flag, z) == (10, 9, 1.75, True, 2.75 + 0j)
    assert [type(v) for v in (n, x, flag, z)] == [int, float, bool, complex]


def _only(kind: str, result: Callable[..., Any] = np.sum) -> Callable[..., Any]:
    def function(v: NDArray[Any]) -> Any:
        if v.dtype != kind:
            raise ValueError(f"Buffer dtype mismatch, expected '{kind}' but got '{v.dtype}'")
        return result(v)

    return function


@pytest.mark.parametrize("kind", ["float64", "int64", "float32", "int32", "uint8", "complex128", "bool"])
def test_the_first_element_type_that_is_accepted_is_taken(kind: str) -> None:
    made = _timed(_only(kind), ("O1",), python=np.sum)
    assert made.signature == kind
    assert made.ok


def test_an_element_type_on_which_python_differs_is_passed_over() -> None:
    made = _timed(lambda v: int(np.sum(v.astype(int))), ("O1",), python=_total)
    assert (made.signature, made.ok) == ("int64", True)


def test_a_disagreement_on_every_element_type_is_shown() -> None:
    made = _timed(lambda v: v[0] + 1, ("O1",), python=lambda v: v[0] + 2)
    assert (made.signature, made.ok) == ("float64", False)
    assert [row.speedup for row in made.rows] == [None, None]
    assert "DISAGREES is " in str(made)


def test_a_function_that_refuses_everything_is_a_sentence() -> None:
    class OwnError(Exception):
        pass

    def refuses(*args: Any) -> None:
        raise OwnError("not today")

    assert _refusal(refuses, ("O1",), python=_total) == "the sample arguments were rejected (OwnError: not today)"
    assert _refusal(refuses, ("i0",)) == "the sample arguments were rejected (OwnError: not today)"


def test_what_raises_in_python_is_never_called_compiled() -> None:
    calls: list[Any] = []
    refusal = _refusal(calls.append, ("d1",), python=lambda v: v[len(v)])
    assert refusal.startswith("the sample arguments were rejected by its Python form (IndexError: ")
    assert calls == []


def test_what_reaches_before_an_array_in_python_is_never_called_compiled() -> None:
    calls: list[Any] = []

    def python(v: NDArray[Any]) -> None:
        for i in range(len(v)):
            v[i] = v[i - 1]

    refusal = _refusal(calls.append, ("d1",), python=python, unwrapped=True)
    assert "rejected by its Python form (IndexError: index -1 would be before the array's start)" in refusal
    assert calls == []
    assert _timed(python, python=python).ok
    assert _timed(np.max, python=lambda v: max(v[i] for i in range(len(v))), unwrapped=True).ok


def test_interrupting_a_call_interrupts_the_cell() -> None:
    def interrupted(v: NDArray[Any]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare_request(_request(interrupted, ("d1",), python=_total, clock=FakeClock(), budget=0.8))


@pytest.mark.parametrize(("element", "elements"), [(1e-7, 100_000), (1e-5, 2_000), (1e-3, 20)])
def test_a_slow_python_form_gets_fewer_elements(element: float, elements: int) -> None:
    clock = FakeClock()
    compiled, python = (clock.working(np.max, element=each) for each in (1e-8, element))
    made = _timed(compiled, python=python, clock=clock)
    assert {row.elements for row in made.rows} == {elements}
    assert clock.now <= 0.8


@pytest.mark.parametrize("power", [1, 2, 3])
def test_the_budget_is_kept_by_functions_that_are_not_linear(power: int) -> None:
    clock = FakeClock()
    compiled, python = (clock.working(np.max, element=each, power=power) for each in (1e-9, 1e-8))
    _timed(compiled, python=python, clock=clock)
    assert clock.now <= 0.8


def test_matrices_are_square_and_vectors_fit_them() -> None:
    clock = FakeClock()
    product = clock.working(lambda a, x: list(a @ x), element=1e-8)
    made = _timed(product, ("d2", "d1"), parameters=("a", "x"), python=product, clock=clock)
    assert made.signature == "a: float64[200, 200], x: float64"
    assert made.rows[0].elements == 40_000


def test_a_size_that_is_asked_for_is_used() -> None:
    assert _timed(np.sum, python=np.sum, size=1234).rows[0].elements == 1234
    assert _timed(np.sum, ("d2",), python=np.sum, size=10_000).signature == "float64[100, 100]"


# -- what counts as the same --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "same"),
    [
        (3, 3),
        (2.5, np.float64(2.5)),
        ([1.0, 2.0], array.array("d", [1.0, 2.0])),
        ([1, 2], np.array([1, 2])),
        ((1, 2.5), (1, 2.5)),
        ({2: 1.0, 1: 0.5}, {1: 0.5, 2: 1.0}),
        ({3, 1, 2}, {1, 2, 3}),
        ("text", b"text"),
        ([[1, 2], [3]], [[1, 2], [3]]),
        (2**70, 2**70),
        (math.nan, math.nan),
        (range(3), [0, 1, 2]),
    ],
)
def test_results_are_the_same_whatever_holds_them(value: Any, same: Any) -> None:
    assert _timed(lambda v: same, python=lambda v: value).ok
    assert collect_numbers(value) is not None


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (3, 4),
        (2.5, None),
        ([1.0, 2.0], [1.0, 2.0, 3.0]),
        ([1.0, 1.0], 1.0),
        ((1, 2.5), (1, 2.6)),
        ("text", "test"),
        ({1: 2}, {1: 3}),
        (1.0, math.nan),
        (1.0, 1.0 + 1e-11),
    ],
)
def test_results_that_differ_are_told_apart(value: Any, other: Any) -> None:
    assert not _timed(lambda v: other, python=lambda v: value).ok


def test_results_that_are_not_made_of_numbers_are_not_checked() -> None:
    made = _timed(lambda v: object(), python=lambda v: object())
    assert [row.agreement for row in made.rows] == [None, None]
    assert "results not checked" in str(made)


def test_a_function_that_does_nothing_has_nothing_to_check() -> None:
    assert "results not checked" in str(_timed(lambda v: None, python=lambda v: None))


def test_sums_may_be_taken_in_another_order_but_not_leave_out_a_term() -> None:
    made = _timed(lambda v: float(np.sum(v)), python=_total, size=100_000)
    assert made.ok
    assert not _timed(lambda v: float(np.sum(v[1:])), python=_total, size=100_000).ok


def test_float_sums_are_measured_in_float() -> None:
    def single(v: NDArray[Any]) -> float:
        return float(v.sum(dtype=np.float32))

    def last_bit(v: NDArray[Any]) -> float:
        return float(np.float32(v.sum() * (1 + 1e-3)))

    assert _timed(single, ("f1",), python=lambda v: math.fsum(v)).ok
    assert not _timed(last_bit, ("f1",), python=lambda v: math.fsum(v)).ok


def test_an_ill_conditioned_result_is_explained_by_the_last_bits_of_the_inputs() -> None:
    def python(v: NDArray[Any]) -> float:
        return math.exp(77 - 7 * v[0])

    def compiled(v: NDArray[Any]) -> float:
        return math.exp(math.nextafter(77 - 7 * v[0], 100))

    made = _timed(compiled, python=python)
    assert "results agree up to rounding" in str(made)
    assert not _timed(lambda v: compiled(v) * (1 + 1e-12), python=python).ok


def test_narrow_integers_are_widened_where_pythons_sum_overflows() -> None:
    made = _timed(lambda v: int(v.sum()), ("B1",), python=_total, size=1000)
    assert made.ok
    assert (made.rows[0].label, made.rows[0].note) == ("Python loop", "on arrays widened to 64 bits")


def test_cs_answers_stand_in_for_pythons_where_they_differ() -> None:
    made = _timed(lambda n: n % 2**8, ("i0",), python=lambda n: n + 2**8, checked=lambda n: n)
    assert (made.ok, made.rows[0].note) == (True, "with C's rules checked at every step")


# -- functions that change their arguments ------------------------------------------------------


def _halve(v: NDArray[Any], a: float) -> None:
    v *= a


def test_what_a_function_does_to_its_arguments_is_compared() -> None:
    made = _timed(_halve, ("d1", "d0"), python=_halve)
    assert made.ok
    assert made.rows[1].agreement is not None
    assert made.rows[1].agreement.compared == made.rows[1].elements
    assert made.notes == ("it changes its arguments, so every call gets new ones",)
    assert not _timed(lambda v, a: None, ("d1", "d0"), python=_halve).ok


def test_every_timed_call_gets_fresh_arguments() -> None:
    seen: list[float] = []

    def spoil(v: NDArray[Any]) -> None:
        seen.append(float(v[0]))
        v[:] = -1.0

    _timed(spoil, python=spoil)
    assert len(seen) > 10
    assert min(seen) > 0


def test_a_nan_that_stays_is_no_change() -> None:
    values = np.array([math.nan, 1.0])
    assert find_changed((values, 3), (values.copy(), 3)) == ()
    assert find_changed((values, values), (values, np.array([math.nan, 2.0]))) == (1,)


# -- expressions and references -----------------------------------------------------------------


def test_a_numpy_expression_that_is_wrong_is_left_out() -> None:
    made = _timed(np.sum, python=_total, vector=np.prod)
    assert [row.kind for row in made.rows] == ["python", "compiled"]
    assert made.notes == ()


def test_a_numpy_expression_that_fails_is_a_note() -> None:
    made = _timed(np.sum, python=_total, vector=lambda v: v.summe())
    assert [row.kind for row in made.rows] == ["python", "compiled"]
    assert made.notes[0].startswith("the NumPy expression failed: AttributeError: ")


def test_a_reference_is_the_expectation_and_a_row() -> None:
    made = _timed(np.sum, python=_total, reference=np.prod, reference_label="np.prod")
    assert [row.label for row in made.rows] == ["Python loop", "np.prod", "compiled function"]
    assert not made.ok
    assert _timed(np.sum, reference=np.sum).rows[1].agreement is not None


def test_a_reference_for_another_function_is_a_note() -> None:
    made = _timed(np.sum, python=_total, reference=math.hypot, reference_label="math.hypot")
    assert made.ok
    assert made.notes[0].startswith("math.hypot failed on these arguments (TypeError: ")


# -- the report of a build ----------------------------------------------------------------------


SUM = "def f(array):\n    total = 0\n    for i in range(array.shape[0]):\n        total += array[i]\n    return total\n"


def _code(name: str, **fields: Any) -> CellFunction:
    given: dict[str, Any] = {"parameters": ("array",), "reason": "takes an array", "python_name": "f", **fields}
    return CellFunction(name, "python", **given)


def _build(*codes: CellFunction, **others: Any) -> Build:
    functions = {code.name: np.sum for code in codes} | others
    object_code = ObjectCode(b"", Target("elf", "linux", "x"), tuple(c.function_code for c in codes), "cython")
    return Build(LoadedObject(object_code, functions=functions, report_data=ReportData(codes)), "In[3]")


def test_functions_classes_and_constants_of_a_cell_are_all_listed() -> None:
    codes = _code("one"), _code("two", parameters=("a", "b")), _code("three", reason="returns a list")
    made = report(_build(*codes, Integrator=int, TABLE=[1], helper=len, np=np), options=Options(), names={})
    assert str(replace(made, pressure="")) == (
        "one(array), two(a, b): Python functions, because each takes an array\n"
        "three(array): a Python function, because it returns a list\n"
        "also bound: Integrator (class), TABLE, helper()\n"
        "In[3]: compiled in 0 ns"
    )


def test_a_python_function_of_a_build_is_timed() -> None:
    code = _code("total", samples=("O1",), python=SUM, vector="def f(array):\n    return array.sum()\n")
    made = report(_build(code), options=Options(size=100), names={})
    assert [row.label for row in made.rows] == ["Python loop", "NumPy expression", "compiled function"]
    assert made.ok
    assert "\n  total(array)  array: float64; 100 elements; results agree" in str(made)


def test_a_function_that_must_not_be_called_is_not() -> None:
    calls: list[Any] = []
    made = report(_build(_code("f", python=SUM), f=calls.append), options=Options(), names={})
    assert (made.comparisons, calls) == ((), [])


def test_nothing_is_called_where_no_times_are_wanted() -> None:
    made = report(_build(_code("f", samples=("O1",), python=SUM)), options=Options(time=False), names={})
    assert made.comparisons == ()


def test_why_there_is_no_python_form_is_a_note() -> None:
    made = report(_build(_code("f", samples=("d1",), python_reason="uses std::map")), options=Options(), names={})
    assert made.comparisons[0].notes == ("no Python form: it uses std::map",)


def test_a_python_form_that_cannot_be_read_costs_only_its_rows() -> None:
    made = report(_build(_code("f", samples=("d1",), python="import no_such_thing")), options=Options(), names={})
    (comparison,) = made.comparisons
    assert [row.label for row in comparison.rows] == ["compiled function"]
    assert "No module named 'no_such_thing'" in comparison.notes[0]


@pytest.mark.parametrize("given", [{"vs": "numba,foo"}, {"sizes": "10:foo"}])
def test_a_slip_in_an_option_of_the_report_is_an_error_before_anything_is_timed(given: dict[str, str]) -> None:
    with pytest.raises(ComparisonError, match="'foo'"):
        report(_build(_code("f", samples=("d1",))), options=Options(**given), names={})  # type: ignore[arg-type]


def test_a_refusal_is_a_note_of_the_report() -> None:
    made = report(_build(_code("f", samples=("d2",), python=SUM), f=math.sqrt), options=Options(), names={})
    assert made.notes[0].startswith("f was not timed: the sample arguments were rejected (TypeError: ")


def test_python_functions_share_the_limit_with_ufuncs() -> None:
    codes = [_code(f"f{n}", samples=("d1",), python=SUM) for n in range(MOST_TIMED + 2)]
    made = report(_build(*codes), options=Options(size=10), names={})
    assert len(made.comparisons) == MOST_TIMED
    assert made.notes == (
        f"the report times {MOST_TIMED} of {MOST_TIMED + 2} functions; use um.compare() for the others",
    )


def test_functions_that_are_not_called_take_no_place_among_those_that_are_timed() -> None:
    untimed = [CellFunction(f"p{n}", "ufunc", effects=("printf",)) for n in range(4)]
    codes = [*untimed, *(_code(f"f{n}", samples=("d1",), python=SUM) for n in range(MOST_TIMED))]
    made = report(_build(*codes), options=Options(size=10), names={})
    assert [comparison.name for comparison in made.comparisons] == [f"f{n}" for n in range(MOST_TIMED)]
    assert made.notes == ()


# -- um.compare ---------------------------------------------------------------------------------


def test_compare_explains_what_the_last_bits_of_the_inputs_change() -> None:
    t = np.linspace(250, 350, 1000)

    def pressure(t: NDArray[Any]) -> NDArray[Any]:
        return np.exp(77.345 - 7235 / t)

    def other(t: NDArray[Any]) -> NDArray[Any]:
        return np.exp(np.nextafter(77.345 - 7235 / t, np.inf))

    def wrong(t: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.where(t == t[500], 1 + 1e-9, 1) * other(t))

    found = compare({"pressure": pressure, "other": other, "wrong": wrong}, t, budget=0.1)
    assert [row.agreement and row.agreement.ok for row in found.rows] == [None, True, False]
    assert "results agree up to rounding" in str(compare({"pressure": pressure, "other": other}, t, budget=0.1))
    assert not compare({"pressure": pressure, "other": other}, t, tolerance=0, budget=0.1).ok


def test_compare_explains_a_single_number() -> None:
    def value(x: float) -> float:
        return math.exp(77.345 - 7235 / x)

    def other(x: float) -> float:
        return math.exp(math.nextafter(77.345 - 7235 / x, math.inf))

    assert compare({"value": value, "other": other}, 301.7, budget=0.1).ok
    assert not compare({"value": value, "wrong": lambda x: value(x) * (1 + 1e-9)}, 301.7, budget=0.1).ok


def test_explaining_takes_its_share_of_the_time_only() -> None:
    clock = FakeClock()
    calls = {"a": clock.working(np.exp, call=1.0), "b": clock.working(np.cbrt, call=0.0)}
    with pytest.raises(ComparisonError):
        compare({"a": math.sqrt}, "x", clock=clock)
    assert not compare(calls, np.linspace(1, 2, 10), budget=8.0, clock=clock).ok
    assert clock.now < 16
