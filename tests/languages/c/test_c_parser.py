"""What is read from the text of a cell."""

from __future__ import annotations

import shutil
import subprocess
import textwrap

import pytest
from hypothesis import given, settings, strategies as st

from ufunc_magic.languages.c import CText, c_text as ctext, parse, parse_cell
from ufunc_magic.model import Function, Parameter, ReferenceParameter, Unit


def shown(function: Function) -> str:
    """A function as one line: ``double f(const double x[3])``."""
    words = ["static"] if function.static else []
    words += [f"<{', '.join(function.template)}>"] if function.template else []
    name = "::".join((*function.scope, function.name))
    parameters = [declared(parameter) for parameter in function.parameters] + ["..."] * function.variadic
    return " ".join([*words, function.returns, f"{name}({', '.join(parameters)})"])


def declared(p: Parameter) -> str:
    stars = "&" if isinstance(p, ReferenceParameter) else "*" * p.pointer
    shape = "".join(f"[{dim}]" for dim in p.shape)
    return f"{'const ' if p.const else ''}{p.type} {stars}{p.name}{shape}"


def as_compiled(text: str, *, cplus: bool = False, folder: str = ".") -> tuple[Unit, CText]:
    """The text read as a cell, through the preprocessor where that decides."""

    def preprocess(text: str) -> str:
        command = ["g++" if cplus else "gcc", "-E", "-x", "c++" if cplus else "c", f"-I{folder}", "-"]
        cell = f'#line 1 "In[3]"\n{text}'
        return subprocess.run(command, input=cell, capture_output=True, text=True, check=True).stdout

    return parse_cell(text, name="In[3]", cplus=cplus, preprocess=preprocess if shutil.which("gcc") else None)


def read(text: str, *, cplus: bool = False) -> list[str]:
    return [shown(function) for function in parse(textwrap.dedent(text), cplus=cplus).functions]


C_CASES: dict[str, list[str]] = {
    "double f(double x) { return x; }": ["double f(double x)"],
    "double f(void) { return 1; }": ["double f()"],
    "double f() { return 1; }": ["double f()"],
    "int main(int argc, char **argv) { return 0; }": ["int main(int argc, char **argv)"],
    # qualifiers, storage, attributes
    "static inline double f(register double x) { return x; }": ["static double f(double x)"],
    "extern volatile double f(const double x) { return x; }": ["double f(const double x)"],
    "__attribute__((noinline)) double f(double x) { return x; }": ["double f(double x)"],
    "double f(double x) __attribute__((pure)); double g(double x) { return x; }": ["double g(double x)"],
    "_Noreturn void f(int x) { for (;;); }": ["void f(int x)"],
    "double const f(double volatile x) { return x; }": ["double f(double x)"],
    "double f(const double *restrict x, double *const y) { return *x; }": ["double f(const double *x, double *y)"],
    "double f(double __restrict__ *x) { return *x; }": ["double f(double *x)"],
    "double f(double const *x, char const *const *s) { return *x; }": ["double f(const double *x, const char **s)"],
    # arrays
    "double f(double x[], double y[3], double z[3][4]) {}": ["double f(double *x, double y[3], double z[3][4])"],
    "double f(double (*x)[3], double y[][3]) {}": ["double f(double *x[3], double *y[3])"],
    "double f(double x[static 3], double y[const 2]) {}": ["double f(double x[3], double y[2])"],
    "double f(int n, double x[n], double y[n][2*n], double z[*]) {}": [
        "double f(int n, double x[n], double y[n][2*n], double *z)"
    ],
    "double f(double *x[3]) {}": ["double f(double * x[3])"],
    "#define N 3\ndouble f(double x[N], double y[N][N + 1]) {}": ["double f(double x[3], double y[3][4])"],
    "#define M (N*2)\n#define N 0x2\ndouble f(double x[M]) {}": ["double f(double x[4])"],
    "enum { A = 2, B, C = B * 2 };\ndouble f(double x[B], double y[C]) {}": ["double f(double x[3], double y[6])"],
    "static const int N = 4;\ndouble f(double x[N]) {}": ["double f(double x[4])"],
    "double f(double x[1 << 3], double y[7 / 2], double z[-1]) {}": ["double f(double x[8], double y[3], double *z)"],
    # types
    "unsigned f(long long unsigned a, unsigned char b, _Bool c, bool d) {}": [
        "unsigned f(long long unsigned a, unsigned char b, _Bool c, bool d)"
    ],
    "double complex f(float _Complex z, complex double w, long double complex v) {}": [
        "double _Complex f(float _Complex z, double _Complex w, long double _Complex v)"
    ],
    "uint8_t f(int64_t a, size_t b, _Float16 c) {}": ["uint8_t f(int64_t a, size_t b, _Float16 c)"],
    "struct point { double x; } f(struct point a, union u *b, enum e c) {}": [
        "struct point f(struct point a, union u *b, enum e c)"
    ],
    "typedef double vec[3]; double f(vec a, const vec b, vec *c) {}": [
        "double f(double a[3], const double b[3], double *c[3])"
    ],
    "typedef double real; typedef real mat[2][2]; typedef mat m2; real f(m2 a, real b) {}": [
        "real f(real a[2][2], real b)"
    ],
    "typedef double *dp; typedef const double *cp; double f(dp a, const dp b, cp c) {}": [
        "double f(double *a, double *b, const double *c)"
    ],
    "typedef const double cd; double f(cd *x) {}": ["double f(const double *x)"],
    # functions as parameters and results
    "double f(double (*g)(double), double h(double, int)) {}": [
        "double f(double (*)(double) g, double (*)(double, int) h)"
    ],
    "typedef double (*fn)(double); double f(fn g) {}": ["double f(double (*)(double) g)"],
    "double *f(int k) {}": ["double * f(int k)"],
    "double (*f(int k))(double) {}": ["double (*)(double) f(int k)"],
    "double (f)(double x) {}": ["double f(double x)"],
    "double f(int n, ...) {}": ["double f(int n, ...)"],
    "double f(double, int []) {}": ["double f(double , int *)"],
    # K&R
    "double f(a, b, n) double a, *b; int n; { return a; }": ["double f(double a, double *b, int n)"],
    "int f(x, n) { return x; }": ["int f(int x, int n)"],
    # what is no function, or is switched off
    "double f(double);": [],
    "double table[3] = {1, 2, 3}; double (*p)(double);": [],
    "#if 0\ndouble f(double x) {}\n#endif": [],
    "#if 0\n#if 1\ndouble f(double x) {}\n#endif\n#else\ndouble g(double x) {}\n#endif": ["double g(double x)"],
    "#ifdef NOPE\nint f(int x) {}\n#elif 1\nint g(int x) {}\n#else\nint h(int x) {}\n#endif": ["int g(int x)"],
    "#define YES\n#if defined(YES) && !defined NO\nint f(int x) {}\n#endif": ["int f(int x)"],
    '#ifdef __cplusplus\nextern "C" {\n#endif\nint f(int x) {}\n#ifdef __cplusplus\n}\n#endif': ["int f(int x)"],
    "int f(int x) {\n#ifdef A\n if (x) {\n#else\n if (!x) {\n#endif\n return 1; } return 0; }": ["int f(int x)"],
    "/* double f(double x) {} */ // double g(double x) {}\n": [],
    'char *s = "double f(double x) {}"; char q = \'"\'; int g(int x) { return x; }': ["int g(int x)"],
    "// comment \\\ndouble f(double x) {}\nint g(int x) {}": ["int g(int x)"],
    # text as editors leave it
    "\ufeffint f(int x) { return x; }": ["int f(int x)"],
    "int f(int x)\r\n{\r\n  return x;\r\n}": ["int f(int x)"],
    "int \\\n f(int \\\n x) { return x; }": ["int f(int x)"],
    "double größe(double é) { return é; }": ["double größe(double é)"],
    "int f(int x) { return x; } @@ } int g(int y) { return y; }": ["int f(int x)", "int g(int y)"],
}

CPLUS_CASES: dict[str, list[str]] = {
    'extern "C" { double f(double x) { return x; } } extern "C" int g(int x) {}': [
        "double f(double x)",
        "int g(int x)",
    ],
    "namespace a::b { namespace c { double f(double x) {} } }": ["double a::b::c::f(double x)"],
    "namespace { double f(double x) {} }": ["static double f(double x)"],
    "template <typename T, class U> T f(T a, U b) { return a; }": ["<T, U> T f(T a, U b)"],
    "template <std::floating_point T> T f(T a) { return a; }": ["<T> T f(T a)"],
    "template <> double f<double>(double x) { return x; }": [],
    "int f(int x) {} double f(double x) {}": ["int f(int x)", "double f(double x)"],
    "void f(double &out, const double &in, double &&r) {}": ["void f(double &out, const double in, double && r)"],
    "void f(double (&x)[3]) {}": ["void f(double x[3])"],
    "struct S { double m(double x) { return x; } S() {} }; double S::n(double x) { return x; }": [],
    "struct S {}; S operator+(S a, S b) { return a; } S::S(int x) {}": [],
    "double f(double x) { auto g = [&](double y) { return x + y; }; return g(x); }": ["double f(double x)"],
    "auto f(double x) -> double { return x; }": ["double f(double x)"],
    "[[nodiscard]] constexpr double f(double x) noexcept { return x; }": ["double f(double x)"],
    "double f(double x, double y = 2) { return x; }": ["double f(double x, double y)"],
    "using real = double; real f(real x) { return x; }": ["real f(real x)"],
    "std::complex<double> f(std::complex<double> z) { return z; }": ["std::complex<double> f(std::complex<double> z)"],
    "constexpr int N = 3; double f(const double x[N]) {}": ["double f(const double x[3])"],
    'const char *s = R"(int f(int x) {} " )"; int big = 1\'000\'000; int g(int x) {}': ["int g(int x)"],
    "double f(int) = delete; double g(double x) try { return x; } catch (...) { return 0; }": ["double g(double x)"],
}


@pytest.mark.parametrize("text", C_CASES)
def test_c_is_read_as_declared(text: str) -> None:
    assert read(text) == C_CASES[text]


@pytest.mark.parametrize("text", CPLUS_CASES)
def test_cplus_is_read_as_declared(text: str) -> None:
    assert read(text, cplus=True) == CPLUS_CASES[text]


PIECES = st.sampled_from(
    "double int f ( ) { } [ ] ; , * & x 3 \n \\\n # if 0 endif define / * // /* */ \" ' struct typedef template < > "
    'namespace extern "C" return = += ++ ... : :: é \x00 \ufeff \r\n ufunc: R"( operator ~ # complex ?'.split(" ")
)


@settings(deadline=None, max_examples=300)
@given(text=st.one_of(st.text(), st.lists(PIECES).map(" ".join)), cplus=st.booleans())
def test_no_text_raises(text: str, cplus: bool) -> None:
    unit = parse(text, cplus=cplus)
    assert len(unit.functions) <= text.count("(")
    parse_cell(f"#if 1\n{text}", name="x", preprocess=lambda _: text, cplus=cplus)


@pytest.mark.parametrize(
    "text", ["(" * 3000, "{" * 3000, "int f(int x) { return " + "(" * 2000 + "x" + ")" * 2000 + "; }"]
)
def test_deep_nesting_does_not_raise(text: str) -> None:
    assert len(parse(text).functions) <= 1


def test_lines_are_those_of_the_cell() -> None:
    first, second = parse("\n\nint f(int a,\n      int b)\n{\n}\n\nint g(int a) { return 1; }").functions
    assert (first.line, first.end_line, [p.line for p in first.parameters]) == (3, 6, [3, 4])
    assert (second.line, second.end_line) == (8, 8)
    assert second.text == "int g(int a) { return 1; }"


# -- comments

DOCS: dict[str, tuple[str, str]] = {
    "/* One. */\nint f(int x) {}": ("One.", ""),
    "/** One.\n *\n *    Two.\n */\nint f(int x) {}": ("One.\n\n   Two.", ""),
    "/*\n** - - -\n**  f\n*/\nint f(int x) {}": ("- - -\n f", ""),
    "/* One\n   two\n     three */\nint f(int x) {}": ("One\ntwo\n  three", ""),
    "// One\n//   two\nint f(int x) {}": ("One\n  two", ""),
    "/// One\nint f(int x) {}": ("One", ""),
    "// far\n\nint f(int x) {}": ("", ""),
    "// no\n\n// yes\nint f(int x) {}": ("yes", ""),
    "int a; // of a\nint f(int x) {}": ("", ""),
    "// Doc\n#pragma omp declare simd\nint f(int x) {}": ("Doc", ""),
    "// Doc\n#define X 1\nint f(int x) {}": ("", ""),
    "/* Doc */ int f(int x) {}": ("Doc", ""),
    "int f(int x)\n/*\n**  Doc\n*/\n{ /* body */ }": ("Doc", ""),
    "// Doc\nint\nf(int x) {}": ("Doc", ""),
    "// ufunc: (n)->()\nint f(int x) {}": ("", "(n)->()"),
    "// Doc\n// ufunc: (n)->()\n// ufunc: identity=0\nint f(int x) {}": ("Doc", "(n)->() identity=0"),
    "/* Doc\n * ufunc: (n)->()\n * more */\nint f(int x) {}": ("Doc\nmore", "(n)->()"),
    "/* Doc */\n// ufunc: (n)->()\nint f(int x) {}": ("Doc", "(n)->()"),
    "// File\n// ufunc: (n)->()\n#include <math.h>\n\n// Doc\nint f(int x) {}": ("Doc", "(n)->()"),
    "// ufunc: (n)->()\nint a;\nint f(int x) {}": ("", ""),
    '// é\nint g(char *s) { return "//"[0]; }\n// ü\nint f(int x) {}': ("ü", ""),
}


@pytest.mark.parametrize("text", DOCS)
def test_the_comment_above_is_the_doc(text: str) -> None:
    function = parse(text).functions[-1]
    assert (function.doc, function.annotation) == DOCS[text]


def test_template_and_function_share_the_comment() -> None:
    function = parse("// Doc\ntemplate <typename T>\nT f(T x) { return x; }", cplus=True).functions[0]
    assert (function.doc, function.line, function.text[:8]) == ("Doc", 2, "template")


# -- bodies

ACCESS: dict[str, str] = {
    "*x = 1;": "write",
    "*x += 1;": "update",
    "*x = *x + 1;": "update",
    "(*x)++;": "update",
    "--*x;": "update",
    "y = *x; *x = 1;": "update",
    "*x = 1; y = *x;": "write",
    "return *x;": "read",
    "return x[0] + 1;": "read",
    "if (x != NULL) *x = y;": "write",
    "if (x && !y) *x = y;": "write",
    "return x == 0 || !x;": "none",
    "(void) x;": "none",
    "return sizeof *x;": "none",
    "*x = y ? 1 : 2;": "write",
    "*(x) = 1;": "write",
    "((double *) x)[0] = 1;": "write",
    "modf(y, x);": "write",
    "frexp(*x, &k);": "read",
    "unknown(x);": "write",
    "unknown(*x);": "read",
    "sets(x);": "write",
    "adds(x);": "update",
    "looks(x);": "read",
    "ignores(x);": "none",
    "calls_sets(x);": "write",
    "sets(x); adds(x);": "write",
    "looks(x); sets(x);": "update",
    "sets2(y, x);": "write",
    # more than one element
    "x[1] = 2;": "write indexed",
    "x[k] = 2;": "write indexed",
    "y = x[0] + x[1];": "read indexed",
    "*(x + 1) = 2;": "write indexed",
    "*(1 + x) = 2;": "write indexed",
    "*x++ = 2;": "write indexed",
    "y = *x--;": "read indexed",
    "for (k = 0; k < 3; k++, x++) y += *x;": "read indexed",
    "for (; x < end; x++) *x = 0;": "write indexed",
    "x += 2; *x = 1;": "write indexed",
    "x = x + 2; y = *x;": "read indexed",
    "sets(&x[1]);": "write indexed",
    "sets(x + 1);": "write indexed",
    "wide(x);": "read indexed",
    "memcpy(x, z, 24);": "write indexed",
    "memset(x, 0, 24);": "write indexed",
    "memcpy(z, x, 24);": "read indexed",
    # out of sight
    "double *q = x; *q = 1;": "write",
    "const double *q = x; y = *q;": "read",
    "q = x;": "write indexed",
    "return x;": "write indexed",
    "double *q[2] = {x, x};": "write indexed",
    "y = x - z;": "none",
}

HELPERS = """
void calls_sets(double *a) { sets(a); }
void sets(double *a) { *a = 1; }
void adds(double *a) { *a += 1; }
double looks(double *a) { return *a; }
void ignores(double *a) { }
double wide(double a[3]) { return a[0] + a[1]; }
void sets2(double y, double *a) { if (y > 0) sets2(y - 1, a); *a = y; }
"""


@pytest.mark.parametrize("body", ACCESS)
def test_access_is_seen_in_the_body(body: str) -> None:
    parameters = "double y, double *x, int k, double *end, double *z"
    function = parse(f"{HELPERS}double f({parameters}) {{ {body} }}").functions[-1]
    x = function.parameters[1]
    assert f"{x.access}{' indexed' * x.indexed}" == ACCESS[body]


def test_pointers_to_const_are_only_read_wherever_they_go() -> None:
    for body in ("unknown(x);", "return x;", "const double *q = x; unknown(q);", "return *x++;"):
        x = parse(f"double f(const double *x) {{ {body} }}").functions[0].parameters[0]
        assert x.access == "read"


def test_access_through_mutual_recursion_settles() -> None:
    a, b = parse("void a(double *x) { b(x); } void b(double *x) { *x *= 2; if (*x < 9) a(x); }").functions
    assert [a.parameters[0].access, b.parameters[0].access] == ["update", "update"]


def test_members_and_rows_count_as_elements() -> None:
    unit = parse(
        """
        struct p { double x; };
        void set(struct p *q) { q->x = 1; }
        double get(struct p *q) { return (*q).x; }
        void row(double r[3][3], double t[3]) { for (int i = 0; i < 3; i++) cp(r[i], t); }
        void cp(double p[3], double c[3]) { c[0] = p[0]; }
        """
    )
    access = {f.name: [p.access for p in f.parameters] for f in unit.functions}
    assert access == {"set": ["write"], "get": ["read"], "row": ["read", "write"], "cp": ["read", "write"]}


def test_erfa_style_output_is_written_through_a_copy() -> None:
    text = """
    void iauCp(double p[3], double c[3]) { c[0] = p[0]; c[1] = p[1]; c[2] = p[2]; }
    void rxp(double r[3][3], double p[3], double rp[3])
    {
       double w, wrp[3];
       int i, j;
       for (j = 0; j < 3; j++) {
          w = 0.0;
          for (i = 0; i < 3; i++) {
             w += r[j][i] * p[i];
          }
          wrp[j] = w;
       }
       iauCp(wrp, rp);
    }
    """
    rxp = parse(text).functions[1]
    assert [(p.name, p.shape, p.access) for p in rxp.parameters] == [
        ("r", (3, 3), "read"),
        ("p", (3,), "read"),
        ("rp", (3,), "write"),
    ]


def test_references_are_seen_as_elements() -> None:
    text = "void f(double &a, double &b, double &c) { a = 1; b += c; g(a); } void g(double &d) { d *= 2; }"
    f, g = parse(text, cplus=True).functions
    assert [p.access for p in (*f.parameters, *g.parameters)] == ["write", "update", "read", "update"]


def test_an_element_passed_by_reference_is_changed_by_the_callee() -> None:
    f = parse("void g(double &d) { d *= 2; } void f(double *x) { g(*x); }", cplus=True).functions[1]
    assert f.parameters[0].access == "update"


PURE: dict[str, bool] = {
    "return sin(x) + fabsf(x);": True,
    "return helper(x);": True,
    "static const double t[2] = {1, 2}; return t[0];": True,
    "return TABLE[0];": True,
    "return __builtin_fabs(x);": True,
    "return SQ(x);": True,
    "return std::sqrt(x);": True,
    "static double last; last = x; return last;": False,
    "return counter++;": False,
    "return counter;": False,
    "return rand();": False,
    "return prints(x);": False,
    "return LOUD(x);": False,
    "if (x < 0) errno = 1; return x;": False,
    'asm("nop"); return x;': False,
    "return v.size();": False,
    "std::ignore = x; operator delete(&x); return x;": False,
}


@pytest.mark.parametrize("body", PURE)
def test_purity_is_judged_from_text(body: str) -> None:
    text = f"""
    #define SQ(x) ((x) * helper(x))
    #define LOUD(x) (printf("%g", x), x)
    static const double TABLE[2] = {{1, 2}};
    static double counter;
    static double helper(double x) {{ return exp(x); }}
    static double prints(double x) {{ printf("%g", x); return x; }}
    double f(double x) {{ {body} }}
    """
    assert as_compiled(text, cplus="::" in body)[0].functions[-1].body.pure is PURE[body]


def test_loops_recursion_calls_and_size_are_counted() -> None:
    text = """
    static double g(double x) { return x * x; }
    double f(double x) { for (int i = 0; i < 3; i++) x = g(x) + sin(x); return x; }
    int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    int even(int n) { return n ? odd(n - 1) : 1; }
    int odd(int n) { return n ? even(n - 1) : 0; }
    int jump(int n) { again: if (n-- > 0) goto again; return n; }
    """
    g, f, fib, even, odd, jump = parse(text).functions
    assert [x.body.loops for x in (g, f, fib, even, odd, jump)] == [False, True, False, False, False, True]
    assert [x.body.recursive for x in (g, f, fib, even, odd, jump)] == [False, False, True, True, True, False]
    assert f.body.calls == {"g", "sin"}
    alone = parse(text.replace("static double g(double x) { return x * x; }", "")).functions[0]
    assert f.body.size == alone.body.size + g.body.size
    assert even.body.size == odd.body.size


# -- the unit


def test_names_are_what_a_second_copy_must_rename() -> None:
    text = """
    #include <math.h>
    #include "local.h" // ours
    #define N 3
    #define SQ(x) ((x)*cbrt(x))
    typedef double real; typedef struct { int a; } pair;
    struct point { real x; }; enum color { RED, GREEN = 5 };
    static double table[N], *cursor = table;
    extern double elsewhere;
    double external(double);
    real f(real local) { real inner = table[0]; return hypot(local, inner); }
    """
    unit = parse(text)
    assert unit.names == (
        "real", "pair", "point", "color", "RED", "GREEN", "table", "cursor", "f",
    )  # fmt: skip
    assert unit.typedefs == {"real": "double", "pair": "struct pair"}
    assert unit.macros == ("N", "SQ")
    assert unit.includes == ("<math.h>", '"local.h"')
    assert unit.calls == {"hypot", "cbrt"}
    assert {"local", "inner", "cbrt", "x", "N"} <= unit.identifiers
    assert not {"ours", "math", "return"} & unit.identifiers


def test_typedefs_keep_their_marks() -> None:
    unit = parse("typedef double vec[3], *dp; typedef double (*fn)(double); typedef const char *str; typedef vec v2;")
    assert unit.typedefs == {
        "vec": "double [3]",
        "dp": "double *",
        "fn": "double (*)(double)",
        "str": "const char *",
        "v2": "vec",
    }


def test_unknown_types_are_those_nobody_defines() -> None:
    text = "typedef double real; real f(size_t n, gsl_vector *v, T x, int64_t i, struct s *p) { other y; }"
    assert parse(text).unknown_types == ("gsl_vector", "T")
    assert parse("template <typename T> T f(T x, std::string s) {}", cplus=True).unknown_types == ()


# -- after the preprocessor

CELL = """\
#include <math.h>
#include "local.h"
#define N 3
#define MAKE(name, op) double name(double x) { \\
    return op(x); }
// Made by a macro.
// ufunc: name=sine
MAKE(mk, sin)
#define pnorm pnorm5

// The other.
double pnorm(vec3 v,
             my_size n) {
    return v[0]
        + INFINITY + N;
}
#if 0
double no(double x) { return x; }
#endif
"""

#: As gcc writes it; "3" marks a system header, also where a system macro is expanded in the cell.
MARKED = """\
# 0 "<stdin>"
# 0 "<built-in>"
# 1 "In[3]"
# 1 "/usr/include/math.h" 1 3 4
# 20 "/usr/include/math.h" 3 4
typedef unsigned long __size;
typedef struct { int quot; int rem; } pair_t;
typedef __size my_size; typedef int unused;
extern double sin (double __x) __attribute__ ((__nothrow__ , __leaf__));
static inline int helper(int x) { return x; }
# 2 "In[3]" 2
# 1 "local.h" 1
# 4 "local.h"
typedef double vec3[3];
static double from_header(double x) { return x; }
# 3 "In[3]" 2




# 8 "In[3]"
double mk(double x) { return sin(x); }



double pnorm5(vec3 v,
             my_size n) {
    return v[0]
        +
# 15 "In[3]" 3 4
         (__builtin_inff ())
# 15 "In[3]"
                  + 3;
}
"""


def test_preprocessed_text_is_mapped_back_to_the_cell() -> None:
    unit, _ = parse_cell(CELL, name="In[3]", preprocess=lambda _: MARKED)
    assert [(f.name, f.file, f.line, f.end_line) for f in unit.functions] == [
        ("from_header", "local.h", 5, 5),
        ("mk", "", 8, 8),
        ("pnorm5", "", 12, 16),
    ]
    _, mk, pnorm = unit.functions
    assert (mk.doc, mk.annotation) == ("Made by a macro.", "name=sine")
    assert pnorm.doc == "The other."
    assert shown(pnorm) == "double pnorm5(double v[3], my_size n)"
    assert [p.line for p in pnorm.parameters] == [12, 13]
    assert unit.typedefs == {"__size": "unsigned long", "my_size": "__size", "vec3": "double [3]"}
    assert unit.macros == ("N", "MAKE", "pnorm")
    assert unit.includes == ("<math.h>", '"local.h"')
    assert unit.unknown_types == ()
    assert unit.names == ("vec3", "from_header", "mk", "pnorm5")


def test_text_of_a_function_stays_as_typed_where_the_cell_has_it() -> None:
    cell = "#define TWO 2\ndouble f(double x) { return TWO * x; }"
    marked = '# 1 "c"\n\ndouble f(double x) { return 2 * x; }'
    assert parse_cell(cell, name="c", preprocess=lambda _: marked)[0].functions[0].text == cell.split("\n")[1]


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "g++"])
def test_real_preprocessor_output_gives_the_same_functions(compiler: str, tmp_path) -> None:
    (tmp_path / "local.h").write_text("#include <stdlib.h>\ntypedef double vec3[3]; typedef size_t my_size;\n")
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    unit, _ = as_compiled(CELL, cplus=compiler == "g++", folder=str(tmp_path))
    assert [(f.name, f.line, f.end_line) for f in unit.functions] == [("mk", 8, 8), ("pnorm5", 12, 16)]
    assert shown(unit.functions[1]) == "double pnorm5(double v[3], my_size n)"


# -- below the grammar


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3), ("0x1F", 31), ("010", 8), ("0b11", 3), ("7UL", 7), ("-7 / 2", -3), ("-7 % 3", -1), ("8 - 3 - 2", 3),
        ("2 + 3 * 4", 14), ("(2 + 3) * 4", 20), ("1 << 4 | 1", 17), ("!0 + ~0", 0), ("N * N", 9),
        ("3 > 2 && 1 != 1", 0),
        ("089", None), ("1.5", None), ("f(2)", None), ("x", None), ("1 / 0", None), ("LOOP", None), ("", None),
        ("1 +", None),
        ("1 << 63 << 63", None), ("(1", None), ("1 2", None),
    ],
)  # fmt: skip
def test_constant_expressions_have_cs_value(text: str, value: int | None) -> None:
    assert ctext.evaluate_constant(text, {"N": "(2 + 1)", "LOOP": "LOOP + 1"}) == value


@settings(deadline=None)
@given(st.text())
def test_blanking_keeps_every_offset_and_line(text: str) -> None:
    taken = ctext.read(text)
    assert len(taken.code) == len(taken.raw)
    assert taken.code.count(b"\n") == taken.raw.count(b"\n")
