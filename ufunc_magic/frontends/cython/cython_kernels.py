"""The functions of a Cython module as loops: what is appended to its C.

For each loop two C functions are written.  ``__ufm_call_<k>`` calls the copy that needs no Python; ``__ufm_real_<k>``
calls the function itself, holding the GIL, and says whether it has raised.  Arrays come as pointers with
their sizes and are made typed memoryviews of.  Pure text and values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...codegen import INSTRUCTIONS, Instance
from ...model import Options
from .cell_text import Text
from .loop_wrappers import SLICE, with_sizes, wrapper
from .nogil_clone import Copy, Definition
from .signature_inference import Rest, Role, planned
from .symbol_table import CyFunction

__all__ = ["Kernels", "kernels"]


@dataclass(frozen=True)
class Kernels:
    """Everything that is appended to a module.

    Attributes
    ----------
    instances : tuple of Instance
    functions : tuple of CyFunction
        What each instance calls.
    text : str
        C functions that the loops call.
    real : str
        Of those, the ones that call the functions themselves and so must stand in the module's unit; ``text`` is
        without them if `apart`.
    apart : bool
        ``text`` names nothing of the module: it may be compiled beside it.
    rest : tuple of Rest
    """

    instances: tuple[Instance, ...] = ()
    functions: tuple[CyFunction, ...] = ()
    text: str = ""
    real: str = ""
    apart: bool = False
    rest: tuple[Rest, ...] = ()

    @property
    def calls(self) -> frozenset[str]:
        return frozenset().union(*(instance.calls for instance in self.instances))


def kernels(
    functions: Sequence[CyFunction],
    *,
    defined: Mapping[str, Definition],
    copied: Mapping[str, Copy],
    text: Text,
    options: Options,
    whole: bool = False,
) -> Kernels:
    """Decide what becomes a ufunc, and write what its loops call.

    Parameters
    ----------
    functions : sequence of CyFunction
        As translated; several of one name are the specialisations of a fused function.
    defined, copied : mapping
        The C of each function, and the copies that need no Python, by C name.
    text : Text
        The cell, for comments and source.
    options : Options
    whole : bool
        Everything must stand in the module's unit.

    Raises
    ------
    SignatureError
        If a comment asks for what its function cannot be.
    """
    instances: list[Instance] = []
    called: list[CyFunction] = []
    parts: list[str] = []
    real: list[str] = []
    rest: dict[str, Rest] = {}
    for function in functions:
        if function.name.startswith("_"):
            continue
        role = Role(function, text, defined.get(function.cname), cplus=options.cplus)
        found = planned(role, options, defined)
        if isinstance(found, Rest):
            rest.setdefault(function.name, found)
            continue
        k = len(instances)
        copy = copied.get(function.cname)
        signature, sizes = with_sizes(found, role, k, copy)
        instances.append(
            Instance(
                signature,
                calls=copy.calls | {f"{name}f" for name in copy.calls} if copy else frozenset(),
                loops=copy.loops if copy else True,
                leaf=copy is not None and copy.calls <= INSTRUCTIONS,
                fails=bool(copy and copy.fails),
                checked="" if copy and not copy.fails else f"__ufm_real_{k}",
                python=copy is None,
            )
        )
        called.append(function)
        if copy:
            parts.append(wrapper(f"__ufm_call_{k}", role, found, sizes, copy=copy))
        if not copy or copy.fails:
            real.append(wrapper(f"__ufm_real_{k}", role, found, sizes, copy=None))
    bound = {instance.signature.name for instance in instances}
    arrays = any(p.type.kind == "array" for f in called for p in f.parameters)
    code = "\n".join([*_texts(copied), *parts])
    apart = not (whole or options.cplus or arrays) and _stands_alone(code, copied.values(), instances)
    if apart:
        heads = [part.partition("\n{")[0] + ";" for part in real]
        code = "\n".join([_PRELUDE, *(h.replace("static inline", _HIDDEN) for h in heads), code])
        real = [part.replace("static inline", _HIDDEN, 1) for part in real]
    else:
        code = "\n".join([*([SLICE] if arrays else []), *real, code])
    return Kernels(
        tuple(instances),
        tuple(called),
        code,
        "\n".join(real) if apart else "",
        apart,
        tuple(r for name, r in rest.items() if name not in bound),
    )


_HIDDEN = '__attribute__((__visibility__("hidden")))'
#: What a copy needs of what stands before it in the module.
_PRELUDE = """
#include <math.h>
#include <stdlib.h>
typedef __ufm_intp Py_ssize_t;
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
"""
#: Types that mean the same without the module's declarations, and locals of Cython's.
_C_TYPES = frozenset(
    "char;signed char;unsigned char;short;unsigned short;int;unsigned int;long;unsigned long;long long;"
    "unsigned long long;float;double;long double;Py_ssize_t;size_t;_Bool;void".split(";")
)
_C_WORDS = frozenset(
    "if else for while do switch case default break continue goto return sizeof static inline const void int long "
    "short char unsigned signed float double size_t Py_ssize_t _Bool likely unlikely".split()
)
_LOCAL = re.compile(r"__pyx_(?:v_[A-Za-z_]\w*|t_\d+|r|L\w+|skip_dispatch)")
_LIBM = re.compile(
    r"(?:a?(?:sin|cos|tan)h?|atan2|exp|exp2|expm1|log|log2|log10|log1p|logb|ilogb|pow|sqrt|cbrt|hypot|floor|ceil|round|"
    r"l?l?r(?:ound|int)|nearbyint|trunc|f(?:abs|mod|min|max|dim|ma)|remainder|erfc?|[tl]gamma|j[01n]|y[01n]|copysign|"
    r"nextafter|ldexp|scalbl?n)[fl]?|l?l?abs"
)


def _stands_alone(text: str, copied: Iterable[Copy], instances: Sequence[Instance]) -> bool:
    """Whether ``text`` is C that needs nothing of the module's declarations."""
    own = {copy.name for copy in copied}
    called = set().union(*(copy.calls for copy in copied))
    if not all(_LIBM.fullmatch(name) or name.startswith(("__pyx_f_", "__pyx_fuse_")) for name in called):
        return False
    types = {o.type for i in instances for o in (*i.signature.inputs, *i.signature.outputs)}
    words = set(re.findall(r"\b[A-Za-z_]\w*", text)) - _C_WORDS - own
    known = all(_LOCAL.fullmatch(w) or _LIBM.fullmatch(w) or w.startswith("__ufm_") for w in words)
    return known and types <= _C_TYPES


def _texts(copied: Mapping[str, Copy]) -> list[str]:
    """The copies, prototypes first: a recursive one calls itself."""
    heads = [copy.text.partition("\n{")[0] + ";" for copy in copied.values()]
    return [*heads, *(copy.text for copy in copied.values())]
