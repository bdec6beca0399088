"""The small library that notes signals in a probe: compiled once per compiler, kept in the cache."""

from __future__ import annotations

from pathlib import Path

from .. import cache, codegen, compilers, toolchain

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
    tool = compilers.find()
    text = codegen.template("watch.c")
    flags = [*compilers.base_flags(tool), "-w"]
    entry_key = cache.key(["watch", text, repr(tool.identity()), repr(flags)])
    store = cache.default()
    entry = store.get(entry_key)
    if entry is None:
        with store.scratch() as folder:
            made = folder / "watch.so"
            toolchain.compile_shared(
                tool, text, output=made, flags=flags, name="watch.c", cell=text, storage=store.storage("zig")
            )
            entry = store.publish(entry_key, record=b"", code=made)
    return entry.library
