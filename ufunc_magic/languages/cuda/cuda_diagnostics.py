"""Features that the emulation on the CPU lacks, by line, and the host compiler's messages in CUDA's words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from ...compilers import count_errors, find_missing_file, find_unknown_name, show_source_line
from ...model import CompileError, Diagnostic, mark_line
from . import cuda_text
from .nvrtc import advise

_TEMPLATES = str(Path(__file__).parent / "templates")
_TENSORS = ("tensor cores need a GPU", "Write the product as a loop.")
_CCCL = ("cub and Thrust are for the GPU alone", "cooperative_groups::reduce and loops are emulated.")

#: A pattern of code, its name, and a remedy.
_WORDS: tuple[tuple[bytes, str, str], ...] = (
    (
        rb"\b(?:asm|__asm__|__asm)\b(?=\s*(?:volatile\b|__volatile__\b)?\s*\()",
        "inline PTX is for the GPU alone",
        "Put it between #ifdef __CUDA_ARCH__ and #else, and C++ for the CPU after it.",
    ),
    (
        rb"\b(?:tex|surf)(?:[123]D|Cubemap)\w*|\bcuda(?:Texture|Surface)Object_t\b|\b(?:texture|surface)(?=\s*<)",
        "{}: textures and surfaces need a GPU",
        "Read and write through a pointer, and interpolate in the cell.",
    ),
    (
        rb"\bthis_cluster\b|\bcluster_group\b|\b(?:this_)?multi_grid(?:_group)?\b|\bmemcpy_async\b",
        "{} needs a GPU",
        "The emulation has blocks, grids, tiles and coalesced groups, and plain copies.",
    ),
    (
        rb"\b(?:nvcuda|wmma)\s*::|\bnamespace\s+nvcuda\b|\b(?:(?:load|store)_matrix|mma)_sync\b"
        rb"|\bfill_fragment\b",
        *_TENSORS,
    ),
    (rb"\b(?:cub|thrust)\s*::", *_CCCL),
    (
        rb"<<<",
        "a kernel launched by device code (dynamic parallelism) needs a GPU",
        "Launch it from Python: kernel[grid, block](arguments).",
    ),
)
_STRING = re.compile(rb'"(?:[^"\\\n]|\\.)*"')
_VOLATILE = re.compile(rb"\bvolatile\b[^;(){}=]*?[*&\s](\w+)\s*(?=[,)=;\[])")
_SHARED = re.compile(rb"\b__shared__\b[^;(){}=]*?\s(\w+)\s*\[")
_QUICK = re.compile(
    b"|".join([b"mma", b"cub|thrust", b"volatile", b"<cuda[/_]", *(pattern for pattern, _, _ in _WORDS)])
)


def find_refusals(source: str, *, name: str) -> tuple[Diagnostic, ...]:
    """The parts of a cell that the emulation refuses; code that ``#if`` leaves out and comments do not count."""
    if not _QUICK.search(source.encode(errors="replace")):
        return ()
    text = cuda_text.read(source)
    code = _STRING.sub(lambda m: b" " * len(m[0]), text.code)
    places: list[tuple[int, str, str]] = []
    for pattern, what, remedy in _WORDS:
        places += [(m.start(), what.format(m[0].decode(errors="replace")), remedy) for m in re.finditer(pattern, code)]
    places += [(text.raw.find(header.encode()), *why) for header in text.includes for why in _explain_header(header)]
    places += [(at, *_LOCKSTEP) for at in _find_warp_synchronous(code, {m[1] for m in _VOLATILE.finditer(code)})]
    return tuple(_make_diagnostic(text.raw, at, message, remedy, name) for at, message, remedy in sorted(places))


def _explain_header(header: str) -> list[tuple[str, str]]:
    """Why a header cannot be included: its message and remedy."""
    name = header[1:-1]
    ours = (Path(_TEMPLATES) / "cuda" / name).exists()
    needs_gpu = name.startswith(("cuda/", "cuda_fp")) and not ours
    remedy = "The emulation has <cuda/atomic> and the parts of <cuda/std/...> that C++17's library has."
    return (
        [_TENSORS] * (header == "<mma.h>")
        + [_CCCL] * header.startswith(("<cub/", "<thrust/"))
        + [(f"{header} is for the GPU alone", remedy)] * needs_gpu
    )


_LOCKSTEP = (
    "this counts on the lanes of a warp going in step, and the emulation runs one after the other",
    "Write __syncwarp() after each such line, as GPUs since 2017 need it too.",
)


def find_races(source: str) -> list[str]:
    """Notes on lines that are refused in ``volatile`` code, and that a GPU may reorder where it is not."""
    if "__shared__" not in source:
        return []
    code = cuda_text.read(source).code
    names = {m[1] for m in _SHARED.finditer(code)} - {m[1] for m in _VOLATILE.finditer(code)}
    lines = sorted({code.count(b"\n", 0, at) + 1 for at in _find_warp_synchronous(code, names, loops=False)})
    return [f"line {mark_line(line)}: {_LOCKSTEP[0]}. {_LOCKSTEP[1]}" for line in lines[:1]]


def _find_warp_synchronous(code: bytes, names: Iterable[bytes], *, loops: bool = True) -> list[int]:
    """Where one of the arrays is updated from other lanes' elements, ``s[t] += s[t + 32]``, again and no barrier
    between: in the next such line, or in a loop around."""
    places = []
    for name in names:
        update = rb"(?<![\w.])%b\s*\[([^\[\]]+)\]\s*[-+*|&^]?=[^;]*\b%b\s*\[\s*\1\s*[-+][^;]*;" % (name, name)
        updates = list(re.finditer(update, code))
        for one, after in zip_longest(updates, updates[1:]):
            before = code[max(code.rfind(b";", 0, one.start() - 1), code.rfind(b"}", 0, one.start())) + 1 : one.start()]
            following = code[one.end() : after.start() if after else code.find(b"}", one.end())]
            looped = (
                loops
                and not after
                and re.search(rb"\b(?:for|while|do)\b", code[max(0, one.start() - 200) : one.start()])
            )
            if b"__sync" not in before + following and (looped or (after and b"\n}" not in following)):
                places.append(one.start())
    return places


def keep_one_each(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """One of each message: a cell of shuffles would say the same on every line."""
    result: dict[str, Diagnostic] = {}
    for diagnostic in diagnostics:
        result.setdefault(diagnostic.message, diagnostic)
    return tuple(result.values())


def _make_diagnostic(raw: bytes, at: int, message: str, remedy: str, name: str) -> Diagnostic:
    start = raw.rfind(b"\n", 0, at) + 1
    line = raw[start:].split(b"\n", 1)[0].decode(errors="replace")
    shown, column = show_source_line(line, len(raw[start:at].decode(errors="replace")) + 1)
    return Diagnostic("error", message, name, raw.count(b"\n", 0, at) + 1, column, "", shown, remedy)


# ----------------------------------------------------------------------------- the compiler's words


#: ``int __activemask(A ...) [with A = {}]``: the shim's declaration of what it refuses.
_REFUSED = r"'(?:[^'(]*?\s)?(?P<name>\w+)\([^']*' is unavailable: (?P<why>.*)"
_STD = "Namespace std has it already, which is empty for NVRTC alone: put it between #ifdef __CUDACC_RTC__ and #endif."
_NOT_IN_STD = r"'(\w+)' is not a member of 'std'|no member named '(\w+)' in namespace 'std'"


def improve_error(fault: CompileError) -> CompileError:
    """The same error with each diagnostic said once a line and its remedy for device code."""
    # A header that includes NVIDIA's by its name is all there is to blame where that is not installed.
    outside = [d for d in fault.diagnostics if not d.file.startswith(_TEMPLATES)]
    own = [_improve(d) for d in (outside if any(d.severity == "error" for d in outside) else fault.diagnostics)]
    # g++ reports a refused function a second time, at the parenthesis after it.
    once = {(d.severity, d.message, d.file, d.line): d for d in reversed(own)}
    diagnostics = list(once.values())[::-1]
    head = re.sub(r"\d+ errors?\.$", f"{count_errors(diagnostics)}.", fault.message)
    return type(fault)(head, remedy=fault.remedy, diagnostics=diagnostics, output=fault.output)


def _improve(d: Diagnostic) -> Diagnostic:
    if match := re.match(_REFUSED, d.message):
        return replace(d, message=f"{match['name']} is unavailable: {match['why']}")
    if d.severity != "error":
        return d
    if re.search(r"redefinition of '[^']*\bstd::", d.message):
        return replace(d, hint=_STD)
    if header := find_missing_file(d.message):
        complaint = f'could not open source file "{header}"'
    elif match := re.search(_NOT_IN_STD, d.message):
        complaint = f'namespace "std" has no member "{match[1] or match[2]}"'
    elif name := find_unknown_name(d.message):
        complaint = f'identifier "{name}" is undefined'
    else:
        return d
    return replace(d, hint=advise(complaint, d.text) or d.hint)
