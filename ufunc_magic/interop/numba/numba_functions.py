"""What a Numba function is to a ufunc: its compiled scalar signatures, names, text, or why it can be none."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model import MAX_OPERANDS, TYPES, SignatureError, loop_order

__all__ = ["NumbaFunction", "Overload", "is_numba", "read"]


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
    """A function of Numba's: its overloads narrow to wide, and what Python knows of it."""

    name: str
    overloads: tuple[Overload, ...]
    parameters: tuple[str, ...]
    identity: int | str | None
    doc: str
    source: str
    line: int
    fast_math: bool
    notes: tuple[str, ...]

    @property
    def nin(self) -> int:
        return len(self.overloads[0].inputs)

    @property
    def nout(self) -> int:
        return len(self.overloads[0].outputs)


def is_numba(func: object) -> bool:
    """Whether `read` may know it: asked without importing Numba."""
    return type(func).__module__.partition(".")[0] == "numba"


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
    dispatcher, identity = _dispatcher(func)
    title = name or dispatcher.py_func.__name__
    results = _results(func, dispatcher, signatures, title)
    judged = [_overload(result) for result in results]
    overloads = [o for o in judged if isinstance(o, Overload)]
    refused = [o for o in judged if isinstance(o, str)]
    if not overloads:
        raise SignatureError(
            f"{title} has no compiled signature of numbers{f': {refused[0]}' if refused else ''}.",
            remedy='Call it once, or say which: signatures=["f8(f8)"].',
        )
    if signatures is not None and refused:
        raise SignatureError(f"{title}: {refused[0]}.", remedy="Give signatures of numbers.")
    counts = {(len(o.inputs), len(o.outputs)) for o in overloads}
    if len(counts) > 1:
        raise SignatureError(
            f"{title} is compiled for different numbers of arguments or results.",
            remedy='Say which to take: signatures=["f8(f8)"].',
        )
    return _described(dispatcher, title, overloads, identity, refused)


def _described(
    dispatcher: Any, title: str, overloads: Sequence[Overload], identity: int | str | None, refused: Sequence[str]
) -> NumbaFunction:
    function = dispatcher.py_func
    ordered = {o.types[: len(o.inputs)]: o for o in sorted(overloads, key=lambda o: loop_order(o.types))}
    first = overloads[0]
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):  # made by exec, or in a plain interactive session
        source = ""
    names = [n for n, p in inspect.signature(function).parameters.items() if p.kind != p.VAR_POSITIONAL]
    parameters = [names[n] if n < len(names) else f"x{n + 1}" for n in range(len(first.inputs))]
    return NumbaFunction(
        name=title,
        overloads=tuple(ordered.values()),
        parameters=tuple(parameters),
        identity=identity,
        doc=inspect.cleandoc(function.__doc__ or ""),
        source=source,
        line=function.__code__.co_firstlineno,
        fast_math=bool(dispatcher.targetoptions.get("fastmath")),
        notes=tuple(f"left out: {reason}" for reason in refused),
    )


def _dispatcher(func: Any) -> tuple[Any, int | str | None]:
    """Numba's dispatcher behind ``func``, and the identity that its ``@vectorize`` gave."""
    from numba.core.registry import CPUDispatcher
    from numba.np.ufunc.dufunc import DUFunc
    from numba.np.ufunc.gufunc import GUFunc

    if isinstance(func, DUFunc):
        identity = func.identity
        return func._dispatcher, identity if identity is not None or not func.reorderable else "reorderable"
    if isinstance(func, CPUDispatcher):
        return func, None
    if isinstance(func, GUFunc):
        raise SignatureError(f"{func.__name__} is made by @guvectorize: its arrays need Numba.", remedy=_REMEDY)
    if isinstance(func, np.ufunc):
        raise SignatureError(
            f"{func.__name__} is a ufunc whose machine code cannot be asked for.",
            remedy='Give one that @vectorize made, without target="parallel".',
        )
    raise SignatureError(f"{func!r} is no compiled function of Numba's.", remedy=_REMEDY)


_REMEDY = "Give a function decorated with @njit or @vectorize."


def _results(func: Any, dispatcher: Any, signatures: Sequence[str] | None, title: str) -> list[Any]:
    """What Numba compiled: everything, or what ``signatures`` name, compiled now if need be."""
    from numba.core.errors import NumbaError

    if signatures is None:
        return list(dispatcher.overloads.values())
    found = []
    for words in signatures:
        arguments, returned = _numba_signature(words)
        if arguments not in _compiled(dispatcher):
            compile_: Callable[[Any], object] = func.add if func is not dispatcher else dispatcher.compile
            try:
                compile_(arguments if returned is None else returned(*arguments))
            except NumbaError as fault:
                raise SignatureError(f"{title} does not compile for {words}: {fault}") from fault
            except (RuntimeError, TypeError) as fault:  # explicit signatures forbid new ones
                known = ", ".join(str(r.signature) for r in dispatcher.overloads.values())
                raise SignatureError(
                    f"{title} is compiled for {known} only, not for {words}.", remedy="Add it to the decorator."
                ) from fault
        found.append(_compiled(dispatcher)[arguments])
    return found


def _compiled(dispatcher: Any) -> dict[tuple[Any, ...], Any]:
    """What is compiled, by types of arguments; Numba's own keys of ``@vectorize`` functions are whole signatures."""
    return {tuple(result.signature.args): result for result in dispatcher.overloads.values()}


def _numba_signature(words: str) -> tuple[tuple[Any, ...], Any]:
    from numba import from_dtype
    from numba.core import sigutils

    try:
        if "->" not in words:
            arguments, returned = sigutils.normalize_signature(words)
            return tuple(arguments), returned
        inputs, _, outputs = words.partition("->")
        made = [[from_dtype(np.dtype(c)) for c in letters.strip()] for letters in (inputs, outputs)]
        return tuple(made[0]), made[1][0] if len(made[1]) == 1 else None
    except (TypeError, NameError, SyntaxError, AttributeError, NotImplementedError) as fault:
        raise SignatureError(f"{words!r} is no signature: {fault}.", remedy='Write "f8(f8, i8)" or "dl->d".') from fault


def _overload(result: Any) -> Overload | str:
    """The overload, or why it is no loop."""
    from numba.core import types

    signature = result.signature
    if result.objectmode:
        return f"{signature} runs as Python objects"
    returned = signature.return_type
    outputs = tuple(returned.types) if isinstance(returned, types.BaseTuple) else (returned,)
    numbers = []
    for kind in (*signature.args, *outputs):
        number = _type_number(kind)
        if number is None:
            return f"{signature}: {kind} is not a number"
        numbers.append(number)
    if not 0 < len(signature.args) <= len(numbers) - 1 or len(numbers) > MAX_OPERANDS:
        return f"{signature}: a ufunc has inputs and outputs, {MAX_OPERANDS} at most"
    return Overload(tuple(signature.args), outputs, tuple(numbers), result)


def _type_number(kind: Any) -> int | None:
    from numba.core import types
    from numba.np.numpy_support import as_dtype

    if not isinstance(kind, types.Boolean | types.Number) or isinstance(kind, types.Literal):
        return None
    number = int(as_dtype(kind).num)
    return number if number in TYPES else None
