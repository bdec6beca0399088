"""``python tests/gpu/check.py``: what only a machine with a GPU can show, checked and measured there.

Results agree with references, arrays of other libraries go in and come out, kernels of Numba call the cell's
functions, and the figures of the README are reached.  Without a GPU it says so and checks nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ufunc_magic import UfuncMagicError

#: What a check may end with; anything else is a fault of this program.
_FAULTS = (UfuncMagicError, AssertionError, AttributeError, ImportError, RuntimeError, TypeError, ValueError)


class Skip(Exception):
    """A check that cannot be made here, and why."""


#: What a check gives: words, or numbers for the file.
Finding = str | dict[str, float]


def run(checks: Sequence[tuple[str, Callable[[], Finding]]]) -> list[dict[str, Any]]:
    """Make the checks one after the other; none stops the next.

    Returns
    -------
    list of dict
        ``name``, ``state`` ("ok", "failed" or "skipped") and ``result``: the finding, or what is wrong.
    """
    rows = []
    for name, check in checks:
        state: str
        result: Finding
        try:
            state, result = "ok", check()
        except Skip as why:
            state, result = "skipped", str(why)
        except _FAULTS as fault:
            state, result = "failed", f"{type(fault).__name__}: {str(fault).strip().partition(chr(10))[0]}"
        rows.append({"name": name, "state": state, "result": result})
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as text."""
    width = max((len(row["name"]) for row in rows), default=0)
    return "\n".join(f"{row['name']:<{width}}  {row['state']:<7}  {_words(row['result'])}".rstrip() for row in rows)


def _words(result: Finding) -> str:
    return result if isinstance(result, str) else ", ".join(f"{name} {value:.4g}" for name, value in result.items())
