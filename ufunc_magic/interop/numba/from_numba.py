"""Numba functions as object code that needs no Numba: the door of ``from_numba`` and of ``dumps(numba_function)``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import frontends, runtime, store, toolchain
from ...model import FunctionCode, LoopCode, ObjectCode, ToolchainError, required_glibc
from ...runtime import PRELOAD
from . import numba_unit
from .numba_functions import NumbaFunction, is_numba, read

if TYPE_CHECKING:
    from .numba_kernels import Emitted

__all__ = ["is_numba", "object_code"]


def object_code(func: Any, *, signatures: Sequence[str] | None = None, folder: Path, name: str = "") -> ObjectCode:
    """The object code of an ``@njit`` or ``@vectorize`` function.

    Parameters
    ----------
    func : numba.core.dispatcher.Dispatcher or numba.np.ufunc.dufunc.DUFunc
    signatures : sequence of str
        Those to take, ``"f8(f8)"`` or ``"d->d"``; all that are compiled if omitted.
    folder : Path
        A private folder to compile in.
    name : str
        Name of the ufunc; the function's own if omitted.

    Returns
    -------
    ObjectCode
        Of one function; a tuple that Numba's function returns is several outputs.  Where there is no C compiler to
        link with, a relocatable object, for `ufunc_magic.runtime.relocatable.open_object`.

    Raises
    ------
    SignatureError
        If it has no compiled signature of numbers, or needs Numba at run time.
    CompileError, ToolchainError
        If the C compiler that links it does not work.
    """
    function = read(func, signatures=signatures, name=name)
    from .numba_kernels import emit, emit_relocatable, versions  # they import Numba and llvmlite

    told = versions()
    libc = ""
    preload: tuple[str, ...] = ()
    try:
        tool = toolchain.find()
    except ToolchainError:
        if toolchain.find_all():  # CC names none: an error, as everywhere
            raise
        # A process that loads this needs llvmlite.
        code, preload = emit_relocatable(function), PRELOAD
    else:
        compiler = frontends.described(tool)
        emitted = emit(function, libmvec=compiler.libmvec)
        code = _linked(function, emitted, tool, folder=folder)
        told, libc = f"{told}, {compiler.version}", required_glibc(code)
    return ObjectCode(
        code=code,
        target=replace(runtime.here(), libc=libc),
        functions=(_entry(function),),
        language="numba",
        toolchain=told,
        source=function.source,
        name=function.name,
        preload=preload,
    )


def _linked(function: NumbaFunction, emitted: Emitted, tool: toolchain.Toolchain, *, folder: Path) -> bytes:
    """A shared library of the kernels, the driver and the unit between them."""
    compiled = store.Cache.write_scratch(folder / "kernels.s", emitted.assembly)
    library = folder / "kernels.so"
    flags, link = toolchain.base_flags(tool), (*_link(tool, emitted), *toolchain.base_link(tool))
    toolchain.compile_shared(
        tool,
        numba_unit.text(function, emitted),
        output=library,
        flags=flags,
        link=link,
        extra_sources=[compiled, frontends.driver(tool, parallel=False, folder=folder)],
        name=function.name,
        cell=function.source,
        storage=frontends.storage(),
    )
    return library.read_bytes()


def _link(tool: toolchain.Toolchain, emitted: Emitted) -> tuple[str, ...]:
    """No symbol table, no padding, and libmvec where the compiler does not link it with libm."""
    if not sys.platform.startswith("linux"):
        return ()
    library = toolchain.libmvec_path() if emitted.simd and tool.kind != "gcc" else ""
    # base_link says so to gcc; zig's linker does not know it.
    small = ("-Wl,-s", "-Wl,-z,noseparate-code") if tool.kind == "clang" else ("-Wl,-s",)
    return (*small, library) if library else small


def _entry(function: NumbaFunction) -> FunctionCode:
    results = ("out",) if function.nout == 1 else tuple(f"out{n}" for n in range(1, function.nout + 1))
    loops = tuple(LoopCode(k, overload.types) for k, overload in enumerate(function.overloads))
    return FunctionCode(
        name=function.name,
        kind="ufunc",
        nin=function.nin,
        nout=function.nout,
        identity=function.identity,
        parameters=function.parameters,
        results=results,
        loops=loops,
        doc=function.doc,
        source=function.source,
        line=function.line,
    )
