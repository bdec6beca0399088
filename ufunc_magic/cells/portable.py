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
            hit = None if self.options.force else cache.find(self.key)
            stored = stored_cell(hit[0]) if hit else None
            if stored is None:
                first = self.cell.object_code
                with cache.scratch() as folder:
                    since = store.creation_time(folder)
                    compiled = self.language.compile(first.source, options=self.options, name=first.name, folder=folder)
                    inputs = store.stamp(compiled.files_read, since=since)
                code, target = compiled.object_code.code, compiled.object_code.target
                whole = replace(self.cell, object_code=with_contract(replace(first, code=code, target=target)))
                entry = cache.publish_inputs(
                    self.key,
                    inputs,
                    record=whole.to_record(),
                    code=whole.object_code.code,
                    replace=self.options.force or bool(hit),
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
