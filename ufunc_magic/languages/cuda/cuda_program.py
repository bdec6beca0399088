"""A program with a ``main()``, compiled whole: its host code runs natively, its kernels in the emulation.

``templates/cuda_host.h`` emulates CUDA's runtime; ``<<<...>>>`` becomes a call of the emulated launch, on its line.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ... import codegen, compilers
from ...cells import list_compiler_flags, list_linker_flags
from ...model import CompileError, FilesRead, OptionError, Options
from .. import c
from . import cuda_text, nvrtc
from .cuda_diagnostics import find_refusals, improve_error, keep_one_each
from .cuda_edits import declare_shared_memory
from .cuda_unit import TEMPLATES, list_header_flags, list_provided_folders, write_shim

_PAIRS = {"(": ")", "[": "]", "{": "}"}
#: The name of the kernel before ``<<<``, with its scopes.
_NAME = re.compile(r"(?:[A-Za-z_]\w*\s*::\s*)*[A-Za-z_]\w*\s*$")
#: A kernel without its type, which the emulated launch needs.
_UNTYPED = re.compile(
    r"(\bcudaLaunch(?:Cooperative)?Kernel\s*\(\s*)(?:\(\s*(?:const\s+)?void\s*\*\s*\)\s*)(?=&?\s*[A-Za-z_])"
)
#: Arguments that may have side effects: they are computed once per launch, not once per thread.
_DOES = re.compile(r"\+\+|--|\w\s*\(|[^=!<>]=[^=]")


def compile_program(source: str, *, options: Options, name: str, folder: Path) -> tuple[Path, FilesRead]:
    """Compile the program to a library that exports ``main``; its path, and the files of the user that it is made of.

    Raises
    ------
    OptionError
        If there is no ``main``.
    CompileError, LinkError, ToolchainError
    """
    if not re.search(r"\bmain\s*\(", cuda_text.read(source).code.decode(errors="replace")):
        raise OptionError(f"--run-main: {name} has no main().", remedy="Remove --run-main.")
    tool = compilers.find(cplus=True)
    if diagnostics := find_refusals(rewrite_launches(source), name=name):
        raise CompileError(f"main() of {name} cannot run in the emulation.", diagnostics=keep_one_each(diagnostics))
    options = replace(
        options, cplus=True, compile_args=tuple(word for word in options.compile_args if nvrtc.is_host(word))
    )
    hosted, dynamic = declare_shared_memory(rewrite_launches(source))
    before = write_shim(source, None, dynamic) + f"#include {codegen.quote_c(str(TEMPLATES / 'cuda_host.h'))}\n"
    behind = "".join(f"__UFM_DYNAMIC_SHARED({word})\n" for word in dynamic)
    text = f"{before}#line 1 {codegen.quote_c(name)}\n{hosted}\n{behind}"
    flags = (*list_compiler_flags(tool, options), *list_header_flags(source))
    # main() must be exported, and the program's names must win over those of the process that loads it.
    flags += ("-fvisibility=default", "-Wno-unused-result")
    link = list_linker_flags(tool, options)
    output = folder / "program.so"
    try:
        compilers.compile_shared(
            tool,
            text,
            compilers.UnitOrigin(name, source),
            output=output,
            flags=flags,
            link=(*link, *(["-Wl,-Bsymbolic"] * (sys.platform == "linux"))),
            extra_sources=options.src,
        )
    except CompileError as fault:
        raise improve_error(fault) from None
    provided = list_provided_folders(source)
    read = compilers.find_files_read(tool, source, folder=folder, flags=flags, sources=options.src, provided=provided)
    return output, read


def run_program(library: Path, words: Sequence[str], *, show: Callable[[str], object]) -> int:
    """Run ``main`` in its own process, show what it prints, and return its exit status: negative for a signal."""
    program = (
        "import ctypes, sys\n"
        "words = [word.encode() for word in sys.argv[2:]]\n"
        "array = (ctypes.c_char_p * (len(words) + 1))(*words, None)\n"
        "ctypes.CDLL(None).exit(ctypes.CDLL(sys.argv[1]).main(len(words), array))\n"
    )
    return compilers.run_and_show(program, [str(library), "main", *words], show=show)


def rewrite_launches(source: str) -> str:
    """Turn ``k<<<grid, block>>>(x)`` into ``__ufm_start("k", {grid, block}, [&] { k(x); })``, on the same lines."""
    source = _UNTYPED.sub(r"\1", source)
    while launch := _find_first_launch(c.blank_out_literals(source), source):
        start, end, call = launch
        breaks = "".join(re.findall(r"\\?\n", source[start:end]))
        source = source[:start] + call + breaks + source[end:]
    return source


def _find_first_launch(code: str, raw: str) -> tuple[int, int, str] | None:
    """Return the first complete launch of the host code: its start, its end and the call that replaces it."""
    at = code.find("<<<")
    while at >= 0:
        start = _find_kernel_start(code, at)
        close = _find_closing(code, at + 3, ">>>")
        opening = re.compile(r"[\s\\]*\(").match(code, close + 3) if close > 0 else None
        end = _find_closing(code, opening.end(), ")") if opening else -1
        if start >= 0 and opening and end > 0:
            kernel, how, arguments = (
                _flatten(raw[a:b]) for a, b in ((start, at), (at + 3, close), (opening.end(), end))
            )
            # What a kernel launches runs when its own grid has ended, and its variables with it.
            captures, passed = ["=" if _is_on_device(code, at) else "&"], []
            for n, argument in enumerate(_split(arguments)):
                once_only = bool(_DOES.search(argument))
                captures += [f"__ufm_a{n} = ({argument.strip()})"] * once_only
                passed.append(f"__ufm_a{n}" if once_only else argument)
            name = re.sub(r"\s+|[\"\\]", "", kernel)
            call = f'__ufm_start("{name}", {{{how}}}, [{", ".join(captures)}]() {{ {kernel}({", ".join(passed)}); }})'
            return start, end + 1, call
        at = code.find("<<<", at + 3)
    return None


def _is_on_device(code: str, at: int) -> bool:
    """Whether this place is inside of a function of the device."""
    openings: list[int] = []
    for match in re.finditer(r"[{}]", code[:at]):
        if match[0] == "{":
            openings.append(match.start())
        elif openings:
            openings.pop()
    heads = (code[max(code.rfind(mark, 0, opening) for mark in "{};") + 1 : opening] for opening in openings)
    return any(re.search(r"\b__(?:global|device)__\b", head) for head in heads)


def _find_kernel_start(code: str, end: int) -> int:
    """Return where the expression before ``<<<`` begins, or -1."""
    stop = len(code[:end].rstrip("\\ \t\n"))
    if code[stop - 1 : stop] == ">":
        depth, stop = 1, stop - 1
        while stop > 0 and depth:
            stop -= 1
            depth += (code[stop] == ">") - (code[stop] == "<")
    if code[stop - 1 : stop] == ")":
        depth, stop = 1, stop - 1
        while stop > 0 and depth:
            stop -= 1
            depth += (code[stop] == ")") - (code[stop] == "(")
        return stop
    match = _NAME.search(code, 0, stop)
    # re's $ is the end of what is searched.
    return match.start() if match else -1


def _find_closing(code: str, at: int, word: str) -> int:
    """Return where ``word`` closes the brackets that are open at ``at``, or -1."""
    stack: list[str] = []
    while at < len(code):
        if not stack and code.startswith(word, at):
            return at
        if code[at] in _PAIRS:
            stack.append(_PAIRS[code[at]])
        elif code[at] in _PAIRS.values() and (not stack or stack.pop() != code[at]):
            return -1
        at += 1
    return -1


def _flatten(text: str) -> str:
    return re.sub(r"//[^\n]*|\\\n", " ", text).replace("\n", " ").strip()


def _split(arguments: str) -> list[str]:
    """Split at the commas of the call itself; ``a < b, c > d`` is read as a template."""
    parts, depth, angle = [""], 0, 0
    for k, char in enumerate(arguments):
        depth += (char in "([{") - (char in ")]}")
        angle += char == "<" and bool(re.match(r"[\w:\s,*<]*>", arguments[k + 1 :]))
        angle -= char == ">" and angle > 0 and arguments[k - 1] != "-"
        if char == "," and not depth and not angle:
            parts.append("")
        else:
            parts[-1] += char
    return parts if arguments.strip() else []
