"""The generated unit: one small one written out whole, the table of types, and names that no cell can collide with."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ufunc_magic as um
from ufunc_magic import cells, compilers
from ufunc_magic.codegen import Exports, Translation, VectorMath, unit as codegen
from ufunc_magic.languages.c import parser as cparse
from ufunc_magic.model import TYPES, SignatureError, make_options


def _translated(cell: str, *, simd: tuple[str, ...] = (), judge: int = 1, **options: object) -> Translation:
    made = make_options(options)
    unit = cparse.parse(cell, cplus=made.cplus)
    signatures, plain, _ = cells.plan_operands(unit, options=made)
    names = [p.function.name for p in plain]
    math = VectorMath(simd, judge)
    return codegen.translate(
        cell, unit=unit, signatures=signatures, exports=Exports(names), options=made, name="In[3]", math=math
    )


def _own(translation: Translation) -> str:
    """The unit without the templates that are the same for every cell."""
    text = translation.text
    for name in ("interface.h", "support.h", "types.h"):
        text = text.replace(codegen.template(name), f"<{name}>\n")
    marker = ", ".join(map(str, translation.marker))
    return text.replace(marker, "<marker>")


def test_small_unit_is_this_picture() -> None:
    cell = "double add(double a, double b) { return a + b; }"
    assert (
        _own(_translated(cell, judge=1))
        == """\
<interface.h>

#line 1 "In[3]"
double add(double a, double b) { return a + b; }

<support.h>

<types.h>

typedef double __ufm_t0_0;
typedef double __ufm_t0_1;
typedef double __ufm_t0_2;

__attribute__((__used__)) static const __ufm_byte __ufm_types[] = {<marker>, __UFM_TYPE(__ufm_t0_0), \
__UFM_TYPE(__ufm_t0_1), __UFM_TYPE(__ufm_t0_2)};

// add, loop 0 of this object.
__UFM_FLATTEN_BODY static inline __attribute__((__always_inline__)) int __ufm_body_0(__ufm_intp __ufm_m, const \
__ufm_t0_0 *__restrict __ufm_i0, const __ufm_t0_1 *__restrict __ufm_i1, __ufm_t0_2 *__restrict __ufm_o2)
{
    int __ufm_failed = 0;
    __ufm_intp __ufm_j;
    __UFM_APART
    for (__ufm_j = 0; __ufm_j < __ufm_m; __ufm_j++) {
        __ufm_t0_2 __ufm_r0 = __UFM_ZERO(__ufm_t0_2);
        __ufm_r0 = add(__ufm_i0[__ufm_j], __ufm_i1[__ufm_j]);
        __ufm_o2[__ufm_j] = __ufm_r0;
    }
    return __ufm_failed;
}
__UFM_CLONES __UFM_FLATTEN __UFM_LISTED static int __ufm_kernel_0(__ufm_intp __ufm_m, __ufm_char **__ufm_p)
{
    return __ufm_body_0(__ufm_m, (__ufm_t0_0 *)__ufm_p[0], (__ufm_t0_1 *)__ufm_p[1], (__ufm_t0_2 *)__ufm_p[2]);
}
__UFM_CLONES_FMA __UFM_FLATTEN static int __ufm_strided_0(__ufm_intp __ufm_m, __ufm_char **__ufm_p, const \
__ufm_intp *__ufm_s)
{
    __ufm_char *__ufm_q0 = __ufm_p[0]; const __ufm_intp __ufm_d0 = __ufm_s[0]; __ufm_char *__ufm_q1 = __ufm_p[1]; \
const __ufm_intp __ufm_d1 = __ufm_s[1]; __ufm_char *__ufm_q2 = __ufm_p[2]; const __ufm_intp __ufm_d2 = __ufm_s[2];
    __ufm_intp __ufm_j;
    for (__ufm_j = 0; __ufm_j < __ufm_m; __ufm_j++) {
        const __ufm_t0_0 __ufm_v0 = *(const __ufm_t0_0 *)(__ufm_q0 + __ufm_j * __ufm_d0); const __ufm_t0_1 __ufm_v1 \
= *(const __ufm_t0_1 *)(__ufm_q1 + __ufm_j * __ufm_d1);
        __asm__ volatile(""); // Compilers find no vectors for it, but would look for them in each clone.
        __ufm_t0_2 __ufm_r0 = __UFM_ZERO(__ufm_t0_2);
        __ufm_r0 = add(__ufm_v0, __ufm_v1);
        *(__ufm_t0_2 *)(__ufm_q2 + __ufm_j * __ufm_d2) = __ufm_r0;
    }
    return 0;
}
static int __ufm_sequence_0(__ufm_intp __ufm_m, __ufm_char **__ufm_p, const __ufm_intp *__ufm_s, __ufm_char \
**__ufm_kept)
{
    __ufm_t0_0 *__ufm_k0 = (__ufm_t0_0 *)__ufm_kept[0]; __ufm_t0_1 *__ufm_k1 = (__ufm_t0_1 *)__ufm_kept[1]; \
__ufm_t0_2 *__ufm_k2 = (__ufm_t0_2 *)__ufm_kept[2];
    __ufm_char *__ufm_q0 = __ufm_p[0]; const __ufm_intp __ufm_d0 = __ufm_s[0]; __ufm_char *__ufm_q1 = __ufm_p[1]; \
const __ufm_intp __ufm_d1 = __ufm_s[1]; __ufm_char *__ufm_q2 = __ufm_p[2]; const __ufm_intp __ufm_d2 = __ufm_s[2];
    __ufm_intp __ufm_j;
    __ufm_char __ufm_reduces = __ufm_p[0] == __ufm_p[2] && !__ufm_s[0] && !__ufm_s[2]; __ufm_t0_0 __ufm_running = \
__ufm_reduces ? *(const __ufm_t0_0 *)__ufm_p[2] : __UFM_ZERO(__ufm_t0_0);
    for (__ufm_j = 0; __ufm_j < __ufm_m; __ufm_j++) {
        __asm__ volatile("" : "+r"(__ufm_reduces)); const __ufm_t0_0 __ufm_v0 = __ufm_reduces ? __ufm_running : \
*(const __ufm_t0_0 *)(__ufm_q0 + __ufm_j * __ufm_d0); const __ufm_t0_1 __ufm_v1 = *(const __ufm_t0_1 *)(__ufm_q1 + \
__ufm_j * __ufm_d1);
        __ufm_k0[__ufm_j] = __ufm_v0; __ufm_k1[__ufm_j] = __ufm_v1;
        __asm__ volatile(""); // One element after the other: compilers need not look for vectors.
        __ufm_t0_2 __ufm_r0 = __UFM_ZERO(__ufm_t0_2);
        __ufm_r0 = add(__ufm_v0, __ufm_v1);
        __ufm_running = __ufm_r0; if (!__ufm_reduces)
        *(__ufm_t0_2 *)(__ufm_q2 + __ufm_j * __ufm_d2) = __ufm_r0;
        __ufm_k2[__ufm_j] = __ufm_r0;
    }
    if (__ufm_reduces) *(__ufm_t0_2 *)__ufm_p[2] = __ufm_running;
    return 0;
}
__UFM_SMALL static __ufm_t0_2 __ufm_scalar_0(__ufm_t0_0 __ufm_v0, __ufm_t0_1 __ufm_v1)
{
    __ufm_t0_2 __ufm_r0 = __UFM_ZERO(__ufm_t0_2); __ufm_r0 = add(__ufm_v0, __ufm_v1); return __ufm_r0;
}
static const __ufm_plan __ufm_plan_0 = {__ufm_kernel_0, __ufm_sequence_0, 0, __ufm_types + 27, 2, 1, 1, 1, 0, \
__ufm_strided_0, "add"};
static void __ufm_loop_0(__ufm_char **__ufm_args, const __ufm_intp *__ufm_dimensions,
                          const __ufm_intp *__ufm_steps, void *__ufm_data)
{
    __ufm_elementwise(&__ufm_plan_0, __ufm_args, __ufm_dimensions, __ufm_steps, __ufm_data);
}

#ifdef __UFM_LEAF
__UFM_LEAF __attribute__((__flatten__)) static __ufm_t0_2 __ufm_leaf_0(__ufm_t0_0 __ufm_v0, __ufm_t0_1 __ufm_v1) \
{ return __ufm_scalar_0(__ufm_v0, __ufm_v1); }
#endif
__UFM_BEGIN_C
extern __UFM_EXPORT void (*const __ufm_loops[])(__ufm_char **, const __ufm_intp *, const __ufm_intp *, void *);
extern __UFM_EXPORT void *const __ufm_functions[];
extern __UFM_EXPORT void *const __ufm_scalars[];
#ifdef __UFM_LEAF
extern __UFM_EXPORT void *const __ufm_leaves[];
#endif
__UFM_END_C
void (*const __ufm_loops[])(__ufm_char **, const __ufm_intp *, const __ufm_intp *, void *) = {__ufm_loop_0};
void *const __ufm_functions[] = {0};
void *const __ufm_scalars[] = {(void *)__ufm_scalar_0};
#ifdef __UFM_LEAF
void *const __ufm_leaves[] = {(void *)__ufm_leaf_0};
#endif
"""
    )


def test_cell_stands_in_the_unit_as_it_is() -> None:
    cell = "\t/* odd */ #define X\r\ndouble f(double x) { return x; } // no newline"
    assert cell in _translated(cell).text


def test_core_dimensions_are_numbered_as_numpy_numbers_them() -> None:
    cell = (
        "// ufunc: (m,n),(n,p)->(m,p)\n"
        "void matmul(const double *a, const double *b, double *c, int m, int n, int p) { c[0] = a[0]*b[0]; }"
    )
    text = _translated(cell).text
    assert "__ufm_cores_0[] = {0, 1, -1, 1, 2, -1, 0, 2, -1};" in text
    assert "matmul((__ufm_t0_0 *)__ufm_p[0], (__ufm_t0_1 *)__ufm_p[1], (__ufm_t0_2 *)__ufm_p[2], " in text
    assert "__ufm_dims[0], __ufm_dims[1], __ufm_dims[2])" in text


def test_nothing_that_follows_the_cell_can_close_a_comment_of_the_cell() -> None:
    for cell in ("double f(double x) { return x; }", "void f(const double x[3], double y[3]) { y[0] = x[0]; }"):
        assert "*/" not in _translated(cell, simd=("exp",)).text.partition(cell)[2]


@pytest.mark.parametrize("kind", [t for t in TYPES.values() if t.char != "e"], ids=lambda t: t.c)
def test_compiler_names_the_numpy_type_of_every_spelling(kind: object, shared_cache: None) -> None:
    spelled = kind.c  # type: ignore[attr-defined]
    made = um.compile_c(f"typedef {spelled} number;\nnumber f(number x) {{ return x; }}")
    (code,) = made.object_code.functions
    assert code.loops[0].types == (kind.number, kind.number)  # type: ignore[attr-defined]


def test_types_are_read_back_from_the_bytes_behind_the_marker() -> None:
    translation = _translated("float f(float x, double y) { return x; }\nint g(int n) { return n; }")
    code = b"\0\1" + translation.marker + bytes([11, 12, 11, 5, 5]) + b"rest"
    assert codegen.read_types(code, translation) == ((11, 12, 11), (5, 5))


def test_object_without_the_table_is_refused() -> None:
    with pytest.raises(SignatureError, match="no table of types"):
        codegen.read_types(b"stripped", _translated("float f(float x) { return x; }"))


def test_marker_is_the_cells_own() -> None:
    markers = {
        _translated(c, **o).marker
        for c in ("int f(int x) { return x; }", "int f(int y) { return y; }")
        for o in ({}, {"strict": True})
    }
    assert len(markers) == 4


@pytest.mark.parametrize(
    ("words", "chars"),
    [
        ("f4,f8", "fd"),
        ("f8 f4, f4", "fd"),
        ("i4", "i"),
        ("float64,int64,complex128", "qdD"),
        ("d", "d"),
        ("half", "e"),
        ("", ""),
    ],
)
def test_types_option_is_read_narrow_to_wide(words: str, chars: str) -> None:
    assert "".join(t.char for t in codegen.choose_types(words)) == chars


def test_unknown_type_is_named() -> None:
    with pytest.raises(SignatureError, match="'f3'"):
        codegen.choose_types("f8,f3")


RESERVED = (
    "I n steps args data p m j T k i count kernel plan dims dimensions types loop step out in buffer std restrict_ "
    "used flatten visibility always_inline simd leaf nothrow hidden GCC ivdep name offset pad judge try_"
).split()


@pytest.mark.slow
@pytest.mark.parametrize("word", RESERVED)
def test_a_parameter_may_have_any_name(word: str, shared_cache: None) -> None:
    made = um.compile_c(f"double f(double {word}, double *r_) {{ *r_ = 2*{word}; return {word} + 1; }}")
    assert made.f(3.0) == (4, 6)


def test_macros_may_have_any_name(shared_cache: None) -> None:
    macros = "\n".join(f"#define {word} @ not C at all" for word in RESERVED if word != "std")
    made = um.compile_c(
        f"{macros}\ndouble f(double x, double y) {{ return x - y; }}\n"
        "void g(const double v[2], double w[2]) { w[0] = v[1]; w[1] = v[0]; }"
    )
    assert made.f(3.0, 1.0) == 2
    assert made.f.reduce([5.0, 1, 1]) == 3
    assert made.g([1.0, 2]).tolist() == [2, 1]


@pytest.mark.parametrize("word", ["double", "int", "char", "void", "static", "const", "for", "if", "return", "typedef"])
def test_words_of_c_may_be_macros(word: str, shared_cache: None) -> None:
    made = um.compile_c(f"float f(float x) {{ return x; }}\n#define {word} nonsense")
    assert made.f.types == ["f->f"]


def test_double_may_be_made_float(shared_cache: None) -> None:
    assert um.compile_c("#define double float\ndouble f(double x) { return x; }").f.types == ["f->f"]


@pytest.mark.parametrize("function", ["exp", "log", "pow", "sin", "cbrt"])
def test_math_functions_may_be_macros(function: str, shared_cache: None) -> None:
    arguments = "x, y" if function == "pow" else "x"
    made = um.compile_c(
        f"#include <math.h>\n#define {function}({arguments}) (2*x)\n"
        f"double f(double x, double y) {{ return {function}({arguments}); }}"
    )
    assert made.f(3.0, 1.0) == 6


@pytest.mark.parametrize("function", ["exp", "log", "sin", "cbrt"])
def test_math_functions_may_be_the_cells_own(function: str, shared_cache: None) -> None:
    made = um.compile_c(
        f"static double {function}(double x) {{ return 2*x; }}\ndouble f(double x) {{ return {function}(x); }}",
        compile_args="-fno-builtin",
    )
    assert made.f([3.0] * 20).tolist() == [6] * 20


def test_generated_text_gives_no_warning(tmp_path: Path) -> None:
    tool = compilers.find()
    cell = (
        "#include <math.h>\ndouble f(double x, double y) { return x + exp(y); }\n"
        "void g(const double v[3], double w[3]) { for (int i = 0; i < 3; i++) w[i] = 2 * v[i]; }\n"
        "int h(int a, int *b) { *b = 2 * a; return a; }\n"
    )
    for text in (_translated(cell, simd=("exp",) if tool.kind == "gcc" else ()).text, codegen.write_driver()):
        command = [*tool.command, "-O1", "-Wall", "-Werror", "-c", "-x", "c", "-"]
        done = subprocess.run(
            [*command, "-o", str(tmp_path / "x.o")], input=text, text=True, capture_output=True, check=False
        )
        assert done.stderr == ""


@pytest.mark.slow
@given(st.text(max_size=40))
def test_c_string_stays_one_string(text: str) -> None:
    quoted = codegen.quote_c(text)
    inside = quoted[1:-1]
    assert quoted[0] == quoted[-1] == '"'
    assert "\n" not in inside
    assert '"' not in inside.replace("\\\\", "").replace('\\"', "")


@settings(max_examples=30)
@given(st.lists(st.sampled_from(sorted(t.c for t in TYPES.values())), min_size=1, max_size=5))
def test_every_operand_has_its_byte_in_the_table(types: list[str]) -> None:
    parameters = ", ".join(f"{t} x{n}" for n, t in enumerate(types))
    translation = _translated(f"double f({parameters}) {{ return 0; }}")
    assert translation.text.count("__UFM_TYPE(__ufm_t0_") >= len(types) + 1
    given_ = translation.marker + bytes(range(len(types) + 1))
    assert codegen.read_types(given_, translation) == (tuple(range(len(types) + 1)),)


def test_operand_has_as_many_core_dimensions_as_numpy_allows() -> None:
    def total(dimensions: int) -> Any:
        core = ",".join(["2"] * 3 + ["1"] * (dimensions - 3))
        body = "double s = 0; for (int i = 0; i < 8; i++) s = 2*s + x[i]; return s;"
        source = f"// ufunc: ({core})->()\ndouble total(const double *x) {{ {body} }}"
        return um.c_ufunc(source)

    values = np.arange(8.0).reshape(2, 2, 2).transpose(2, 1, 0).reshape(2, 2, 2, *[1] * 61)
    expected = sum(v * 2.0 ** (7 - k) for k, v in enumerate([0, 4, 2, 6, 1, 5, 3, 7]))
    assert total(64)(values) == expected
    assert total(33)(values.reshape(2, 2, 2, *[1] * 30)) == expected
    with pytest.raises(um.SignatureError, match=r"65 core dimensions.* 64"):
        total(65)
