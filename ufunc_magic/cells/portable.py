"""The object of a cell for every CPU, made after the cell has returned, or when somebody asks for it."""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .. import compilers, store
from ..model import Comfort, CompiledCell, ObjectCode, Options, TargetError, with_contract
from .frontend import Backend

if TYPE_CHECKING:
    from ..runtime import LoadedObject


def is_first(object_code: ObjectCode) -> bool:
    """Whether it is for CPUs like this one, though nobody has asked for that."""
    if object_code.target.level == "baseline" or "arch" in object_code.options:
        return False
    return object_code.language != "cython"  # which a comment of the cell asks for


def stored_cell(entry: store.Entry) -> CompiledCell | None:
    """What a cache entry holds; None where the cell must be compiled: its record is unreadable, or another code's."""
    try:
        return CompiledCell.from_record(entry.record, entry.code, code_digest=entry.digest)
    except TargetError:
        return None


@dataclass(frozen=True)
class Portable:
    """Makes the portable object of a cell that was first compiled for CPUs like this one.

    Attributes
    ----------
    key : str
        What the cell is cached under.
    front_end : Backend
    cell : CompiledCell
        What was made first, and tried out.
    options : Options
    """

    key: str
    front_end: Backend = field(repr=False)
    cell: CompiledCell = field(repr=False)
    options: Options

    def __call__(self) -> ObjectCode:
        """The functions that were tried out, for every CPU of this kind: from the cache, or compiled now.

        Raises
        ------
        ToolchainError, CompileError, LinkError, CacheError
            If the compiler that made the first object cannot make this one.
        """
        with _one_at_a_time:
            cache = store.default()
            entry = None if self.options.force else cache.get(self.key)
            stored = stored_cell(entry) if entry else None
            if stored is None:
                first = self.cell.object_code
                with cache.scratch() as folder:
                    compiled = self.front_end.compile(
                        first.source, options=self.options, name=first.name, folder=folder
                    ).object_code
                portable = with_contract(replace(first, code=compiled.code, target=compiled.target))
                whole = replace(self.cell, object_code=portable)
                entry = cache.publish(
                    self.key, record=whole.to_record(), code=portable.code, replace=self.options.force or bool(entry)
                )
                stored = CompiledCell.from_record(entry.record, entry.code, code_digest=entry.digest)
            return stored.object_code


_one_at_a_time = threading.Lock()
#: What the thread has still to do, and the thread, which ends when that is nothing.
_waiting: deque[Callable[[], object]] = deque()
_thread: threading.Thread | None = None
_queueing = threading.Lock()


def complete_in_background(loaded: LoadedObject) -> None:
    """Have the portable object made at low priority; who asks for it waits for it, the end of Python does not."""
    if loaded.complete:
        do_in_background(lambda: loaded.portable_code)


def do_in_background(work: Callable[[], object]) -> None:
    """Have something done, with compilers at low priority, that nobody waits for; the end of Python ends it.

    What goes wrong is not shown: whoever needs it does it again, and is told.
    """
    global _thread
    with _queueing:
        _waiting.append(work)
        if _thread is None:
            _thread = threading.Thread(target=_do_all, name="ufunc_magic-background", daemon=True)
            _thread.start()


def _do_all() -> None:
    global _thread
    while True:
        with _queueing:
            if not _waiting:
                _thread = None
                return
            work = _waiting.popleft()
        with compilers.in_background(), Comfort("what is done in the background", []):
            work()


@atexit.register
def _end() -> None:
    """End what is being compiled: nobody will use it."""
    if thread := _thread:
        _waiting.clear()
        compilers.end_background()
        thread.join(1)


def _start_again() -> None:
    """In the child of a fork: the thread is not there, nor to let go of what it held."""
    global _one_at_a_time, _queueing, _thread
    _one_at_a_time, _queueing, _thread = threading.Lock(), threading.Lock(), None
    _waiting.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_again)
