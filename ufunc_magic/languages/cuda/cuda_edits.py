"""A CUDA cell's text without the host's part or refused functions, and with what the emulation adds.

Lines stay as they are; columns too, except after added text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ...model import CompileError, Diagnostic, Function, Unit
from .. import c
from . import cuda_text
from .cuda_diagnostics import keep_one_each

#: Words of CUDA's runtime, and others that only the host has.
_RUNTIME = re.compile(r"\bcuda(?!Texture|Surface)[A-Z]\w*")
_OF_HOST = re.compile(rf"{_RUNTIME.pattern}|\bstd\s*::|<<<")
_ON_DEVICE = re.compile(r"\b__(?:device|global|constant|managed)__\b|\b(?:texture|surface)\s*<")
_CLASSES = frozenset(("class_specifier", "struct_specifier"))
#: File scope's statements that may declare what has a type of CUDA's runtime.
_STATEMENTS = frozenset("declaration type_definition alias_declaration using_declaration linkage_specification".split())
_BODIES = frozenset(("declaration_list", "field_declaration_list", "compound_statement"))
#: Bytes of static shared memory that every GPU has for a block.
_MOST_SHARED = 49152
#: Words of cells whose blocks may wait for each other, and of memory that a loop may wait for without an atomic.
_WAITS = re.compile(r"\b(?:this_grid|grid_group|volatile|(?:cuda::)?atomic\w*)\b")
_VOLATILE = re.compile(r"\b(?:volatile|__ld(?:cg|cv))\b")
#: What a loop may do that only looks.
_LOOKS = frozenset("__threadfence __threadfence_block __threadfence_system __nanosleep __ldcg __ldcv".split())
_LOOPS = frozenset(("while_statement", "do_statement", "for_statement"))
#: Lines outside of functions that are left out, with the functions that use the name that they declare.
_LEFT_OUT = re.compile(
    r"\s*(?:#\s*include|using\b|typedef\b[^;{]*;|namespace\s+\w+\s*=|(?:static\s+)?(?:texture|surface)\s*<[^;]*;)"
)


# ---------------------------------------------------------------------------------- the host's part


def list_host_functions(unit: Unit) -> list[Function]:
    """The functions that are neither ``__device__`` nor ``__global__``."""
    return [f for f in unit.functions if not f.qualifiers & {"__device__", "__global__"}]


def list_device_functions(unit: Unit) -> list[Function]:
    """The functions that are ``__device__`` or ``__global__``."""
    return [f for f in unit.functions if f.qualifiers & {"__device__", "__global__"}]


def find_called_host(unit: Unit) -> dict[str, str]:
    """Names that only functions of the host have and that device code calls, each with one that calls it."""
    device = list_device_functions(unit)
    names = {f.name for f in list_host_functions(unit)} - {f.name for f in device}
    return {called: f.name for f in device for called in sorted(f.body.calls & names)}


def blank_host(source: str, *, unit: Unit | None = None) -> str:
    """The cell with spaces for what is neither ``__device__`` nor ``__global__``: functions, and classes and variables
    of the host's.

    Names that device code uses stay, for the compiler to report.
    """
    # As it is typed: where macros are expanded, functions have another text.
    typed, tree = cuda_text.parse_cell(source)
    text = cuda_text.read(source)
    spared = set(find_called_host(unit or typed)) | (
        {f.name for f in list_device_functions(unit)} if unit is not None else set()
    )
    part = _HostPart(tree, "\n".join(text.macros.values()))
    part.blank(_find_span(f, text) for f in list_host_functions(typed) if f.name not in spared)
    while part.blank(part.find_unnamed()) or part.blank(part.members()):
        pass
    return _blank_spans(source, text, part.spans)


class _HostPart:
    """The host's part of a text while it is being found: what is blank already names nothing."""

    def __init__(self, tree: c.CText, directives: str) -> None:
        literals = [n for n in c.walk(tree.root) if n.type in ("string_literal", "char_literal", "raw_string_literal")]
        self.code = _blank_bytes(tree.code, [n.byte_range for n in literals])
        self.directives = directives
        self.spans: list[tuple[int, int]] = []
        self.classes = [n for n in c.walk(tree.root) if n.type in _CLASSES and n.child_by_field_name("body")]
        self.declarations = list(_list_file_scope(tree.root))

    def blank(self, spans: Iterable[tuple[int, int]]) -> bool:
        """Leave these spans out, and return whether there are any."""
        new = [span for span in spans if self.code[slice(*span)].strip()]
        self.spans += new
        self.code = _blank_bytes(self.code, new)
        return bool(new)

    def text(self, span: tuple[int, int]) -> str:
        return self.code[slice(*span)].decode(errors="replace")

    def is_named(self, name: str, span: tuple[int, int]) -> bool:
        """Whether anything outside of a span has the name."""
        elsewhere = self.code[: span[0]] + self.code[span[1] :]
        return bool(re.search(rf"\b{name}\b", elsewhere.decode(errors="replace") + self.directives))

    def find_unnamed(self) -> Iterator[tuple[int, int]]:
        """Classes and variables of the host's that nothing else names, and all that has a type of CUDA's runtime."""
        for node in self.classes:
            span, name = self._find_whole(node), node.child_by_field_name("name")
            body = self.text(span)
            of_host = _OF_HOST.search(body) and not _ON_DEVICE.search(body)
            if name and of_host and not self.is_named(c.take_text(name), span):
                yield span
        for node in self.declarations:
            text = self.text(node.byte_range)
            names = _list_declared_names(node)
            unnamed = names and not any(self.is_named(name, node.byte_range) for name in names)
            if not _ON_DEVICE.search(text) and (unnamed or _RUNTIME.search(text)):
                yield node.byte_range

    def _find_whole(self, node: c.Node) -> tuple[int, int]:
        """A class with its template, the variables that are declared with it, and the semicolon."""
        while node.parent is not None and node.parent.type in ("template_declaration", "declaration"):
            node = node.parent
        end = self.code.find(b";", node.end_byte - 1)
        return node.start_byte, max(end + 1, node.end_byte)

    def members(self) -> Iterator[tuple[int, int]]:
        """Functions of the classes that call CUDA's runtime and are not for the device."""
        for node in self.classes:
            body = node.child_by_field_name("body")
            for member in body.named_children if body is not None else ():
                function = member.named_children[-1] if member.type == "template_declaration" else member
                inner = function.child_by_field_name("body") if function.type == "function_definition" else None
                head = self.text((member.start_byte, inner.start_byte)) if inner is not None else ""
                if head and not _ON_DEVICE.search(head) and _RUNTIME.search(self.text(member.byte_range)):
                    yield member.byte_range


def _list_file_scope(root: c.Node) -> Iterator[c.Node]:
    """The statements of file scope that declare something without a body."""
    for node in root.named_children:
        if node.type == "ERROR":
            yield from _list_file_scope(node)
        elif node.type in _STATEMENTS and not any(n.type in _BODIES for n in c.walk(node)):
            yield node


def _list_declared_names(node: c.Node) -> list[str]:
    """The variables and functions that a declaration with the usual linkage declares."""
    declared = [d for d, _ in c.read_declarations(node)] if node.type == "declaration" else []
    return [d.name for d in declared if d.name.isidentifier() and "extern" not in d.storage]


def _blank_bytes(code: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    """``code`` with spaces in these spans; lines stay."""
    result = bytearray(code)
    for start, end in spans:
        result[start:end] = re.sub(rb"[^\n]", b" ", code[start:end])
    return bytes(result)


def _blank_spans(source: str, text: c.Text, spans: Sequence[tuple[int, int]]) -> str:
    return _blank_bytes(text.raw, spans).decode() if spans else source


def _find_span(function: Function, text: c.Text) -> tuple[int, int]:
    """The bytes of a function as it is typed."""
    whole = function.text.encode()
    start = text.raw.find(whole, text.start_of_line(function.line))
    return (start, start + len(whole)) if whole and start >= 0 else (0, 0)


# ----------------------------------------------------------------------------- refused functions


def blank_refused(source: str, diagnostics: Sequence[Diagnostic], *, name: str) -> tuple[str, dict[str, Diagnostic]]:
    """The cell with spaces for the functions that ``diagnostics`` are in, and for those that call them.

    Raises
    ------
    CompileError
        With the diagnostics, where nothing is left, or one is outside of any function.
    """
    functions = list_device_functions(cuda_text.parse(source))
    text = cuda_text.read(source)
    refused: dict[str, Diagnostic] = {}
    lines: list[int] = []
    outside = False
    for diagnostic in diagnostics:
        inside = [f.name for f in functions if f.line <= diagnostic.line <= f.end_line]
        line = text.lines(diagnostic.line, diagnostic.line)
        if not inside and _LEFT_OUT.match(line):
            lines.append(diagnostic.line)
            names = {a or b for a, b in re.findall(r"\b(\w+)\s*=|(\w+)\s*;", line)}
            inside = [f.name for f in functions if names & c.find_words(f.text)]
        elif not inside:
            outside = True
        refused |= {name: diagnostic for name in inside if name not in refused}
    while more := {f.name: f for f in functions if f.name not in refused and f.body.calls & refused.keys()}:
        for f in more.values():
            callee = min(f.body.calls & refused.keys())
            because = refused[callee]
            refused[f.name] = replace(because, message=f"{f.name} calls {callee}: {because.message}")
    if outside or refused.keys() >= {f.name for f in functions}:
        message, remedy = f"{name} cannot be emulated on the CPU.", "Run it where there is a GPU."
        raise CompileError(message, diagnostics=keep_one_each(diagnostics), remedy=remedy)
    spans = [_find_span(f, text) for f in functions if f.name in refused]
    spans += [(text.start_of_line(line), text.start_of_line(line + 1)) for line in lines]
    return _blank_spans(source, text, spans), refused


# --------------------------------------------------------------------------------- shared memory


def declare_shared_memory(source: str) -> tuple[str, Sequence[str]]:
    """The cell as the host compiles it, and its ``extern __shared__`` arrays; see ``templates/cuda_words.h``.

    After the declaration of each other array follows, on its line, that a block has room for those in sight and, where
    blocks may wait for each other, that each has its own. Loops that may wait for ``volatile`` memory let others go on.
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
        blocks = list(_list_blocks_around(node))
        if blocks:
            in_sight.setdefault(blocks[0], []).extend(names)
            sizes = " + ".join(f"sizeof({name})" for block in reversed(blocks) for name in in_sight.get(block, ()))
            message = f"a block has {_MOST_SHARED} bytes of __shared__ memory"
            more = f'static_assert({sizes} <= {_MOST_SHARED}, "{message}");'
            if waits:
                more += "".join(f"__ufm_shared_object(&{name}, sizeof {name});" for name in names)
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


def _list_blocks_around(node: c.Node) -> Iterator[int]:
    """The blocks that a declaration is in, innermost first."""
    above = node.parent
    while above is not None:
        if above.type == "compound_statement":
            yield above.id
        above = above.parent
