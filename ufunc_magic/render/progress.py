"""A line in a notebook that says how far something is: shown only when it takes long, and empty when it is done."""

from __future__ import annotations

import html
from collections.abc import Callable
from types import TracebackType
from typing import Any

#: Seconds before anything is shown, and between two looks of the same line.
AFTER, PAUSE = 1.0, 0.1


class Progress:
    """``with Progress(display, clock) as progress: progress(0.3, "1,000 elements")``.

    What raises inside, an interrupt too, empties the line and goes on.

    Parameters
    ----------
    display : callable or None
        IPython's function of that name; None shows nothing.
    clock : callable
        Seconds, from any moment on.
    """

    def __init__(self, display: Callable[..., Any] | None, clock: Callable[[], float]) -> None:
        self._display = display
        self._clock = clock
        self._next = clock() + AFTER
        self._output: Any = None

    def __enter__(self) -> Progress:
        return self

    def __call__(self, share: float, words: str = "") -> None:
        """Say how far it is, from 0 to 1; cheap enough to be called between any two measurements."""
        now = self._clock()
        if self._display is None or now < self._next:
            return
        self._next = now + PAUSE
        escaped = html.escape(words)
        bar = (
            f'<div style="padding:.15em .7em"><progress max="1" value="{share:.3f}" aria-label="{escaped}" '
            f'style="width:16em;vertical-align:middle"></progress> {share:.0%} &ensp;{escaped}</div>'
        )
        self._show({"text/plain": f"{share:.0%}  {words}", "text/html": bar})

    def _show(self, texts: dict[str, str]) -> None:
        if self._output is None:
            self._output = self._display(texts, raw=True, display_id=True)  # type: ignore[misc]
        else:
            self._output.update(texts, raw=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._output is not None:  # an output cannot be taken back, but it can show nothing
            self._show({"text/plain": "", "text/html": ""})
