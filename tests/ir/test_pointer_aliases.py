"""Local pointers are other names of the parameters that they lead to: what happens to one happens to the other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ufunc_magic.ir import find_effects
from ufunc_magic.languages.c import lower, parse_cell

#: Function -> the accesses of its pointers; a star: it may be more than the first element.
CELL = r"""
static double total(const double *v, int n) { double s = 0; for (int i = 0; i < n; i++) s += v[i]; return s; }
// v: read*
static void fill(double *v, int n) { while (n--) v[n] = n; } // v: write*
static void step(double **p) { ++*p; } // p: none*
double walked(double *x, int n) { double *p = x, *e = x + n, s = 0; while (p < e) s += *p++; return s; } // x: read*
double indexed(double *x, int n) { double *p; p = x; return p[n]; } // x: read*
void set(double *y, int n) { for (double *p = y; p < y + n; p++) *p = 1; } // y: write*
void backwards(double *y, int n) { double *e = y + n; do *--e = n; while (e != y); } // y: write*
void halved(double *x, int n) { double *p = x; while (n--) { *p = *p / 2; p++; } } // x: update*
void copied(double *x, double *y, int n) { double *p = x, *q = y; while (n--) *q++ = *p++; } // x: read*; y: write*
void one(double *x, double *y) { double *p = x, *q = y; *q = *p; } // x: read; y: write
void named_twice(double *x) { double *p = x; double *q = p; *q = 1; } // x: write
double chosen(double *a, double *b, int k) { double *p = k ? a : b; return p[k]; } // a: read*; b: read*
void either(double *a, double *b, int k) { double *p = k ? a : b; *p = 1; } // a: update; b: update
void turns(double *a, double *b) { double *s = a, *d = b, *t; *d = *s; t = s; s = d; d = t; *d = *s; }
// a: update; b: update
double helped(double *x, int n) { double *p = x + 1; return total(p, n - 1); } // x: read*
void helped_to(double *y, int n) { double *p = y; fill(p, n); } // y: write*
void rows(double m[3][4], double s[3]) { for (int i = 0; i < 3; i++) { double *r = m[i]; s[i] = r[0] + r[3]; } }
// m: read*; s: write*
struct point { double x, y; };
double member(struct point *p, int n) { struct point *q = p + n; return q->x; } // p: read*
double moved(double *x) { double *p = x; step(&p); return *p; } // x: write*
"""


def read(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The functions of the cell, with what the comments say of their pointers."""
    name = ""
    for line in text.splitlines():
        head, _, comment = line.partition("//")
        if "(" in head and "{" in head:
            name = head.partition("(")[0].split()[-1].lstrip("*")
        if comment:
            yield name, dict(pair.split(": ") for pair in comment.strip().split("; "))


EXPECTED = dict(read(CELL))


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, str]]:
    _, text = parse_cell(CELL, name="cell")
    functions = [f for overloads in lower(text).functions.values() for f in overloads]
    return {
        f.name: {s.name: e.access + "*" * e.indexed for s, e in effects.pointers.items()}
        for f, effects in zip(functions, find_effects(functions), strict=True)
    }


@pytest.mark.parametrize("name", EXPECTED)
def test_what_happens_to_a_pointer_happens_to_its_parameter(name: str, found: dict[str, dict[str, str]]) -> None:
    assert found[name] == EXPECTED[name]
