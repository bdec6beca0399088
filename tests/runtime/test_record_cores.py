"""Structures together with arrays, and arrays of structures: one operand of a generalized ufunc is a structure."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in
from ufunc_magic.runtime import Build

CELL = """\
typedef struct { double b0, a1, z; } Filter;
void block(Filter *f, const float *in, double *out, int n) {
    for (int i = 0; i < n; i++) { out[i] = f->b0 * in[i] + f->z; f->z = f->a1 * out[i]; }
}
typedef struct { double gain, offset; } Coef;
void apply(Coef c, const double *x, double *y, int n) { for (int i = 0; i < n; i++) y[i] = c.gain * x[i] + c.offset; }
typedef struct { double buf[4]; int pos; } Delay;
void delay(Delay *d, const double *x, double *y, int n) {
    for (int i = 0; i < n; i++) { y[i] = d->buf[d->pos]; d->buf[d->pos] = x[i]; d->pos = (d->pos + 1) % 4; }
}
typedef struct { double slope, offset; } Line;
void fit(const double *x, const double *y, int n, Line *line) {
    double sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int i = 0; i < n; i++) { sx += x[i]; sy += y[i]; sxx += x[i] * x[i]; sxy += x[i] * y[i]; }
    line->slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
    line->offset = (sy - line->slope * sx) / n;
}
typedef struct { double mean; long count; } Stats;
Stats stats(const double *x, int n) {
    Stats s = {0, n};
    for (int i = 0; i < n; i++) s.mean += x[i] / n;
    return s;
}
typedef struct { double x, y; } P;
double perimeter(const P *p, int n) { double s = 0; for (int i = 0; i < n; i++) s += p[i].x + p[i].y; return s; }
// ufunc: (n),()->(n)
void shift(const P *p, P by, P *to, int n) {
    for (int i = 0; i < n; i++) { to[i].x = p[i].x + by.x; to[i].y = p[i].y + by.y; }
}
void set_x(P *p, const double *x, int n) { for (int i = 0; i < n; i++) p[i].x = x[i]; }
void joined(const double *x, const double *y, P *p, int n) {
    for (int i = 0; i < n; i++) { p[i].x = x[i]; p[i].y = y[i]; }
}
double third(const P p[3]) { return p[2].x - p[2].y; }
#pragma pack(push, 1)
typedef struct { char tag; double v; } Packed;
#pragma pack(pop)
void weigh(const Packed *q, const double *x, double *y, int n) {
    for (int i = 0; i < n; i++) y[i] = q->v * x[i] + q->tag;
}
double followed(const Coef *c, const double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i];
    return c->gain == 1234.5 ? *(volatile double *)0 : s;
}
"""


@pytest.fixture(scope="module")
def b(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, CELL)


def test_signatures(b: Build) -> None:
    assert {name: b[name].signature for name in b} == {
        "block": "(),(n)->(),(n)",
        "apply": "(),(n)->(n)",
        "delay": "(),(n)->(),(n)",
        "fit": "(n),(n)->()",
        "stats": "(n)->()",
        "perimeter": "(n)->()",
        "shift": "(n),()->(n)",
        "set_x": "(n),(n)->(n)",
        "joined": "(n),(n)->(n)",
        "third": "(3)->()",
        "weigh": "(),(n)->(n)",
        "followed": "(),(n)->()",
    }


def test_state_goes_on_from_block_to_block(b: Build) -> None:
    f = np.array((1, 0.5, 0), um.dtype_of(b.block))
    impulse = np.array([1, 0, 0, 0, 0, 0], "f4")
    f, first = b.block(f, impulse[:2])
    f, second = b.block(f, impulse[2:])
    assert [*first, *second] == (0.5 ** np.arange(6)).tolist()
    bank = np.zeros(3, um.dtype_of(b.block))
    bank["b0"], bank["a1"] = 1, [0.5, 0.25, 0]
    _, out = b.block(bank, impulse, out=(bank, None))
    assert np.array_equal(out, np.array([0.5, 0.25, 0])[:, None] ** np.arange(6))
    assert bank["z"].tolist() == [0.5**6, 0.25**6, 0]
    d, out = b.delay(np.zeros((), um.dtype_of(b.delay)), np.arange(1.0, 8))
    assert (out.tolist(), int(d["pos"])) == ([0, 0, 0, 0, 1, 2, 3], 3)


def test_values_strides_and_places_of_structures(b: Build) -> None:
    c = np.array([(2, 1), (3, 0)], um.dtype_of(b.apply))
    x = np.arange(12.0).reshape(4, 3)
    expected = c["gain"][:, None] * x[::2] + c["offset"][:, None]
    assert np.array_equal(b.apply(c, x[::2]), expected)
    assert np.array_equal(
        b.apply(c[::-1], x[::2, ::-1]), c["gain"][::-1, None] * x[::2, ::-1] + c["offset"][::-1, None]
    )
    assert np.array_equal(b.apply(c, x[:2].astype(int)), c["gain"][:, None] * x[:2] + c["offset"][:, None])
    unaligned = np.zeros(2, [("tag", "b"), ("c", um.dtype_of(b.apply))])
    unaligned["c"] = c
    assert np.array_equal(b.apply(unaligned["c"], x[::2]), expected)
    assert np.array_equal(b.apply(c.astype([("gain", ">f8"), ("offset", "f4")]), x[::2]), expected)
    with pytest.raises(TypeError, match="casting"):
        b.apply(c.astype([("offset", "f8"), ("gain", "f8")]), x[:2])
    y = x.copy()
    b.apply(c[:1], y, out=y)
    assert np.array_equal(y, 2 * x + 1)
    assert b.apply(c, np.zeros(0)).shape == (2, 0)


def test_structures_as_results_and_arrays_of_them(b: Build) -> None:
    line = b.fit([0.0, 1, 2], [[1.0, 3, 5], [0, 0, 0]])
    assert line.tolist() == [(2.0, 1.0), (0.0, 0.0)]
    assert b.stats(np.arange(6.0).reshape(2, 3)).tolist() == [(1.0, 3), (4.0, 3)]
    p = np.array([(i, 10 * i) for i in range(6)], um.dtype_of(b.perimeter)).reshape(2, 3)
    assert b.perimeter(p).tolist() == [33.0, 132.0]
    assert b.perimeter(p[:, ::2]).tolist() == [22.0, 88.0]
    assert b.third(p[::-1]).tolist() == [-45.0, -18.0]
    moved = b.shift(p, np.array((1, 2), p.dtype))
    assert np.array_equal(moved["x"], p["x"] + 1)
    assert np.array_equal(moved["y"], p["y"] + 2)
    b.shift(p[:, ::-1], p[0, 1], out=p)
    assert p["x"].tolist() == [[3, 2, 1], [6, 5, 4]]
    p = np.array([(1, 2), (3, 4)], p.dtype)
    assert b.set_x(p, [5, 6]).tolist() == [(5, 2), (6, 4)]
    assert b.set_x(p, p["y"], out=p).tolist() == [(2, 2), (4, 4)]
    assert b.set_x(p[:1], p["y"][1:], out=p[:1]).tolist() == [(4, 2)]
    assert b.joined([1, 2], [3, 4]).tolist() == [(1, 3), (2, 4)]
    q = np.array([(1, 2.0), (3, 4.0)], um.dtype_of(b.weigh))
    assert b.weigh(q[1:], [1.0, 2.0]).tolist() == [[7.0, 11.0]]


@pytest.mark.slow
def test_flags_faults_and_pickles(b: Build) -> None:
    c = np.array([(np.inf, 1), (1, 0)], um.dtype_of(b.apply))
    with np.errstate(all="raise"):
        assert b.apply(c, [1.0, 2.0])[1].tolist() == [1.0, 2.0]
        with pytest.raises(FloatingPointError, match="overflow"):
            b.apply(np.array((1e308, 0), c.dtype), [1.0, 1e10])
    again = pickle.loads(pickle.dumps(b.apply))
    assert again(np.array((2, 1), c.dtype), [1.0]).tolist() == [3.0]
    with pytest.raises(um.UfuncMagicError, match=r"gain=1234.5.*null.*at index 1"):
        b.followed(np.array([(1, 0), (1234.5, 0)], c.dtype), [1, 2])


def test_methods_of_a_structure_may_change_it(shared_cache_folder: Path) -> None:
    source = """
struct Filter { double z; double step(double x) { z = x + z / 2; return z; } };
void block(Filter &f, const double *in, double *out, int n) { for (int i = 0; i < n; i++) out[i] = f.step(in[i]); }
void through(const Filter &f, double *x, int n) { for (int i = 0; i < n; i++) x[i] *= f.z; }
"""
    b = compile_in(shared_cache_folder, source, cplus=True)
    f, out = b.block(np.zeros((), um.dtype_of(b.block)), [1.0, 0, 0])
    assert (f["z"], out.tolist()) == (0.25, [1.0, 0.5, 0.25])
    assert b.through(f, [4.0, 8.0]).tolist() == [1.0, 2.0]
