"""Compiled functions as text for C and C++: prototypes, and inline functions that call a library's tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...model import TYPES, FunctionCode, LoopCode, ObjectCode, SignatureError

__all__ = ["TABLES", "header_text"]

#: What our libraries export for callers in C; see docs/object-code.md.
TABLES = ("__ufm_loops", "__ufm_functions", "__ufm_scalars")
_WORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class "
    "co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype "
    "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int "
    "long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch "
    "template this thread_local throw true try typedef typeid typename typeof union unsigned using virtual void "
    "volatile wchar_t while xor xor_eq".split()
)
#: Types that the header has of itself.
_KNOWN = re.compile(
    r"_Bool|_Complex|size_t|ptrdiff_t|u?int(?:_least|_fast)?(?:8|16|32|64)_t|u?int(?:ptr|max)_t|wchar_t"
)
#: What C++ writes in the declarations of its functions and structs, and C does not.
_CPLUS = re.compile(r"::|[&<~]|\w\s*\((?!\s*\*)")


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
    known = _Names(*(tables.get(table, "") for table in TABLES))
    inside: list[str] = []
    overloads: list[str] = []
    types: list[str] = []
    for function in object_code.functions:
        if function.kind == "ufunc":
            inside += _comment(function)
            for loop in function.loops:
                inside += _loop(function, loop, known, object_code, prefix)
            overloads += _overloads(function, prefix)
        elif function.kind == "plain":
            written, _, prototype = function.declaration.rpartition("\n")
            in_c = object_code.language == "c" or not _CPLUS.search(function.declaration)
            if in_c and written not in types:
                types.append(written)
            inside += [*_comment(function), *_plain(function, prototype, known, prefix, in_c=in_c)]
    if not inside:
        raise SignatureError(f"{object_code.name} has no function that C can call.")
    guard = f"UFM_{name.upper()}_H"
    loops = f"void (*const {known.loops}[])(char **, const ptrdiff_t *, const ptrdiff_t *, void *)"
    declared = [loops] if known.loops else []
    # Exported as pointers to void, which ISO C does not convert to functions.
    declared += [f"void (*const {table}[])(void)" for table in (known.functions, known.scalars) if table]
    lines = [
        f"/* Functions of {object_code.name}, compiled by ufunc_magic for {object_code.target}.",
        f"   Link with: -L<this folder> -l{name} -Wl,-rpath,<this folder> */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "#include <stdbool.h>",
        "#include <stddef.h>",
        "#include <stdint.h>",
        *_includes(object_code),
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


def _includes(object_code: ObjectCode) -> list[str]:
    """The cell's includes, where its plain functions name types that only those know (``FILE``, ``struct tm``)."""
    plain = [f.declaration for f in object_code.functions if f.kind == "plain"]
    if object_code.language != "c":
        plain = [declaration for declaration in plain if not _CPLUS.search(declaration)]
    words = {word for declaration in plain for word in re.findall(r"[A-Za-z_]\w*", declaration.rpartition("\n")[2])}
    types = "\n".join(declaration.rpartition("\n")[0] for declaration in plain)
    words = {w for w in words if w not in _WORDS and not _KNOWN.fullmatch(w) and not re.search(rf"\b{w}\b", types)}
    return re.findall(r"(?m)^[ \t]*(#[ \t]*include[ \t]*<[^>\n]+\.h>)", object_code.source) if words else []


def _comment(function: FunctionCode) -> list[str]:
    """The comment above the function in its cell."""
    said = re.sub(r"(?<=/)(?=\*)|(?<=\*)(?=/)", " ", function.doc).strip()
    return ["", f"/* {said} */"] if said else [""]


def _spelled(number: int) -> str:
    return TYPES[number].c.replace("_Bool", "bool")


def _suffix(function: FunctionCode, loop: LoopCode) -> str:
    """``_dd`` where a function has several loops: NumPy's letters of the inputs, of all operands where those repeat."""
    if len(function.loops) == 1:
        return ""
    inputs = [other.types[: function.nin] for other in function.loops]
    types = loop.types if inputs.count(loop.types[: function.nin]) > 1 else loop.types[: function.nin]
    return "_" + "".join(TYPES[t].char.replace("?", "b1") for t in types)


def _operands(function: FunctionCode, taken: Sequence[str]) -> list[str]:
    """A C name for each operand, inputs first."""
    own = [*function.parameters[: function.nin], *function.results]
    return _usable(own, function.nin + function.nout, taken)


def _usable(own: Sequence[str], count: int, taken: Sequence[str]) -> list[str]:
    """As many C names, each the operand's own where that is one and free."""
    made: list[str] = []
    for n in range(count):
        word = own[n] if n < len(own) else ""
        free = re.fullmatch(r"[A-Za-z_]\w*", word, re.ASCII) and word not in _WORDS and word not in [*made, *taken]
        made.append(word if free and not word.startswith("ufm") else f"operand{n + 1}")
    return made


def _loop(
    function: FunctionCode, loop: LoopCode, tables: _Names, object_code: ObjectCode, prefix: str
) -> Iterator[str]:
    """A loop as a function of one item, and for element-wise ones as a function of arrays."""
    name = f"{prefix}{function.name}{_suffix(function, loop)}"
    cores = function.cores
    # In NumPy's order, that of their first appearance.
    dims = list(dict.fromkeys(word for core in cores for word in core))
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
        yield f"        return {call};" if answers else f"        {{ {call}; return; }}"
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


def _plain(function: FunctionCode, prototype: str, tables: _Names, prefix: str, *, in_c: bool) -> Iterator[str]:
    """A plain function, called through the library's table; only named where its type is not ``in_c``."""
    result, _, rest = prototype.partition("(*)")
    kinds = _parameters(rest.strip().removeprefix("(").removesuffix(")"))
    if "..." in kinds or "(" in result or not in_c or not _is_one_list(rest):
        yield f"/* {function.name}, {prototype.replace('*/', '* /')}, is {tables.functions}[{function.index}]. */"
        return
    names = _usable(function.parameters, len(kinds), ())
    given = ", ".join(_declared(kind, name) for kind, name in zip(kinds, names, strict=True)) or "void"
    call = f"(({prototype}){tables.functions}[{function.index}])({', '.join(names)})"
    yield f"static inline {result.strip()} {prefix}{function.name}({given})"
    yield "{"
    yield f"    {'' if result.strip() == 'void' else 'return '}{call};"
    yield "}"


def _is_one_list(text: str) -> bool:
    """Whether it is one parameter list: behind that of a function that returns a function, its result's follows."""
    depth = [0]
    for letter in text.strip():
        depth.append(depth[-1] + (letter == "(") - (letter == ")"))
    return 0 not in depth[1:-1]


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
