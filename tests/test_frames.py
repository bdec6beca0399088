"""How deep the road is: frames of the package from the door to where the work is done, counted as it runs."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import ufunc_magic as um
from ufunc_magic.runtime import numpy_ufunc, registry

PACKAGE = str(Path(um.__file__).parent)


def frames(frame: FrameType | None) -> list[str]:
    """The package's functions that stand on the stack, innermost first."""
    names = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            names.append(f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}")
        frame = frame.f_back
    return names


def test_a_pickle_is_four_frames_from_its_ufunc(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickle.dumps(um.c_ufunc("double f(double x) { return x + 1; }"))
    stacks: list[list[str]] = []
    maker = numpy_ufunc._maker()

    def counted(*arguments: Any) -> np.ufunc:
        stacks.append(frames(sys._getframe(1)))
        ufunc: np.ufunc = maker(*arguments)
        return ufunc

    monkeypatch.setattr(registry, "_loaded", {})
    monkeypatch.setattr(numpy_ufunc, "_maker", lambda: counted)
    assert pickle.loads(data)(1.0) == 2.0
    assert stacks == [["numpy_ufunc.make_ufunc", "registry.load", "pickling.function_of", "pickling.realize"]]


def test_a_cell_is_six_frames_from_its_compiler(loaded: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> None:
    stacks: list[list[str]] = []
    popen = subprocess.Popen

    def counted(*arguments: Any, **options: Any) -> Any:
        stacks.append(frames(sys._getframe(1)))
        return popen(*arguments, **options)

    monkeypatch.setattr(subprocess, "Popen", counted)
    loaded.run_cell("%%c_ufunc --no-guard -q -f\ndouble f(double x) { return x + 1; }\n").raise_error()
    assert max(map(len, stacks)) <= 8  # the description and the driver of a compiler that is new
    assert stacks[-1] == [
        "processes.finished",
        "toolchain.compile_shared",
        "c_unit.compile",
        "pipeline.build",
        "magics._cell",
        "magics.c_ufunc",
    ]
