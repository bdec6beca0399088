"""Header libraries: cells and headers of which every function is `static` or `static inline`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in

HEADER = """\
#ifndef LIN_H
#define LIN_H
#include <math.h>
typedef float vec3[3];
typedef vec3 mat3[3];
/* The sum. */
static inline void vec3_add(vec3 r, vec3 const a, vec3 const b) { for (int i = 0; i < 3; i++) r[i] = a[i] + b[i]; }
static inline float vec3_dot(vec3 const a, vec3 const b)
{
    float p = 0;
    for (int i = 0; i < 3; i++) p += a[i] * b[i];
    return p;
}
static float vec3_len(vec3 const v) { return sqrtf(vec3_dot(v, v)); }
static inline void mat3_scale(mat3 m, float k)
{
    for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) m[i][j] *= k;
}
#endif
"""


@pytest.fixture
def header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lin.h").write_text(HEADER)
    return tmp_path / "lin.h"


def _check(b: um.runtime.Build) -> None:
    x = np.array([3, 4, 0], "f4")
    assert b.vec3_add(x, x).tolist() == [6, 8, 0]
    assert (b.vec3_dot(x, x), b.vec3_len(x)) == (25, 5)
    assert b.vec3_add.signature == "(3),(3)->(3)"


def test_static_functions_are_bound_where_nothing_else_is(shared_cache_folder: Path) -> None:
    b = compile_in(shared_cache_folder, HEADER)
    assert sorted(b) == ["mat3_scale", "vec3_add", "vec3_dot", "vec3_len"]
    _check(b)
    assert any("static" in note for note in b.notes)
    assert "The sum." in b.vec3_add.__doc__
    assert all(f.python for f in b.report_data.functions)
    assert b.mat3_scale(np.ones((3, 3), "f4"), 2).tolist() == [[2] * 3] * 3


def test_a_function_that_is_not_static_hides_those_that_are() -> None:
    b = um.compile_c("static double half(double x) { return x / 2; }\ndouble third(double x) { return x / 3; }")
    assert list(b) == ["third"]


def test_main_and_prototypes_hide_no_static_function() -> None:
    b = um.compile_c(
        "double j0(double);\nstatic double f(double x) { return 2 * j0(x); }\nint main(void) { return 0; }"
    )
    assert (list(b), b.f(0.0)) == (["f"], 2)


def test_static_functions_that_are_plain_or_of_a_namespace_are_bound() -> None:
    b = um.compile_c("static double first(const double *x) { return x[0]; }\n")
    assert b.first(np.array([7.0, 8.0])) == 7
    b = um.compile_c(
        "namespace { double f(double x) { return x + 1; } }\nstatic int f2(int n) { return n; }", cplus=True
    )
    assert (b.f(1.0), b.f2(3)) == (2, 3)


def test_the_functions_of_a_header_are_bound_by_their_names(header: Path) -> None:
    with pytest.raises(um.ParseError, match="--wrap"):
        um.compile_c('#include "lin.h"\n')
    b = um.compile_c('#include "lin.h"\n', wrap="vec3_*")
    assert sorted(b) == ["vec3_add", "vec3_dot", "vec3_len"]
    _check(b)
    forms = {f.name: f.python for f in b.report_data.functions}
    assert "range(3)" in forms["vec3_add"]
    assert sorted(um.wrap_header(str(header), functions="mat3_*")) == ["mat3_scale"]


@pytest.mark.parametrize(
    ("names", "remedy"),
    [
        (("st_mean", "st_sum"), "--wrap 'st_*' (wrap='st_*')"),
        (("st_mean", "total"), "--wrap st_mean --wrap total (wrap=['st_mean', 'total'])"),
        (("mean",), "--wrap mean (wrap='mean')"),
    ],
)
def test_the_message_names_what_binds_all_functions_of_a_header(
    tmp_path: Path, names: tuple[str, ...], remedy: str
) -> None:
    (tmp_path / "st.h").write_text("".join(f"static double {name}(double x) {{ return x; }}\n" for name in names))
    with pytest.raises(um.ParseError) as caught:
        um.compile_c('#include "st.h"\n', include=[str(tmp_path)])
    assert remedy in str(caught.value)
    patterns = ["st_*"] if remedy.startswith("--wrap 'st_") else list(names)
    assert list(um.compile_c('#include "st.h"\n', include=[str(tmp_path)], wrap=patterns)) == list(names)


def test_the_functions_of_a_header_of_the_system_are_read_too(header: Path) -> None:
    system = ["-isystem", str(header.parent)]
    with pytest.raises(um.ParseError, match="--wrap"):
        um.compile_c("#include <lin.h>\n", compile_args=system)
    b = um.compile_c("#include <lin.h>\n", wrap="vec3_*", compile_args=system)
    _check(b)
    assert "range(3)" in next(f.python for f in b.report_data.functions if f.name == "vec3_add")


def test_the_functions_of_the_cell_come_before_those_of_a_header(header: Path) -> None:
    b = um.compile_c('#include "lin.h"\nstatic float twice(vec3 const v) { return 2 * vec3_len(v); }\n')
    assert (list(b), b.twice(np.array([3, 4, 0], "f4"))) == (["twice"], 10)


def test_a_header_without_its_implementation_is_told_its_macro() -> None:
    source = (
        "double lib_half(double x);\n#ifdef LIB_IMPLEMENTATION\ndouble lib_half(double x) { return x / 2; }\n#endif\n"
    )
    with pytest.raises(um.LinkError, match="#define LIB_IMPLEMENTATION"):
        um.compile_c(source)
    assert um.compile_c(f"#define LIB_IMPLEMENTATION\n{source}").lib_half(3.0) == 1.5
