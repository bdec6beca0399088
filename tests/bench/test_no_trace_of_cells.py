"""Every cell of the tests leaves the same state after a table, after a second one, and without any.

The state is what later calls see: the results of each function of the cell, called in turns, in a copy of the
process, the variables of a Cython module, and C's random numbers.  A table prints nothing of what a cell prints.
"""

from __future__ import annotations

import ctypes
import itertools
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ufunc_magic as um
from support import CELLS, compile_file
from ufunc_magic.guard import call_in_copy, can_copy

pytestmark = pytest.mark.skipif(not can_copy(), reason="this system has no fork()")

#: A few cells of each language that are tried each time.
QUICK = {"static_state.c", "shared_state.c", "module_state.pyx", "cuda_mixed.cu", "struct_inside.c"}
FOLDERS = {"good": (".c", ".cpp", ".cu"), "cython": (".pyx",), "doctested": (".pyx",), "cuda": (".cu",)}
CELLS_OF_TESTS = [
    (path, f"{folder}/{path.name}")
    for folder, suffixes in FOLDERS.items()
    for path in sorted((CELLS / folder).iterdir())
    if path.suffix in suffixes
]
PATHS = [
    pytest.param(
        path, id=name, marks=() if path.name in QUICK else pytest.mark.nightly if number % 15 else pytest.mark.slow
    )
    for number, (path, name) in enumerate(CELLS_OF_TESTS)
]


def _arguments(function: Any) -> Iterator[tuple[Any, ...]]:
    """Arguments that the function may accept."""
    if isinstance(function, np.ufunc):
        core = (function.signature or ",".join(["()"] * function.nin)).partition("->")[0]
        dimensions = [part.strip("() ").split(",") for part in core.split("),")]
        shapes = [tuple(int(d) if d.isdigit() else 3 for d in names if d) for names in dimensions]
        for types_ in dict.fromkeys(t.partition("->")[0] for t in function.types):
            with np.errstate(all="ignore"):
                yield tuple(np.ones((2, *s)).astype(t) for s, t in zip(shapes, types_, strict=False))
        return
    values = (1, 2.5, np.arange(1.0, 5.0), [1, 2, 3])
    for count in range(4):
        yield from itertools.product(values, repeat=count)


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    try:
        result = function(*arguments)
        text = f"{[one.tolist() if isinstance(one, np.ndarray) else one for one in (result,)]}"
    except BaseException as fault:  # noqa: BLE001
        text = type(fault).__name__
    return "" if " at 0x" in text else text  # an object's address


def _observe(build: Any) -> list[str]:
    """Every result of some calls of all functions."""
    functions = {name: f for name, f in dict(build).items() if callable(f) and not isinstance(f, type)}
    texts = []
    for turn in range(2):
        for name, function in functions.items():
            texts += [f"{turn} {name}{a}: {_call(function, a)}" for a in _arguments(function)]
    module = build.loaded.module
    plain = (int, float, str, list, dict, set, tuple, np.ndarray)
    variables = vars(module).items() if isinstance(module, types.ModuleType) else ()
    texts += [f"{k} = {v!r}" for k, v in variables if isinstance(v, plain) and " at 0x" not in repr(v)]
    return [*texts, str([ctypes.CDLL(None).rand() for _ in range(3)])]


@pytest.mark.parametrize("path", PATHS)
def test_a_table_leaves_no_trace(
    path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(path.parent)  # where local headers are looked for
    with np.errstate(all="ignore"):
        build, _ = compile_file(path)
        states = []
        for table in range(3):
            if table:
                capfd.readouterr()
                build.report(time=0.02)
                assert capfd.readouterr().out == ""
            try:
                states.append(call_in_copy(lambda: _observe(build), seconds=60))
            except um.UfuncMagicError as fault:
                states.append([str(fault)])
    assert states[1] == states[0]
    assert states[2] == states[0]
