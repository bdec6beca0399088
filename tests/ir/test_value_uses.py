"""How functions use the values that they get: indices of which arrays, and arrays that must be in order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ufunc_magic.ir import FunctionIR, find_value_uses
from ufunc_magic.languages.c import lower, parse_cell
from ufunc_magic.model import ValueUse

#: Function -> what is expected of its parameters; "n" and "m" are left out.
CELL = r"""
#include <assert.h>
#include <math.h>
#include <stdlib.h>
static double at(const double *a, int i) { return a[i]; } // i: a[]
static const int table[12] = {31, 28};
int days(int month) { return table[month - 1]; } // month: 12 -1
void inv(const int *p, int n, int *o) { for (int i = 0; i < n; i++) o[p[i]] = i; } // p: o[]
void far(const int *p, int n, int *o) { int k = p[0]; while (k < n) { const int j = k; o[j] = 1; k = n; } }
// p: o[]
void hist(const double *x, int n, int m, double *h) { for (int i = 0; i < n; i++) h[(int)floor(x[i])] += 1; }
// x: h[]
void through(const double *a, const int *p, int n, double *o) {
  for (int i = 0; i < n; i++) o[i] = at(a, p[i]); }
// p: a[]
void rows(const double *a, const int *p, int n, int m, double *o) {
  for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) o[i * m + j] = a[p[i] * m + j]; }
// p: a[] mixed row
void cols(const double *a, const int *p, int n, int m, double *o) {
  for (int i = 0; i < n; i++) o[i] = a[i * m + p[i]]; } // p: a[] mixed
double mesh(const double (*v)[3], const int *f, int n) { double s = 0;
  for (int i = 0; i < n; i++) for (int k = 0; k < 3; k++) s += v[f[3 * i + k]][k]; return s; }
// f: v[]
double flat(const double *v, const int *f, int n) { double s = 0;
  for (int i = 0; i < n; i++) for (int k = 0; k < 3; k++) s += v[3 * f[i] + k]; return s; }
// f: v[] *3 mixed
void part(const double *x, int n, int k, double *o) {
  const double *r = x + k * n; for (int j = 0; j < n; j++) o[j] = r[j]; }
// k: x[] mixed row
int cycle(const int *p, int n) { int *seen = calloc(n, sizeof *seen), j = 0;
  while (!seen[j]) { seen[j] = 1; j = p[j]; } free(seen); return j; } // p: n, p[]
void csr(const int *ptr, const int *col, const double *v, const double *x, int n, double *y) {
  for (int i = 0; i < n; i++) for (int k = ptr[i]; k < ptr[i + 1]; k++) y[i] += v[k] * x[col[k]]; }
// ptr: col[], v[] rising; col: x[]
double interp(const double *x, const double *y, int n, const double *q, int m, double *o) {
  for (int k = 0; k < m; k++) {
  int i = 0; while (i < n - 2 && q[k] > x[i + 1]) i++; o[k] = y[i]; } return 0; }
// x: rising; q: in x
int bisect(const double *x, int n, double q) { int lo = 0, hi = n;
  while (lo < hi) { int mid = lo + (hi - lo) / 2; if (x[mid] < q) lo = mid + 1; else hi = mid; } return lo; }
// x: rising; q: in x
int scan(const float *x, int n, float q) { int i; for (i = 0; i < n; i++) if (x[i] >= q) break; return i; }
// x: rising; q: in x
void checked(const int *x, int n, int *o) {
  for (int i = 1; i < n; i++) { assert(x[i - 1] < x[i]); o[i] = x[i]; } }
// x: rising
void slope(const double *x, const double *y, int n, double *o) {
  for (int i = 0; i < n - 1; i++) { double h = x[i + 1] - x[i]; o[i] = (y[i + 1] - y[i]) / h; } }
// x: rising
void sorts(double *a, int n) { for (int i = 1; i < n; i++) { double k = a[i]; int j = i - 1;
  while (j >= 0 && a[j] > k) { a[j + 1] = a[j]; j--; } a[j + 1] = k; } } //
int peaks(const double *x, int n) {
  int c = 0; for (int i = 1; i < n - 1; i++) if (x[i] > x[i - 1] && x[i] > x[i + 1]) c++; return c; }
//
double masked(const double *t, const int *x, int n) {
  double s = 0; for (int i = 0; i < n; i++) s += t[x[i] & 7] + t[x[i] % 3]; return s; }
//
int below(const double *x, const double *y, int n) {
  for (int i = 0; i < n; i++) if (x[i] >= y[i]) return 0; return 1; } //
int merge(const int *a, int n, const int *b, int m, int *o) { int i = 0, j = 0, k = 0;
  while (i < n && j < m) { while (i < n && a[i] <= b[j]) o[k++] = a[i++]; o[k++] = b[j++]; } return k; }
// a: rising; b: in a
double best(const double *x, int n) {
  double b = x[0]; for (int i = 1; i < n; i++) if (x[i] > b) b = x[i]; return b; }
//
"""


def _words(function: FunctionIR, uses: tuple[ValueUse, ...]) -> Iterator[str]:
    """The uses of the parameters, as the comments in the cell have them."""
    names = [p.name for p in function.parameters]
    for name, use in zip(names, uses, strict=True):
        places = []
        for index in use.indexes:
            array = str(index.length) if index.parameter < 0 else names[index.parameter]
            places.append(array + "[]" * (index.parameter >= 0 and index.axis >= 0))
            places[-1] += f" {index.shift}" * bool(index.shift) + f" *{index.scale}" * (index.scale > 1)
            places[-1] += " mixed" * index.mixed + " row" * index.row
        word = ", ".join(sorted(places)) + " rising" * use.rising + "".join(f" in {names[k]}" for k in use.within)
        if word and name not in ("n", "m"):
            yield f"{name}: {word.strip()}"


_FUNCTIONS = [f for several in lower(parse_cell(CELL)[1]).functions.values() for f in several]
_USES = dict(zip((f.name for f in _FUNCTIONS), find_value_uses(_FUNCTIONS), strict=True))


@pytest.mark.parametrize("function", _FUNCTIONS, ids=lambda f: f.name)
def test_uses_are_those_of_the_comment(function: FunctionIR) -> None:
    start = CELL.encode()[function.at.start :].decode()
    expected = start.partition("//")[2].partition("\n")[0].strip()
    assert "; ".join(_words(function, _USES[function.name])) == expected
