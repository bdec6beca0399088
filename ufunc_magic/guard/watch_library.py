"""The small library that notes signals in a probe: compiled once per compiler, kept in the cache."""

from __future__ import annotations

from pathlib import Path

from .. import codegen, store, toolchain

__all__ = ["DEBUG", "library"]

#: What a cell is compiled with again to find a line: no optimisation, frame pointers, one clone of each loop.
DEBUG = ("-g", "-O0", "-fno-omit-frame-pointer", "-fno-inline", "-D__UFM_ONE_TARGET")


def library() -> Path:
    """The file of the library; compiled if this compiler has not made it yet.

    Raises
    ------
    ToolchainError
        If there is no compiler.
    """
    tool = toolchain.find()
    text = codegen.template("watch.c")
    flags = [*toolchain.base_flags(tool), "-w"]
    entry_key = store.key(["watch", text, repr(tool.identity()), repr(flags)])
    cache = store.default()
    entry = cache.get(entry_key)
    if entry is None:
        with cache.scratch() as folder:
            made = folder / "watch.so"
            toolchain.compile_shared(
                tool, text, output=made, flags=flags, name="watch.c", cell=text, storage=cache.storage("zig")
            )
            entry = cache.publish(entry_key, record=b"", code=made)
    return entry.library
