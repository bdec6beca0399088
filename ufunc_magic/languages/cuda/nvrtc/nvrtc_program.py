"""Compilations by NVRTC: one of a unit, its result found again in the cache, and what it knows of a cell's types.

NVRTC is called through ``cuda.bindings.nvrtc``: ``cuda.core.Program`` (1.2) takes no headers in memory, which device
code needs for ``<cmath>`` and ``<cstdint>``, and asks a driver before it makes PTX, from which types are read here.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .... import store
from ....compilers import GENERATED, count_errors
from ....model import CompileError, Diagnostic, SignatureError, ToolchainError
from . import device_headers
from .entry_symbols import read_c_symbol
from .nvrtc_discovery import REMEDY, Nvrtc, choose_architecture, explain_absence, find, identify_nvrtc, import_bindings
from .nvrtc_log import read_log

Output = Literal["ptx", "ltoir", "cubin"]

#: ``__UFM_TYPE(T)`` in an expression: NumPy's type number of T, 255 where it has none.
TYPE_MACRO = "__UFM_TYPE"
#: Options of NVRTC that other compilers do not know; an architecture would mean something else to them.
_ITS_OWN = r"--(?:use_fast_math|fmad|ftz|prec-|maxrregcount|extra-device-vec|diag-|device-as)"
ARCHITECTURE = r"-{1,2}(?:arch|gpu-architecture)=(?:sm|compute)_(\d+)"
_TABLE = r"\.global \.align \d+ \.b8 __ufm_types\[(?P<size>\d+)\](?: = \{(?P<bytes>[^}]*)\})?;"

#: NVRTC's messages about the host's entities; ``-default-device`` silences them.
_HOST_FUNCTION = "A function without execution space annotations"
_HOST_VARIABLE = "A namespace scope variable without memory space annotations"
#: Declarations that ``-minimal`` leaves out; a third of a small cell's time goes into declaring it.
_MORE_THAN_MINIMAL = r"\bcuda[A-Z]\w*|\btex|\bsurf|<<<|#[ \t]*include|\bCUDA_VERSION|\b(?:CU|NV)[A-Z]?\w*"


@dataclass(frozen=True)
class Compiled:
    """The bytes of ``output``, its warnings on the cell's lines, and the symbols of ``entries``."""

    code: bytes = field(repr=False)
    output: Output
    architecture: str
    diagnostics: tuple[Diagnostic, ...] = ()
    symbols: tuple[str, ...] = ()
    log: str = field(default="", repr=False)

    @property
    def text(self) -> str:
        """PTX as text."""
        return self.code.rstrip(b"\0").decode(errors="replace")


def list_nvrtc_flags(options: Mapping[str, Any]) -> tuple[str, ...]:
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
    words = ["--use_fast_math"] * bool(options.get("fast_math")) + ["--fmad=false"] * bool(options.get("strict"))
    words += [f"-I{folder}" for folder in options.get("include", ())]
    known = rf"-[DUI]\S|-std=c\+\+|{_ITS_OWN}"
    return (*words, *(word for word in options.get("compile_args", ()) if re.match(known, word)))


def is_host(word: str) -> bool:
    """Whether a compiler argument goes to the host's compiler: it is none of NVRTC's own, and names no GPU."""
    return not re.match(rf"{_ITS_OWN}|{ARCHITECTURE}", word)


def write_line_directive(name: str) -> str:
    """The ``#line`` before a cell: what follows is the first line of ``name``."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'#line 1 "{quoted}"\n'


def compile(
    source: str,
    *,
    name: str,
    cell: str = "",
    output: Output = "ptx",
    arch: str = "compute_75",
    options: Sequence[str] = (),
    entries: Sequence[str] = (),
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
        ``"compute_75"``, ``"sm_90"``; see `choose_architecture`.
    options : sequence of str
        Further options of NVRTC's, which win over those given here.
    entries : sequence of str
        Addresses of kernels as expressions, ``"ns::scale<float>"``: a template is then instantiated; or
        ``'extern "C" k'``, whose symbol is known.

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
    nvrtc = find()
    if nvrtc is None:
        raise ToolchainError(explain_absence().partition(": pip")[0] + ".", remedy=f"Install it: {REMEDY}")
    words = _list_options(source, output, arch, options, nvrtc)
    before = device_headers.write_prelude(source)
    provided = device_headers.list_provided() if before or device_headers.may_include(source) else {}
    if not cell or source == cell:
        before += write_line_directive(name)
    status, log, code, symbols = _run(before + source, words, provided, output, entries)
    if _HOST_FUNCTION in log and _HOST_VARIABLE not in log:
        # nvcc takes classes some of whose functions are for the host alone.
        status, log, code, symbols = _run(before + source, [*words, "-default-device"], provided, output, entries)
    nvrtc_result = import_bindings().nvrtcResult
    diagnostics = read_log(log, name=name, cell=cell or source)
    if status == nvrtc_result.NVRTC_SUCCESS:
        return Compiled(code, output, arch, diagnostics, symbols, log)
    if any(d.severity == "error" and not d.file for d in diagnostics):
        # The assembler and the linker know lines of PTX alone, which it has for a virtual architecture.
        words.append("-lineinfo")
        log = _run(before + source, words, provided, output, entries)[1] or log
        words[0] = f"-arch={arch.replace('sm_', 'compute_')}"
        ptx = _run(before + source, words, provided, "ptx", entries)[2].rstrip(b"\0").decode(errors="replace")
        diagnostics = read_log(log, name=name, cell=cell or source, ptx=ptx)
    if "--gpu-architecture" in log:
        known = ", ".join(f"sm_{a}" for a in nvrtc.architectures)
        raise ToolchainError(f"{nvrtc} cannot compile for {arch!r}.", remedy=f"It supports {known}.")
    if status in (nvrtc_result.NVRTC_ERROR_COMPILATION, nvrtc_result.NVRTC_ERROR_INVALID_OPTION):
        if not any(d.severity == "error" for d in diagnostics):
            diagnostics = (*diagnostics, Diagnostic("error", log.strip() or status.name))
        what = f"{name} does not compile for the GPU: {count_errors(diagnostics)}."
        raise CompileError(what, diagnostics=diagnostics, output=log)
    fault = f"{nvrtc} failed on {name}: {status.name}. {log.strip()[-500:]}"
    raise ToolchainError(fault.rstrip(), remedy="Simplify the cell.")


def _list_options(source: str, output: Output, arch: str, options: Sequence[str], nvrtc: Nvrtc) -> list[str]:
    words = [f"-arch={arch}"]
    if not any(word.startswith(("-std", "--std")) for word in options):
        words.append("-std=c++17")
    if output == "ltoir":
        words.append("-dlto")
    elif not any("rdc" in word or "relocatable" in word for word in options):
        words.append("-rdc=true")
    if nvrtc.version >= (13, 0) and not re.search(_MORE_THAN_MINIMAL, device_headers.drop_provided(source)):
        words.append("-minimal")
    if "__int128" in source:
        words.append("--device-int128")
    words += options
    return words + device_headers.list_folders(nvrtc, source) if device_headers.may_include(source) else words


def _run(
    source: str, options: Sequence[str], provided: Mapping[str, str], output: Output, entries: Sequence[str]
) -> tuple[Any, str, bytes, tuple[str, ...]]:
    """Create a program, compile it and read what it holds; it is destroyed whatever happens."""
    library = import_bindings()
    # A NUL would end the text without a word.
    text = source.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace")
    bodies, names = [v.encode() for v in provided.values()], [k.encode() for k in provided]
    status, program = library.nvrtcCreateProgram(text, GENERATED.encode(), len(names), bodies, names)
    if status:
        return status, "", b"", ()
    try:
        for entry in itertools.filterfalse(read_c_symbol, entries):
            library.nvrtcAddNameExpression(program, entry.encode())
        (status,) = library.nvrtcCompileProgram(program, len(options), [o.encode(errors="replace") for o in options])
        log = _read(program, library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog)
        code, symbols = b"", tuple[str, ...]()
        if not status:
            word = {"ptx": "PTX", "ltoir": "LTOIR", "cubin": "CUBIN"}[output]
            code = _read(program, getattr(library, f"nvrtcGet{word}Size"), getattr(library, f"nvrtcGet{word}"))
            symbols = tuple(
                read_c_symbol(entry) or library.nvrtcGetLoweredName(program, entry.encode())[1].decode()
                for entry in entries
            )
        return status, log.rstrip(b"\0").decode(errors="replace"), code, symbols
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


# ------------------------------------------------------------------------------------- the cache


def recall_or_make(kind: str, source: str, *, arch: str, options: Sequence[str], make: Callable[[], bytes]) -> bytes:
    """The bytes that ``make`` has made of ``source`` in any process, or makes now.

    Parameters
    ----------
    kind : str
        The kind of output, with a version.
    source, arch, options
        All that ``make`` depends on, but for headers and the compiler.
    """
    cache = store.open_default()
    key = store.make_key(
        [kind, identify_nvrtc(), arch, repr(tuple(options)), *device_headers.list_key_parts(source), source]
    )
    if hit := cache.find(key):
        return hit[0].code
    with cache.open_scratch() as folder:
        since = store.find_creation_time(folder)
        code = make()
    inputs = store.stamp_files(device_headers.find_device_files_read(source, options), since=since)
    return cache.publish_inputs(key, inputs, record=b"", code=code).code if inputs else code


def make_cubin(
    source: str, *, name: str, cell: str, arch: str, options: Mapping[str, Any], entries: Sequence[str]
) -> tuple[bytes, tuple[str, ...]]:
    """A unit of kernels as machine code, which the driver then loads, and the symbols of some of them.

    Parameters
    ----------
    source, name, cell, entries
        As for `compile`.
    arch : str
        ``"sm_90"``; of a device that is newer than NVRTC it becomes PTX, which the driver translates.
    options : mapping
        The cell's, as for `list_nvrtc_flags`.

    Raises
    ------
    CompileError, ToolchainError
        As `compile`.
    """
    nvrtc = find()
    if nvrtc is not None and arch.startswith("sm_"):
        arch = choose_architecture(nvrtc, divmod(int(arch.removeprefix("sm_")), 10))
    words = ("-rdc=false", *list_nvrtc_flags(options))
    output: Output = "cubin" if arch.startswith("sm_") else "ptx"

    def make() -> bytes:
        compiled = compile(source, name=name, cell=cell, output=output, arch=arch, options=words, entries=entries)
        return " ".join(compiled.symbols).encode() + b"\0" + compiled.code

    what = f"cubin 3 {' '.join(entries)}"
    symbols, _, code = recall_or_make(what, source, arch=arch, options=words, make=make).partition(b"\0")
    return code, tuple(symbols.decode().split())


# ------------------------------------------------------------------------------------- the types


def find_type_numbers(
    source: str,
    expressions: Sequence[str],
    *,
    name: str,
    cell: str = "",
    before: str = "",
    arch: str = "compute_75",
    options: Sequence[str] = (),
) -> tuple[int, ...]:
    """Numbers that the compiler works out, such as types of functions and parameters.

    They are read from the PTX of a table that is appended to the cell.

    Parameters
    ----------
    source, name, cell, arch, options
        As for `compile`.
    expressions : sequence of str
        Constant expressions of 0 to 2**32 - 1 after the cell: ``"__UFM_TYPE(decltype(f(1.0f)))"``,
        ``"sizeof(point)"``.
    before : str
        C++ between `TYPE_MACRO`'s definition and the table: templates of the caller's.

    Raises
    ------
    CompileError, ToolchainError
        As `compile`; the cell's device functions are checked whether anything uses them or not.
    """
    # The sentinel: PTX says nothing of a table of zeros.
    values = ", ".join([*(f"(unsigned int)({e})" for e in expressions), "1u"])
    table = f'extern "C" __device__ const unsigned int __ufm_types[] = {{{values}}};'
    placed = source if cell and cell != source else write_line_directive(name) + source
    unit = "\n".join([placed, '#line 1 "<ufunc_magic>"', device_headers.type_table(), before, table])
    words = ["-rdc=false", *options]
    ptx = compile(unit, name=name, cell=cell or source, arch=arch, options=words).text
    match = re.search(_TABLE, ptx)
    if not match or int(match["size"]) != 4 * len(expressions) + 4:
        raise SignatureError("The PTX contains no table of types.", remedy="Please report this with the cell.")
    data = bytes(int(word) for word in (match["bytes"] or "").split(",") if word.strip())
    return tuple(int.from_bytes(data[4 * n : 4 * n + 4], "little") for n in range(len(expressions)))
