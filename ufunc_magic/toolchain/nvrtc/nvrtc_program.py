"""One compilation by NVRTC."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ...codegen import c_string
from ...model import CompileError, Diagnostic, ToolchainError
from ..diagnostics import GENERATED
from . import device_headers
from .nvrtc_discovery import REMEDY, Nvrtc, bindings, find, reason
from .nvrtc_log import read_log

__all__ = ["Compiled", "Output", "compile", "flags"]

Output = Literal["ptx", "ltoir", "cubin"]

#: What ``-minimal`` leaves out; a third of a small cell's time goes into declaring it.
_MORE_THAN_MINIMAL = r"\bcuda[A-Z]\w*|\btex|\bsurf|<<<|#[ \t]*include|\bCUDA_VERSION|\b(?:CU|NV)[A-Z]?\w*"


@dataclass(frozen=True)
class Compiled:
    """What NVRTC made: the bytes of ``output``, and its warnings on the cell's lines."""

    code: bytes = field(repr=False)
    output: Output
    architecture: str
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def text(self) -> str:
        """PTX as text."""
        return self.code.rstrip(b"\0").decode(errors="replace")


def flags(options: Mapping[str, Any]) -> tuple[str, ...]:
    """NVRTC's options for those of a cell.

    Parameters
    ----------
    options : mapping
        Of the words of `ufunc_magic.model.options.Options`: ``fast_math``, ``include``, ``compile_args``.

    Notes
    -----
    Of ``compile_args`` what both compilers understand goes to NVRTC: ``-D``, ``-U``, ``-I``, ``-std=``; and what
    only NVRTC does, two dashes first: ``--maxrregcount=32``.
    """
    made = ["--use_fast_math"] if options.get("fast_math") else []
    if options.get("strict"):
        made.append("--fmad=false")
    made += [f"-I{folder}" for folder in options.get("include", ())]
    known = r"-[DUI]\S|-std=c\+\+|--(?:use_fast_math|fmad|ftz|prec-|maxrregcount|extra-device-vec|diag-|device-as)"
    return (*made, *(word for word in options.get("compile_args", ()) if re.match(known, word)))


def compile(
    source: str,
    *,
    name: str,
    cell: str = "",
    output: Output = "ptx",
    arch: str = "compute_75",
    options: Sequence[str] = (),
    nvrtc: Nvrtc | None = None,
) -> Compiled:
    """Compile CUDA C++; needs no driver.

    Parameters
    ----------
    source : str
        The whole translation unit, with a ``#line`` of ``name`` before the cell; or the cell alone.  What nvcc
        includes by itself (``M_PI``, ``int64_t``, ``fmax(x, 0)`` of a float) is there without an include.
    name, cell : str
        The cell's name and text, for diagnostics; ``source`` if omitted.
    output : {"ptx", "ltoir", "cubin"}
        Device functions are kept in all of them, as for separate compilation.
    arch : str
        ``"compute_75"``, ``"sm_90"``; see `architecture`.
    options : sequence of str
        Further options of NVRTC's, which win over those given here.
    nvrtc : Nvrtc
        What `find` has returned.

    Returns
    -------
    Compiled

    Raises
    ------
    CompileError
        With diagnostics on the cell's lines.
    ToolchainError
        If NVRTC is not installed, or fails by itself.
    """
    nvrtc = nvrtc or find()
    if nvrtc is None:
        raise ToolchainError(reason().partition(": pip")[0] + ".", remedy=f"Install it: {REMEDY}")
    words = _options(source, output, arch, options, nvrtc)
    before = device_headers.prelude(source)
    provided = device_headers.provided() if before or device_headers.includes(source) else {}
    if not cell or source == cell:
        before += f"#line 1 {c_string(name)}\n"
    status, log, code = _run(before + source, words, provided, output)
    nvrtc_result = bindings().nvrtcResult
    found = read_log(log, name=name, cell=cell or source)
    if status == nvrtc_result.NVRTC_SUCCESS:
        return Compiled(code, output, arch, found)
    if "--gpu-architecture" in log:
        known = ", ".join(f"sm_{a}" for a in nvrtc.architectures)
        raise ToolchainError(f"{arch!r} is nothing that {nvrtc} compiles for.", remedy=f"It knows {known}.")
    if status in (nvrtc_result.NVRTC_ERROR_COMPILATION, nvrtc_result.NVRTC_ERROR_INVALID_OPTION):
        errors = sum(d.severity == "error" for d in found)
        count = "1 error" if errors == 1 else f"{errors or 'some'} errors"
        told = found if errors else (*found, Diagnostic("error", log.strip() or status.name))
        raise CompileError(f"{name} does not compile for the GPU: {count}.", diagnostics=told, output=log)
    fault = f"{nvrtc} failed on {name}: {status.name}. {log.strip()[-500:]}"
    raise ToolchainError(fault.rstrip(), remedy="Simplify the cell.")


def _options(source: str, output: Output, arch: str, options: Sequence[str], nvrtc: Nvrtc) -> list[str]:
    words = [f"-arch={arch}"]
    if not any(word.startswith(("-std", "--std")) for word in options):
        words.append("-std=c++17")
    if output == "ltoir":
        words.append("-dlto")
    elif not any("rdc" in word or "relocatable" in word for word in options):
        words.append("-rdc=true")
    if nvrtc.version >= (13, 0) and not re.search(_MORE_THAN_MINIMAL, device_headers.without_provided(source)):
        words.append("-minimal")
    if "__int128" in source:
        words.append("--device-int128")
    words += options
    return words + device_headers.folders(nvrtc) if device_headers.includes(source) else words


def _run(source: str, options: Sequence[str], provided: Mapping[str, str], output: Output) -> tuple[Any, str, bytes]:
    """Create a program, compile it and read what it holds; it is destroyed whatever happens."""
    library = bindings()
    # A NUL would end the text without a word.
    text = source.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace")
    bodies, names = [v.encode() for v in provided.values()], [k.encode() for k in provided]
    status, program = library.nvrtcCreateProgram(text, GENERATED.encode(), len(names), bodies, names)
    if status:
        return status, "", b""
    try:
        (status,) = library.nvrtcCompileProgram(program, len(options), [o.encode(errors="replace") for o in options])
        log = _read(program, library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog)
        code = b""
        if not status:
            word = {"ptx": "PTX", "ltoir": "LTOIR", "cubin": "CUBIN"}[output]
            code = _read(program, getattr(library, f"nvrtcGet{word}Size"), getattr(library, f"nvrtcGet{word}"))
        return status, log.rstrip(b"\0").decode(errors="replace"), code
    finally:
        library.nvrtcDestroyProgram(program)


def _read(program: Any, size_of: Any, get: Any) -> bytes:
    status, size = size_of(program)
    if status or not size:
        return b""
    # The binding writes into the bytes it is given.  Python keeps one object for all bytes of length 1.
    filled = bytes(max(size, 2))
    get(program, filled)
    return filled[:size]
