"""The object for this CPU that a cell gets first, and the portable one: one function, whoever asks."""

from __future__ import annotations

import itertools
import os
import pickle
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import run_python
from ufunc_magic import compilers, runtime
from ufunc_magic.model import unpack
from ufunc_magic.runtime import load
from ufunc_magic.shortcuts import find_this_level, this_cpu

pytestmark = pytest.mark.skipif(not find_this_level(), reason="cells have clones for levels of x86-64 on Linux only")

SOURCE = """
#include <math.h>
double blend(double a, double b, double c) { return a * b + exp(-c * c); }
long odd(long n) { long k = 0; while (n != 1 && k < 90) { n = n % 2 ? 3 * n + 1 : n / 2; k++; } return k; }
static int calls;
int count(int step) { calls += step; return calls; }
"""


_numbers = itertools.count()


def new() -> str:
    """A cell that nobody has compiled."""
    return f"{SOURCE}// {os.getpid()} {next(_numbers)}"


def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the units that are compiled from now on."""
    names: list[str] = []
    compile_shared = compilers.compile_shared

    def noted(*arguments: Any, **keywords: Any) -> Any:
        names.append(arguments[2].name if len(arguments) > 2 else keywords["origin"].name)
        return compile_shared(*arguments, **keywords)

    monkeypatch.setattr(compilers, "compile_shared", noted)
    return names


def test_a_cell_is_compiled_for_this_cpu_and_once_more_when_it_travels(monkeypatch: pytest.MonkeyPatch) -> None:
    um.compile_c("#include <math.h>\ndouble f(double x) { return exp(x); }")  # driver and SIMD math
    compiled = compilations(monkeypatch)
    build = um.compile_c(new(), name="cell")
    assert build.loaded.object_code.target.level.startswith("native: ")
    assert compiled == ["cell"]
    assert unpack(um.dumps(build.blend))[0].target.level == "baseline"
    assert compiled == ["cell", "cell"]
    um.dumps(build.odd)
    pickle.dumps(build)
    assert build.object_code.target.level == "baseline"
    assert compiled == ["cell", "cell"]


def test_both_objects_give_the_same_results_to_the_last_bit() -> None:
    build = um.compile_c(new())
    portable = load(build.object_code)
    random = np.random.default_rng(7)
    a, b, c = (random.normal(size=1003) for _ in range(3))
    n = random.integers(1, 10**6, size=1003)
    for part in (slice(None), slice(None, None, 3), slice(5, 6)):
        assert np.array_equal(build.blend(a[part], b[part], c[part]), portable.blend(a[part], b[part], c[part]))
        assert np.array_equal(build.odd(n[part]), portable.odd(n[part]))
    hypot = um.compile_c("double step(double a, double b) { return a * 0.3 + b; }")
    assert hypot.step.reduce(a) == load(hypot.object_code).step.reduce(a)


ROUNDING = """
#include <math.h>
static double apart(double a, double n) { return n > 0 ? apart(a * 1.1 + 0.7, n - 1) * 0.3 + a : a; }
static void mix(const double *v, double *out) { *out = v[0] * v[1] + v[2]; }
double step(double a, double b) { return a * 0.3 + b; }
double deep(double a, double b) { return apart(a * b + 0.1, 7); }
double blend(double a, double b) { double v[3] = {a, b, a - b}, r; mix(v, &r); return r * a + sqrt(fabs(b)); }
float narrow(float a, float b) { return a * b - a / (b * b + 1.5f); }
double cut(double a, double b) { double s = a; for (int i = 0; i < 5; i++) s = s * b + i; return 1 / floor(s); }
// ufunc: (3),(3)->()
double inner(const double *a, const double *b) {
    double s = 0;
    for (int i = 0; i < 3; i++) s += a[i] * b[i];
    return s;
}
"""


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("strict", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_both_objects_round_alike(strict: bool) -> None:
    build = um.compile_c(f"{ROUNDING}// {os.getpid()} {next(_numbers)}", strict=strict)
    portable = load(build.object_code)
    assert build.loaded.object_code.code != portable.object_code.code
    random = np.random.default_rng(8)
    for name in ("step", "deep", "blend", "narrow", "cut", "inner"):
        one, other = build[name], portable[name]
        shape = (1003, 3) if one.signature else 1003
        a, b = (random.normal(size=shape).astype(one.types[0][0]) for _ in range(2))
        for part in (slice(None), slice(None, None, 3), slice(5, 6)):
            np.testing.assert_array_equal(one(a[part], b[part]), other(a[part], b[part]))
        if not one.signature:
            np.testing.assert_array_equal(one(a[3], b[3]), other(a[3], b[3]))
            np.testing.assert_array_equal(one.outer(a[:5], b[:7]), other.outer(a[:5], b[:7]))
    a = random.uniform(-0.1, 0.1, size=1003)
    for name in ("step", "deep", "blend"):
        np.testing.assert_array_equal(build[name].accumulate(a), portable[name].accumulate(a))
        assert build[name].reduce(a) == portable[name].reduce(a)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize(
    "cut",
    ["(double)(int)x", "({ int k = x; k; })", "(float)(short)x", "whole(x)"],
)
def test_a_zero_that_was_cut_off_has_one_sign(cut: str) -> None:
    """gcc 12 makes trunc(x) of (double)(int)x, where it may."""
    text = f"static int whole(double x) {{ return x; }}\ndouble f(double x, double y) {{ return 1 / ({cut} * y); }}"
    build = um.compile_c(text, force=True)
    portable = load(build.object_code)
    values = np.array([-0.5, 1.0, 0.5, -0.2])
    np.testing.assert_array_equal(build.f.accumulate(values), portable.f.accumulate(values))
    np.testing.assert_array_equal(build.f(values, 1.0), portable.f(values, 1.0))


@pytest.mark.parametrize(
    "text",
    [
        "#ifdef __AVX2__\ndouble f(double x) { return -1; }\n#else\ndouble f(double x) { return x; }\n#endif",
        "#include <math.h>\n#ifdef FP_FAST_FMA\n#error fast\n#endif\ndouble f(double x) { return x; }",
        "#define NAME(a) _ ## _AVX2_ ## a\ndouble f(double x) { int NAME(_) = 1; return x * NAME(_); }",
        "#include <x86intrin.h>\n#ifdef __AVX2__\n#error AVX2\n#endif\ndouble f(double x) { return x; }",
    ],
)
def test_a_cell_sees_a_compiler_for_any_cpu(text: str) -> None:
    assert um.compile_c(text, force=True).f(2.0) == 2.0


@pytest.mark.parametrize("options", [{}, {"cplus": True}, {"arch": "native"}])
def test_a_constant_that_ends_in_zeros_is_copied_whole(options: dict[str, Any]) -> None:
    """gcc 12.2 repeats its first 16 bytes, where it may use AVX-512 for copies."""
    text = """
    #include <string.h>
    static const unsigned char start[64] = {165, 90, 165, 90, 165, 90, 165, 90, 165, 90, 165, 90, 165, 90, 165, 90};
    int at(int k) { unsigned char copy[64]; memcpy(copy, start, 64); return copy[k & 63]; }
    """
    build = um.compile_c(text, force=True, **options)
    for whole in (build, load(build.object_code)):
        np.testing.assert_array_equal(whole.at(np.arange(64)), [165, 90] * 8 + [0] * 48)


def test_who_writes_for_a_cpu_is_refused_as_by_the_portable_compiler() -> None:
    text = "#include <immintrin.h>\ndouble f(double x) { return _mm256_cvtsd_f64(_mm256_set1_pd(x)); }"
    with pytest.raises(um.CompileError, match=r"target specific option|inlining failed"):
        um.compile_c(text, force=True)


def test_what_comes_back_is_the_function_that_went() -> None:
    build = um.compile_c(new())
    assert um.loads(um.dumps(build.blend)) is build.blend
    assert pickle.loads(pickle.dumps(build.count)) is build.count
    assert pickle.loads(pickle.dumps(build)) == build


@pytest.mark.slow
def test_another_process_finds_either_object() -> None:
    source = new()
    script = f"""
        import ufunc_magic as um
        build = um.compile_c({source!r})
        print(build.cached, build.loaded.object_code.target.level.partition(":")[0], build.odd(27))
    """

    def elsewhere() -> str:
        ran = run_python(textwrap.dedent(script))
        return ran.stdout.strip()

    assert elsewhere() == "False native 90"
    assert elsewhere() == "True native 90"
    script = f"{textwrap.dedent(script)}um.dumps(build.odd)\n"
    assert elsewhere() == "True native 90"
    assert elsewhere() == "True baseline 90"


def test_what_reads_files_of_the_users_is_portable_at_once(tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text("#define THREE 3\n")
    build = um.compile_c('#include "own.h"\nint f(int x) { return THREE * x; }', include=[str(tmp_path)])
    assert build.loaded.object_code.target.level == "baseline"
    (tmp_path / "own.h").write_text("#define THREE 4\n")
    assert um.loads(um.dumps(build.f))(2) == 6


def test_a_table_needs_no_portable_object() -> None:
    """Nobody sends it anywhere, and the compiler would be waited for."""
    build = um.compile_c(new())
    complete = build.loaded.complete
    assert complete
    assert all(table.ok for table in build.report().comparisons)
    assert "ddd->d" in str(build.report(time=False))
    assert build.loaded.complete is complete


def test_another_thread_may_come_between_the_question_and_the_call() -> None:
    build = um.compile_c(new())
    complete = build.loaded.complete
    assert complete

    class Overtaken:
        def __bool__(self) -> bool:
            build.loaded.complete = None  # as the other thread does
            return True

        def __call__(self) -> Any:
            return complete()

    build.loaded.complete = Overtaken()
    assert build.object_code.target.level == "baseline"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
# From Python 3.12 on.
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded, use of fork:DeprecationWarning")
def test_the_child_of_a_fork_makes_it_itself() -> None:
    build = um.compile_c(new())
    read, write = os.pipe()
    with runtime.lock_of(this_cpu.LOCK):  # as the thread of the parent would
        if not (child := os.fork()):
            try:
                os.write(write, unpack(um.dumps(build.odd))[0].target.level.encode())
            finally:
                os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    assert os.read(read, 100) == b"baseline"
    os.close(read)


def test_a_pickle_has_the_code_of_this_cpu_where_the_compiler_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    build = um.compile_c(new())

    def refused(*arguments: Any, **keywords: Any) -> Any:
        raise um.ToolchainError("The compiler is gone.", remedy="Install it.")

    with monkeypatch.context() as patch:
        patch.setattr(compilers, "compile_shared", refused)
        assert build.odd(27) == 90
        assert unpack(um.dumps(build.odd))[0].target.level.startswith("native: x86_v")
    assert unpack(um.dumps(build.odd))[0].target.level == "baseline"
    assert um.loads(um.dumps(build.odd)) is build.odd
