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
from .trial_inputs import Case, split_case

#: Without the cell's -fwrapv: a user who asks for a sanitizer wants to see overflows.
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
#: Faults that are wrong for all inputs.
_ALWAYS = re.compile(r"[\w-]*(?:buffer-|use-after-)|SEGV|attempting")
_MOST = 12

#: Sends cases to a process.
Ask = Callable[..., dict[str, Any]]


def find_preload() -> str:
    """Find the sanitizer's run-time library, which a process must load before Python.

    Raises
    ------
    ToolchainError
        If the compiler has no such library.
    """
    tool = compilers.find()
    names = {"gcc": ("libasan.so",), "clang": ("libclang_rt.asan.so", "libclang_rt.asan-x86_64.so")}.get(tool.kind, ())
    for name in names:
        path = compilers.read_output([*tool.command, f"-print-file-name={name}"]).strip()
        if os.path.isabs(path) and os.path.exists(path):
            return os.path.realpath(path)
    raise ToolchainError(
        f"{tool} has no AddressSanitizer run-time library here.",
        remedy="Install gcc with its libasan (apt install gcc; dnf install libasan), or clang's compiler-rt.",
    )


def run_sanitized(
    cell: CompiledCell, trial_cases: Sequence[Case], *, again: Callable[[Sequence[str]], CompiledCell], ask: Ask
) -> tuple[CompiledCell, dict[str, Diagnostic]]:
    """Run the cases in a sanitized build.

    Returns the cell with the reports among its diagnostics, and by name the functions with a stray access.

    Raises
    ------
    ToolchainError
        If the compiler has no sanitizer, or a process with it does not start.
    """
    environment = {**_SETTINGS, "LD_PRELOAD": find_preload()}
    compiled, object_code = again(FLAGS), cell.object_code
    second = compiled.object_code
    loops = {(f.name, loop.types): (f, loop) for f in compiled.report_data.functions for loop in f.loops}
    cases = []
    for case in trial_cases:
        function, loop = loops[case.function.name, case.loop.types]
        cases += split_case(replace(case, function=function, loop=loop))
    # Line and kind of the fault -> its diagnostic, and the function's name if the fault is wrong for all inputs.
    reports: dict[tuple[int, str], tuple[Diagnostic, str]] = {}
    process = GuardProcess.begin(environment=environment)
    try:
        while cases and len(reports) < _MOST:
            try:
                answer = ask(second, cases, process=process)
            except OSError as fault:
                # The cell is not the cause: it runs in forks of this process.  Under emulators, and with a limited
                # address space, the sanitizer finds no room for its shadow memory.
                raise ToolchainError(
                    f"AddressSanitizer does not start on this machine: its process {_describe_end(process)}.",
                    remedy="Leave --sanitize out; the guard tries the code all the same.",
                ) from fault
            for case, text in _split_reports(answer, cases):
                for diagnostic, always in _read_reports(text, case, object_code):
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


def _describe_end(process: GuardProcess) -> str:
    """Describe the end of a process that no longer answers."""
    process.end()
    status = process.process.returncode
    return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"


def _split_reports(answer: dict[str, Any], cases: Sequence[Case]) -> list[tuple[Case, str]]:
    """Split the output by case.  A mark with the number precedes the reports of each case."""
    _, *parts = re.split(r"^\x1e(\d+)\n", answer["printed"].decode(errors="replace"), flags=re.M)
    return [(cases[int(n) - 1], text) for n, text in zip(parts[::2], parts[1::2], strict=True) if text.strip()]


def _read_reports(text: str, case: Case, object_code: ObjectCode) -> list[tuple[Diagnostic, bool]]:
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
