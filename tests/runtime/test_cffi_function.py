"""Functions that cannot be ufuncs: called through cffi, arrays for pointers, errors before C can read astray."""

from __future__ import annotations

import inspect
import os
import platform
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import compile_in, run_python
from ufunc_magic.model import UnboundFunction
from ufunc_magic.runtime import Build, PlainFunction

SOURCE = """
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#define DIM 3
typedef struct { double x, y; void *unused; } point;
struct grid { int n[DIM]; point origin; };
enum mode { OFF, ON = 5 };
typedef enum mode mode;

/* The distance from the origin, squared. */
double norm2(point p) { return p.x*p.x + p.y*p.y; }
point swapped(point p) { point q = {p.y, p.x}; return q; }
void move(point *p, double by) { p->x += by; }
int cells(struct grid g) { int r = 1; for (int i = 0; i < DIM; i++) r *= g.n[i]; return r; }

double total(const double *x, int n) { double s = 0; for (int i = n; i--; ) s += x[i]; return s; }
void fill(double *x, long n, double value) { for (long i = 0; i < n; i++) x[i] = value; }
int32_t sum32(const int32_t *x, size_t n) { int32_t s = 0; while (n--) s += x[n]; return s; }
uint8_t largest(const uint8_t *x, int n)
{
    uint8_t m = 0;
    while (n--) if (x[n] > m) m = x[n];
    return m;
}
float first(const float *x, int n) { return x[n - n]; }
bool any(const bool *x, int n) { while (n--) if (x[n]) return true; return false; }
double corner(double (*m)[3], int n) { return m[n - 1][2]; }
void *same(void *p) { return p; }

int length(const char *text) { return (int)strlen(text); }
const char *greeting(int n) { return n ? "hello" : 0; }
double sum_of(int n, ...)
{
    va_list a;
    double s = 0;
    va_start(a, n);
    while (n--) s += va_arg(a, double);
    va_end(a);
    return s;
}
double twice(double (*f)(double), double x) { return f(f(x)); }
int answer(void *unused) { return 42; }
mode toggled(mode m, void *unused) { return m == ON ? OFF : ON; }
bool negated(bool b, void *unused) { return !b; }
"""


@pytest.fixture(scope="module")
def c(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, SOURCE)


def test_every_function_is_bound_and_none_is_a_ufunc(c: Build) -> None:
    assert {name for name, f in c.items() if isinstance(f, PlainFunction)} == set(c)
    assert len(c) == 19


def test_structs_go_in_and_come_out(c: Build) -> None:
    assert c.norm2({"x": 3, "y": 4}) == 25
    assert c.norm2((3, 4)) == 25
    q = c.swapped((1, 2))
    assert (q.x, q.y) == (2, 1)
    assert c.norm2(q) == 5
    p = c.move.ffi.new("point *", [1, 2])
    c.move(p, 10)
    assert p.x == 11
    assert c.cells({"n": [2, 3, 4], "origin": (0, 0)}) == 24


def test_array_stands_for_a_pointer_without_a_copy(c: Build) -> None:
    x = np.zeros(4)
    c.fill(x, 3, 7.5)
    assert x.tolist() == [7.5, 7.5, 7.5, 0]
    c.fill(x[1:], 2, 1)
    assert x.tolist() == [7.5, 1, 1, 0]
    assert c.total(x, 4) == 9.5
    assert int(c.same.ffi.cast("intptr_t", c.same(x))) == x.ctypes.data


def test_element_types_are_the_functions_own(c: Build) -> None:
    assert c.sum32(np.arange(5, dtype="i4"), 5) == 10
    assert c.largest(np.frombuffer(b"az", "u1"), 2) == ord("z")
    assert c.first(np.float32([1.5]), 1) == 1.5
    assert c.any(np.array([False, True]), 2) is True
    assert c.corner(np.arange(6.0).reshape(2, 3), 2) == 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.total(np.arange(3), 3), r"total\(\): x is an array of int64, but C needs double"),
        (lambda c: c.total(np.float32([1]), 1), "float32"),
        (lambda c: c.sum32(np.arange(3), 3), "int64, but C needs int32_t|int64, but C needs int"),
        (lambda c: c.largest(np.int8([1]), 1), "int8"),
        (lambda c: c.total(np.arange(3.0).astype(">f8"), 3), "byte order"),
        (lambda c: c.total(np.arange(3.0)), r"takes 2 arguments \(1 given\)"),
        (lambda c: c.answer(), r"takes 1 arguments? \(0 given\)"),
        (lambda c: c.norm2("text"), "initializer for ctype"),
        (lambda c: c.length(3), "initializer for ctype"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_arguments_of_another_type_are_refused(c: Build, call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call(c)


def test_arrays_that_c_would_misread_are_refused(c: Build) -> None:
    with pytest.raises(ValueError, match="not contiguous"):
        c.total(np.arange(10.0)[::2], 5)
    with pytest.raises(ValueError, match="not contiguous"):
        c.corner(np.arange(6.0).reshape(3, 2).T, 2)


def test_read_only_arrays_are_for_const_pointers_only(c: Build) -> None:
    x = np.arange(4.0)
    x.flags.writeable = False
    assert c.total(x, 4) == 6
    with pytest.raises(ValueError, match=r"fill\(\): x is read-only"):
        c.fill(x, 4, 0.0)
    assert x[3] == 3


def test_numpy_scalars_are_numbers(c: Build) -> None:
    assert c.total(np.ones(3), np.int64(2)) == 2
    x = np.zeros(1)
    c.fill(x, np.int32(1), np.float32(2.5))
    assert x[0] == 2.5


def test_strings_enums_and_booleans(c: Build) -> None:
    assert c.length(b"four") == 4
    assert c.greeting.ffi.string(c.greeting(1)) == b"hello"
    assert c.greeting(0) == c.greeting.ffi.NULL
    assert c.toggled(5, c.toggled.ffi.NULL) == 0
    assert c.negated(False, c.negated.ffi.NULL) is True


def test_varargs_and_function_pointers(c: Build) -> None:
    ffi = c.sum_of.ffi
    assert c.sum_of(2, ffi.cast("double", 1.5), ffi.cast("double", 2)) == 3.5
    square = c.twice.ffi.callback("double(double)", lambda x: x * x)
    assert c.twice(square, 3.0) == 81


def test_it_says_what_it_is_and_why_it_is_no_ufunc(c: Build) -> None:
    assert "double(*)(point)" in repr(c.norm2)
    assert "The distance from the origin" in (c.norm2.__doc__ or "")
    assert "struct" in c.norm2.reason
    assert str(inspect.signature(c.total)) == "(x, n, /)"
    assert c.answer.__name__ == "answer"
    assert "return 42" in c.answer.__source__


def test_type_that_cffi_cannot_read_is_a_note_and_not_the_end_of_the_cell() -> None:
    built = um.compile_c(
        "struct vector { float v __attribute__((vector_size(16))); };\n"
        "typedef struct { double x; void *unused; } one;\n"
        "float first(struct vector v) { return v.v[0]; }\n"
        "double second(one o) { return o.x; }\n"
        "double f(double x) { return x; }"
    )
    assert built.f(2.0) == 2
    assert built.second((3,)) == 3
    assert "first" not in built
    assert any(note.startswith("first can be neither a ufunc") for note in built.notes)


@pytest.mark.parametrize("kind", ["__float128", "_Decimal64", "unsigned __int128"])
def test_type_that_neither_numpy_nor_cffi_has_is_an_error_where_it_is_all(kind: str) -> None:
    with pytest.raises(um.SignatureError, match=f"f can be neither.*{kind}"):
        um.compile_c(f"{kind} f({kind} x) {{ return x; }}", guard=False, time=False)


def test_vector_type_alone_is_refused_by_name() -> None:
    with pytest.raises(um.SignatureError, match=r"'v4' .*number"):
        um.compile_c("typedef float v4 __attribute__((vector_size(16)));\nfloat first(v4 v) { return v[0]; }")


def test_struct_defined_in_a_local_header_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "point.h").write_text("typedef struct { double x, y; void *unused; } point;\n")
    monkeypatch.chdir(tmp_path)
    built = um.compile_c('#include "point.h"\ndouble norm2(point p) { return p.x*p.x + p.y*p.y; }')
    assert built.norm2((3, 4)) == 25


def test_without_cffi_only_plain_functions_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Python 3.13 without a GIL, for which it has no build."""
    monkeypatch.setitem(sys.modules, "cffi", None)
    built = um.compile_c("double without_cffi(double x) { return x; }\nvoid *no_ufunc(void *p) { return p; }")
    assert [*built] == ["without_cffi"]
    assert "no_ufunc" in "\n".join(built.notes)
    assert "needs cffi" in "\n".join(built.notes)


# --------------------------------------------------------------------------------------- calls are contained

CONTAINED = """\
#include <assert.h>
#include <stdlib.h>
#include <string.h>
void put(double *x, long k, double v) { x[k] = v; }
void read_table(const char *path, double *out) { if (path[0] == '/') exit(3); out[0] = 1; }
int positive(const double *x, int n, char *why)
{
    assert(n > 0);
    why[0] = 0;
    return n;
}
int quotient(int a, int b, char *why) { return a / b; }
int deep(int n, volatile char *s)
{
    volatile char big[1000];
    big[n % 1000] = s[0];
    return deep(n + 1, big) + big[3];
}
size_t length(char *s) { return strlen(s); }
double apply(double (*f)(double), double x, char *why) { return f(x); }
struct pair { double x, y; };
struct pair *swapped(struct pair *p) { double x = p->x; p->x = p->y; p->y = x; return p; }
double of_many(int n, ...) { return n; }
"""

contained = pytest.mark.skipif(os.name != "posix", reason="calls are contained where there are POSIX signals")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return compile_in(tmp_path_factory.mktemp("cache"), CONTAINED)


@pytest.mark.slow
@contained
@pytest.mark.parametrize(
    ("name", "arguments", "fault", "says"),
    [
        ("put", (np.zeros(3), 10**12, 1.0), um.CellCrashed, r"put (wrote|read or wrote) out of bounds"),
        ("read_table", (b"/nowhere", np.zeros(1)), um.CellExited, r"read_table called exit\(3\)\."),
        ("positive", (np.zeros(1), 0, b"why"), um.CellAssertionError, "`n > 0' failed: positive, on line 8 of <c>."),
        ("deep", (1, b"s"), um.CellCrashed, "deep overflowed the stack"),
        ("length", (None,), um.CellCrashed, "length followed a null pointer"),
        ("apply", (None, 1.0, b"why"), um.CellCrashed, "apply followed a null pointer"),
    ],
)
def test_what_ends_a_call_does_not_end_the_process(
    plain: Any, name: str, arguments: tuple[Any, ...], fault: type[Exception], says: str
) -> None:
    function = plain[name]
    ffi = function.ffi
    given = [ffi.NULL if a is None else ffi.new("char[]", a) if isinstance(a, bytes) else a for a in arguments]
    with pytest.raises(fault, match=says):
        function(*given)
    x = np.zeros(3)
    plain.put(x, 1, 2.0)
    assert x.tolist() == [0, 2, 0]


@contained
@pytest.mark.skipif(platform.machine() in ("aarch64", "arm64"), reason="arm64 divides integers by zero, to 0")
def test_division_by_zero_in_any_thread_is_an_exception(plain: Any) -> None:
    faults: list[Exception] = []

    def work() -> None:
        try:
            plain.quotient(1, 0, plain.quotient.ffi.NULL)
        except um.CellCrashed as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(faults) == 3


def test_contained_calls_take_and_give_what_the_functions_do(plain: Any) -> None:
    pair = plain.swapped.ffi.new("struct pair *", [1, 2])
    assert plain.swapped(pair) == pair
    assert (pair.x, pair.y) == (2, 1)
    twice = plain.apply.ffi.callback("double(double)", lambda x: 2 * x)
    assert plain.apply(twice, 3.0, plain.apply.ffi.NULL) == 6
    assert plain.of_many(3) == 3
    assert plain.length(plain.length.ffi.new("char[]", b"four")) == 4


@pytest.mark.slow
@contained
def test_interrupt_ends_an_endless_plain_function() -> None:
    program = (
        "import os, signal, threading, numpy as np, ufunc_magic as um\n"
        "f = um.compile_c('long wait(volatile long *p, char *why) { while (!p[0]) ; return p[0]; }').wait\n"
        "assert f(np.ones(1, 'l'), f.ffi.NULL) == 1\n"
        "threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n    f(np.zeros(1, 'l'), f.ffi.NULL)\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
        "print(f(np.ones(1, 'l'), f.ffi.NULL))\n"
    )
    done = run_python(program, code=None)
    assert done.stdout == "interrupted\n1\n", done.stderr


@contained
def test_exceptions_of_cplus_reach_python() -> None:
    text = """
        #include <stdexcept>
        namespace phys {
        double at(const double *x, int n, char *why)
        {
            if (n < 0) throw std::invalid_argument("n is negative");
            return x[n];
        }
        }
        struct pair { double x, y; };
        double far(pair *p) noexcept { return p[1L << 40].x; }
    """
    for arguments in ([], ["-std=c++14"]):
        built = um.compile_c(text, cplus=True, compile_args=arguments)
        assert built.at(np.arange(3.0), 2, built.at.ffi.NULL) == 2
        if not arguments:  # older standards have no templates for it
            with pytest.raises(ValueError, match="n is negative"):
                built.at(np.arange(3.0), -1, built.at.ffi.NULL)
            with pytest.raises(um.CellCrashed, match=r"far read (or wrote )?out of bounds"):
                built.far(built.far.ffi.new("pair *"))


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            'template <class T> void show(const char *s, T v) {}\ndouble f(double x) { show("x", x); return x; }',
            "show is a template that cannot be a ufunc ('s' is a string): nothing is made of it alone",
        ),
        (
            "int g(int x) { return x; }\nint g(int x, int y) { return x + y; }\ndouble f(double x) { return x; }",
            "g on line 2 is overloaded and cannot be a ufunc (has other inputs, outputs or core dimensions than g on "
            "line 1): give it a name of its own",
        ),
        (
            "void g(char *s) {}\nvoid g(char **s) {}\ndouble f(double x) { return x; }",
            "g on line 2 is overloaded and cannot be a ufunc ('s' is a pointer to pointers): give it a name of its own",
        ),
    ],
    ids=["template", "other inputs", "pointers"],
)
def test_a_template_or_an_overload_keeps_no_other_function_from_being_bound(text: str, note: str) -> None:
    built = um.compile_c(text.replace("\\n", "\n"), cplus=True)
    assert note in built.notes
    assert built.f(2.0) == 2


def test_an_overload_comes_before_an_instance_of_a_template() -> None:
    text = "template <class T> T f(T x) { return x * 3; }\nfloat f(float x) { return 1; }"
    f = um.compile_c(text, cplus=True).f
    assert (f.types, f(np.float32(2)), f(2.0)) == (["i->i", "l->l", "f->f", "d->d"], 1, 6)


def test_of_overloads_that_are_no_ufuncs_the_first_is_bound() -> None:
    text = "int g(char *s) { return s[0]; }\nint g(char *s, char *t) { return t[0]; }\n"
    built = um.compile_c(text, cplus=True)
    assert built.g(built.g.ffi.new("char[]", b"A")) == 65


@pytest.mark.filterwarnings("ignore:'enum here' has no values:UserWarning")  # to cffi
def test_a_type_without_a_name_behind_the_cell_keeps_nothing_from_being_bound() -> None:
    built = um.compile_c("int f(char *s, enum here { a, b } x) { return s[0] + x; }\nint g(char *s) { return s[0]; }")
    assert built.g(built.g.ffi.new("char[]", b"A")) == 65


def test_references_of_cplus_are_pointers() -> None:
    built = um.compile_c(
        """
        #include <cstddef>
        #include <string>
        using namespace std;
        struct point { double x, y; };
        double far(const point &p, const char *why) { return p.x; }
        double near(const double &x, std::size_t n, const char *why) { return x * n; }
        double height(const point p, const char *why) { return p.y; }
        double length(const basic_string<char> &s) { return s.size(); }
        """,
        cplus=True,
    )
    nothing = built.far.ffi.NULL
    point = built.far.ffi.new("point *", [3, 4])
    assert built.far(point, nothing) == 3
    assert built.height(point[0], nothing) == 4
    assert built.near(np.array([2.5]), 2, nothing) == 5
    assert built.near.prototype == "double (*)(const double *, size_t, const char *)"
    assert "length" not in built
    assert any(note.startswith("length can be neither a ufunc") and "(cffi: " in note for note in built.notes)


def test_enumerations_are_integers_in_cplus_as_well() -> None:
    built = um.compile_c(
        """
        #include <cstdint>
        enum class Mode : uint8_t { on, off };
        enum Color { red, green };
        double apply(double x, Mode m) { return m == Mode::on ? x : -x; }
        int next(Color c) { return c + 1; }
        Mode other(Mode m) { return m == Mode::on ? Mode::off : Mode::on; }
        """,
        cplus=True,
    )
    assert built.apply([1.0, 2.0], [0, 1]).tolist() == [1, -2]
    assert built.next([0, 1]).tolist() == [1, 2]
    assert built.other.types == ["B->B"]
    assert built.other(np.array([0, 1], "u1")).tolist() == [1, 0]


def test_a_type_that_numpy_has_not_keeps_no_other_function_from_being_bound() -> None:
    text = "typedef float v4 __attribute__((vector_size(16)));\nfloat first(v4 v) { return v[0]; }\n"
    text += "v4 twice(v4 v) { return v + v; }\n"
    built = um.compile_c(f"{text}double f(double x) {{ return x; }}")
    assert built.f(2.0) == 2
    assert repr(built) == "<Build <c>: f d->d; not bound: first, twice>"
    with pytest.raises(UnboundFunction, match=r"first .*'v4'.* line 2"):
        built.first
