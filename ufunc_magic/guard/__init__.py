"""New code runs in another process first (trial); with ``--sandbox``, every call does.

`try_out` takes a newly compiled `CompiledCell` and returns it with notes and without the functions that failed, or
raises `CellCrashed`.

===============  ======================================================================================
`trial`          runs every loop in the helper process and decides which functions are bound
`trial_inputs`   chooses the values; `palette` takes values from a function's text
`messages`       describes a crash
`sanitize`       repeats the trial in a build with sanitizers
`sandbox`        sends every call of a function to another process
`guard_process`  starts the helper process and sends it requests; ``helper/`` is the helper's program
===============  ======================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .guard_process import available as available
    from .messages import read_line_table as read_line_table
    from .sandbox import Sandbox as Sandbox
    from .trial import begin as begin, try_out as try_out, untried as untried
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "guard_process": "available",
            "messages": "read_line_table",
            "sandbox": "Sandbox",
            "trial": "begin try_out untried",
        },
    )
