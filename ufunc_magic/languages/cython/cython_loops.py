"""The loops over the functions of a Cython module: the C that is appended to the module's.

For each loop two C functions are written.  ``__ufm_call_<k>`` calls the clone that needs no Python; ``__ufm_real_<k>``
calls the function itself, holding the GIL, and reports whether it has raised.  Arrays come as pointers with
their sizes and are made typed memoryviews of.  Pure text and values.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from ...codegen import INSTRUCTIONS, Instance
from ...ir import is_declared_by
from ...model import BodyFacts, Options, Parameter, Signature, SignatureError
from .cython_function import CellText, CyFunction
from .nogil_clone import Clone
from .signature_inference import NoUfunc, TypedFunction, infer, spell_c_type


def stays_python(function: CyFunction, text: CellText) -> bool:
    """Whether Python has a function of it, and no comment asks for a ufunc in its place."""
    return function.kind != "cdef" and not text.read_annotation(function.line)


@dataclass(frozen=True)
class ModuleLoops:
    """Everything that is appended to a module.

    Attributes
    ----------
    instances : tuple of Instance
    functions : tuple of CyFunction
        What each instance calls.
    text : str
        C functions that the loops call.
    real : str
        Those that call the functions themselves and so must be in the module's unit; ``text`` is
        without them if `apart`.
    apart : bool
        ``text`` names nothing of the module: it may be compiled as a unit of its own.
    rest : tuple of NoUfunc
    cloned : frozenset of str
        C functions of the cell that have a clone.
    """

    instances: tuple[Instance, ...] = ()
    functions: tuple[CyFunction, ...] = ()
    text: str = ""
    real: str = ""
    apart: bool = False
    rest: tuple[NoUfunc, ...] = ()
    cloned: frozenset[str] = frozenset()

    @property
    def calls(self) -> frozenset[str]:
        return frozenset().union(*(instance.calls for instance in self.instances))


def plan_loops(
    functions: Sequence[CyFunction],
    *,
    cloned: Mapping[str, Clone],
    text: CellText,
    options: Options,
    without: Container[str] = (),
    whole: bool = False,
) -> ModuleLoops:
    """Decide which functions become ufuncs, and write the C that their loops call.

    Parameters
    ----------
    functions : sequence of CyFunction
        As translated; several of one name are the specialisations of a fused function.
    cloned : mapping
        The clones that need no Python, by C name.
    text : CellText
        The cell, for comments and source.
    options : Options
    without : container of str
        Functions that are to have no loop, because the C compiler rejects it.
    whole : bool
        Everything must be in the module's unit.

    Raises
    ------
    SignatureError
        If the comment of every function asks for what it cannot be.
    """
    instances: list[Instance] = []
    looped: list[CyFunction] = []
    parts: list[str] = []
    real: list[str] = []
    inferred, rest = _infer_all(functions, text, options, without)
    for typed, signature in inferred:
        function = typed.function
        # Arrays given to a function of Python's may be meant for the specialisation that has no loop.
        if function.name in rest and function.kind != "cdef":
            continue
        k = len(instances)
        clone = cloned.get(function.cname)
        called, dims = _add_sizes(signature, k, clone, function)
        instances.append(_make_instance(called, k, clone))
        looped.append(function)
        if clone:
            parts.append(_write_wrapper(f"__ufm_call_{k}", typed, signature, dims, clone=clone))
        if not clone or clone.fails:
            real.append(_write_wrapper(f"__ufm_real_{k}", typed, signature, dims, clone=None))
    bound = {instance.signature.name for instance in instances}
    arrays = any(p.type.kind == "array" for f in looped for p in f.parameters)
    code = "\n".join([*_order_clones(cloned), *parts])
    heads = [part.partition("\n{")[0] + ";" for part in real]
    apart = not (whole or options.cplus or arrays) and _is_independent("\n".join([*heads, code]))
    if apart:
        code = "\n".join([_PRELUDE, *(h.replace("static inline", _HIDDEN) for h in heads), code])
        real = [part.replace("static inline", _HIDDEN, 1) for part in real]
    else:
        code = "\n".join([*([_SLICE] if arrays else []), *real, code])
    return ModuleLoops(
        tuple(instances),
        tuple(looped),
        code,
        "\n".join(real) if apart else "",
        apart,
        tuple(r for name, r in rest.items() if name not in bound),
        frozenset(cloned),
    )


def _infer_all(
    functions: Sequence[CyFunction], text: CellText, options: Options, without: Container[str]
) -> tuple[list[tuple[TypedFunction, Signature]], dict[str, NoUfunc]]:
    """The functions that can be ufuncs with their signatures, and the others by name.

    Raises
    ------
    SignatureError
        If the comment of every function asks for what it cannot be.
    """
    inferred: list[tuple[TypedFunction, Signature]] = []
    rest: dict[str, NoUfunc] = {}
    faults: dict[str, SignatureError] = {}
    for function in functions:
        hidden = function.kind == "cdef" and not options.cdef and not text.read_annotation(function.line)
        if function.name.startswith("_") or hidden:
            continue
        typed = TypedFunction(function, text, cplus=options.cplus)
        refused = NoUfunc(function, "has a loop that the C compiler rejects") if function.name in without else None
        try:
            signature = refused or infer(typed, options)
        except SignatureError as fault:
            faults.setdefault(function.name, fault)
            why = f"{fault.marked.removeprefix(f'{typed.place}: ').rstrip('.')} ({fault.remedy})"
            signature = NoUfunc(function, f"has a comment that does not fit: {why}")
        if isinstance(signature, NoUfunc):
            rest.setdefault(function.name, signature)
        else:
            inferred.append((typed, signature))
    if faults.keys() == rest.keys() and not inferred:
        for first in faults.values():
            raise first
    return inferred, rest


def _make_instance(signature: Signature, k: int, clone: Clone | None) -> Instance:
    """The loop over a function's clone, or over the function itself, which needs Python."""
    if clone is None:
        return Instance(signature, calls=frozenset(), loops=True, checked=f"__ufm_real_{k}", python=True)
    return Instance(
        signature,
        calls=clone.calls | {f"{name}f" for name in clone.calls},
        loops=clone.loops,
        leaf=clone.calls <= INSTRUCTIONS,
        fails=clone.fails,
        checked=f"__ufm_real_{k}" if clone.fails else "",
    )


_HIDDEN = '__attribute__((__visibility__("hidden")))'
#: Declarations of the module that a clone needs.
_PRELUDE = """
#include <math.h>
#include <stdlib.h>
typedef __ufm_intp Py_ssize_t;
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
"""
#: Words of C, and variables and labels of Cython's, that mean the same without the module's declarations.
_C_WORDS = frozenset(
    "if else for while do switch case default break continue goto return sizeof static inline const void int long "
    "short char unsigned signed float double size_t Py_ssize_t _Bool __auto_type likely unlikely".split()
)
_LOCAL = re.compile(r"__pyx_(?:v_[A-Za-z_]\w*|t_\d+|r|L\w+|skip_dispatch)|__ufm_\w+")
_WORD = re.compile(r"\b[A-Za-z_]\w*")


def _is_independent(text: str) -> bool:
    """Whether ``text``, clones and what calls them, needs nothing of the module's declarations."""
    words = set(_WORD.findall(text)) - _C_WORDS
    return all(_LOCAL.fullmatch(word) or is_declared_by(word, "math.h", "stdlib.h") for word in words)


def _order_clones(cloned: Mapping[str, Clone]) -> list[str]:
    """The clones, prototypes first: a recursive one calls itself."""
    heads = [clone.text.partition("\n{")[0] + ";" for clone in cloned.values()]
    return [*heads, *(clone.text for clone in cloned.values())]


# ------------------------------------------------------------------- between a loop and a function


def _add_sizes(
    signature: Signature, k: int, clone: Clone | None, source: CyFunction
) -> tuple[Signature, tuple[str, ...]]:
    """The signature of ``__ufm_call_<k>``, which is handed every named core dimension after its own parameters."""
    function = signature.function
    dims = tuple(
        dict.fromkeys(d for o in (*signature.inputs, *signature.outputs) for d in o.core if isinstance(d, str))
    )
    count = len(function.parameters)
    parameters = (*function.parameters, *(Parameter(f"__ufm_d_{n}", "__ufm_intp") for n, _ in enumerate(dims)))
    called = replace(
        function,
        name=f"__ufm_call_{k}",
        parameters=parameters,
        body=BodyFacts(
            calls=function.body.calls,
            loops=clone.loops if clone else True,
            pure=clone.pure if clone else False,
            size=clone.size if clone else 0,
            recursive=clone.recursive if clone else False,
            truncates=source.truncates,
        ),
    )
    sizes = {**signature.sizes, **{count + n: d for n, d in enumerate(dims)}}
    return replace(signature, function=called, sizes=sizes), dims


def _write_wrapper(
    name: str, typed: TypedFunction, signature: Signature, dims: Sequence[str], *, clone: Clone | None
) -> str:
    """One of the two functions that a loop calls."""
    function, cplus = typed.function, typed.cplus
    cores = {o.index: o.core for o in (*signature.inputs, *signature.outputs)}
    sizes = {d: f"__ufm_d_{n}" for n, d in enumerate(dims)}
    parameters, arguments, shapes = [], [], []
    for n, parameter in enumerate(function.parameters):
        kind = parameter.type
        parameters.append(f"{spell_c_type(kind, cplus=cplus)} {'*' if kind.kind != 'number' else ''}__ufm_a{n}")
        if kind.kind != "array":
            arguments.append(f"__ufm_a{n}")
            continue
        shape = ", ".join(str(d) if isinstance(d, int) else sizes[d] for d in cores[n])
        shapes.append(f"const __ufm_intp __ufm_n{n}[] = {{{shape}}};")
        arguments.append(f"__ufm_slice((char *)__ufm_a{n}, sizeof(*__ufm_a{n}), {kind.ndim}, __ufm_n{n})")
    parameters += [f"{spell_c_type(t, cplus=cplus)} *__ufm_r{n}" for n, t in enumerate(typed.outputs)]
    parameters += [f"__ufm_intp {size}" for size in sizes.values()]
    if clone is None or clone.fails:
        parameters.append("int *__ufm_fault")
    arguments += ["1"] if function.skip_dispatch else []
    arguments += ["__ufm_fault"] if clone and clone.fails else []
    call = f"{clone.name if clone else function.cname}({', '.join(arguments)})"
    returns = signature.function.returns
    head = f"static inline {returns} {name}({', '.join(parameters)})"
    unused = "".join(f" (void){size};" for size in sizes.values())
    lines = [*shapes, unused.strip()]
    auto = "auto" if cplus else "__auto_type"
    result = ""
    if typed.outputs:
        lines.append(f"{auto} __ufm_t = {call};")
        lines += [f"*__ufm_r{n} = __ufm_t.f{n};" for n in range(len(typed.outputs))]
    elif returns == "void":
        lines.append(f"{call};")
    else:
        # In the function's own type, in which its error value is.
        lines.append(f"{auto} __ufm_t = {call};")
        result = "return __ufm_t;"
    if clone is None:
        lines.append(check_exception(function))
    body = "\n    ".join(filter(None, [*lines, result]))
    return f"{head}\n{{\n    {body}\n}}"


def check_exception(function: CyFunction) -> str:
    """C that notes whether a call has set an exception.  Only an error value, where there is one, asks Python."""
    if not function.raises:
        # A function that is "noexcept" and got an exception has printed and cleared it.
        return "*__ufm_fault = 0;"
    if function.value.lstrip("-")[:1].isdigit() and function.returns.kind == "number":
        return f"*__ufm_fault = __ufm_t == ({function.value}) && PyErr_Occurred();"
    return "*__ufm_fault = PyErr_Occurred() != NULL;"


#: A typed memoryview over memory that no Python object owns.  Its owner is counted and
#: never used, and no function can bring its count to zero.
_SLICE = """
static struct __pyx_memoryview_obj __ufm_owner;
__attribute__((constructor)) static void __ufm_own(void)
{
    struct __pyx_memoryview_obj *__ufm_p = &__ufm_owner;
    (void)__pyx_add_acquisition_count(__ufm_p);
}
static inline __Pyx_memviewslice __ufm_slice(
    char *__ufm_data, __ufm_intp __ufm_step, int __ufm_ndim, const __ufm_intp *__ufm_shape)
{
    __Pyx_memviewslice __ufm_v;
    int __ufm_d;
    memset(&__ufm_v, 0, sizeof __ufm_v);
    __ufm_v.memview = &__ufm_owner;
    __ufm_v.data = __ufm_data;
    for (__ufm_d = __ufm_ndim - 1; __ufm_d >= 0; __ufm_d--) {
        __ufm_v.shape[__ufm_d] = __ufm_shape[__ufm_d];
        __ufm_v.strides[__ufm_d] = __ufm_step;
        __ufm_v.suboffsets[__ufm_d] = -1;
        __ufm_step *= __ufm_shape[__ufm_d];
    }
    return __ufm_v;
}
"""
