"""What the emulation on the CPU does not have, by line, and what the host's compiler says of a cell in CUDA's words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...model import CompileError, Diagnostic
from ...toolchain import source_line
from ...toolchain.nvrtc import advise
from .. import c

_GROUPS = ("cooperative groups need a GPU", "Use __syncthreads(), which the emulation has.")
_TENSORS = ("tensor cores need a GPU", "Write the product as a loop.")

#: What is looked for in the code, what it is called, and what to do instead.
_WORDS: tuple[tuple[bytes, str, str], ...] = (
    (
        rb"\b(?:asm|__asm__|__asm)\b(?=\s*(?:volatile\b|__volatile__\b)?\s*\()",
        "inline PTX is for the GPU alone",
        "Put it between #ifdef __CUDA_ARCH__ and #else, and C++ for the CPU after it.",
    ),
    (
        rb"\b__(?:shfl|match|reduce)_\w+|\b__shfl\b|\b__(?:ballot|all|any)(?:_sync)?\b(?=\s*\()",
        "{} looks at the other lanes of a warp, and the emulation has one",
        "Exchange values through __shared__ memory and __syncthreads().",
    ),
    (
        rb"\btex(?:[123]D|Cubemap)\w*|\bcudaTextureObject_t\b|\btexture(?=\s*<)",
        "{}: textures need a GPU",
        "Read through a pointer, and interpolate in the cell.",
    ),
    (
        rb"\bsurf(?:[123]D|Cubemap)\w*|\bcudaSurfaceObject_t\b|\bsurface(?=\s*<)",
        "{}: surfaces need a GPU",
        "Write through a pointer.",
    ),
    (rb"\bcooperative_groups\b", *_GROUPS),
    (rb"\b(?:nvcuda|wmma)\s*::", *_TENSORS),
    (
        rb"<<<",
        "a kernel launched by device code (dynamic parallelism) needs a GPU",
        "Launch it from Python: kernel[grid, block](arguments).",
    ),
)
_HEADERS = {"<cooperative_groups.h>": _GROUPS, "<mma.h>": _TENSORS}
_STRING = re.compile(rb'"(?:[^"\\\n]|\\.)*"')
_QUICK = re.compile(b"|".join([b"cooperative_groups", b"mma", *(pattern for pattern, _, _ in _WORDS)]))


def refusals(source: str, *, name: str) -> tuple[Diagnostic, ...]:
    """What the emulation refuses in a cell, by line; code that ``#if`` leaves out and comments do not count."""
    if not _QUICK.search(source.encode(errors="replace")):
        return ()
    text = c.read(source, cplus=True)
    code = _STRING.sub(lambda m: b" " * len(m[0]), text.code)
    places: list[tuple[int, str, str]] = []
    for pattern, what, remedy in _WORDS:
        places += [(m.start(), what.format(m[0].decode(errors="replace")), remedy) for m in re.finditer(pattern, code)]
    for header in _HEADERS.keys() & set(text.includes):
        places.append((text.raw.find(header.encode()), *_HEADERS[header]))
    result: dict[str, Diagnostic] = {}
    for at, message, remedy in sorted(places):
        # Once of each: a cell of shuffles would say the same on every line.
        result.setdefault(message, _diagnostic(text.raw, at, message, remedy, name))
    return tuple(result.values())


def _diagnostic(raw: bytes, at: int, message: str, remedy: str, name: str) -> Diagnostic:
    start = raw.rfind(b"\n", 0, at) + 1
    line = raw[start:].split(b"\n", 1)[0].decode(errors="replace")
    shown, column = source_line(line, len(raw[start:at].decode(errors="replace")) + 1)
    return Diagnostic("error", message, name, raw.count(b"\n", 0, at) + 1, column, "", shown, remedy)


def cannot_be_emulated(diagnostics: tuple[Diagnostic, ...], *, name: str) -> CompileError:
    """The error of a cell that cannot be emulated, where that is all there is."""
    return CompileError(
        f"{name} cannot be emulated on the CPU.", diagnostics=diagnostics, remedy="Run it where there is a GPU."
    )


# ----------------------------------------------------------------------------- the compiler's words


_TEMPLATES = str(Path(__file__).parents[2] / "templates")
_UNKNOWN = (
    r"'(?P<name>\w+)' (?:was not declared|does not name a type|has not been declared)|"
    r"(?:use of undeclared identifier|unknown type name) '(?P<clang>\w+)'"
)
_NO_FILE = r"(?:fatal error: )?'?(?P<file>[\w./+-]+)'?:? (?:No such file or directory|file not found)"
#: ``int __activemask(A ...) [with A = {}]``: the shim's declaration of what it refuses.
_REFUSED = r"'(?:[^'(]*?\s)?(?P<name>\w+)\([^']*' is unavailable: (?P<why>.*)"
_LIBRARIES = r"(?P<library>cub|thrust|cooperative_groups|mma|nvcuda|cutlass|cute)\b"


def improved(fault: CompileError) -> CompileError:
    """The same error with each diagnostic said once and its remedy for device code."""
    diagnostics = list(dict.fromkeys(_improved(d) for d in fault.diagnostics if not d.file.startswith(_TEMPLATES)))
    errors = sum(d.severity == "error" for d in diagnostics)
    head = re.sub(r"\d+ errors?\.$", f"{errors} error{'s' * (errors != 1)}.", fault.message)
    return type(fault)(head, remedy=fault.remedy, diagnostics=_once(diagnostics), output=fault.output)


def _once(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Without what g++ says of a refused function a second time, at the parenthesis behind it."""
    result: dict[object, Diagnostic] = {}
    for d in diagnostics:
        refused = d.severity == "error" and "is unavailable" in d.message
        result.setdefault((d.message, d.file, d.line) if refused else d, d)
    return list(result.values())


def _improved(d: Diagnostic) -> Diagnostic:
    if match := re.match(_REFUSED, d.message):
        return replace(d, message=f"{match['name']} is unavailable: {match['why']}")
    if d.severity != "error":
        return d
    if match := re.search(_NO_FILE, d.message):
        return replace(d, hint=_no_file(match["file"]) or d.hint)
    if match := re.search(r"'(\w+)' is not a member of 'std'|no member named '(\w+)' in namespace 'std'", d.message):
        return replace(d, hint=advise(f'namespace "std" has no member "{match[1] or match[2]}"') or d.hint)
    if match := re.search(_UNKNOWN, d.message):
        name = match["name"] or match["clang"]
        if (library := re.match(_LIBRARIES, name)) and library[0] == name:
            return replace(d, hint=_for_gpus(name))
        if name == "cuda":
            return replace(d, hint="Add the include that it needs at the top of the cell, such as <cuda/std/cmath>.")
        hint = advise(f'identifier "{name}" is undefined', d.text)
        if re.match(r"cu[A-Z]|cuda[A-Z]|curand", name):  # what C has of a like name is no help
            return replace(d, message=d.message.partition("; did you mean")[0], hint=hint)
        return replace(d, hint="" if "did you mean" in d.message else hint or d.hint)
    return d


def _no_file(name: str) -> str:
    if match := re.match(_LIBRARIES, name):
        return _for_gpus(match["library"])
    return advise(f'could not open source file "{name}"')


def _for_gpus(library: str) -> str:
    return f"{library} is for GPUs alone, and the emulation on the CPU has none of it: write the loop in the cell."
