"""C that gcc takes but a loop around it may not, and C that was written for Microsoft's compiler."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in

ALIGNED = """\
#ifdef __SSE2__
#include <xmmintrin.h>
#endif
typedef __attribute__((aligned(16))) float v4[4];
typedef __attribute((aligned(16))) v4 m4[4];
typedef float __attribute__((aligned(8))) v2[2];
__attribute__((aligned(32))) typedef int i8[8];
typedef double d3[3] __attribute__((aligned(16)));
typedef const float c4[4];
typedef struct { v2 p; float r; } ball;
// The ends.
float ends(v4 v) { return v[0] + v[3]; }
float corner(const m4 m) { return m[3][2]; }
void apply(m4 a, v4 v, v4 out)
{
    for (int i = 0; i < 4; i++) { out[i] = 0; for (int j = 0; j < 4; j++) out[i] += a[i][j] * v[j]; }
}
float scaled(float s, v2 v) { return s * v[1]; }
int last(i8 v) { return v[7]; }
double middle(d3 v) { return v[1]; }
float second(c4 v) { return v[1]; }
float reach(ball b) { return b.p[0] + b.r; }
// ufunc: (n,4)->()
float total(v4 *v, int n) { float s = 0; for (int i = 0; i < n; i++) s += v[i][3]; return s; }
float row(v4 v[2]) { return v[1][3]; }
float pointed(v4 *restrict v) { return (*v)[3]; }
void twice(v4 v, v4 out)
{
#ifdef __SSE2__
    __m128 x = _mm_load_ps(v);
    _mm_store_ps(out, _mm_add_ps(x, x));
#else
    for (int i = 0; i < 4; i++) out[i] = 2 * v[i];
#endif
}
"""

INLINE = """\
double given(double x);
inline int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
inline double given(double x) { return x < 1 ? x : given(x / 2) + 1; }
static inline double own(double x) { return x; }
inline double both(double x) { return own(x) + 1; }
extern inline double both(double x);
__inline__ const double *plain(const double *x, int n) { return n > 3 ? x : plain(x, n + 1); }
inline T general(T x) { return x < 1 ? x : general(x / 2) + 1; }
"""

MICROSOFT = """\
typedef unsigned short WORD16, WORD;
typedef __declspec(align(16)) float v4[4];
#define EXPORT __declspec(dllexport)
static __forceinline WORD half(WORD x) { return x / 2; }
// Its fourth.
__declspec(dllexport) float fourth(v4 v) { return v[3]; }
EXPORT double __stdcall triple(double x) { return 3 * x; }
DWORD WINAPI next(_In_ DWORD x) { return x + 1; }
BOOL CALLBACK is_large(WORD x) { return half(x) > 3 ? TRUE : FALSE; }
unsigned __int64 wide(LONGLONG a, UINT *low) { *low = (UINT)a; return a; }
"""


def test_typedefs_of_arrays_may_ask_for_an_alignment(shared_cache_folder: Path) -> None:
    b = compile_in(shared_cache_folder, ALIGNED)
    x = np.arange(16, dtype="f4")
    m = x.reshape(4, 4)
    assert (b.ends(x[:4]), b.corner(m), b.scaled(np.float32(2), x[:2]), b.second(x[:4])) == (3, 14, 2, 1)
    assert b.apply(m, x[:4]).tolist() == (m @ x[:4]).tolist()
    assert (b.last(np.arange(8)), b.middle(np.arange(3.0)), b.total(m), b.row(m[:2]), b.pointed(x)) == (7, 1, 36, 7, 3)
    of_ball = um.dtype_of(b.reach)
    of_ball = of_ball[0] if isinstance(of_ball, tuple) else of_ball
    assert b.reach(np.array(([1, 2], 5), dtype=of_ball)) == 6
    assert "The ends." in b.ends.__doc__


def test_an_array_of_any_alignment_is_passed_as_the_typedef_asks(shared_cache_folder: Path) -> None:
    b = compile_in(shared_cache_folder, ALIGNED)
    assert b.twice.signature == "(4)->(4)"
    x = np.arange(40, dtype="f4")
    for k in range(8):
        out = np.zeros(40, "f4")
        b.twice(x[k : k + 4], out=out[k + 1 : k + 5])
        assert out[k + 1 : k + 5].tolist() == (2 * x[k : k + 4]).tolist()
    windows = np.lib.stride_tricks.sliding_window_view(x, 4)
    assert b.twice(windows).tolist() == (2 * windows).tolist()


def test_inline_functions_are_written_out() -> None:
    b = um.compile_c(INLINE, types="f4,f8")
    assert (b.fib(10), b.given(2.0), b.both(2.0), b.general(np.float32(2)), b.general(2.0)) == (55, 2.5, 3, 2.5, 2.5)
    assert all(isinstance(b[name], np.ufunc) for name in ("fib", "given", "both", "general"))
    b = um.compile_c(INLINE.rpartition("inline T")[0])
    assert b.plain(np.array([7.0]), 1)[0] == 7


@pytest.mark.skipif("sys.platform == 'win32'", reason="these are its own compiler's words")
def test_words_of_microsofts_compiler_are_read_with_a_note(shared_cache_folder: Path) -> None:
    b = compile_in(shared_cache_folder, MICROSOFT)
    assert b.fourth(np.arange(4, dtype="f4")) == 3
    assert (b.triple(2.0), b.next(1), b.is_large(7), b.is_large(9)) == (6, 2, 0, 1)
    assert b.wide(-1) == (2**64 - 1, 2**32 - 1)
    assert (b.next.types, b.is_large.types, b.wide.types) == (["I->I"], ["H->i"], ["q->QI"])
    (note,) = [note for note in b.notes if "Microsoft" in note]
    assert "DWORD (unsigned int)" in note
    assert "WORD (" not in note.replace("DWORD (", "")
    assert "Its fourth." in b.fourth.__doc__
    assert "3 * x" in next(f.python for f in b.report_data.functions if f.name == "triple")


@pytest.mark.skipif("sys.platform == 'win32'", reason="these are its own compiler's words")
def test_such_words_may_be_in_a_header(tmp_path: Path) -> None:
    (tmp_path / "win.h").write_text("static __forceinline DWORD win_next(DWORD x) { return x + 1; }\n")
    b = um.compile_c('#include "win.h"\nunsigned f(unsigned x) { return win_next(x); }', include=[str(tmp_path)])
    assert b.f(2) == 3


def test_an_error_in_such_a_cell_is_told_of_its_own_words() -> None:
    with pytest.raises(um.CompileError, match="'y' undeclared") as caught:
        um.compile_c("DWORD f(DWORD x) { return y; }")
    assert "DWORD'" not in str(caught.value)
    with pytest.raises(um.CompileError, match="expected expression"):
        um.compile_c("struct s { int LONG; };\ndouble f(double x) { return x + ; }")


def test_a_function_of_vectors_costs_no_other_function() -> None:
    source = """\
typedef float v4 __attribute__((vector_size(16)));
v4 scaled(float k, v4 x) { return k * x; }
double f(double x) { return x + 1; }
float g(int n, float x) { return n + x; }
"""
    b = um.compile_c(source)
    assert (list(b), b.f(1.0), b.g(1, np.float32(2))) == (["f", "g"], 2, 3)
