"""C++ cells with functions whose loops a compiler refuses: the others are bound, and a note says why these are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um


@pytest.mark.slow
def test_templates_for_other_types_than_numbers_keep_nothing_from_being_bound() -> None:
    source = """\
#include <vector>
template <class F> double summed(F f) { return f(1.0) + f(2.0); }
template <class V> double first(const V &v) { return static_cast<double>(v.front()); }
template <class V> double twice_the_first(const V &v) { return 2 * first(v); }
template <class T> T squared(T x) { return x * x; }
double above(double x) { return summed([x](double y) { return x + y; }); }
double one(double x) { return twice_the_first(std::vector<double>{x}); }
"""
    b = um.compile_c(source, cplus=True)
    assert sorted(b) == ["above", "one", "squared"]
    assert (b.above(1.0), b.one(3.0), b.squared(np.float32(3))) == (5.0, 6.0, np.float32(9))
    notes = "\n".join(b.notes)
    assert "no loop is made of summed: line 2: " in notes
    assert "no loop is made of first" in notes
    assert "twice_the_first" in notes


@pytest.mark.slow
def test_types_of_a_namespace_are_known_there() -> None:
    source = """\
namespace physics {
    typedef double meters;
    enum class phase { solid, liquid };
    namespace inner { meters doubled(meters x) { return 2 * x; } }
    phase melted(meters t) { return t > 0 ? phase::liquid : phase::solid; }
    template <class T> phase of(T t, meters shift) { return melted(t + shift); }
    void split(meters x, meters *whole, meters &rest) { *whole = static_cast<long>(x); rest = x - *whole; }
}
"""
    b = um.compile_c(source, cplus=True)
    assert {name: b[name].types for name in ("doubled", "melted", "split")} == {
        "doubled": ["d->d"],
        "melted": ["d->i"],
        "split": ["d->dd"],
    }
    assert (b.doubled(2.0), b.melted(1.0), b.of(-3.0, 1.0)) == (4.0, 1, 0)


def test_a_type_that_only_its_function_knows_keeps_nothing_from_being_bound() -> None:
    source = """\
struct Grid {
    typedef double value;
};
double halved(double x) { return x / 2; }
namespace { typedef double hidden; }
hidden shifted(hidden x) { return x + 1; }
"""
    b = um.compile_c(source, cplus=True)
    assert sorted(b) == ["halved", "shifted"]


@pytest.mark.parametrize("types", ["", "f4,f8"])
def test_a_template_that_is_all_there_is_is_an_error(types: str) -> None:
    source = "template <class V> double first(V v) { return v.front(); }\n"
    with pytest.raises(um.CompileError, match="front"):
        um.compile_c(source, cplus=True, types=types)


def test_an_error_of_the_cell_is_an_error() -> None:
    source = "template <class T> T twice(T x) { return 2 * x; }\ndouble f(double x) { return twice(y); }\n"
    with pytest.raises(um.CompileError, match="'y' was not declared"):
        um.compile_c(source, cplus=True)


def test_functions_that_print_take_no_python_form_from_others() -> None:
    printing = [f'void p{n}(double x, double *y) {{ printf("%f", x); *y = {n}; }}\n' for n in range(8)]
    made = um.compile_c(f"#include <stdio.h>\n{''.join(printing)}double f(double x) {{ return x + 1; }}\n")
    assert made.report_data.functions[-1].python


def test_a_refusal_in_a_header_concerns_the_template_whose_loop_led_there(tmp_path: Path) -> None:
    (tmp_path / "bits.hpp").write_text("""\
template <class T> struct box { T value; };
template <class T> T taken(const box<T> &b)
{
    static_assert(T(1) / 2 == 0, "taken accepts integers only");
    return b.value;
}
template <class T> typename T::row_type row(const T &m) { return m.first(); }
""")
    source = """\
#include "bits.hpp"
template <class T> T extract(T x) { return taken(box<T>{x}) / 2; }
template <class T> T first_row(T x) { return row(x); }
template <class T> T twice(T x) { return 2 * x; }
"""
    b = um.compile_c(source, cplus=True, include=[str(tmp_path)])
    assert {name: b[name].types for name in b} == {
        "extract": ["i->i", "l->l"],
        "twice": ["i->i", "l->l", "f->f", "d->d"],
    }
    assert "no loop is made of first_row" in "\n".join(b.notes)


@pytest.mark.parametrize(
    ("words", "types"),
    [
        ("std::integral<T> || std::floating_point<T>", ["i->i", "l->l", "f->f", "d->d"]),
        ("std::integral<T>", ["i->i", "l->l"]),
        ("std::floating_point<T>", ["f->f", "d->d"]),
        ("std::numeric_limits<T>::is_iec559 || std::numeric_limits<T>::is_integer", ["i->i", "l->l", "f->f", "d->d"]),
    ],
)
def test_a_template_has_the_types_that_its_condition_names(words: str, types: list[str]) -> None:
    source = (
        f"#include <concepts>\n#include <limits>\ntemplate <class T> requires ({words}) T least(T x) {{ return x; }}\n"
    )
    assert um.compile_c(source, cplus=True, compile_args=["-std=c++20"]).least.types == types


def test_types_of_a_cell_without_t_are_a_note() -> None:
    (note,) = um.compile_c("double twice(double x) { return 2 * x; }", types="f4,f8").notes
    assert note.startswith("--types f4,f8 has no effect")
    assert um.compile_c("T twice(T x) { return 2 * x; }", types="f4,f8").notes == ()
    assert um.compile_c("auto twice(auto x) { return 2 * x; }", cplus=True, types="f4,f8").notes == ()
