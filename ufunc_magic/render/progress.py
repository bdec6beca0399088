"""A line that says how far something is: shown only when it takes long, and gone when it is done.

It knows no clock and no front end: who makes one says what time it is and how to show a line.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

#: Seconds before anything is shown, and between two looks of the same line.
AFTER = 1.0
PAUSE = 0.1

WIDTH = 30


class Surface(Protocol):
    """Where a line is shown, and shown again in place of itself."""

    def show(self, bar: Bar) -> None:
        """Show the line, for the first time or in place of what was shown before."""

    def clear(self) -> None:
        """Take it away; called only after `show`."""


class Bar:
    """How far it is, as a value: a share of 0 to 1 and what is being done."""

    def __init__(self, share: float, words: str) -> None:
        self.share = min(1.0, max(0.0, share))
        self.words = words

    def __str__(self) -> str:
        full = round(self.share * WIDTH)
        return f"[{'#' * full}{'.' * (WIDTH - full)}] {self.share:4.0%}  {self.words}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        words = html.escape(self.words)
        return (
            f'<div style="padding:.15em .7em"><progress max="1" value="{self.share:.3f}" aria-label="{words}" '
            f'style="width:16em;vertical-align:middle"></progress> {self.share:.0%} &ensp;{words}</div>'
        )


class Terminal:
    """A line that is written over itself; ``write`` is what writes to the screen, and shows it at once."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._width = 0

    def show(self, bar: Bar) -> None:
        text = str(bar)
        self._write(f"\r{text.ljust(self._width)}")
        self._width = len(text)

    def clear(self) -> None:
        self._write(f"\r{' ' * self._width}\r")
        self._width = 0


class Notebook:
    """An output of its own that is updated; ``display`` is IPython's function of that name."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._handle: Any = None

    def show(self, bar: Bar) -> None:
        if self._handle is None:
            self._handle = self._display(bar, display_id=True)
        else:
            self._handle.update(bar)

    def clear(self) -> None:
        # An output cannot be taken back, but it can be made to show nothing.
        self._handle.update({"text/plain": "", "text/html": ""}, raw=True)
        self._handle = None


class Progress:
    """``with Progress(surface, clock) as progress: progress(0.3, "1,000 elements")``; leaves nothing behind.

    What raises inside, an interrupt too, takes the line away and goes on.

    Parameters
    ----------
    surface : Surface or None
        None shows nothing.
    clock : callable
        Seconds, from any moment on.
    after : float
        Nothing is shown before so many seconds.
    """

    def __init__(self, surface: Surface | None, clock: Callable[[], float], *, after: float = AFTER) -> None:
        self._surface = surface
        self._clock = clock
        self._next = clock() + after
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __call__(self, share: float, words: str = "") -> None:
        """Say how far it is; cheap enough to be called between any two measurements."""
        now = self._clock()
        if self._surface is not None and now >= self._next:
            self._next = now + PAUSE
            self._shown = True
            self._surface.show(Bar(share, words))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._surface is not None and self._shown:
            self._shown = False
            self._surface.clear()
