"""Which loop of a function takes given types: NumPy's own answer where there is a ufunc to ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model import TYPES, FunctionCode

__all__ = ["Choice", "Given", "choose", "letters"]

#: What is known of an operand before the loop is chosen: its type, one of Python's own number types, or nothing.
Given = np.dtype[Any] | type | None
_KINDS: dict[type, str] = {int: "iufc", float: "fc", complex: "c"}


@dataclass(frozen=True)
class Choice:
    """One loop: its place in ``code.loops`` and its types as NumPy's letters, inputs and outputs."""

    index: int
    inputs: str
    outputs: str


def letters(code: FunctionCode, index: int) -> tuple[str, str]:
    """Types of a loop as NumPy's letters: inputs, outputs."""
    chars = "".join(TYPES[t].char for t in code.loops[index].types)
    return chars[: code.nin], chars[code.nin :]


def choose(
    code: FunctionCode,
    emulated: Any,
    given: Sequence[Given],
    *,
    casting: Any = "same_kind",
    signature: Any = None,
    reduction: bool = False,
) -> Choice:
    """The loop for operands of the types ``given``, inputs and outputs.

    Raises
    ------
    TypeError
        If there is none, or an output does not take its result: NumPy's own exceptions.
    """
    if isinstance(emulated, np.ufunc):
        asked = {} if signature is None else {"signature": signature}
        resolved = emulated.resolve_dtypes(tuple(given), casting=casting, reduction=reduction, **asked)
        return Choice(*_found(code, resolved))
    return _first(code, given, casting=casting, signature=signature)


def _found(code: FunctionCode, resolved: Sequence[np.dtype[Any]]) -> tuple[int, str, str]:
    numbers = tuple(dtype.num for dtype in resolved)
    for index, loop in enumerate(code.loops):
        if loop.types == numbers:
            return index, *letters(code, index)
    for index in range(len(code.loops)):  # long and long long of one width
        if all(np.dtype(c) == d for c, d in zip("".join(letters(code, index)), resolved, strict=True)):
            return index, *letters(code, index)
    raise TypeError(f"{code.name} has no loop for {', '.join(map(str, resolved))}")


def _first(code: FunctionCode, given: Sequence[Given], *, casting: Any, signature: Any) -> Choice:
    """NumPy's search in short, for where no compiler could make the ufunc: the first loop that takes all safely."""
    wanted = [None if s is None else np.dtype(s) for s in signature or (None,) * len(given)]
    for index in range(len(code.loops)):
        inputs, outputs = letters(code, index)
        loop = [np.dtype(c) for c in inputs + outputs]
        asked = all(w is None or w == have for w, have in zip(wanted, loop, strict=True))
        fixed = any(w is not None for w in wanted)
        rule = casting if fixed else "safe"
        taken = all(_takes(have, g, rule) for have, g in zip(loop, given[: code.nin], strict=False))
        if asked and taken:
            for have, out in zip(loop[code.nin :], given[code.nin :], strict=True):
                if isinstance(out, np.dtype) and not np.can_cast(have, out, casting):
                    raise TypeError(f"Cannot cast {code.name} output from {have!r} to {out!r} with rule {casting!r}")
            return Choice(index, inputs, outputs)
    shown = ", ".join(g.__name__ if isinstance(g, type) else str(g) for g in given[: code.nin])
    raise TypeError(f"{code.name} is not supported for the types ({shown}), and they cannot be cast safely to any")


def _takes(loop: np.dtype[Any], given: Given, rule: Any) -> bool:
    if given is None:
        return True
    if isinstance(given, np.dtype):
        return bool(np.can_cast(given, loop, rule))
    return loop.kind in _KINDS[given]
