"""The inputs of a trial: ordinary and edge values, empty and smallest cores, and values from a function's own text.

The text suggests numbers that it compares a parameter with, numbers between them, and table sizes.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import runtime
from ..model import TYPES, CellFunction, LoopCode, core_size

#: Ordinary values must work; edge values may have no answer; huge ones may take for ever; "empty" has no core.
Kind = Literal["ordinary", "edge", "huge", "empty"]

#: Seconds that one case may take, within its function's own limit.
PATIENCE: dict[Kind, float] = {"ordinary": 0.5, "edge": 0.5, "huge": 0.004, "empty": 0.5}
#: Byte that fills outputs before a call: a function is unlikely to write such a number.
_BEFORE = b"\xa5"
_MOST_ROWS = 160
_MOST_SUGGESTED = 12

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

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """One call of a loop.

    Attributes
    ----------
    function : CellFunction
    loop : LoopCode
    kind : str
    rows : tuple
        Element-wise loop: the inputs of each element.  Generalized loop: one row, the values that fill its inputs.
    sizes : tuple of (str, int)
        Core dimensions.
    at_end : bool
        The operands end where their memory ends; otherwise they start where it starts.
    """

    function: CellFunction
    loop: LoopCode
    kind: Kind
    rows: tuple[Row, ...]
    sizes: tuple[tuple[str, int], ...] = ()
    at_end: bool = True

    @property
    def seconds(self) -> float:
        """Seconds that the case may take."""
        return PATIENCE[self.kind]

    def message(self, *, seconds: float) -> dict[str, Any]:
        """Build the request to the helper, with the time limit ``seconds``."""
        sizes = dict(self.sizes)
        cores = self.function.cores
        nin = self.function.nin
        operands, steps, core_steps = [], [], []
        count = len(self.rows) if not self.function.core else 1
        dtypes = runtime.operand_dtypes(self.function.function_code, self.function.loops.index(self.loop))
        for k, kind in enumerate(dtypes):
            shape = tuple(_size(d, sizes) for d in cores[k])
            items = math.prod(shape)
            if k < nin:
                data = _filled([row[k] for row in self.rows], kind, items if self.function.core else 1)
            else:
                data = _BEFORE * (kind.itemsize * items * count)
            operands.append((data, self.at_end))
            steps.append(kind.itemsize * items)
            core_steps += [kind.itemsize * math.prod(shape[d + 1 :]) for d in range(len(shape))]
        named = dict.fromkeys(d for core in cores for d in core)
        return {
            "loop": self.loop.index,
            "operands": operands,
            "dimensions": [count, *(_size(d, sizes) for d in named)],
            "steps": [*steps, *core_steps],
            "seconds": seconds,
        }

    def call(self, row: int = 0) -> str:
        """Spell the call as a user would type it: ``f(1, 0)``, ``f(a, b) with n=0``."""
        names = self.function.parameters
        if not self.function.core:
            return f"{self.function.name}({', '.join(_typed(v) for v in self.rows[row])})"
        arguments = [
            name if core else _typed(value)
            for name, core, value in zip(names, self.function.cores, self.rows[0], strict=False)
        ]
        sizes = ", ".join(f"{name}={size}" for name, size in self.sizes if not name.isdecimal())
        values = [value for value, core in zip(self.rows[0], self.function.cores, strict=False) if core]
        filled = f"arrays filled with {_typed(values[0])}" if values and self.kind != "empty" else ""
        return f"{self.function.name}({', '.join(arguments)}) with {', '.join(filter(None, (sizes, filled)))}".strip()


def list_cases(code: CellFunction) -> Iterator[Case]:
    """Yield every case of every loop of a ufunc."""
    for loop in code.loops:
        yield from _generalized(code, loop) if code.core else _elementwise(code, loop)


def split_case(case: Case) -> list[Case]:
    """Split a case of several elements into cases of one."""
    return [replace(case, rows=(row,)) for row in case.rows]


def suggest_cases(case: Case, text: str) -> list[Case]:
    """Suggest cases that may work after the ordinary ``case`` failed: one element each, the likeliest first.

    ``text`` is the cell's, for functions that contain no number.
    """
    first = split_case(case)[0]
    rows = list(_palette_rows(case.function, case.loop, text)) or [first.rows[0]]
    cases = [first]
    if case.function.core:
        rows = rows[:_MOST_SUGGESTED]
        cases += [replace(first, sizes=sizes, rows=(rows[0],)) for sizes in _palette_sizes(case.function)]
    cases += [replace(first, rows=(row,)) for row in rows]
    return list({repr((c.rows, c.sizes)): c for c in cases}.values())


# ----------------------------------------------------------------------------------------------- the calls


def _elementwise(code: CellFunction, loop: LoopCode) -> Iterator[Case]:
    kinds = _kinds(code, loop)
    if not kinds:
        yield Case(code, loop, "ordinary", ((),) * 3)
        return
    ordinary = _ordinary_rows(kinds)
    huge = _rows([_huge(n) for n in _numbers(code, loop)], ordinary[1])
    edges = _rows([_edges(k) for k in kinds], ordinary[1])
    if not code.cautious:
        yield Case(code, loop, "ordinary", ordinary)
        yield Case(code, loop, "ordinary", ordinary[:1], at_end=False)
        yield Case(code, loop, "edge", (*edges, *huge)[:_MOST_ROWS])
        return
    # A number that counts or chooses must work for 1.  A function that may loop runs one element at a time: the
    # endless one is known then.
    ones = tuple(
        tuple(1 if kind in "iu" else value for kind, value in zip(kinds, row, strict=True)) for row in ordinary
    )
    for row in tuple(dict.fromkeys(ones))[:4]:
        yield Case(code, loop, "ordinary", (row,))
    yield Case(code, loop, "ordinary", ones[:1], at_end=False)
    for row in (*edges, *(row for row in ordinary if row not in ones))[:_MOST_ROWS]:
        yield Case(code, loop, "edge", (row,))
    for row in huge[: len(_huge(_numbers(code, loop)[0]))]:
        yield Case(code, loop, "huge", (row,))


def _generalized(code: CellFunction, loop: LoopCode) -> Iterator[Case]:
    kinds = _kinds(code, loop)
    cores = code.cores
    names = [d for d in dict.fromkeys(d for core in cores for d in core) if d.isidentifier()]
    usual = tuple((name, 5 + n) for n, name in enumerate(names))
    rows = _ordinary_rows(kinds)
    # A scalar operand of an array function counts or chooses: it must work for 1.
    alone = [kind in "iu" and not core for kind, core in zip(kinds, cores, strict=False)]
    ones = [tuple(1 if a else value for a, value in zip(alone, row, strict=True)) for row in rows[:3]]
    for n, row in enumerate(ones):
        yield Case(code, loop, "ordinary", (row,), usual, at_end=n != 1)
    ordinary = ones[0]
    if names:
        yield Case(code, loop, "ordinary", (ordinary,), tuple((name, 1) for name in names))
        yield Case(code, loop, "empty", (ordinary,), tuple((name, 0) for name in names))
    # One value fills all arrays; scalar operands deserve more rows.
    scalar = any(not core for core in cores[: code.nin])
    edges = _rows([_edges(k) for k in kinds], ordinary)[: 24 if scalar else 4]
    for row in (*edges, *rows[1 : 4 if scalar else 1]):
        yield Case(code, loop, "edge", (row,), usual)
    for row in _rows([_huge(n) for n in _numbers(code, loop)], ordinary)[: 12 if scalar else 2]:
        yield Case(code, loop, "huge", (row,), usual)


def _ordinary_rows(kinds: Sequence[str]) -> tuple[Row, ...]:
    values = [ORDINARY[kind][:5] for kind in kinds]
    return tuple(tuple(v[(n + 2 * k) % len(v)] for k, v in enumerate(values)) for n in range(8))


def _rows(special: Sequence[Sequence[Any]], usual: Row) -> tuple[Row, ...]:
    """Put each special value into all inputs, then into one at a time."""
    rows = [tuple(v[min(n, len(v) - 1)] for v in special) for n in range(max(map(len, special), default=0))]
    if len(special) > 1:
        for k, values in enumerate(special):
            rows += [(*usual[:k], value, *usual[k + 1 :]) for value in values]
    return tuple({repr(row): row for row in rows}.values())


def _palette_rows(code: CellFunction, loop: LoopCode, text: str) -> Iterator[Row]:
    """Yield rows of suggested and common values: equal in all inputs, rising, falling."""
    kinds = _kinds(code, loop)
    names = (*code.parameters, *[""] * len(kinds))
    columns = []
    for name, kind in zip(names, kinds, strict=False):
        own = suggest_values(code.source, name, kind) or suggest_values(text, name, kind)
        columns.append(tuple(dict.fromkeys((*own[:_MOST_SUGGESTED], *ORDINARY[kind]))))
    for n in range(max(map(len, columns), default=0)):
        for shift in (0, 1, -1) if len(columns) > 1 else (0,):
            yield tuple(column[(n + shift * k) % len(column)] for k, column in enumerate(columns))


def _palette_sizes(code: CellFunction) -> Iterator[tuple[tuple[str, int], ...]]:
    """Yield core dimensions: numbers that the text compares them with, powers of two, small ones, falling ones."""
    names = [d for d in dict.fromkeys(d for core in code.cores for d in core) if d.isidentifier()]
    own = [[int(n) for n in suggest_values(code.source, name, "u")[:6] if 0 < n <= 64] for name in names]
    for n in range(max(map(len, own), default=0)):
        yield tuple((name, each[n % len(each)] if each else 4) for name, each in zip(names, own, strict=True))
    for size in (4, 8, 3, 2, 1, 16):
        yield tuple((name, size) for name in names)
    yield tuple((name, 9 - n) for n, name in enumerate(names))


# ---------------------------------------------------------------------------------------------- the values


def _numbers(code: CellFunction, loop: LoopCode) -> list[int]:
    """NumPy type numbers of a loop's inputs.

    One value fills all numbers of a structure, so the narrowest of them decides.
    """
    dtypes = runtime.operand_dtypes(code.function_code, code.loops.index(loop))[: code.nin]
    return [min((one.num for one in _leaves(dtype)), key=lambda n: (TYPES[n].rank, n)) for dtype in dtypes]


def _kinds(code: CellFunction, loop: LoopCode) -> list[str]:
    return [TYPES[number].kind for number in _numbers(code, loop)]


def _leaves(dtype: np.dtype[Any]) -> Iterator[np.dtype[Any]]:
    if dtype.subdtype:
        yield from _leaves(dtype.subdtype[0])
    elif dtype.names:
        for name in dtype.names:
            yield from _leaves(dtype[name])
    else:
        yield dtype


def _edges(kind: str) -> tuple[Any, ...]:
    match kind:
        case "b":
            return (False, True)
        case "i":
            return (0, -1)
        case "u":
            return (0,)
        case "c":
            return (0j, complex(-1), complex(math.nan, math.nan))
    return (0.0, -1.0, math.nan, -0.0)


def _huge(number: int) -> tuple[Any, ...]:
    """The largest and the smallest value of a type, and infinities."""
    kind = TYPES[number].kind
    if kind == "b":
        return (True,)
    if kind in "iu":
        limits = np.iinfo(TYPES[number].char)
        return (int(limits.max), int(limits.min)) if kind == "i" else (int(limits.max),)
    if kind == "c":
        return (complex(math.inf, 0), complex(1e30, -1e30))
    largest = np.finfo(TYPES[number].char)
    return (math.inf, -math.inf, largest.max, largest.min, largest.tiny)


def _size(dimension: str, sizes: dict[str, int]) -> int:
    return max(core_size(dimension, sizes), 0)


def _filled(values: Sequence[Any], kind: np.dtype[Any], items: int) -> bytes:
    if kind.names:
        records = np.zeros(len(values), kind)
        _fill(records, np.array(values))
        return np.repeat(records, items).tobytes()
    with np.errstate(all="ignore"):
        row: NDArray[Any] = np.array(values).astype(kind) if kind.kind not in "iu" else np.array(values, dtype=kind)
    return np.repeat(row, items).tobytes()


def _fill(records: NDArray[Any], values: NDArray[Any]) -> None:
    """Put one value into every number of each structure."""
    for name in records.dtype.names or ():
        field = records[name]
        if field.dtype.names:
            _fill(field, values)
            continue
        with np.errstate(all="ignore"):
            field[...] = values.reshape(-1, *(1,) * (field.ndim - 1)).astype(field.dtype)


def _typed(value: Any) -> str:
    if isinstance(value, np.floating):
        return repr(float(value)) if value.dtype.itemsize <= 8 else str(value)
    return repr(value)


# ------------------------------------------------------------------- values from a function's own text


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
    compared = set(_read_numbers(_COMPARED.replace("NAME", re.escape(parameter or "NAME")), text))
    numbers = sorted(compared) or list(dict.fromkeys(_read_numbers(_ALONE, text)))[:_MOST_CONSTANTS]
    between = [low + (high - low) * share for low, high in itertools.pairwise(numbers) for share in _SHARES]
    # Distant bounds are sentinels: counting to them would take for ever.
    near = [number + step for number in numbers if abs(number) <= 1e6 for step in (0.5, 1.0, -0.5, -1.0, 0.0)]
    values = [*between, *near, *numbers]
    if kind != "f":
        values = [round(value) for value in values]
    return list(dict.fromkeys(value for value in values if kind != "u" or value >= 0))


def _read_numbers(pattern: str, text: str) -> Iterator[float]:
    for match in re.finditer(pattern, text):
        word = next(filter(None, match.groups()))
        value = int(word, 16) if "x" in word.lower() else float(word)
        if abs(value) < 1e15:
            yield float(value)
