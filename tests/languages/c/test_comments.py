"""Where a ``// ufunc:`` comment may be, and that a fault in one costs its own function alone."""

from __future__ import annotations

import doctest
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in

DOCS = Path(__file__).parents[3] / "docs"
SUM = "(const double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += x[1 * i]; return s; }"


@pytest.mark.parametrize("name", ["comment.md", "limits.md"])
def test_the_examples_of_a_page_give_what_it_says(shared_cache_folder: Path, name: str) -> None:
    page = DOCS / name
    blocks = re.findall(r"```(c|python)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    cell = compile_in(shared_cache_folder, "\n".join(text for kind, text in blocks if kind == "c"))
    names = {**cell, "np": np, "um": um}
    assert not cell.report_data.refused
    for number, (kind, text) in enumerate(blocks):
        if kind == "python":
            test = doctest.DocTestParser().get_doctest(textwrap.dedent(text), names, f"block {number}", str(page), 0)
            assert test.examples
            assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed == 0


def test_a_comment_counts_above_and_between_the_words_of_its_function(shared_cache_folder: Path) -> None:
    source = f"""\
// ufunc: (n)->()
__attribute__((noinline))
double f1{SUM}
__attribute__((noinline))
/* Adds.
   ufunc: (n)->() */
double f2{SUM}
double
// ufunc: (n)->()
f3{SUM}
double f4(const double *x, int n) // ufunc: (n)->()
{SUM.partition(") ")[2]}
// ufunc: (n)->()

double
f5{SUM}
"""
    b = compile_in(shared_cache_folder, source)
    assert [b[name].signature for name in b] == ["(n)->()"] * 5
    assert [b[name]([1.0, 2.0]) for name in b] == [3.0] * 5
    assert "Adds." in b.f2.__doc__
    assert not b.notes
    macros = compile_in(shared_cache_folder, f"#define EXPORT\n#ifdef EXPORT\n{source}#endif\n")
    assert [macros[name].signature for name in macros] == ["(n)->()"] * 5


def test_a_comment_counts_between_the_words_of_a_template(shared_cache_folder: Path) -> None:
    source = f"""\
template <class T>
// ufunc: (n)->()
T f1{SUM.replace("double", "T")}
extern "C"
// ufunc: (n)->()
double f2{SUM}
[[nodiscard]]
// ufunc: (n)->()
double f3{SUM}
auto
// ufunc: (n)->()
f4{SUM.replace(") {", ") -> double {")}
// ufunc: (n)->(
template <class T> T bad{SUM.replace("double", "T")}
"""
    b = compile_in(shared_cache_folder, source, cplus=True)
    assert {name: b[name].signature for name in b} == dict.fromkeys(("f1", "f2", "f3", "f4"), "(n)->()")
    with pytest.raises(um.UfuncMagicError, match="close the parenthesis"):
        b["bad"]


def test_a_note_names_each_comment_that_counts_for_no_function(shared_cache_folder: Path) -> None:
    source = f"""\
// ufunc: (a)->()
static double factor = 1;
double f1(double x) {{ // ufunc: (b)->()
    return x * factor;
}}
// ufunc: (n)->()
static double hidden{SUM}
// ufunc: (c)->()
"""
    b = compile_in(shared_cache_folder, source)
    notes = "\n".join(b.notes)
    assert all(
        f"line {line}: the comment 'ufunc: ({dim})->()'" in notes for line, dim in ((1, "a"), (3, "b"), (8, "c"))
    )
    assert "hidden has a // ufunc: comment, but is static" in notes


def test_a_fault_in_a_comment_costs_its_own_function_alone(shared_cache_folder: Path) -> None:
    source = """\
// ufunc: (n->()
double unclosed(const double *x, int n) { return x[0]; }
// ufunc: (n),(n)->()
double groups(const double *x, int n) { return x[0]; }
// ufunc: identity=0
double identity(double x) { return x; }
// ufunc: typ=f4
double word(double x) { return x; }
// ufunc: types=f4,zz
double types(double x) { return x; }
// ufunc: (n)->() inout=z
double inout(const double *x, int n) { return x[0]; }
double good(double x) { return 2 * x; }
"""
    b = compile_in(shared_cache_folder, source)
    assert b.good(np.float64(2)) == 4.0
    assert list(b) == ["good"]
    for name, word in [
        ("unclosed", "close"),
        ("groups", "2 inputs"),
        ("identity", "1 and 1"),
        ("word", "typ"),
        ("types", "zz"),
        ("inout", "inout=z"),
    ]:
        with pytest.raises(um.UfuncMagicError, match=word):
            b[name]
    assert len(b.diagnostics) == 6
    with pytest.raises(um.SignatureError, match="close"):
        compile_in(shared_cache_folder, source.partition("// ufunc: (n),(n)")[0])


@pytest.mark.slow
def test_what_cpp_refuses_costs_its_own_function_alone(shared_cache_folder: Path) -> None:
    source = """\
double first(double x) { return x + 1; }
consteval int constant(int x) { return x * x; }
auto adder(double x) { return [x](double y) { return x + y; }; }
template <class T> T member(T x) { return x.value(); }
double last(double x) { return x + 2; }
"""
    b = compile_in(shared_cache_folder, source, cplus=True)
    assert (b.first(1.0), b.last(1.0)) == (2.0, 3.0)
    assert list(b) == ["first", "last"]
    notes = "\n".join(b.notes)
    assert all(f"no loop is made of {name}: " in notes for name in ("constant", "adder", "member"))


@pytest.mark.slow
@pytest.mark.cython
def test_a_fault_in_a_comment_of_another_language_costs_its_own_function_alone(shared_cache_folder: Path) -> None:
    pytest.importorskip("Cython", reason="Cython is not installed (extra: cython)")
    source = """
# ufunc: (n)->(
cdef double bad(const double[:] x) noexcept nogil:
    return x[0]
# ufunc: (n)->(m)
def worse(const double[:] x, double[:] y):
    y[0] = x[0]
cdef double good(double x) noexcept nogil:
    return 2 * x
"""
    b = compile_in(shared_cache_folder, source, language="cython")
    assert (b.good(2.0), sorted(b)) == (4.0, ["good", "worse"])
    assert "close the parenthesis" in " ".join(b.notes)
    with pytest.raises(um.SignatureError, match="close the parenthesis"):
        compile_in(shared_cache_folder, source.partition("# ufunc: (n)->(m)")[0], language="cython")
    cuda = f"// ufunc: (n)->(\n__device__ double bad{SUM}\n__device__ double good(double x) {{ return 2 * x; }}\n"
    b = compile_in(shared_cache_folder, cuda, language="cuda", device="cpu")
    assert list(b) == ["good"]
    assert "close the parenthesis" in " ".join(b.notes)
