"""Clocks that a test sets, so that results do not depend on how busy the machine is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np


class FakeClock:
    """A clock that advances when a function of `working` is called, and by ``tick`` at each reading."""

    def __init__(self, tick: float = 0.0) -> None:
        self.now = 0.0
        self.tick = tick

    def __call__(self) -> float:
        self.now += self.tick
        return self.now

    def working(
        self, function: Callable[..., Any], *, call: float = 0.0, element: float = 0.0, power: int = 1
    ) -> Callable[..., Any]:
        """``function``, taking so long for each call and for each element of its first argument (to a power)."""

        def work(*args: Any) -> Any:
            self.now += call + element * np.size(args[0]) ** power
            return function(*args)

        functools.update_wrapper(work, function)
        return work
