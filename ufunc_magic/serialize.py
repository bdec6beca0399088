"""The functions that pickles of every release import by name, so this module never moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .runtime import (
    exception as exception,
    function_of as function_of,
    load as load,
    loads as loads,
    realize as realize,
    rebuild as _after,  # noqa: F401 - its name in pickles
    sandbox_with,
)

if TYPE_CHECKING:
    from .guard import Sandbox
    from .model import ObjectCode


def _sandbox(object_code: ObjectCode, loop: int) -> Sandbox:
    """The sandbox process for an object compiled with ``--sandbox``; rooms below the guard cannot make one."""
    from .guard import Sandbox  # only code that asks for it

    return Sandbox(object_code, loop)


sandbox_with(_sandbox)
