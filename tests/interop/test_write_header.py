"""Compiled functions in programs of C and C++ that have no Python: headers and libraries of write_header."""

from __future__ import annotations

import io
import math
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

import ufunc_magic as um
from ufunc_magic import runtime
from ufunc_magic.interop.hosts import elf_names as elfnames, write_header
from ufunc_magic.runtime import Build, LoadedObject

pytestmark = [
    pytest.mark.usefixtures("shared_cache"),
    pytest.mark.skipif(not shutil.which("cc") or not shutil.which("c++"), reason="no cc and c++ here"),
]

CURVE = """
#include <math.h>
/* The curve's height. */
double curve(double a) { return a < 0.5 ? 4*a + exp(-a) : log(a); }
void both(double x, double *s, double *c) { *s = sin(x); *c = cos(x); }
// ufunc: (n),(n)->()
double dot(const double *x, const double *y, int n)
{ double s = 0; for (int i = 0; i < n; i++) s += x[i]*y[i]; return s; }
// ufunc: (m,n)->(n)
void columns(const double *x, int m, int n, double *sums)
{ for (int j = 0; j < n; j++) for (int i = 0; i < m; i++) sums[j] += x[i*n + j]; }
struct point { double x, y; };
double norm(struct point v, double (*unused)(double), const double shift[2])
{ return hypot(v.x + shift[0], v.y + shift[1]) + (unused ? unused(0) : 0); }
"""
TWICE = "T twice(T x) { return 2*x; }\nT curve(T x) { return 3*x; }\n"


def printed(folder: Path, program: str, *libraries: str, language: str = "c") -> list[str]:
    """What a program of C or C++ prints, linked with libraries of ``folder``; warnings are errors."""
    source = folder / f"main.{language}"
    source.write_text(f"#include <stdio.h>\n{program}")
    compiler = ["cc", "-std=c99"] if language == "c" else ["c++", "-std=c++17"]
    linked = [f"-L{folder}", *(f"-l{name}" for name in libraries), f"-Wl,-rpath,{folder}"]
    command = [
        *compiler,
        "-Wall",
        "-Wextra",
        "-pedantic",
        "-Werror",
        f"-I{folder}",
        str(source),
        "-o",
        f"{folder}/main",
    ]
    made = subprocess.run([*command, *linked], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return subprocess.run([folder / "main"], capture_output=True, text=True, check=True, env={}).stdout.split()


def test_c_program_gets_the_same_values_as_python(tmp_path: Path) -> None:
    b = um.compile_c(CURVE)
    assert write_header(b, tmp_path / "shapes.h") == (tmp_path / "shapes.h", tmp_path / "libshapes.so")
    x = [0.25, 0.5, 3.0, -1.0, 0.1]
    program = """
    #include "shapes.h"
    int main(void) {
        const double x[] = {0.25, 0.5, 3.0, -1.0, 0.1}, m[] = {1, 2, 3, 4, 5, 6}, shift[2] = {1, 1};
        double y[5], s, c, sums[3];
        curve_array(x, y, 5);
        for (int i = 0; i < 5; i++) printf("%.17g %.17g\\n", curve(x[i]), y[i]);
        both(1.0, &s, &c);
        columns(m, 2, 3, sums);
        struct point v = {2, 3};
        printf("%.17g %.17g %g %g %g %g %g\\n", s, c, dot(x, m, 5), sums[0], sums[1], sums[2], norm(v, NULL, shift));
    }"""
    *curve, s, c, dot, a, b_, c_, norm = map(float, printed(tmp_path, program, "shapes"))
    np.testing.assert_array_max_ulp(np.array(curve[1::2]), b.curve(np.array(x)), 1)
    np.testing.assert_array_max_ulp(np.array(curve[::2]), b.curve(np.array(x)), 4)
    np.testing.assert_allclose([s, c], b.both(1.0), rtol=1e-15)
    assert dot == pytest.approx(float(b.dot(x, [1.0, 2, 3, 4, 5])), rel=1e-5)
    assert (a, b_, c_, norm) == (5, 7, 9, 5)


def test_sizes_that_are_computed_or_numbers_are_no_parameters(tmp_path: Path) -> None:
    b = um.compile_c("""
// ufunc: (),(),()->(k)
void line(double a, double b, double *y, int k) { for (int i = 0; i < k; i++) y[i] = a + b * i; }
// ufunc: (n)->(n*(n-1)//2,2)
void pairs(const double *x, int n, double *y) {
    for (int i = 0; i < n; i++) for (int j = 0; j < i; j++, y += 2) y[0] = x[j], y[1] = x[i];
}
""")
    write_header(b, tmp_path / "sized.h")
    program = """
    #include "sized.h"
    int main(void) {
        const double x[] = {1, 2, 3};
        double y[3], z[6];
        line(1, 2, 3, y);
        pairs(x, 3, z);
        printf("%g %g %g %g %g %g %g %g %g\\n", y[0], y[1], y[2], z[0], z[1], z[2], z[3], z[4], z[5]);
    }"""
    assert printed(tmp_path, program, "sized") == ["1", "3", "5", "1", "2", "1", "3", "2", "3"]


def test_comment_of_a_function_stands_in_the_header(tmp_path: Path) -> None:
    header, _ = write_header(um.compile_c(CURVE), tmp_path / "shapes.h")
    assert "/* The curve's height. */\nstatic inline double curve(double a_)\n" in header.read_text()


def test_comment_in_a_comment_is_none_in_the_header(tmp_path: Path) -> None:
    write_header(um.compile_c("// see /* and */ and /*/\ndouble same(double a) { return a; }"), tmp_path / "same.h")
    assert "/* see / * and * / and / * / */" in (tmp_path / "same.h").read_text()
    program = '#include "same.h"\nint main(void) { printf("%g", same(2)); return 0; }'
    assert printed(tmp_path, program, "same") == ["2"]


@pytest.mark.slow
def test_types_of_the_systems_headers_are_known_to_the_program(tmp_path: Path) -> None:
    cell = """
#include <stdint.h>
#include <stdio.h>
#include <time.h>
typedef struct { uint16_t a[3]; float b; } record;
record made(void) { record r = {{1, 2, 3}, 4}; return r; }
uint32_t year(const struct tm *t, void *data) { (void)data; return 1900 + t->tm_year; }
void say(FILE *to, int64_t n) { fprintf(to, "%d ", (int)n); fflush(to); }
"""
    write_header(um.compile_c(cell), tmp_path / "known.h")
    program = """
    #include "known.h"
    int main(void) {
        struct tm t = {0};
        say(stdout, 7);
        printf("%d %u", made().a[2], year(&t, 0));
        return 0;
    }"""
    for language in ("c", "cpp"):
        program = program if language == "c" else program.replace("= {0}", "= {}")
        assert printed(tmp_path, program, "known", language=language) == ["7", "3", "1900"]


@pytest.mark.slow
def test_what_c_has_no_words_for_is_only_named(tmp_path: Path) -> None:
    cell = """
#include <string>
struct span { double low, high; double length() const { return high - low; } };
double length(span s) { return s.length(); }
std::string text(int n) { return std::to_string(n); }
double half(double constexpr_, double nullptr_) { return (constexpr_ + nullptr_) / 2; }
"""
    write_header(um.compile_c(cell, cplus=True), tmp_path / "words.h")
    said = (tmp_path / "words.h").read_text()
    assert "/* text, std::string (*)(int), is " in said
    assert "/* length, double (*)(span), is " in said
    program = '#include "words.h"\nint main(void) { printf("%g", half(2, 4)); return 0; }'
    for language in ("c", "cpp"):
        assert printed(tmp_path, program, "words", language=language) == ["3"]


def test_function_that_returns_one_is_only_named(tmp_path: Path) -> None:
    cell = "double same(double a) { return a; }\nint (*picked(int n))(int) { (void)n; return 0; }\n"
    write_header(um.compile_c(cell), tmp_path / "pick.h")
    program = '#include "pick.h"\nint main(void) { printf("%g", same(2)); return 0; }'
    assert printed(tmp_path, program, "pick") == ["2"]


def test_names_that_only_cpp_keeps_for_itself_are_not_taken(tmp_path: Path) -> None:
    write_header(um.compile_c("double first(double nullptr, double not) { return nullptr; }"), tmp_path / "first.h")
    program = '#include "first.h"\nint main() { printf("%g", first(2, 3)); return 0; }'
    assert printed(tmp_path, program, "first", language="cpp") == ["2"]


def test_two_libraries_keep_their_own_functions(tmp_path: Path) -> None:
    write_header(um.compile_c(CURVE), tmp_path / "shapes.h")
    write_header(um.compile_c(TWICE, types="f4,f8"), tmp_path / "scales.h")
    program = """
    #include "shapes.h"
    #include "scales.h"
    int main(void) { printf("%g %g %g", curve(0.25) - curve(0.25), curve_d(0.25), twice_f(4)); }"""
    for order in (("shapes", "scales"), ("scales", "shapes")):
        assert printed(tmp_path, program, *order) == ["0", "0.75", "8"]


def test_library_exports_nothing_under_the_name_of_anothers(tmp_path: Path) -> None:
    libraries = [
        write_header(um.compile_c(source, types="f4,f8"), tmp_path / f"{name}.h")[1]
        for name, source in (("one", TWICE), ("two", TWICE))
    ]
    one, two = (set(elfnames.list_exported(library.read_bytes())) for library in libraries)
    assert one & two == set()


def test_functions_of_cpp_serve_c(tmp_path: Path) -> None:
    b = um.compile_c("template <class T> T square(T x) { return x*x; }", cplus=True, types="i4,f8")
    write_header(b, tmp_path / "square.h")
    program = '#include "square.h"\nint main(void) { printf("%d %g", square_i(-7), square_d(1.5)); return 0; }'
    assert printed(tmp_path, program, "square") == ["49", "2.25"]


def test_emulated_cuda_serves_c(tmp_path: Path) -> None:
    b = um.compile_cuda("__device__ float grow(float x) { return fmaxf(x, 1.0f) * 2; }", device="cpu")
    write_header(b, tmp_path / "grow.h")
    assert printed(tmp_path, '#include "grow.h"\nint main(void) { printf("%g", grow(3)); return 0; }', "grow") == ["6"]


@pytest.mark.numba
def test_functions_of_numba_serve_c(tmp_path: Path) -> None:
    numba = pytest.importorskip("numba", reason="Numba is not installed")

    @numba.vectorize(["f8(f8)"])
    def bent(x: float) -> float:
        return math.sin(x) + 1

    found = runtime.find_origin(um.from_numba(bent))
    assert found is not None
    build = runtime.find_loaded(found.object_code)
    assert build is not None
    write_header(build, tmp_path / "bent.h")
    program = '#include "bent.h"\nint main(void) { printf("%.17g", bent(0.5)); return 0; }'
    assert printed(tmp_path, program, "bent") == [f"{math.sin(0.5) + 1:.17g}"]


def test_prefix_keeps_names_of_the_c_library_free(tmp_path: Path) -> None:
    b = um.compile_c("double gamma(double x) { return x + 1; }\nint where(int register_, int n) { return n; }")
    write_header(b, tmp_path / "mine.h", prefix="my_")
    program = """
    #include <math.h>
    #include "mine.h"
    int main(void) { printf("%g %d", my_gamma(2), my_where(1, 2)); return 0; }"""
    assert printed(tmp_path, program, "mine") == ["3", "2"]


def test_every_type_has_its_name(tmp_path: Path) -> None:
    types = "b1,i1,u1,i2,u2,i4,u4,i8,u8,f4,f8,g"
    write_header(um.compile_c("T id(T x) { return x; }", types=types), tmp_path / "id.h")
    program = """
    #include "id.h"
    int main(void) {
        printf("%d %d %d %d %d %d %u ", id_b1(1), id_b(-2), id_B(200), id_h(-3), id_H(4), id_i(-5), id_I(6));
        printf("%lld %llu ", (long long)id_q(-7), (unsigned long long)id_Q(8));
        printf("%g %g %Lg", id_f(0.5f), id_d(0.25), id_g(0.125L));
        return 0;
    }"""
    assert printed(tmp_path, program, "id") == "1 -2 200 -3 4 -5 6 -7 8 0.5 0.25 0.125".split()


def test_library_can_be_written_anew_while_a_program_has_it_open(tmp_path: Path) -> None:
    first = write_header(um.compile_c(CURVE), tmp_path / "shapes.h")[1]
    before = first.stat().st_ino
    again = write_header(um.compile_c(TWICE, types="f8"), tmp_path / "shapes.h")[1]
    assert again.stat().st_ino != before
    assert sorted(p.name for p in tmp_path.iterdir() if "shapes" in p.name) == ["libshapes.so", "shapes.h"]


def test_renamed_symbols_are_found_by_readers_of_elf(tmp_path: Path) -> None:
    code = um.compile_c(CURVE).object_code.code
    made, given = elfnames.rename_symbols(code, ["__ufm_loops", "__ufm_host", "no_such_name"], seed="a")
    assert given.keys() == {"__ufm_loops", "__ufm_host"}
    assert {given.get(name, name) for name in elfnames.list_exported(code)} == set(elfnames.list_exported(made))
    table = ELFFile(io.BytesIO(made)).get_section_by_name(".gnu.hash")
    assert [table.get_symbol(name).name for name in given.values()] == list(given.values())
    assert (table.get_symbol("__ufm_loops"), len(made)) == (None, len(code))
    assert elfnames.rename_symbols(code, ["__ufm_loops"], seed="b")[1]["__ufm_loops"] != given["__ufm_loops"]


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("my-shapes.h", um.SignatureError, "'my-shapes' is not a C identifier."),
        ("3d.h", um.SignatureError, "'3d' is not a C identifier."),
    ],
)
def test_name_that_c_does_not_take_is_refused(name: str, error: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        write_header(um.compile_c(CURVE), tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


def test_extension_module_is_refused(tmp_path: Path) -> None:
    b = um.compile_c(TWICE, types="f8")
    module = Build(LoadedObject(replace(b.object_code, module="cell")), "cell")
    with pytest.raises(um.TargetError, match=r"(?s)extension module.*embed\.hpp"):
        write_header(module, tmp_path / "f.h")
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


def test_what_is_no_elf_library_is_refused() -> None:
    with pytest.raises(um.TargetError, match="not an ELF library"):
        elfnames.rename_symbols(b"MZ not ELF", ["x"], seed="")
