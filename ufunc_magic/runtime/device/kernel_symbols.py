"""Names of kernels in compiled device code: C++ mangles those that are not ``extern "C"``."""

from __future__ import annotations

import re

from ...model import LinkError

__all__ = ["symbol"]

#: A kernel's own section of a cubin (ELF), or its entry in PTX.
_KERNEL = re.compile(rb"\.text\.([A-Za-z_$][\w$.]*)\0|\.entry\s+([A-Za-z_$][\w$]*)")


def symbol(code: bytes, name: str) -> str:
    """The symbol of the kernel that C++ calls ``name``, ``"ns::k"``.

    Raises
    ------
    LinkError
        If the code has no such kernel.
    """
    found: set[str] = {(a or b).decode() for a, b in _KERNEL.findall(code)}
    if name in found:
        return name
    wanted = tuple(name.partition("<")[0].strip(":").split("::"))
    matching = sorted(s for s in found if _scopes(s) == wanted)
    if not matching:
        raise LinkError(f"The compiled code has no kernel {name!r}, only {', '.join(sorted(found)) or 'none'}.")
    return str(matching[0])


def _scopes(mangled: str) -> tuple[str, ...]:
    """``("ns", "k")`` of ``_ZN2ns1kEPf``, as the Itanium C++ ABI spells names: each behind its length."""
    start = re.match(r"_ZN?", mangled)
    at = start.end() if start else len(mangled)
    names: list[str] = []
    while (length := re.compile(r"\d+").match(mangled, at)) and (mangled.startswith("_ZN") or not names):
        at = length.end() + int(length[0])
        names.append(mangled[length.end() : at])
    return tuple(names)
