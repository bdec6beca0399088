"""What the host's compiler says of a CUDA cell, in CUDA's words: no functions of C's, nothing of the shim's insides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...model import CompileError, Diagnostic
from ...toolchain.nvrtc import advise

__all__ = ["improved"]

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
    made = list(dict.fromkeys(_improved(d) for d in fault.diagnostics if not d.file.startswith(_TEMPLATES)))
    errors = sum(d.severity == "error" for d in made)
    head = re.sub(r"\d+ errors?\.$", f"{errors} error{'s' * (errors != 1)}.", fault.message)
    return type(fault)(head, remedy=fault.remedy, diagnostics=_once(made), output=fault.output)


def _once(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Without what g++ says of a refused function a second time, at the parenthesis behind it."""
    kept: dict[object, Diagnostic] = {}
    for d in diagnostics:
        refused = d.severity == "error" and "is unavailable" in d.message
        kept.setdefault((d.message, d.file, d.line) if refused else d, d)
    return list(kept.values())


def _improved(d: Diagnostic) -> Diagnostic:
    if found := re.match(_REFUSED, d.message):
        return replace(d, message=f"{found['name']} is unavailable: {found['why']}")
    if d.severity != "error":
        return d
    if found := re.search(_NO_FILE, d.message):
        return replace(d, hint=_no_file(found["file"]) or d.hint)
    if found := re.search(r"'(\w+)' is not a member of 'std'|no member named '(\w+)' in namespace 'std'", d.message):
        return replace(d, hint=advise(f'namespace "std" has no member "{found[1] or found[2]}"') or d.hint)
    if found := re.search(_UNKNOWN, d.message):
        name = found["name"] or found["clang"]
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
    if found := re.match(_LIBRARIES, name):
        return _for_gpus(found["library"])
    return advise(f'could not open source file "{name}"')


def _for_gpus(library: str) -> str:
    return f"{library} is for GPUs alone, and the emulation on the CPU has none of it: write the loop in the cell."
