"""A CUDA cell's text without refused functions, and with what the emulation adds.

Lines stay as they are; columns too, except after added text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...model import CompileError, Diagnostic
from .. import c
from . import cuda_text
from .cuda_diagnostics import keep_one_each
from .cuda_passes import Part, blank, read_parts

#: Bytes of static shared memory that every GPU has for a block.
_MOST_SHARED = 49152
#: Words of cells whose blocks may wait for each other, and of memory that a loop may wait for without an atomic.
_WAITS = re.compile(r"\b(?:this_grid|grid_group|volatile|(?:cuda::)?atomic\w*)\b")
_VOLATILE = re.compile(r"\b(?:volatile|__ld(?:cg|cv))\b")
#: What a loop may do that only looks.
_LOOKS = frozenset("__threadfence __threadfence_block __threadfence_system __nanosleep __ldcg __ldcv".split())
_LOOPS = frozenset(("while_statement", "do_statement", "for_statement"))


# ----------------------------------------------------------------------------- refused functions


def blank_refused(source: str, diagnostics: Sequence[Diagnostic], *, name: str) -> tuple[str, dict[str, Diagnostic]]:
    """The cell with spaces for the functions that ``diagnostics`` are in, and for those that call them.

    Raises
    ------
    CompileError
        With the diagnostics, where nothing is left, or one is outside of any function.
    """
    text, parts = read_parts(source)
    refused: dict[str, Diagnostic] = {}
    gone: list[Part] = []
    lines: list[int] = []
    outside = False
    for diagnostic in diagnostics:
        start, end = text.start_of_line(diagnostic.line), text.start_of_line(diagnostic.line + 1)
        part = next((p for p in parts if p.span[0] < end and start < p.span[1]), None)
        if part is not None and part.function:
            refused |= {name: diagnostic for name in part.names if name not in refused}
        elif part is not None and part.kind != "statement":
            users = [p for p in parts if p.function and p.uses & part.names]
            refused |= {name: diagnostic for p in users for name in p.names if name not in refused}
            gone.append(part)
        elif text.raw[start:end].lstrip().startswith(b"#"):
            lines.append(diagnostic.line)
            # <cuda/barrier> has cuda::barrier, <cuda_fp8.h> __nv_fp8_e4m3.
            stem = diagnostic.text.partition("<")[2].partition(">")[0].rpartition("/")[2]
            stem = stem.removeprefix("cuda_").removesuffix(".h")
            users = [p for p in parts if p.function and any(stem in word for word in p.uses)] if stem else []
            refused |= {name: diagnostic for p in users for name in p.names if name not in refused}
        else:
            outside = True
    functions = {name: p for p in parts if p.function and p.kind == "device" for name in p.names}
    while more := {name: p for name, p in functions.items() if name not in refused and p.uses & refused.keys()}:
        for name, part in more.items():
            callee = min(part.uses & refused.keys())
            because = refused[callee]
            refused[name] = replace(because, message=f"{name} calls {callee}: {because.message}")
    if outside or refused.keys() >= functions.keys():
        message, remedy = f"{name} cannot be emulated on the CPU.", "Run it where there is a GPU."
        raise CompileError(message, diagnostics=keep_one_each(diagnostics), remedy=remedy)
    raw = bytearray(text.raw)
    for part in [p for p in parts if p.function and p.names & refused.keys()] + gone:
        blank(raw, text, part.span)
    for line in lines:
        blank(raw, text, (text.start_of_line(line), text.start_of_line(line + 1)))
    return raw.decode(), refused


# --------------------------------------------------------------------------------- shared memory


def declare_shared_memory(source: str, *, checked: bool = False) -> tuple[str, Sequence[str]]:
    """The cell as the host compiles it, and its ``extern __shared__`` arrays; see ``templates/cuda_words.h``.

    After the declaration of each other array follows, on its line, that a block has room for those in sight and, where
    blocks may wait for each other, that each has its own. Loops that may wait for ``volatile`` memory let others go on.
    With ``checked`` the name is that of a reference, so that each access is seen (``templates/cuda_checked.h``).
    """
    has_volatile = bool(_VOLATILE.search(source))
    if "__shared__" not in source and not has_volatile:
        return source, ()
    _, tree = cuda_text.parse_cell(source)
    edits: list[tuple[int, int, str]] = []
    dynamic: dict[str, None] = {}
    in_sight: dict[int, list[str]] = {}
    waits = _WAITS.search(tree.code.decode(errors="replace"))
    for node in c.walk(tree.root):
        if has_volatile and node.type in _LOOPS:
            edits += _add_poll(node)
        words = {c.take_text(n): n for n in node.children} if node.type == "declaration" else {}
        if (shared := words.get("__shared__")) is None:
            continue
        names = [declared.name for declared, _ in c.read_declarations(node)]
        if "extern" in words:
            dynamic |= dict.fromkeys(names)
            edits.append((*shared.byte_range, "__dynshm__"))
            continue
        if "static" in words:
            edits.append((*words["static"].byte_range, ""))
        blocks = [above.id for above in c.walk_up(node) if above.type == "compound_statement"]
        if blocks:
            in_sight.setdefault(blocks[0], []).extend(names)
            sizes = " + ".join(f"sizeof({name})" for block in reversed(blocks) for name in in_sight.get(block, ()))
            message = f"a block has {_MOST_SHARED} bytes of __shared__ memory"
            more = f'static_assert({sizes} <= {_MOST_SHARED}, "{message}");'
            if waits:
                more += "".join(f"__ufm_shared_object(&{name}, sizeof {name});" for name in names)
            for name in names if checked else ():
                place = next(n for n in c.walk(node) if n.type == "identifier" and c.take_text(n) == name)
                edits.append((place.start_byte, place.start_byte, "__ufm_own_"))
                more = f"auto &{name} = __ufm_hide(__ufm_own_{name});{more}"
            edits.append((node.end_byte, node.end_byte, more))
    raw = cuda_text.read(source).raw
    pieces, end = list[bytes](), 0
    for start, stop, word in sorted(edits):
        pieces += [raw[end:start], word.encode()]
        end = stop
    return b"".join([*pieces, raw[end:]]).decode(), tuple(dynamic)


def _add_poll(loop: c.Node) -> list[tuple[int, int, str]]:
    """Edits by which each round of a loop that does not count lets other threads go on."""
    body = loop.child_by_field_name("body")
    counts = loop.child_by_field_name("update") is not None and body is not None and len(c.take_text(body)) > 1
    nodes = list(c.walk(loop))
    called = (n.child_by_field_name("function") for n in nodes if n.type == "call_expression")
    calls = {c.take_text(name) for name in called if name is not None}
    if body is None or counts or any("atomic" in name for name in calls):
        return []
    acts = any(n.type in ("assignment_expression", "update_expression", "declaration") for n in nodes)
    pure = not acts and calls <= _LOOKS
    return [
        (body.start_byte, body.start_byte, f"{{__ufm_poll({str(pure).lower()});"),
        (body.end_byte, body.end_byte, "}"),
    ]
