"""The lengths of arrays that the indices of a function suggest, as a hint for people: nothing of it is proved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .constants import evaluate_integer
from .index_bounds import split_shift
from .nodes import (
    Assignment,
    Binary,
    Conditional,
    Constant,
    CountedFor,
    Current,
    Declare,
    Element,
    Expression,
    FunctionIR,
    Name,
    Node,
    Symbol,
    list_children,
    strip_conversions,
    walk,
)

#: Sources of a variable that are followed, one after the other.
_DEEPEST = 8
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}


class LengthHint(NamedTuple):
    """The dimensions that the indices of one pointer suggest.

    Attributes
    ----------
    dims : tuple of str or int
        Names of integer parameters, numbers, or sums of both: ``("n",)``, ``("n", "m")``, ``("n+m-1",)``.
    own : str
        Where no parameter is the length: what the indices are made of, after a "+" where no array has them.  The same
        words are the same length.
    """

    dims: tuple[int | str, ...] = ()
    own: str = ""


class LengthHints(NamedTuple):
    """By pointer parameter, and the integer parameters to which indices or loops count."""

    pointers: dict[Symbol, LengthHint]
    ends: frozenset[Symbol]


class _End(NamedTuple):
    """The limit of an index: a parameter or a sum, and a number that is added; ``None``: the data decides.

    ``weak``: nothing compares the index with it; it is made of the parameter.
    """

    text: str | None
    shift: int = 0
    weak: bool = False


class _Access(NamedTuple):
    """An index, and the loops around it."""

    subscript: Expression
    loops: tuple[CountedFor, ...]


#: The elements of an array decide, and nobody knows.
_DATA, _UNKNOWN = _End(None), _End(None, weak=True)


@dataclass
class _Scan:
    """The values and the upper ends of a function's variables, and the indices of its pointers."""

    integers: frozenset[Symbol]
    sources: dict[Symbol, list[Expression]] = field(default_factory=dict)
    #: By variable, or by the text of another expression.
    ends: dict[Symbol | str, list[_End]] = field(default_factory=dict)
    counted: set[Symbol] = field(default_factory=set)
    accesses: dict[Symbol, list[_Access]] = field(default_factory=dict)

    def read(self, function: FunctionIR) -> None:
        waiting: list[tuple[Node, tuple[CountedFor, ...]]] = [(function.body, ())]
        while waiting:
            node, loops = waiting.pop()
            match node:
                case (
                    Declare(symbol=symbol, value=Expression() as value)
                    | Assignment(place=Name(symbol=symbol), value=value)
                ):
                    self.sources.setdefault(symbol, []).append(value)
                case Element(base=base, index=index) if isinstance(base := strip_conversions(base), Name):
                    self.accesses.setdefault(base.symbol, []).append(_Access(index, loops))
                case CountedFor():
                    self._find_end(node)
                    loops = (*loops, node)
                case Binary(op=op, left=left, right=right) if op in _MIRRORED:
                    for one, other, word in ((left, right, op), (right, left, _MIRRORED[op])):
                        variable, shift = split_shift(one)
                        if word != ">" and (end := self._read_end(other, int(word == "<=") - shift)):
                            self.ends.setdefault(variable or _spell(one), []).append(end)
            waiting += [(child, loops) for child in list_children(node)]

    def _find_end(self, loop: CountedFor) -> _End | None:
        """The limit of a loop's counter."""
        return self._read_end(loop.stop, int(loop.inclusive)) if loop.step > 0 else self._read_end(loop.start, 1)

    def _read_end(self, end: Expression, shift: int) -> _End | None:
        last, more = split_shift(end)
        names = {node.symbol for node in walk(end) if isinstance(node, Name)}
        text = last.name if last else _spell(end)
        if text and names and names <= self.integers:
            self.counted |= {last} & self.integers if last else set()
            return _End(text, more + shift)
        match strip_conversions(end):  # n - i - 1 is at most n - 1
            case Binary(op="-", left=left, right=right):
                return self._read_end(left, shift - (evaluate_integer(right) or 0))
        return None

    def find(self, index: Expression, loops: Sequence[CountedFor], passed: tuple[Symbol, ...] = ()) -> set[_End]:
        """The limits of an index."""
        index = strip_conversions(index)
        if not isinstance(index, Name) and (known := self.ends.get(_spell(index))):
            return {known[0]}
        match index:
            case Constant() | Current():
                return set()
            case Name(symbol=symbol) | Assignment(place=Name(symbol=symbol)):
                if loop := next((loop for loop in reversed(loops) if loop.counter is symbol), None):
                    end = self._find_end(loop)
                    return {end} if end else _move(self.find(loop.stop, loops, (*passed, symbol)), loop.inclusive - 1)
                if known := self.ends.get(symbol):
                    return {known[0]}
                if symbol in self.integers:
                    return set() if symbol in self.sources else {_End(symbol.name, 1, weak=True)}
                values = self.sources.get(symbol, ())
                if any(map(_counts_up, values)):
                    return {_UNKNOWN}
                if symbol in passed or len(passed) > _DEEPEST:
                    return set()
                return set().union(*(self.find(value, loops, (*passed, symbol)) for value in values))
            case Conditional(yes=left, no=right):
                return self.find(left, loops, passed) | self.find(right, loops, passed)
            case Binary(op="+" | "-" as op, left=left, right=right):
                shift = evaluate_integer(right)
                below = self.find(left, loops, passed)
                if shift is not None:
                    return _move(below, shift if op == "+" else -shift)
                more = self.find(right, loops, passed) if op == "+" else set()
                return {_look_inside(index)} if below and more and not _is_half(right) else below | more
            case Binary(left=left) if _is_half(index):
                middle = strip_conversions(left)
                parts = (middle.left, middle.right) if isinstance(middle, Binary) else ()
                return set().union(*(self.find(part, loops, passed) for part in parts))
            case Binary(op="%", right=right):
                end = self._read_end(right, 0)
                return {end or _look_inside(index)}
        return {_look_inside(index)}


def _look_inside(e: Expression) -> _End:
    return _DATA if any(isinstance(node, Element) for node in walk(e)) else _UNKNOWN


def _is_half(e: Expression) -> bool:
    """Whether it is half of a sum or a difference, as in a binary search."""
    match strip_conversions(e):
        case Binary(op="/" | ">>" as op, left=left, right=right):
            middle = strip_conversions(left)
            halves = evaluate_integer(right) == (2 if op == "/" else 1)
            return (
                halves and isinstance(middle, Binary) and middle.op in "+-" and evaluate_integer(middle.right) is None
            )
    return False


def _counts_up(value: Expression) -> bool:
    """Whether an assigned value is more than what was there: ``k++``."""
    e = strip_conversions(value)
    return isinstance(e, Binary) and e.op == "+" and isinstance(strip_conversions(e.left), Current)


def _move(ends: set[_End], shift: int) -> set[_End]:
    return {end if end.text is None else end._replace(shift=end.shift + shift) for end in ends}


def find_length_hints(function: FunctionIR) -> LengthHints:
    """Find the lengths that the indices of a function suggest."""
    integers = frozenset(s for s in function.parameters if s.type.integral and not s.reference)
    scan = _Scan(integers)
    scan.read(function)
    pointers = [s for s in function.parameters if s.type.kind == "a" and s not in scan.sources]
    hints = {s: hint for s in pointers if (hint := _find_hint(scan, scan.accesses.get(s, ())))}
    return LengthHints(hints, frozenset(scan.counted))


def _find_hint(scan: _Scan, accesses: Sequence[_Access]) -> LengthHint | None:
    """The dimensions of the pointer that is accessed so."""
    for access in accesses:
        if rows := _find_rows(scan, access):
            return LengthHint(rows)
    everything = [(access.subscript, scan.find(*access)) for access in accesses]
    ends = {end for _, below in everything for end in below}
    compared = {end for end in ends if end.text is not None and not end.weak}
    texts = {end.text for end in compared or ends if end.text is not None}
    if len(texts) == 1:
        (text,) = texts
        shift = max(end.shift for end in ends if end.text == text)
        return LengthHint((text if shift <= 0 else f"{text}+{shift}",)) if text else None
    if ends:
        words = sorted({_spell(i) or f"at {i.at.start}" for i, below in everything if below})
        return LengthHint(own="+" * (_UNKNOWN in ends) + ",".join(words))
    numbers = [number for index, _ in everything if (number := evaluate_integer(strip_conversions(index))) is not None]
    return LengthHint((max(numbers) + 1,)) if numbers and len(numbers) == len(everything) else None


def _find_rows(scan: _Scan, access: _Access) -> tuple[str, str | int] | None:
    """The numbers of rows and of columns of ``i*w + j``."""
    for inner in walk(access.subscript):
        match inner:
            case Binary(op="*", left=left, right=right):
                for row, columns in ((left, right), (right, left)):
                    row, columns = strip_conversions(row), strip_conversions(columns)
                    width = columns.symbol.name if isinstance(columns, Name) else evaluate_integer(columns)
                    if isinstance(columns, Name) and columns.symbol not in scan.integers:
                        continue
                    below = scan.find(row, access.loops) if isinstance(row, Name) else set()
                    if width is not None and width != 1 and len(below) == 1 and row.symbol not in scan.integers:  # type: ignore[attr-defined]
                        (end,) = below
                        if end.text and end.text.isidentifier() and end.shift <= 0:
                            return end.text, width
    return None


def _spell(e: Expression) -> str:
    """An expression of names and numbers as a dimension, ``""`` for another."""
    match strip_conversions(e):
        case Name(symbol=symbol):
            return symbol.name
        case Constant(value=int(value)):
            return str(value)
        case Binary(op="+" | "-" | "*" | "/" as op, left=left, right=right):
            first, second = _spell(left), _spell(right)
            if not first or not second or (op == "/" and not evaluate_integer(right)):
                return ""
            first = f"({first})" if op in "*/" and not first.isalnum() else first
            second = f"({second})" if op != "+" and not second.isalnum() else second
            return f"{first}{'//' if op == '/' else op}{second}"
    return ""
