"""A line that says that a cell is being compiled or tried out, how far and how long, from the first second on."""

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
        self._count = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="ufunc_magic-waiting", daemon=True)

    def __enter__(self) -> Waiting:
        self._thread.start()
        return self

    def now(self, words: str) -> None:
        """Say from the next look on that this takes long."""
        self._words = words

    def _tick(self) -> None:
        while not self._over.wait(self._pause):
            self._count += 1
            self._say()

    def _say(self) -> None:
        more = self._how_far()
        self._line.busy(f"{self._words}: {more}{', ' if more else ''}{self._count * self._pause:.0f} s")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        if error is not None and self._count:
            self._say()  # what it stopped at may have begun since the last look
        self._line.__exit__(kind, error, trace)
