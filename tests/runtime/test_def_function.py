"""A def of a Cython cell stays one: Cython's function for numbers, its ufunc for arrays."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import os
import pickle
import sys
import weakref
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in, run_python

pytest.importorskip("Cython", reason="Cython is not installed (extra: cython)")
pytestmark = pytest.mark.cython

SOURCE = """
def area(double width, double height):
    "Of a rectangle."
    return width * height

cpdef int next_one(int n) except? -1:
    return n + 1

def sized(size_t n, bint twice, float z):
    return n + z + n if twice else n + z

def with_defaults(double x, double y=2.0, int n=3):
    return x * y + n

cpdef double scaled(double x, double by=10.0):
    return x * by

def power(double x, double y):
    return x ** y

def hypotenuse(double x, double y):
    return (x ** 2 + y ** 2) ** 0.5

cdef double chosen(bint first, double x):
    return x if first else 0

def either(int n):
    if n > 0:
        return n
    return 0.0

def where_is(double where):
    return where

cdef double plain(double x):
    return x

def keyworded(double x, double y=2, *, double by, int n=3):
    return (x + y) * by + n

ctypedef fused number:
    float
    double
    long

ctypedef fused other:
    int
    double

def fused(number x, other y=2):
    return x * y

ctypedef fused numbers:
    double
    double[:]

ctypedef fused anything:
    int
    object

def of_numbers(numbers x):
    if numbers is double:
        return x
    else:
        return x[0]

cpdef of_anything(anything x):
    return "object" if anything is object else "int"

# ufunc: name=marked
def commented(double x):
    return x

def at_five(double x):
    if x > 5:
        return (<double *>NULL)[0]
    return x
"""


@pytest.fixture(scope="module")
def cell(shared_cache_folder: Path) -> Any:
    return compile_in(shared_cache_folder, SOURCE, language="cython", guard=False)


def outcome(call: Any) -> Any:
    """What a call gives, with its type; or what it raises."""
    try:
        result = call()
    except Exception as fault:  # noqa: BLE001 - that it is the same one is what is tested
        return type(fault), str(fault)
    return type(result), result


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("area", (2, 3.5), {}),
    ("area", (), {"height": 2.0, "width": 3}),
    ("area", (Fraction(1, 2), np.float64(3)), {}),
    ("area", (None, 1), {}),
    ("area", ("2", 1), {}),
    ("area", ([1.0, 2.0], 1), {}),
    ("area", (1,), {}),
    ("area", (1, 2, 3), {}),
    ("area", (1, 2), {"depth": 3}),
    ("area", (1,), {"width": 3}),
    ("next_one", (2,), {}),
    ("next_one", (True,), {}),
    ("next_one", (np.int16(7),), {}),
    ("next_one", (2**40,), {}),
    ("next_one", ("1",), {}),
    ("sized", (5, 1, 0.1), {}),
    ("sized", (np.uint8(5), [], np.float32(0.5)), {}),
    ("sized", (-1, 0, 0.5), {}),
    ("sized", (2**64, 0, 0.5), {}),
    ("either", (3,), {}),
    ("either", (-3,), {}),
    ("where_is", (), {"where": 2.0}),
    ("with_defaults", (1,), {}),
    ("with_defaults", (1,), {"n": 7}),
    ("scaled", (2,), {}),
    ("scaled", (2,), {"by": 3}),
    ("keyworded", (1,), {"by": 2}),
    ("keyworded", (1,), {}),
    ("keyworded", (1, 2, 3), {}),
    ("fused", (2, 3), {}),
    ("fused", (2.5, 3.5), {}),
    ("fused", ("a", 3), {}),
    ("power", (2, 0.5), {}),
    ("power", (-2, 0.5), {}),
]


@pytest.mark.parametrize(("name", "args", "keywords"), CALLS)
def test_numbers_go_to_the_function_that_cython_made(
    cell: Any, name: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    ours, cythons = cell[name], getattr(cell.loaded.module, name)
    assert outcome(lambda: ours(*args, **keywords)) == outcome(lambda: cythons(*args, **keywords))


def test_keyword_only_parameters_take_arrays_by_name_alone(cell: Any) -> None:
    x = np.arange(3.0)
    assert cell.keyworded(x, by=2).tolist() == [7, 9, 11]
    assert cell.keyworded(1, by=x, n=x.astype("i")).tolist() == [0, 4, 8]
    assert cell.keyworded(x, x, by=1).tolist() == [3, 5, 7]
    for args, keywords in [((x,), {}), ((x, 1, 2), {}), ((x, 1, 2), {"by": 1}), ((x,), {"by": 1, "to": 2})]:
        expected = outcome(lambda a=args, k=keywords: cell.loaded.module.keyworded(*a, **k))
        assert outcome(lambda a=args, k=keywords: cell.keyworded(*a, **k)) == expected
        assert expected[0] is TypeError


def test_fused_def_has_a_loop_for_each_of_its_types(cell: Any) -> None:
    x = np.arange(3)
    assert cell.fused(x, x.astype("i")).dtype == np.int_
    assert cell.fused(x.astype("f"), x.astype("i")).dtype == np.float32
    assert cell.fused(x, y=0.5).tolist() == [0, 0.5, 1]
    assert set(cell.fused.types) == {"fi->f", "fd->d", "di->d", "dd->d", "li->l", "ld->d"}
    assert cell.fused["double", "int"](2, 3) == 6.0


def test_rows_of_a_data_frame_are_floats_that_an_int_takes(cell: Any) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed (extra: test)")
    frame = pandas.DataFrame({"a": [1.5, 2.5], "b": [1.0, 2.0], "N": [3, 4]})
    f, cythons = cell.with_defaults, cell.loaded.module.with_defaults
    expected = frame.apply(lambda row: cythons(row["a"], row["b"], row["N"]), axis=1).tolist()
    assert frame.apply(lambda row: f(row["a"], row["b"], row["N"]), axis=1).tolist() == expected == [4.5, 9.0]
    assert frame.apply(lambda row: f(row["a"], y=row["b"], n=row["N"]), axis=1).tolist() == expected
    assert frame["a"].apply(f, y=2, n=1).tolist() == [4, 6]
    assert f(frame["a"], n=frame["N"], y=frame["b"]).tolist() == expected


def test_array_goes_to_the_specialisation_that_takes_it(cell: Any) -> None:
    assert (cell.of_numbers(np.array([3.0, 4.0])), cell.of_numbers(2.0)) == (3.0, 2.0)
    assert (cell.of_anything(np.arange(3)), cell.of_anything(2)) == ("object", "int")


def test_arrays_go_to_the_ufunc(cell: Any) -> None:
    x = np.arange(3.0)
    np.testing.assert_array_equal(cell.area(x, 2), [0, 2, 4])
    np.testing.assert_array_equal(cell.area(2, x), [0, 2, 4])
    np.testing.assert_array_equal(cell.area(x, height=2), [0, 2, 4])
    np.testing.assert_array_equal(cell.area(height=x, width=np.ones((2, 1))), [[0, 1, 2]] * 2)
    np.testing.assert_array_equal(cell.sized(np.array([1, 2]), np.array([True, False]), 0.5), [2.5, 2.5])
    np.testing.assert_array_equal(cell.either(np.array([-1, 4])), [0.0, 4.0])
    np.testing.assert_array_equal(cell.where_is(where=x), x)
    np.testing.assert_array_equal(cell.with_defaults(x), [3, 5, 7])
    np.testing.assert_array_equal(cell.with_defaults(2.0, n=np.arange(2), y=1.0), [2, 3])
    np.testing.assert_array_equal(cell.scaled(x), [0, 10, 20])
    assert cell.area(np.array(2.0), 3).dtype == np.float64


def test_an_array_of_powers_is_real_or_an_error_as_one_is_complex(cell: Any) -> None:
    assert cell.power(np.array([4.0, np.nan]), 0.5)[0] == 2
    assert np.isnan(cell.power(np.array([4.0, np.nan]), 0.5)[1])
    assert cell.power(np.array([-2.0]), 3.0).tolist() == [-8]
    assert cell.hypotenuse.accumulate(np.array([3.0, 4.0, 12.0])).tolist() == [3, 5, 13]
    with pytest.raises(TypeError, match="non-zero imaginary component"):
        cell.power(np.array([4.0, -4.0]), 0.5)


@pytest.mark.parametrize("value", [0, 1, 256, 0.0, 0.5, np.nan, np.uint64(2**40), np.float32(0.5), True, False])
def test_bint_is_the_truth_of_a_number(cell: Any, value: Any) -> None:
    expected = 3.0 if value else 0.0
    assert cell.chosen(value, 3.0) == expected
    assert cell.chosen(np.array([value] * 3), 3.0).tolist() == [expected] * 3


def test_what_only_a_ufunc_takes_makes_it_one(cell: Any) -> None:
    out = np.zeros(3)
    assert cell.area(2.0, 3.0, out=out) is out
    assert out.tolist() == [6, 6, 6]
    assert type(cell.area(2, 3, dtype="f8")) is np.float64
    assert cell.area(np.ones(3), 2.0, where=np.array([True, False, True]), out=np.zeros(3)).tolist() == [2, 0, 2]
    with pytest.raises(TypeError, match="axis"):
        cell.area(2.0, 3.0, axis=0)


def test_a_missing_argument_is_said_as_cython_says_it(cell: Any) -> None:
    for args, keywords in [((np.ones(2),), {}), ((np.ones(2), 1), {"width": 2})]:
        expected = outcome(lambda a=args, k=keywords: cell.loaded.module.area(*a, **k))
        assert outcome(lambda a=args, k=keywords: cell.area(*a, **k)) == expected


def test_what_overrides_ufuncs_is_asked(cell: Any) -> None:
    class Wrapped:
        def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
            return ufunc, method, len(inputs)

    assert cell.area(Wrapped(), 2) == (cell.area.ufunc, "__call__", 2)


def test_a_series_stays_a_series(cell: Any) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    series = pandas.Series([1.0, 2.0], index=["a", "b"], name="s")
    pandas.testing.assert_series_equal(cell.area(series, 2.0), series * 2)
    pandas.testing.assert_series_equal(series.apply(cell.where_is), series)


def test_it_has_what_functions_and_ufuncs_have(cell: Any) -> None:
    area = cell.area
    assert (area.__name__, area.__qualname__, area.__doc__) == ("area", "area", "Of a rectangle.")
    assert area.__module__ == cell.loaded.module.__name__
    assert area.__code__.co_varnames[:2] == ("width", "height")
    assert str(inspect.signature(area)) == str(area.__signature__) == "(width, height)"
    assert isinstance(area.ufunc, np.ufunc)
    assert (area.nin, area.nout, area.nargs, area.ntypes, area.types) == (2, 1, 3, 1, ["dd->d"])
    assert (area.identity, area.signature) == (None, None)
    assert area.resolve_dtypes((np.dtype("f8"), np.dtype("f8"), None))[2] == np.dtype("f8")
    x = np.array([1.0, 2.0, 3.0])
    assert area.reduce(x) == 6
    assert area.accumulate(x).tolist() == [1, 2, 6]
    assert area.reduceat(x, [0, 1]).tolist() == [1, 6]
    assert area.outer(x, x).shape == (3, 3)
    area.at(x, [0, 0], 3.0)
    assert x.tolist() == [9, 2, 3]
    assert {"reduce", "ufunc", "__signature__"} <= set(dir(area))
    assert weakref.ref(area)() is area
    with pytest.raises(AttributeError, match="'rows'"):
        area.rows
    area.rows = 3
    assert vars(area)["rows"] == 3
    del area.rows


def test_it_is_bound_to_instances_as_functions_are(cell: Any) -> None:
    class Box(float):
        times = cell.area

    assert Box(2.0).times(3.0) == functools.partial(cell.area, 2.0)(3.0) == 6


def test_cdef_and_marked_functions_are_ufuncs(cell: Any) -> None:
    assert isinstance(cell.plain, np.ufunc)
    assert isinstance(cell.marked, np.ufunc)


def test_it_travels(cell: Any) -> None:
    cloudpickle = pytest.importorskip("cloudpickle", reason="cloudpickle is not installed")
    area = cell.area
    assert pickle.loads(pickle.dumps(area)) is um.loads(um.dumps(area)) is copy.deepcopy(area) is area
    script = "import sys, pickle; f = pickle.load(sys.stdin.buffer); print(f(2, height=3), f.reduce([2.0, 5.0]))"
    for payload in (pickle.dumps(area), cloudpickle.dumps(area)):
        done = run_python(script, input=payload)
        assert done.stdout.split() == ["6.0", "10.0"]


def test_faults_of_plain_calls_are_contained(cell: Any) -> None:
    assert cell.at_five(3) == 3.0
    with pytest.raises(um.CellCrashed, match=r"at_five\(7\.0\) followed a null pointer"):
        cell.at_five(7)
    assert cell.at_five(4) == 4.0


def test_calls_leave_no_references(cell: Any) -> None:
    width, x = 2.5e9, np.ones(3)
    name = cell.area.__wrapped__
    before = sys.getrefcount(width), sys.getrefcount(x), sys.getrefcount(name)
    for _ in range(100):
        cell.area(width, width)
        cell.area(height=x, width=width)
        cell.area(x, width)
        outcome(lambda: cell.area(x))
    gc.collect()
    assert (sys.getrefcount(width), sys.getrefcount(x), sys.getrefcount(name)) == before


def test_numba_calls_it(cell: Any) -> None:
    numba = pytest.importorskip("numba", reason="Numba is not installed (extra: numba)")
    area = cell.area

    @numba.njit
    def doubled(x: float) -> float:
        return 2 * area(x, 3.0)

    assert doubled(2.0) == 12.0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="Stop is for systems with signals")
def test_stop_is_heard_in_a_plain_call(cell: Any) -> None:
    script = """
import os, subprocess, ufunc_magic as um
f = um.compile_cython('''
def endless(double x):
    cdef double s = 1
    while s > 0:
        s = 1 + x
    return s
''', guard=False).endless
subprocess.Popen(["sh", "-c", f"sleep 1; kill -INT {os.getpid()}"])
try:
    f(1.0)
except KeyboardInterrupt:
    print("stopped")
"""
    done = run_python(script, code=None)
    assert done.stdout.strip() == "stopped", done.stderr


@pytest.mark.parametrize("value", [2**40, -(2**31) - 1, 2**63, 2**70])
def test_an_integer_too_wide_beside_an_array_is_named(cell: Any, value: int) -> None:
    says = rf"^with_defaults\(n\): {value} \(at index 0\) does not fit int32, -2147483648 to 2147483647$"
    arrays = np.ones(3), np.ones(3)
    for call in (
        lambda: cell.with_defaults(*arrays, value),
        lambda: cell.with_defaults(arrays[0], n=value),
        lambda: cell.with_defaults(*arrays, value, out=np.zeros(3)),
    ):
        before = sys.getrefcount(value), sys.getrefcount(arrays[0])
        with pytest.raises(OverflowError, match=says):
            call()
        assert (sys.getrefcount(value), sys.getrefcount(arrays[0])) == before
