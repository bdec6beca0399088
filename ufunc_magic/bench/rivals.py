"""Rivals of a cell's function: the same function in Python, NumPy, Numba, numexpr and Cython.

All are made from the Python form of the function; a note names each that cannot be made, with the reason.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..forms import Watched, make_namespace, round_at_random, write_agreeing_text, write_cython, write_numexpr
from ..model import FAULTS, RECORD, TYPES, CellFunction, Comfort, ComparisonError, UfuncMagicError
from ..render import import_optional
from .candidates import Candidate, make_numexpr
from .request import Forms
from .rounds import CLOCK

RIVALS = ("numpy", "numba", "numexpr", "cython", "vectorize")

CompileCython = Callable[[str], Mapping[str, Any]]


class _Missing(Exception):
    """The reason why a rival cannot be made; completes "skipped: ..."."""


def load_forms(code: CellFunction) -> Forms:
    """Run the module texts of a function's Python forms, which the package wrote from the cell."""
    if not code.python:
        return Forms()
    return Forms(
        _run(code, code.python, "timing"),
        _run(code, code.checked, "verify") if code.checked else None,
        round_at_random(_run(code, code.checked or code.python, "random")),
        _run(code, code.vector, "vector") if code.vector else None,
        Watched(code.marks, code.python_name) if code.marks else None,
        code.python,
    )


def _run(code: CellFunction, text: str, kind: Any) -> Callable[..., Any]:
    """The function of one text."""
    names: dict[str, Any] = make_namespace(kind)
    exec(compile(text, f"<{code.name} in Python>", "exec"), names)
    function: Callable[..., Any] = names[code.python_name]
    return function


def parse_rivals(words: str) -> tuple[str, ...]:
    """The names of rivals in the value of ``--vs``.

    Raises
    ------
    ComparisonError
        For a name that is none of `RIVALS`.
    """
    names = tuple(word.strip() for word in words.split(",") if word.strip())
    for name in names:
        if name not in RIVALS:
            raise ComparisonError(
                f"{name!r} is not a valid choice for --vs.", remedy=f"Choose from {','.join(RIVALS)}."
            )
    return tuple(dict.fromkeys(names))


def make_rivals(
    code: CellFunction, words: str, *, compile_cython: CompileCython | None = None
) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    """Make the rivals of one element-wise function.

    Parameters
    ----------
    code : CellFunction
    words : str
        ``"numpy,numba"``.
    compile_cython : callable
        Compiles Cython; without it there is no Cython rival.

    Returns
    -------
    tuple of Candidate, tuple of str
        Those that could be made, and a note for each of the others.
    """
    candidates: list[Candidate] = []
    notes: list[str] = []
    for name in parse_rivals(words):
        try:
            if not code.python:
                raise _Missing("the function has no Python form")
            if code.core:
                raise _Missing("the function works on arrays")
            with Comfort(name, notes, passing=_Missing):
                exact = replace(code, python=write_agreeing_text(code.marks)) if code.marks else code
                candidates.append(_make_rival(name, exact, compile_cython))
        except _Missing as reason:
            notes.append(f"{name} skipped: {reason}")
    return tuple(candidates), tuple(notes)


def _make_rival(name: str, code: CellFunction, compile_cython: CompileCython | None) -> Candidate:
    match name:
        case "numpy":
            if not code.vector:
                raise _Missing("the function cannot be written as a NumPy expression")
            return Candidate("NumPy expression", _run(code, code.vector, "vector"), "numpy")
        case "vectorize":
            python = _run(code, code.python, "timing")
            note = "with C's rules for all integers" if code.marks else ""
            return Candidate(
                "np.vectorize", np.vectorize(python, otypes=list(_spell_letters(code)[code.nin :])), note=note
            )
        case "numba":
            return _make_numba(code)
        case "numexpr":
            return _make_numexpr(code)
    return _make_cython(code, compile_cython)


def _spell_letters(code: CellFunction) -> str:
    return "".join("V" if number == RECORD else TYPES[number].char for number in code.timed)


def _make_numba(code: CellFunction) -> Candidate:
    numba = import_optional("numba")
    if numba is None:
        raise _Missing("Numba is not installed (pip install numba)")
    if code.nout != 1:
        raise _Missing("numba.vectorize supports one output only")
    spelled = [str(np.dtype(letter)) for letter in _spell_letters(code)]
    kinds = [getattr(numba, word) for word in spelled if hasattr(numba, word)]
    if len(kinds) < len(spelled):
        raise _Missing("Numba does not support its types")
    names: dict[str, Any] = make_namespace("timing")
    known = set(names)
    exec(compile(code.python, f"<{code.name} for Numba>", "exec"), names)
    main = names[code.python_name]
    for name in names.keys() - known - {code.python_name}:
        if callable(names[name]):
            names[name] = numba.njit(error_model="numpy")(names[name])
    start = CLOCK()
    try:
        function = numba.vectorize([kinds[-1](*kinds[:-1])])(main)
    except (numba.core.errors.NumbaError, *FAULTS) as fault:
        raise _Missing(f"Numba cannot compile it ({_take_first_line(fault)})") from fault
    return Candidate("numba.vectorize", function, compile_seconds=CLOCK() - start)


def _make_numexpr(code: CellFunction) -> Candidate:
    if import_optional("numexpr") is None:
        raise _Missing("numexpr is not installed (pip install numexpr)")
    text = write_numexpr(ast.parse(code.vector), name=code.python_name) if code.vector and code.nout == 1 else None
    if text is None:
        raise _Missing("the function cannot be written as a numexpr expression")
    expression, order = text
    function = make_numexpr(expression, order=order)
    few = [np.ones(2, letter) for letter in _spell_letters(code)[: code.nin]]
    start = CLOCK()
    try:
        function(*few)
    except (NotImplementedError, *FAULTS) as fault:
        raise _Missing(f"numexpr cannot compile it ({_take_first_line(fault)})") from fault
    return Candidate("numexpr", function, compile_seconds=CLOCK() - start)


def _make_cython(code: CellFunction, compile_cython: CompileCython | None) -> Candidate:
    if compile_cython is None or import_optional("Cython") is None:
        raise _Missing("Cython is not installed (pip install cython)")
    text = write_cython(ast.parse(code.python), name=code.python_name, letters=_spell_letters(code), nin=code.nin)
    if text is None:
        raise _Missing("the function cannot be written as typed Cython")
    start = CLOCK()
    try:
        build = compile_cython(text)
        function = build[code.python_name]
    except (UfuncMagicError, KeyError) as fault:
        raise _Missing(f"Cython cannot compile it ({_take_first_line(fault)})") from fault
    if getattr(build, "cached", False):
        return Candidate("Cython ufunc", function, note="compiled earlier")
    return Candidate("Cython ufunc", function, compile_seconds=CLOCK() - start)


def _take_first_line(fault: BaseException) -> str:
    return str(fault).strip().partition("\n")[0][:120] or type(fault).__name__
