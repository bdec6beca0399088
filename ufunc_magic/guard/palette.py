"""Trial values from a function's own text: numbers that it compares a parameter with, numbers between, table sizes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

#: Small positive numbers first, then numbers in (0, 1), then other common ones.
ORDINARY: dict[str, tuple[object, ...]] = {
    "b": (True, False),
    "i": (1, 2, 3, 5, 7, 4, 8, 10, 16, 100, 0, -1, -2),
    "u": (1, 2, 3, 5, 7, 4, 8, 10, 16, 100, 0),
    "f": (0.5, 1.0, 1.5, 2.0, 3.25, 0.25, 0.75, 0.1, 0.9, 10.0, 100.0, -0.5, -2.0, 0.0, -1.0),
    "c": (0.5 + 1j, 1.0 - 0.5j, 2.0 + 0j, 0.25 + 0j, -1.0 + 0j),
}
_ALONE = r"(?<![\w.])([-+]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?))[uUlLfF]*(?![\w.])"
_OPERATOR = r"\s*(?:[<>]=?|[!=]=|%)\s*"
#: A number after a parameter called NAME, or before it.
_COMPARED = rf"(?<![\w.])NAME{_OPERATOR}{_ALONE}|{_ALONE}{_OPERATOR}NAME\b"
_SHARES = (0.5, 0.25, 0.75)
#: Most constants that are suggested without a comparison.
_MOST_CONSTANTS = 6


def suggest_values(text: str, parameter: str, kind: str) -> list[int | float]:
    """Suggest values of ``parameter``, the likeliest first; none if its type is no real number.

    Parameters
    ----------
    text : str
        Source of the function.
    parameter : str
    kind : str
        NumPy's letter for the kind of the type.
    """
    if kind not in "iuf":
        return []
    compared = set(_numbers(_COMPARED.replace("NAME", re.escape(parameter or "NAME")), text))
    numbers = sorted(compared) or list(dict.fromkeys(_numbers(_ALONE, text)))[:_MOST_CONSTANTS]
    between = [low + (high - low) * share for low, high in itertools.pairwise(numbers) for share in _SHARES]
    # Distant bounds are sentinels: counting to them would take for ever.
    near = [number + step for number in numbers if abs(number) <= 1e6 for step in (0.5, 1.0, -0.5, -1.0, 0.0)]
    values = [*between, *near, *numbers]
    if kind != "f":
        values = [round(value) for value in values]
    return list(dict.fromkeys(value for value in values if kind != "u" or value >= 0))


def _numbers(pattern: str, text: str) -> Iterator[float]:
    for match in re.finditer(pattern, text):
        word = next(filter(None, match.groups()))
        value = int(word, 16) if "x" in word.lower() else float(word)
        if abs(value) < 1e15:
            yield float(value)
