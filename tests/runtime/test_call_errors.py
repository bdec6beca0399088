"""What NumPy says of a call that it refuses, and the remedy that is added to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import compile_in
from ufunc_magic.runtime import Build

CELL = """
long mod(long a, long b) { return a % b; }
int twice(int x) { return 2 * x; }
double sq(double x) { return x * x; }
float half(float x, float y) { return x / y; }
void both(double x, double *a, double *b) { *a = x; *b = x; }
typedef struct { double b0, a1; } filter;
double gain(double x, filter f) { return x * f.b0; }
"""


@pytest.fixture(scope="module")
def c(shared_cache_folder: Path) -> Build:
    return compile_in(shared_cache_folder, CELL)


@pytest.mark.parametrize(
    ("call", "said", "remedy"),
    [
        (lambda c: c.twice(np.array([1.5])), "not supported", "x.astype('int32')"),
        (lambda c: c.twice(1.5), "not supported", "x is float64, and C takes int32"),
        (lambda c: c.mod(2, [1.5, 2]), "not supported", "b.astype('int64')"),
        (lambda c: c.half(np.ones(3), 1), "not supported", "--types f4,f8"),
        (lambda c: c.sq(1 + 2j), "not supported", "x.real"),
        (lambda c: c.sq("text"), "not supported", "Pass numbers"),
        (lambda c: c.mod(1), "positional argument", "mod(a, b) has 2 inputs: pass a, b."),
        (lambda c: c.sq(), "positional argument", "sq(x) has 1 input: pass x."),
        (lambda c: c.mod(1, 2, 3, 4), "positional argument", "array for the result"),
        (lambda c: c.mod(1, 2, 3), "ArrayType", "array for the result"),
        (lambda c: c.both(1.0, 2.0), "ArrayType", "array for results"),
        (lambda c: c.mod(1, 2, foo=3), "foo", ""),
        (lambda c: c.gain(1.0, (1, 0.5)), "loop", "Pass np.array((b0, a1), um.dtype_of(gain, 'f'))."),
        (lambda c: c.gain(1.0, 2.0), "loop", "f is a structure"),
        (lambda c: c.gain([1.0], [1, 2]), "loop", "f is a structure"),
    ],
)
def test_a_refused_call_keeps_numpys_text_and_has_a_remedy(c: Build, call: Any, said: str, remedy: str) -> None:
    with pytest.raises(TypeError, match=said) as caught:
        call(c)
    notes = getattr(caught.value, "__notes__", [])
    assert len(notes) == bool(remedy)
    assert remedy in "".join(notes)


def test_other_exceptions_pass_as_they_are(c: Build) -> None:
    class Odd:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise TypeError("odd")

    with pytest.raises(TypeError, match="odd") as caught:
        c.sq(Odd())
    assert not hasattr(caught.value, "__notes__")
    with pytest.raises(OverflowError) as overflow:
        c.twice(2**40)
    assert not hasattr(overflow.value, "__notes__")
