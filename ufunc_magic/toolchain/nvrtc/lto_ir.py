"""A cell and its shims as LTO-IR, which a linker inlines into any kernel; made once, then kept in the cache."""

from __future__ import annotations

import base64
import contextlib
import re

from ...codegen import c_string
from ...model import CompileError, ObjectCode, ToolchainError
from ...runtime import carried, carry
from .numba_shims import SUPPORT, prefix, shims
from .nvrtc_cache import kept
from .nvrtc_discovery import Nvrtc, architecture, find
from .nvrtc_program import compile, flags

__all__ = ["carry_ltoir", "ltoir", "unit_text"]

_DIRECTIVE = r"^[ \t]*#[ \t]*(?:include|define|undef|if|ifdef|ifndef|elif|else|endif)\b(?:[^\n]*\\\r?\n)*[^\n]*"


def ltoir(object_code: ObjectCode, arch: str = "compute_75", *, nvrtc: Nvrtc | None = None) -> bytes:
    """LTO-IR of a cell's device functions and of their shims.

    Parameters
    ----------
    object_code : ObjectCode
        Of a CUDA cell.
    arch : str
        What it is linked for must not be older.
    nvrtc : Nvrtc

    Raises
    ------
    CompileError, ToolchainError
        As `ufunc_magic.nvrtc.compile`.

    Notes
    -----
    The object's own is returned where it carries one.  The cell stands in a namespace of its own: two cells may
    define helpers of one name, and LTO would take either for both.
    """
    if own := _own(object_code, arch):
        return own
    words = flags(object_code.options)

    def make() -> bytes:
        return _compiled(object_code, nvrtc=nvrtc, arch=arch, words=words)

    made = kept("ltoir 1", unit_text(object_code, apart=True), arch=arch, options=words, make=make)
    if not carried(object_code).get("ltoir"):
        encoded = base64.b64encode(made).decode()
        carry(object_code, arch=arch, ltoir=encoded, symbols=prefix(object_code))
    return made


def carry_ltoir(object_code: ObjectCode) -> None:
    """Have what travels hold LTO-IR for every GPU, where NVRTC is here to make it and takes the cell."""
    compiler = find()
    if compiler is None or carried(object_code).get("ltoir") or not shims(object_code):
        return
    with contextlib.suppress(CompileError, ToolchainError):
        ltoir(object_code, architecture(compiler), nvrtc=compiler)


def unit_text(object_code: ObjectCode, *, apart: bool) -> str:
    """The translation unit: the cell, then the shims; with ``apart`` in a namespace of its own."""
    cell = str(object_code.device.get("unit", "")) or f"#line 1 {c_string(object_code.name)}\n{object_code.source}"
    behind = '#line 1 "<ufunc_magic>"\n' + SUPPORT + "\n".join(shim.text for shim in shims(object_code))
    if not apart:
        return f"{cell}\n{behind}"
    own = prefix(object_code)
    # Headers are included outside; where they are included again inside, their guards leave nothing of them.
    directives = "\n".join(re.findall(_DIRECTIVE, cell, re.M))
    renamed = ""
    if re.search(r'extern\s*"C"', cell):
        renamed = "".join(f"#define {f.name} {own}_{f.name}_c\n" for f in object_code.functions if f.kind != "python")
    return f"{directives}\n{renamed}inline namespace {own} {{\n{cell}\n}}\n{behind}"


def _compiled(object_code: ObjectCode, *, nvrtc: Nvrtc | None, arch: str, words: tuple[str, ...]) -> bytes:
    def one(*, apart: bool) -> bytes:
        name, cell, text = object_code.name, object_code.source, unit_text(object_code, apart=apart)
        return compile(text, name=name, cell=cell, output="ltoir", arch=arch, options=words, nvrtc=nvrtc).code

    # A cell may not fit into a namespace: a guard around all of it, say.
    with contextlib.suppress(CompileError):
        return one(apart=True)
    return one(apart=False)


def _own(object_code: ObjectCode, arch: str) -> bytes:
    """The LTO-IR that the object holds, if it can be linked for ``arch``."""
    code, made_for = object_code.device.get("ltoir", ""), str(object_code.device.get("arch", ""))
    digits = [re.search(r"\d+", text) for text in (made_for, arch)]
    if not code or not digits[0] or not digits[1] or int(digits[0][0]) > int(digits[1][0]):
        return b""
    return base64.b64decode(code)
