"""Shows in a progress line that a cell is compiled or tried out, how far and for how long."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..render import Progress

#: Seconds between two updates.
PAUSE = 1.0


class Waiting:
    """``with Waiting(line, "compiling"): ...``.

    Parameters
    ----------
    line : Progress
        At the end it is empty, or names the step at which an error or Stop came.
    words : str
        The step.
    how_far : callable
        Returns how far the step is, or ``""``.
    pause : float
        Seconds before the first update, and between two updates.
    """

    def __init__(self, line: Progress, words: str, *, how_far: Callable[[], str] = str, pause: float = PAUSE) -> None:
        self._line, self._words, self._how_far, self._pause = line, words, how_far, pause
        self._count = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="ufunc_magic-waiting", daemon=True)

    def __enter__(self) -> Waiting:
        self._thread.start()
        return self

    def begin(self, words: str) -> None:
        """Note the next step, for the next update."""
        self._words = words

    def _tick(self) -> None:
        while not self._over.wait(self._pause):
            self._count += 1
            self._update()

    def _update(self) -> None:
        more = self._how_far()
        self._line.show_busy(f"{self._words}: {more}{', ' if more else ''}{self._count * self._pause:.0f} s")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        if error is not None and self._count:
            self._update()  # the step may have begun since the last update
        self._line.__exit__(kind, error, trace)
