"""A line that says that a cell is being compiled, how far and how long already, from the first second on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..render import Progress

#: Seconds between two looks.
PAUSE = 1.0


class Waiting:
    """``with Waiting(line, "compiling"): ...``.

    Parameters
    ----------
    line : Progress
        Where it is said; at the end it is empty, or says where an error or Stop came.
    words : str
        What takes long.
    how_far : callable
        What more there is to say, or ``""``.
    pause : float
        Seconds before anything is said, and between two looks.
    """

    def __init__(self, line: Progress, words: str, *, how_far: Callable[[], str] = str, pause: float = PAUSE) -> None:
        self._line, self._words, self._how_far, self._pause = line, words, how_far, pause
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="ufunc_magic-waiting", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def _tick(self) -> None:
        count = 0
        while not self._over.wait(self._pause):
            count += 1
            more = self._how_far()
            self._line.busy(f"{self._words}: {more}{', ' if more else ''}{count * self._pause:.0f} s")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self._line.__exit__(kind, error, trace)
