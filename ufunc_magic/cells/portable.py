"""The object of a cell for every CPU, compiled when somebody asks for it."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field, replace

from .. import store
from ..model import CompiledCell, ObjectCode, Options, TargetError, with_contract
from .language import Language


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
    language : Language
    cell : CompiledCell
        What was made first, and tried out.
    options : Options
    """

    key: str
    language: Language = field(repr=False)
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
                    compiled = self.language.compile(
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


def _renew_lock() -> None:
    """In the child of a fork: a thread of the parent may hold it."""
    global _one_at_a_time
    _one_at_a_time = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
