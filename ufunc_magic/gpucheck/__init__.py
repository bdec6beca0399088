"""``python -m ufunc_magic.gpucheck``: what only a machine with a GPU can show, checked and measured there.

Results agree with references, arrays of other libraries go in and come out, kernels of Numba call the cell's
functions, and the figures of the README are reached.  Without a GPU it says so and checks nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..model import UfuncMagicError

#: What a check may end with; anything else is a fault of this program.
_FAULTS = (
    UfuncMagicError,
    AssertionError,
    ArithmeticError,
    AttributeError,
    ImportError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


class Skip(Exception):
    """A check that cannot be made here, and why."""


@dataclass(frozen=True)
class CheckRow:
    """One line of the table.

    Attributes
    ----------
    name : str
    state : {"ok", "failed", "skipped"}
    message : str
        The figure, or what is wrong.
    figures : dict
        Numbers for the file.
    """

    name: str
    state: Literal["ok", "failed", "skipped"]
    message: str = ""
    figures: dict[str, float] | None = None

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {k: v for k, v in asdict(self).items() if v}


#: What a check gives: words, or words with figures.
Finding = str | tuple[str, dict[str, float]] | None
Check = tuple[str, Callable[[], Finding]]


def run(checks: Sequence[Check]) -> list[CheckRow]:
    """Make the checks one after the other; none stops the next."""
    rows = []
    for name, check in checks:
        try:
            result = check()
        except Skip as why:
            rows.append(CheckRow(name, "skipped", str(why)))
        except _FAULTS as fault:
            first = str(fault).strip().splitlines() or [""]
            rows.append(CheckRow(name, "failed", f"{type(fault).__name__}: {first[0]}"))
        else:
            message, figures = result if isinstance(result, tuple) else (result or "", None)
            rows.append(CheckRow(name, "ok", message, figures))
    return rows


def table(rows: Sequence[CheckRow]) -> str:
    """The rows as text."""
    width = max((len(row.name) for row in rows), default=0)
    return "\n".join(f"{row.name:<{width}}  {row.state:<7}  {row.message}".rstrip() for row in rows)
