"""What a build gives besides its functions, and NumPy's default integers for C's narrower ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ufunc_magic as um
from ufunc_magic import toolchain
from ufunc_magic.build import Build

SOURCE = """
#include <stdint.h>
// ufunc: identity=0
int sum(int a, int b) { return a + b; }
uint8_t scaled(uint8_t x, double by) { return (uint8_t)(x * by); }
void halves(short x, short *q, short *r) { *q = x / 2; *r = x % 2; }
double index(const double x[4], unsigned i) { return x[i % 4]; }
// ufunc: (n),()->(n)
void shifted(const int *x, int by, int *y, int n) { for (int i = 0; i < n; i++) y[i] = x[i] + by; }
unsigned long plain(unsigned long n) { return n; }
float narrow(float x) { return x; }
"""


@pytest.fixture(scope="module")
def c(shared_cache_folder: Path) -> Build:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UFUNC_MAGIC_CACHE", str(shared_cache_folder))
        return um.compile_c(SOURCE)


def test_rows_for_the_default_integer_stand_behind_c_s_own(c: Build) -> None:
    assert {name: f.types for name, f in c.items()} == {
        "sum": ["ii->i", "ll->l"],
        "scaled": ["Bd->B", "ld->B"],
        "halves": ["h->hh", "l->hh"],
        "index": ["dI->d", "dl->d"],
        "shifted": ["ii->i", "ll->i"],
        "plain": ["L->L", "l->L"],
        "narrow": ["f->f"],
    }


def test_python_numbers_lists_and_ranges_are_taken(c: Build) -> None:
    assert c.sum(2, 3) == 5
    assert c.sum([1, 2], [[3], [4]]).tolist() == [[4, 5], [5, 6]]
    assert c.scaled(100, 1.5) == 150
    assert c.scaled(100, 1.5).dtype == np.uint8
    assert [int(x) for x in c.halves(7)] == [3, 1]
    assert c.index([1.0, 2, 3, 4], 6) == 3
    assert c.index([1.0, 2, 3, 4], np.arange(5)).tolist() == [1, 2, 3, 4, 1]
    assert c.shifted(np.arange(3), 10).tolist() == [10, 11, 12]
    assert c.plain(7) == 7


def test_c_s_own_types_stay_themselves(c: Build) -> None:
    assert c.sum(np.int32(1), 2).dtype == np.int32
    assert c.sum(np.int8(1), np.int16(2)).dtype == np.int32
    assert c.sum(np.int32([2**31 - 1]), 1)[0] == -(2**31)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("sum", (2**31, 0), "2147483648 is out of range for C's int"),
        ("sum", (0, -(2**31) - 1), "-2147483649 is out of range for C's int"),
        ("scaled", (-1, 1.0), "-1 is out of range for C's unsigned char"),
        ("scaled", ([1] * 5000 + [256], 1.0), "256 is out of range for C's unsigned char"),
        ("halves", (40000,), "40000 is out of range for C's short"),
        ("index", ([1.0, 2, 3, 4], -1), "-1 is out of range for C's unsigned int"),
        ("shifted", ([0, 2**40], 1), "1099511627776 is out of range for C's int"),
        ("plain", (-3,), "-3 is out of range for C's unsigned long"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_value_that_c_cannot_hold_is_an_error(c: Build, function: str, arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(OverflowError, match=message):
        c[function](*arguments)


def test_reduce_accumulate_and_their_kin_work_on_default_integers(c: Build) -> None:
    x = np.arange(5000)
    assert c.sum.reduce(x) == x.sum()
    assert c.sum.reduce(x.reshape(50, 100), axis=None) == x.sum()
    np.testing.assert_array_equal(c.sum.reduce(x.reshape(50, 100), axis=0), x.reshape(50, 100).sum(0))
    np.testing.assert_array_equal(c.sum.accumulate(x), np.add.accumulate(x))
    np.testing.assert_array_equal(c.sum.reduceat(x, [0, 7, 4000]), np.add.reduceat(x, [0, 7, 4000]))
    np.testing.assert_array_equal(c.sum.outer(x[:5], x[:4]), np.add.outer(x[:5], x[:4]))
    c.sum.at(x, [0, 0, 3], 5)
    assert x[[0, 3]].tolist() == [10, 8]


def test_reduce_wraps_as_c_does_and_its_start_is_checked(c: Build) -> None:
    assert c.sum.reduce([2**31 - 1, 1]) == -(2**31)
    with pytest.raises(OverflowError):
        c.sum.reduce([2**40, 1])


INTEGERS = st.integers(-(2**15), 2**15)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1400), st.integers(-3, 3), st.integers(-3, 3), st.integers(0, 2**32 - 1))
def test_strides_and_overlaps_of_default_integers_agree_with_numpy(c: Build, size: int, s: int, t: int, seed: int) -> None:
    base = np.random.default_rng(seed).integers(-1000, 1000, 3 * 1400 + 1)
    a, b = (_strided(base, step, size) for step in (s, t))
    np.testing.assert_array_equal(c.sum(a, b), a + b)
    np.testing.assert_array_equal(c.sum(np.int32(a), b), a + b)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 700), st.integers(0, 5), st.integers(0, 5))
def test_overlapping_output_of_default_integers_agrees_with_numpy(c: Build, size: int, first: int, second: int) -> None:
    mine, numpys = np.arange(size + 5), np.arange(size + 5)
    c.sum(mine[first : first + size], 3, out=mine[second : second + size])
    np.add(numpys[first : first + size], 3, out=numpys[second : second + size])
    np.testing.assert_array_equal(mine, numpys)


def _strided(base: np.ndarray, step: int, size: int) -> np.ndarray:
    if step == 0:
        return np.broadcast_to(base[:1], (size,))
    return base[::step][:size]


def test_loop_for_the_type_itself_comes_before_a_converted_one() -> None:
    made = um.compile_c("int f(int x) { return 1; } long long f(long long x) { return 2; } double f(double x) { return 3; }", cplus=True)
    assert [made.f(v) for v in (np.int32(0), 0, 0.0)] == [1, 2, 3]
    assert made.f.types == ["i->i", "q->q", "d->d"]
    # An integer stays one although there is a loop for double.
    both = um.compile_c("int f(int x) { return 1; } double f(double x) { return 3; }", cplus=True)
    assert both.f(5).dtype == np.int32


@pytest.mark.skipif(not toolchain.describe(toolchain.find()).openmp, reason="the compiler has no OpenMP")
def test_default_integers_are_converted_for_all_threads() -> None:
    made = um.compile_c(SOURCE, parallel=2)
    x = np.arange(600_000)
    np.testing.assert_array_equal(made.sum(x, 1), x + 1)
    np.testing.assert_array_equal(made.sum.accumulate(x[:1000]), np.add.accumulate(x[:1000]))
    x[-1] = 2**40
    with pytest.raises(OverflowError):
        made.sum(x, 1)


def test_only_functions_without_float64_are_warned_of(c: Build) -> None:
    assert c.notes == ("narrow has no loop for float64, which a Python number alone is: write narrow(np.float32(2)), or --types.",)


def test_note_says_whose_it_is() -> None:
    made = um.compile_c("double f(double x) { return x; }\nvoid g(double v[3]) { for (int i = 0; i < 3; i++) v[i] *= 2; }")
    assert made.notes == ("g: 'v' is read before it is written, so it is an input and an output.",)


def test_functions_of_local_headers_and_c_files_are_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "more.h").write_text("static double hidden(double x) { return x; }\ndouble one(double x) { return hidden(x) + 1; }\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "lib.c").write_text('#include <math.h>\n#include "own.h"\nreal two(real x) { return exp(x) + 2; }\n')
    (tmp_path / "lib" / "own.h").write_text("typedef double real;\n")
    monkeypatch.chdir(tmp_path)
    made = um.compile_c('#include "more.h"\n#include "lib.c"\n', include="lib")
    assert set(made) == {"one", "two"}
    assert (made.one(1.0), made.two(0.0)) == (2, 3)


def test_error_in_a_local_header_is_told_with_the_line_that_includes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.h").write_text("\ndouble one(double x) { return y; }\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(um.CompileError) as caught:
        um.compile_c('\n#include "bad.h"\ndouble f(double x) { return x; }', name="cell")
    assert "bad.h:2:31: error: 'y' undeclared" in str(caught.value)
    assert "cell:2" in str(caught.value)


def test_thread_setting_of_a_serial_build_does_nothing(c: Build) -> None:
    with c.threads(3):
        assert c.sum(1, 2) == 3


def test_ufunc_outlives_its_build() -> None:
    import gc

    f = um.compile_c("double f(double x) { return x + 7; }").f
    gc.collect()
    assert f(np.ones(1000)).sum() == 8000
