"""Functions that check and raise have copies without a jump where that is safe: only those can be vectorized."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("Cython", reason="Cython is not installed")

import ufunc_magic as um
from support import REPOSITORY
from ufunc_magic.languages.cython import nogil_clone
from ufunc_magic.languages.cython.cython_search import Searches
from ufunc_magic.languages.cython.translate import translate

pytestmark = pytest.mark.cython

HEAD = "from libc.math cimport sqrt, sin, cos, asin\n"
README = REPOSITORY / "README.md"


def cloned(source: str, function: str, folder: Path) -> str:
    """The C of the clone of a function of ``source``."""
    (folder / "m.pyx").write_text(source)
    translated = translate(source, path=folder / "m.pyx", module="m", name="In[1]", searches=Searches("m"))
    defined = nogil_clone.find_definitions(translated.c, name="In[1]")
    wanted = next(name for name in defined if re.fullmatch(rf"__pyx_f_\w*_{function}", name))
    functions = translated.functions
    return nogil_clone.make_clones(defined, [wanted], functions=functions, free=translated.free)[wanted].text


def jumps(text: str) -> bool:
    return "goto __pyx_L1_error" in text


@pytest.mark.parametrize("word", ["cdef", "cpdef"])
@pytest.mark.parametrize(
    "check", ["a > 1.6", "not (-1.6 < a < 1.6)", "not (-1.6 < a < 1.6 and b >= 0)", "a < 0 or b < 0"]
)
def test_a_check_of_floats_does_not_end_the_function(word: str, check: str, tmp_path: Path) -> None:
    body = f"    if {check}:\n        raise ValueError('no')\n    return sin(a) * cos(b) + sqrt(b)\n"
    text = cloned(f"{HEAD}{word} double f(double a, double b) except? -1:\n{body}", "f", tmp_path)
    assert "__ufm_fault = 1" in text
    assert not jumps(text)


@pytest.mark.slow
def test_the_function_of_the_readme_goes_on_after_its_check(tmp_path: Path) -> None:
    (cell,) = re.findall(r"```\n%%cython_ufunc\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    assert not jumps(cloned(cell, "great_circle", tmp_path))


@pytest.mark.parametrize(
    ("parameters", "rest"),
    [("double a, int n", "table[n] + a"), ("double a, long n", "a + 7 // n"), ("int a, int n", "a + n")],
)
def test_what_an_integer_guards_is_not_reached(parameters: str, rest: str, tmp_path: Path) -> None:
    source = (
        f"{HEAD}cdef double[3] table\n"
        f"cpdef double f({parameters}) except? -1:\n    if n < 1:\n        raise ValueError('no')\n    return {rest}\n"
    )
    assert jumps(cloned(source, "f", tmp_path))


CELL = """
from libc.math cimport sqrt

cdef double root(double x) except? -1:
    assert x == x
    if x < 0:
        raise ValueError("negative", x)
    return sqrt(x)

cpdef long divided(long a, long b=2):
    return a // b

def power(double x, double y):
    return x ** y

cdef double both(double x) except? -1 nogil:
    with gil:
        if x > 9:
            raise KeyError(x)
    return sqrt(x) + 1

# ufunc: (n)->()
cpdef double total(double[:] v):
    cdef double s = 0
    cdef int i
    for i in range(v.shape[0]):
        s += v[i]
    return s
"""
PATTERNS = "_HEAD _COMMENT _UNCONDITIONAL _NO_ASSERT _AFTER_CALL _ERROR_EXIT _IDLE"


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*PATTERNS.split(), "CODE_SECTION", "TYPES_SECTION"])
def test_c_that_is_written_in_another_way_costs_nothing_but_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    never: Any = "no version of Cython writes this" if name.isupper() and name[0] != "_" else re.compile("(?!)")
    monkeypatch.setattr(nogil_clone, name, never)
    cell = um.compile_cython(f"{CELL}\n# {name}\n", guard=False)
    x = np.array([4.0, 9.0])
    assert cell.root(x).tolist() == [2, 3]
    assert cell.divided(np.array([-7, 7]), 2).tolist() == [-4, 3]
    np.testing.assert_allclose(cell.power(x, 0.5), [2, 3], rtol=1e-14)
    assert cell.both(x).tolist() == [3, 4]
    assert cell.total(x) == 13
    with pytest.raises(ValueError, match="negative"):
        cell.root(np.array([4.0, -1.0]))
    with pytest.raises(KeyError):
        cell.both(np.array([4.0, 16.0]))
    with pytest.raises(ZeroDivisionError):
        cell.divided(np.array([4]), 0)
    if name in ("_HEAD", "CODE_SECTION", "TYPES_SECTION"):
        assert any("GIL" in note for note in cell.notes)


def test_specialisation_of_another_modules_fused_function_needs_no_gil(tmp_path: Path) -> None:
    pytest.importorskip("scipy", reason="SciPy is not installed")
    cell = "from scipy.special.cython_special cimport gamma\ncpdef double f(double x):\n    return gamma(x)\n"
    assert "gamma(" in cloned(cell, "f", tmp_path)


@pytest.mark.parametrize("kind", ["int", "long", "long long"])
def test_absolute_value_of_an_integer_raises_nothing(kind: str, tmp_path: Path) -> None:
    text = cloned(f"cpdef {kind} f({kind} a):\n    return abs(a)\n", "f", tmp_path)
    assert "abs" in text
    assert "__ufm_fault" not in text


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["int", "long", "double"])
def test_function_with_an_error_value_of_its_own_can_be_called(kind: str, tmp_path: Path) -> None:
    cell = (
        f"cdef {kind} checked({kind} n) except -1:\n    if n > 9: raise ValueError(n)\n    return n\n"
        f"cpdef {kind} f({kind} n) except -1:\n    return checked(n) + 1\n"
    )
    assert "_checked(__pyx_v_n, __ufm_fault)" in cloned(cell, "f", tmp_path)
    made = um.compile_cython(cell)
    assert made.f(np.arange(3)).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match=r"^12(\.0)?$"):
        made.f(np.array([1, 12, 13]))


@pytest.mark.parametrize(
    ("condition", "c"),
    [
        ("x < 1 and y > 2", "(((__pyx_v_x < 1.0) & (__pyx_v_y > 2.0)) != 0)"),
        ("x < 1 or y * x > 2", "(((__pyx_v_x < 1.0) | ((__pyx_v_y * __pyx_v_x) > 2.0)) != 0)"),
        (
            "x < 1 and (y > 2 or y < 0)",
            "(((__pyx_v_x < 1.0) & (((__pyx_v_y > 2.0) | (__pyx_v_y < 0.0)) != 0)) != 0)",
        ),
        ("x < 1 and sin(y) > 2", "((__pyx_v_x < 1.0) && (sin(__pyx_v_y) > 2.0))"),
        ("x < 1 and table[0] > 2", "((__pyx_v_x < 1.0) && ((__pyx_v_1m_table[0]) > 2.0))"),
    ],
)
def test_comparisons_are_joined_without_a_jump(condition: str, c: str, tmp_path: Path) -> None:
    head = "from libc.math cimport sin\ncdef double[3] table\n"
    text = cloned(f"{head}cpdef bint f(double x, double y):\n    return {condition}\n", "f", tmp_path)
    assert f"= {c};" in text
    assert not re.search(r"goto \w+_bool_binop_done", text)


@pytest.mark.slow
@pytest.mark.parametrize("condition", ["n and m", "(n < m) + 3 and m", "n == 1 and m", "n < m or m", "n & m and m > 1"])
def test_operand_that_is_the_result_is_no_truth(condition: str) -> None:
    f = um.compile_cython(f"cpdef int f(int n, int m):\n    return {condition}\n", time=False)["f"]
    n, m = (part.ravel() for part in np.meshgrid([0, 1, 7], [0, 1, 7]))
    expected = [int(eval(condition, {"n": int(a), "m": int(b)})) for a, b in zip(n, m, strict=True)]
    assert f(n, m).tolist() == expected
