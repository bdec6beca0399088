"""Many batches of random functions, compiled on the other core while the last one is looked at."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import ufunc_magic as um

from . import compare, grow
from .compare import BATCHES, Batch, Fault
from .ctree import Function

__all__ = ["Outcome", "run"]

#: Functions of one cell: enough that the compiler's start does not count.
CELL = 50


@dataclass(frozen=True)
class Outcome:
    """What a campaign found: functions tried, Python forms compared, faults made small."""

    functions: int
    python: int
    faults: tuple[Fault, ...]
    refused: tuple[str, ...]


@dataclass(frozen=True)
class _Job:
    seed: int
    batch: Batch
    made: list[Function]
    built: um.Build | str


def _jobs(seed: int, count: int) -> Iterator[tuple[int, Batch, int]]:
    rng = random.Random(seed)
    left = count
    while left > 0:
        batch = rng.choices(BATCHES, [b.share for b in BATCHES])[0]
        yield rng.getrandbits(48), batch, min(CELL, left)
        left -= CELL


def _compiled(seed: int, batch: Batch, count: int) -> _Job:
    made = grow.functions(seed, count=count, style=batch.style)
    try:
        return _Job(seed, batch, made, compare.compiled(made, batch))
    except um.UfuncMagicError as error:
        return _Job(seed, batch, made, f"seed {seed}, {batch.options}: {type(error).__name__}: {str(error)[:2000]}")


def run(seed: int, *, count: int, most: int = 3, told: Callable[[str], None] = lambda text: None) -> Outcome:
    """Compare ``count`` functions with the second opinion.

    Parameters
    ----------
    seed : int
        The same functions for the same seed.
    count : int
    most : int
        Faults that are made small; the others only count.
    told : callable
        Hears how far it is.
    """
    functions = python = 0
    found: list[Fault] = []
    refused: list[str] = []
    with ThreadPoolExecutor(2, thread_name_prefix="compile") as pool:
        jobs = _jobs(seed, count)
        waiting = [pool.submit(_compiled, *job) for job in itertools.islice(jobs, 3)]
        while waiting:
            job = waiting.pop(0).result()
            waiting += [pool.submit(_compiled, *following) for following in [next(jobs, None)] if following]
            if isinstance(job.built, str):
                refused.append(job.built)
                continue
            faults, looked = compare.faults(job.made, job.batch, job.built, seed=job.seed)
            functions, python = functions + len(job.made), python + looked
            for fault in faults:
                small = compare.reduced(fault, job.batch, seed=job.seed) if len(found) < most else fault
                found.append(small)
                told(f"seed {job.seed}, {dict(job.batch.options)}: {small}")
            told(f"{functions} functions, {python} Python forms, {len(found)} faults")
    return Outcome(functions, python, tuple(found), tuple(refused))
