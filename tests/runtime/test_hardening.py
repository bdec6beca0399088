"""Arrays and buffers that are overrun, and containers that are asked for too much, end the call and not the process."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from ufunc_magic.runtime import Build

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no containment on Windows")

#: Arrays of 64 numbers that are written to through pointers: what a loop over an index does is the compiler's choice.
SOURCE = r"""
#include <stdio.h>
#include <string.h>
static void copy(double *to, const double *from, int n) { while (n--) *to++ = *from++; }
// ufunc: (n)->()
double median(const double *x, int n) {
    double b[64];
    copy(b, x, n);
    for (int i = 1; i < n; i++) {
        double v = b[i];
        int j = i;
        for (; j > 0 && b[j - 1] > v; j--) b[j] = b[j - 1];
        b[j] = v;
    }
    return b[n / 2];
}
// ufunc: (n)->()
double either(const double *x, int n) {
    double b[64], c[2][32];
    copy(b, x, n);
    copy(c[0], x, n);
    return b[n / 2] + c[0][n % 32];
}
static double keep(const double *x, int n) { double own[64]; copy(own, x, n); return own[n / 2]; }
// ufunc: (n)->()
double caller(const double *x, int n) { return keep(x, n); }
// ufunc: (n)->()
double copies(const double *x, int n) { double b[64]; memcpy(b, x, n * sizeof *b); return b[n / 2]; }
int digits(int n) { char s[4]; return sprintf(s, "%d", n); }
int spell(const char *name, int n) { char s[16]; char *p = s; while (n--) *p++ = *name; return s[n & 15]; }
"""
SHORT, LONG = np.arange(50.0), np.arange(200.0)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UFUNC_MAGIC_CACHE", str(tmp_path_factory.mktemp("hardening")))
        return um.compile_c(SOURCE)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("median", r"b\[64\]"),
        ("either", r"one of its arrays b\[64\], c\[2\]\[32\]"),
        ("caller", r"own\[64\]"),
    ],
)
def test_an_array_that_is_overrun_ends_the_call_and_is_named(built: Build, name: str, array: str) -> None:
    before = built[name](SHORT)
    for x in (LONG, np.stack([LONG] * 3)):
        with pytest.raises(um.CellCrashed, match=f"past the end of {array}") as caught:
            built[name](x)
        assert "damaged" not in str(caught.value)
    assert built[name](SHORT) == before


def test_an_overrun_names_the_first_item_that_does_it(built: Build) -> None:
    x = np.zeros((5, 64))
    assert built.median(x).shape == (5,)
    with pytest.raises(um.CellCrashed, match=r"at index 0"):
        built.median(np.ones((5, 200)))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's check of buffers")
def test_a_function_of_the_c_library_does_not_overrun_a_buffer(built: Build) -> None:
    assert built.digits(123) == 3
    for call in (lambda: built.digits(123456), lambda: built.copies(LONG)):
        with pytest.raises(um.CellCrashed, match="past the end of a buffer"):
            call()
    assert built.copies(SHORT) == 25
    note = next(note for note in built.notes if note.startswith("digits("))
    assert "would write past the end of a buffer" in note
    assert note.endswith("Such a call raises CellCrashed.")


def test_plain_functions_and_threads_survive_an_overrun(built: Build) -> None:
    assert built.spell(b"a", 3) >= 0
    with pytest.raises(um.CellCrashed, match=r"past the end of s\[16\]"):
        built.spell(b"a", 300)
    threads = um.compile_c(SOURCE.partition("// ufunc: (n)->()\ndouble either")[0], parallel=2)
    with pytest.raises(um.CellCrashed, match=r"past the end of b\[64\]"):
        threads.median(np.ones((20_000, 200)))
    assert threads.median(SHORT) == 25


def test_the_stack_protector_can_be_left_out_and_the_code_says_so(cache_folder: Path) -> None:
    build = um.compile_c("double twice(double x) { return 2 * x; }", compile_args=["-fno-stack-protector"])
    assert build.object_code.options["compile_args"] == ["-fno-stack-protector"]
    assert build.twice(2.0) == 4


CYTHON = """
cdef void fill(double *to, double *source, int n) noexcept nogil:
    while n > 0:
        to[0] = source[0]
        to += 1
        source += 1
        n -= 1

def median(double[::1] x):
    cdef double b[64]
    fill(b, &x[0], x.shape[0])
    return b[x.shape[0] // 2]

class Filter:
    def run(self, double[::1] x):
        return median(x)

cdef double[200] source
source[:] = [3] * 200

cdef double spread(double x):
    cdef double b[64]
    fill(b, source, <int>x)
    return b[1]
"""


@pytest.mark.slow
@pytest.mark.cython
def test_arrays_of_cython_end_the_call(cache_folder: Path) -> None:
    pytest.importorskip("Cython", reason="Cython is not installed (extra: cython)")
    build = um.compile_cython(CYTHON)
    for call in (lambda: build.median(LONG), lambda: build.Filter().run(LONG)):
        with pytest.raises(um.CellCrashed, match=r"^median wrote past"):
            call()
    with pytest.raises(um.CellCrashed, match=r"^spread\(200\.0\) wrote past"):
        build.spread([3.0, 200.0])
    assert build.median(SHORT) == 25
    assert build.spread(3.0) == 3


@pytest.mark.slow
def test_checked_containers_raise_index_errors(cache_folder: Path) -> None:
    source = r"""
    #include <array>
    #include <optional>
    #include <span>
    #include <string>
    #include <vector>
    double vector(int n) { std::vector<double> v(10, 1.5); return v[n]; }
    double array(int n) { std::array<double, 4> v{1, 2, 3, 4}; return v[n]; }
    double view(int n) { static double v[5] = {1, 2, 3, 4, 5}; return std::span<double>(v, 5)[n]; }
    int text(int n) { std::string s = "abc"; return s[n]; }
    double pop(int n) { std::vector<double> v(n, 1.5); return v.back(); }
    double maybe(double x) { std::optional<double> o; if (x > 0) o = x; return *o; }
    """
    build = um.compile_c(source, cplus=True, compile_args=["-D_GLIBCXX_ASSERTIONS"])
    for name in ("vector", "array", "view", "text"):
        assert build[name](2) > 0
        with pytest.raises(IndexError, match=rf"{name}\(99\).*, at index 1") as caught:
            build[name]([2, 99])
        assert isinstance(caught.value, um.CellIndexError)
        assert isinstance(caught.value, um.CellCrashed)
    for call in (lambda: build.pop(0), lambda: build.maybe(-1.0)):
        with pytest.raises(IndexError, match="an empty one"):
            call()
    assert build.pop(1) == build.maybe(1.5) == 1.5
