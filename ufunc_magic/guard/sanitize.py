"""``--sanitize``: the same trial in a build that reports undefined behaviour and stray accesses, by line."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .. import compilers
from ..model import CompiledCell, Diagnostic, ObjectCode, ToolchainError
from .guard_process import GuardProcess
from .trial_inputs import Case, singly

#: The cell's own rules (-fwrapv) make overflow wrap; who asks for a sanitizer wants to hear of it.
FLAGS = (
    "-g",
    "-O1",
    "-fno-omit-frame-pointer",
    "-fno-wrapv",
    "-fsanitize=address,undefined,float-cast-overflow",
    "-fsanitize-recover=all",
    "-D__UFM_ONE_TARGET",
    "-D__UFM_CHECKED",
)
_SETTINGS = {
    "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=0:allocator_may_return_null=1:detect_stack_use_after_return=1:"
    "handle_abort=1:max_allocation_size_mb=1024:color=never",
    "UBSAN_OPTIONS": "print_stacktrace=0:color=never",
}
_UNDEFINED = re.compile(r"^(?P<file>.*?):(?P<line>\d+)(?::(?P<column>\d+))?: runtime error: (?P<what>.*)$", re.M)
_ADDRESS = re.compile(
    r"^==\d+==\s*ERROR: AddressSanitizer: (?P<kind>[\w-]+(?: [\w-]*free)?)(?P<rest>.*?)(?=^==\d+==\s*ERROR|\Z)",
    re.M | re.S,
)
#: What is wrong whatever the inputs mean.
_ALWAYS = re.compile(r"[\w-]*(?:buffer-|use-after-)|SEGV|attempting")
_MOST = 12

#: Sends cases to a process.
Ask = Callable[..., dict[str, Any]]


def preload() -> str:
    """The sanitizer's run time, which must be in a process before Python.

    Raises
    ------
    ToolchainError
        If the compiler has none.
    """
    tool = compilers.find()
    names = {"gcc": ("libasan.so",), "clang": ("libclang_rt.asan.so", "libclang_rt.asan-x86_64.so")}.get(tool.kind, ())
    for name in names:
        path = compilers.printed([*tool.command, f"-print-file-name={name}"]).strip()
        if os.path.isabs(path) and os.path.exists(path):
            return os.path.realpath(path)
    raise ToolchainError(
        f"{tool} has no AddressSanitizer run-time library here.",
        remedy="Install gcc with its libasan (apt install gcc; dnf install libasan), or clang's compiler-rt.",
    )


def sanitized(
    cell: CompiledCell, trial_cases: Sequence[Case], *, again: Callable[[Sequence[str]], CompiledCell], ask: Ask
) -> tuple[CompiledCell, dict[str, Diagnostic]]:
    """``cell`` with what the sanitized build reported among its diagnostics; by name, functions with a stray access.

    Raises
    ------
    ToolchainError
        If the compiler has no sanitizer, or a process with it does not start.
    """
    environment = {**_SETTINGS, "LD_PRELOAD": preload()}
    compiled, object_code = again(FLAGS), cell.object_code
    second = compiled.object_code
    loops = {(f.name, loop.types): (f, loop) for f in compiled.report_data.functions for loop in f.loops}
    cases = []
    for case in trial_cases:
        function, loop = loops[case.function.name, case.loop.types]
        cases += singly(replace(case, function=function, loop=loop))
    # By line and kind of fault; the function, where that is wrong whatever the inputs mean.
    reports: dict[tuple[int, str], tuple[Diagnostic, str]] = {}
    process = GuardProcess.begin(environment=environment)
    try:
        while cases and len(reports) < _MOST:
            try:
                answer = ask(second, cases, process=process)
            except OSError as fault:
                # Not the cell's doing, which runs in processes that this one forks: under emulators and limits of the
                # address space the sanitizer finds no room for its shadow.
                raise ToolchainError(
                    f"AddressSanitizer does not start on this machine: its process {_end_of(process)}.",
                    remedy="Leave --sanitize out; the guard tries the code all the same.",
                ) from fault
            for case, text in _by_case(answer, cases):
                for diagnostic, always in _read(text, case, object_code):
                    what = diagnostic.message.partition(",")[0]
                    reports.setdefault((diagnostic.line, what), (diagnostic, case.function.name * always))
            del cases[: len(cases) if answer["done"] else max(answer["number"], 1)]
    finally:
        process.end()
    stray: dict[str, Diagnostic] = {}
    for diagnostic, name in reports.values():
        if name and name not in stray:  # no input may make a stray access
            message = f"{name} is not bound: {diagnostic.message}"
            stray[name] = replace(diagnostic, severity="error", message=message)
    diagnostics = (*cell.report_data.diagnostics, *(d for d, name in reports.values() if not name))
    return replace(cell, report_data=replace(cell.report_data, diagnostics=diagnostics)), stray


def _end_of(process: GuardProcess) -> str:
    """How a process that no longer answers has ended, in words."""
    process.end()
    status = process.process.returncode
    return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"


def _by_case(answer: dict[str, Any], cases: Sequence[Case]) -> list[tuple[Case, str]]:
    """What was reported in each case: behind a mark with its number."""
    _, *parts = re.split(r"^\x1e(\d+)\n", answer["printed"].decode(errors="replace"), flags=re.M)
    return [(cases[int(n) - 1], text) for n, text in zip(parts[::2], parts[1::2], strict=True) if text.strip()]


def _read(text: str, case: Case, object_code: ObjectCode) -> list[tuple[Diagnostic, bool]]:
    lines = object_code.source.split("\n")

    def diagnostic(what: str, line: int, column: int = 0) -> Diagnostic:
        shown = lines[line - 1] if 0 < line <= len(lines) else ""
        return Diagnostic("warning", f"{what}, for {case.call()}", object_code.name, line, column, "--sanitize", shown)

    ours = (m for m in _UNDEFINED.finditer(text) if m["file"].endswith(object_code.name))
    reports = [(diagnostic(m["what"], int(m["line"]), int(m["column"] or 0)), False) for m in ours]
    for m in _ADDRESS.finditer(text):
        place = re.search(rf"(?:in |/)[^\n]*?{re.escape(object_code.name)}:(\d+)", m["rest"])
        line = int(place[1]) if place else case.function.line
        always = bool(_ALWAYS.match(m["kind"])) and case.kind != "empty"
        reports.append((diagnostic(m["kind"], line), always))
    return reports
