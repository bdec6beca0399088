"""Candidates are compared, then timed in turns, then judged against the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .candidates import evaluated as evaluated
    from .cell_report import report as report
    from .comparing import compare as compare
else:
    __getattr__ = lazy_names(
        __name__,
        {"candidates": "evaluated", "cell_report": "report", "comparing": "compare"},
    )
