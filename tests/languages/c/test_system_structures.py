"""Structures that headers of the system define, as operands and in plain functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in
from ufunc_magic.languages.c import parse_cell, type_definitions

C = """
#include <math.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
typedef struct timeval tv;
typedef struct { struct timeval at; double value; } sample;
double sec(const struct timespec *t) { return t->tv_sec + t->tv_nsec * 1e-9; }
void spec(double t, struct timespec *out) { out->tv_sec = floor(t); out->tv_nsec = (t - floor(t)) * 1e9; }
double micro(tv t) { return t.tv_sec * 1e6 + t.tv_usec; }
double product(sample s) { return s.at.tv_sec * s.value; }
long total(const struct timeval *t, int n) { long sum = 0; for (int i = 0; i < n; i++) sum += t[i].tv_sec; return sum; }
ldiv_t parts(long a, long b) { return ldiv(a, b ? b : 1); }
int day(struct tm t) { return t.tm_year * 366 + t.tm_yday; }
"""
CPP = """
#include <cstdlib>
#include <ctime>
double sec(timespec t) { return t.tv_sec + t.tv_nsec * 1e-9; }
double same(const std::timespec &t) { return sec(t); }
std::div_t parts(int a, int b) { return std::div(a, b ? b : 1); }
double sum(double tm, double div) { return tm + div; }
"""


def test_structures_of_the_c_library_are_operands(shared_cache_folder: Path) -> None:
    b = compile_in(shared_cache_folder, C)
    assert b.sec(np.array([(1, 500000000), (2, 0)], um.dtype_of(b.sec))).tolist() == [1.5, 2]
    assert b.spec(1.25).tolist() == (1, 250000000)
    assert b.micro(np.array((2, 5), um.dtype_of(b.micro))) == 2000005
    assert b.product(np.array(((3, 0), 1.5), um.dtype_of(b.product))) == 4.5
    assert b.total(np.array([(1, 0), (2, 0)], um.dtype_of(b.total))) == 3
    assert b.parts(7, 2).tolist() == (3, 1)


def test_a_plain_function_takes_a_structure_that_contains_pointers(shared_cache_folder: Path) -> None:
    day = compile_in(shared_cache_folder, C).day
    assert "contains pointers" in day.__doc__
    assert day({"tm_year": 1, "tm_yday": 2}) == 368


def test_structures_of_the_c_library_are_operands_in_cplus(shared_cache_folder: Path) -> None:
    b = compile_in(shared_cache_folder, CPP, cplus=True)
    half = np.array((1, 500000000), um.dtype_of(b.sec))
    assert b.sec(half) == b.same(half) == 1.5
    assert b.parts(7, 2)["quot"] == 3
    assert b.sum(1, 2) == 3


#: As gcc writes it.
MARKED = """\
# 1 "In[1]"
# 1 "/usr/include/s.h" 1 3 4
typedef struct spot_s spot;
struct spot_s { double x, y; };
struct __attribute__((packed)) other { char c; spot at; };
struct unused { int i; } unused(void);
# 2 "In[1]" 2
"""


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("double f(spot *s) { return s->x; }", {"spot_s": ["x", "y"]}),
        ("double f(const struct other *s) { return s->at.x; }", {"other": ["c", "at"], "spot_s": ["x", "y"]}),
        (
            "typedef struct { spot a; } mine; double f(mine s) { return s.a.x; }",
            {"mine": ["a"], "spot_s": ["x", "y"]},
        ),
    ],
)
def test_definitions_come_from_the_preprocessed_text(text: str, members: dict[str, list[str]]) -> None:
    unit, _ = parse_cell(f"#include <s.h>\n{text}", name="In[1]", preprocess=lambda _: MARKED + text)
    assert {name: [m.name for m in record] for name, record in unit.records.items()} == members
    assert unit.unknown_types == ()


def test_attributes_of_a_header_have_no_strings_for_cffi() -> None:
    old = MARKED.replace(
        "typedef struct spot_s spot;", 'typedef struct spot_s spot __attribute__((deprecated("old")));'
    )
    text = "double f(spot *s) { return s->x; }"
    _, tree = parse_cell(f"#include <s.h>\n{text}", name="In[1]", preprocess=lambda _: old + text)
    assert "spot_s { double x, y; }" in type_definitions(tree)
    assert '"' not in type_definitions(tree)


@pytest.mark.parametrize(
    "text",
    [
        "#include <math.h>\ndouble f(double x) { return sin(x); }",
        "#include <math.h>\nstruct own { double x; }; double f(struct own *o) { return o->x; }",
        "#include <math.h>\ntypedef struct { double x; } own; typedef own mine; double f(mine *o) { return o->x; }",
        "#include <time.h>\ndouble f(double x) { struct timespec t = {0, 0}; return x + t.tv_sec; }",
        "struct s; double f(struct s *o, double x) { return x; }",
    ],
)
def test_a_cell_that_needs_no_header_is_not_preprocessed(text: str) -> None:
    def refuse(_: str) -> str:
        raise AssertionError("the preprocessor was started")

    assert parse_cell(text, name="c", preprocess=refuse)[0].functions


def test_a_class_of_the_cell_needs_no_header() -> None:
    text = "#include <cmath>\nclass A { public: double x; }; double f(const A &a) { return a.x; }"
    assert parse_cell(text, cplus=True)[0].unknown_types == ()
