"""Names of a Python function that stand for something else while it runs, on however many threads."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CellType, FunctionType
from typing import Any

__all__ = ["exchanged", "is_exchanged"]

Substitute = Callable[[Any], Any]


@dataclass
class _Exchange:
    """One namespace: how many calls need it, and what puts back what was there."""

    restore: Callable[[], None]
    users: int = 0


_lock = threading.Lock()
_exchanges: dict[int, _Exchange] = {}


@contextlib.contextmanager
def exchanged(function: FunctionType, substitute: Substitute) -> Iterator[None]:
    """Inside, the function's globals and closure have what ``substitute`` gives for them, if it gives something."""
    spaces: list[dict[str, Any] | CellType] = [function.__globals__, *(function.__closure__ or ())]
    with _lock:
        for space in spaces:
            exchange = _exchanges.get(id(space))
            if exchange is None:
                exchange = _exchanges[id(space)] = _Exchange(_exchange(space, substitute))
            exchange.users += 1
    try:
        yield
    finally:
        with _lock:
            for space in spaces:
                exchange = _exchanges[id(space)]
                exchange.users -= 1
                if not exchange.users:
                    del _exchanges[id(space)]
                    exchange.restore()


def is_exchanged() -> bool:
    """Whether any function is running with other names."""
    return bool(_exchanges)


def _exchange(space: dict[str, Any] | CellType, substitute: Substitute) -> Callable[[], None]:
    """Exchange what is in ``space``; returns what undoes it."""
    if isinstance(space, dict):
        before = dict(space)
        after = {name: made for name, value in before.items() if (made := substitute(value)) is not None}
        space.update(after)
        kept = {name: before[name] for name in after}
        return lambda: space.update(kept)
    try:
        content = space.cell_contents
    except ValueError:  # not bound yet
        return lambda: None
    made = substitute(content)
    if made is None:
        return lambda: None
    space.cell_contents = made

    def restore() -> None:
        space.cell_contents = content

    return restore
