"""Numba functions as object code that needs no Numba: the door of ``from_numba`` and of ``dumps(numba_function)``.

Numba's compiled code (`numba_functions`) becomes kernels in assembly (`numba_kernels`); the C written here connects
those and the driver: plans, tables, the loop that raises.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from ... import cells, codegen, compilers, runtime, store
from ...model import TYPES, ObjectCode, add_contract, find_required_glibc
from . import numba_kernels
from .numba_functions import NumbaFunction, Overload, read


def compile_object_code(
    func: Any, *, signatures: Sequence[str] | None = None, folder: Path, name: str = ""
) -> ObjectCode:
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
        Of one function; a tuple that Numba's function returns is several outputs.

    Raises
    ------
    SignatureError
        If it has no compiled signature of numbers, or needs Numba at run time.
    CompileError, ToolchainError
        If there is no C compiler to link it, or Numba is of a version that this cannot read.
    """
    function = read(func, signatures=signatures, name=name)
    tool = compilers.find()
    compiler = compilers.describe(tool)
    kernels = numba_kernels.emit(function, libmvec=compiler.libmvec)
    code = _link_kernels(function, kernels, tool, folder=folder)
    return add_contract(
        ObjectCode(
            code=code,
            target=replace(runtime.describe_target(), libc=find_required_glibc(code)),
            functions=(function.code,),
            language="numba",
            toolchain=f"{numba_kernels.describe_versions()}, {compiler.version}",
            source=function.code.source,
            name=function.code.name,
        )
    )


def link_ufunc(function: Any) -> np.ufunc:
    """The ufunc of `ufunc_magic.from_numba`; the same object if this process has it already."""
    cache = store.open_default()
    with cache.open_scratch() as folder:
        compiled = compile_object_code(function, folder=folder)
        with runtime.lock_code(compiled):
            result = runtime.find_loaded(compiled)
            if result is None:
                entry = cache.publish(
                    store.make_key(["numba", compiled.digest]), record=compiled.header, code=compiled.code
                )
                result = runtime.load(compiled, entry.library)
    ufuncs: list[np.ufunc] = [f for f in result.values() if isinstance(f, np.ufunc)]
    return ufuncs[0]


def _link_kernels(
    function: NumbaFunction, kernels: numba_kernels.Kernels, tool: compilers.Toolchain, *, folder: Path
) -> bytes:
    """A shared library of the kernels, the driver and the unit between them."""
    assembly = store.Cache.write_scratch(folder / "kernels.s", kernels.assembly)
    library = folder / "kernels.so"
    flags, link = compilers.list_base_flags(tool), compilers.list_base_link_options(tool)
    if sys.platform.startswith("linux"):
        # No symbol table, no padding (base_link says so to gcc; zig's linker does not know it), and libmvec where
        # the compiler does not link it with libm.
        padding = ("-Wl,-z,noseparate-code",) if tool.kind == "clang" else ()
        libmvec = compilers.find_libmvec() if kernels.simd and tool.kind != "gcc" else ""
        link = ("-Wl,-s", *padding, *([libmvec] if libmvec else []), *link)
    compilers.compile_shared(
        tool,
        _write_unit(function, kernels),
        compilers.UnitOrigin(function.code.name, function.code.source),
        output=library,
        flags=flags,
        link=link,
        extra_sources=[
            assembly,
            cells.compile_driver(tool, parallel=False, folder=folder),
            *cells.compile_vector_math(tool, sorted(kernels.simd), folder=folder),
        ],
    )
    return library.read_bytes()


# ---------------------------------------------------------------------------------------- the unit in C


def _write_unit(function: NumbaFunction, kernels: numba_kernels.Kernels) -> str:
    """The translation unit that is linked with the kernels and the driver."""
    needs = sorted(name for name in kernels.undefined if name.startswith(("NRT_", "Py", "numba_")))
    parts = [f"#define __UFM_WANT_{name} 1" for name in needs]
    if any(kernels.raises):
        parts.append("#define __UFM_RAISES 1")
    numbers = [str(t) for overload in function.overloads for t in overload.types]
    parts += [
        codegen.template("interface.h"),
        codegen.template("numba.c"),
        f"static const __ufm_byte __ufm_types[] = {{{', '.join(numbers)}}};",
    ]
    parts += [_describe_loop(k, function, overload, kernels) for k, overload in enumerate(function.overloads)]
    loops = ", ".join(f"__ufm_loop_{k}" for k in range(len(function.overloads)))
    kind = "void (*const __ufm_loops[])(__ufm_char **, const __ufm_intp *, const __ufm_intp *, void *)"
    return "\n".join([*parts, f"extern __UFM_EXPORT {kind};\n{kind} = {{{loops}}};\n"])


def _describe_loop(k: int, function: NumbaFunction, overload: Overload, kernels: numba_kernels.Kernels) -> str:
    sizes = [np.dtype(TYPES[t].char).itemsize for t in overload.types]
    nin, count = len(overload.inputs), len(sizes)
    versions = range(len(kernels.levels or ("",)))
    place = "__ufm_p[{n}] + j * __ufm_s[{n}]"
    copy = "__builtin_memcpy({to}, {source}, {size});"
    loads = [copy.format(to=f"at[{n}]", source=place.format(n=n), size=sizes[n]) for n in range(nin)]
    stores = [copy.format(to=place.format(n=n), source=f"at[{n}]", size=sizes[n]) for n in range(nin, count)]
    raises = kernels.raises[k]
    return Template(
        codegen.template("numbaloop.c")
    ).substitute(
        k=k,
        name=function.code.name
        if function.code.name.isidentifier()
        else "a function",  # the name is written into a comment
        declarations="\n".join(f"int __ufm_compiled_{k}_{n}(__ufm_intp, __ufm_char **);" for n in versions),
        dispatch="\n    ".join(
            f"if (__UFM_LEVEL_{n}) return __ufm_compiled_{k}_{n}(__ufm_m, __ufm_p);" for n in reversed(versions[1:])
        ),
        sizes=", ".join(map(str, sizes)),
        all=count,
        loads=" ".join(loads),
        stores=" ".join(stores),
        **{"raise": "if (status) { __ufm_raise(status, said); return 1; }" if raises else "(void)status; (void)said;"},
        offset=k * count,
        nin=nin,
        nout=count - nin,
        # 16 elements of four bytes and more fill whole vectors of every width; narrow ones take 64.
        pad=1 if not kernels.simd else 16 if min(sizes) >= 4 else 64,
        judge=0 if function.fast_math else 1,
        python=int(raises),
    )
