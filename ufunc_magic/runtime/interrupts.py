"""Steps that SIGINT must not end half done: the interrupt comes after them."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def defer_interrupts() -> Iterator[None]:
    """Delay interrupts to the end of the block, so that no process is lost or half ended."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    interrupts: list[Any] = []
    signal.signal(signal.SIGINT, lambda *received: interrupts.append(received))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if loader := sys.modules.get(f"{__package__}.loader"):  # otherwise no C code hears signals
            loader.check_handlers()
        if interrupts:
            before(*interrupts[0])
