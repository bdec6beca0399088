"""A symbol that nothing defines costs the functions that need it, and no others."""

from __future__ import annotations

import sys

import pytest

import ufunc_magic as um

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the linker of other systems takes no weak symbols")

OK = "\ndouble ok(double x) { return x + 1; }\n"

#: A cell, and the functions that are left out with what each of them needs.
C: dict[str, dict[str, str]] = {
    "double gone(double x); double f(double x) { return gone(x); }": {"f": "gone"},
    "double gone(double x); double g(double x) { return gone(x) + 1; } double f(double x) { return g(x); }": {
        "f": "gone",
        "g": "gone",
    },
    "double gone(double x); static double h(double x) { return gone(x); } double f(double x) { return h(x); }": {
        "f": "gone"
    },
    "extern double scale; double f(double x) { return x * scale; }": {"f": "scale"},
    "extern double table[8]; double f(int n) { return table[n & 7]; }": {"f": "table"},
    "static double gone(double x); double f(double x) { return gone(x); }": {"f": "gone"},
    "int gone(char *s); int f(char *s) { return gone(s); }": {"f": "gone"},
    "void gone(double *x, int n); void f(double *x, int n) { gone(x, n); x[0] = 1; }": {"f": "gone"},
    "double gone(double); double (*way)(double) = gone; double other(double); double f(double x) { return other(x); }"
    " double g(double x) { return gone(x); }": {"f": "other", "g": "gone"},
}
CPLUS: dict[str, dict[str, str]] = {
    "double gone(double x); double f(double x) { return gone(x); }": {"f": "gone"},
    "template <class T> T half(T x); double f(double x) { return half(x); }": {"f": "half"},
    "template <class T> T half(T x); template <class T> T quarter(T x) { return half(half(x)); }": {"quarter": "half"},
    "namespace a { double gone(double); } namespace b { double f(double x) { return a::gone(x); } }": {"f": "gone"},
    "struct P { double x; double len() const; }; double f(double x) { P p{x}; return p.len(); }": {"f": "len"},
    'extern "C" double gone(double); double f(double x) { return gone(x); }': {"f": "gone"},
}


@pytest.mark.parametrize(("text", "cplus"), [*((text, False) for text in C), *((text, True) for text in CPLUS)])
def test_undefined_symbol_costs_the_functions_that_need_it(text: str, cplus: bool, shared_cache: None) -> None:
    build = um.compile_c(text + OK, cplus=cplus)
    assert list(build) == ["ok"]
    assert build.ok(1.0) == 2.0
    left_out = {name: d.message for name, d in build.report_data.refused.items()}
    needed = (CPLUS if cplus else C)[text]
    assert left_out.keys() == needed.keys()
    assert all(repr(needed[name]) in message for name, message in left_out.items())


def test_undefined_symbol_of_the_only_function_is_a_link_error(shared_cache: None) -> None:
    with pytest.raises(um.LinkError, match="gone") as caught:
        um.compile_c("double gone(double x); double f(double x) { return gone(x); }")
    assert "-S gone.c" in str(caught.value)


@pytest.mark.slow
def test_undefined_symbol_in_a_large_cell(shared_cache: None) -> None:
    many = "\n".join(f"int f{n}(int x) {{ while (x > {n}) x /= 2; return x; }}" for n in range(30))
    build = um.compile_c(f"int gone(int);\nint g(int x) {{ return gone(x); }}\n{many}")
    assert (len(build), "g" in build, build.f3(100)) == (30, False, 3)
