"""For C and C++ programs: the folder of our headers, and compiled functions as a library with a header.

The header has inline functions that call the library's tables; see docs/object-code.md.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...model import (
    OWN_TYPES,
    TYPES,
    FunctionCode,
    LoopCode,
    ObjectCode,
    SignatureError,
    TargetError,
    write_core_size,
)
from ...runtime import Build
from . import elf_names

#: Words of C++ declarations that C lacks.
_CPLUS = re.compile(r"::|[&<~]|\w\s*\((?!\s*\*)")


def get_include() -> str:
    """The folder to give to a C++ compiler with ``-I`` for ``#include <ufunc_magic/embed.hpp>``."""
    return str(pathlib.Path(__file__).parents[2] / "include")


def write_header(build: Build, path: str | pathlib.Path, *, prefix: str = "") -> tuple[pathlib.Path, pathlib.Path]:
    """Write functions of a build for C and C++ programs, which then need no Python: a header and a library.

    ``write_header(b, "fast/curve.h")`` makes ``fast/curve.h`` and ``fast/libcurve.so``; the program is linked with
    ``cc main.c -Ifast -Lfast -lcurve -Wl,-rpath,$PWD/fast``.  The header says what it has: each function under its
    name for numbers, with ``_array`` for contiguous arrays where it works by element.  Functions of several types
    have NumPy's letters in their name (``twice_d``).  One whose type C has no words for
    (``std::string``) is only named.

    Parameters
    ----------
    build : Build
        Of C, C++, Numba, or a language that is emulated on the CPU.
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
    object_code = build.object_code
    ours = [symbol for symbol in elf_names.list_exported(object_code.code) if symbol.startswith("__ufm_")]
    # Two libraries of one program would otherwise share the tables of the first.
    code, tables = elf_names.rename_symbols(object_code.code, ours, seed=header.stem + object_code.code_digest)
    text = _Header(object_code, tables, prefix).write(header.stem)
    library = header.with_name(f"lib{header.stem}.so")
    # Written under another name, then renamed: a running program has the old library mapped.
    fresh = library.with_name(f"{library.name}.new")
    fresh.write_bytes(code)
    fresh.replace(library)
    header.write_text(text, encoding="utf-8")
    return header, library


def _check(object_code: ObjectCode, stem: str, prefix: str) -> None:
    if object_code.module:
        raise TargetError(
            f"{object_code.name} is a Python extension module, so a program without Python cannot link with it.",
            remedy="Write the functions in C, or embed Python with ufunc_magic/embed.hpp.",
        )
    if not object_code.code or object_code.preload or object_code.target.format != "elf":
        raise TargetError(
            f"{object_code.name} has no ELF library to write: its target is {object_code.target}.",
            remedy="Compile the source together with the program, on Linux, or load the library through its "
            "documented tables.",
        )
    for word in (stem, f"{prefix}x"):
        if not re.fullmatch(r"[A-Za-z_]\w*", word, re.ASCII):
            raise SignatureError(f"{word!r} is not a C identifier.", remedy="Use letters, digits and underscores.")


@dataclass(frozen=True)
class _Header:
    """The header of a library.

    Attributes
    ----------
    object_code : ObjectCode
    tables : mapping
        Names of our tables, ``"__ufm_loops"`` and so on, to those in the library.
    prefix : str
        Before every function's name.
    """

    object_code: ObjectCode
    tables: Mapping[str, str]
    prefix: str

    def write(self, name: str) -> str:
        """All of it; ``name`` is the library's, without ``lib`` and ``.so``.

        Raises
        ------
        SignatureError
            If the library has no function for C.
        """
        object_code, tables = self.object_code, self.tables
        functions: list[str] = []
        types: list[str] = []
        includes = self._list_includes()
        for function in object_code.functions:
            if function.kind == "ufunc" and not function.records:
                functions += _read_comment(function)
                for loop in function.loops:
                    functions += self._write_loop(function, loop)
            elif function.declaration:
                declarations, _, prototype = function.declaration.rpartition("\n")
                if includes:  # they define what the system's headers do
                    declarations = declarations.rpartition(f"{OWN_TYPES}\n")[2]
                in_c = self._is_c(function)
                if in_c and declarations not in types:
                    types.append(declarations)
                functions += [*_read_comment(function), *self._write_plain(function, prototype, in_c=in_c)]
        if not functions:
            raise SignatureError(f"{object_code.name} has no function that C can call.")
        guard = f"UFM_{name.upper()}_H"
        externs = []
        if loops := tables.get("__ufm_loops"):
            externs.append(f"void (*const {loops}[])(char **, const ptrdiff_t *, const ptrdiff_t *, void *)")
        # Exported as pointers to void, which ISO C does not convert to functions.
        others = (tables.get("__ufm_functions"), tables.get("__ufm_scalars"))
        externs += [f"void (*const {table}[])(void)" for table in others if table]
        lines = [
            f"/* Functions of {object_code.name}, compiled by ufunc_magic for {object_code.target}.",
            f"   Link with: -L<this folder> -l{name} -Wl,-rpath,<this folder> */",
            f"#ifndef {guard}",
            f"#define {guard}",
            "#include <stdbool.h>",
            "#include <stddef.h>",
            "#include <stdint.h>",
            *includes,
            *filter(None, types),
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            *(f"extern {table};" for table in externs),
            *functions,
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "#endif",
        ]
        return "\n".join(lines) + "\n"

    def _is_c(self, function: FunctionCode) -> bool:
        return self.object_code.language == "c" or not _CPLUS.search(function.declaration)

    def _list_includes(self) -> list[str]:
        """The cell's includes, whose types its plain functions may name (``FILE``, ``struct tm``)."""
        if not any(f.declaration and self._is_c(f) for f in self.object_code.functions):
            return []
        return re.findall(r"(?m)^[ \t]*(#[ \t]*include[ \t]*<[^>\n]+\.h>)", self.object_code.source)

    def _write_loop(self, function: FunctionCode, loop: LoopCode) -> Iterator[str]:
        """A loop as a function of one item, and for element-wise ones as a function of arrays."""
        name = f"{self.prefix}{function.name}{_make_suffix(function, loop)}"
        nin, cores = function.nin, function.cores
        names = _make_names([*function.parameters[:nin], *function.results], nin + function.nout)
        # In NumPy's order, that of their first appearance.
        dims = list(dict.fromkeys(word for core in cores for word in core))
        # A number among the inputs may be the size of an output.
        numbers = {word: names[k] for word, k in function.size_operands.items()}
        sizes = [word for word in dims if word.isidentifier() and word not in numbers]
        known = {word: word for word in sizes} | numbers
        spelled = {word: write_core_size(word, known) for word in dims}
        types = _list_c_types(loop)
        returns = function.nout == 1 and not cores[-1]
        inputs = [f"const {t} *{n}" if c else f"{t} {n}" for t, n, c in zip(types, names, cores, strict=True)][:nin]
        outputs = [] if returns else [f"{t} *{n}" for t, n in zip(types[nin:], names[nin:], strict=True)]
        parameters = ", ".join([*inputs, *(f"ptrdiff_t {size}" for size in sizes), *outputs]) or "void"
        result = types[-1] if returns else "void"
        yield f"static inline {result} {name}({parameters})"
        yield "{"
        scalars = self.tables.get("__ufm_scalars")
        # C++ returns a complex long double in another way than C.
        if scalars and not function.core and not (self.object_code.language != "c" and 16 in loop.types):
            pointers = [] if returns else [f"{t} *" for t in types[nin:]]
            form = f"{result} (*)({', '.join([*types[:nin], *pointers]) or 'void'})"
            call = f"(({form}){scalars}[{loop.index}])({', '.join(names[:nin] if returns else names)})"
            yield f"    if ({scalars}[{loop.index}])"
            yield f"        return {call};" if returns else f"        {{ {call}; return; }}"
        if returns:
            yield f"    {types[-1]} {names[-1]};"
        values = [
            n if c or (k >= nin and not returns) else f"&{n}" for k, (n, c) in enumerate(zip(names, cores, strict=True))
        ]
        # Bytes between elements along each core dimension of a contiguous operand.
        strides = [
            " * ".join([f"(ptrdiff_t)sizeof({types[k]})", *(spelled[word] for word in core[n + 1 :])])
            for k, core in enumerate(cores)
            for n in range(len(core))
        ]
        yield from self._call(loop, values, "1", [*spelled.values()], [*("0" for _ in names), *strides])
        if returns:
            yield f"    return {names[-1]};"
        yield "}"
        if not function.core:
            arrays = [f"{'const ' * (k < nin)}{t} *{n}" for k, (t, n) in enumerate(zip(types, names, strict=True))]
            yield f"static inline void {name}_array({', '.join([*arrays, 'ptrdiff_t ufm_count'])})"
            yield "{"
            yield from self._call(loop, names, "ufm_count", [], [f"sizeof({t})" for t in types])
            yield "}"

    def _call(
        self, loop: LoopCode, values: Sequence[str], count: str, dims: Sequence[str], steps: Sequence[str]
    ) -> Iterator[str]:
        """The call of a loop by NumPy's convention for them, PyUFuncGenericFunction."""
        yield f"    char *ufm_values[] = {{{', '.join(f'(char *){value}' for value in values)}}};"
        yield f"    const ptrdiff_t ufm_sizes[] = {{{', '.join([count, *dims])}}};"
        yield f"    const ptrdiff_t ufm_steps[] = {{{', '.join(steps)}}};"
        yield f"    {self.tables['__ufm_loops']}[{loop.index}](ufm_values, ufm_sizes, ufm_steps, 0);"

    def _write_plain(self, function: FunctionCode, prototype: str, *, in_c: bool) -> Iterator[str]:
        """A plain function, called through the library's table; only named where its type is not ``in_c``."""
        entry = f"{self.tables.get('__ufm_functions', '')}[{function.index}]"
        result, _, rest = prototype.partition("(*)")
        kinds = _split_parameters(rest.strip().removeprefix("(").removesuffix(")"))
        of_result = any(")" in kind.partition("(")[0] for kind in kinds)  # it returns a function, whose list follows
        if "..." in kinds or "(" in result or of_result or not in_c:
            yield f"/* {function.name}, {prototype.replace('*/', '* /')}, is {entry}. */"
            return
        names = _make_names(function.parameters, len(kinds))
        parameters = (
            ", ".join(_declare_parameter(kind, name) for kind, name in zip(kinds, names, strict=True)) or "void"
        )
        yield f"static inline {result.strip()} {self.prefix}{function.name}({parameters})"
        yield "{"
        yield f"    {'' if result.strip() == 'void' else 'return '}(({prototype}){entry})({', '.join(names)});"
        yield "}"


def _read_comment(function: FunctionCode) -> list[str]:
    """The comment above the function in its cell."""
    comment = re.sub(r"(?<=/)(?=\*)|(?<=\*)(?=/)", " ", function.doc).strip()
    return ["", f"/* {comment} */"] if comment else [""]


def _list_c_types(loop: LoopCode) -> list[str]:
    return [TYPES[number].c.replace("_Bool", "bool") for number in loop.types]


def _make_suffix(function: FunctionCode, loop: LoopCode) -> str:
    """``_dd`` where a function has several loops: NumPy's letters of the inputs, of all operands where those repeat."""
    if len(function.loops) == 1:
        return ""
    inputs = [other.types[: function.nin] for other in function.loops]
    types = loop.types if inputs.count(loop.types[: function.nin]) > 1 else loop.types[: function.nin]
    return "_" + "".join(TYPES[t].char.replace("?", "b1") for t in types)


def _make_names(own: Sequence[str], count: int) -> list[str]:
    """Make C names: ``x_`` for ``x``, since no word of C or C++ ends so, and ``operand2`` for a nameless operand."""
    names: list[str] = []
    for n, word in zip(range(count), [*own, *[""] * count], strict=False):
        free = re.fullmatch(r"[A-Za-z_]\w*", word, re.ASCII) and f"{word}_" not in names
        names.append(f"{word}_" if free else f"operand{n + 1}")
    return names


def _split_parameters(text: str) -> list[str]:
    """Split a parameter list into types, at the commas outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    kinds = [part.strip() for part in parts]
    return [] if kinds in ([""], ["void"]) else kinds


def _declare_parameter(kind: str, name: str) -> str:
    """A parameter of that type: the name goes into the declarator, ``double (*operand1)[3]``."""
    if "(*" in kind:
        return kind.replace("(*", f"(*{name}", 1)
    before, bracket, after = kind.partition("[")
    return f"{before.rstrip()} {name}{bracket}{after}"
