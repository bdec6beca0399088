"""`memset`, `memcpy`, `memmove` and `memcmp`: their length says whether a pointer leads to one element or to n."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in
from ufunc_magic.languages.c import parse

CELL = """
#include <string.h>
typedef struct { double x, y; int k; } S;
void clear(S *s) { memset(s, 0, sizeof *s); }
void start(S *s, double x) { memset((void *)s, 0, sizeof(S)); s->x = x; }
void copy(S *d, const S *s) { S t; memcpy(&t, s, sizeof t); t.k += 1; memmove(d, &t, sizeof *d); }
int same(const S *a, const S *b) { return !memcmp(a, b, sizeof *a); }
void set_y(S *s, double y) { memcpy(&s->y, &y, sizeof s->y); }
void bits(double x, unsigned long long *b) { memcpy(b, &x, sizeof x); }
void mirror(double *a, const double *b, size_t n) { memmove(a, b, n * sizeof *b); }
int equal(const int *a, const int *b, int n) { return memcmp(a, b, sizeof(int) * n) == 0; }
"""


def test_a_length_of_one_element_makes_no_array(shared_cache_folder: Path) -> None:
    b = compile_in(shared_cache_folder, CELL)
    assert [(name, f.signature) for name, f in b.items() if f.signature] == [
        ("mirror", "(n)->(n)"),
        ("equal", "(n),(n)->()"),
    ]
    s = np.array((1, 2, 3), um.dtype_of(b.copy))
    assert b.clear().tolist() == (0, 0, 0)
    assert b.start(5).tolist() == (5, 0, 0)
    assert b.copy(s).tolist() == (1, 2, 4)
    assert (b.same(s, s), b.same(s, b.copy(s))) == (1, 0)
    assert b.set_y(s, 7).tolist() == (1, 7, 3)
    assert b.bits(1.0) == 0x3FF0000000000000
    assert b.mirror([1, 2]).tolist() == [1, 2]
    assert b.equal([1, 2], [1, 3]) == 0


@pytest.mark.parametrize(
    "body",
    [
        "memset(p, 0, sizeof p);",
        "memset(p, 0, 2 * sizeof *p);",
        "memset(p, 0, sizeof(T) * 3);",
        "memset(p, 0, 8);",
        "memset(p, 0, sizeof *p); p[n].x = 1;",
        "memset(&p[n], 0, sizeof *p);",
        "memset(p, 0, sizeof q);",
    ],
)
def test_another_length_makes_an_array(body: str) -> None:
    text = f"typedef struct {{ double x, y; }} T; void f(T *p, int n) {{ struct {{ int i; }} q; {body} }}"
    assert parse(text).functions[0].parameters[0].indexed
