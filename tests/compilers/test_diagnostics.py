"""Compilers' and linkers' words become diagnostics on the cell's lines."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ufunc_magic.compilers import GENERATED, find_header, read_linker, shorten
from ufunc_magic.compilers.diagnostics import read_compiler
from ufunc_magic.compilers.hints import advise, find_libraries
from ufunc_magic.model import Diagnostic

NAME = "In[3]"


def read(output: str, cell: str = "") -> tuple[Diagnostic, ...]:
    return read_compiler(output, name=NAME, cell=cell)


def link(output: str, cell: str = "") -> tuple[Diagnostic, ...]:
    return read_linker(output, name=NAME, cell=cell)


def test_a_gcc_error_carries_place_source_line_and_option():
    cell = "\ndouble f(double x) { return foo(x); }"
    (found,) = read(
        "In[3]: In function 'f':\n"
        "In[3]:2:29: error: implicit declaration of function 'foo' [-Werror=implicit-function-declaration]\n"
        "cc1: some warnings being treated as errors\n",
        cell,
    )
    assert str(found) == (
        "In[3]:2:29: error: implicit declaration of function 'foo' [-Wimplicit-function-declaration]\n"
        "  double f(double x) { return foo(x); }\n"
        "                              ^\n"
        "  hint: Define foo above its first use, or include the header that declares it."
    )


def test_clang_carets_and_counts_are_not_messages():
    output = (
        "In[3]:1:15: error: use of undeclared identifier 'bar'\n"
        "    1 | double f(void) { return bar; }\n"
        "      |                         ^~~\n"
        "In[3]:1:3: error: implicit [-Werror,-Wimplicit-function-declaration]\n"
        "1 warning and 2 errors generated.\n"
    )
    assert [(d.line, d.column, d.option) for d in read(output, "double f(void) { return bar; }")] == [
        (1, 15, ""),
        (1, 3, "-Wimplicit-function-declaration"),
    ]


def test_byte_columns_become_character_columns():
    cell = "double f(double é) { return é + foo; }"
    column = len("double f(double é) { return é + ".encode()) + 1
    (found,) = read(f"In[3]:1:{column}: error: 'foo' undeclared (first use in this function)", cell)
    assert found.column == cell.index("foo") + 1


def test_tabs_before_the_caret_stay_tabs():
    cell = "\tint\tg(T x);"
    (found,) = read("In[3]:1:8: error: unknown type name 'T'", cell)
    assert str(found).splitlines()[2] == "  \t   \t  ^"


@pytest.mark.parametrize(
    "said",
    ["note: '#pragma message: slow here'", "warning: slow here [-W#pragma-messages]"],
    ids=["gcc", "clang"],
)
def test_message_of_a_pragma_is_a_warning_of_its_own(said):
    shown = read(f"In[3]:1:1: warning: unused variable 'y' [-Wunused-variable]\nIn[3]:2:9: {said}\n")
    assert [(d.severity, d.line) for d in shown] == [("warning", 1), ("warning", 2)]
    assert "slow here" in shown[1].message


def test_errors_come_before_warnings_with_their_notes():
    output = (
        "In[3]:1:1: warning: unused variable 'y' [-Wunused-variable]\n"
        "In[3]:1:1: note: declared here\n"
        "In[3]:5:1: error: expected ';' before '}' token\n"
        "In[3]:4:1: note: to match this '{'\n"
    )
    assert [(d.severity, d.line) for d in read(output)] == [("error", 5), ("note", 4), ("warning", 1), ("note", 1)]


def test_chatter_is_dropped():
    output = (
        "In[3]:1:73: error: 'M_PI' undeclared (first use in this function)\n"
        "In[3]:1:73: note: each undeclared identifier is reported only once for each function it appears in\n"
    )
    assert len(read(output)) == 1


def test_a_macro_chain_is_one_note_at_the_place_the_user_wrote():
    output = (
        "In[3]:1:20: error: 'y' undeclared (first use in this function)\n"
        "In[3]:2:16: note: in expansion of macro 'A'\n"
        "In[3]:3:28: note: in expansion of macro 'B'\n"
    )
    error, note = read(output, "#define A (1 + y)\n#define B A\ndouble f(void) { return B; }")
    assert (error.line, note.line, note.message) == (1, 3, "through macro B")


def test_an_error_in_a_macro_of_the_command_line_is_placed_where_the_cell_uses_it():
    # As gcc 12 prints it, with -DN=3.
    (found,) = read(
        "<command-line>: error: expected '>' before numeric constant\nIn[3]:1:27: note: in expansion of macro 'N'\n",
        "template <typename T, int N> T times(T x) { return x * N; }",
    )
    assert (found.file, found.line, found.column) == (NAME, 1, 27)
    assert found.message == "expected '>' before numeric constant"


def test_a_name_that_types_renames_is_shown_as_written_at_the_cells_place():
    output = (
        "<ufunc_magic>:40:11: error: redefinition of '__ufm_f4_logit'\nIn[3]:2:3: note: in expansion of macro 'logit'\n"
    )
    (found,) = read(output, "T logit(T x);\nT logit(T x) {}")
    assert (found.file, found.line, found.message) == (NAME, 2, "redefinition of 'logit'")


def test_the_same_error_for_several_types_is_said_once():
    line = "In[3]:1:1: error: unknown type name 'q'\n"
    assert len(read(line * 3)) == 1


@pytest.mark.parametrize("file", [GENERATED, "<stdin>", "zzc/l/tmp/631d8-stdin.c"])
def test_errors_in_generated_code_say_so_and_warnings_there_are_not_shown(file):
    (found,) = read(f"{file}:9:1: error: incompatible types\n{file}:3:1: warning: unused variable 'x'\n")
    assert (found.file, found.line) == (GENERATED, 0)
    assert "generates around the cell" in found.hint


def test_an_error_in_a_header_names_the_line_that_includes_it():
    output = "In file included from In[3]:2:\nmine.h:7:3: error: expected ';' before 'x'\n"
    error, note = read(output, '\n#include "mine.h"')
    assert (error.file, error.line, note.line, note.text) == ("mine.h", 7, 2, '#include "mine.h"')


def test_options_the_driver_refuses_are_errors():
    (found,) = read("gcc: error: unrecognized command-line option '-fnonsense'\n")
    assert (found.severity, found.message) == ("error", "unrecognized command-line option '-fnonsense'")


def test_an_internal_compiler_error_is_the_compilers():
    (found,) = read("In[3]:3:4: internal compiler error: Segmentation fault\n", "a\nb\nc")
    assert found.severity == "error"
    assert "the compiler itself failed" in found.message


def test_characters_gcc_escapes_in_the_c_locale_are_shown():
    (found,) = read(r"In[3]:1:1: error: '\U000000e9' undeclared (first use in this function)")
    assert found.message.startswith("'é' undeclared")


def test_a_line_of_a_megabyte_is_not_shown_whole():
    (found,) = read("In[3]:1:500000: error: expected ';'", "x" * 1_000_000)
    assert (found.text, found.column) == ("", 500000)


def test_more_than_ten_are_counted():
    many = tuple(Diagnostic("error", f"e{n}") for n in range(13))
    shown = shorten(many)
    assert len(shown) == 11
    assert shown[-1].message == "... and 3 more"


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("implicit declaration of function 'sin'", "#include <math.h>"),
        ("call to undeclared library function 'expf' with type 'float (float)'; ISO C99", "#include <math.h>"),
        ("'M_PI' undeclared (first use in this function)", "#include <math.h>"),
        ("use of undeclared identifier 'DBL_EPSILON'", "#include <float.h>"),
        ("'printf' was not declared in this scope", "#include <stdio.h>"),
        ("unknown type name 'uint8_t'", "#include <stdint.h>"),
        ("unknown type name 'bool'", "#include <stdbool.h>"),
        ("'I' undeclared (first use in this function)", "#include <complex.h>"),
        ("unknown type name 'T'", "--types f4,f8"),
        ("'T' does not name a type", "--types f4,f8"),
        ("unknown type name 'namespace'", "-+"),
        ("'std' undeclared (first use in this function)", "-+"),
        ("nothere.h: No such file or directory", "-I FOLDER"),
        ("'nothere.h' file not found", "-I FOLDER"),
        ("vector: No such file or directory", "-+"),
        ("expected ';' before '}' token", "the missing ;"),
        ("expected ';', ',' or ')' before '{' token", "the missing )"),
        ("expected ';', ',' or ')' before '=' token", "-+"),
        ("'vector' was not declared in this scope", "#include <vector> at the top of the cell, and write std::vector."),
        ("unknown type name 'import'", "This is Python."),
        ("ignoring '#pragma omp simd' [-Wunknown-pragmas]", "--parallel"),
        ("invalid operands to binary ^ (have 'double' and 'double')", "pow(x, y)"),
        ("implicit declaration of function 'gsl_sf_bessel_J0'", "-l gsl -l gslcblas"),
        ("implicit declaration of function 'omp_get_thread_num'", "--parallel"),
        ("conflicting types for 'gamma'; have 'float(float)'", "rename"),
        ("'accumulate' is not a member of 'std'", "Add #include <numeric> at the top of the cell."),
        ("'sqrt' is not a member of 'std'", "Add #include <cmath> at the top of the cell."),
        ("'complex' is not a member of 'std'", "Add #include <complex> at the top of the cell."),
        ("'size_t' in namespace 'std' does not name a type", "Add #include <cstddef> at the top of the cell."),
        ("no member named 'sort' in namespace 'std'", "Add #include <algorithm> at the top of the cell."),
        ("'sort' was not declared in this scope; did you mean 'short'?", "#include <algorithm>"),
        ("use of undeclared identifier 'string'", "and write std::string."),
    ],
)
def test_hints_are_specific(message, advice):
    assert advice in advise(message)


def test_unknown_messages_get_no_hint():
    assert advise("the moon is full") == ""


def test_some_advice_depends_on_the_line():
    message = "expected '=', ',', ';', 'asm' or '__attribute__' before '<' token"
    assert (advise(message, line="template <class T>"), advise(message, line="T<3> x")) == (
        "This is C++. Compile the cell with -+",
        "",
    )
    message = "invalid type argument of unary '*' (have 'double')"
    assert (advise(message, line="x**2"), advise(message, line="*x")) == ("C has no ** operator. Write pow(x, y).", "")


def test_names_lead_to_headers_and_libraries():
    assert (find_header("tgammal"), find_header("int32_t"), find_header("nothing")) == ("math.h", "stdint.h", "")
    assert (find_libraries("cblas_ddot"), find_libraries("nothing")) == ("-l openblas", "")


GNU_UNDEFINED = """/usr/bin/ld: /tmp/cc2Ynn7l.o: in function `h':
<stdin>:(.text+0x1): undefined reference to `gsl_sf_bessel_J0'
collect2: error: ld returned 1 exit status
"""
LLD_UNDEFINED = """ld.lld: error: undefined symbol: gsl_sf_bessel_J0
>>> referenced by In[3]:1
"""
APPLE_UNDEFINED = """Undefined symbols for architecture arm64:
  "_gsl_sf_bessel_J0", referenced from:
      _h in x.o
ld: symbol(s) not found for architecture arm64
"""


@pytest.mark.parametrize("output", [GNU_UNDEFINED, LLD_UNDEFINED, APPLE_UNDEFINED])
def test_an_undefined_symbol_is_placed_at_its_use_with_its_library(output):
    cell = "double gsl_sf_bessel_J0(double);\ndouble h(double x) { return gsl_sf_bessel_J0(x); }"
    (found,) = link(output, cell)
    assert (found.line, found.column) == (2, 29)
    assert found.hint == "Link with -l gsl -l gslcblas"


@pytest.mark.parametrize(
    "cell",
    [
        '// dup("it\'s") /* not here */\nchar *s = "dup";\nint f(int x) { return dup(x); }',
        "# dup(x)  # it's\nname = 'dup'\ndef f(int x): return dup(x)",
    ],
)
def test_an_undefined_symbol_is_not_placed_in_a_comment_or_a_string(cell):
    (found,) = link("/tmp/cell.so: undefined symbol: dup", cell)
    assert found.line == 3


@pytest.mark.parametrize(
    "output",
    [
        "/usr/bin/ld: cannot find -lfoo: No such file or directory\n",
        "ld.lld: error: unable to find library -lfoo\n",
        "ld: library not found for -lfoo\n",
        "ld: library 'foo' not found\n",
        'error: unable to find dynamic system library "foo" using strategy paths_first. searched paths:\n',
    ],
)
def test_a_missing_library_is_named(output):
    (found,) = link(output)
    assert found.message == "library 'foo' not found"
    assert "-L FOLDER" in found.hint


def test_a_symbol_defined_twice_is_placed():
    output = "extra.c:(.text+0x0): multiple definition of `dup'; /tmp/c.o:<stdin>:(.text+0x10): first defined here\n"
    (found,) = link(output, "int x;\nint dup(int x) { return x; }")
    assert (found.line, found.message) == (2, "'dup' is defined twice")


@given(st.text(), st.text())
def test_no_text_breaks_the_reader(output, cell):
    assert all(d.severity in ("error", "warning", "note") for d in read(output, cell) + link(output, cell))


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.text(max_size=40))
def test_no_place_breaks_the_reader(line, column, cell):
    (found,) = read(f"In[3]:{line}:{column}: error: bad", cell)
    assert str(found)


def test_hostile_output_is_read():
    """What takes quadratic time here takes hours."""
    read("In[3]:" * 200_000 + "\n" + "x" * 2_000_000, "")
    link("x" * 2_000_000, "(" * 1_000_000)
