"""Features that the emulation on the CPU lacks, by line, and the host compiler's messages in CUDA's words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from ...compilers import count_errors, find_missing_file, find_unknown_name, show_source_line
from ...model import CompileError, Diagnostic, mark_line
from .. import c
from . import cuda_names, cuda_text
from .nvrtc import advise

_TEMPLATES = str(Path(__file__).parent / "templates")
_TENSORS = ("tensor cores need a GPU", "Write the product as a loop.")
_CCCL = ("cub and Thrust are for the GPU alone", "cooperative_groups::reduce and loops are emulated.")
_PTX = (
    "inline PTX is for the GPU alone",
    "Put it between #ifdef __CUDA_ARCH__ and #else, and C++ for the CPU after it.",
)
_IMAGES = (
    "{}: textures and surfaces need a GPU",
    "Read and write through a pointer, and interpolate in the cell.",
)
_CLUSTERS = ("{} needs a GPU", "The emulation has blocks, grids, tiles and coalesced groups, and plain copies.")
_LAUNCH = (
    "a kernel launched by device code (dynamic parallelism) needs a GPU",
    "Launch it from Python: kernel[grid, block](arguments).",
)
#: Words, and beginnings of words, with what is said of them and a remedy.
_WORDS = {
    **dict.fromkeys("this_cluster cluster_group multi_grid this_multi_grid".split(), _CLUSTERS),
    **dict.fromkeys("multi_grid_group this_multi_grid_group memcpy_async".split(), _CLUSTERS),
    **dict.fromkeys("load_matrix_sync store_matrix_sync mma_sync fill_fragment nvcuda".split(), _TENSORS),
    **dict.fromkeys(("cudaTextureObject_t", "cudaSurfaceObject_t"), _IMAGES),
}
_LOOPS = frozenset(("while_statement", "do_statement", "for_statement"))
_NAMESPACES = {"wmma": _TENSORS, "cub": _CCCL, "thrust": _CCCL}
_FETCHES = tuple(f"{word}{kind}" for word in ("tex", "surf") for kind in ("1D", "2D", "3D", "Cubemap"))


def find_refusals(source: str, *, name: str) -> tuple[Diagnostic, ...]:
    """The parts of a cell that the emulation refuses; code that ``#if`` leaves out and comments do not count."""
    if not any(word in source for word in cuda_names.GPU_ONLY):
        return ()
    text, tree = cuda_text.read(source), cuda_text.parse_cell(source)[1]
    places = [(at, *why) for node in c.walk(tree.root) for at, why in _explain_node(node)]
    places += [(text.raw.find(header.encode()), *why) for header in text.includes for why in _explain_header(header)]
    places += [(at, *_LOCKSTEP) for at in _find_warp_synchronous(tree, "volatile")]
    return tuple(_make_diagnostic(text.raw, at, message, remedy, name) for at, message, remedy in sorted(places))


def _explain_node(node: c.Node) -> Iterator[tuple[int, tuple[str, str]]]:
    """A part of CUDA at a node that the emulation lacks: its place, a message and a remedy."""
    if node.type == "gnu_asm_expression":
        yield node.start_byte, _PTX
    elif node.type == "kernel_call_syntax":
        yield node.start_byte, _LAUNCH
    elif not node.named_children:
        word, parent = c.take_text(node), node.parent.type if node.parent is not None else ""
        message, remedy = _WORDS.get(word, ("", ""))
        if node.type == "namespace_identifier" and word in _NAMESPACES:
            message, remedy = _NAMESPACES[word]
        elif word.startswith(_FETCHES) or (word in ("texture", "surface") and parent == "template_type"):
            message, remedy = _IMAGES
        if message:
            yield node.start_byte, (message.format(word), remedy)


def _explain_header(header: str) -> list[tuple[str, str]]:
    """Why a header cannot be included: its message and remedy."""
    name = header[1:-1]
    ours = (Path(_TEMPLATES) / "cuda" / name).exists()
    needs_gpu = name.startswith(("cuda/", "cuda_fp", "cuda_pipeline", "cuda_awbarrier")) and not ours
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
    tree = cuda_text.parse_cell(source)[1]
    lines = [tree.code.count(b"\n", 0, at) + 1 for at in _find_warp_synchronous(tree, "__shared__")]
    return [f"line {mark_line(line)}: {_LOCKSTEP[0]}. {_LOCKSTEP[1]}" for line in lines[:1]]


def _find_warp_synchronous(tree: c.CText, kind: str) -> list[int]:
    """Where an array of a kind is updated from other lanes' elements, ``s[t] += s[t + 32]``, again and no barrier
    between: in the next such line or, if it is ``volatile``, in a loop around."""
    names = {"volatile": set[str](), "__shared__": set[str]()}
    updates = list[tuple[c.Node, str]]()
    for node in c.walk(tree.root):
        if node.type in ("declaration", "parameter_declaration"):
            declared = (
                {d.name for d, _ in c.read_declarations(node)} if node.child_by_field_name("declarator") else set()
            )
            for word in {c.take_text(child) for child in node.children} & names.keys():
                names[word] |= declared
        elif node.type == "assignment_expression" and (name := _find_updated(node)):
            updates.append((node, name))
    chosen = names[kind] - (names["volatile"] if kind != "volatile" else set())
    mine = [node for node, name in updates if name in chosen]
    places = []
    for node, after in zip_longest(mine, mine[1:]):
        around = {one.type: one for one in c.walk_up(node)}
        function = around.get("function_definition")
        follows = after is not None and any(one == function for one in c.walk_up(after))
        looped = kind == "volatile" and bool(around.keys() & _LOOPS)
        start = max(tree.code.rfind(mark, 0, node.start_byte) for mark in (b";", b"}")) + 1
        end = after.start_byte if after is not None and follows else tree.code.find(b"}", node.end_byte)
        if b"__sync" not in tree.code[start:end] and (follows or looped):
            places.append(node.start_byte)
    return places


def _find_updated(node: c.Node) -> str:
    """The array of which an element is assigned and the right side reads another one, at a distance."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or left.type != "subscript_expression":
        return ""
    name, at = (c.take_text(one) for one in left.named_children[:2])
    at = at.strip("[]").strip()
    reads = (one.named_children[:2] for one in c.walk(right) if one.type == "subscript_expression")
    indices = (c.take_text(index).strip("[]").strip() for array, index in reads if c.take_text(array) == name)
    return (
        name
        if any(index.startswith(at) and index[len(at) :].lstrip()[:1] in "+-" for index in indices if index != at)
        else ""
    )


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
