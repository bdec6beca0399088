"""What a user gives to compare, made ready: text evaluated, arrays put where the function wants them.  No clock."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model import ComparisonError
from ..render import Kind, needed
from ..runtime import loops_of
from .per_element import FAULTS

__all__ = ["NUMEXPR", "Candidate", "Given", "candidates", "evaluated", "numexpr_function", "variants"]

#: What marks a text as an expression for numexpr.
NUMEXPR = "numexpr:"

_REMEDY = f"Give a function's name, 'lambda x: ...', or '{NUMEXPR} 4*a + exp(-a)'."


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way of computing something.

    Attributes
    ----------
    label : str
    function : callable
        Has done its work when it returns.
    kind : Kind
    place : callable
        Moves an argument to where ``function`` wants it; outside of what is timed, as is ``fetch``, which brings
        a result back.
    compile_seconds : float or None
        What making it cost already.
    note : str
    origin : callable or str
        What was given, to read its arithmetic from.
    """

    label: str
    function: Callable[..., Any]
    kind: Kind = "other"
    place: Callable[[Any], Any] | None = None
    fetch: Callable[[Any], Any] | None = None
    compile_seconds: float | None = None
    note: str = ""
    origin: Any = None

    def placed(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments for ``function``."""
        if self.place is None:
            return tuple(args)
        return tuple(self.place(arg) if isinstance(arg, np.ndarray) else arg for arg in args)

    def fetched(self, results: Any) -> Any:
        """The results as NumPy's arrays."""
        if self.fetch is None:
            return results
        return tuple(map(self.fetch, results)) if isinstance(results, tuple) else self.fetch(results)


Given = Callable[..., Any] | str | Candidate


def candidates(
    given: Mapping[str, Given] | Sequence[Given],
    *,
    names: Mapping[str, Any],
) -> list[Candidate]:
    """Make everything callable.

    Parameters
    ----------
    given : mapping or sequence
        Callables, or texts: ``"np.hypot"``, ``"lambda x: x**2"``, ``"numexpr: 4*a + exp(-a)"``.  Without labels a
        text is its own, and a function's name is its.
    names : mapping
        Where names of a text are looked up, besides ``np`` and ``math``.

    Raises
    ------
    ComparisonError
        If there is nothing, or something that cannot be called.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ComparisonError(f"{given!r} is no list of callables.", remedy='Give [f, g], or {"name": f}.')
    pairs = [(str(key), one) for key, one in given.items()] if isinstance(given, Mapping) else _labelled(given)
    if not pairs:
        raise ComparisonError("There is nothing to compare.", remedy='Give at least one callable: {"name": f}.')
    return [_candidate(label, value, names) for label, value in pairs]


def _labelled(given: Sequence[Given]) -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for value in given:
        label = value if isinstance(value, str) else str(getattr(value, "__name__", value))
        same = sum(known.partition(" (")[0] == label for known, _ in pairs)
        pairs.append((f"{label} ({same + 1})" if same else label, value))
    return pairs


def _candidate(label: str, value: Any, names: Mapping[str, Any]) -> Candidate:
    if isinstance(value, Candidate):
        return value
    if isinstance(value, str) and value.strip().startswith(NUMEXPR):
        text = value.strip().removeprefix(NUMEXPR).strip()
        return Candidate(label, numexpr_function(text), origin=f"lambda: {text}")
    function = evaluated(value, names) if isinstance(value, str) else value
    if not callable(function):
        fault = f"{label!r} is {type(function).__name__}, not a function."
        remedy = f"Write 'lambda x: ...', or '{NUMEXPR} ...' for an expression of numexpr's."
        raise ComparisonError(fault, remedy=remedy)
    library = (type(function).__module__ or "").partition(".")[0]
    if library == "cupy" or str(getattr(function, "__module__", "")).startswith("cupy"):
        return _on_gpu(label, function)
    if hasattr(function, "lower") and library in ("jax", "jaxlib"):
        return Candidate(label, _waiting(function), origin=function)
    return Candidate(label, function, _kind(function), origin=value if isinstance(value, str) else function)


def _kind(function: Any) -> Kind:
    if isinstance(function, np.ufunc):
        return "ufunc" if loops_of(function) else "numpy"
    return "other"


def evaluated(text: str, names: Mapping[str, Any], *, remedy: str = "") -> Any:
    """The value of an expression over ``names``, ``np`` and ``math``; ``remedy`` for what is no function.

    Raises
    ------
    ComparisonError
        If it has none.
    """
    try:
        return eval(text, {"np": np, "numpy": np, "math": math, **names})
    except FAULTS as fault:
        what = str(fault) if isinstance(fault, (NameError, SyntaxError, AttributeError)) else _with_kind(fault)
        error = f"{text!r} cannot be evaluated: {what}."
        raise ComparisonError(error, remedy=_import_of(text, fault) or remedy or _REMEDY) from fault


def _with_kind(fault: Exception) -> str:
    return f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__


def _import_of(text: str, fault: Exception) -> str:
    """What to import for ``scipy.special.logit``; ``""`` where that is not what is missing."""
    name = getattr(fault, "name", None)
    module, dot, _ = text.strip().rpartition(".")
    if not isinstance(fault, NameError) or not dot or module.partition(".")[0] != name:
        return ""
    return f"Run it first: import {module}" if module.replace(".", "").isidentifier() else ""


def numexpr_function(text: str, *, order: Sequence[str] = ()) -> Callable[..., Any]:
    """An expression of numexpr's as a function of its variables: in ``order``, else in that of the alphabet."""
    numexpr = needed("numexpr", purpose=f"{NUMEXPR} {text}")
    names = list(order) or _variables(text)

    def call(*args: Any) -> Any:
        return numexpr.evaluate(text, local_dict=dict(zip(names, args, strict=True)), global_dict={})

    return call


def _variables(text: str) -> list[str]:
    """Names in an expression that are not called, sorted."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as fault:
        remedy = f"Write one expression: {NUMEXPR} 4*a + exp(-a)"
        raise ComparisonError(f"{text!r} is not an expression: {fault.msg}.", remedy=remedy) from fault
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called})


def _on_gpu(label: str, function: Callable[..., Any]) -> Candidate:
    cupy = needed("cupy", purpose=f"comparing {label}")

    def call(*args: Any) -> Any:
        result = function(*args)
        cupy.cuda.get_current_stream().synchronize()
        return result

    return Candidate(label, call, "gpu", cupy.asarray, cupy.asnumpy, note="data on the GPU", origin=function)


def _waiting(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns before its work is done, made to wait for it."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        result = function(*args)
        for part in result if isinstance(result, tuple) else (result,):
            part.block_until_ready()
        return result

    return call


def variants(function: Any) -> int | None:
    """How many versions a function of Numba's has compiled so far; None for one that compiles nothing when called."""
    compiled = getattr(function, "signatures", getattr(function, "types", None))
    lazy = type(function).__module__.partition(".")[0] == "numba"
    return len(compiled) if lazy and compiled is not None else None
