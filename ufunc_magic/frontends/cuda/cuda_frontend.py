"""CUDA cells: the key they are cached under; what makes object code of them is in ``unit``.

As for C, the key is made of what goes in.  NVRTC is no part of it where a host compiler makes the code: then it only
checks the cell, and a cell that was once compiled is not checked again.
"""

from __future__ import annotations

import os
from pathlib import Path

from ... import runtime, store, toolchain
from ...model import CompiledCell, Options, ToolchainError
from ...runtime import device
from ...toolchain import header_digests, search_folders, working_folder
from ..frontend import compiler_flags, engine, libraries, linker_flags

__all__ = ["compile", "key", "needs_gpu"]

#: A cell without these words holds nothing that `refusals` would find.
_GPU_ONLY = (
    "asm __shfl _sync __all __any __ballot __match __reduce tex surf <<< wmma nvcuda cooperative_groups mma.h".split()
)


def key(source: str, *, options: Options) -> str:
    """Everything that could change the machine code, digested.  Starts no process, imports nothing of CUDA's.

    Raises
    ------
    ToolchainError
        For ``--device gpu`` where there is none.
    """
    needs_gpu(options)
    try:
        tool = toolchain.find(cplus=True)
    except ToolchainError:
        tool = None  # the GPU's own compiler alone, which may be enough
    flags = compiler_flags(tool, options) if tool else options.compile_args
    link = linker_flags(tool, options) if tool else ()
    folders, forced = search_folders([*flags, *(tool.command if tool else ())])
    sources = tuple(Path(s).expanduser() for s in options.src)
    headers = header_digests(source, folders=folders, cwd=working_folder(), files=(*forced, *sources))
    unknown = os.urandom(16).hex() if headers is None else ""
    native = " ".join(runtime.cpu_features()) if options.arch == "native" else ""
    if tool is None:
        from ...toolchain import nvrtc  # what it is matters only here, and asking takes a millisecond

        native += nvrtc.identity()
    # What cannot be emulated is compiled for the GPU alone where there is one, and refused elsewhere.
    gpu = device.available() if any(word in source for word in _GPU_ONLY) else None
    parts = [
        "cuda",
        repr(gpu),
        repr(engine()),
        source,
        repr(options.key()),
        repr(tool.identity() if tool else ()),
        repr((flags, link)),
        native,
        unknown,
    ]
    return store.key([*parts, repr(headers), repr(libraries(options.lib, options.library_dirs))])


def needs_gpu(options: Options) -> bool:
    """Whether the user asked for the GPU and nothing else.

    Raises
    ------
    ToolchainError
        If they did, and there is none.
    """
    if options.device != "gpu":
        return False
    if not device.available():
        raise ToolchainError(
            f"--device gpu: no GPU can be used here: {device.missing()}",
            remedy="Leave it out, and the cell runs on the CPU where there is no GPU.",
        )
    return True


def compile(source: str, *, options: Options, name: str, folder: Path) -> CompiledCell:
    """Compile a cell in the private ``folder``; see `ufunc_magic.frontends.cuda.cuda_unit.compile`."""
    from . import cuda_unit  # the parser, the code generator and the toolchain: 20 ms that a cached cell saves

    return cuda_unit.compile(source, options=options, name=name, folder=folder)
