"""Candidates are verified against each other, timed in turns, then judged against the machine.

In come callables, or a build with its Python forms; out comes a `Comparison` (or `Report`) of ``render``.

``candidates``   what is compared, made callable; what its first call shows
``rivals``       a cell's function for Python, NumPy, Numba, numexpr, Cython
``samples``      arguments in a function's domain, sizes
``expectation``  what results should be; ``agreement`` says how far others are from it
``rounds``       the clock: calls in turns
``machine``      what the machine can move; rows with their speed-ups and how far they are from that
``function_table`` one function of a cell: its request, its table
``comparing``    `compare`: any callables, at one size or over many
``cell_report``  `report`: the functions of a build; rows of a GPU
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .candidates import evaluated as evaluated
    from .cell_report import report as report
    from .comparing import compare as compare
    from .rounds import CLOCK as CLOCK
else:
    __getattr__ = lazy_names(
        __name__, {"candidates": "evaluated", "cell_report": "report", "comparing": "compare", "rounds": "CLOCK"}
    )
