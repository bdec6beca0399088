"""The C around Numba's machine code: plans, tables, the loop that raises.  Pure text."""

from __future__ import annotations

import re
from collections.abc import Set
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from ... import codegen
from ...model import TYPES
from .numba_functions import NumbaFunction, Overload

if TYPE_CHECKING:
    from .numba_kernels import Emitted

__all__ = ["text"]


def text(function: NumbaFunction, emitted: Emitted) -> str:
    """The translation unit that is linked with ``emitted.assembly`` and the driver."""
    wants = sorted(name for name in emitted.wanted if name.startswith(("NRT_", "Py", "numba_")))
    parts = [f"#define __UFM_WANT_{name} 1" for name in wants]
    if any(emitted.raises):
        parts.append("#define __UFM_RAISES 1")
    numbers = [str(t) for overload in function.overloads for t in overload.types]
    parts += [
        codegen.template("interface.h"),
        codegen.template("numba.c"),
        *_vector_math(emitted.simd),
        f"static const __ufm_byte __ufm_types[] = {{{', '.join(numbers)}}};",
    ]
    offset = 0
    for k, overload in enumerate(function.overloads):
        parts.append(_loop(k, function, overload, emitted, offset=offset))
        offset += len(overload.types)
    loops = ", ".join(f"__ufm_loop_{k}" for k in range(len(function.overloads)))
    kind = "void (*const __ufm_loops[])(__ufm_char **, const __ufm_intp *, const __ufm_intp *, void *)"
    return "\n".join([*parts, f"extern __UFM_EXPORT {kind};\n{kind} = {{{loops}}};\n"])


def _vector_math(functions: Set[str]) -> list[str]:
    """Our own vector versions, where they beat libmvec's; made visible, for Numba's code is another object."""
    text = codegen.template("simdmath.h")
    ours = sorted(name for name in functions if f"__UFM_WANT_{name}\n" in text)
    if not ours:
        return []
    names = [n for n in re.findall(r'__asm__\("(_ZGV\w+)"\)', text) if n.rpartition("_")[2] in ours]
    seen = [f'__asm__(".globl {name}\\n\\t.hidden {name}");' for name in names]
    wanted = [f"#define __UFM_WANT_{name} 1" for name in ours]
    return [
        *wanted,
        text,
        "#if !defined __clang__ && __GNUC__ >= 11 && defined __x86_64__ && defined __ELF__",
        *seen,
        "#endif",
    ]


def _loop(k: int, function: NumbaFunction, overload: Overload, emitted: Emitted, *, offset: int) -> str:
    sizes = [np.dtype(TYPES[t].char).itemsize for t in overload.types]
    nin, count = len(overload.inputs), len(sizes)
    versions = len(emitted.levels or ("",))
    declared = [f"int __ufm_compiled_{k}_{n}(__ufm_intp, __ufm_char **);" for n in range(versions)]
    dispatch = [
        f"if (__UFM_LEVEL_{n}) return __ufm_compiled_{k}_{n}(__ufm_m, __ufm_p);" for n in range(versions - 1, 0, -1)
    ]
    place = "__ufm_p[{n}] + j * __ufm_s[{n}]"
    copy = "__builtin_memcpy({to}, {source}, {size});"
    loads = [copy.format(to=f"at[{n}]", source=place.format(n=n), size=sizes[n]) for n in range(nin)]
    stores = [copy.format(to=place.format(n=n), source=f"at[{n}]", size=sizes[n]) for n in range(nin, count)]
    raises = emitted.raises[k]
    return Template(codegen.template("numbaloop.c")).substitute(
        k=k,
        name=function.name if function.name.isidentifier() else "a function",  # it stands in a comment
        declarations="\n".join(declared),
        dispatch="\n    ".join(dispatch),
        sizes=", ".join(map(str, sizes)),
        all=count,
        loads=" ".join(loads),
        stores=" ".join(stores),
        **{"raise": "if (status) { __ufm_raise(status, said); return 1; }" if raises else "(void)status; (void)said;"},
        offset=offset,
        nin=nin,
        nout=count - nin,
        # 16 elements of four bytes and more fill whole vectors of every width; narrow ones take 64.
        pad=1 if not emitted.simd else 16 if min(sizes) >= 4 else 64,
        judge=0 if function.fast_math else 1,
        python=int(raises),
    )
