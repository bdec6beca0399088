"""Cells of which some functions, or all, can be neither ufuncs nor plain functions."""

from __future__ import annotations

import pytest

import ufunc_magic as um

VARIADIC = "template <class... A> double total(A... a) { return (a + ...); }\n"


@pytest.mark.parametrize(
    ("source", "cplus", "words"),
    [
        ("struct a { double f(double x) { return x; } };", True, "defines no readable"),
        ("struct a { double f(double x) { return x; } };\ndouble g(a x) { return 1; }", True, "can be neither"),
        (VARIADIC, True, "has no types"),
        ("template <int N> double times(double x) { return N * x; }", True, "has no types"),
        ("double total(auto... a) { return (a + ...); }", True, "variable number"),
        ("__float128 f(__float128 x) { return x; }", False, "__float128"),
    ],
)
def test_a_cell_that_binds_nothing_is_an_error(source: str, cplus: bool, words: str) -> None:
    with pytest.raises((um.ParseError, um.SignatureError), match=words):
        um.compile_c(source, cplus=cplus)


def test_a_cell_in_the_cache_that_binds_nothing_is_an_error() -> None:
    for _ in range(2):
        with pytest.raises(um.SignatureError, match="_Decimal64"):
            um.compile_c("_Decimal64 f(_Decimal64 x) { return x; }")


def test_a_variadic_template_costs_one_note() -> None:
    source = """\
template <class... A> double pack(A... a) { return (a + ...); }
template <class T, class... A> double rest(T first, A... a) { return (first + ... + a); }
double deduced(auto... a) { return (a + ...); }
double f(double x) { return pack(x, 1.0) + rest(x, 1.0) + deduced(x, 1.0); }
"""
    b = um.compile_c(source, cplus=True)
    assert (list(b), b.f(2.0)) == (["f"], 9)
    notes = "\n".join(b.notes)
    assert [notes.count(name) for name in ("pack:", "rest is", "deduced is")] == [1, 1, 1]
