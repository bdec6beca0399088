"""A line in a notebook that shows the progress of a longer step, and then its result in the same place."""

from __future__ import annotations

import html
from collections.abc import Callable
from types import TracebackType
from typing import Any

#: Seconds before anything is shown, and between two looks of the same line.
AFTER, PAUSE = 1.0, 0.1


class Progress:
    """``with Progress(display, clock) as progress: progress(0.3, "1,000 elements")``.

    What raises inside, an interrupt too, leaves the line saying so and goes on.

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
        self._words = ""

    def __enter__(self) -> Progress:
        return self

    def __call__(self, share: float, words: str = "") -> None:
        """Show the share that is done, from 0 to 1; cheap enough to call between any two measurements."""
        now = self._clock()
        if self._display is None or now < self._next:
            return
        self._next = now + PAUSE
        self._words, escaped = f"{share:.0%}, {words}", html.escape(words)
        bar = (
            f'<div style="padding:.15em .7em"><progress max="1" value="{share:.3f}" aria-label="{escaped}" '
            f'style="width:16em;vertical-align:middle"></progress> {share:.0%} &ensp;{escaped}</div>'
        )
        self._show({"text/plain": f"{share:.0%}  {words}", "text/html": bar})

    def show_busy(self, words: str) -> None:
        """Show the step that takes long, without a share."""
        if self._display is not None:
            self._words = words
            bar = '<progress style="width:16em;vertical-align:middle"></progress>'
            line = f'<div style="padding:.15em .7em">{bar} &ensp;{html.escape(words)}</div>'
            self._show({"text/plain": words, "text/html": line})

    def _show(self, texts: dict[str, str]) -> None:
        if self._output is None:
            self._output = self._display(texts, raw=True, display_id=True)  # type: ignore[misc]
        else:
            self._output.update(texts, raw=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._output is not None:  # an output cannot be taken back, but it can show something else
            words = "" if error is None else f"stopped at {self._words}"
            self._show({"text/plain": words, "text/html": html.escape(words)})

    def becomes(self, texts: dict[str, str]) -> bool:
        """Show this in place of the line; False if there is no line, or no longer."""
        output, self._output = self._output, None
        if output is not None:
            output.update(texts, raw=True)
        return output is not None
