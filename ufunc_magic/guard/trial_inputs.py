"""The inputs of a trial: ordinary and edge values, empty and smallest cores, and values from a function's own text.

The text suggests numbers that it compares a parameter with, numbers between them, and table sizes.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import runtime
from ..model import TYPES, CellFunction, LoopCode, OperandUse, compute_core_size

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

#: The largest size that a number among the inputs gives an output.
_MOST_SIZE = 64

#: Bytes of the user's arrays that are sent to a trial.
_MOST_BYTES = 1 << 25
_NO_USE = OperandUse()
#: Elements of an array that a message shows.
_MOST_SHOWN = 8

#: One element of each input of an element-wise loop; a number or a `Series` for each input of a generalized one.
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Series:
    """The elements of an array: rising numbers, or indices.

    Attributes
    ----------
    first, last : number
        Of integers, only ``first`` counts: they rise by one.
    use : OperandUse
        Of indices.
    turn : int
        Which order indices have: rising, falling, or one off.
    """

    first: Any = 0
    last: Any = 0
    use: OperandUse = _NO_USE
    turn: int = 0

    def make_values(self, items: int, sizes: dict[str, int]) -> NDArray[Any]:
        """The elements of an array of so many, by core dimensions."""
        if not self.use.below:
            return _make_rising(self.first, self.last, items)
        count = np.arange(items)
        span = max(self.use.stop(sizes) - self.use.low, 1)
        if self.use.rising:
            return self.use.low + count * span // max(items, 1)
        return self.use.low + (count % span, span - 1 - count % span, (count + 1) % span)[self.turn % 3]


@functools.lru_cache(256)
def _make_rising(first: Any, last: Any, items: int) -> NDArray[Any]:
    if isinstance(first, int):
        return first + np.arange(items) % 100
    return np.linspace(first, last, items).round(6)


@dataclass(frozen=True, eq=False)
class Elements:
    """The elements of an array of the user's."""

    array: NDArray[Any]

    def make_values(self, items: int, sizes: dict[str, int]) -> NDArray[Any]:
        """All of them."""
        return self.array.ravel()


@dataclass(frozen=True)
class Case:
    """One call of a loop.

    Attributes
    ----------
    function : CellFunction
    loop : LoopCode
    kind : str
    rows : tuple
        Element-wise loop: the inputs of each element.  Generalized loop: one row; a number fills an array.
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

    def __post_init__(self) -> None:
        # A number that gives the size of an output is that size.
        for name, k in self.function.size_operands.items():
            sizes, value = dict(self.sizes), self.rows[0][k]
            sizes.setdefault(name, min(max(value, 0), _MOST_SIZE) if isinstance(value, int) else 1)
            rows = tuple((*row[:k], sizes[name], *row[k + 1 :]) for row in self.rows)
            object.__setattr__(self, "sizes", tuple(sizes.items()))
            object.__setattr__(self, "rows", rows)

    @property
    def seconds(self) -> float:
        """Seconds that the case may take."""
        return PATIENCE[self.kind]

    def build_message(self, *, seconds: float) -> dict[str, Any]:
        """Build the request to the helper, with the time limit ``seconds``."""
        sizes = dict(self.sizes)
        cores = self.function.cores
        nin = self.function.nin
        operands, steps, core_steps = [], [], []
        count = len(self.rows) if not self.function.core else 1
        dtypes = runtime.find_operand_dtypes(self.function.function_code, self.function.loops.index(self.loop))
        for k, kind in enumerate(dtypes):
            shape = tuple(_size(d, sizes) for d in cores[k])
            items = math.prod(shape)
            if k < nin:
                data = _pack_values([self.make_value(row[k], items) for row in self.rows], kind)
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
            "optional": self.kind != "ordinary",
        }

    def make_value(self, value: Any, items: int) -> Any:
        """The elements of an operand: an array of so many, or one number."""
        if isinstance(value, Series | Elements):
            return value.make_values(items, dict(self.sizes))
        return [value] * items if self.function.core else value

    def is_outside(self) -> bool:
        """Whether an index of one of the arrays lies outside of it, which is no fault of the function."""
        sizes = dict(self.sizes)
        for value, use in zip(self.rows[0], self.function.uses, strict=False):
            if use.below and self.function.core:
                stop = use.stop(sizes)
                numbers = np.asarray(use.low if isinstance(value, Series) else getattr(value, "array", value))
                if not ((use.low <= numbers) & (numbers < stop)).all():
                    return True
        return False

    def call(self, row: int = 0) -> str:
        """Spell the call as a user would type it: ``f(1, 0)``, ``f(a, b) with n=2, a=[0.1, 0.9], b filled with 1``."""
        function, sizes = self.function, dict(self.sizes)
        if not function.core:
            return f"{function.name}({', '.join(_type_value(v) for v in self.rows[row])})"
        arguments, arrays, filled = [], [], dict[str, list[str]]()
        for name, core, value in zip(function.parameters, function.cores, self.rows[0], strict=False):
            items = math.prod(_size(d, sizes) for d in core)
            elements = value.make_values(items, sizes).tolist() if isinstance(value, Series | Elements) else []
            shown = [_type_value(v) for v in elements[:_MOST_SHOWN]]
            arguments.append(name if core else shown[0] if shown else _type_value(value))
            if core and shown:
                arrays.append(f"{name}=[{', '.join([*shown, *['...'] * (items > _MOST_SHOWN)])}]")
            elif core:
                filled.setdefault(_type_value(value), []).append(name)
        everything = not arrays and len(filled) == 1
        arrays += [f"{'arrays' if everything else ' and '.join(names)} filled with {v}" for v, names in filled.items()]
        words = [f"{name}={size}" for name, size in self.sizes if not name.isdecimal()]
        words += [] if self.kind == "empty" else arrays
        return f"{function.name}({', '.join(arguments)}) with {', '.join(words)}".strip()


def list_cases(code: CellFunction, data: Sequence[NDArray[Any]] = ()) -> Iterator[Case]:
    """Yield every case of every loop of a ufunc; with ``data`` it must work on these, and on other values if it can."""
    for loop in code.loops:
        own = list(_yield_data_cases(code, loop, data)) if data else []
        yield from own
        for case in _yield_generalized(code, loop) if code.core else _yield_elementwise(code, loop):
            yield replace(case, kind="edge") if own and case.kind == "ordinary" else case


def assume_indices(code: CellFunction) -> CellFunction | None:
    """The function with integers of arrays as indices of the smallest array; None if no more than known are any."""
    sizes = tuple(dict.fromkeys(d for core in code.cores for d in core))
    free = [
        kind in "iu" and bool(core) and not use.below
        for kind, core, use in zip(_list_kinds(code, code.loops[0]), code.cores, _find_uses(code), strict=False)
    ]
    uses = tuple(u._replace(below=sizes) if f else u for f, u in zip(free, _find_uses(code), strict=True))
    return replace(code, uses=uses) if any(free) else None


def split_case(case: Case) -> list[Case]:
    """Split a case of several elements into cases of one."""
    return [replace(case, rows=(row,)) for row in case.rows]


def suggest_cases(case: Case, text: str) -> list[Case]:
    """Suggest cases that may work after the ordinary ``case`` failed: one element each, the likeliest first.

    ``text`` is the cell's, for functions that contain no number.
    """
    first, code = split_case(case)[0], case.function
    rows = list(_yield_palette_rows(code, case.loop, text)) or [first.rows[0]]
    cases = [first]
    if code.core:
        uses = _find_uses(code)
        indexed = [
            tuple(Series(use=u, turn=n) if u.below else v for u, v in zip(uses, row, strict=True))
            for n, row in enumerate(rows)
        ]
        rows = [*_make_array_rows(_list_kinds(code, case.loop), code.cores, uses), *indexed][:_MOST_SUGGESTED]
        cases += [replace(first, sizes=sizes, rows=(rows[0],)) for sizes in _yield_palette_sizes(code)]
    cases += [replace(first, rows=(row,)) for row in rows]
    return list({repr((c.rows, c.sizes)): c for c in cases}.values())


# ----------------------------------------------------------------------------------------------- the calls


def _yield_elementwise(code: CellFunction, loop: LoopCode) -> Iterator[Case]:
    kinds = _list_kinds(code, loop)
    if not kinds:
        yield Case(code, loop, "ordinary", ((),) * 3)
        return
    ordinary = tuple(_keep_in_range(row, code.uses) for row in _make_ordinary_rows(kinds))
    huge = _make_rows([_list_huge(n) for n in _list_numbers(code, loop)], ordinary[1])
    edges = _make_rows([_list_edges(k) for k in kinds], ordinary[1])
    if not code.cautious:
        yield Case(code, loop, "ordinary", ordinary)
        yield Case(code, loop, "ordinary", ordinary[:1], at_end=False)
        yield Case(code, loop, "edge", (*edges, *huge)[:_MOST_ROWS])
        return
    # A function that may loop runs one element at a time: the endless one is known then.
    usual, others = _make_counting_rows(kinds, ordinary)
    usual = tuple(dict.fromkeys(_keep_in_range(row, code.uses) for row in usual))
    for row in usual:
        yield Case(code, loop, "ordinary", (row,))
    yield Case(code, loop, "ordinary", usual[:1], at_end=False)
    for row in (*edges, *others, *(row for row in ordinary if row not in usual))[:_MOST_ROWS]:
        yield Case(code, loop, "edge", (row,))
    for row in huge[: len(_list_huge(_list_numbers(code, loop)[0]))]:
        yield Case(code, loop, "huge", (row,))


def _yield_generalized(code: CellFunction, loop: LoopCode) -> Iterator[Case]:
    kinds = _list_kinds(code, loop)
    cores = code.cores
    names = [d for d in dict.fromkeys(d for core in cores for d in core) if d.isidentifier()]
    usual = tuple((name, 5 + n) for n, name in enumerate(names))
    rows = _make_ordinary_rows(kinds)
    arrays = _make_array_rows(kinds, cores, _find_uses(code))
    for n, row in enumerate(arrays):
        yield Case(code, loop, "ordinary", (row,), usual, at_end=n != 1)
    ordinary = arrays[0]
    if names:
        searched = any(use.rising for use in code.uses)  # one element has no neighbour
        yield Case(code, loop, "edge" if searched else "ordinary", (ordinary,), tuple((name, 1) for name in names))
        yield Case(code, loop, "empty", (ordinary,), tuple((name, 0) for name in names))
    # A value fills an array; scalar operands deserve more rows.
    scalar = any(not core for core in cores[: code.nin])
    edges = _make_rows([_list_edges(k) for k in kinds], ordinary)[: 24 if scalar else 4]
    edges = (*edges, *rows[1 : 4 if scalar else 1])
    huge = _make_rows([_list_huge(n) for n in _list_numbers(code, loop)], ordinary)[: 12 if scalar else 2]
    for row in _fit_rows(edges, ordinary, code.uses, unordered=1, outside=2):
        yield Case(code, loop, "edge", (row,), usual)
    for row in _fit_rows(huge, ordinary, code.uses, unordered=0, outside=1):
        yield Case(code, loop, "huge", (row,), usual)


def _yield_data_cases(code: CellFunction, loop: LoopCode, data: Sequence[NDArray[Any]]) -> Iterator[Case]:
    """Yield the first, the middle and the last element of the user's arrays, for a loop of their types."""
    dtypes = runtime.find_operand_dtypes(code.function_code, code.loops.index(loop))
    if not all(np.can_cast(array.dtype, kind, "same_kind") for array, kind in zip(data, dtypes, strict=False)):
        return
    rows = sorted({0, len(data[0]) // 2, len(data[0]) - 1})
    if not code.core:
        yield Case(code, loop, "ordinary", tuple(zip(*(array[rows].tolist() for array in data), strict=True)))
        return
    pairs = {
        pair for array, core in zip(data, code.cores, strict=False) for pair in zip(core, array.shape[1:], strict=True)
    }
    sizes = tuple(sorted((name, size) for name, size in pairs if name.isidentifier()))
    if len(dict(sizes)) < len(sizes) or sum(array[0].nbytes for array in data) > _MOST_BYTES:
        return
    for row in rows:
        values = (
            Elements(array[row]) if core else array[row].item() for array, core in zip(data, code.cores, strict=False)
        )
        yield Case(code, loop, "ordinary", (tuple(values),), sizes)


def _find_uses(code: CellFunction) -> tuple[OperandUse, ...]:
    return code.uses or (_NO_USE,) * code.nin


def _fit_rows(
    rows: Sequence[Row], ordinary: Row, uses: Sequence[OperandUse], *, unordered: int, outside: int
) -> list[Row]:
    """Rows with ordinary indices and rising arrays, but for the first ones, which show what else the function takes."""
    fitted = []
    for n, row in enumerate(rows):
        special = [n < (outside if u.below else unordered if u.rising else len(rows)) for u in uses] or [True] * len(
            row
        )
        fitted.append(tuple(v if k else o for k, v, o in zip(special, row, ordinary, strict=True)))
    return list({repr(row): row for row in fitted}.values())


def _keep_in_range(row: Row, uses: Sequence[OperandUse]) -> Row:
    """The row with indices of tables inside of these."""
    if not uses:
        return row
    # Complex numbers have no order, and count by their real parts.
    return tuple(min(max(v.real, u.low), u.stop({}) - 1) if u.below else v for v, u in zip(row, uses, strict=True))


def _make_array_rows(
    kinds: Sequence[str], cores: Sequence[Sequence[str]], uses: Sequence[OperandUse]
) -> tuple[Row, ...]:
    """Three ordinary rows of a generalized loop: numbers in (0, 1), larger ones, equal ones.

    Arrays rise, as what is searched must; indices are those of the arrays that they are used for, in other orders.
    """
    rows = _make_ordinary_rows(kinds)
    return tuple(
        tuple(_make_array_value(n, k, rows[n][k], kinds, cores, uses) for k in range(len(kinds))) for n in range(3)
    )


def _make_array_value(
    n: int, k: int, value: Any, kinds: Sequence[str], cores: Sequence[Sequence[str]], uses: Sequence[OperandUse]
) -> Any:
    """The value of input ``k`` in row ``n``; ``value`` is that of an element-wise loop."""
    kind, use = kinds[k], uses[k]
    if use.below:
        return Series(use=use, turn=n)
    if use.within >= 0 and not uses[use.within].below:
        low, high = _choose_ends(n, use.within, kinds[use.within])
        return int(low) + 1 if kind in "iu" else Series((3 * low + high) / 4, (low + 3 * high) / 4)
    if not cores[k]:  # it counts or chooses: it must work for 1
        return 1 if kind in "iu" else value
    if kind == "b" or (n == 2 and not use.rising):
        return value
    return Series(*_choose_ends(n, k, kind))


def _choose_ends(n: int, k: int, kind: str) -> tuple[float, float]:
    """The first and the last element of input ``k`` in row ``n``, if it rises."""
    if kind in "iu":
        return 1 + n + k, 5 + n + k
    return (0.1, 0.9 - 0.05 * (k % 8)) if n == 0 else (float(n + k), n + k + 2.0)


def _make_ordinary_rows(kinds: Sequence[str]) -> tuple[Row, ...]:
    values = [ORDINARY[kind][:5] for kind in kinds]
    return tuple(tuple(v[(n + 2 * k) % len(v)] for k, v in enumerate(values)) for n in range(8))


def _make_counting_rows(kinds: Sequence[str], ordinary: Sequence[Row]) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Rows for a function whose integers may count or choose: those that must work, and others.

    A lone integer is 1.  Several are small, distinct and falling: to count to a power of 1, or in base 1, never ends,
    and neither do many loops for equal numbers.
    """
    count = sum(kind in "iu" for kind in kinds)

    def row(n: int, integers: Sequence[int]) -> Row:
        own = iter(integers)
        return tuple(next(own) if kind in "iu" else value for kind, value in zip(kinds, ordinary[n], strict=True))

    ones = tuple(dict.fromkeys(row(n, [1] * count) for n in range(len(ordinary))))[:4]
    if count < 2:
        return ones, ()
    falling = range(count + 1, 1, -1)
    usual = tuple(dict.fromkeys(row(n, falling) for n in range(len(ordinary))))[:4]
    return usual, (row(0, falling[::-1]), *ones[:1])


def _make_rows(special: Sequence[Sequence[Any]], usual: Row) -> tuple[Row, ...]:
    """Put each special value into all inputs, then into one at a time."""
    rows = [tuple(v[min(n, len(v) - 1)] for v in special) for n in range(max(map(len, special), default=0))]
    if len(special) > 1:
        for k, values in enumerate(special):
            rows += [(*usual[:k], value, *usual[k + 1 :]) for value in values]
    return tuple({repr(row): row for row in rows}.values())


def _yield_palette_rows(code: CellFunction, loop: LoopCode, text: str) -> Iterator[Row]:
    """Yield rows of suggested and common values: rising, falling, equal in all inputs."""
    kinds = _list_kinds(code, loop)
    names = (*code.parameters, *[""] * len(kinds))
    columns = []
    for name, kind, number in zip(names, kinds, _list_numbers(code, loop), strict=False):
        own = suggest_values(code.source, name, kind) or suggest_values(text, name, kind)
        own = [value for value in own if _is_held(value, number)]
        columns.append(tuple(dict.fromkeys((*own[:_MOST_SUGGESTED], *ORDINARY[kind]))))
    for n in range(max(map(len, columns), default=0)):
        for shift in (1, -1, 0) if len(columns) > 1 else (0,):
            yield tuple(column[(n + shift * k) % len(column)] for k, column in enumerate(columns))


def _yield_palette_sizes(code: CellFunction) -> Iterator[tuple[tuple[str, int], ...]]:
    """Yield core dimensions: numbers that the text compares them with, powers of two, small ones, falling ones."""
    names = [d for d in dict.fromkeys(d for core in code.cores for d in core) if d.isidentifier()]
    own = [[int(n) for n in suggest_values(code.source, name, "u")[:6] if 0 < n <= 64] for name in names]
    for n in range(max(map(len, own), default=0)):
        yield tuple((name, each[n % len(each)] if each else 4) for name, each in zip(names, own, strict=True))
    for size in (4, 8, 3, 2, 1, 16):
        yield tuple((name, size) for name in names)
    yield tuple((name, 9 - n) for n, name in enumerate(names))


# ---------------------------------------------------------------------------------------------- the values


def _list_numbers(code: CellFunction, loop: LoopCode) -> list[int]:
    """NumPy type numbers of a loop's inputs.

    One value fills all numbers of a structure, so the narrowest of them decides.
    """
    dtypes = runtime.find_operand_dtypes(code.function_code, code.loops.index(loop))[: code.nin]
    return [min((one.num for one in _yield_leaves(dtype)), key=lambda n: (TYPES[n].rank, n)) for dtype in dtypes]


def _list_kinds(code: CellFunction, loop: LoopCode) -> list[str]:
    return [TYPES[number].kind for number in _list_numbers(code, loop)]


def _yield_leaves(dtype: np.dtype[Any]) -> Iterator[np.dtype[Any]]:
    if dtype.subdtype:
        yield from _yield_leaves(dtype.subdtype[0])
    elif dtype.names:
        for name in dtype.names:
            yield from _yield_leaves(dtype[name])
    else:
        yield dtype


def _list_edges(kind: str) -> tuple[Any, ...]:
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


def _list_huge(number: int) -> tuple[Any, ...]:
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


def _is_held(value: float, number: int) -> bool:
    """Whether a type holds a value of the text."""
    if TYPES[number].kind not in "iu":
        return True
    limits = np.iinfo(TYPES[number].char)
    return int(limits.min) <= value <= int(limits.max)


def _size(dimension: str, sizes: dict[str, int]) -> int:
    return max(compute_core_size(dimension, sizes), 0)


def _pack_values(values: Sequence[Any], kind: np.dtype[Any]) -> bytes:
    """Numbers or arrays of them, as they lie in memory."""
    if kind.names:
        numbers = np.ravel(np.array(values))
        records = np.zeros(len(numbers), kind)
        _fill(records, numbers)
        return records.tobytes()
    with np.errstate(all="ignore"):
        whole = kind.kind in "iu" and not isinstance(values[0], np.ndarray)  # a number that does not fit is a mistake
        row: NDArray[Any] = np.array(values, dtype=kind) if whole else np.array(values).astype(kind)
    return row.tobytes()


def _fill(records: NDArray[Any], values: NDArray[Any]) -> None:
    """Put one value into every number of each structure."""
    for name in records.dtype.names or ():
        field = records[name]
        if field.dtype.names:
            _fill(field, values)
            continue
        with np.errstate(all="ignore"):
            field[...] = values.reshape(-1, *(1,) * (field.ndim - 1)).astype(field.dtype)


def _type_value(value: Any) -> str:
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
