"""Which parameters become inputs, outputs and sizes, and which functions stay plain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from support import compile_in
from ufunc_magic.cells import Plain, plan_operands, ufunc_comment as annotation
from ufunc_magic.languages.c import parse
from ufunc_magic.model import MAX_OPERANDS, CellPlace, Operand, Signature, SignatureError, make_options


def planned(text: str, *, cplus: bool = False, **options: Any) -> tuple[tuple[Signature, ...], tuple[Plain, ...]]:
    signatures, plains, _ = plan_operands(parse(text, cplus=cplus), options=make_options(options)).leave_out_faults()
    return signatures, plains


def shown(signature: Signature) -> str:
    """A signature as ``f(x: double, v: double*[3]) -> result: double; 2 gets n``."""
    sides = (", ".join(operand(o) for o in side) for side in (signature.inputs, signature.outputs))
    sizes = "".join(f"; {index} gets {dim}" for index, dim in signature.sizes.items())
    return f"{signature.name}({next(sides)}) -> {next(sides)}{sizes}"


def operand(o: Operand) -> str:
    shape = f"[{','.join(map(str, o.core))}]" if o.core else ""
    return f"{'±' if o.role == 'inout' else ''}{o.name}: {o.type}{'*' if o.pointer else ''}{shape}"


def only(text: str, *, cplus: bool = False, **options: Any) -> str:
    (signature,), plains = planned(text, cplus=cplus, **options)
    assert plains == ()
    return shown(signature)


UFUNCS: dict[str, str] = {
    # sizes of outputs that no input has: a number, or out=
    "// ufunc: (),(),()->(k)\nvoid f(double a, double b, double *y, int k) { y[0] = a; }": (
        "f(a: double, b: double, k: int) -> y: double*[k]"
    ),
    "// ufunc: (),()->(k)\nvoid f(double a, double b, double *y, int k) { y[0] = a; }": (
        "f(a: double, b: double) -> y: double*[k]; 3 gets k"
    ),
    "// ufunc: ()->(2*k+1)\nvoid f(int k, double *y) { y[k] = 1; }": "f(k: int) -> y: double*[2*k+1]",
    "// ufunc: (),(),()->(r,c)\nvoid f(int r, double v, int c, float *y) { y[r * c - 1] = v; }": (
        "f(r: int, v: double, c: int) -> y: float*[r,c]"
    ),
    "double f(double a, float b) { return a * b; }": "f(a: double, b: float) -> result: double",
    "double f(double, int) { return 1; }": "f(x1: double, x2: int) -> result: double",
    "int lambda(int from, int result) { return from; }": "lambda_(from_: int, result: int) -> result_: int",
    "void f(double x, double *s, double *c) { *s = sin(x); *c = cos(x); }": "f(x: double) -> s: double*, c: double*",
    "int f(double *s, double x) { *s = x; return 1; }": "f(x: double) -> result: int, s: double*",
    "void f(double x, double *unused) {}": "f(x: double) -> unused: double*",
    "double f(double x, double *rest) { return modf(x, rest); }": "f(x: double) -> result: double, rest: double*",
    "void f(double *x) { *x += 1; }": "f(±x: double*) -> ±x: double*",
    "double f(double *x) { return *x; }": "f(x: double*) -> result: double",
    # outputs only
    "double f(void) { return 1; }": "f() -> result: double",
    "void f(double *a, double *b) { *a = *b = 1; }": "f() -> a: double*, b: double*",
    # handed on before it is read
    "void f(double x, double *y) { unknown(x, y); *y += 1; }": "f(x: double) -> y: double*",
    "static int (*g)(double *); void f(double x, double *y) { (*g)(y); *y += x; }": "f(x: double) -> y: double*",
    "void f(double x, double *y) { assert(y); *y = x; *y += 1; }": "f(x: double) -> y: double*",
    # fixed sizes
    "double f(const double c[3], double x) { return c[0] * x; }": "f(c: double*[3], x: double) -> result: double",
    "double f(double r[3][3]) { return r[0][0]; }": "f(r: double*[3,3]) -> result: double",
    "double f(double r[3]) { return 1; }": "f(r: double*[3]) -> result: double",
    "void f(double x, double o[2]) { o[0] = o[1] = x; }": "f(x: double) -> o: double*[2]",
    "void f(double x[3]) { x[0] += x[1]; }": "f(±x: double*[3]) -> ±x: double*[3]",
    "typedef double vec[3]; void f(const vec a, vec b) { b[0] = a[0]; }": "f(a: double*[3]) -> b: double*[3]",
    # sizes by parameter
    "double f(int n, double x[n]) { return x[0]; }": "f(x: double*[n]) -> result: double; 0 gets n",
    "void f(int m, int n, const double a[m][n], double o[n]) { o[0] = a[0][0]; }": (
        "f(a: double*[m,n]) -> o: double*[n]; 0 gets m; 1 gets n"
    ),
    # annotations
    "// ufunc: (n),(n)->()\ndouble f(const double *x, const double *y, int n) { return 1; }": (
        "f(x: double*[n], y: double*[n]) -> result: double; 2 gets n"
    ),
    "// ufunc: (n),(n)->() name=dot\ndouble f(size_t n, double *x, double *y) { return x[1] * y[1]; }": (
        "dot(x: double*[n], y: double*[n]) -> result: double; 0 gets n"
    ),
    "// ufunc: (m,n),(n,p)->(m,p)\nvoid f(int *c, const int *a, const int *b, int m, int n, int p) { c[m] = 1; }": (
        "f(a: int*[m,n], b: int*[n,p]) -> c: int*[m,p]; 3 gets m; 4 gets n; 5 gets p"
    ),
    "// ufunc: (3),(3)->(3)\nvoid f(const double *a, const double *b, double *c) { c[2] = 1; }": (
        "f(a: double*[3], b: double*[3]) -> c: double*[3]"
    ),
    "// ufunc: (n,3)->(3)\nvoid f(double (*x)[3], long n, double o[3]) { o[0] = x[0][0]; }": (
        "f(x: double*[n,3]) -> o: double*[3]; 1 gets n"
    ),
    "// ufunc: (3,3)->()\ndouble f(const double m[9]) { return m[0]; }": "f(m: double*[3,3]) -> result: double",
    "// ufunc: ()->()\ndouble f(const double *x) { return *x; }": "f(x: double*) -> result: double",
    # inout
    "// ufunc: (),(n),(n)->(n)\nvoid f(double a, const double *x, double *y, int n) { y[n] += a * x[n]; }": (
        "f(a: double, x: double*[n], ±y: double*[n]) -> ±y: double*[n]; 3 gets n"
    ),
    "// ufunc: (n)->(n) inout=x\nvoid f(double *x, int n) { hidden(x, n); }": (
        "f(±x: double*[n]) -> ±x: double*[n]; 1 gets n"
    ),
    "// ufunc: inout=x\nvoid f(double *x) { hidden(x); }": "f(±x: double*) -> ±x: double*",
    # counts settle what the body hides
    "// ufunc: (),(n),(n)->(n)\nvoid f(double a, double *x, double *y, double *out, int n) { hidden(a, x, y, out); }": (
        "f(a: double, x: double*[n], y: double*[n]) -> out: double*[n]; 4 gets n"
    ),
    "// ufunc: (n)->(n)\nvoid f(double *out, double *x, int n) { out[1] = x[1]; }": (
        "f(x: double*[n]) -> out: double*[n]; 2 gets n"
    ),
    "// ufunc: (n)->(n)\nvoid f(double *x, int n) { hidden(x, n); }": "f(±x: double*[n]) -> ±x: double*[n]; 1 gets n",
    "// ufunc: ()->()\nvoid f(double x, double *y) { *y += x; }": "f(x: double) -> y: double*",
}


@pytest.mark.parametrize("text", UFUNCS)
def test_parameters_find_their_roles(text: str) -> None:
    assert only(text) == UFUNCS[text]


_SUM = "double s = 0; for (int i = 0; i < n; i++) s += x[i]; return s;"
INFERRED: dict[str, str] = {
    f"double f(const double *x, int n) {{ {_SUM} }}": "(n)->()",
    f"double f(double x[], size_t n) {{ {_SUM} }}": "(n)->()",
    f"double f(const double *x, int n, double p) {{ {_SUM} }}": "(n),()->()",
    "void f(const double *a, const double *b, double *o, long n) { for (long i = 0; i < n; i += 2) "
    "o[i] = a[i] * b[i]; }": ("(n),(n)->(n)"),
    "void f(double *x, int n) { int i; for (i = 0; i < n; ++i) x[i] *= 2; }": "(n)->(n)",
    "double f(const double *x, int n) { double s = 0; for (int i = 1; i <= n - 1; i++) s += x[i] - x[i - 1]; "
    "return s; }": ("(n)->()"),
    "double f(const double *x, const double *y, int m, int n) { double s = 0; for (int i = 0; i < m; i++) "
    "for (int j = 0; j < n; j++) s += x[i] * y[j]; return s; }": "(m),(n)->()",
    f"static double mean(const double *x, int n) {{ {_SUM} }}\n"
    "double f(const double *x, int n) { double m = mean(x, n), s = 0; for (int i = 0; i < n; i++) s += x[i] - m; "
    "return s; }": "(n)->()",
    f"static double mean(const double *x, int n) {{ {_SUM} }}\n"
    "double f(int k, const double *x) { return mean(x, k); }": "(k)->()",
}


@pytest.mark.parametrize("text", INFERRED)
def test_loops_tell_the_length_of_an_array(text: str) -> None:
    (signature,), _ = planned(text)
    assert signature.core == INFERRED[text]
    assert signature.notes[0].startswith(f"{INFERRED[text]} was inferred: it uses ")


#: What C++ users write: their loops, and functions of the library.
OF_CPLUS: dict[str, str] = {
    "double f(const double *x, std::size_t n) { double s = 0; for (std::size_t i = 0; i < n; ++i) s += x[i]; "
    "return s; }": ("f(x: double*[n]) -> result: double; 1 gets n"),
    "double f(const double *x, int n) { double s = 0; for (unsigned i{1}; i != (unsigned)n; ++i) s += x[i - 1]; "
    "return s; }": ("f(x: double*[n]) -> result: double; 1 gets n"),
    "double f(const double *x, int n) { return std::accumulate(x, x + n, 0.0); }": (
        "f(x: double*[n]) -> result: double; 1 gets n"
    ),
    "double f(const double *a, const double *b, int n) { return inner_product(a, a + n, b, 0.0); }": (
        "f(a: double*[n], b: double*[n]) -> result: double; 2 gets n"
    ),
    "void f(const double *x, double *y, int n) { std::partial_sum(x, x + n, y); }": (
        "f(x: double*[n]) -> y: double*[n]; 2 gets n"
    ),
    "void f(double *x, const double *k, int n) { std::sort(x, x + n); for (int i = 0; i < n; i++) x[i] += k[i]; }": (
        "f(±x: double*[n], k: double*[n]) -> ±x: double*[n]; 2 gets n"
    ),
}


@pytest.mark.parametrize("text", OF_CPLUS)
def test_loops_and_ranges_of_cplus_tell_the_length_of_an_array(text: str) -> None:
    assert only(text, cplus=True) == OF_CPLUS[text]


@pytest.mark.parametrize(
    "body",
    [
        "std::vector<double> v(x); for (int i = 0; i < n; i++) s += x[i];",
        "s = std::accumulate(x, x + n / 2, 0.0);",
        "s = std::accumulate(x + 1, x + n, 0.0);",
        "s = std::accumulate(y, x + n, 0.0);",
        "s = accumulated(x, x + n);",
        "n--; s = std::accumulate(x, x + n, 0.0);",
    ],
)
def test_other_uses_of_cplus_tell_no_length(body: str) -> None:
    text = f"double f(const double *x, const double *y, int n) {{ double s = 0; {body} return s; }}"
    signatures, plains = planned(text, cplus=True)
    assert (signatures, plains[0].reason) == ((), "pointer 'x' to const is an array of unknown length")


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = 0; i <= n; i++) s += x[i];",
        "for (int i = 0; i < n; i++) s += x[i + 1];",
        "for (int i = -1; i < n; i++) s += x[i];",
        "for (int i = 0; i < n; i++) s += x[i - 1];",
        "for (int i = 0; i < n; i++) { s += x[i]; i += 2; }",
        "for (int i = 0; i < n; i++) s += x[2 * i];",
        "for (int i = 0; i < 2 * n; i++) s += x[i];",
        "n++; for (int i = 0; i < n; i++) s += x[i];",
        "for (int i = 0; i < n; i++) s += x[i]; s /= x[n];",
        "for (int i = 0; i < n; i++) s += x[i]; s /= x[0];",
        "for (int i = 0; i < n; i++) s += *x++;",
        "for (int i = 0; i < m; i++) s += x[i]; for (int i = 0; i < n; i++) s += x[i];",
        "for (int i = 0; i < n; i++) s += x[i]; hidden(x);",
        "for (int i = 0; i != n; i += 2) s += x[i];",
        "for (int i = n; i >= 0; i--) s += x[i];",
        "const double *y = x; for (int i = 0; i < n; i++) s += x[i] + y[i];",
        "int i = 0; for (; i < n; i++) s += x[i];",
        "s = mean(x, 2 * n);",
        "s = mean(x, m) + mean(x, n);",
        "s = mean(x + 1, n);",
        "s = mean(x, 3);",
        "for (double i = 0; i < n; i++) { int k = i; s += x[k]; }",
    ],
)
def test_uncertain_lengths_are_not_inferred(body: str) -> None:
    text = (
        f"static double mean(const double *x, int n) {{ {_SUM} }}\n"
        f"double f(const double *x, int m, int n) {{ double s = 0; {body} return s; }}"
    )
    signatures, plains = planned(text)
    assert (signatures, plains[0].reason) == ((), "pointer 'x' to const is an array of unknown length")


CPLUS: dict[str, str] = {
    "void f(const double &a, double &b) { b = a; }": "f(a: double) -> b: double",
    "void f(double &b) { b += 1; }": "f(±b: double) -> ±b: double",
    "template <typename T> T f(T a, T *o) { *o = a; return a; }": "f(a: T) -> result: T, o: T*",
    "namespace q { double f(double x) { return x; } }": "f(x: double) -> result: double",
    "std::complex<double> f(std::complex<double> z) { return z; }": (
        "f(z: std::complex<double>) -> result: std::complex<double>"
    ),
}


@pytest.mark.parametrize("text", CPLUS)
def test_cplus_parameters_find_their_roles(text: str) -> None:
    assert only(text, cplus=True) == CPLUS[text]


PLAIN: dict[str, str] = {
    "struct p { double x; }; double f(struct p a) { return a.x; }": "'a' is a struct",
    "typedef struct { double x; } pt; typedef pt q; double f(q a) { return a.x; }": "'a' is a struct",
    "typedef struct { double x; } pt; pt f(double x) { pt p = {x}; return p; }": "its result is a struct",
    "struct p; double f(struct p *a) { return 1; }": "'a' is a struct",
    "union u { int i; }; double f(union u a) { return 1; }": "'a' is a union",
    "double f(double x, ...) { return x; }": "takes a variable number of arguments",
    "double f(double (*g)(double)) { return g(1); }": "'g' is a pointer to a function",
    "typedef double (*fn)(double); double f(fn g, double x) { return g(x); }": "'g' is a pointer to a function",
    "int f(char *s) { return *s; }": "'s' is a string",
    "int f(const char *) { return 1; }": "parameter 1 is a string",
    "double f(void *p) { return 1; }": "'p' is a pointer to void",
    "double f(double **p) { return **p; }": "'p' is a pointer to pointers",
    "double f(double *p[3]) { return *p[0]; }": "'p' is a pointer to pointers",
    "double *f(double x) { return 0; }": "returns a pointer",
    "typedef double *dp; dp f(double x) { return 0; }": "returns a pointer",
    "void f(double x) {}": "has no output: it returns void and has no pointer to write to",
    "double f(const double *x) { return *x; }": "pointer 'x' to const is an array of unknown length",
    "void f(double *x) { x[1] = 2; }": "pointer 'x' is used as an array",
    "void f(double x, double (*y)[3]) { y[0][0] = x; }": "pointer 'y' is used as an array",
    "double f(double x[n]) { return x[0]; }": "'x[n]' has a size that no integer parameter gives",
    "double f(double n, double x[n]) { return x[0]; }": "'x[n]' has a size that no integer parameter gives",
    "void f(int n, double o[n], double y) { o[0] = y; }": "no input determines the size n of 'o'",
    "double f(int n, double x[2*n]) { return x[0]; }": "'x[2*n]' has a size that no integer parameter gives",
    "__int128 f(int x) { return x; }": "its result has type __int128, which NumPy does not support",
    "double f(_Decimal64 x) { return 1; }": "'x' has type _Decimal64, which NumPy does not support",
    "double f(FILE *x) { return 1; }": "'x' has type FILE, which NumPy does not support",
}


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_ufunc_stays_plain_and_says_why(text: str) -> None:
    signatures, (plain,) = planned(text)
    assert (signatures, plain.name, plain.reason) == ((), "f", PLAIN[text])
    assert plain.remedy.endswith(".")


LAYOUTS: dict[str, str] = {
    "void bsort(int *arr, int n) { for (int i = 0; i < n - 1; i++) for (int j = 0; j < n - i - 1; j++)\n"
    "    if (arr[j] > arr[j + 1]) { int t = arr[j]; arr[j] = arr[j + 1]; arr[j + 1] = t; } }": "(n)->(n)",
    "double area(float (*pts)[3], int n) { double s = 0; for (int i = 0; i < n; i++) s += pts[i][0] * pts[n-1-i][1];\n"
    "    return s; }": "(n,3)->()",
    "int search(int *arr, int l, int r, int x) { while (l <= r) { int m = l + (r - l) / 2; if (arr[m] == x) return m;\n"
    "    if (arr[m] < x) l = m + 1; else r = m - 1; } return -1; }": "(n),(),(),()->()",
    "void sift(int a[], int n, int i) { int l = 2 * i; if (l < n && a[l] > a[i]) { a[i] = a[l]; sift(a, n, l); } }": (
        "(n),()->(n)"
    ),
    "void ones(double *y, int n) { double *e = y + n; while (y < e) *y++ = 1; }": "()->(n)",
    "unsigned crc(const unsigned char *data, size_t length, unsigned seed) {\n"
    "    while (length--) seed = seed * 31 + *data++; return seed; }": "(length),()->()",
    "int longest(int *arr, unsigned *best, long total) { *best = 0;\n"
    "    for (long i = 0; i + 1 < total; i++) if (arr[i] < arr[i + 1]) ++*best; return 1; }": "(total)->(),()",
    "void transposed(const double *a, double *b, int rows, int cols) {\n"
    "    for (int i = 0; i < rows; i++) for (int j = 0; j < cols; j++) b[j*rows + i] = a[i*cols + j]; }": (
        "(rows,cols)->(cols,rows)"
    ),
    "/* i = 0; i < k */ double at(double *x, int k) { return x[k]; }": "(n),()->()",
    "double sum(double *x, int k) { double s = 0; int i; for (i = 0; i <= k - 1; ++i) s += x[k - 1 - i]; return s; }": (
        "(k)->()"
    ),
    "typedef unsigned u; int most(u *x, u num) { u m = 0; while (num-- > 1) m += x[num] > x[num - 1]; return m; }": (
        "(num)->()"
    ),
    "double f(int n, float *x, double a) { for (int i = 0, j = n-1; i < n; j = i++) a += x[i] - x[j]; return a; }": (
        "(n),()->()"
    ),
    "void f(char unsigned *x, char unsigned *y, int h, int w)\n"
    "{ for (int i = 0; i < h; i++) for (int j = 0; j < w; j++) y[i * w + j] = 255 - x[w*i+j]; }": "(h,w)->(h,w)",
    "double f(const double *a, const double *b, double *c, int m, int k, int n) {\n"
    "    for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) { c[i*n + j] = 0;\n"
    "        for (int l = 0; l < k; l++) c[i*n + j] += a[i*k + l] * b[l*n + j]; } return 0; }": "(m,k),(k,n)->(),(m,n)",
}


SEVERAL_LENGTHS: dict[str, str] = {
    "void spline(const double *x, const double *y, const double *y2, int n, const double *q, double *out, int m) {\n"
    "    for (int j = 0; j < m; j++) { int lo = 0, hi = n - 1;\n"
    "        while (hi - lo > 1) { int k = (hi + lo) / 2; if (x[k] > q[j]) hi = k; else lo = k; }\n"
    "        double b = (q[j] - x[lo]) / (x[hi] - x[lo]); out[j] = y[lo] * (1 - b) + y[hi] * b + y2[lo]*y2[hi]; } }": (
        "(n),(n),(n),(m)->(m)"
    ),
    "void csr(int n, const int *ptr, const int *col, const double *val, const double *x, double *y) {\n"
    "    for (int i = 0; i < n; i++) { y[i] = 0;\n"
    "        for (int k = ptr[i]; k < ptr[i + 1]; k++) y[i] += val[k] * x[col[k]]; } }": "(),(m),(k),(k),(p)->(n)",
    "void conv(const double *x, int n, const double *h, int m, double *y) { for (int i = 0; i < n + m - 1; i++) {\n"
    "    y[i] = 0; for (int j = 0; j < m; j++) if (i - j >= 0 && i - j < n) y[i] += h[j] * x[i - j]; } }": (
        "(n),(m)->(n+m-1)"
    ),
    "void gather(const double *v, const int *p, double *o, int n) { for (int i = 0; i < n; i++) o[i] = v[p[i]]; }": (
        "(m),(n)->(n)"
    ),
    "void add(const double *v, const int *p, double *o, int n) { for (int i = 0; i < n; i++) o[p[i]] += v[i]; }": (
        "(n),(n),(m)->(m)"
    ),
    "void bubble(long *v, unsigned count) { for (unsigned i = 0; i + 1 < count; i++)\n"
    "    for (unsigned j = 0; j + 1 < count - i; j++) if (v[j] > v[j+1]) v[j] = v[j+1]; }": "(count)->(count)",
    "void hist(const double *x, int n, int *h, int bins) { for (int i = 0; i < bins; i++) h[i] = 0;\n"
    "    for (int i = 0; i < n; i++) h[(int)(x[i] * bins)]++; }": "(n),()->(bins)",
    "void sums(const double *x, double *s, int n) { s[0] = 0; for (int i = 0; i < n; i++) s[i + 1] = s[i] + x[i]; }": (
        "(n)->(n+1)"
    ),
    "void half(const double *x, double *y, int n) { for (int i = 0; i < n / 2; i++) y[i] = x[2 * i]; }": (
        "(m),()->(n//2)"
    ),
    "double poly(const double *c, int deg, double x) {\n"
    "    double r = c[deg]; for (int i = deg - 1; i >= 0; i--) r = r * x + c[i]; return r; }": "(n),(),()->()",
    "void radii(const float *p, int n, float *r) { for (int i = 0; i < n; i++) r[i] = p[3*i] * p[3*i + 2]; }": (
        "(n,3)->(n)"
    ),
    "void cross(const double *a, const double *b, double *c) {\n"
    "    c[0] = a[1]*b[2] - a[2]*b[1]; c[1] = a[2]*b[0] - a[0]*b[2]; c[2] = a[0]*b[1] - a[1]*b[0]; }": "(3),(3)->(3)",
    "int ones(unsigned char *p, int bits) {\n"
    "    int c = 0; for (int i = 0; i < bits; i++) c += p[i >> 3] >> (i & 7) & 1; return c; }": "(n),()->()",
    "void window(const double *x, int n, int w, double *out) { for (int i = 0; i < n - w + 1; i++) {\n"
    "    out[i] = 0; for (int j = 0; j < w; j++) out[i] += x[i + j]; } }": "(m),(),()->(n-w+1)",
}


@pytest.mark.parametrize("text", [*LAYOUTS, *SEVERAL_LENGTHS])
def test_the_layout_that_is_proposed_is_that_of_the_loops(text: str) -> None:
    _, (plain,) = planned(text)
    layout = (LAYOUTS | SEVERAL_LENGTHS)[text]
    assert plain.remedy.endswith(f"for example // ufunc: {layout}.")
    (signature,), _ = planned(text, signature=layout)
    assert (signature.nin, signature.nout) == tuple(side.count("(") for side in layout.split("->"))


def test_a_pointer_for_a_function_that_is_only_declared_may_be_an_array() -> None:
    text = "void lib_sort(double *, int); void ordered(double *x, int n) { lib_sort(x, n); }"
    _, (plain,) = planned(text)
    assert "only declared" in plain.reason
    assert plain.remedy.endswith("// ufunc: (n)->(n).")
    (signature,), _ = planned(text, signature="(n)->(n)")
    assert [operand.role for operand in signature.inputs] == ["inout"]
    for single in (
        "double lib_modf(double, double *); double f(double x, double *whole) { return lib_modf(x, whole); }",
        "int lib_cal(int, int, double *); int f(int year, int month, double *d) { return lib_cal(year, month, d); }",
        "void lib_get(double *, int); void f(double *x, int n) { lib_get(x, 3); *x += n; }",
    ):
        assert planned(single)[0]


def test_an_array_without_size_for_a_function_that_is_only_declared_is_no_single_element() -> None:
    declared = "double lib_sum(int, double *);"
    _, (plain,) = planned(f"{declared} double f(int order, double x[]) {{ return lib_sum(order, x); }}")
    assert plain.reason.startswith("pointer 'x' is used as an array")
    assert planned(f"{declared} double f(int order, double *x) {{ return lib_sum(order, x); }}")[0]
    (single,), _ = planned("static double first(double x[]) { return x[0]; } double f(double x[]) { return first(x); }")
    assert [operand.core for operand in single.inputs] == [()]


NO_ARRAYS = {
    "void thin(const double *x, int n, int k, double *o) { for (int i = 0; i < n / k; i++) o[i] = x[i * k]; }": "is an",
    "void odd(const double *x, int in, double *o) { for (int i = 0; i < 2 * in; i++) o[i] = x[i]; }": "pointer",
    "void give_back(double *x) { free(x); }": "is freed",
    "static double *table; void keep(double *x, int n) { for (int i = 0; i < n; i++) x[i] = 0; table = x; }": "is kept",
    "struct s { double *x; }; static struct s t; void keep(double *x) { t.x = x + 1; x[1] = 2; }": "is kept",
    "static double *t; static void set(double *p) { t = p; } void keep(double *x) { set(x); x[1] = 2; }": "is kept",
    "struct s { int i; }; void f(unsigned char *p) { struct s *s = (struct s *)p; s->i = 2; p[7] = 1; }": "is cast",
    "void f(float *p, int n) { double *q = (double *)p; for (int i = 0; i < n; i++) q[i] = 1; }": "is cast",
    "void pairs(const double *x, int n, double *o) {\n"
    "    for (int i = 0, k = 0; i < n; i++) for (int j = i + 1; j < n; j++) o[k++] = x[i] - x[j]; }": "pointer 'x'",
    "void merge(int *a, int na, int *b, int nb, int *out) { int i = 0, j = 0;\n"
    "    while (i < na || j < nb) *out++ = j == nb || (i < na && a[i] < b[j]) ? a[i++] : b[j++]; }": "is used as",
}


@pytest.mark.parametrize("text", NO_ARRAYS)
def test_no_layout_is_proposed_where_none_is_known(text: str) -> None:
    _, (plain,) = planned(text)
    assert NO_ARRAYS[text] in plain.reason
    assert "example" not in plain.remedy


def test_cplus_classes_stay_plain() -> None:
    text = """
    class P {};
    double a(P p) {} double b(std::map<int, double> &v) {} double c(std::any s) {}
    """
    signatures, plains = planned(text, cplus=True)
    assert signatures == ()
    assert [p.reason for p in plains] == [
        "'p' is a struct",
        "'v' is a std::map<int, double>, which is not a number",
        "'s' is a std::any, which is not a number",
    ]


@pytest.mark.parametrize(
    ("text", "example"),
    [
        ("double f(const double *x, const double *y, int n) { return x[n - 1] - y[n - 1]; }", "(n),(n)->()"),
        ("void f(double a, const double *x, double *out, size_t len) { out[len - 1] = a; }", "(),(len)->(len)"),
        ("void f(double *x) { x[1] += 1; }", "(2)->(2)"),
        ("void f(const double *x, double o[3]) { o[0] = x[0]; }", "()->(3)"),
        ("void f(double a, int n, double *y) { for (int i = 0; i < n; i++) y[i] = a * i; }", "(),()->(n)"),
    ],
)
def test_the_remedy_for_a_bare_pointer_is_a_comment_that_works(text: str, example: str) -> None:
    _, (plain,) = planned(text)
    assert f"// ufunc: {example}" in plain.remedy.replace(" above it", "").removesuffix(".")
    signatures, plains = planned(f"// ufunc: {example}\n{text}")
    assert (len(signatures), plains) == (1, ())


def test_static_functions_and_main_are_not_offered() -> None:
    assert planned("static double f(double x) { return x; } int main(int a) { return a; }") == ((), ())


def test_gsw_style_optional_outputs_are_outputs() -> None:
    text = """
    void gsw_rho_alpha_beta(double sa, double ct, double p, double *rho, double *alpha, double *beta)
    {
        double v = sa + ct + p;
        if (rho != NULL) *rho = 1.0 / v;
        if (alpha != NULL)
            *alpha = v;
        if (beta) { *beta = -v; }
    }
    """
    assert only(text) == (
        "gsw_rho_alpha_beta(sa: double, ct: double, p: double) -> rho: double*, alpha: double*, beta: double*"
    )


def test_read_before_written_is_told_in_a_note() -> None:
    (signature,), _ = planned("void f(double *x, double s[2]) { *x += 1; s[0] = s[1]; }")
    assert signature.notes == (
        "'x' is read before it is written, so it is both an input and an output.",
        "'s' is read before it is written, so it is both an input and an output.",
    )
    assert (signature.nin, signature.nout) == (2, 2)


# -- core signatures and identities


def test_core_is_spelled_as_numpy_spells_it() -> None:
    (signature,), _ = planned(
        "// ufunc: ( m , n ),(n)  -> ( m )\nvoid f(double *a, double *b, double *c) { c[1] = 1; }"
    )
    assert signature.core == "(m,n),(n)->(m)"
    (signature,), _ = planned("double f(double c[3], double x) { return c[0]; }")
    assert signature.core == "(3),()->()"
    (signature,), _ = planned("double f(double x) { return x; }")
    assert signature.core == ""


@pytest.mark.parametrize(("word", "value"), annotation.IDENTITIES.items())
def test_identity_comes_from_the_comment(word: str, value: object) -> None:
    (signature,), _ = planned(f"// ufunc: identity={word}\ndouble f(double a, double b) {{ return a + b; }}")
    assert signature.identity == value


def test_identity_option_serves_binary_functions_and_a_comment_wins() -> None:
    text = """
    double f(double a, double b) { return a * b; }
    double g(double a) { return a; }
    // ufunc: identity=0
    double h(double a, double b) { return a + b; }
    // ufunc: identity=none
    double k(double a, double b) { return a - b; }
    void m(double a, double b, double *c, double *d) { *c = *d = a; }
    """
    signatures, _ = planned(text, identity="1")
    assert {s.name: s.identity for s in signatures} == {"f": 1, "g": None, "h": 0, "k": None, "m": None}


def test_signature_option_is_the_comment_of_the_only_function() -> None:
    text = "static int g(int a) { return a; }\ndouble f(double *x, int n) { return x[g(n)]; }"
    assert only(text, signature="(n)->()") == "f(x: double*[n]) -> result: double; 1 gets n"
    commented = "// ufunc: (3),()->()\ndouble f(double *x, int n) { return x[n]; }"
    assert only(commented, signature="(n)->()") == "f(x: double*[3], n: int) -> result: double"


def test_signature_option_with_several_functions_is_refused() -> None:
    with pytest.raises(SignatureError, match=r"several: f, g\."):
        planned("int f(int a) { return a; } int g(int a) { return a; }", signature="(n)->()")


# -- errors

DOT = "double dot(const double *x, const double *y, int n) { return 1; }"
REFUSED: dict[str, tuple[str, str]] = {
    f"// ufunc: (n)->()\n{DOT}": (
        "dot (line 2): 'ufunc: (n)->()' has 1 inputs and 1 outputs; the function seems to have inputs: x, y; "
        "outputs: the return value.",
        "Write one group for each operand, for example // ufunc: (n),(n)->(). An integer parameter receives the "
        "size of a dimension with the same name.",
    ),
    f"// ufunc: (m),(m)->()\n{DOT}": ("has 2 inputs and 1 outputs; the function seems to have inputs: x, y, n;", "(n)"),
    f"// ufunc: (n),(n)->(n)\n{DOT}": ("gives the return value core dimensions", "()"),
    f"// ufunc: (n),(n)->(),(n)\n{DOT}": ("has 2 inputs and 2 outputs", ""),
    "// ufunc: (n)->(k)\nvoid f(double *x, int n, double *o) { o[1] = x[1]; }": (
        "gives the outputs a size k that no input has, and no integer parameter", "int k",
    ),
    "// ufunc: (n)->(n+k)\nvoid f(double *x, int n, double k, double *o) { o[1] = x[1]; }": (
        "the core dimension 'n+k', but k is no dimension of an input and no integer", "integer parameters",
    ),
    "// ufunc: (n),(n)->()\ndouble f(double *x, double a) { return x[1]; }": (
        "gives 'a' the dimensions (n), but it is a single value", "Write () for it, or declare it as a pointer.",
    ),
    "// ufunc: (n)->()\ndouble f(const double x[3]) { return 1; }": ("gives 'x[3]' the dimensions (n)", "Write (3)"),
    "// ufunc: (4)->()\ndouble f(const double x[3]) { return 1; }": ("gives 'x[3]' the dimensions (4)", "Write (3)"),
    "// ufunc: ()->()\ndouble f(const double x[3]) { return 1; }": ("gives 'x[3]' the dimensions ()", "Write (3)"),
    "// ufunc: (n,4)->()\ndouble f(const double x[][3]) { return 1; }": (
        "gives 'x[][3]' the dimensions (n,4)", "(n,3)",
    ),
    "// ufunc: (n)->(m)\nvoid f(double *x, int n) { x[1] += 1; }": ("gives the outputs a size m", ""),
    "// ufunc: (n)->(3)\nvoid f(double *x, int n) { x[1] += 1; }": (
        "gives 'x', which is both input and output, two layouts: (n) and (3)", "same dimensions",
    ),
    f"// ufunc: inout=z\n{DOT}": ("inout=z is not a parameter", ""),
    "// ufunc: inout=x\nvoid f(double x, double *y) { *y = x; }": (
        "inout=x is not a writable pointer", "Possible names: y.",
    ),
    "// ufunc: identity=0\ndouble f(double x) { return x; }": (
        "identity=0 needs 2 inputs and 1 output, but the function has 1 and 1", "Remove identity=",
    ),
    "// ufunc: (n)->()\ndouble f(struct s *x, int n) { return 1; }": ("f (line 2): 'x' is a struct.", ""),
    f"// ufunc: identiy=0\n{DOT}": ("has 'identiy=0', which is neither a signature nor one of identity=", ""),
    f"// ufunc: identity=7\n{DOT}": ("has identity=7", "0, 1, -1, reorderable, none"),
    f"// ufunc: name=if\n{DOT}": ("has name=if, which Python cannot use as a name", ""),
    f"// ufunc: ->()\n{DOT}": ("has no inputs", ""),
    f"// ufunc: (n->()\n{DOT}": ("does not close the parenthesis of '(n'", "Write (n)."),
    f"// ufunc: (n),(n->() name=dot\n{DOT}": ("does not close the parenthesis of '(n'", "Write (n)."),
    f"// ufunc: (n)->(n-1 name=dot\n{DOT}": ("does not close the parenthesis of '(n-1'", "Write (n-1)."),
    f"// ufunc: n)->()\n{DOT}": ("has an unbalanced parenthesis", ""),
    f"// ufunc: (n?),(n)->()\n{DOT}": ("has n as well as n?", "Write n?"),
    f"// ufunc: (3?),(3?)->()\n{DOT}": ("has the core dimension '3?'", ""),
    f"// ufunc: (n|2),(n)->()\n{DOT}": ("has the core dimension 'n|2'", "(n|1)"),
    f"// ufunc: (n?|1),(n)->()\n{DOT}": ("has the core dimension 'n?|1'", "(m?,n)"),
    f"// ufunc: (n)->(n|1)\n{DOT}": ("has the core dimension 'n|1'", ""),
    f"// ufunc: (n)->((n+1)\n{DOT}": ("has an unbalanced parenthesis", ""),
    f"// ufunc: (n)->((n+1)/2)\n{DOT}": ("has the core dimension '(n+1)/2'", "//"),
    f"// ufunc: (0),(n)->()\n{DOT}": ("has the core dimension '0'", ""),
    f"// ufunc: (n),(n)\n{DOT}": ("which is neither a signature nor one of", ""),
    f"// ufunc: the dot product\n{DOT}": ("has 'the', which is neither", "// ufunc: (n),(n)->()"),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_an_annotation_that_cannot_be_met_is_refused(text: str) -> None:
    with pytest.raises(SignatureError) as caught:
        planned(text)
    fault, remedy = REFUSED[text]
    assert fault in caught.value.message
    assert remedy in caught.value.remedy
    assert caught.value.remedy.endswith((".", "?"))


def test_more_operands_than_numpy_allows_stay_plain() -> None:
    fits = f"double f({', '.join(f'double a{i}' for i in range(MAX_OPERANDS - 1))}) {{ return 1; }}"
    (signature,), _ = planned(fits)
    assert signature.nin + signature.nout == MAX_OPERANDS
    text = fits.replace("(double a0", "(double more, double a0")
    assert planned(text)[1][0].reason == f"has {MAX_OPERANDS + 1} operands, but NumPy's limit is {MAX_OPERANDS}"
    with pytest.raises(SignatureError, match="NumPy's limit is 64"):
        planned(f"// ufunc: {','.join(['()'] * MAX_OPERANDS)}->()\n{text}")


# -- several functions of one name


def test_overloads_are_loops_of_one_name() -> None:
    text = "double f(double x) { return x; } float f(float x) { return x; } double f(double x, double y) { return x; }"
    signatures, (plain,) = planned(text, cplus=True)
    assert [shown(s) for s in signatures] == ["f(x: double) -> result: double", "f(x: float) -> result: float"]
    assert CellPlace().replace_marks(plain.reason) == "has other inputs, outputs or core dimensions than f on line 1"
    assert plain.remedy == "Give it a different name: // ufunc: name=f2."


def test_c_functions_become_loops_of_the_name_they_share() -> None:
    text = "// ufunc: name=f\nfloat ff(float x) { return x; }\n// ufunc: name=f\ndouble fd(double x) { return x; }"
    assert [(s.name, s.function.name) for s in planned(text)[0]] == [("f", "ff"), ("f", "fd")]


def test_a_second_function_of_the_same_types_and_name_stays_plain() -> None:
    text = "namespace a { double f(double x) { return x; } } namespace b { double f(double x) { return -x; } }"
    (signature,), (plain,) = planned(text, cplus=True)
    assert signature.function.scope == ("a",)
    assert CellPlace().replace_marks(plain.reason) == "has the same parameters as f on line 1"


# -- the annotation's own grammar

CORES = st.lists(st.one_of(st.sampled_from(["m", "n", "p_1"]), st.integers(1, 9)), max_size=3).map(tuple)


@given(st.lists(CORES, min_size=1, max_size=3), st.lists(CORES, min_size=1, max_size=3))
def test_signatures_survive_being_written_and_read(inputs: list[Any], outputs: list[Any]) -> None:
    sides = [",".join(f"({','.join(map(str, core))})" for core in cores) for cores in (inputs, outputs)]
    said = annotation.read(f"{sides[0]} -> {sides[1]} name=f types=f4,f8 inout=a, b", of="f")
    assert (said.inputs, said.outputs) == (tuple(inputs), tuple(outputs))
    assert (said.name, said.types, said.inout) == ("f", "f4,f8", ("a", "b"))
    assert said.write_core(inputs, outputs) in ("", "->".join(sides))


def test_marks_of_core_dimensions_are_read_and_written() -> None:
    text = "(m?,n),(n,p?)->(m?,p?,n*(n-1)//2)"
    said = annotation.read(text, of="f")
    assert (said.inputs, said.outputs) == ((("m", "n"), ("n", "p")), (("m", "p", "n*(n-1)//2"),))
    assert said.optional == {"m", "p"}
    assert said.write_core(said.inputs or (), said.outputs or ()) == text
    said = annotation.read("( n | 1 ),(n,m|1)->((n + 1)*( m-1 ))", of="f")
    assert said.broadcast == ({"n"}, {"m"})
    assert said.write_core(said.inputs or (), said.outputs or ()) == "(n|1),(n,m|1)->((n+1)*(m-1))"


def test_numpy_accepts_the_core_text() -> None:
    said = annotation.read("(m,n),(3),()->(m),()", of="f")
    assert said.inputs is not None
    assert said.outputs is not None
    function = np.vectorize(lambda a, b, c: (a[:, 0], c), signature=said.write_core(said.inputs, said.outputs))
    assert [x.shape for x in function(np.ones((2, 4)), np.ones(3), 1.0)] == [(2,), ()]


@settings(deadline=None)
@given(st.text(alphabet="()mn3,->= identityonua?x|1*/+", max_size=40))
def test_any_annotation_is_read_or_refused(text: str) -> None:
    refused = None
    try:
        signatures, plains = planned(f"// ufunc: {text}\n{DOT}")
    except SignatureError as error:
        refused = error.message
    if refused is None:
        assert len(signatures) + len(plains) == 1
    else:
        assert refused.startswith("dot (line 2): ")


def test_a_function_without_parameters_passes_an_index() -> None:
    text = "static const int t[] = {1, 2};\nstatic int at(int i) { return t[i]; }\nint last(void) { return at(1); }\n"
    assert only(text) == "last() -> result: int"


def test_memory_that_a_function_gives_back_is_no_element() -> None:
    signatures, plains = planned(
        "#include <stdlib.h>\ntypedef struct { int n; double v[2]; } S;\nstatic void give(S *s) { free(s); }\n"
        "void s_free(S *s) { if (s) give(s); }\nint n_free(double *p) { free(p); return 0; }\n"
        "double twice(double x) { double *p = malloc(8); *p = x; x += *p; free(p); return x; }\n"
    )
    assert [s.name for s in signatures] == ["twice"]
    assert {p.function.name for p in plains} == {"s_free", "n_free"}


def test_a_c_cell_is_told_nothing_of_overloads(shared_cache_folder: Path) -> None:
    source = "T dot(T a, T b) { return a * b; }"
    assert not any("ambiguous" in note for note in compile_in(shared_cache_folder, source, types="f4,f8").notes)
