"""What the emulation on the CPU does not have: inline PTX, lanes beside one's own, textures; found by line."""

from __future__ import annotations

import re

from ...model import CompileError, Diagnostic
from ...toolchain import source_line
from .. import c

__all__ = ["find", "refuse"]

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


def find(source: str, *, name: str) -> tuple[Diagnostic, ...]:
    """What the emulation refuses in a cell, by line; code that ``#if`` leaves out and comments do not count."""
    if not _QUICK.search(source.encode(errors="replace")):
        return ()
    text = c.read(source, cplus=True)
    code = _STRING.sub(lambda m: b" " * len(m[0]), text.code)
    found: list[tuple[int, str, str]] = []
    for pattern, what, remedy in _WORDS:
        found += [(m.start(), what.format(m[0].decode(errors="replace")), remedy) for m in re.finditer(pattern, code)]
    for header in _HEADERS.keys() & set(text.includes):
        found.append((text.raw.find(header.encode()), *_HEADERS[header]))
    seen: dict[str, Diagnostic] = {}
    for at, message, remedy in sorted(found):
        # Once of each: a cell of shuffles would say the same on every line.
        seen.setdefault(message, _diagnostic(text.raw, at, message, remedy, name))
    return tuple(seen.values())


def _diagnostic(raw: bytes, at: int, message: str, remedy: str, name: str) -> Diagnostic:
    start = raw.rfind(b"\n", 0, at) + 1
    line = raw[start:].split(b"\n", 1)[0].decode(errors="replace")
    shown, column = source_line(line, len(raw[start:at].decode(errors="replace")) + 1)
    return Diagnostic("error", message, name, raw.count(b"\n", 0, at) + 1, column, "", shown, remedy)


def refuse(found: tuple[Diagnostic, ...], *, name: str) -> CompileError:
    """The error of a cell that cannot be emulated, where that is all there is."""
    return CompileError(
        f"{name} cannot be emulated on the CPU.", diagnostics=found, remedy="Run it where there is a GPU."
    )
