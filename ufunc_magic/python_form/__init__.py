"""Functions as plain Python: the baseline that is timed, and what results are checked against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .c_form import write as write
    from .runtime_names import namespace as namespace
    from .value import Form as Form, NotPython as NotPython
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "c_form": "write",
            "runtime_names": "namespace",
            "value": "Form NotPython",
        },
    )
