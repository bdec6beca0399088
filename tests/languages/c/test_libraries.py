"""Prototypes without a body, and whole headers: functions of libraries as ufuncs."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None and shutil.which("clang") is None, reason="no C compiler")

HEADER = """\
#ifndef LIB_H
#define LIB_H
typedef struct { double val; double err; } lib_result;
typedef struct lib_pair_s { int n; float x; } lib_pair;
#define lib_new lib_old

/* Twice of it. */
double lib_twice(double x);
/* Half of it,
 * with an error.
 */
int lib_half_e(const double x, lib_result *result);
double lib_half(const double x);

void lib_pairs(double x, lib_pair *a, lib_pair *b);
int lib_split(double x, double *whole, double *__fraction);
double lib_new(double x, int k);
void lib_table(int n, double *values);
void lib_array(int n, double *result_array);
void lib_open(double x, double out[]);
double lib_matrix(double m[3][3]);
double lib_norm(const double v[3]);
double lib_name(const char *name);
double lib_missing(double x);
double lib_unknown();
static inline double lib_inline(double x) { return x + 3; }
double other(double x);
#endif
"""
BODIES = """\
#include "lib.h"
#include <math.h>
double lib_twice(double x) { return 2 * x; }
int lib_half_e(const double x, lib_result *r) { r->val = x / 2; r->err = 1e-3; return x < 0 ? 7 : 0; }
double lib_half(const double x) { return x / 2; }
void lib_pairs(double x, lib_pair *a, lib_pair *b) { a->n = 1; a->x = x; b->n = 2; b->x = -x; }
int lib_split(double x, double *whole, double *fraction) { *fraction = modf(x, whole); return *fraction != 0; }
double lib_old(double x, int k) { return x * k; }
void lib_table(int n, double *values) { for (int i = 0; i < n; i++) values[i] = i; }
void lib_array(int n, double *result_array) { *result_array = n; }
void lib_open(double x, double out[]) { out[0] = out[1] = x; }
double lib_matrix(double m[3][3]) { return m[0][0]; }
double lib_norm(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }
double lib_name(const char *name) { return name[0]; }
double lib_unknown(double x) { return x; }
double other(double x) { return x; }
"""


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("lib")
    (folder / "lib.h").write_text(HEADER)
    (folder / "lib.c").write_text(BODIES)
    return um.wrap_header(str(folder / "lib.h"), functions="lib_*", src=[str(folder / "lib.c")])


def test_header_becomes_ufuncs(lib: Any) -> None:
    assert sorted(lib) == [
        "lib_half", "lib_half_e", "lib_inline", "lib_new", "lib_norm", "lib_pairs", "lib_split", "lib_twice"
    ]  # fmt: skip
    assert all(isinstance(f, np.ufunc) for f in lib.values())
    assert lib.lib_twice([1.0, 2.0]).tolist() == [2, 4]
    assert lib.lib_norm([[3.0, 4.0, 0.0]]).tolist() == [5]
    assert lib.lib_inline(1.0) == 4


def test_structures_and_status_are_outputs(lib: Any) -> None:
    codes = {code.name: code for code in lib.object_code.functions}
    assert codes["lib_half_e"].results == ("val", "err", "status")
    assert [a.tolist() for a in lib.lib_half_e([3.0, -1.0])] == [[1.5, -0.5], [1e-3, 1e-3], [0, 7]]
    assert codes["lib_pairs"].results == ("a_n", "a_x", "b_n", "b_x")
    assert lib.lib_pairs(1.5) == (1, 1.5, 2, -1.5)
    assert codes["lib_split"].results == ("whole", "fraction", "status")
    assert lib.lib_split(2.5) == (2, 0.5, 1)


def test_docstrings_are_the_headers_comments(lib: Any) -> None:
    assert "Twice of it." in lib.lib_twice.__doc__
    assert "Half of it,\nwith an error." in lib.lib_half_e.__doc__
    assert "Half of it," in lib.lib_half.__doc__
    assert "Half" not in lib.lib_pairs.__doc__


def test_macros_name_functions(lib: Any) -> None:
    assert lib.lib_new(2.0, 3) == 6


def test_what_is_not_bound_has_a_reason(lib: Any) -> None:
    notes = "\n".join(lib.notes)
    for words in (
        "because a pointer is used as an array: lib_array, lib_open",
        "because a parameter may be an input or an output, and there is no body to tell: lib_matrix",
        "because a parameter is a string: lib_name",
        "because no library defines it (link with a library with -l NAME): lib_missing",
    ):
        assert words in notes


def test_function_that_writes_more_than_one_number_is_refused(lib: Any) -> None:
    assert "lib_table is not bound" in "\n".join(map(str, lib.diagnostics))


def test_prototypes_of_libm_are_ufuncs() -> None:
    made = um.compile_c(
        "double j0(double);\n/* Also its sign. */\ndouble lgamma_r(double x, int *sign);\n"
        "// ufunc: (3)->()\ndouble strange(const double *x);\n"
    )
    assert sorted(made) == ["j0", "lgamma_r"]
    assert made.j0(0.0) == 1
    assert made.lgamma_r(-0.5) == pytest.approx((1.2655121234846454, -1))
    assert "Also its sign." in made.lgamma_r.__doc__
    assert "strange" in "\n".join(made.notes)


def test_prototype_that_the_cell_calls_is_declared_for_that() -> None:
    made = um.compile_c("double j1(double);\ndouble f(double x) { return 2 * j1(x); }\nvoid abort(void);\n")
    assert list(made) == ["f"]


def test_declarations_that_cannot_be_ufuncs_say_why() -> None:
    with pytest.raises(um.SignatureError, match="atof: 'name' is a string"):
        um.compile_c("double atof(const char *name);")


# -- libraries that others have written


def _header(name: str) -> None:
    if not any(Path(folder, name).exists() for folder in ("/usr/include", "/usr/local/include")):
        pytest.skip(f"{name} is not installed")


def _same(made: Callable[..., Any], expected: Callable[..., Any], *arguments: Any, rtol: float = 1e-10) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(made(*arguments), expected(*arguments), rtol=rtol, atol=1e-300)


@pytest.mark.slow
def test_gsl_against_scipy() -> None:
    _header("gsl/gsl_sf.h")
    special = pytest.importorskip("scipy.special")
    made = um.wrap_header(
        "gsl/gsl_sf.h",
        libraries=["gsl", "gslcblas"],
        functions=["gsl_sf_bessel_[JYIK][01n]*", "gsl_sf_*gamma*", "gsl_sf_erf*", "gsl_sf_psi*", "gsl_sf_*beta*"],
    )
    assert len(made) > 60
    x = np.linspace(0.1, 20, 50)
    for name, expected in {
        "gsl_sf_bessel_J0": special.j0, "gsl_sf_bessel_J1": special.j1, "gsl_sf_bessel_Y0": special.y0,
        "gsl_sf_bessel_I0": special.i0, "gsl_sf_bessel_K1": special.k1, "gsl_sf_lngamma": special.gammaln,
        "gsl_sf_gamma": special.gamma, "gsl_sf_erfc": special.erfc, "gsl_sf_psi": special.psi,
        "gsl_sf_bessel_I0_scaled": special.i0e,
    }.items():  # fmt: skip
        _same(made[name], expected, x)
    _same(made["gsl_sf_bessel_Jn"], special.jn, np.arange(5, dtype="i4")[:, None], x, rtol=1e-8)
    _same(made["gsl_sf_gamma_inc_P"], special.gammainc, x[:, None], x)
    _same(made["gsl_sf_beta_inc"], special.betainc, x[:, None], x[:9], np.linspace(0.01, 0.99, 9))
    value, error, status = made["gsl_sf_lngamma_e"](np.array([2.5, 0.0]))
    assert value[0] == made["gsl_sf_lngamma"](2.5)
    assert math.isnan(value[1])
    assert (0 < error[0] < 1e-14, status.tolist()) == (True, [0, 1])  # GSL_EDOM


@pytest.mark.slow
def test_r_against_scipy() -> None:
    _header("Rmath.h")
    stats = pytest.importorskip("scipy.stats")
    made = um.wrap_header("Rmath.h", libraries="Rmath", functions="[dpq]*", compile_args=["-DMATHLIB_STANDALONE"])
    p = np.linspace(0.01, 0.99, 33)
    for name, given, frozen in (
        ("norm", (1.0, 2.0), stats.norm(1, 2)), ("gamma", (2.5, 0.5), stats.gamma(2.5, scale=0.5)),
        ("beta", (2.0, 3.5), stats.beta(2, 3.5)), ("t", (4.5,), stats.t(4.5)), ("chisq", (3.0,), stats.chi2(3)),
        ("f", (3.0, 7.0), stats.f(3, 7)), ("weibull", (1.5, 2.0), stats.weibull_min(1.5, scale=2)),
        ("logis", (1.0, 2.0), stats.logistic(1, 2)), ("cauchy", (1.0, 2.0), stats.cauchy(1, 2)),
        ("lnorm", (0.5, 0.7), stats.lognorm(0.7, scale=math.exp(0.5))), ("exp", (2.0,), stats.expon(scale=2)),
    ):  # fmt: skip
        q = frozen.ppf(p)
        np.testing.assert_allclose(made[f"q{name}"](p, *given, 1, 0), q, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(made[f"p{name}"](q, *given, 1, 0), p, rtol=1e-9)
        np.testing.assert_allclose(made[f"d{name}"](q, *given, 0), frozen.pdf(q), rtol=1e-9)


@pytest.mark.slow
def test_libm_is_what_ctypes_calls() -> None:
    made = um.wrap_header("math.h", functions="*", strict=True)
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    assert len(made) > 150
    x = np.linspace(-3, 3, 61)
    compared = 0
    for code in made.object_code.functions:
        if code.loops[0].types != (12,) * (code.nin + 1):
            continue
        function = library[code.name]
        function.restype, function.argtypes = ctypes.c_double, (ctypes.c_double,) * code.nin
        arguments = (x, x[::-1], x / 2)[: code.nin]
        expected = [function(*row) for row in zip(*arguments, strict=True)]
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(made[code.name](*arguments), expected, err_msg=code.name)
        compared += 1
    assert compared > 40


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('#include "own.h"', ["half", "twice"]),
        ('#include <math.h>\n#include "own.h"', ["half", "twice"]),
        ('#include "own.h"\ndouble third(double x) { return x / 3; }', ["half", "third", "twice"]),
    ],
)
def test_all_of_a_header_are_not_those_of_the_c_library(text: str, names: list[str], tmp_path: Path) -> None:
    header = (
        "static inline double twice(double x) { return 2 * fabs(x); }\nstatic double half(double x) { return x / 2; }"
    )
    (tmp_path / "own.h").write_text(f"#include <math.h>\n#include <stdlib.h>\n{header}\n")
    b = um.compile_c(text, wrap=["*"], include=[str(tmp_path)])
    assert sorted(b) == names
    assert not any("__bswap" in note for note in b.notes)


def test_a_pattern_that_names_functions_of_the_c_library_binds_them(tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text("#include <math.h>\nstatic double half(double x) { return x / 2; }\n")
    assert sorted(um.compile_c('#include "own.h"', wrap=["h?l?", "cbr?"], include=[str(tmp_path)])) == ["cbrt", "half"]
