"""Calls of libm in LLVM assembly, told what LLVM's vectorizer must know of them.  Pure text.

LLVM vectorizes a call that names its vector variants (attribute ``vector-function-abi-variant``), as gcc does one
declared with ``simd``; libmvec has them.  A variant's vector type must be legal in the function that calls it, or it
is passed in other registers, so each CPU level is told of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set

__all__ = ["declarations", "marked", "used"]

#: Functions of two arguments; the others take one.
_TWO = frozenset({"atan2", "hypot", "pow"})
#: libm functions without vector variants whose calls LLVM knows as instructions once they are known to be pure.
_INSTRUCTIONS = frozenset("sqrt floor ceil trunc rint nearbyint fabs copysign fmin fmax fma round".split())
#: Letter of the vector ABI and bytes of its registers, by CPU level.
_ABI = {"x86-64": (("b", 16),), "x86-64-v3": (("b", 16), ("d", 32)), "x86-64-v4": (("b", 16), ("d", 32), ("e", 64))}

_CALL = re.compile(
    r"\bcall (?P<flags>[a-z ]*?)(?P<type>double|float) @(?P<callee>[\w.]+)(?P<arguments>\([^()]*\))(?P<rest>.*)$", re.M
)
_DEFINE = re.compile(r'^define [^\n]*@"?(?P<name>\w+)"?\([^\n]*\{\n(?:.*\n)*?\}\n', re.M)


def used(assembly: str, libmvec: Set[str]) -> frozenset[str]:
    """The functions of ``libmvec`` that something in ``assembly`` calls."""
    return frozenset(_function(m["callee"], m["type"]) for m in _CALL.finditer(assembly)) & libmvec


def declarations(functions: Set[str], levels: Sequence[str]) -> str:
    """The vector variants, kept until the vectorizer runs."""
    names = []
    lines = []
    for function in sorted(functions):
        kind, base = _kind(function)
        for letter, size in _ABI[levels[-1]] if levels else ():
            vector = f"<{size // (8 if kind == 'double' else 4)} x {kind}>"
            name = _variant(function, letter, size)
            lines.append(f"declare {vector} @{name}({', '.join([vector] * (2 if base in _TWO else 1))})")
            names.append(f"ptr @{name}")
    if names:
        lines.append(
            f'@llvm.compiler.used = appending global [{len(names)} x ptr] [{", ".join(names)}], section "llvm.metadata"'
        )
    return "\n".join(lines) + "\n"


def marked(assembly: str, functions: Set[str], kernels: Mapping[str, str]) -> str:
    """``assembly`` with the calls of libm marked.

    Parameters
    ----------
    functions : set of str
        Those with vector variants.
    kernels : mapping
        CPU level of each function that is made for one.
    """

    def define(found: re.Match[str]) -> str:
        level = kernels.get(found["name"], "")
        return _CALL.sub(lambda call: _call(call, functions, level), found[0])

    return _DEFINE.sub(define, assembly)


def _call(call: re.Match[str], functions: Set[str], level: str) -> str:
    callee, function = call["callee"], _function(call["callee"], call["type"])
    base = _kind(function)[1]
    variants = level and function in functions
    if not variants and base not in _INSTRUCTIONS:
        return call[0]
    attributes = "nounwind willreturn memory(none)"
    if variants:
        of = [(_variant(function, letter, size), size) for letter, size in _ABI[level]]
        count = 8 if call["type"] == "double" else 4
        kinds = "vv" if base in _TWO else "v"
        names = ",".join(f"_ZGV_LLVM_N{size // count}{kinds}_{callee}({name})" for name, size in of)
        attributes += f' "vector-function-abi-variant"="{names}"'
    return f"call {call['flags']}{call['type']} @{callee}{call['arguments']} {attributes}{call['rest']}"


def _function(callee: str, kind: str) -> str:
    """libm's name of what is called: ``llvm.exp.f32`` is ``expf``."""
    if not callee.startswith("llvm."):
        return callee
    base = callee.removeprefix("llvm.").rpartition(".f")[0]
    return f"{base}f" if kind == "float" else base


def _kind(function: str) -> tuple[str, str]:
    """The type it works on and its name without the letter for that: ``erf`` is one on double."""
    if function.endswith("f") and function != "erf":
        return "float", function[:-1]
    return "double", function


def _variant(function: str, letter: str, size: int) -> str:
    """Its name in libmvec: https://sourceware.org/glibc/wiki/libmvec."""
    kind, base = _kind(function)
    return f"_ZGV{letter}N{size // (8 if kind == 'double' else 4)}{'vv' if base in _TWO else 'v'}_{function}"
