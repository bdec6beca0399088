"""Functions that are no ufuncs, and kernels: pointers to them, their parameters' types as the compiler knows them.

Each type is five numbers: levels of pointers, whether the element is const, NumPy's type number, size (two bytes).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ...model import TYPES, ConstReferenceParameter, Function, Parameter, ReferenceParameter
from .. import c
from . import cuda_names

_VOID = 254
_WORDS = 5
#: NumPy's spelling of a type -> C's.
_NAMES = {np.dtype(t.char).str[1:]: t.c for t in TYPES.values()} | {"f2": "unsigned short", "void": "void"}

#: Definitions that `write_type_expressions` need, after that of ``__UFM_TYPE``.
TEMPLATES = """\
template <class... __ufm_a> struct __ufm_list {};
template <class __ufm_r, class... __ufm_a>
__device__ __ufm_list<__ufm_r, __ufm_a...> __ufm_types_of(__ufm_r (*)(__ufm_a...));
template <int __ufm_n, class __ufm_l> struct __ufm_nth;
template <class __ufm_a, class... __ufm_b>
struct __ufm_nth<0, __ufm_list<__ufm_a, __ufm_b...> > { typedef __ufm_a __ufm_it; };
template <int __ufm_n, class __ufm_a, class... __ufm_b>
struct __ufm_nth<__ufm_n, __ufm_list<__ufm_a, __ufm_b...> > : __ufm_nth<__ufm_n - 1, __ufm_list<__ufm_b...> > {};
template <class __ufm_x> struct __ufm_pointee;
template <class __ufm_x> struct __ufm_pointee<__ufm_x *> { typedef __ufm_x __ufm_it; };
template <class __ufm_x>
struct __ufm_word {
    enum { __ufm_stars, __ufm_fixed = 0, __ufm_number = __UFM_TYPE(__ufm_x), __ufm_size = sizeof(__ufm_x) };
};
template <> struct __ufm_word<void> { enum { __ufm_stars, __ufm_fixed = 0, __ufm_number = 254, __ufm_size = 0 }; };
template <class __ufm_r, class... __ufm_a> struct __ufm_word<__ufm_r(__ufm_a...)> : __ufm_word<void> {};
template <class __ufm_x> struct __ufm_word<const __ufm_x> : __ufm_word<__ufm_x> { enum { __ufm_fixed = 1 }; };
template <class __ufm_x> struct __ufm_word<volatile __ufm_x> : __ufm_word<__ufm_x> {};
template <class __ufm_x> struct __ufm_word<const volatile __ufm_x> : __ufm_word<const __ufm_x> {};
template <class __ufm_x>
struct __ufm_word<__ufm_x *> : __ufm_word<__ufm_x> { enum { __ufm_stars = __ufm_word<__ufm_x>::__ufm_stars + 1 }; };
template <class __ufm_x> struct __ufm_word<__ufm_x &> : __ufm_word<__ufm_x *> {};
"""


@dataclass(frozen=True)
class Export:
    """One function to export: its Python name and the C++ expression that calls it.

    ``overloaded`` says that its name alone does not tell which it is; ``status`` that its result goes through its
    first parameter, which is then none of it for whoever calls it here; ``instance`` which it is of the kernels of one
    name.
    """

    name: str
    function: Function
    callee: str
    overloaded: bool = False
    kernel: bool = False
    status: bool = False
    instance: str = ""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those that the export has."""
        return self.function.parameters[1:] if self.status else self.function.parameters


@dataclass(frozen=True)
class CellVariable:
    """One of the cell's ``__device__`` or ``__constant__`` variables, and how many dimensions it has."""

    name: str
    rank: int

    @property
    def expressions(self) -> list[str]:
        """Constant expressions of its type, and of the sizes of it, of a row, ... of an element."""
        steps = [self.name + "[0]" * n for n in range(self.rank + 1)]
        # In parentheses, because NVRTC refuses decltype of a __managed__ variable's name.
        word = f"__ufm_word<decltype(({steps[-1]}))>"
        sizes = [f"(int)(sizeof({step}) >> {shift} & 255)" for step in steps for shift in (0, 8, 16, 24)]
        return [f"{word}::__ufm_fixed", f"{word}::__ufm_number", *sizes]

    def make_row(self, numbers: Sequence[int], index: int) -> list[Any]:
        """Name, place in the object's table, whether it is const, type and shape, of what the compiler said."""
        fixed, number, *parts = numbers
        sizes = [int.from_bytes(bytes(parts[k : k + 4]), "little") for k in range(0, len(parts), 4)]
        element = np.dtype(TYPES[number].char).str if number in TYPES else f"|V{sizes[-1]}"
        return [self.name, index, bool(fixed), element, *(a // b for a, b in pairwise(sizes))]


def list_memory(numbers: Sequence[int], variables: Sequence[CellVariable], *, first: int) -> list[list[Any]]:
    """The `CellVariable.make_row` of each; ``first`` is the place of the first of them."""
    rows = []
    for index, variable in enumerate(variables, first):
        count = len(variable.expressions)
        rows.append(variable.make_row(numbers[:count], index))
        numbers = numbers[count:]
    return rows


def write_pointer_expression(export: Export) -> str:
    """An expression that is a pointer to the function."""
    if not export.overloaded:
        return f"&{export.callee}"
    types = ", ".join(_find_declared(p) for p in export.function.parameters)
    return f"static_cast<{export.function.returns} (*)({types})>(&{export.callee})"


def _find_declared(parameter: Parameter) -> str:
    """A parameter's type as it is declared: a reference reads as a value or as a pointer."""
    if isinstance(parameter, ConstReferenceParameter | ReferenceParameter):
        return f"{'const ' * parameter.const}{parameter.type} &"
    return parameter.spelled


def write_type_expressions(export: Export) -> list[str]:
    """Constant expressions of the types of a function's result and parameters."""
    words = []
    for n in range(len(export.parameters) + 1):
        word = f"__ufm_word<{_find_type(export, n)}>"
        words += [f"{word}::__ufm_{part}" for part in ("stars", "fixed", "number")]
        words += [f"{word}::__ufm_size & 255", f"({word}::__ufm_size >> 8) & 255"]
    return words


def _find_type(export: Export, n: int) -> str:
    """The type of the result (0) or of a parameter, in C++."""
    types = f"decltype(__ufm_types_of({write_pointer_expression(export)}))"
    if export.status:
        return (
            f"__ufm_nth<{n + 1}, {types} >::__ufm_it"
            if n
            else f"__ufm_pointee<__ufm_nth<1, {types} >::__ufm_it>::__ufm_it"
        )
    return f"__ufm_nth<{n}, {types} >::__ufm_it"


def _write_adapter(n: int, export: Export) -> str:
    """A C++ function around an export that C cannot call as it is, or ``""``."""
    if export.kernel:
        nodes = [*c.walk(c.parse_tree(export.function.text.encode(), cplus=True))]
        bounds, template = (
            next((node for node in nodes if node.type == kind), None)
            for kind in ("launch_bounds", "template_parameter_list")
        )
        most = c.take_text(bounds.named_children[0]) if bounds else "1024"
        scope = ""
        if bounds and template:
            scope = (
                f"template {c.take_text(template)} struct __ufm_bounds_{n} {{ enum {{ __ufm_most = ({most}) }}; }};\n"
            )
            most = f"__ufm_bounds_{n}{export.callee[export.callee.index('<') :]}::__ufm_most"
        return (
            f"{scope}static void __ufm_export_{n}(const unsigned *__ufm_g, const unsigned *__ufm_b, "
            "__SIZE_TYPE__ __ufm_s, void **__ufm_a) "
            f"{{ __ufm_launch({write_pointer_expression(export)}, __ufm_g, __ufm_b, __ufm_s, __ufm_a, {most}); }}"
        )
    if not export.status:
        return ""
    names = [f"__ufm_a{k}" for k in range(1, len(export.parameters) + 1)]
    taken = ", ".join(f"{_find_type(export, k)} {name}" for k, name in enumerate(names, start=1))
    kind = _find_type(export, 0)
    if export.function.parameters[0].type == "void":
        return (
            f"static void __ufm_export_{n}({taken}) {{ "
            f"if (int __ufm_status = {export.callee}({', '.join(['(void *)0', *names])})) "
            f'__ufm_fail_with("{export.function.name}", __ufm_status); }}'
        )
    return (
        f"static {kind} __ufm_export_{n}({taken}) {{ {kind} __ufm_r = {kind}(); "
        f"if (int __ufm_status = {export.callee}({', '.join(['&__ufm_r', *names])})) "
        f'__ufm_fail_with("{export.function.name}", __ufm_status); return __ufm_r; }}'
    )


def write_exports(
    exports: Sequence[Export], variables: Sequence[CellVariable], *, seed: str
) -> tuple[str, list[str], bytes]:
    """C++ for the exports of a unit: text after the cell, pointers for its table, the mark of the types' table."""
    marker = b"\x7fufm-protos:" + hashlib.sha256(seed.encode()).digest()[:16]
    numbers = [*map(str, marker), *(word for export in exports for word in write_type_expressions(export))]
    numbers += [word for variable in variables for word in variable.expressions]
    lines = [TEMPLATES]
    pointers = []
    for n, export in enumerate(exports):
        adapter = _write_adapter(n, export)
        lines += [adapter] if adapter else []
        pointers.append(f"__ufm_export_{n}" if adapter else write_pointer_expression(export).removeprefix("&"))
    pointers += [f"&{variable.name}" for variable in variables]
    lines.append(f"__attribute__((__used__)) static const unsigned char __ufm_protos[] = {{{', '.join(numbers)}}};")
    return "\n".join(lines) + "\n", pointers, marker


def read(code: bytes, exports: Sequence[Export], marker: bytes) -> tuple[list[tuple[str, ...]], bytes]:
    """The prototypes after ``marker`` in an object's bytes, see `read_numbers`, and what follows them."""
    at = code.find(marker) + len(marker)
    return read_numbers(code[at:], exports), code[at + count_of(exports) :]


def count_of(exports: Sequence[Export]) -> int:
    """How many numbers `write_type_expressions` are of all."""
    return sum(_WORDS * (len(e.parameters) + 1) for e in exports)


def read_numbers(numbers: Sequence[int], exports: Sequence[Export]) -> list[tuple[str, ...]]:
    """Prototypes: the type of the result and of each parameter, ``("void", "const f4*", "i4")``."""
    prototypes = []
    at = 0
    for export in exports:
        count = len(export.parameters) + 1
        rows = [numbers[at + _WORDS * n : at + _WORDS * (n + 1)] for n in range(count)]
        prototypes.append(tuple(_write_typestring(*row) for row in rows))
        at += _WORDS * count
    return prototypes


def _write_typestring(stars: int, fixed: int, number: int, low: int, high: int) -> str:
    if number == _VOID:
        element = "void"
    elif number in TYPES:
        element = np.dtype(TYPES[number].char).str[1:]
    else:
        element = f"V{low + 256 * high}"
    return f"{'const ' if fixed and stars else ''}{element}{'*' * stars}"


def write_declaration(export: Export, prototype: Sequence[str], *, types: str) -> str:
    """The text that cffi needs to call the function: type definitions, then its type, a line each.

    Parameters
    ----------
    prototype : sequence of str
        Types as the compiler knows them.
    types : str
        Definitions of the cell's own types.
    """
    f = export.function
    vectors = dict.fromkeys(word for word in (f.returns, *(p.type for p in f.parameters)) if word in cuda_names.VECTORS)
    lines = [
        f"typedef struct {{ {kind} {', '.join(names)}; }} {v};"
        for v in vectors
        for kind, names in [cuda_names.VECTORS[v]]
    ]
    result, *taken = prototype
    written = [_write_cffi_type(word, p.spelled) for word, p in zip(taken, export.parameters, strict=True)]
    returned = _write_cffi_type(result, f.returns)
    return "\n".join([*filter(None, [types]), *lines, f"{returned} (*)({', '.join(written) or 'void'})"])


def _write_cffi_type(word: str, spelled: str) -> str:
    """A type in C: by its number where it has one, else as the cell spells it."""
    element = _NAMES.get(word.removeprefix("const ").rstrip("*"))
    return f"{'const ' * word.startswith('const ')}{element} {'*' * word.count('*')}".strip() if element else spelled
