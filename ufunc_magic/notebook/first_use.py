"""Prepares in the background what the next cell of a notebook needs."""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..model import Comfort

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from ..model import Options

#: Seconds after which an extension that was just loaded starts to prepare.
PAUSE = 0.5

#: Seconds from the end of a cell to the start of a compiler for the next.  Starting a process holds Python's lock: at
#: once, it would delay the kernel's answer by 10 ms, which is most of what the compiler saves.
AFTER_A_CELL = 0.1

#: Compiles a cell in C and in C++, which describes the compiler and makes the driver of the loops and the guard's
#: library.
_PREPARE = """
import ufunc_magic
from ufunc_magic import store
for cplus in (False, True):
    try:
        ufunc_magic.compile_c("#include <math.h>\\ndouble first_use(double x) {{ return exp(x); }}", cplus=cplus)
    except ufunc_magic.UfuncMagicError:
        pass  # the user's own cell reports the reason
store.open_default().remember({fact!r}, "done")
"""

#: Modules that a first cell and its table import, and with them NumPy.
MODULES = (
    "pipeline",
    "languages.c.c_unit",
    "codegen.unit",
    "forms.function_form",
    "guard.trial",
    "bench.cell_report",
    "render.report",
)


def prepare(shell: InteractiveShell) -> None:
    """In a notebook, compile a first cell in the background, so that the user's first cell does not wait.

    Another process compiles it, at low priority; it ends with this one.  A version prepares each compiler once.
    """
    if is_in_notebook(shell):
        timer = threading.Timer(PAUSE, begin)
        timer.daemon = True
        timer.start()
        # Between two cells, and not in that thread: of modules that two threads import at once, one may be half
        # imported when the other needs it.
        import asyncio  # a kernel has it

        with contextlib.suppress(RuntimeError):
            asyncio.get_running_loop().call_later(PAUSE, _import)


def work_ahead(language: str, cell: str, options: Options) -> None:
    """Prepare the next cell of that language in another process, at low priority."""
    with Comfort("what the next cell needs", []):
        from ..languages import get_language as language_named

        if program := language_named(language).work_ahead(cell, options=options):
            _start_once(program)


@functools.cache
def _start_once(program: str) -> None:
    from .. import compilers

    compilers.start_python(program)


@contextlib.contextmanager
def prepare_next(shell: InteractiveShell) -> Iterator[None]:
    """In a notebook, start a compiler for the next cell after the block, however that ends."""
    try:
        yield
    finally:
        if is_in_notebook(shell):
            timer = threading.Timer(AFTER_A_CELL, _start_compiler)
            timer.daemon = True
            timer.start()


def is_in_notebook(shell: InteractiveShell) -> bool:
    """Whether a kernel runs the cells: it outlives them and works between them."""
    return getattr(shell, "kernel", None) is not None


def begin() -> None:
    with Comfort("what the first cell needs", []):
        from importlib.metadata import version  # 10 ms that %load_ext need not take

        from .. import compilers, store

        fact = f"first use 2 {version('ufunc_magic')} {compilers.find().read_identity()!r}"
        if store.open_default().recall(fact) is None:
            compilers.start_python(_PREPARE.format(fact=fact))
    _start_compiler(recalled=True)


def _import() -> None:
    with Comfort("modules that the first cell imports", []):
        for name in MODULES:
            importlib.import_module(f"ufunc_magic.{name}")


def _start_compiler(*, recalled: bool = False) -> None:
    with Comfort("a compiler that waits", []):
        from .. import shortcuts

        shortcuts.start_waiting(recalled=recalled)
