"""A line that says that a cell is being compiled and how long already: after a second, and empty when it is done."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

#: Seconds between two looks.
PAUSE = 1.0


class Waiting:
    """``with Waiting(display, "compiling"): ...``.

    Parameters
    ----------
    display : callable or None
        IPython's function of that name; None shows nothing.
    words : str
        What takes long.
    pause : float
        Seconds before the line is shown, and between two looks of it.
    """

    def __init__(self, display: Callable[..., Any] | None, words: str, *, pause: float = PAUSE) -> None:
        self._display, self._words, self._pause = display, words, pause
        self._over = threading.Event()
        self._output: Any = None
        self._thread = threading.Thread(target=self._tick, name="ufunc_magic-waiting", daemon=True)

    def __enter__(self) -> None:
        if self._display:
            self._thread.start()

    def _tick(self) -> None:
        count = 0
        while not self._over.wait(self._pause):
            count += 1
            words = f"{self._words}: {count * self._pause:.0f} s, and Stop ends it"
            bar = '<progress style="width:16em;vertical-align:middle"></progress>'
            self._show(words, f'<div style="padding:.15em .7em">{bar} &ensp;{html.escape(words)}</div>')

    def _show(self, text: str, markup: str) -> None:
        texts = {"text/plain": text, "text/html": markup}
        if self._output is None and self._display:
            self._output = self._display(texts, raw=True, display_id=True)
        elif self._output is not None:
            self._output.update(texts, raw=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._display:
            self._thread.join()
        if self._output is not None:  # an output cannot be taken back, but it can show nothing
            self._show("", "")
