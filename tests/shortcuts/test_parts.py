"""Cells of many functions, which gcc compiles in parts on all processors: they are what one unit would be."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from ufunc_magic import compilers, shortcuts
from ufunc_magic.shortcuts import parts as compiling

pytestmark = pytest.mark.skipif(compilers.find(cplus=False).kind != "gcc", reason="gcc alone divides a unit")

CELL = """
#include <math.h>
static const double table[3] = {0.5, 0.25, 0.125};
static double half(double x) { return table[0] * x; }
double twice(double x) { return 2 * half(x) + half(x) * 2; }
void total(const double *x, int n, double *s) { *s = 0; for (int i = 0; i < n; i++) *s += x[i]; }
// ufunc: (n),(m)->(n+m-1)
void conv(const double *x, int n, const double *y, int m, double *z)
{
    for (int k = 0; k < n + m - 1; k++) z[k] = 0;
    for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) z[i + j] += x[i] * y[j];
}
char *plain(char *text) { return text; }
""" + "".join(
    f"double f{n}(double x, double y) {{ return x > 1 ? exp(-x) * y + twice({n}) : log1p(x * x) - {n}; }}\n"
    for n in range(12)
)


STATE = "static int calls; int count(int n) { return calls += n; } int calls_so_far(int n) { return calls + n; }\n"


@dataclass
class Parts:
    """The units of each cell that is compiled in parts, and whether that fails."""

    units: list[shortcuts.LargeUnit]
    failing: bool = False


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    listened = Parts([])

    def compile_in_parts(tool: Any, unit: shortcuts.LargeUnit, *arguments: Any, **keywords: Any) -> Any:
        listened.units.append(unit)
        if listened.failing:
            unit = replace(unit, text=f"{unit.text}\nint wrong[")
        return compiling.compile_in_parts(tool, unit, *arguments, **keywords)

    monkeypatch.setattr(shortcuts, "compile_in_parts", compile_in_parts, raising=False)
    return listened


def both(parts: Parts, compiled: Callable[[str], um.Build], text: str, comment: str) -> tuple[um.Build, um.Build]:
    """A cell in parts, and as one unit."""
    apart = compiled(text)
    assert len(parts.units) == 1
    parts.failing = True
    whole = compiled(f"{text}{comment} one of its own")
    assert len(parts.units) == 2
    assert apart.object_code.code != whole.object_code.code
    return apart, whole


def check_numbers(apart: um.Build, whole: um.Build) -> None:
    x, y = np.random.default_rng(3).normal(size=(2, 1003)) * 3
    for n in range(12):
        one, other = whole[f"f{n}"], apart[f"f{n}"]
        assert np.array_equal(one(x, y), other(x, y)), n
        assert np.array_equal(one(x[::3], y[::3]), other(x[::3], y[::3])), n
        assert np.array_equal(one.accumulate(x), other.accumulate(x)), n


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("head", "options"),
    [
        ("", {}),
        ("", {"parallel": True}),
        ("", {"strict": True}),
        ("", {"fast_math": True}),
        (STATE, {}),
        ("#include <stdlib.h>\nint draw(int n) { return rand() % n; }\n", {}),
        ("#include <vector>\nstatic std::vector<int> v; int size(int n) { return n + v.size(); }\n", {"cplus": True}),
        (
            '#include <stdexcept>\nint fail(int n) { if (n < 0) throw std::range_error("low"); return n; }\n',
            {"cplus": True},
        ),
        ("typedef struct { double x, y; } point; double norm(point p) { return p.x * p.x + p.y; }\n", {}),
    ],
    ids=["", "parallel", "strict", "fast-math", "variable", "library", "C++", "exception", "structure"],
)
def test_parts_compute_what_one_unit_does(parts: Parts, head: str, options: dict[str, Any]) -> None:
    compiled = functools.partial(um.compile_c, **options)
    apart, whole = both(parts, compiled, f"{head}{CELL}", "//")
    check_numbers(apart, whole)
    x, y = np.random.default_rng(3).normal(size=(2, 1003)) * 3
    for name in ("twice", "total"):
        assert np.array_equal(whole[name](x), apart[name](x)), name
    assert np.array_equal(whole["conv"](x, y[:7]), apart["conv"](x, y[:7]))
    assert apart["plain"](b"text")[0] == b"t"
    if head == STATE:
        assert apart["count"](3) == 3
        assert apart["calls_so_far"](1) == 4
    if "fail" in apart:
        with pytest.raises(RuntimeError, match="low"):
            apart["fail"](-1)
    if "norm" in apart:
        points = np.array([(2.0, 1.0)], dtype=[("x", float), ("y", float)])
        assert apart["norm"](points)[0] == 5


CUDA = """
__constant__ float factor[2] = {2, 3};
__device__ int count;
__global__ void turn(float *x) {
    __shared__ float all[64];
    all[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = all[63 - threadIdx.x] * factor[threadIdx.x % 2];
    if (!threadIdx.x) count++;
}
""" + "".join(f"__device__ double f{n}(double x, double y) {{ return exp(-x * x) * y + {n}; }}\n" for n in range(12))


@pytest.mark.slow
def test_a_large_cuda_cell_is_what_one_unit_is(parts: Parts) -> None:
    apart, whole = both(parts, functools.partial(um.compile_cuda, device="cpu"), CUDA, "//")
    check_numbers(apart, whole)
    x = np.arange(64, dtype="f4")
    for build in (apart, whole):
        turned = x.copy()
        build["turn"][1, 64](turned)
        assert np.array_equal(turned, x[::-1] * np.tile([2, 3], 32))
        assert build["turn"].memory["count"] == 1


@pytest.mark.slow
def test_the_portable_object_is_made_in_the_same_parts(parts: Parts) -> None:
    build = um.compile_c(f"{STATE}{CELL}// a third one")
    loaded = um.loads(um.dumps(build["f3"]))
    assert len(parts.units) == 2
    x = np.linspace(-3, 3, 101)
    assert np.array_equal(loaded(x, x), build["f3"](x, x))


@pytest.mark.slow
def test_every_machine_makes_the_same_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its folders are called, and however many processors it has."""
    codes = []
    for processors in ({0}, os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else ({0},) * 2:
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid, processors=processors: processors, raising=False)
        monkeypatch.setenv("UFUNC_MAGIC_CACHE", str(tmp_path / str(len(codes))))
        build = um.compile_c(f"{STATE}{CELL}", force=True)
        assert not build.cached
        codes.append(build.object_code.code)
    assert codes[0] == codes[1]


@pytest.mark.slow
def test_a_mistake_is_told_once(parts: Parts) -> None:
    wrong = CELL + "double wrong(double x) { return x + missing; }\n"
    with pytest.raises(um.CompileError) as caught:
        um.compile_c(wrong)
    assert len(parts.units) == 1
    assert [d.severity for d in caught.value.diagnostics].count("error") == 1
    assert "missing" in str(caught.value)


@pytest.mark.slow
def test_a_warning_is_told_once(parts: Parts) -> None:
    build = um.compile_c(
        CELL
        + "double warned(double x) { int unused; return x; }\n"
        + "double beside(int n) { double a[2] = {1, 2}; return a[0] + a[1] + (n > 3 ? a[5] : 0); }\n"
    )
    assert len(parts.units) == 1
    messages = [d.message for d in build.diagnostics]
    assert [*map(messages.count, messages)] == [1, 1, 1]
    assert "unused variable 'unused'" in messages
    # Which gcc finds while it optimises.
    assert "array subscript 5 is above array bounds of 'double[2]'" in messages


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "options"),
    [
        ('__asm__(".globl here\\nhere:"); double g(double x) { return x; }', {}),
        ("", {"compile_args": ["-DN=3"]}),
    ],
    ids=["assembly", "flags"],
)
def test_what_may_mean_the_whole_unit_keeps_it(parts: Parts, more: str, options: dict[str, Any]) -> None:
    assert "f3" in um.compile_c(f"{CELL}\n{more}", **options)
    assert not parts.units


@pytest.mark.slow
def test_what_fails_in_parts_is_compiled_as_one_unit(parts: Parts) -> None:
    """What is wrong with parts alone is nobody's business."""
    parts.failing = True
    assert um.compile_c(f"{CELL}// fails")["twice"](1.5) == 3
    assert len(parts.units) == 1


def test_how_far_it_is_is_counted_in_functions(tmp_path: Path) -> None:
    with compilers.count_functions(tmp_path, 100) as ready:
        assert compilers.describe_progress() == "0 of 100 functions"
        ready(40)
        assert compilers.describe_progress() == "40 of 100 functions"
    assert compilers.describe_progress() == ""
