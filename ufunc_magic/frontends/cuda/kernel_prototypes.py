"""Functions that are no ufuncs, and kernels: pointers to them, their parameters' types as the compiler knows them.

Each type is five numbers: levels of pointers, whether the element is const, NumPy's type number, size (two bytes).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...model import TYPES, Function, Parameter
from .. import c

_VOID = 254
_WORDS = 5
#: NumPy's spelling of a type -> C's.
_NAMES = {np.dtype(t.char).str[1:]: t.c for t in TYPES.values()} | {"f2": "unsigned short", "void": "void"}

#: What `expressions` need, behind the definition of ``__UFM_TYPE``.
TEMPLATES = """\
template <class... A> struct __ufm_list {};
template <class R, class... A> __device__ __ufm_list<R, A...> __ufm_types_of(R (*)(A...));
template <int N, class L> struct __ufm_nth;
template <class A, class... B> struct __ufm_nth<0, __ufm_list<A, B...> > { typedef A type; };
template <int N, class A, class... B>
struct __ufm_nth<N, __ufm_list<A, B...> > : __ufm_nth<N - 1, __ufm_list<B...> > {};
template <class X> struct __ufm_pointee;
template <class X> struct __ufm_pointee<X *> { typedef X type; };
template <class X> struct __ufm_word { enum { stars = 0, fixed = 0, number = __UFM_TYPE(X), size = sizeof(X) }; };
template <> struct __ufm_word<void> { enum { stars = 0, fixed = 0, number = 254, size = 0 }; };
template <class X> struct __ufm_word<const X> : __ufm_word<X> { enum { fixed = 1 }; };
template <class X> struct __ufm_word<volatile X> : __ufm_word<X> {};
template <class X> struct __ufm_word<const volatile X> : __ufm_word<const X> {};
template <class X> struct __ufm_word<X *> : __ufm_word<X> { enum { stars = __ufm_word<X>::stars + 1 }; };
template <class X> struct __ufm_word<X &> : __ufm_word<X *> {};
"""


@dataclass(frozen=True)
class Export:
    """One function to export: its Python name and the C++ expression that calls it.

    ``overloaded`` says that its name alone does not tell which it is; ``status`` that its result goes through its
    first parameter, which is then none of it for whoever calls it here.
    """

    name: str
    function: Function
    callee: str
    overloaded: bool = False
    kernel: bool = False
    status: bool = False

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those that the export has."""
        return self.function.parameters[1:] if self.status else self.function.parameters


def pointed(export: Export) -> str:
    """An expression that is a pointer to the function."""
    if not export.overloaded:
        return f"&{export.callee}"
    types = ", ".join(p.spelled for p in export.function.parameters)
    return f"static_cast<{export.function.returns} (*)({types})>(&{export.callee})"


def expressions(export: Export) -> list[str]:
    """Constant expressions of the types of a function's result and parameters."""
    words = []
    for n in range(len(export.parameters) + 1):
        word = f"__ufm_word<{_type(export, n)}>"
        words += [f"{word}::{part}" for part in ("stars", "fixed", "number")]
        words += [f"{word}::size & 255", f"({word}::size >> 8) & 255"]
    return words


def _type(export: Export, n: int) -> str:
    """The type of the result (0) or of a parameter, in C++."""
    types = f"decltype(__ufm_types_of({pointed(export)}))"
    if export.status:
        return f"__ufm_nth<{n + 1}, {types} >::type" if n else f"__ufm_pointee<__ufm_nth<1, {types} >::type>::type"
    return f"__ufm_nth<{n}, {types} >::type"


def _adapter(n: int, export: Export) -> str:
    """A C++ function around an export that C cannot call as it is, or ``""``."""
    if export.kernel:
        return (
            f"static void __ufm_export_{n}(const unsigned *__ufm_g, const unsigned *__ufm_b, __SIZE_TYPE__ __ufm_s, "
            f"void **__ufm_a) {{ __ufm_launch({pointed(export)}, __ufm_g, __ufm_b, __ufm_s, __ufm_a); }}"
        )
    if not export.status:
        return ""
    names = [f"__ufm_a{k}" for k in range(1, len(export.parameters) + 1)]
    taken = ", ".join(f"{_type(export, k)} {name}" for k, name in enumerate(names, start=1))
    kind = _type(export, 0)
    return (
        f"static {kind} __ufm_export_{n}({taken}) {{ {kind} __ufm_r = {kind}(); "
        f"if (int __ufm_status = {export.callee}({', '.join(['&__ufm_r', *names])})) "
        f'__ufm_fail_with("{export.function.name}", __ufm_status); return __ufm_r; }}'
    )


def exports_text(exports: Sequence[Export], *, seed: str) -> tuple[str, list[str], bytes]:
    """C++ for the exports of a unit: text behind the cell, pointers for its table, what marks the types' table."""
    marker = b"\x7fufm-protos:" + hashlib.sha256(seed.encode()).digest()[:16]
    numbers = [*map(str, marker), *(word for export in exports for word in expressions(export))]
    lines = [TEMPLATES]
    pointers = []
    for n, export in enumerate(exports):
        adapter = _adapter(n, export)
        lines += [adapter] if adapter else []
        pointers.append(f"__ufm_export_{n}" if adapter else pointed(export).removeprefix("&"))
    lines.append(f"__attribute__((__used__)) static const unsigned char __ufm_protos[] = {{{', '.join(numbers)}}};")
    return "\n".join(lines) + "\n", pointers, marker


def read(code: bytes, exports: Sequence[Export], marker: bytes) -> list[tuple[str, ...]]:
    """The prototypes behind ``marker`` in an object's bytes; see `read_numbers`."""
    at = code.find(marker) + len(marker)
    count = sum(_WORDS * (len(e.parameters) + 1) for e in exports)
    return read_numbers(code[at : at + count], exports)


def read_numbers(numbers: Sequence[int], exports: Sequence[Export]) -> list[tuple[str, ...]]:
    """Prototypes: the type of the result and of each parameter, ``("void", "const f4*", "i4")``."""
    prototypes = []
    at = 0
    for export in exports:
        count = len(export.parameters) + 1
        rows = [numbers[at + _WORDS * n : at + _WORDS * (n + 1)] for n in range(count)]
        prototypes.append(tuple(_typestring(*row) for row in rows))
        at += _WORDS * count
    return prototypes


def _typestring(stars: int, fixed: int, number: int, low: int, high: int) -> str:
    if number == _VOID:
        element = "void"
    elif number in TYPES:
        element = np.dtype(TYPES[number].char).str[1:]
    else:
        element = f"V{low + 256 * high}"
    return f"{'const ' if fixed and stars else ''}{element}{'*' * stars}"


def declaration(export: Export, prototype: Sequence[str], *, types: str) -> str:
    """What cffi needs to call the function: type definitions, then its type, a line each.

    Parameters
    ----------
    prototype : sequence of str
        Types as the compiler knows them.
    types : str
        Definitions of the cell's own types.
    """
    f = export.function
    vectors = dict.fromkeys(word for word in (f.returns, *(p.type for p in f.parameters)) if word in c.VECTORS)
    lines = [f"typedef struct {{ {kind} {', '.join(names)}; }} {v};" for v in vectors for kind, names in [c.VECTORS[v]]]
    result, *taken = prototype
    written = [_cffi(word, p.spelled) for word, p in zip(taken, export.parameters, strict=True)]
    returned = _cffi(result, f.returns)
    return "\n".join([*filter(None, [types]), *lines, f"{returned} (*)({', '.join(written) or 'void'})"])


def _cffi(word: str, spelled: str) -> str:
    """A type in C: by its number where it has one, else as the cell spells it."""
    element = _NAMES.get(word.removeprefix("const ").rstrip("*"))
    return f"{'const ' * word.startswith('const ')}{element} {'*' * word.count('*')}".strip() if element else spelled
