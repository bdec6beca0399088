"""The notebook: option lines and cells in, bound names and a report out.  The only room that knows IPython.

``magics`` are the magics, their help and what ``%ufunc_config`` remembers; ``option_line`` reads, explains and
completes their options, ``compare_line`` carries out ``%ufunc_compare``; ``completion`` is Tab.  ``bound_names`` knows
which cell bound which name; ``captured_output`` shows in a cell what C prints, in order;
``waiting`` that a cell is being compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .magics import load as load, unload as unload
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "magics": "load unload",
        },
    )
