"""A line that says what a cell is waiting for, shown when that takes long, and what the first cell would wait for."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING

from ..model import Comfort

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from ..render import Progress

#: Seconds before the line is shown, and after which an extension that was just loaded starts to prepare.
AFTER, BEFORE_PREPARING = 2, 0.5

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


class Waiting:
    """``with Waiting(line): compile()``: what the compiler is at, second by second; the line is empty in the end."""

    def __init__(self, line: Progress) -> None:
        self._line = line
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="ufunc_magic-waiting", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def _tell(self) -> None:
        with Comfort("how long it takes", []):
            if self._over.wait(AFTER):
                return
            from ..toolchain import under_way

            seconds = AFTER
            self._line.says(f"{seconds} s: {under_way()}")
            while not self._over.wait(1.0):
                seconds += 1
                self._line.says(f"{seconds} s: {under_way()}")
            self._line.says("")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()


def prepare(shell: InteractiveShell) -> None:
    """In a notebook, compile a first cell in the background: the user's need not wait for what is made once.

    Another process does it, at low priority; it ends with this one.  What was prepared by this version for this
    compiler is not prepared again.
    """
    if getattr(shell, "kernel", None) is not None:
        timer = threading.Timer(BEFORE_PREPARING, _begin)
        timer.daemon = True
        timer.start()


def _begin() -> None:
    with Comfort("what the first cell needs", []):
        from importlib.metadata import version  # 10 ms that %load_ext need not take

        from .. import store, toolchain

        fact = f"first use 1 {version('ufunc_magic')} {toolchain.find().identity()!r}"
        if store.default().recall(fact) is None:
            toolchain.start_python(_PREPARE.format(fact=fact))
