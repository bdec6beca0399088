"""Functions of complex numbers in vectors: glibc's values to a few units in the last place, and its special values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import compile_in
from ufunc_magic.runtime import Build

SOURCE = """
#include <complex.h>
double size(double complex z) { return cabs(z); }
double angle(double complex z) { return carg(z); }
double complex power(double complex z) { return cexp(z); }
double complex logarithm(double complex z) { return clog(z); }
double complex root(double complex z) { return csqrt(z); }
float sizef(float complex z) { return cabsf(z); }
float anglef(float complex z) { return cargf(z); }
float complex powerf(float complex z) { return cexpf(z); }
float complex logarithmf(float complex z) { return clogf(z); }
float complex rootf(float complex z) { return csqrtf(z); }
double complex wave(double complex z, double t) { return cexp(z * t) / (1 + cabs(z)); }
"""
REFERENCES = {"size": np.abs, "angle": np.angle, "power": np.exp, "logarithm": np.log, "root": np.sqrt}
EDGES = [0.0, 0.5, 1.0, np.inf, np.nan, 1e300, 1e-310, 5e-324, 710.0, 750.0, 1420.0, 89.0, 1e38, 1e-40, 3.0]


@pytest.fixture(scope="module")
def made(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, SOURCE, guard=False, time=False)


@pytest.fixture(scope="module")
def strict(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, SOURCE, guard=False, time=False, strict=True)


def _points(kind: str) -> Any:
    rng = np.random.default_rng(1)
    n = 20_000
    if kind == "around one":
        return (1 + rng.normal(size=n) * 10.0 ** -rng.uniform(1, 17, n)) * np.exp(1j * rng.uniform(0, 7, n))
    if kind == "any exponent":
        return np.ldexp(rng.normal(size=n), rng.integers(-140, 120, n)) + 1j * np.ldexp(
            rng.normal(size=n), rng.integers(-140, 120, n)
        )
    return rng.normal(size=n) * 20 + 1j * rng.normal(size=n) * 20


@pytest.mark.parametrize("kind", ["around one", "any exponent", "usual"])
@pytest.mark.parametrize("name", [*REFERENCES, *(f"{name}f" for name in REFERENCES)])
def test_errors_are_a_few_units_in_the_last_place(made: Build, name: str, kind: str) -> None:
    z = _points(kind)
    if name.endswith("f"):
        z = z.astype("F")
        z = z[np.isfinite(z)]
    with np.errstate(all="ignore"):
        exact = REFERENCES[name.removesuffix("f")](z.astype("G" if not name.endswith("f") else "D"))
        found = made[name](z)
    for part in ("real", "imag") if np.iscomplexobj(found) else ("real",):
        a, b = getattr(found, part), getattr(exact, part)
        with np.errstate(all="ignore"):
            bounded = np.isfinite(b.astype(a.dtype))
        error = np.abs(a[bounded] - b[bounded]) / np.spacing(np.abs(b[bounded]).astype(a.dtype))
        assert error.max() < 6, (z[bounded][error.argmax()], error.max())


@pytest.mark.parametrize("name", [*REFERENCES, *(f"{name}f" for name in REFERENCES)])
def test_special_values_are_glibcs(made: Build, strict: Build, name: str) -> None:
    x = np.array([*EDGES, *(-value for value in EDGES)])
    z = np.empty((len(x), len(x)), complex)
    z.real, z.imag = np.meshgrid(x, x)
    with np.errstate(all="ignore"):
        z = z.ravel().astype("F" if name.endswith("f") else "D")
        found, expected = made[name](z), strict[name](z)
    for part in ("real", "imag") if np.iscomplexobj(found) else ("real",):
        a, b = getattr(found, part), getattr(expected, part)
        wrong = np.isnan(a) != np.isnan(b)
        wrong |= ~np.isnan(b) & (np.signbit(a) != np.signbit(b))
        with np.errstate(all="ignore"):
            wrong |= np.isfinite(b) & ~(np.abs(a - b) <= 8 * np.spacing(np.abs(b))) | (np.isinf(a) != np.isinf(b))
        assert not wrong.any(), [(z[k], a[k], b[k]) for k in np.flatnonzero(wrong)[:5]]


def test_a_value_does_not_depend_on_its_place(made: Build) -> None:
    z = _points("usual")[:137]
    whole = made.wave(z, 0.5)
    np.testing.assert_array_equal(made.wave(z[::-1], 0.5)[::-1], whole)
    np.testing.assert_array_equal([made.wave(z[k : k + 1], 0.5)[0] for k in range(20)], whole[:20])
    np.testing.assert_array_equal(made.wave(z.repeat(3)[::3], 0.5), whole)


def test_cells_in_terms_of_t_have_them_too(shared_cache_folder: Path) -> None:
    cell = "T f(T z) { return exp(z) / (1 + fabs(z)); }\nT g(T z) { return sqrt(z); }\nT h(T z) { return log(z); }"
    made, strict = (
        compile_in(shared_cache_folder, cell, types="f8,c8,c16", guard=False, time=False, strict=strict)
        for strict in (False, True)
    )
    z = _points("usual")[:137]
    for name, dtype in [(name, dtype) for name in "fgh" for dtype in "DF"]:
        x = z.astype(dtype)
        found = made[name](x)
        np.testing.assert_allclose(found, strict[name](x), rtol=1e-13 if dtype == "D" else 1e-5)
        np.testing.assert_array_equal(made[name](x[-5:]), found[-5:])


def test_names_of_the_cells_own_are_left_alone(shared_cache_folder: Path) -> None:
    cell = """
#include <complex.h>
#define x 3
#define hypot broken
double cexp_of(double complex z) { return creal(cexp(z)); }
static double log1p(double y) { return -1; }
double own(double complex z) { return creal(clog(z)) + 0 * log1p(1); }
"""
    made = compile_in(shared_cache_folder, cell, guard=False, time=False)
    z = np.full(40, 2 + 1j)
    np.testing.assert_allclose(made.cexp_of(z), np.exp(z).real, rtol=1e-14)
    np.testing.assert_allclose(made.own(z), np.log(z).real, rtol=1e-14)
