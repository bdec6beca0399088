"""Cells of many functions, which gcc compiles in parts on all processors: they are what one unit would be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from ufunc_magic import toolchain
from ufunc_magic.toolchain import toolchain as compiling

pytestmark = pytest.mark.skipif(
    toolchain.find(cplus=False).kind != "gcc", reason="gcc alone drops what a part of a cell does not need"
)

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


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[tuple[str, int]]]:
    """The parts of each cell that is compiled in such."""
    compiled: list[Sequence[tuple[str, int]]] = []

    def listened(tool: Any, texts: Sequence[tuple[str, int]], **keywords: Any) -> Any:
        compiled.append(texts)
        return compiling.compile_parts(tool, texts, **keywords)

    monkeypatch.setattr(toolchain, "compile_parts", listened, raising=False)
    return compiled


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"parallel": True}, {"strict": True}], ids=["", "parallel", "strict"])
def test_parts_compute_what_one_unit_does(parts: list[Any], options: dict[str, Any]) -> None:
    # A variable of its own is what keeps the same cell in one unit.
    whole = um.compile_c(f"{CELL}\nstatic int calls;\nint count(int n) {{ return calls += n; }}", **options)
    assert not parts
    apart = um.compile_c(CELL, **options)
    assert [sum(count for _, count in texts) for texts in parts] == [15]
    x, y = np.random.default_rng(3).normal(size=(2, 1003)) * 3
    for name in ("twice", "total"):
        assert np.array_equal(whole[name](x), apart[name](x)), name
    assert np.array_equal(whole["conv"](x, y[:7]), apart["conv"](x, y[:7]))
    for n in range(12):
        one, other = whole[f"f{n}"], apart[f"f{n}"]
        assert np.array_equal(one(x, y), other(x, y)), n
        assert np.array_equal(one(x[::3], y[::3]), other(x[::3], y[::3])), n
        assert np.array_equal(one.accumulate(x), other.accumulate(x)), n
    assert apart["plain"](b"text")[0] == b"t"


@pytest.mark.slow
def test_the_portable_object_is_made_in_the_same_parts(parts: list[Any]) -> None:
    build = um.compile_c(f"{CELL}// one of its own")
    loaded = um.loads(um.dumps(build["f3"]))
    assert len(parts) == 2
    x = np.linspace(-3, 3, 101)
    assert np.array_equal(loaded(x, x), build["f3"](x, x))


def test_a_mistake_is_told_once(parts: list[Any]) -> None:
    wrong = CELL + "double wrong(double x) { return x + missing; }\n"
    with pytest.raises(um.CompileError) as caught:
        um.compile_c(wrong)
    assert len(parts) == 1
    assert [d.severity for d in caught.value.diagnostics].count("error") == 1
    assert "missing" in str(caught.value)


def test_a_warning_is_told_once(parts: list[Any]) -> None:
    build = um.compile_c(CELL + "double warned(double x) { int unused; return x; }\n")
    assert len(parts) == 1
    assert [d.message for d in build.diagnostics] == ["unused variable 'unused'"]


@pytest.mark.parametrize(
    "more",
    [
        "int last(int x) { static int before; int was = before; before = x; return was; }",
        "double state = 1; double next(double x) { return state *= x; }",
        "#include <stdlib.h>\nint draw(int n) { return rand() % n; }",
        '__asm__(".globl here\\nhere:"); double g(double x) { return x; }',
    ],
    ids=["static", "variable", "library", "assembly"],
)
def test_cells_with_a_state_are_one_unit(parts: list[Any], more: str) -> None:
    assert "f3" in um.compile_c(f"{CELL}\n{more}")
    assert not parts


def test_names_that_clash_are_compiled_as_one_unit(parts: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with parts alone is nobody's business."""

    def clashing(tool: Any, texts: Any, **keywords: Any) -> Any:
        again = [(re.sub("#define __UFM_PART", "double f3(double);\nint f3;", text), count) for text, count in texts]
        return compiling.compile_parts(tool, again, **keywords)

    monkeypatch.setattr(toolchain, "compile_parts", clashing, raising=False)
    assert um.compile_c(CELL)["twice"](1.5) == 3


def test_how_far_it_is_is_counted_in_functions(tmp_path: Path) -> None:
    with compiling.counting(tmp_path, 100) as ready:
        assert toolchain.how_far() == "0 of 100 functions"
        ready(40)
        assert toolchain.how_far() == "40 of 100 functions"
    assert toolchain.how_far() == ""
