"""The table of C's mathematical library."""

from __future__ import annotations

import ast
import cmath
import math
import re
from pathlib import Path

import numpy as np
import pytest

import ufunc_magic as um
from ufunc_magic import cells, compilers, forms, ir
from ufunc_magic.ir import MATH_FUNCTIONS, MathFunction, find_math_function
from ufunc_magic.languages.c import lower, parse_cell
from ufunc_magic.model import Options

PACKAGE = Path(um.__file__).parent
#: Rows with derivatives of real arguments that libm has under their own names.
DERIVABLE = [
    row
    for row in MATH_FUNCTIONS.values()
    if row.derivatives and row.header == "math.h" and row.name not in ("pow10", "nextafter")
]
POINTS = (0.35, 0.62)
#: Where the function has its domain elsewhere.
SHIFTED = {
    "acosh": (1.7, 0.0),
    "jn": (2, 1.3),
    "yn": (2, 1.3),
    "ldexp": (0.7, 3),
    "scalbn": (0.7, 3),
    "scalbln": (0.7, 3),
}


def test_a_name_leads_to_its_row_and_type() -> None:
    names = ["exp", "expf", "expl", "__builtin_isnan", "std::exp", "cexpf", "CMPLXF", "lgammaf_r", "erf", "erff"]
    entries = [find_math_function(name) for name in names]
    assert [(e[0].name, e[1].bits) for e in entries if e] == [
        *(("exp", 64), ("exp", 32), ("exp", 80), ("isnan", 64), ("exp", 64), ("cexp", 32)),
        *(("CMPLX", 32), ("lgamma_r", 32), ("erf", 64), ("erf", 32)),
    ]
    assert (
        find_math_function("expx")
        is find_math_function("isnanf")
        is find_math_function("f")
        is find_math_function("")
        is None
    )


def test_c_name_is_the_inverse() -> None:
    for row in MATH_FUNCTIONS.values():
        for name in ir.list_c_names(row):
            entry = find_math_function(name)
            assert entry is not None
            assert (entry[0], ir.spell_c_name(*entry)) == (row, name)


def test_python_and_numpy_have_what_the_table_names() -> None:
    modules = {"math": math, "cmath": cmath, "np": np}
    for row in MATH_FUNCTIONS.values():
        for text in (row.python, row.numpy):
            for module, name in re.findall(r"\b(math|cmath|np)\.(\w+)", text):
                assert hasattr(modules[module], name), row
        if row.python:
            arguments = [f"a{place}" for place in range(row.arguments)]
            ast.parse(row.python.format(*arguments) if "{" in row.python else f"{row.python}({', '.join(arguments)})")


@pytest.mark.slow
def test_derivatives_are_those_of_the_functions() -> None:
    """Each text, compiled, agrees with a difference quotient of the function."""
    lines = ["#define _GNU_SOURCE", "#include <math.h>"]
    for row in DERIVABLE:
        integers = [not text for text in row.derivatives] if row.arguments > 1 else [False]
        kinds = ["int" if whole else "double" for whole in integers]
        parameters = ", ".join(f"{kind} {name}" for kind, name in zip(kinds, "xyz", strict=False))
        call = f"{row.name}({', '.join('xyz'[: row.arguments])})"
        lines.append(f"double value_{row.name}({parameters}) {{ return {call}; }}")
        for place, text in enumerate(row.derivatives):
            if text:
                lines.append(
                    f"double d{place}_{row.name}({parameters}) {{ double f = {call}; (void)f; return {text}; }}"
                )
    cell = um.compile_c("\n".join(lines), guard=False)
    wrong = []
    for row in DERIVABLE:
        point = [*SHIFTED.get(row.name, POINTS), 0.91][: row.arguments]
        for place, text in enumerate(row.derivatives):
            if text:
                step = 1e-6
                ends = [[v + step * sign if at == place else v for at, v in enumerate(point)] for sign in (1, -1)]
                quotient = (cell[f"value_{row.name}"](*ends[0]) - cell[f"value_{row.name}"](*ends[1])) / (2 * step)
                derivative = cell[f"d{place}_{row.name}"](*point)
                if not math.isclose(quotient, derivative, rel_tol=1e-6, abs_tol=1e-8):
                    wrong.append((row.name, place, quotient, derivative))
    assert wrong == []


def test_every_function_of_math_h_with_an_elementary_derivative_has_it() -> None:
    without = "tgamma lgamma gamma lgamma_r frexp modf remquo sincos nan nexttoward scalb ilogb significand".split()
    real = [row for row in MATH_FUNCTIONS.values() if row.header == "math.h" and row.result == "float"]
    assert [row.name for row in real if not row.derivatives] == [row.name for row in real if row.name in without]


def test_libmvec_of_this_machine_has_what_the_table_says() -> None:
    functions = compilers.describe(compilers.find()).libmvec
    assert functions <= ir.list_vector_functions("x86_64", (99,)) | ir.list_vector_functions("aarch64", (99,))


def test_a_line_of_the_table_is_all_that_a_function_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MATH_FUNCTIONS, "sigmoid", MathFunction("sigmoid", "1/(1 + math.exp(-{0}))", "sp.expit"))
    find_math_function.cache_clear()
    try:
        unit, text = parse_cell("#include <math.h>\nfloat f(float x, float y) { return y*sigmoidf(x); }")
        (signature,), _, _ = cells.plan_operands(unit, options=Options())
        form = forms.write(lower(text), signature=signature, unit=unit)
        assert isinstance(form, forms.PythonForm)
        assert form.source == "def f(x, y):\n    return y * (1 / (1 + math.exp(-x)))\n"
        assert unit.functions[0].body.pure
        assert ir.is_declared_by("sigmoidf", "math.h")
    finally:
        find_math_function.cache_clear()


def test_no_other_file_lists_libm() -> None:
    """A second list would have these side by side."""
    lists = [
        path.relative_to(PACKAGE).as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "math_functions.py"
        for text in [path.read_text(encoding="utf-8")]
        if len(set(re.findall(r"\b(?:acosh|asinh|atanh|cbrt|expm1|log1p|erfc|tgamma|copysign|nextafter)\b", text))) > 6
    ]
    assert lists == []
