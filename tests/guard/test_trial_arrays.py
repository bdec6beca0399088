"""A trial puts into arrays: rising numbers, indices of the arrays that they are used for, the user's own values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import ufunc_magic as um
from support import compile_in, run_cell
from ufunc_magic.guard import is_available
from ufunc_magic.model import OperandUse, ReportData

pytestmark = [
    pytest.mark.usefixtures("shared_cache"),
    pytest.mark.skipif(not is_available(), reason="the guard needs fork() and socket.send_fds()"),
]

#: Functions that work on rising, distinct or fitting values only.
ARRAYS = """\
#include <assert.h>
#include <stdlib.h>
static double at(const double *a, int i) { return a[i]; }
// ufunc: (n),(n),(m)->(m)
void interp(const double *x, const double *y, int n, const double *q, int m, double *o) {
  for (int i = 0; i + 1 < n; i++) assert(x[i] < x[i + 1]);
  for (int k = 0; k < m; k++) {
    int i = 0;
    while (i < n - 2 && q[k] > x[i + 1]) i++;
    o[k] = y[i] + (y[i + 1] - y[i]) * (q[k] - x[i]) / (x[i + 1] - x[i]);
  }
}
// ufunc: (n),()->()
int bracket(const double *x, int n, double q) { int i = 0; while (!(x[i] <= q && q < x[i + 1])) i++; return i; }
// ufunc: (n),()->()
int locate(const int *x, int n, int q) {
  int lo = 0, hi = n - 1;
  if (q < x[lo] || x[hi] <= q) abort();
  while (hi - lo > 1) { int mid = (lo + hi) / 2; if (x[mid] <= q) lo = mid; else hi = mid; }
  return lo;
}
// ufunc: (n)->(n)
void inverse(const int *p, int n, int *o) { for (int i = 0; i < n; i++) o[p[i]] = i; }
// ufunc: (n),(n)->(n)
void scatter(const int *p, const double *v, int n, double *o) { for (int i = 0; i < n; i++) o[p[i]] = v[i]; }
// ufunc: (n),(m)->(m)
void through(const double *a, int n, const int *p, int m, double *o) { for (int i = 0; i < m; i++) o[i] = at(a, p[i]); }
// ufunc: (n),(m)->(m)
void first(const double *a, int n, const short *p, int m, double *o) { for (int i = 0; i < m; i++) o[i] = a[p[i] - 1]; }
// ufunc: (n),(m)->(m)
void count(const int *x, int n, const int *h0, int m, int *h) {
  for (int i = 0; i < m; i++) h[i] = h0[i];
  for (int i = 0; i < n; i++) h[x[i]]++;
}
// ufunc: (n),(m)->(m) inout=h
void tally(const double *x, int n, double *h, int m) { for (int i = 0; i < n; i++) h[(int)x[i]]++; }
// ufunc: (n),(n),(m)->(m)
void group(const int *lab, const double *v, int n, const double *t0, int m, double *t) {
  for (int i = 0; i < m; i++) t[i] = t0[i];
  for (int i = 0; i < n; i++) t[lab[i]] += v[i];
}
// ufunc: (n,m),(k)->(k,m)
void rows(const double *a, const int *p, int n, int m, int k, double *o) {
  for (int i = 0; i < k; i++) for (int j = 0; j < m; j++) o[i * m + j] = a[p[i] * m + j];
}
// ufunc: (n),(m),(m),(k)->(n)
void product(const int *ptr, int n, const int *col, const double *v, int m, const double *x, int k, double *y) {
  for (int i = 0; i < n; i++) y[i] = 0;
  for (int i = 0; i + 1 < n; i++) for (int j = ptr[i]; j < ptr[i + 1]; j++) y[i] += v[j] * x[col[j]];
}
// ufunc: (m),()->()
int root(const int *parent, int m, int x) { while (parent[x] != x) x = parent[x]; return x; }
typedef struct { int *to; } Box;
// ufunc: (n)->(n)
void hidden(const int *p, int n, int *o) { Box box = {o}; for (int i = 0; i < n; i++) box.to[p[i]] = i; }
"""


@pytest.fixture(scope="module")
def built(shared_cache_folder: Path) -> um.Build:
    return compile_in(shared_cache_folder, ARRAYS)


def test_functions_of_indices_and_of_rising_numbers_are_bound(built: um.Build) -> None:
    assert not built.report_data.refused
    i4 = np.int32
    results = {
        "interp": (built.interp([0, 1, 3], [0, 10, 20], [0.5, 2]), [5, 15]),
        "bracket": (built.bracket([0, 1, 2, 3], [0.5, 2.5]), [0, 2]),
        "locate": (built.locate(np.array([1, 4, 9], i4), 5), 1),
        "inverse": (built.inverse(np.array([2, 0, 1], i4)), [1, 2, 0]),
        "scatter": (built.scatter(np.array([2, 0, 1], i4), [1, 2, 3]), [2, 3, 1]),
        "through": (built.through([5, 6], np.array([1, 0], i4)), [6, 5]),
        "first": (built.first([5, 6], np.array([1, 2], np.int16)), [5, 6]),
        "count": (built.count(np.array([0, 2, 2], i4), np.zeros(3, i4)), [1, 0, 2]),
        "tally": (built.tally([0, 2.5, 2], np.zeros(3)), [1, 0, 2]),
        "group": (built.group(np.array([0, 1, 1], i4), [1, 2, 3], [0, 0]), [1, 5]),
        "rows": (built.rows([[0, 1], [2, 3]], np.array([1, 1, 0], i4)), [[2, 3], [2, 3], [0, 1]]),
        "product": (built.product(np.array([0, 1, 2], i4), np.array([1, 0], i4), [2, 3], [10, 100]), [200, 30, 0]),
        "root": (built.root(np.array([0, 0, 1], i4), 2), 0),
        "hidden": (built.hidden(np.array([2, 0, 1], i4)), [1, 2, 0]),
    }
    assert {name: np.array(value).tolist() for name, (value, _) in results.items()} == {
        name: expected for name, (_, expected) in results.items()
    }


def test_an_index_outside_of_its_array_is_a_note(built: um.Build) -> None:
    notes = {note.partition("(")[0]: note for note in built.report_data.all_notes}
    assert "inverse(p) with n=5, arrays filled with -1: writes before the start of o." in notes["inverse"]
    assert notes["inverse"].endswith("may write memory outside its array.")
    assert "lab filled with -1, v and t0 filled with -1.0: writes before the start of t." in notes["group"]
    assert "interp(x, y, q) with n=1, m=1, x=[0.1], y=[0.1], q=[0.3]: reads just past the end of x" in notes["interp"]


def test_uses_are_kept_in_the_cache(built: um.Build) -> None:
    data, functions = built.report_data.to_bytes(), built.loaded.object_code.functions
    assert [f.uses for f in ReportData.from_bytes(data, functions).functions] == [
        f.uses for f in built.report_data.functions
    ]
    assert built.report_data.functions[0].uses[2] == OperandUse(within=0)


def test_tables_use_fitting_values(built: um.Build) -> None:
    report = built.report(time=0.4)
    assert [c.name for c in report.comparisons] == [
        "interp",
        "bracket",
        "locate",
        "inverse",
        *"scatter through first count".split(),
    ]
    assert report.ok
    assert not any("was not timed" in note for note in report.notes)


def test_a_write_at_every_index_is_an_error() -> None:
    with pytest.raises(um.CellCrashed, match="past the end of o"):
        um.compile_c(
            "// ufunc: (n)->(n)\nvoid f(const int *p, int n, int *o) {\n"
            "  for (int i = 0; i < n; i++) o[p[i] + 1] = i;\n  o[n] = 0;\n}"
        )


def test_new_functions_are_tried_on_the_users_data(loaded: InteractiveShell) -> None:
    source = (
        "#include <stdlib.h>\ndouble free_(double x, double y) { return x; }\n"
        "// ufunc: (n),()->()\ndouble only3(const double *x, int n, double q) {\n"
        "  if (n != 3 || x[2] != 4.0 || q != 0.5) abort();\n  return x[1] + q;\n}\n"
    )
    loaded.user_ns["x"] = np.array([0.0, 1, 4])
    assert "only3 is not bound" in str(run_cell(loaded, "c_ufunc", source, "-q"))
    run_cell(loaded, "c_ufunc", source, "-q --data x,0.5")  # although the cell is known
    assert loaded.user_ns["only3"]([0, 1, 4], 0.5) == 1.5
    assert loaded.user_ns["free_"](2.0, 1.0) == 2.0
