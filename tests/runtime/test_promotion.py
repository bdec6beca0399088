"""Wide numbers and narrow functions: the value that arrives is the value that was given, or an exception."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in

CELL = """
int twice(int x) { return 2 * x; }
int add(int a, int b) { return a + b; }
unsigned above(unsigned x) { return x + 1; }
unsigned char byte(unsigned char x) { return x; }
long same(long x) { return x; }
unsigned long word(unsigned long x) { return x; }
double scaled(double x, int n) { return x * n; }
int three(short a, unsigned char b, int c) { return a + b + c; }
float half(float x) { return x / 2; }
// ufunc: (n),(n)->()
long dot(const int *x, const int *y, int n) {
    long s = 0;
    for (int i = 0; i < n; i++) s += (long)x[i] * y[i];
    return s;
}
// ufunc: (m,n)->(m)
void rows(const short *x, int m, int n, short *out) {
    for (int i = 0; i < m; i++) { out[i] = 0; for (int j = 0; j < n; j++) out[i] += x[i * n + j]; }
}
"""


@pytest.fixture(scope="module")
def c(shared_cache_folder: Any) -> Any:
    return compile_in(shared_cache_folder, CELL)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("twice", (2**40,), r"twice\(x\): 1099511627776 does not fit int32, -2147483648 to 2147483647"),
        ("twice", (-(2**31) - 1,), r"twice\(x\): -2147483649 does not fit int32"),
        ("twice", (np.array([1, 2, 2**32 + 1]),), r"twice\(x\): 4294967297 \(at index 2\) does not fit int32"),
        ("twice", (np.array([2**64 - 1], "u8"),), r"18446744073709551615 \(at index 0\) does not fit int32"),
        ("twice", (np.uint32(2**31),), "2147483648 does not fit int32"),
        ("above", (-5,), "-5 does not fit uint32, 0 to 4294967295"),
        ("above", (2**32,), "4294967296 does not fit uint32"),
        ("byte", (256,), "256 does not fit uint8, 0 to 255"),
        ("byte", (np.int8(-1),), "-1 does not fit uint8"),
        ("word", (-1,), "-1 does not fit uint64"),
        ("same", (2**63,), r"same\(x\): 9223372036854775808 does not fit int64, -9223372036854775808"),
        ("same", (-(2**70),), "-1180591620717411303424 does not fit int64"),
        ("same", ([1, 2**64],), r"18446744073709551616 \(at index 1\) does not fit int64"),
        ("same", (np.array([1, 2**63], "u8"),), r"9223372036854775808 \(at index 1\) does not fit int64"),
        ("byte", ([2**64, 256],), r"18446744073709551616 \(at index 0\) does not fit uint8"),
        ("byte", (np.array([255, 256], object),), r"256 \(at index 1\) does not fit uint8"),
        ("scaled", (2.0, np.array([2**40])), r"scaled\(n\): 1099511627776 \(at index 0\) does not fit int32"),
        ("add", (np.array([[0, 0, 2**35, 0]] * 3), 1), r"add\(a\): 34359738368 \(at index \(0, 2\)\)"),
        ("add", (np.zeros(3, "i4"), np.array([0, -(2**35), 0])), r"add\(b\): -34359738368 \(at index 1\)"),
        ("dot", (np.array([[1, 2], [3, 2**31]]), np.ones(2, "i4")), r"dot\(x\): 2147483648 \(at index 1\)"),
    ],
)
def test_value_that_does_not_fit_is_an_overflow_error(c: Any, name: str, arguments: Any, message: str) -> None:
    with pytest.raises(OverflowError, match=message):
        c[name](*arguments)


def test_python_numbers_reach_unsigned_and_float_parameters(c: Any) -> None:
    assert [c.above(5), c.byte(255), c.word(2**63 - 1), c.twice(2**30 - 1), c.half(3.0), c.half(3)] == [
        6, 255, 2**63 - 1, 2**31 - 2, 1.5, 1.5
    ]  # fmt: skip
    assert [type(c.above(5)), type(c.half(3.0))] == [np.uint32, np.float32]


def test_objects_that_are_integers_are_read_as_such(c: Any) -> None:
    x = np.array([[1, -2, 3], [2**31 - 1, True, -(2**31)]], object)
    np.testing.assert_array_equal(c.same(x), x.astype("i8"))
    np.testing.assert_array_equal(c.same(x.T[::-1]), x.T[::-1].astype("i8"))
    assert c.add(np.array([5], object), 1).tolist() == [6]
    assert c.dot(np.array([1, 2], object), np.array([3, 4])) == 11
    for wrong in (1.5, "1", None):
        with pytest.raises(TypeError, match="integer"):
            c.same(np.array([1, wrong], object))
    with pytest.raises(TypeError, match="integer"):
        c.same(np.empty(3, object))
    with pytest.raises(TypeError):
        c.half(np.array([1], object))


def test_arrays_of_float64_are_refused_by_float(c: Any) -> None:
    with pytest.raises(TypeError, match=r"half\(x\) takes float32.*astype\('float32'\)"):
        c.half(np.ones(2))
    assert c.half(np.ones(2), signature="f->f").tolist() == [0.5, 0.5]
    assert c.half(np.ones(0)).shape == (0,)


@pytest.mark.parametrize("shape", [(), (1,), (5,), (3000,), (20_000,), (70, 300), (3, 1, 5), (0,), (4, 0)], ids=str)
@pytest.mark.parametrize("dtype", ["i1", "i2", "i8", "u1", "u2", "u4", "u8", ">i8", "?"])
def test_every_integer_type_and_shape_gives_numpys_values(c: Any, shape: tuple[int, ...], dtype: str) -> None:
    x = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    expected = x.astype("i4") + x.astype("i4")
    np.testing.assert_array_equal(c.add(x, x), expected, strict=True)
    np.testing.assert_array_equal(c.add(x.T, x.T), expected.T)
    np.testing.assert_array_equal(c.three(x, x, x), expected + x)
    if x.ndim:
        np.testing.assert_array_equal(c.add(x[::-1], x[::-1]), expected[::-1])


def test_results_go_where_they_should(c: Any) -> None:
    x = np.arange(10_000)
    assert c.add(x, x, out=x) is x
    np.testing.assert_array_equal(x, 2 * np.arange(10_000))
    np.add.at(expected := np.arange(5), [0, 0, 3], 7)
    c.add.at(at := np.arange(5), [0, 0, 3], 7)
    np.testing.assert_array_equal(at, expected)
    assert c.add.outer(np.arange(2), np.arange(3)).tolist() == [[0, 1, 2], [1, 2, 3]]
    assert c.twice(np.array([1, 2**40]), where=[True, False], out=np.zeros(2, "i4")).tolist() == [2, 0]


def test_reductions_go_on_casting_as_numpy_does(c: Any) -> None:
    made = um.compile_c("// ufunc: identity=0\nint plus(int a, int b) { return a + b; }")
    made.plus(np.arange(3), np.arange(3))
    assert made.plus.reduce(np.arange(10)) == 45
    assert made.plus.accumulate(np.arange(4)).tolist() == [0, 1, 3, 6]
    assert made.plus.reduceat(np.arange(4), [0, 2]).tolist() == [1, 5]


@pytest.mark.parametrize("shape", [(5,), (3, 5), (1000, 3), (2, 3, 7), (3, 9000), (4, 0)], ids=str)
def test_core_dimensions_are_copied_whatever_their_strides(c: Any, shape: tuple[int, ...]) -> None:
    x, y = np.random.default_rng(1).integers(-1000, 1000, (2, *shape))
    np.testing.assert_array_equal(c.dot(x, y), (x * y).sum(-1))
    np.testing.assert_array_equal(c.dot(x[..., ::-1], np.asfortranarray(y)), (x[..., ::-1] * y).sum(-1))
    if x.ndim > 1 and x.size < 1000:
        np.testing.assert_array_equal(c.rows(x), x.sum(-1))
        np.testing.assert_array_equal(c.rows(x.swapaxes(-1, -2)), x.sum(-2))


def test_loops_and_types_of_a_ufunc_stay_what_they_were(c: Any) -> None:
    c.twice(5)
    assert (c.twice.types, c.twice.ntypes) == (["i->i"], 1)
    assert pickle.loads(pickle.dumps(c.twice)) is c.twice


@pytest.mark.cython
def test_functions_of_cython_cells_check_as_well() -> None:
    made = um.compile_cython("# cython: language_level=3\ncdef unsigned int above(unsigned int x):\n    return x + 1\n")
    assert made["above"](np.array([5])).tolist() == [6]
    with pytest.raises(OverflowError, match=r"-5 \(at index 1\) does not fit uint32"):
        made["above"](np.array([5, -5]))


@pytest.mark.slow
def test_threads_share_a_large_call() -> None:
    made = um.compile_c("int twice(int x) { return 2 * x; }", parallel=2)
    x = np.arange(300_000)
    np.testing.assert_array_equal(made.twice(x), 2 * x)
    x[-1] = 2**31
    with pytest.raises(OverflowError, match=r"2147483648 \(at index 299999\)"):
        made.twice(x)


OVERLOADS = """
#include <cstdint>
int half(int x) { return x / 2; }
double half(double x) { return x / 2; }
uint32_t word(uint32_t x) { return x / 2; }
double word(double x) { return x / 2; }
int mean(int a, int b) { return (a + b) / 2; }
double mean(double a, double b) { return (a + b) / 2; }
int each(int x) { return x / 2; }
long each(long x) { return x / 2; }
float each(float x) { return x / 2; }
double each(double x) { return x / 2; }
short narrow(short x) { return x / 2; }
float narrow(float x) { return x / 2; }
double wide(float x) { return x / 2; }
double wide(double x) { return x / 2; }
double over(double x, int n) { return n; }
double over(double x, double n) { return -n; }
"""


@pytest.fixture(scope="module")
def overloads(shared_cache_folder: Any) -> Any:
    return compile_in(shared_cache_folder, OVERLOADS, cplus=True, guard=False, time=False)


@pytest.mark.parametrize(
    ("call", "result", "dtype"),
    [
        (lambda c: c.half(7), 3, "i4"),
        (lambda c: c.half(np.array([7])), [3], "i4"),
        (lambda c: c.half(np.array([7], "u8")), [3], "i4"),
        (lambda c: c.half(np.array([7], ">i8")), [3], "i4"),
        (lambda c: c.half([True]), [0], "i4"),
        (lambda c: c.half(np.array([7], object)), [3], "i4"),
        (lambda c: c.half(7.0), 3.5, "f8"),
        (lambda c: c.half(np.float32(7)), 3.5, "f8"),
        (lambda c: c.half([7, 7.5]), [3.5, 3.75], "f8"),
        (lambda c: c.half(np.array([7]), dtype="f8"), [3.5], "f8"),
        (lambda c: c.word(np.array([7], "i4")), [3], "u4"),
        (lambda c: c.mean(np.array([7]), 4), [5], "i4"),
        (lambda c: c.mean(np.array([7]), 4.0), [5.5], "f8"),
        (lambda c: c.mean(7, np.array([4.0])), [5.5], "f8"),
        (lambda c: c.mean.outer([7], np.array([4, 5], "u1")), [[5, 6]], "i4"),
        (lambda c: c.mean.reduce(np.array([7, 4, 3])), 4, "i4"),
        (lambda c: c.each(np.array([7], "i2")), [3], "i4"),
        (lambda c: c.each(np.array([7], "u4")), [3], "i8"),
        (lambda c: c.each(np.array([2**40], "u8")), [2**39], "i8"),
        (lambda c: c.each(np.float16(7)), 3.5, "f4"),
        (lambda c: c.each(7.0), 3.5, "f8"),
        (lambda c: c.narrow(np.array([7])), [3], "i2"),
        (lambda c: c.wide(np.array([7], "i2")), [3.5], "f8"),
        (lambda c: c.over(1.0, np.array([7])), [7], "f8"),
        (lambda c: c.over(1, 7), 7, "f8"),
        (lambda c: c.over(1, 7.0), -7, "f8"),
    ],
)
def test_overloads_are_ranked_as_in_cplus(overloads: Any, call: Any, result: Any, dtype: str) -> None:
    found = np.asarray(call(overloads))
    assert found.tolist() == result
    assert found.dtype == dtype


def test_an_integer_that_an_overload_cannot_hold_is_an_overflow_error(overloads: Any) -> None:
    for call in (lambda: overloads.half(np.array([1, 2**40])), lambda: overloads.half(2**40)):
        with pytest.raises(OverflowError, match="1099511627776"):
            call()
    with pytest.raises(OverflowError, match=r"-7 .*does not fit uint32"):
        overloads.word(np.array([-7], "i4"))


def test_notes_say_where_cplus_finds_an_overload_ambiguous(overloads: Any) -> None:
    notes = {note.partition("(")[0]: note for note in overloads.notes if "ambiguous" in note}
    assert notes.keys() == {"half", "word", "mean", "narrow", "wide", "over"}
    assert "a value that does not fit" in notes["half"]
    assert "as in NumPy" in notes["wide"]
