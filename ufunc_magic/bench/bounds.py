"""What is known of a candidate's arithmetic, and its row set against the machine's limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..model import CellFunction
from ..render import Row
from ..runtime import origin_of
from .arithmetic_work import Work, function_work, loop_line, ufunc_work
from .candidates import Candidate
from .machine import Limits
from .roofline import verdict

__all__ = ["arithmetic_of", "remark_of", "words"]


def arithmetic_of(one: Candidate) -> Work | None:
    """The function's arithmetic, from its text or name."""
    code = _code(one)
    if code is not None:
        return function_work(code.python, name=code.python_name) if code.python else None
    if isinstance(one.function, np.ufunc):
        return ufunc_work(one.function)
    return function_work(one.origin) if one.origin is not None else None


def remark_of(one: Candidate) -> str:
    """Why a function of a cell cannot be vectorized: a loop of its own; ``""`` where it has none."""
    code = _code(one)
    line = loop_line(code.source, line=code.line) if code is not None else 0
    return f"line {line}, data-dependent loop" if line else ""


def _code(one: Candidate) -> CellFunction | None:
    """What is known of a ufunc of ours."""
    origin = origin_of(one.function) if isinstance(one.function, np.ufunc) else None
    return origin.cell_function if origin else None


def words(
    row: Row, nbytes: int, limit: Limits, *, work: Work | None, remark: str = "", args: Sequence[Any] = ()
) -> str:
    """The verdict on a row: see `roofline.verdict`."""
    single = any(isinstance(arg, np.ndarray) and arg.dtype in (np.float32, np.complex64) for arg in args)
    return verdict(
        seconds=row.seconds,
        elements=row.measured,
        nbytes=nbytes,
        bytes_per_second=limit.bytes_per_second(nbytes),
        flops_per_second=limit.arithmetic * (2 if single else 1),
        work=work,
        remark=remark,
    )
