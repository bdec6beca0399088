"""Contained calls of functions that are no ufuncs: for each a caller of the same type.  Pure text.

cffi calls a function without the containment of a loop: without a caller, a stray pointer, ``exit()`` or a failed
assertion in it would end the process, and an endless loop could not be stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..model import Function
from .loops import template


@dataclass(frozen=True)
class Exports:
    """Functions that an object exports as they are, in the order of its table.

    Attributes
    ----------
    pointers : sequence of str
        C names, or expressions that are pointers to the functions.
    contained : sequence of str
        Pointers to their contained callers; ``"0"``: none.
    text : str
        C text with the callers, to put after the cell.
    """

    pointers: Sequence[str] = ()
    contained: Sequence[str] = ()
    text: str = ""


def contained(functions: Sequence[tuple[str, Function | None]], *, cplus: bool) -> Exports:
    """Write the callers of exported functions.

    Parameters
    ----------
    functions : sequence
        A pointer to each function, as C has it, and its parsed form; None for a function without a caller.
    cplus : bool
        The cell is C++, whose compiler is asked for the types: C++17, older standards have no templates for it.
    """
    texts, callers = list[str](), list[str]()
    for k, (pointer, function) in enumerate(functions):
        text, caller = "", "0"
        if function is not None and not function.variadic:
            text, caller = (_write_cplus if cplus else _write_c)(k, pointer, function)
        texts += [text] if text else []
        callers.append(caller)
    if cplus and texts:
        known = [template("plain.hpp"), *texts, "#define __UFM_PLAIN(...) __VA_ARGS__"]
        texts = ["#if __cplusplus >= 201703L", *known, "#else", "#define __UFM_PLAIN(...) 0", "#endif"]
    return Exports([pointer for pointer, _ in functions], callers, "".join(f"{text}\n" for text in texts))


def _runs_python(function: Function) -> int:
    """1: a parameter is a pointer to a function, which may be one of Python's."""
    return int(any("(*)" in p.type for p in function.parameters))


def _write_cplus(k: int, pointer: str, function: Function) -> tuple[str, str]:
    name = f'static const __ufm_char *__ufm_name() {{ return "{function.name}"; }}'
    text = f"struct __ufm_plain_{k} {{ {name} enum {{ __ufm_python = {_runs_python(function)} }}; }};"
    return text, f"__UFM_PLAIN(decltype(__ufm_plain_of<__ufm_plain_{k}>({pointer}))::template __ufm_address<{pointer}>)"


def _write_c(k: int, pointer: str, function: Function) -> tuple[str, str]:
    if "(" in function.returns:
        return "", "0"
    types = [f"__typeof__({p.spelled})" for p in function.parameters]
    result = "" if function.returns == "void" else f"__typeof__({function.returns})"
    kind = f"{result or 'void'} (*{{}})({', '.join(types) or 'void'})"
    values = ", ".join(f"*({t} *)__ufm_v[{n}]" for n, t in enumerate(types, start=1))
    taken = ", ".join(f"{t} __ufm_a{n}" for n, t in enumerate(types, start=1))
    places = ", ".join(["&__ufm_r" if result else "0", *(f"(void *)&__ufm_a{n}" for n in range(1, len(types) + 1))])
    # The address goes through a register, so that the function is not written out once more here.
    lines = [
        f"static void __ufm_run_{k}(void *__ufm_w)",
        "{",
        "    void **__ufm_v = (void **)__ufm_w;",
        f"    {kind.format('__ufm_f')} = ({kind.format('')}){pointer};",
        '    __asm__("" : "+r"(__ufm_f));',
        "    (void)__ufm_v;",
        f"    {f'*({result} *)__ufm_v[0] = ' if result else ''}__ufm_f({values});",
        "}",
        f"static {result or 'void'} __ufm_plain_{k}({taken or 'void'})",
        "{",
        *[f"    {result} __ufm_r = {{0}};"] * bool(result),
        f"    void *__ufm_v[] = {{{places}}};",
        f'    __ufm_plain_call("{function.name}", __ufm_run_{k}, __ufm_v, {_runs_python(function)});',
        *["    return __ufm_r;"] * bool(result),
        "}",
    ]
    return "\n".join(lines), f"__ufm_plain_{k}"
