"""What the first cell of a notebook would wait for, made before it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ..model import Comfort

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

#: Seconds after which an extension that was just loaded starts to prepare.
PAUSE = 0.5

#: Compiles a cell of each language: the compiler is described, the driver of the loops is made, the guard's library.
_PREPARE = """
import ufunc_magic
from ufunc_magic import store
for cplus in (False, True):
    try:
        ufunc_magic.compile_c("#include <math.h>\\ndouble first_use(double x) {{ return exp(x); }}", cplus=cplus)
    except ufunc_magic.UfuncMagicError:
        pass  # the user's own cell says why
store.default().remember({fact!r}, "done")
"""


def prepare(shell: InteractiveShell) -> None:
    """In a notebook, compile a first cell in the background: the user's need not wait for what is made once.

    Another process does it, at low priority; it ends with this one.  What was prepared by this version for this
    compiler is not prepared again.
    """
    if getattr(shell, "kernel", None) is not None:
        timer = threading.Timer(PAUSE, _begin)
        timer.daemon = True
        timer.start()


def _begin() -> None:
    with Comfort("what the first cell needs", []):
        from importlib.metadata import version  # 10 ms that %load_ext need not take

        from .. import store, toolchain

        fact = f"first use 1 {version('ufunc_magic')} {toolchain.find().identity()!r}"
        if store.default().recall(fact) is None:
            toolchain.start_python(_PREPARE.format(fact=fact))
