"""New code runs in another process first (trial); code that is not trusted always does (sandbox).

In comes a `CompiledCell`, just compiled; out comes the same with notes and without the functions that must not be
bound, or a `CellCrashed`.

``trial`` has every loop run in the helper process and decides which functions are bound; ``trial_inputs`` says on which
values, ``palette`` which of them a function's text suggests; ``messages`` puts what happened into words; ``sanitize``
does it again in a build with sanitizers.
``sandbox`` calls a process for every call of a function, and says what that costs.  ``guard_process`` starts the helper
and talks to it; ``helper/`` is the helper, a program of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .guard_process import available as available
    from .messages import line_table as line_table
    from .sandbox import Sandbox as Sandbox
    from .trial import begin as begin, try_out as try_out, untried as untried
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "guard_process": "available",
            "messages": "line_table",
            "sandbox": "Sandbox",
            "trial": "begin try_out untried",
        },
    )
