"""What else could compute a cell's function: the same function for NumPy, Numba, numexpr, Cython, ``np.vectorize``.

All are made from the Python form of the function.  One that cannot be made is named with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..model import TYPES, CellFunction, ComparisonError, UfuncMagicError
from ..python_form import namespace
from ..render import installed
from .candidates import Candidate, numexpr_function
from .dialects import cython_text, numexpr_text
from .measure import Clock
from .per_element import FAULTS
from .python_forms import made

__all__ = ["RIVALS", "chosen", "rivals"]

RIVALS = ("numpy", "numba", "numexpr", "cython", "vectorize")

CompileCython = Callable[[str], Mapping[str, Any]]


class _Missing(Exception):
    """Why a rival cannot be made; completes "left out: ..."."""


def chosen(words: str | Sequence[str]) -> tuple[str, ...]:
    """The rivals that ``--vs`` names.

    Raises
    ------
    ComparisonError
        For a name that is none of `RIVALS`.
    """
    names = tuple(word.strip() for word in (words.split(",") if isinstance(words, str) else words) if word.strip())
    for name in names:
        if name not in RIVALS:
            raise ComparisonError(f"{name!r} is nothing to compare with.", remedy=f"Give some of {','.join(RIVALS)}.")
    return tuple(dict.fromkeys(names))


def rivals(
    code: CellFunction,
    words: str | Sequence[str],
    *,
    compile_cython: CompileCython | None = None,
    clock: Clock = time.perf_counter,
) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    """Make the rivals of one element-wise function.

    Parameters
    ----------
    code : CellFunction
    words : str or sequence of str
        ``"numpy,numba"``.
    compile_cython : callable
        Compiles Cython; without it there is no such rival.
    clock : callable
        For the compile times.

    Returns
    -------
    tuple of Candidate, tuple of str
        Those that could be made, and a note for each of the others.
    """
    found, notes = [], []
    for name in chosen(words):
        try:
            if not code.python:
                raise _Missing("the function has no Python form")
            if code.core:
                raise _Missing("the function works on arrays")
            found.append(_rival(name, code, compile_cython, clock))
        except _Missing as reason:
            notes.append(f"{name} left out: {reason}")
    return tuple(found), tuple(notes)


def _rival(name: str, code: CellFunction, compile_cython: CompileCython | None, clock: Clock) -> Candidate:
    match name:
        case "numpy":
            if not code.vector:
                raise _Missing("the function cannot be said as a NumPy expression")
            return Candidate("NumPy expression", made(code, code.vector, "vector"), "numpy")
        case "vectorize":
            python = made(code, code.python, "timing")
            return Candidate("np.vectorize", np.vectorize(python, otypes=list(_letters(code)[code.nin :])))
        case "numba":
            return _numba(code, clock)
        case "numexpr":
            return _numexpr(code, clock)
    return _cython(code, compile_cython, clock)


def _letters(code: CellFunction) -> str:
    return "".join(TYPES[number].char for number in code.timed)


def _numba(code: CellFunction, clock: Clock) -> Candidate:
    numba = installed("numba")
    if numba is None:
        raise _Missing("Numba is not installed (pip install numba)")
    if code.nout != 1:
        raise _Missing("numba.vectorize makes functions of one output")
    spelled = [str(np.dtype(letter)) for letter in _letters(code)]
    kinds = [getattr(numba, word) for word in spelled if hasattr(numba, word)]
    if len(kinds) < len(spelled):
        raise _Missing("Numba does not know its types")
    names: dict[str, Any] = namespace("timing")
    known = set(names)
    exec(compile(code.python, f"<{code.name} for Numba>", "exec"), names)
    main = names[code.python_name]
    for name in names.keys() - known - {code.python_name}:
        if callable(names[name]):
            names[name] = numba.njit(error_model="numpy")(names[name])
    start = clock()
    try:
        function = numba.vectorize([kinds[-1](*kinds[:-1])])(main)
    except (numba.core.errors.NumbaError, *FAULTS) as fault:
        raise _Missing(f"Numba cannot compile it ({_first_line(fault)})") from fault
    return Candidate("numba.vectorize", function, compile_seconds=clock() - start)


def _numexpr(code: CellFunction, clock: Clock) -> Candidate:
    if installed("numexpr") is None:
        raise _Missing("numexpr is not installed (pip install numexpr)")
    text = numexpr_text(code.vector, name=code.python_name) if code.vector and code.nout == 1 else None
    if text is None:
        raise _Missing("the function cannot be said as an expression of numexpr's")
    expression, order = text
    function = numexpr_function(expression, order=order)
    few = [np.ones(2, letter) for letter in _letters(code)[: code.nin]]
    start = clock()
    try:
        function(*few)
    except (NotImplementedError, *FAULTS) as fault:
        raise _Missing(f"numexpr cannot compile it ({_first_line(fault)})") from fault
    return Candidate("numexpr", function, compile_seconds=clock() - start)


def _cython(code: CellFunction, compile_cython: CompileCython | None, clock: Clock) -> Candidate:
    if compile_cython is None or installed("Cython") is None:
        raise _Missing("Cython is not installed (pip install cython)")
    text = cython_text(code.python, name=code.python_name, letters=_letters(code), nin=code.nin)
    if text is None:
        raise _Missing("the function cannot be written as typed Cython")
    start = clock()
    try:
        built = compile_cython(text)
        function = built[code.python_name]
    except (UfuncMagicError, KeyError) as fault:
        raise _Missing(f"Cython cannot compile it ({_first_line(fault)})") from fault
    if getattr(built, "cached", False):
        return Candidate("Cython ufunc", function, note="compiled earlier")
    return Candidate("Cython ufunc", function, compile_seconds=clock() - start)


def _first_line(fault: BaseException) -> str:
    return str(fault).strip().partition("\n")[0][:120] or type(fault).__name__
