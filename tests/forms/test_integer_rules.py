"""Python's own integers where C's do the same, and C's rules where they do not: seen on the inputs that are timed."""

# ruff: noqa: E501 - a C text reads best on one line

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from ufunc_magic.forms import Watched, make_namespace, write_agreeing_text
from ufunc_magic.model import CellFunction

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="compiles cells")

SMALL = [(n,) for n in range(1, 30)]
SIGNED = [(n,) for n in range(-30, 31)]
PAIRS = [(a, b) for a in range(-9, 10) for b in (-4, -1, 1, 3)]
LARGE = [(n,) for n in (0, 1, 77, 2**31, 2**32 - 1)]


def _c(source: str) -> CellFunction:
    return um.compile_c(f"#include <stdint.h>\n#include <math.h>\n{source}", guard=False).report_data.functions[-1]


def _natural(code: CellFunction, rows: list[tuple[Any, ...]]) -> tuple[str, str]:
    """What a person would write for these inputs, and what is to be said of it."""
    watched, names = Watched(code.marks, code.python_name), make_namespace("verify")
    exec(code.checked, names)
    expected = [names[code.python_name](*row) for row in rows]  # type: ignore[operator]
    assert [watched.function(*row) for row in rows] == expected
    natural = watched.make_natural()
    assert [natural.function(*row) for row in rows] == expected
    return natural.text, natural.note


@pytest.mark.parametrize(
    ("source", "rows", "text"),
    [
        (
            "int gcd(int a, int b) { while (b) { int t = a % b; a = b; b = t; } return a; }",
            [(a, b) for a in range(1, 20) for b in range(1, 20)],
            "def gcd(a, b):\n    while b:\n        t = a % b\n        a = b\n        b = t\n    return a\n",
        ),
        (
            "int collatz(int n) { int s = 0; while (n != 1) { n = n % 2 ? 3*n + 1 : n / 2; ++s; } return s; }",
            SMALL,
            "def collatz(n):\n    s = 0\n    while n != 1:\n        n = 3 * n + 1 if n % 2 else n // 2\n        s += 1\n"
            "    return s\n",
        ),
        (
            "int fib(int n) { int a = 0, b = 1; for (int i = 0; i < n; i++) { int t = a + b; a = b; b = t; } return a; }",
            SMALL,
            "def fib(n):\n    a = 0\n    b = 1\n    for i in range(n):\n        t = a + b\n        a = b\n        b = t\n"
            "    return a\n",
        ),
        (
            "int digits(int n) { int s = 0; while (n) { s += n % 10; n /= 10; } return s; }",
            SMALL,
            "def digits(n):\n    s = 0\n    while n:\n        s += n % 10\n        n //= 10\n    return s\n",
        ),
        (
            "int leap(int y) { return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0; }",
            SIGNED,
            "def leap(y):\n    return y % 4 == 0 and y % 100 != 0 or y % 400 == 0\n",
        ),
        ("int odd(int n) { if (n % 2) return 1; return !(n % 3); }", SIGNED, None),
        ("uint8_t mean(uint8_t a, uint8_t b) { return (a + b) / 2; }", [(1, 2), (250, 255)], "def mean(a, b):\n    return (a + b) // 2\n"),
        ("int shl(int x, int k) { return x << k; }", [(3, 4)], "def shl(x, k):\n    return x << k\n"),
        ("int flip(int x) { return ~x; }", SIGNED, "def flip(x):\n    return ~x\n"),
        ("int near(double x) { return (int)round(x); }", [(0.2,), (1.7,), (-2.6,)], "def near(x):\n    return int(round(x))\n"),
    ],
)  # fmt: skip
def test_what_never_differs_is_pythons_own(source: str, rows: list[tuple[int, ...]], text: str | None) -> None:
    natural, note = _natural(_c(source), rows)
    assert note == ""
    assert "_" not in natural.replace("__", "")
    if text is not None:
        assert natural == text


@pytest.mark.parametrize(
    ("source", "rows", "text", "note"),
    [
        (
            "uint32_t lcg(uint32_t s) { for (int i = 0; i < 50; i++) s = s * 1664525u + 1013904223u; return s; }",
            SMALL,
            "def lcg(s):\n    for i in range(50):\n        s = (s * 1664525 + 1013904223) & 0xFFFFFFFF\n    return s\n",
            "wraps as C does",
        ),
        (
            "int seed(int s) { for (int i = 0; i < 9; i++) s = s * 1103515245 + 12345; return s / 65536; }",
            SMALL,
            "def seed(s):\n    for i in range(9):\n"
            "        s = ((s * 1103515245 + 12345 + 0x80000000) & 0xFFFFFFFF) - 0x80000000\n    return int(s / 65536)\n",
            "wraps and divides as C does",
        ),
        (
            "uint32_t mix(uint32_t h) { h ^= h >> 16; h *= 0x85ebca6b; h += 1; return h & 0xFFFF; }",
            LARGE[:-1],
            "def mix(h):\n    h ^= h >> 16\n    h = (h * 0x85ebca6b) & 0xFFFFFFFF\n    h += 1\n    return h & 0xFFFF\n",
            "wraps as C does",
        ),
        ("int rest(int n) { return n % 7; }", SIGNED, "def rest(n):\n    return int(math.fmod(n, 7))\n", "divides as C does"),
        ("unsigned less(unsigned a, unsigned b) { return a - b; }", [(1, 2)],
         "def less(a, b):\n    return (a - b) & 0xFFFFFFFF\n", "wraps as C does"),
        # 2**53 + 1 is no double.
        (
            "int64_t rest(int64_t n) { return n % 7; }",
            [(-5,), (-(2**53) - 1,)],
            "def _rem(a, b):\n    r = abs(a) % abs(b)\n    return -r if a < 0 else r\n\n\ndef rest(n):\n    return _rem(n, 7)\n",
            "divides as C does",
        ),
        ("int half(double x) { return (int)round(x); }", [(0.5,), (2.5,)], None, "rounds as C does"),
    ],
)  # fmt: skip
def test_what_differs_is_written_as_short_as_can_be(
    source: str, rows: list[tuple[int, ...]], text: str | None, note: str
) -> None:
    natural, words = _natural(_c(source), rows)
    assert words == note
    if text is not None:
        assert natural == text


def test_the_inputs_decide() -> None:
    code = _c("int middle(int a, int b) { return (a + b) / 2; }")
    assert _natural(code, [(1, 2)])[0] == "def middle(a, b):\n    return (a + b) // 2\n"
    assert _natural(code, PAIRS)[0] == "def middle(a, b):\n    return int((a + b) / 2)\n"


def test_a_function_of_the_cell_with_a_helpers_name_stays_itself() -> None:
    code = _c("static int _div(int a, int b) { return a - b; }\nint apart(int a, int b) { return _div(a, b) / 2; }")
    assert "def _div_(a, b):\n    return a - b\n" in _natural(code, PAIRS)[0]


def test_a_text_for_all_inputs_has_all_of_cs_rules() -> None:
    code = um.compile_cython(
        "# cython: cdivision=True\ncdef int f(int s):\n    return (s * 1103515245 + 12345) % 7\n"
    ).report_data.functions[0]  # fmt: skip
    names: dict[str, Any] = make_namespace("timing")
    exec(write_agreeing_text(code.marks), names)
    numbers = np.arange(-50, 50, dtype=np.int32)
    compiled = um.compile_c("int f(int s) { return (int)(s * 1103515245u + 12345u) % 7; }").f
    assert [names["f"](n) for n in numbers.tolist()] == compiled(numbers).tolist()


def test_cython_cells_are_watched_too() -> None:
    source = "cdef int djb2(int x):\n    cdef int h = 5381, i\n    for i in range(9):\n        h = h * 33 + x\n    return h\n"
    code = um.compile_cython(source).report_data.functions[0]
    natural = "def djb2(x):\n    h = 5381\n    for i in range(9):\n        h = ((h * 33 + x + 0x80000000) & 0xFFFFFFFF) - 0x80000000\n    return h\n"
    assert _natural(code, SMALL) == (natural, "wraps as C does")
    source = source.replace("range(9)", "range(2)")
    code = um.compile_cython(source).report_data.functions[0]
    assert _natural(code, SMALL) == (
        "def djb2(x):\n    h = 5381\n    for i in range(2):\n        h = h * 33 + x\n    return h\n",
        "",
    )
