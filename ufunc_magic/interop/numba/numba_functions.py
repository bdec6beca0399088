"""A Numba function as the source of a ufunc: its compiled scalar signatures, names, text, or the reason against it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.core import sigutils, types
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher
from numba.np.numpy_support import as_dtype, from_dtype
from numba.np.ufunc.dufunc import DUFunc

from ...model import MAX_OPERANDS, TYPES, FunctionCode, LoopCode, SignatureError, rank_loop
from . import _private


@dataclass(frozen=True)
class Overload:
    """One compiled signature.

    Attributes
    ----------
    inputs, outputs : tuple
        Numba's types of the operands.
    types : tuple of int
        NumPy's type numbers of them, inputs first.
    result : object
        Numba's ``CompileResult``.
    """

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    types: tuple[int, ...]
    result: Any


@dataclass(frozen=True)
class NumbaFunction:
    """A function of Numba's: what a ufunc of it is, and its overloads in the order of that one's loops."""

    code: FunctionCode
    overloads: tuple[Overload, ...]
    fast_math: bool


def read(func: Any, *, signatures: Sequence[str] | None = None, name: str = "") -> NumbaFunction:
    """Read an ``@njit`` or ``@vectorize`` function.

    Parameters
    ----------
    func : Dispatcher or DUFunc
    signatures : sequence of str
        Those to take, compiled now where they are not yet: ``"f8(f8, i8)"`` as Numba writes them, or ``"dl->d"``
        as NumPy does.  All that are compiled if omitted.
    name : str
        The function's own name if omitted.

    Raises
    ------
    SignatureError
        If it is none of Numba's functions of numbers, or has no such signature.
    """
    dispatcher, identity = _find_dispatcher_of(func)
    function = dispatcher.py_func
    name = name or function.__name__
    overloads: list[Overload] = []
    refusals: list[str] = []
    for result in _compile_results(func, dispatcher, signatures, name):
        overload = _read_overload(result)
        if isinstance(overload, str):
            refusals.append(overload)
        else:
            overloads.append(overload)
    if not overloads:
        raise SignatureError(
            f"{name} has no compiled signature of numbers{f': {refusals[0]}' if refusals else ''}.",
            remedy='Call it once, or pass signatures=["f8(f8)"].',
        )
    if signatures is not None and refusals:
        raise SignatureError(f"{name}: {refusals[0]}.", remedy="Use signatures of numbers.")
    if len({(len(o.inputs), len(o.outputs)) for o in overloads}) > 1:
        raise SignatureError(
            f"{name} is compiled for different numbers of arguments or results.",
            remedy='Choose one: signatures=["f8(f8)"].',
        )
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):  # made by exec, or in a plain interactive session
        source = ""
    nin, nout = len(overloads[0].inputs), len(overloads[0].outputs)
    names = [n for n, p in inspect.signature(function).parameters.items() if p.kind != p.VAR_POSITIONAL]
    by_inputs = {o.types[:nin]: o for o in sorted(overloads, key=lambda o: rank_loop(o.types))}
    code = FunctionCode(
        name=name,
        kind="ufunc",
        nin=nin,
        nout=nout,
        identity=identity,
        parameters=tuple(names[n] if n < len(names) else f"x{n + 1}" for n in range(nin)),
        results=("out",) if nout == 1 else tuple(f"out{n}" for n in range(1, nout + 1)),
        loops=tuple(LoopCode(k, overload.types) for k, overload in enumerate(by_inputs.values())),
        doc=inspect.cleandoc(function.__doc__ or ""),
        source=source,
        line=function.__code__.co_firstlineno,
    )
    return NumbaFunction(code, tuple(by_inputs.values()), bool(dispatcher.targetoptions.get("fastmath")))


def _find_dispatcher_of(func: Any) -> tuple[Any, int | str | None]:
    """Return Numba's dispatcher of ``func``, and the identity from its ``@vectorize``."""
    if isinstance(func, DUFunc):
        identity = func.identity
        identity = identity if identity is not None or not func.reorderable else "reorderable"
        return _private.find_dispatcher(func), identity
    if isinstance(func, CPUDispatcher):
        return func, None
    raise SignatureError(
        f"{func!r} is not a Numba function of numbers.",
        remedy='Pass a function decorated with @njit, or with @vectorize without target="parallel".',
    )


def _compile_results(func: Any, dispatcher: Any, signatures: Sequence[str] | None, name: str) -> list[Any]:
    """Return what Numba compiled: everything, or the named ``signatures``, compiled now if needed."""
    results = dispatcher.overloads
    if signatures is None:
        return list(results.values())
    for signature in signatures:
        arguments, returned = _read_numba_signature(signature)
        # Numba's own keys of @vectorize functions are whole signatures.
        if arguments not in (tuple(r.signature.args) for r in results.values()):
            compile_: Callable[[Any], object] = func.add if func is not dispatcher else dispatcher.compile
            try:
                compile_(arguments if returned is None else returned(*arguments))
            except (NumbaError, RuntimeError, TypeError) as fault:  # explicit signatures forbid new ones
                known = ", ".join(str(r.signature) for r in results.values())
                raise SignatureError(
                    f"{name} does not compile for {signature}: {fault}",
                    remedy=f"Add the signature to the decorator; it is compiled for {known or 'nothing'}.",
                ) from fault
    by_arguments = {tuple(r.signature.args): r for r in results.values()}
    return [by_arguments[_read_numba_signature(signature)[0]] for signature in signatures]


def _read_numba_signature(signature: str) -> tuple[tuple[Any, ...], Any]:
    try:
        if "->" not in signature:
            arguments, returned = sigutils.normalize_signature(signature)
            return tuple(arguments), returned
        inputs, outputs = ([from_dtype(np.dtype(c)) for c in part.strip()] for part in signature.split("->", 1))
        return tuple(inputs), outputs[0] if len(outputs) == 1 else None
    except (TypeError, NameError, SyntaxError, AttributeError, NotImplementedError) as fault:
        raise SignatureError(
            f"{signature!r} is not a signature: {fault}.", remedy='Write "f8(f8, i8)" or "dl->d".'
        ) from fault


def _read_overload(result: Any) -> Overload | str:
    """The overload, or why it is no loop."""
    signature = result.signature
    if result.objectmode:
        return f"{signature} runs as Python objects"
    returned = signature.return_type
    inputs = tuple(signature.args)
    outputs = tuple(returned.types) if isinstance(returned, types.BaseTuple) else (returned,)
    numbers = []
    for kind in (*inputs, *outputs):
        is_number = isinstance(kind, types.Boolean | types.Number) and not isinstance(kind, types.Literal)
        number = int(as_dtype(kind).num) if is_number else None
        if number not in TYPES:
            return f"{signature}: {kind} is not a number"
        numbers.append(number)
    if not inputs or not outputs or len(numbers) > MAX_OPERANDS:
        return f"{signature}: a ufunc has inputs and outputs, {MAX_OPERANDS} at most"
    return Overload(inputs, outputs, tuple(numbers), result)
