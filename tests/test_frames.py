"""How deep the road is: frames of the package from the door to where the work is done, counted as it runs."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import ufunc_magic as um
from support import run_python

PACKAGE = str(Path(um.__file__).parent)

#: Counts the package's frames where NumPy makes a ufunc, in a process that has loaded none.
UNPICKLE = """
import pickle, sys
from ufunc_magic.runtime import numpy_ufunc, registry
make, depths = numpy_ufunc.make_ufunc, []

def counted(*arguments, **options):
    frame, depth = sys._getframe(1), 1
    while frame is not None:
        depth += "ufunc_magic" in frame.f_code.co_filename
        frame = frame.f_back
    depths.append(depth)
    return make(*arguments, **options)

registry.make_ufunc = counted
print(pickle.loads(sys.stdin.buffer.read())(1.0), *depths)
"""


def count_frames(frame: FrameType | None) -> int:
    """The package's functions that are on the stack."""
    number = 0
    while frame is not None:
        number += frame.f_code.co_filename.startswith(PACKAGE)
        frame = frame.f_back
    return number


def test_a_pickle_is_at_most_four_frames_from_its_ufunc() -> None:
    f = um.c_ufunc("double f(double x) { return x + 1; }")
    result, *depths = run_python(UNPICKLE, input=pickle.dumps(f)).stdout.split()
    assert result == "2.0"
    assert len(depths) == 1
    assert int(depths[0]) <= 4


def test_a_cell_is_at_most_eleven_frames_from_its_compiler(
    loaded: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    depths: list[int] = []
    popen = subprocess.Popen

    def counted(*arguments: Any, **options: Any) -> Any:
        depths.append(count_frames(sys._getframe(1)))
        return popen(*arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", counted)
    loaded.run_cell("%%c_ufunc --no-guard -q -f\ndouble f(double x) { return x + 1; }\n").raise_error()
    assert depths[-1] <= 11
    assert max(depths) <= 13  # the description and the programs of a compiler that is new
