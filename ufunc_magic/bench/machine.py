"""What this machine can do at most, the arithmetic of a function, and how far a row is from the limits, in words.

Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for Multicore
Architectures", Communications of the ACM 52 (2009).
"""

from __future__ import annotations

import ast
import functools
import inspect
import os
import platform
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .. import store
from ..render import Level, percent
from .rounds import CLOCK, Call, Clock, measure, once

#: Bytes of each of the two arrays a copy streams through: past the second-level cache of every machine and,
#: together, near the share of the last level that one core of a large machine gets.
STREAM = 24 << 20

#: Bytes of all arrays together at which the rate of a copy is measured, besides the stream's.
SETS = (1 << 14, 1 << 15, 1 << 18, 1 << 20, 1 << 22, 1 << 24)

#: Rows and columns of the matrices: below the size from which BLAS libraries use threads.
MATRIX = 64

T = TypeVar("T")

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


@dataclass(frozen=True)
class Limits:
    """One thread's.

    Attributes
    ----------
    moved : tuple of (int, float)
        Bytes of all arrays together -> bytes per second that an addition reads and writes; ascending.
    arithmetic : float
        Additions and multiplications of doubles per second in a matrix product; floats are twice as many.
    """

    moved: tuple[tuple[int, float], ...]
    arithmetic: float

    def bytes_per_second(self, nbytes: int) -> float:
        """What can be moved where ``nbytes`` are touched in all."""
        sets, rates = zip(*self.moved, strict=True)
        return float(np.interp(np.log(max(1, nbytes)), np.log(sets), rates))

    def to_text(self) -> str:
        """As kept in the cache."""
        return " ".join([repr(self.arithmetic), *(f"{nbytes}:{rate!r}" for nbytes, rate in self.moved)])

    @classmethod
    def from_text(cls, text: str) -> Limits:
        """What `to_text` gave; ValueError for anything else."""
        arithmetic, *pairs = text.split()
        moved = tuple((int(nbytes), float(rate)) for nbytes, rate in (pair.split(":") for pair in pairs))
        if not moved:
            raise ValueError(f"{text!r} has no rates")
        return cls(moved, float(arithmetic))


def measure_bandwidth(*, nbytes: int = 2 * STREAM, clock: Clock = CLOCK) -> float:
    """Bytes per second that one thread reads and writes in ``b = a + 1``, best of four; about 50 ms.

    An addition and not ``memcpy``, whose streaming stores skip the read of the line to be written
    that a compiled loop causes: this is what a loop can reach.  That read is not counted, here or in a row.
    """
    source = np.ones(nbytes // 16)
    target = np.empty_like(source)
    call = Call(functools.partial(np.add, out=target), (source, 1.0))
    once(call, clock=clock)  # maps the pages of the target
    return (source.nbytes + target.nbytes) / max(1e-9, min(once(call, clock=clock)[0] for _ in range(4)))


def measure_limits(*, clock: Clock = CLOCK) -> Limits:
    """Measure; about 200 ms."""
    arrays = [(np.ones(nbytes // 16), np.empty(nbytes // 16)) for nbytes in SETS]
    calls = [Call(functools.partial(np.add, out=target), (source, 1.0)) for source, target in arrays]
    matrix = np.ones((MATRIX, MATRIX))
    calls.append(Call(functools.partial(np.matmul, out=np.empty_like(matrix)), (matrix, matrix)))
    calls.append(Call(functools.partial(np.add, out=np.empty(1)), (np.ones(1), 1.0)))
    turns = [measure(calls, clock=clock, deadline=clock() + 0.03) for _ in range(4)]
    # The best: what is remembered must not be what a busy moment left over.
    best: list[float] = [min(timing.seconds for timing in turn) for turn in zip(*turns, strict=True)]
    *adds, product, alone = best

    def rate(amount: float, seconds: float) -> float:
        return amount / max(1e-9, seconds / 4, seconds - alone)  # without what a call costs by itself

    rates = [rate(nbytes, seconds) for nbytes, seconds in zip(SETS, adds, strict=True)]
    moved = (*zip(SETS, rates, strict=True), (2 * STREAM, measure_bandwidth(clock=clock)))
    return Limits(moved, rate(2 * MATRIX**3, product))


def limits(*, measured: Callable[[], Limits] = measure_limits) -> Limits:
    """This machine's, measured once and remembered in the cache."""
    return _remembered("limits 3", measured, read=Limits.from_text, write=Limits.to_text)


def bandwidth() -> float:
    """Bytes per second that this machine can stream, measured once and remembered in the cache.

    A quarter of the time that all `limits` take, for the first report of a cell waits for it.
    """
    return _remembered("bandwidth 1", measure_bandwidth, read=float, write=repr)


def _remembered(fact: str, measured: Callable[[], T], *, read: Callable[[str], T], write: Callable[[T], str]) -> T:
    # By machine: a cache folder on a shared disk serves several.
    fact, cache = f"{fact} {machine_name()}", store.default()
    try:
        return read(cache.recall(fact) or "")
    except ValueError:
        value = measured()
        cache.remember(fact, write(value))
        return value


def machine_name() -> str:
    """What tells machines apart that share a disk, and saved comparisons."""
    return f"{platform.node()} {platform.machine()} {os.cpu_count()}"


def cache_levels(*, bytes_per_element: float, folder: Path = _CACHES) -> tuple[Level, ...]:
    """Caches for data, smallest first, with the elements that fill each; none where the system does not tell."""
    sizes = {}
    for entry in sorted(folder.glob("index[0-9]*")) if folder.is_dir() else ():
        level, kind, size = (_word(entry / name) for name in ("level", "type", "size"))
        if level.isdecimal() and kind in ("Data", "Unified") and (nbytes := _bytes(size)):
            sizes[int(level)] = nbytes
    each = max(bytes_per_element, 1e-9)
    return tuple(Level(f"L{level}", nbytes, int(nbytes / each)) for level, nbytes in sorted(sizes.items()))


def _word(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _bytes(text: str) -> int:
    digits, unit = text.rstrip("KMG"), text[-1:]
    return int(digits) << {"K": 10, "M": 20, "G": 30}.get(unit, 0) if digits.isdecimal() else 0


# -- the arithmetic of a function, estimated from its text

#: What a call costs in additions and multiplications where it is vectorized: the degree of the polynomials and
#: the reductions that libraries use, to the nearest five or so.
CALLS: dict[str, float] = {
    "sqrt": 5, "cbrt": 20, "exp": 20, "exp2": 18, "exp10": 22, "expm1": 22, "log": 20, "log2": 20, "log10": 22,
    "log1p": 22, "sin": 20, "cos": 20, "tan": 30, "asin": 25, "acos": 25, "atan": 22, "atan2": 30, "sinh": 30,
    "cosh": 30, "tanh": 30, "asinh": 30, "acosh": 30, "atanh": 30, "pow": 50, "power": 50, "hypot": 10, "erf": 35,
    "erfc": 45, "gamma": 80, "lgamma": 80, "fmod": 20, "arcsin": 25, "arccos": 25, "arctan": 22, "arctan2": 30,
    "arcsinh": 30, "arccosh": 30, "arctanh": 30,
}  # fmt: skip
_DIVISION = 4.0

#: ``for`` whose bound is a number is unrolled or vectorized around.
_LOOP = re.compile(r"\b(?:while|do)\b|\bfor\s*\((?![^;]*;[^;]*[<>]=?\s*\d+\s*;)")


@dataclass(frozen=True)
class Work:
    """For each element: additions and multiplications, calls of the C library with their number, and whether
    there are loops, so that the numbers are those of one turn."""

    flops: float
    calls: Mapping[str, int] = field(default_factory=dict)
    loops: bool = False

    @property
    def dearest(self) -> str:
        """The call that costs most, ``""`` where there is none that counts."""
        costly = {name: number * CALLS[name] for name, number in self.calls.items() if CALLS[name] > _DIVISION + 1}
        return max(costly, key=lambda name: costly[name], default="")


def ufunc_work(ufunc: np.ufunc) -> Work | None:
    """Of one of NumPy's own, by name."""
    name = {"power": "pow", "float_power": "pow"}.get(ufunc.__name__, ufunc.__name__)
    if name in CALLS:
        return Work(CALLS[name], {name: 1})
    simple = {"add", "subtract", "multiply", "divide", "negative", "absolute", "maximum", "minimum", "square"}
    return Work(_DIVISION if name == "divide" else 1.0) if name in simple else None


def function_work(function: Callable[..., Any] | str, *, name: str = "") -> Work | None:
    """Of a function, or of a text: a lambda, or a module that defines ``name``; None where there is no text.

    Functions of the text that it calls are counted once for each call.
    """
    try:
        text = function if isinstance(function, str) else inspect.getsource(function)
        tree = ast.parse(textwrap.dedent(text).strip())
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    lambdas = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    label = name or str(getattr(function, "__name__", ""))
    anything: list[ast.FunctionDef | ast.Lambda] = [*lambdas, *functions.values()]
    main = functions.get(label) or next(iter(anything), None)
    work = _Counter(functions).counted(main) if main is not None else None
    # All in calls that nothing is known of: no arithmetic would be a claim.
    return work if work and (work.flops or work.loops) else None


class _Counter(ast.NodeVisitor):
    """Counts along a function's body, those it calls included."""

    def __init__(self, functions: Mapping[str, ast.FunctionDef]) -> None:
        self.functions = functions
        self.flops, self.calls, self.loops = 0.0, dict[str, int](), False
        self.within: list[str] = []

    def counted(self, main: ast.FunctionDef | ast.Lambda) -> Work:
        for node in main.body if isinstance(main, ast.FunctionDef) else [main.body]:
            self.visit(node)
        return Work(self.flops, self.calls, self.loops)

    def visit_BinOp(self, node: ast.BinOp | ast.AugAssign) -> None:
        self._operator(node.op)
        self.generic_visit(node)

    visit_AugAssign = visit_BinOp

    def visit_While(self, node: ast.While | ast.For) -> None:
        self.loops = True
        self.generic_visit(node)

    visit_For = visit_While

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        name = name.removeprefix("c_")
        if name in CALLS:
            self.calls[name] = self.calls.get(name, 0) + 1
            self.flops += CALLS[name]
        elif name in self.functions and name not in self.within:
            self.within.append(name)
            self.counted(self.functions[name])
            self.within.pop()
        self.generic_visit(node)

    def _operator(self, op: ast.operator) -> None:
        match op:
            case ast.Add() | ast.Sub() | ast.Mult():
                self.flops += 1
            case ast.Div() | ast.Mod() | ast.FloorDiv():
                self.flops += _DIVISION
            case ast.Pow():
                self.calls["pow"] = self.calls.get("pow", 0) + 1
                self.flops += CALLS["pow"]


def loop_line(source: str, *, line: int) -> int:
    """The line of the first loop in a C function whose turns depend on data; 0 where there is none.

    ``source`` is the function's text and ``line`` the line it begins on.
    """
    for offset, text in enumerate(source.split("\n")):
        if _LOOP.search(text.partition("//")[0]):
            return line + offset
    return 0


# -- the verdict

#: From these shares of a limit on it is what holds a loop back.
MEMORY_BOUND, COMPUTE_BOUND = 0.6, 0.5

#: Above this share of the limit it cannot have moved what its arguments and results hold: views, zero strides.
IMPOSSIBLE = 2.0

#: Below this share of both limits something else takes the time.
FAR = 0.15

#: Even scalar code of a C library reaches this share of the arithmetic; below it, calls do not take the time.
SCALAR = 0.005

#: Seconds below which a call is mostly its own cost, if the limits explain less than a tenth of it.
CALL = 5e-6


def verdict(
    *,
    seconds: float,
    elements: int,
    nbytes: int,
    bytes_per_second: float,
    flops_per_second: float,
    work: Work | None = None,
    remark: str = "",
) -> str:
    """One phrase for a call.

    Parameters
    ----------
    seconds : float
        Of one call over ``elements`` elements.
    nbytes : int
        Read and written by it.
    bytes_per_second, flops_per_second : float
        The machine's limits where so many bytes are touched.
    work : Work
        The function's arithmetic, where known.
    remark : str
        Why the loop is not vectorized, where it is not: ``"line 4, data-dependent loop"``.

    Returns
    -------
    str
        ``""`` where nothing can be said.
    """
    if not seconds or not elements or not nbytes:
        return ""
    memory = nbytes / bytes_per_second / seconds
    arithmetic = elements * work.flops / flops_per_second / seconds if work and not work.loops else 0.0
    if memory > IMPOSSIBLE:
        return ""
    if seconds < CALL and memory + arithmetic < 0.1:
        return "mostly the cost of a call"
    if memory >= MEMORY_BOUND and memory >= arithmetic:
        return f"memory-bound, at {percent(min(1.0, memory))} of what this machine can move"
    if remark:
        return f"not vectorized: {remark}"
    if work is None:
        return f"at {percent(memory)} of what this machine can move"
    share = "" if work.loops else f", at about {percent(min(1.0, arithmetic))} of this machine's arithmetic"
    if work.dearest and (arithmetic >= FAR or (memory < FAR and (work.loops or arithmetic >= SCALAR))):
        return f"compute-bound in {work.dearest}{share}"
    if arithmetic >= COMPUTE_BOUND or work.loops:
        return f"compute-bound{share}"
    far = "far from" if max(memory, arithmetic) < FAR else "between"
    of_arithmetic = f"about {percent(arithmetic)}" if arithmetic >= SCALAR else "under 1 %"
    return f"{far} the limits: {percent(memory)} of memory, {of_arithmetic} of arithmetic"
