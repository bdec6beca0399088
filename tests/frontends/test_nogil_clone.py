"""Functions that check and raise have copies without a jump where that is safe: only those can be vectorized."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("Cython", reason="Cython is not installed")

from ufunc_magic.frontends.cython import nogil_clone
from ufunc_magic.frontends.cython.translate import translate

pytestmark = pytest.mark.cython

HEAD = "from libc.math cimport sqrt, sin, cos, asin\n"
README = Path(__file__).parents[2] / "README.md"


def cloned(source: str, function: str, folder: Path) -> str:
    """The C of the clone of a function of ``source``."""
    (folder / "m.pyx").write_text(source)
    translated = translate(source, path=folder / "m.pyx", module="m", name="In[1]")
    defined = nogil_clone.definitions(translated.c, name="In[1]")
    wanted = next(name for name in defined if re.fullmatch(rf"__pyx_f_\w*_{function}", name))
    return nogil_clone.clones(defined, [wanted], free=translated.free, module="m")[wanted].text


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
