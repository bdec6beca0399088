"""New code runs in another process first (trial); code that is not trusted always does (sandbox)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .guard_process import available as available
    from .sandbox import Sandbox as Sandbox
    from .trial import begin as begin, tried as tried, untried as untried
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "guard_process": "available",
            "sandbox": "Sandbox",
            "trial": "begin tried untried",
        },
    )
