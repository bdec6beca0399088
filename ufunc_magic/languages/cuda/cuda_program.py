"""A program with a ``main()``, compiled whole: its host code runs natively, its kernels in the emulation.

``templates/cuda_host.h`` emulates CUDA's runtime; ``<<<...>>>`` becomes a call of the emulated launch, on its line.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ... import codegen, compilers, runtime
from ...cells import list_compiler_flags, list_linker_flags
from ...model import CompileError, FilesRead, OptionError, Options
from .. import c
from . import cuda_text, nvrtc
from .cuda_diagnostics import find_refusals, improve_error, keep_one_each
from .cuda_edits import declare_shared_memory
from .cuda_passes import inline_headers, is_runtime
from .cuda_unit import (
    TEMPLATES,
    choose_debug_flags,
    include_sources,
    list_header_flags,
    list_provided_folders,
    write_shim,
)
from .thread_loops import try_with_loops

#: The functions that templates/cuda_host.h has in place of the libraries'.
_ALLOCATING = "malloc", "free", "_Znwm", "_Znam", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm"
_NOT_EMULATED = "The emulation of CUDA's runtime lacks it: run the program on a GPU, or leave the call out."
#: Functions of the runtime that take a kernel without its type, which the emulated launch needs.
_LAUNCHERS = frozenset(("cudaLaunchKernel", "cudaLaunchCooperativeKernel"))
#: Expressions that may have side effects: an argument with one is computed once per launch, not once per thread.
_EFFECTS = frozenset(("update_expression", "assignment_expression", "call_expression"))


def compile_program(source: str, *, options: Options, name: str, folder: Path) -> tuple[Path, FilesRead]:
    """Compile the program to a library that exports ``main``; its path, and the files of the user that it is made of.

    Raises
    ------
    OptionError
        If there is no ``main``.
    CompileError, LinkError, ToolchainError
    """
    if "main" not in c.find_words(cuda_text.read(source).code.decode(errors="replace")):
        raise OptionError(f"--run-main: {name} has no main().", remedy="Remove --run-main.")
    source, options = include_sources(source, options)
    tool = compilers.find(cplus=True)
    if diagnostics := find_refusals(rewrite_launches(source), name=name):
        raise CompileError(f"main() of {name} cannot run in the emulation.", diagnostics=keep_one_each(diagnostics))
    options = replace(
        options, cplus=True, compile_args=tuple(word for word in options.compile_args if nvrtc.is_host(word))
    )
    checked, debug = choose_debug_flags(options, tool)
    if options.sanitize and not checked:
        raise OptionError("--sanitize looks at a program with gcc on Linux alone.", remedy="Remove --sanitize.")
    whole, headers = inline_headers(source, name=name, folders=options.include)
    flags = (*list_compiler_flags(tool, options), *list_header_flags(source), *debug)
    # main() must be exported, and the program's names must win over those of the process that loads it.
    flags += ("-fvisibility=default", "-Wno-unused-result")
    link = (*list_linker_flags(tool, options), *(f"-Wl,--wrap={word}" for word in _ALLOCATING if checked))
    output = folder / "program.so"

    def compile_text(whole: str) -> None:
        hosted, dynamic = declare_shared_memory(rewrite_launches(whole), checked=checked)
        before = write_shim(source, None, dynamic) + f"#define __UFM_CELL {codegen.quote_c(name)}\n"
        before += f"#include {codegen.quote_c(str(TEMPLATES / 'cuda_host.h'))}\n"
        after = "".join(f"__UFM_DYNAMIC_SHARED({word})\n" for word in dynamic)
        compilers.compile_shared(
            tool,
            f"{before}#line 1 {codegen.quote_c(name)}\n{hosted}\n{after}",
            compilers.UnitOrigin(name, source),
            output=output,
            flags=flags,
            link=(*link, *(["-Wl,-Bsymbolic"] * (sys.platform == "linux"))),
            extra_sources=options.src,
        )

    try:
        if checked:
            compile_text(whole)
        else:
            try_with_loops(whole, compile_text)
    except CompileError as fault:
        better = improve_error(fault)
        unknown = {d for d in better.diagnostics if is_runtime(compilers.find_unknown_name(d.message))}
        diagnostics = tuple(replace(d, hint=_NOT_EMULATED) if d in unknown else d for d in better.diagnostics)
        raise CompileError(
            better.message, remedy=better.remedy, diagnostics=diagnostics, output=better.output
        ) from None
    provided = list_provided_folders(source)
    read = compilers.find_files_read(
        tool, source, folder=folder, flags=flags, sources=(*options.src, *headers), provided=provided
    )
    return output, read


#: Runs ``main()``, and writes twice a second how far its launch is, for `run_and_show`.
_PROGRAM = """\
import ctypes, os, sys, threading, time

library, output = ctypes.CDLL(sys.argv[1]), os.dup(1)
blocks = (ctypes.c_ulonglong * 2).in_dll(library, "__ufm_progress")
kernel = ctypes.c_char_p.in_dll(library, "__ufm_launched")

def tell():
    before = 0
    while True:
        time.sleep(0.5)
        if (now := (kernel.value, *blocks)) != before and now[2]:
            before = now
            os.write(output, "\\x1efar {0}: block {1:,} of {2:,}\\x1f".format(now[0].decode(), *now[1:]).encode())

threading.Thread(target=tell, daemon=True).start()
words = [word.encode() for word in sys.argv[2:]]
array = (ctypes.c_char_p * (len(words) + 1))(*words, None)
ctypes.CDLL(None).exit(library.main(len(words), array))
"""


def run_program(library: Path, words: Sequence[str], *, show: Callable[[str], object]) -> int:
    """Run ``main`` in its own process, show what it prints, and return its exit status: negative for a signal."""

    @functools.cache
    def read_lines(name: str) -> list[tuple[int, int, int]]:
        return runtime.read_line_table(library.read_bytes(), name=name)

    def explain(mark: str) -> str:
        """The text for a mark of the program's; see templates/cuda_host.h."""
        _, code, name = mark.split(" ", 2)
        line = next((row[2] for row in read_lines(name) if row[0] < int(code, 16) <= row[1]), 0)
        return f" on line {line}" * bool(line)

    return compilers.run_and_show(_PROGRAM, [str(library), "main", *words], show=show, explain=explain)


def rewrite_launches(source: str) -> str:
    """Turn ``k<<<grid, block>>>(x)`` into ``__ufm_start("k", {grid, block}, [&]() { k(x); })``, on the same lines."""
    if "<<<" not in source and not any(word in source for word in _LAUNCHERS):
        return source
    text, tree = cuda_text.read(source), cuda_text.parse_cell(source)[1]
    edits = list(_find_launches(tree.root))
    raw = text.raw
    for start, end in _list_definitions(raw):
        body = raw[start:end].replace(b"\\\n", b"  ")
        head = b"void f() { "
        launches = _find_launches(c.parse_tree(head + body + b";}", cplus=True))
        edits += [(at + start - len(head), to + start - len(head), call) for at, to, call in launches]
    pieces, done = list[bytes](), 0
    for start, end, call in sorted(edits):
        lines = raw[start:end].split(b"\n")[:-1]
        breaks = b"".join(b"\\\n" if line.endswith(b"\\") else b"\n" for line in lines)
        pieces += [raw[done:start], call.encode(), breaks]
        done = end
    return b"".join([*pieces, raw[done:]]).decode(errors="replace")


def _list_definitions(raw: bytes) -> Iterator[tuple[int, int]]:
    """The bytes of the replacement of each macro that launches a kernel, with the lines that go on."""
    at = 0
    while at < len(raw):
        end = raw.find(b"\n", at)
        while end > 0 and raw[end - 1 : end] == b"\\":
            end = raw.find(b"\n", end + 1)
        end = len(raw) if end < 0 else end
        words = raw[at:end].lstrip(b" \t#").split(None, 2)
        if raw[at:end].lstrip()[:1] == b"#" and words[:1] == [b"define"] and b"<<<" in raw[at:end]:
            name = raw.index(words[1], at)
            opening, blank = raw.find(b"(", name, end), raw.find(b" ", name, end)
            start = raw.find(b")", opening) + 1 if 0 < opening < (blank if blank > 0 else end) else max(blank, name)
            yield start, end
        at = end + 1


def _find_launches(root: c.Node) -> Iterator[tuple[int, int, str]]:
    """The outermost launches in a tree, and casts of kernels to ``void *``: their bytes and the text in their place."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type == "call_expression" and (call := _write_launch(node)):
            yield node.start_byte, node.end_byte, call
            continue
        if node.type == "call_expression" and c.take_text(node.children[0]) in _LAUNCHERS:
            cast = (node.child_by_field_name("arguments") or node).named_children[0]
            value = cast.child_by_field_name("value") if cast.type == "cast_expression" else None
            if value is not None:
                yield cast.start_byte, value.start_byte, ""
        waiting += node.named_children


def _write_launch(node: c.Node) -> str:
    """The call of the emulation that a launch becomes, on one line, or ``""`` for another call."""
    how = next((n for n in node.children if n.type == "kernel_call_syntax"), None)
    arguments = node.child_by_field_name("arguments")
    if how is None or arguments is None:
        return ""
    kernel = _write(node.children[0])
    # What a kernel launches runs when its own grid has ended, and its variables with it.
    captures = ["=" if _is_on_device(node) else "&"]

    def write_argument(argument: c.Node) -> str:
        if argument.type == "initializer_list":
            return f"{{{', '.join(write_argument(n) for n in argument.named_children if n.type != 'comment')}}}"
        if not any(one.type in _EFFECTS for one in c.walk(argument)):
            return _write(argument)
        captures.append(f"__ufm_a{len(captures) - 1} = ({_write(argument)})")
        return f"__ufm_a{len(captures) - 2}"

    passed = [write_argument(n) for n in arguments.named_children if n.type != "comment"]
    name = "".join(kernel.split()).replace('"', "").replace("\\", "")
    shape = ", ".join(_write(n) for n in how.named_children if n.type != "comment")
    call = f"{kernel}({', '.join(passed)});"
    return f'__ufm_start("{name}", {{{shape}}}, [{", ".join(captures)}]() __UFM_UNCHECKED {{ {call} }})'


def _write(node: c.Node) -> str:
    """An expression on one line, with the launches in it."""
    code, done, text = node.text or b"", node.start_byte, ""
    comments = [(n.start_byte, n.end_byte, " ") for n in c.walk(node) if n.type == "comment"]
    for start, end, call in sorted([*_find_launches(node), *comments]):
        text += code[done - node.start_byte : start - node.start_byte].decode(errors="replace") + call
        done = end
    return " ".join((text + code[done - node.start_byte :].decode(errors="replace")).replace("\\\n", " ").splitlines())


def _is_on_device(node: c.Node) -> bool:
    """Whether it is in a function of the device."""
    around = (above for above in c.walk_up(node) if above.type == "function_definition")
    return any({n.type for n in above.children} & {"__global__", "__device__"} for above in around)
