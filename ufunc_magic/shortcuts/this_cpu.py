"""The first object of a cell, for CPUs like this one; the one for every CPU follows when somebody asks for it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from .. import runtime, store
from ..model import CompiledCell, ObjectCode, Options, TargetError, add_contract

#: The name of the lock: one thread at a time makes a portable object.
LOCK = "portable object"

#: Features of each x86-64 psABI level beyond the level below, in Linux's words.
_LEVELS = {
    3: "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3",
    4: "avx512f avx512bw avx512cd avx512dq avx512vl",
}


@cache
def find_this_level() -> int:
    """The level of this CPU, 2 for all below the third; 0 where units have no clones for levels."""
    if not sys.platform.startswith("linux") or runtime.describe_target().machine != "x86_64":
        return 0
    try:
        flags = set(re.findall(r"(?m)^flags\s*:(.*)", Path("/proc/cpuinfo").read_text())[0].split())
    except (OSError, IndexError):
        return 0
    return 2 + (flags >= set(_LEVELS[3].split())) + (flags >= set(f"{_LEVELS[3]} {_LEVELS[4]}".split()))


def list_this_cpu_flags() -> tuple[str, ...]:
    """Flags of a unit whose loops have clones for CPUs like this one alone."""
    return (f"-D__UFM_LEVEL={find_this_level()}",)


def is_first(object_code: ObjectCode) -> bool:
    """Whether it is for CPUs like this one, without an option that asks for it."""
    if object_code.target.level == "baseline" or "arch" in object_code.options:
        return False
    return object_code.language != "cython"  # a comment of the cell asks for it


def read_stored_cell(entry: store.Entry) -> CompiledCell | None:
    """Read the cell of a cache entry; None if its record is unreadable, or belongs to other code."""
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
        The cell's key in the cache.
    compile : callable
        The compile function of the cell's language.
    cell : CompiledCell
        The cell of the first object, which was tried out.
    options : Options
    """

    key: str
    compile: Callable[..., CompiledCell] = field(repr=False)
    cell: CompiledCell = field(repr=False)
    options: Options

    def __call__(self) -> ObjectCode:
        """The functions that were tried out, for every CPU of this kind: from the cache, or compiled now.

        Raises
        ------
        ToolchainError, CompileError, LinkError, CacheError
            If the compiler that made the first object cannot make this one.
        """
        with runtime.lock_of(LOCK):
            entries = store.open_default()
            hit = None if self.options.force else entries.find(self.key)
            stored = read_stored_cell(hit[0]) if hit else None
            if stored is None:
                first = self.cell.object_code
                for attempt in entries.try_in_scratch():
                    with attempt as folder:
                        since = store.find_creation_time(folder)
                        compiled = self.compile(first.source, options=self.options, name=first.name, folder=folder)
                        inputs = store.stamp_files(compiled.files_read, since=since)
                code, target = compiled.object_code.code, compiled.object_code.target
                whole = replace(self.cell, object_code=add_contract(replace(first, code=code, target=target)))
                entry = entries.publish_inputs(
                    self.key,
                    inputs,
                    record=whole.to_record(),
                    code=whole.object_code.code,
                    replace=self.options.force or bool(hit),
                )
                stored = CompiledCell.from_record(entry.record, entry.code, code_digest=entry.digest)
            return stored.object_code
