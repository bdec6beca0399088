"""What C and C++ programs need of us: the folder of our headers, and compiled functions as a library with a header."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from . import elfnames
from .built import Build
from .errors import SignatureError, TargetError
from .objectcode import FunctionCode, LoopCode, ObjectCode
from .signature import TYPES

__all__ = ["get_include", "header_text", "write_header"]

_TABLES = ("__ufm_loops", "__ufm_functions", "__ufm_scalars")
_WORDS = frozenset(
    "auto bool break case char class const continue default delete do double else enum extern false float for friend "
    "goto if inline int long namespace new operator private protected public register restrict return short signed "
    "sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void "
    "volatile while".split()
)


def get_include() -> str:
    """The folder to give to a C++ compiler with ``-I`` for ``#include <ufunc_magic/embed.hpp>``."""
    return str(pathlib.Path(__file__).parent / "include")


def write_header(build: Build, path: str | pathlib.Path, *, prefix: str = "") -> tuple[pathlib.Path, pathlib.Path]:
    """Write functions of a build for C and C++ programs, which then need no Python: a header and a library.

    ``write_header(b, "fast/curve.h")`` makes ``fast/curve.h`` and ``fast/libcurve.so``; the program is linked with
    ``cc main.c -Ifast -Lfast -lcurve -Wl,-rpath,$PWD/fast``.  The header says what it has: each function under its
    name for numbers, with ``_array`` for contiguous arrays where it works by element.  Functions of several types
    have NumPy's letters in their name (``twice_d``), in C++ the name alone too.

    Parameters
    ----------
    build : Build
        Of C, C++, CUDA (its emulation) or Numba.
    path : str or path
        Of the header, in a folder that exists.
    prefix : str
        Put before every name, where one would be taken in the program (``gamma`` of ``<math.h>``).

    Returns
    -------
    tuple of pathlib.Path
        The header and the library.

    Raises
    ------
    TargetError
        For a build without code for the CPU, an extension module, or a system whose libraries are not ELF.
    SignatureError
        If nothing of it can be called from C, or the file's or a function's name is no C name.
    """
    header = pathlib.Path(path)
    _check(build.object_code, header.stem, prefix)
    code, names = elfnames.renamed(build.object_code.code, _TABLES, seed=header.stem + build.object_code.code_digest)
    text = header_text(build.object_code, name=header.stem, tables=names, prefix=prefix)
    library = header.with_name(f"lib{header.stem}.so")
    # Beside and renamed: a program that runs has the old library mapped.
    fresh = library.with_name(f"{library.name}.new")
    fresh.write_bytes(code)
    fresh.replace(library)
    header.write_text(text, encoding="utf-8")
    return header, library


def _check(object_code: ObjectCode, stem: str, prefix: str) -> None:
    if object_code.module:
        raise TargetError(
            f"{object_code.name} is an extension module of Python, so a program without Python cannot link with it.",
            remedy="Write the functions in C, or embed Python with ufunc_magic/embed.hpp.",
        )
    if not object_code.code or object_code.preload or object_code.target.format != "elf":
        raise TargetError(
            f"{object_code.name} has no ELF library to write: it is for {object_code.target}.",
            remedy="Compile the source with the program, on Linux, or open the library by its documented tables.",
        )
    for word in (stem, f"{prefix}x"):
        if not re.fullmatch(r"[A-Za-z_]\w*", word, re.ASCII):
            raise SignatureError(f"{word!r} is no C name.", remedy="Use letters, digits and underscores.")


@dataclass(frozen=True)
class _Names:
    """The library's tables under their names there; ``""`` for one that it has not."""

    loops: str
    functions: str
    scalars: str


def header_text(object_code: ObjectCode, *, name: str, tables: Mapping[str, str], prefix: str = "") -> str:
    """The header of a library.

    Parameters
    ----------
    object_code : ObjectCode
    name : str
        Of the library, without ``lib`` and ``.so``.
    tables : mapping
        Names of our tables, ``"__ufm_loops"`` and so on, to those in the library.
    prefix : str

    Raises
    ------
    SignatureError
        If it has no function for C.
    """
    known = _Names(*(tables.get(table, "") for table in _TABLES))
    inside, overloads, types = [], [], []
    for function in object_code.functions:
        if function.kind == "ufunc":
            inside += _comment(function)
            for loop in function.loops:
                inside += _loop(function, loop, known, object_code, prefix)
            overloads += _overloads(function, prefix)
        elif function.kind == "plain":
            written, _, prototype = function.declaration.rpartition("\n")
            if written not in types:
                types.append(written)
            inside += [*_comment(function), *_plain(function, prototype, known, prefix)]
    if not inside:
        raise SignatureError(f"{object_code.name} has no function that C can call.")
    guard = f"UFM_{name.upper()}_H"
    loops = f"void (*const {known.loops}[])(char **, const ptrdiff_t *, const ptrdiff_t *, void *)"
    declared = [loops] if known.loops else []
    declared += [f"void *const {table}[]" for table in (known.functions, known.scalars) if table]
    lines = [
        f"/* Functions of {object_code.name}, compiled by ufunc_magic for {object_code.target}.",
        f"   Link with: -L<this folder> -l{name} -Wl,-rpath,<this folder> */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "#include <stdbool.h>",
        "#include <stddef.h>",
        *filter(None, types),
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        *(f"extern {table};" for table in declared),
        *inside,
        "#ifdef __cplusplus",
        "}",
        *overloads,
        "#endif",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def _comment(function: FunctionCode) -> list[str]:
    """The comment above the function in its cell."""
    said = function.doc.replace("*/", "* /").strip()
    return ["", f"/* {said} */"] if said else [""]


def _spelled(number: int) -> str:
    return TYPES[number].c.replace("_Bool", "bool")


def _suffix(function: FunctionCode, loop: LoopCode) -> str:
    """``_dd`` where a function has several loops: NumPy's letters of the inputs, and of the outputs where they differ."""
    if len(function.loops) == 1:
        return ""
    inputs = [other.types[: function.nin] for other in function.loops]
    types = loop.types if inputs.count(loop.types[: function.nin]) > 1 else loop.types[: function.nin]
    return "_" + "".join(TYPES[t].char.replace("?", "b1") for t in types)


def _operands(function: FunctionCode, taken: Sequence[str]) -> list[str]:
    """A C name for each operand, inputs first: its own where that is one."""
    own = [*function.parameters[: function.nin], *function.results]
    made: list[str] = []
    for n in range(function.nin + function.nout):
        word = own[n] if n < len(own) else ""
        free = re.fullmatch(r"[A-Za-z_]\w*", word, re.ASCII) and word not in _WORDS and word not in [*made, *taken]
        made.append(word if free and not word.startswith("ufm_") else f"operand{n + 1}")
    return made


def _cores(function: FunctionCode) -> tuple[list[list[str]], list[str]]:
    """The core dimensions of each operand, and all of them in NumPy's order, that of their first appearance."""
    groups = re.findall(r"\(([^()]*)\)", function.core) or [""] * (function.nin + function.nout)
    cores = [[word.strip() for word in group.split(",") if word.strip()] for group in groups]
    return cores, list(dict.fromkeys(word for core in cores for word in core))


def _loop(
    function: FunctionCode, loop: LoopCode, tables: _Names, object_code: ObjectCode, prefix: str
) -> Iterator[str]:
    """A loop as a function of one item, and for element-wise ones as a function of arrays."""
    name = f"{prefix}{function.name}{_suffix(function, loop)}"
    cores, dims = _cores(function)
    sizes = [word for word in dims if not word.isdigit()]
    names = _operands(function, sizes)
    types = [_spelled(number) for number in loop.types]
    nin = function.nin
    answers = function.nout == 1 and not cores[-1]
    inputs = [f"const {t} *{n}" if c else f"{t} {n}" for t, n, c in zip(types, names, cores, strict=True)][:nin]
    outputs = [] if answers else [f"{t} *{n}" for t, n in zip(types[nin:], names[nin:], strict=True)]
    parameters = ", ".join([*inputs, *(f"ptrdiff_t {size}" for size in sizes), *outputs]) or "void"
    result = types[-1] if answers else "void"
    yield f"static inline {result} {name}({parameters})"
    yield "{"
    # C++ returns a complex long double in another way than C.
    if tables.scalars and not function.core and not (object_code.language != "c" and 16 in loop.types):
        pointers = [f"{t} *" for t in types[nin:]] if not answers else []
        form = f"{result} (*)({', '.join([*types[:nin], *pointers]) or 'void'})"
        call = f"(({form}){tables.scalars}[{loop.index}])({', '.join(names[:nin] if answers else names)})"
        yield f"    if ({tables.scalars}[{loop.index}])"
        yield f"        return {call};" if answers else f"    {{ {call}; return; }}"
    if answers:
        yield f"    {types[-1]} {names[-1]};"
    values = [
        n if c or (k >= nin and not answers) else f"&{n}" for k, (n, c) in enumerate(zip(names, cores, strict=True))
    ]
    strides = [_core_strides(types[k], core) for k, core in enumerate(cores)]
    steps = ["0" for _ in names] + [step for one in strides for step in one]
    yield from _call(tables.loops, loop, values, "1", dims, steps)
    if answers:
        yield f"    return {names[-1]};"
    yield "}"
    if not function.core:
        arrays = [
            f"const {t} *{n}" if k < nin else f"{t} *{n}" for k, (t, n) in enumerate(zip(types, names, strict=True))
        ]
        yield f"static inline void {name}_array({', '.join([*arrays, 'ptrdiff_t ufm_count'])})"
        yield "{"
        yield from _call(tables.loops, loop, names, "ufm_count", [], [f"sizeof({t})" for t in types])
        yield "}"


def _core_strides(kind: str, core: Sequence[str]) -> list[str]:
    """Bytes between elements along each core dimension of a contiguous operand."""
    return [" * ".join([f"(ptrdiff_t)sizeof({kind})", *core[n + 1 :]]) for n in range(len(core))]


def _call(
    table: str, loop: LoopCode, values: Sequence[str], count: str, dims: Sequence[str], steps: Sequence[str]
) -> Iterator[str]:
    """The call of a loop by NumPy's convention for them, PyUFuncGenericFunction."""
    yield f"    char *ufm_values[] = {{{', '.join(f'(char *){value}' for value in values)}}};"
    yield f"    const ptrdiff_t ufm_sizes[] = {{{', '.join([count, *dims])}}};"
    yield f"    const ptrdiff_t ufm_steps[] = {{{', '.join(steps)}}};"
    yield f"    {table}[{loop.index}](ufm_values, ufm_sizes, ufm_steps, 0);"


def _overloads(function: FunctionCode, prefix: str) -> Iterator[str]:
    """In C++ a function of several loops has its name alone, too."""
    if len(function.loops) < 2 or function.core or function.nout != 1 or not function.nin:
        return
    seen = set()
    for loop in function.loops:
        types = [_spelled(number) for number in loop.types]
        inputs = tuple(types[: function.nin])
        if inputs not in seen:
            names = _operands(function, ())[: function.nin]
            given = ", ".join(f"{t} {n}" for t, n in zip(inputs, names, strict=True))
            name = f"{prefix}{function.name}"
            call = f"{name}{_suffix(function, loop)}({', '.join(names)})"
            yield f"static inline {types[-1]} {name}({given}) {{ return {call}; }}"
        seen.add(inputs)


def _plain(function: FunctionCode, prototype: str, tables: _Names, prefix: str) -> Iterator[str]:
    """A plain function, called through the library's table."""
    result, _, rest = prototype.partition("(*)")
    kinds = _parameters(rest.strip().removeprefix("(").removesuffix(")"))
    if "..." in kinds or "(" in result:
        yield f"/* {function.name} is {prototype.replace('*/', '* /')}: get it from {tables.functions}[{function.index}]. */"
        return
    names = [f"operand{n + 1}" for n in range(len(kinds))]
    given = ", ".join(_declared(kind, name) for kind, name in zip(kinds, names, strict=True)) or "void"
    call = f"(({prototype}){tables.functions}[{function.index}])({', '.join(names)})"
    yield f"static inline {result.strip()} {prefix}{function.name}({given})"
    yield "{"
    yield f"    {'' if result.strip() == 'void' else 'return '}{call};"
    yield "}"


def _parameters(text: str) -> list[str]:
    """The types of a parameter list, split at the commas that stand outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    kinds = [part.strip() for part in parts]
    return [] if kinds in ([""], ["void"]) else kinds


def _declared(kind: str, name: str) -> str:
    """A parameter of that type: the name goes into the declarator, ``double (*operand1)[3]``."""
    if "(*" in kind:
        return kind.replace("(*", f"(*{name}", 1)
    before, bracket, after = kind.partition("[")
    return f"{before.rstrip()} {name}{bracket}{after}"
