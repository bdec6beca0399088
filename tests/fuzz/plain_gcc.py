"""Random functions beside the same C in a plain loop, compiled by ``gcc -O2`` with none of the package's flags."""

from __future__ import annotations

import ctypes
import random
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ufunc_magic as um

from . import compare, grow
from .compare import Batch, Fault
from .ctree import Function, Parameter

__all__ = ["BATCHES", "COMMAND", "Tally", "campaign", "compared"]

#: Signed integers wrap in cells, and the random functions count on it.
COMMAND = ("gcc", "-O2", "-fwrapv", "-fPIC", "-shared", "-w", "-x", "c", "-")

_NARROW = "?bBhHiIlLqQfd"
#: ``--strict`` promises the same bits; what is compiled without it promises integers, and floats to a few last places.
BATCHES = {
    "strict": (
        Batch(grow.Style(_NARROW, plain=True), {"strict": True}, 0.5),
        Batch(grow.Style(plain=True, complex=True), {"strict": True}, 0.2),
        Batch(grow.Style(_NARROW, plain=True, complex=True), {"strict": True, "arch": "native"}, 0.3),
    ),
    "fast": (Batch(grow.Style(_NARROW, near=True, calm=True), {}, 1.0),),
}
#: Functions of one cell.
CELL = 54
#: Elements of each input: more than a vector of the widest, and some left over.
_ROWS = 75


@dataclass
class Tally:
    """What a campaign compared, and where results differ; ``nan_bits`` counts functions where only NaN have others."""

    functions: int = 0
    results: int = 0
    calls: int = 0
    nan_bits: int = 0
    faults: list[Fault] = field(default_factory=list)


def campaign(seed: int, *, count: int, mode: str, folder: Path) -> Iterator[Tally]:
    """Compare ``count`` functions of a ``mode`` of `BATCHES`; gives the tally after each cell."""
    rng, tally = random.Random(seed), Tally()
    batches = BATCHES[mode]
    while tally.functions < count:
        batch = rng.choices(batches, [b.share for b in batches])[0]
        functions = grow.functions(rng.getrandbits(48), count=min(CELL, count - tally.functions), style=batch.style)
        compared(
            functions, functions, batch, seed=seed, library=folder / f"{mode}{seed}-{tally.functions}.so", tally=tally
        )
        yield tally


def compared(
    functions: Sequence[Function], others: Sequence[Function], batch: Batch, *, seed: int, library: Path, tally: Tally
) -> Tally:
    """Compare ufuncs of ``functions`` with plain loops over ``others`` in ``library``, and count in ``tally``."""
    plain = _plain(others, batch, library)
    build = compare.compiled(functions, batch)
    with np.errstate(all="ignore"):
        for function in functions:
            _compare(function, build, plain, batch, random.Random(f"{seed} {function.text()}"), tally)
    return tally


def _compare(
    function: Function, build: um.Build, plain: ctypes.CDLL, batch: Batch, rng: random.Random, tally: Tally
) -> None:
    sizes = {"n": rng.choice((0, 1, 2, 3, 5)), "m": rng.choice((1, 2, 4)), "len": 3, "count": rng.choice((1, 4))}
    count = _ROWS if not any(p.core for p in function.parameters) else 9
    inputs = []
    for p in function.inputs:
        shape = compare.core_shape(p.core, sizes)
        inputs.append(grow.rows(rng, p.type, count * int(np.prod(shape, dtype=int))).reshape(count, *shape))
    expected = _in_a_loop(plain, function, inputs, sizes)
    sample = compare.Sample(sizes, inputs, expected)
    calls = compare.calls(function, build[function.name], sample, folds=False)
    count = sum(1 for _ in calls)
    tally.functions += 1
    tally.calls += count
    tally.results += count * sum(e.size for e in expected)
    fault = next(compare.compiled_faults(function, build[function.name], sample, batch, folds=False), None)
    if fault:
        tally.faults.append(fault)
        return
    results = build[function.name](*inputs)
    results = results if isinstance(results, tuple) else (results,)
    tally.nan_bits += any(
        _visible(np.asarray(r)) != _visible(e) for r, e in zip(results, expected, strict=True) if e.dtype.kind in "fc"
    )


def _visible(array: NDArray[Any]) -> bytes:
    """Its bytes, without those of a long double that mean nothing."""
    if array.dtype.char not in "gG":
        return array.tobytes()
    return array.view("g").ravel().view(np.uint8).reshape(-1, np.dtype("g").itemsize)[:, :10].tobytes()


# -- the plain loop


def _plain(functions: Sequence[Function], batch: Batch, path: Path) -> ctypes.CDLL:
    """The functions and a loop over each, in one library."""
    text = "\n".join([grow.cell_of(functions, batch.style), *map(_loop, functions)])
    subprocess.run([*COMMAND, "-o", str(path), "-lm"], input=text, text=True, check=True)
    return ctypes.CDLL(str(path))


def _loop(function: Function) -> str:
    """``for``, and the call: what a person would write."""
    arrays = [p for p in function.parameters if p.role != "size"]
    named = {id(p): f"ufm_a{n}" for n, p in enumerate(arrays)}
    head = [f"{p.type.name} *{named[id(p)]}" for p in arrays]
    sizes = [p for p in function.parameters if p.role == "size"]
    result = f"{function.returns.name} *ufm_result, " if function.returns else ""

    def passed(p: Parameter) -> str:
        if p.role == "size":
            return f"ufm_size_{p.core[0]}"
        if p.core:
            return " * ".join([f"{named[id(p)]} + ufm_i", *(_dimension(d) for d in p.core)])
        return f"&{named[id(p)]}[ufm_i]" if p.role == "out" else f"{named[id(p)]}[ufm_i]"

    call = f"{function.name}({', '.join(map(passed, function.parameters))})"
    call = f"ufm_result[ufm_i] = {call}" if function.returns else call
    rest = "".join(f", long ufm_size_{p.core[0]}" for p in sizes)
    return (
        f"void ufm_plain_{function.name}(long ufm_n, {result}{', '.join(head)}{rest})\n"
        f"{{\n    for (long ufm_i = 0; ufm_i < ufm_n; ufm_i++) {call};\n}}\n"
    )


def _dimension(dim: int | str) -> str:
    return f"ufm_size_{dim}" if isinstance(dim, str) else str(dim)


def _in_a_loop(
    plain: ctypes.CDLL, function: Function, inputs: list[NDArray[Any]], sizes: dict[str, int]
) -> list[NDArray[Any]]:
    """What the plain loop gives for the inputs; arrays that a function reads and writes are copied before."""
    count, waiting, results = len(inputs[0]), list(inputs), []
    arguments: list[NDArray[Any]] = []
    if function.returns:
        results.append(np.zeros(count, function.returns.char))
        arguments.append(results[0])
    for p in function.parameters:
        if p.role == "size":
            continue
        array = np.zeros((count, *compare.core_shape(p.core, sizes)), p.type.char)
        if p.role != "out":
            array[...] = waiting.pop(0)
        arguments.append(array)
        if p.role != "in":
            results.append(array)
    lengths = [ctypes.c_long(sizes[str(p.core[0])]) for p in function.parameters if p.role == "size"]
    loop = getattr(plain, f"ufm_plain_{function.name}")
    loop(ctypes.c_long(count), *(ctypes.c_void_p(a.ctypes.data) for a in arguments), *lengths)
    return results
