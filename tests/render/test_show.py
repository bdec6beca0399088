"""Assembly, remarks and generated C on the cell's lines: read from fixed texts, and from the compiler that is here."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import ufunc_magic as um
from ufunc_magic import compilers, pipeline, render
from ufunc_magic.compilers import CompilerTexts, read_compiler_texts
from ufunc_magic.languages import c
from ufunc_magic.languages.cuda import nvrtc
from ufunc_magic.languages.cuda.cuda_language import read_ptx_functions
from ufunc_magic.model import (
    CellPlace,
    CompiledCell,
    CompileError,
    ObjectCode,
    OptionError,
    Target,
    ToolchainError,
    make_options,
)
from ufunc_magic.render import Progress, Report, assembly
from ufunc_magic.render.assembly import HotLoop, Placed, find_hot_loops
from ufunc_magic.render.source_views import annotate, show_assembly, show_generated
from ufunc_magic.render.vectorization import Remark, read_remarks, spell_reason
from ufunc_magic.runtime import Build, LoadedObject, cpu_features

needs_listing = pytest.mark.skipif(
    compilers.find().kind == "zig", reason="zig keeps no assembly: gcc or clang is needed for --show"
)

TEXT = """\
	.file	"<stdin>"
	.type	__ufm_kernel_0, @function
__ufm_kernel_0:
	.file 1 "<ufunc_magic>"
	.loc 1 10 1
	pushq	%rbx
	jle	.L2
.L3:
.LVL1:
	.file 2 "/tmp" "In[3]"
	.loc 2 4 9 is_stmt 1
	vmovupd	(%rbx), %zmm1        # a comment
.L4:
	.loc 2 5 9
	vaddpd	%zmm1, %zmm1, %zmm1
	jne	.L4
	call	_ZGVeN8v_exp@PLT
	.loc 1 11 3
	jmp	.L5
.L2:
	ret
.L5:
	cmpq	%rax, %rbx
	jne	.L3
	ret
	.size	__ufm_kernel_0, .-__ufm_kernel_0
"""


def test_instructions_know_their_lines_and_lose_their_comments() -> None:
    (function,) = assembly.read(TEXT).values()
    placed = [(i.text, i.file, i.line) for i in function.instructions]
    assert placed[2] == ("vmovupd (%rbx), %zmm1", "In[3]", 4)
    assert placed[3][1:] == ("In[3]", 5)
    assert len(placed) == 11


def test_arithmetic_at_our_own_store_is_the_cell_s() -> None:
    """gcc 16 on ``x + x * 3``: only a mark that no instruction follows names the cell's line."""
    body = (
        '\t.file 1 "<ufunc_magic>"\n\t.file 2 "In[3]"\n\t.loc 1 118 5\n\tvmovupd\t(%rcx,%rax), %zmm0\n'
        "\t.loc 2 3 5 is_stmt 1 view .LVU674\n\t.loc 1 121 27 discriminator 34816 view .LVU677\n"
        "\tvfmadd132pd\t%zmm1, %zmm0, %zmm0\n\tvmovupd\t%zmm0, (%rdx,%rax)\n"
    )
    listed = assembly.read(f"\t.type\tf, @function\nf:\n{body}\t.size\tf, .-f\n")["f"]
    assert [i.line for i in listed.instructions] == [118, 3, 121]


def test_loops_are_found_wherever_their_blocks_stand() -> None:
    (function,) = assembly.read(TEXT).values()
    words = [[function.instructions[n].mnemonic for n in sorted(loop)] for loop in function.loops]
    assert words == [["vmovupd", "vaddpd", "jne", "call", "jmp", "cmpq", "jne"], ["vaddpd", "jne"]]
    assert [function.count_loops(n) for n in range(5)] == [0, 0, 1, 2, 2]


def test_a_loop_that_is_entered_in_its_middle_is_one() -> None:
    body = "\tjmp\t.L2\n.L1:\n\taddl\t$1, %eax\n.L2:\n\tcmpl\t$9, %eax\n\tjl\t.L1\n\tret\n"
    text = f"\t.type\tf, @function\nf:\n{body}\t.size\tf, .-f\n"
    assert assembly.read(text)["f"].loops == (frozenset({1, 2, 3}),)


@pytest.mark.parametrize("branch", ["b.ne", "bne", "bgt", "b.any", "blo", "cbnz\tx1,", "tbz\tw1, 3,"])
def test_branches_of_arm_make_loops(branch: str) -> None:
    separator = "" if branch.endswith(",") else "\t"
    body = f".L1:\n\tadd\tx1, x1, 1\n\tbl\troot\n\t{branch}{separator}.L1\n\tret\n"
    text = f"\t.type\tf, %function\nf:\n{body}\t.size\tf, .-f\n"
    assert assembly.read(text)["f"].loops == (frozenset({0, 1, 2}),)


@pytest.mark.parametrize(
    ("target", "words"),
    [("_ZGVeN8v_exp", "exp, 8 at a time"), ("_ZGVdN4vv_pow", "pow, 4 at a time"), ("exp", "exp"), ("root", "root")],
)
def test_called_functions_are_named_in_words(target: str, words: str) -> None:
    assert assembly.name_called(target) == words


@pytest.mark.parametrize(
    ("features", "clone"),
    [
        (("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2", "fma3", "f16c"), "x86-64-v4"),
        (("avx2", "fma3", "f16c", "avx512f"), "x86-64-v3"),
        (("sse42",), ""),
        (("asimd", "sve"), "SVE"),
    ],
)
def test_the_clone_that_is_shown_is_the_one_that_this_cpu_runs(features: tuple[str, ...], clone: str) -> None:
    names = [f"__ufm_kernel_7.{suffix}" for suffix in ("default", "arch_x86_64_v3", "arch_x86_64_v4", "_Msve")]
    functions = {name: assembly.ListedFunction(name, (), ()) for name in names}
    found, words = assembly.find_clone(7, functions, features)
    suffix = {"": "default", "SVE": "_Msve"}.get(clone, clone.replace("x86-64-", "arch_x86_64_"))
    assert found is not None
    assert found.name.rpartition(".")[2] == suffix
    assert words == clone


def test_clones_of_clang_are_found_under_its_names() -> None:
    names = ("__ufm_kernel_7.default.2", "__ufm_kernel_7.arch_x86-64-v3.0")
    text = "".join(
        f'\t.type\t"{name}",@function\n"{name}":  # @{name}\n\tretq\n\t.size\t"{name}", 1\n' for name in names
    )
    functions = assembly.read(text)
    assert tuple(functions) == names
    for features, name in (((), names[0]), (("avx2", "fma3", "f16c"), names[1])):
        found, _ = assembly.find_clone(7, functions, features)
        assert found is not None
        assert found.name == name


@pytest.mark.parametrize(
    ("instruction", "vectors"),
    [
        ("vcvtpd2psy\t(%rax,%r9,8), %xmm0", "256-bit vectors"),  # clang 19: double to float
        ("vcvtpd2ps\t%zmm1, %ymm0", "512-bit vectors"),
        ("vcvtdq2pd\t(%rax), %zmm0", "512-bit vectors"),
        ("vcvttpd2dqy\t(%rax), %xmm0", "256-bit vectors"),
        ("cvtps2pd\t%xmm1, %xmm0", "128-bit vectors"),
        ("vcvtuqq2pd\t%ymm0, %ymm0", "256-bit vectors"),
        ("vgatherdpd\t(%rsi,%xmm1,8), %zmm0{%k1}", "512-bit vectors"),
        ("vpgatherdd\t%ymm2, (%rsi,%ymm1,4), %ymm0", "256-bit vectors"),
        ("vblendvpd\t%ymm2, %ymm1, %ymm0, %ymm0", "256-bit vectors"),
        ("vrndscalepd\t$9, (%rax), %zmm0", "512-bit vectors"),
        ("vblendvpd\t%xmm2, %xmm1, %xmm0, %xmm0", ""),  # clang 19: fmax of two numbers
        ("cvtsd2ss\t%xmm0, %xmm0", ""),
        ("vcvtsi2sdq\t%rax, %xmm1, %xmm1", ""),
        ("vcvtusi2sdq\t%rax, %xmm1, %xmm1", ""),
        ("vroundsd\t$9, %xmm0, %xmm0, %xmm0", ""),
        ("vcvttsd2si\t%xmm0, %eax", ""),
    ],
)
def test_instructions_on_several_numbers_are_told_from_those_on_one(instruction: str, vectors: str) -> None:
    cell = um.compile_c("double one_of_many(double x) { return x; }")
    body = f".L1:\n\t{instruction}\n\taddq\t$8, %rax\n\tcmpq\t%rax, %rbx\n\tjne\t.L1\n\tret\n"
    text = f"\t.type\t__ufm_kernel_0, @function\n__ufm_kernel_0:\n{body}\t.size\t__ufm_kernel_0, .-__ufm_kernel_0\n"
    (loop,) = find_hot_loops(cell, assembly.read(text), features=())
    assert loop.vectors == vectors


LOOP = HotLoop(
    "f", "d->d", "x86-64-v4", "512-bit vectors",
    (
        Placed("vmovupd (%rbx), %zmm0", 0, 0),
        Placed("call _ZGVeN8v_exp@PLT", 2, 0, "exp, 8 at a time"),
        Placed("vaddpd %zmm0, %zmm0, %zmm0", 2, 1),
        Placed("jne .L3", 0, 0),
    ),
)  # fmt: skip
LINES = ("double f(double x) {", "    return exp(x) <b>;", "}")


def test_assembly_is_grouped_by_the_lines_of_the_cell() -> None:
    expected = """\
In[3]: the hot loop of each function, by line (gcc 12.2.0)
f  d->d: 4 instructions, 512-bit vectors, x86-64-v4
  line 2    return exp(x) <b>;
      call        _ZGVeN8v_exp@PLT    ; exp, 8 at a time
      | vaddpd      %zmm0, %zmm0, %zmm0
  loop      loads, stores and loop counter
      vmovupd     (%rbx), %zmm0
      jne         .L3"""
    assert str(show_assembly(CellPlace("In[3]"), LINES, (LOOP,), "gcc 12.2.0")) == expected


def test_annotated_lines_carry_their_share_in_figures() -> None:
    expected = """\
In[3]: f d->d: 4 instructions, 512-bit vectors, x86-64-v4
line share  source
   1        double f(double x) {
   2   50%      return exp(x) <b>;
   3        }"""
    assert str(annotate(CellPlace("In[3]"), LINES, (LOOP,))) == expected


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen |= {tag, *(name for name, _ in attrs)}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize(
    "view", [show_assembly(CellPlace("In[3]"), LINES, (LOOP,)), annotate(CellPlace("In[3]"), LINES, (LOOP,))]
)
def test_views_are_html_with_inline_styles_only(view: render.View) -> None:
    reader = _Reader()
    reader.feed(view.to_html())
    assert reader.open == []
    assert not reader.seen & {"script", "class", "b"}
    assert "details" in reader.seen


GCC = """\
In[3]:11:37: missed: couldn't vectorize loop
In[3]:11:37: missed: not vectorized: control flow in loop.
In[3]:9:3: missed: statement clobbers memory: puts (&x);
<ufunc_magic>:101:5: optimized: loop vectorized using 32 byte vectors
<ufunc_magic>:110:12: note: vectorized 1 loops in function.
"""
GATHER = """\
In[3]:4:19: missed:   possible alias involving gather/scatter between *_19 and *_21
In[3]:3:23: missed:  bad data dependence.
In[3]:3:23: missed:   not vectorized: no vectype for stmt: _22 = *_19;
In[3]:3:23: missed: couldn't vectorize loop
In[3]:4:19: missed: not vectorized: no vectype for stmt: _22 = *_19;
In[3]:5:1: missed:  not vectorized: no grouped stores in basic block.
"""
CLANG = """\
--- !Analysis
Pass:            loop-vectorize
Name:            CantReorderFPOps
DebugLoc:        { File: 'In[3]', Line: 19, Column: 11 }
Function:        __ufm_item_2
Args:
  - String:          'loop not vectorized: '
  - String:          cannot prove it is safe to reorder floating-point operations
...
--- !Passed
Pass:            loop-vectorize
Name:            Vectorized
DebugLoc:        { File: 'In[3]', Line: 5, Column: 1 }
Args:
  - String:          'vectorized '
  - String:          'loop (vectorization width: '
...
"""


def test_remarks_of_gcc_and_clang_are_read() -> None:
    of_gcc = [(r.file, r.line, r.vectorized) for r in read_remarks(GCC)]
    assert of_gcc == [("In[3]", 11, False), ("<ufunc_magic>", 101, True)]
    of_gcc_16 = (
        "In[3]:7:28: missed: couldn't vectorize loop\nIn[3]:5:8: missed: not vectorized: unhandled relevant PHI: x_1.\n"
    )
    assert read_remarks(of_gcc_16) == (Remark("In[3]", 7, False, "unhandled relevant PHI: x_1"),)
    (of_gather,) = read_remarks(GATHER)
    assert (of_gather.line, spell_reason(of_gather.words)[:31]) == (3, "it reads or writes by an index,")
    of_clang = [(r.file, r.line, r.vectorized) for r in read_remarks(CLANG)]
    assert of_clang == [("In[3]", 19, False), ("In[3]", 5, True)]


@pytest.mark.parametrize(
    ("words", "plain"),
    [
        ("number of iterations cannot be computed", "the data decide when it ends"),
        ("could not determine number of loop iterations", "the data decide when it ends"),
        ("data ref analysis failed: _19 = *_18;", "the compiler cannot follow its indices"),
        ("unhandled relevant PHI: x_1", "each step needs a result of the step before"),
        ("call instruction cannot be vectorized", "it calls a function that has no vector form"),
        ("no vectype for stmt: _3 = f (x_2);", ""),
        ("control flow in loop", "a branch or an early exit in it"),
        ("unsupported use in stmt", "each step needs a result of the step before"),
        ("something new: _3 = *_4;", "something new"),
    ],
)
def test_reasons_of_compilers_are_said_in_plain_words(words: str, plain: str) -> None:
    assert spell_reason(words) == plain


def test_control_flow_is_said_as_the_ir_knows_it() -> None:
    for words in ("control flow in loop", "loop control flow is not understood by vectorizer"):
        assert spell_reason(words, "a `break`") == "a `break` ends it early"
        assert spell_reason(words, "") == "a branch in it"


def test_the_generated_unit_is_shown_without_the_system_s_headers() -> None:
    text = (
        '# 0 "<built-in>"\n#define __GCC_X 1\n# 1 "<ufunc_magic>"\ntypedef int t;\n\n\n\nint u;\n# 1 "In[3]"\n'
        '# 1 "/usr/include/math.h" 1 3\nextern double sin(double);\n# 2 "In[3]" 2\ndouble f(double x);\n'
        '# 1 "<ufunc_magic>"\nvoid loop(void);\n'
    )
    made = show_generated(text, name="In[3]")
    assert made.parts == (
        ("/* <ufunc_magic> */", "typedef int t;\n\nint u;"),
        ("/* In[3] */", "double f(double x);"),
        ("/* <ufunc_magic> */", "void loop(void);"),
    )


# --------------------------------------------------------------------------- with the compiler here

CELL = """\
#include <math.h>
double twice(double x) {
    return x + x * 3;
}
double root(double a) {
    double x = a;
    for (int i = 0; i < 50 && fabs(x*x - a) > 1e-15; i++)
        x = 0.5 * (x + a / x);
    return x;
}
// ufunc: (n)->() name=total
double total(const double *a, int n) {
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i];
    return s;
}
"""


def _loops(tmp_path: Path, cell: str = CELL, **options: object) -> tuple[HotLoop, ...]:
    compiled, texts = _compiled(tmp_path, cell, options)
    return find_hot_loops(compiled, assembly.read(texts.assembly), features=cpu_features())


def _views(tmp_path: Path, *wanted: render.ViewName, cell: str = CELL, **options: object) -> tuple[render.View, ...]:
    compiled, texts = _compiled(tmp_path, cell, options)
    return render.make_source_views(compiled, wanted, texts, place=compiled.object_code.place)


def _compiled(tmp_path: Path, cell: str, options: dict[str, object]) -> tuple[CompiledCell, CompilerTexts]:
    asked = make_options(dict(options))
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir(parents=True)
    second.mkdir()
    compiled = c.compile(cell, options=asked, name="In[3]", folder=first)

    def again(more: tuple[str, ...]) -> CompiledCell:
        return c.compile(cell, options=replace(asked, compile_args=tuple(more)), name="In[3]", folder=second)

    return compiled, read_compiler_texts(second, cplus=bool(options.get("cplus")), compile_again=again)


LOOPS = """\
#include <math.h>
// ufunc: (n)->(n)
void scale(const double *a, int n, double *o) {
    for (int i = 0; i < n; i++) o[i] = 2 * a[i] + 1;
}
// ufunc: (n)->(n)
void turn(const double *a, int n, double *o) {
    for (int i = 0; i < n; i++) o[i] = a[n - 1 - i];
}
// ufunc: (n)->()
int most(const int *a, int n) {
    int m = a[0];
    for (int i = 1; i < n; i++)
        if (a[i] > m) m = a[i];
    return m;
}
// ufunc: (n)->()
unsigned parity(const unsigned *a, int n) {
    unsigned h = 0;
    for (int i = 0; i < n; i++) h ^= a[i];
    return h;
}
// ufunc: (n)->(n)
void gammas(const double *a, int n, double *o) {
    for (int i = 0; i < n; i++) o[i] = tgamma(a[i]);
}
// ufunc: (m,n),(n)->(m)
void times(const double *a, const double *x, int m, int n, double *y) {
    for (int i = 0; i < m; i++) {
        double s = 0;
        for (int j = 0; j < n; j++) s += a[i * n + j] * x[j];
        y[i] = s;
    }
}
"""


@needs_listing
@pytest.mark.skipif(compilers.find().kind != "gcc", reason="the words are gcc's")
def test_a_loop_with_a_rest_for_single_elements_is_vectorized(tmp_path: Path) -> None:
    (view,) = _views(tmp_path, "vec", cell=LOOPS)
    verdicts = dict(line.split("  ", 1) for line in view.to_text().splitlines() if "->" in line)
    for name in ("scale", "turn", "most", "parity"):
        assert ": vectorized" in verdicts[name], verdicts
    assert "not vectorized: the loop on line 25 (it calls tgamma, one at a time)" in verdicts["gammas"]
    assert "not vectorized: the loop on line 31" in verdicts["times"]  # the inner one


@needs_listing
def test_everything_is_shown_from_one_further_compilation(tmp_path: Path) -> None:
    asm, vec, unit, annotate = _views(tmp_path, "asm", "vec", "c", "annotate")
    loops = _loops(tmp_path / "again")
    assert [loop.name for loop in loops] == ["twice", "root", "total"]
    assert all(set(loop.shares) - {0} for loop in loops)
    assert "root  d->d: " in asm.to_text()
    lines = {loop.name: {p.line for p in loop.placed} for loop in loops}
    assert 3 in lines["twice"]
    assert {7, 8} <= lines["root"]
    assert 15 in lines["total"]
    assert max(p.inner for p in loops[1].placed) == 1  # Newton's loop inside of the one over elements
    assert "twice  d->d: vectorized" in vec.to_text()
    assert re.search(r"root  d->d: not vectorized: the loop on line 7", vec.to_text())
    assert "    for (int i = 0; i < 50" in vec.to_text()
    # gcc calls a sum in its order vectorized, clang does not
    assert "total  d->d: not vectorized" in vec.to_text()
    assert "line 14: this loop is vectorized" not in vec.to_text()
    assert "static int __ufm_kernel_0" in unit.to_text()
    assert "extern double sin" not in unit.to_text()
    assert re.search(r"(?m)^   8 +\d+%  +x = 0.5", annotate.to_text())


@needs_listing
def test_a_function_that_is_not_inlined_is_followed(tmp_path: Path) -> None:
    apart = "__attribute__((noinline)) static double g(double x) {\n    return x / 3 - 1;\n}\n"
    cell = apart + "double f(double x) { return g(x); }\n"
    assert 2 in {placed.line for placed in _loops(tmp_path, cell)[0].placed}


@needs_listing
def test_functions_that_do_the_same_each_have_their_loop(tmp_path: Path) -> None:
    cell = "double f(double x) { return x * x; }\ndouble g(double y) { return y * y; }\n"
    assert ["vectors" in loop.vectors for loop in _loops(tmp_path, cell)] == [True, True]


@pytest.mark.slow
@needs_listing
def test_c_plus_plus_and_several_types_can_be_shown(tmp_path: Path) -> None:
    (loop,) = _loops(tmp_path, "T f(T x) {\n    return x * x + 1;\n}\n", types="f4,f8", cplus=True)
    assert (loop.name, loop.types) == ("f", "d->d")
    assert 2 in loop.shares


@needs_listing
def test_sums_under_fast_math_become_vectors(tmp_path: Path) -> None:
    assert all("vectors" in loop.vectors for loop in _loops(tmp_path, fast_math=True) if loop.name == "total")


def test_zig_is_refused_with_a_word_on_what_would_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = compilers.Toolchain("zig", ("zig", "cc"), False, "/zig", 1, 1, "CC")
    monkeypatch.setattr("ufunc_magic.compilers.compiler_texts.find", lambda **_: tool)
    with pytest.raises(ToolchainError, match=r"zig .*assembly"):
        read_compiler_texts(tmp_path, cplus=False, compile_again=lambda more: pytest.fail("compiled"))


def _report(language: str, monkeypatch: pytest.MonkeyPatch, **options: object) -> Report:
    """Of a build of nothing, whose second compilation fails the test."""
    monkeypatch.setattr("ufunc_magic.compilers.read_compiler_texts", lambda *_, **__: pytest.fail("compiled"))
    object_code = ObjectCode(b"", Target("elf", "linux", "x86_64"), (), language)
    build = Build(LoadedObject(object_code), "In[3]")
    return pipeline.report(build, options=make_options(dict(options)))


def test_a_cython_cell_is_told_of_its_own_view(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="Use -a"):
        _report("cython", monkeypatch, show="asm")


@needs_listing
def test_a_function_without_a_loop_has_no_remark_on_one(tmp_path: Path) -> None:
    (vec,) = _views(
        tmp_path,
        "vec",
        cell="static float g(float x);\nfloat f(float x) { return g(x); }\n"
        "static float g(float x) {\n    return x < 1 ? x : x * x;\n}\n",
    )
    assert "this loop" not in vec.to_text()
    assert vec.to_text().count("\n") == 1


def test_nothing_asked_for_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _report("c", monkeypatch).views == ()


@pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")
def test_clang_shows_the_same_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "clang")
    asm, vec = _views(tmp_path, "asm", "vec")
    assert all(f"{name}  d->d: " in asm.to_text() for name in ("twice", "root", "total"))
    assert "reorder floating-point" in vec.to_text()


@needs_listing
def test_a_fault_of_the_second_compilation_is_the_compiler_s_own(tmp_path: Path) -> None:
    def broken(more: object) -> CompiledCell:
        raise CompileError("In[3] does not compile: 1 error.")

    with pytest.raises(CompileError, match="1 error"):
        read_compiler_texts(tmp_path, cplus=False, compile_again=broken)


# ------------------------------------------------------------------------------------- progress


def _shown(times: list[float], *, interrupted: bool = False, seen: list[str] | None = None) -> list[str]:
    """The HTML that a notebook is given, at a fake clock's times."""
    seen = [] if seen is None else seen
    clock = iter([0.0, *times])

    class Output:
        def update(self, texts: dict[str, str], *, raw: bool) -> None:
            seen.append(texts["text/html"])

    def display(texts: dict[str, str], *, raw: bool, display_id: bool) -> Output:
        seen.append(texts["text/html"])
        return Output()

    with Progress(display, lambda: next(clock)) as progress:
        for n, _ in enumerate(times):
            progress(n / len(times), f"<{n}>")
        if interrupted:
            raise KeyboardInterrupt
    progress.becomes({"text/html": "the table"})
    assert not progress.becomes({"text/html": "once only"})
    return seen


def test_nothing_is_shown_of_what_takes_less_than_a_second() -> None:
    assert _shown([0.2, 0.6, 0.99]) == []


def test_a_line_is_shown_after_a_second_and_then_what_came_of_it() -> None:
    first, second, end, last = _shown([0.5, 1.0, 1.05, 1.5])
    assert '<progress max="1" value="0.250" aria-label="&lt;1&gt;"' in first
    assert 'value="0.750"' in second
    assert (end, last) == ("", "the table")


def test_an_interrupt_goes_on_and_where_nothing_can_be_shown_nothing_is() -> None:
    seen: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        _shown([5.0], interrupted=True, seen=seen)
    assert seen[1:] == ["stopped at 0%, &lt;0&gt;"]
    with Progress(None, iter([0.0, 5.0]).__next__) as progress:
        progress(0.5)


PTX = """\
//
.version 8.8
.target sm_75
	// .globl	_Z1hf
.visible .func  (.param .b32 func_retval0) _Z1hf(
	.param .b32 _Z1hf_param_0
)
{
	.reg .f32 	%f<2>;

	// a comment
	ret;

}
.visible .entry _ZN2ns5otherEPf(
	.param .u64 _ZN2ns5otherEPf_param_0
)
{
	ret;
}
.visible .entry plain()
{
	ret;
}
"""


def test_ptx_is_shown_by_function() -> None:
    parts = read_ptx_functions(PTX)
    assert [title for title, _ in parts] == ["h: a function", "ns::other: a kernel", "plain: a kernel"]
    assert parts[0][1].endswith("{\n\t.reg .f32 \t%f<2>;\n\tret;\n}")


@pytest.mark.nvrtc
@pytest.mark.skipif(nvrtc.find() is None, reason="NVRTC is not installed (extra: cuda)")
def test_cells_for_the_gpu_show_their_ptx_and_have_no_assembly() -> None:
    b = um.compile_cuda("__device__ float h(float x) { return rsqrtf(x); }", device="gpu")
    assert "rsqrt.approx.f32" in str(b.report(show="ptx", time=False))
    for asked in {"show": "asm"}, {"annotate": True}:
        with pytest.raises(um.OptionError, match="no code for the CPU"):
            b.report(time=False, **asked)
    with pytest.raises(um.OptionError, match=r"--show ptx .*this one is C"):
        um.compile_c("double f(double x) { return x; }", show="ptx")
