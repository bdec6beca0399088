"""C between a loop and a function of a Cython module: pure text.

``__ufm_call_<k>`` calls the copy that needs no Python; ``__ufm_real_<k>`` calls the function itself, holding the GIL,
and says whether it has raised.  Arrays come as pointers with their sizes and are made typed memoryviews of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...model import Parameter, Signature
from .nogil_clone import Copy
from .signature_inference import Role, c_type
from .symbol_table import CyFunction

__all__ = ["SLICE", "with_sizes", "wrapper"]

_CONSTANT = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?[uUlLfF]*")


def with_sizes(planned: Signature, role: Role, k: int, copy: Copy | None) -> tuple[Signature, tuple[str, ...]]:
    """The signature of ``__ufm_call_<k>``, which is handed every named core dimension after its own parameters."""
    function = planned.function
    dims = tuple(dict.fromkeys(d for o in (*planned.inputs, *planned.outputs) for d in o.core if isinstance(d, str)))
    count = len(function.parameters)
    parameters = (*function.parameters, *(Parameter(f"__ufm_{d}", "__ufm_intp") for d in dims))
    called = replace(
        function,
        name=f"__ufm_call_{k}",
        parameters=parameters,
        loops=copy.loops if copy else True,
        pure=copy.pure if copy else False,
        size=copy.size if copy else 0,
        recursive=copy.recursive if copy else False,
    )
    sizes = {**planned.sizes, **{count + n: d for n, d in enumerate(dims)}}
    return replace(planned, function=called, sizes=sizes), dims


def wrapper(name: str, role: Role, planned: Signature, dims: Sequence[str], *, copy: Copy | None) -> str:
    """One of the two functions that a loop calls."""
    function, cplus = role.function, role.cplus
    cores = {o.index: o.core for o in (*planned.inputs, *planned.outputs)}
    takes, given, made = [], [], []
    for n, parameter in enumerate(function.parameters):
        kind = parameter.type
        takes.append(f"{c_type(kind, cplus=cplus)} {'*' if kind.kind != 'number' else ''}__ufm_a{n}")
        if kind.kind != "array":
            given.append(f"__ufm_a{n}")
            continue
        shape = ", ".join(str(d) if isinstance(d, int) else f"__ufm_d_{d}" for d in cores[n])
        made.append(f"const __ufm_intp __ufm_n{n}[] = {{{shape}}};")
        given.append(f"__ufm_slice((char *)__ufm_a{n}, sizeof(*__ufm_a{n}), {kind.ndim}, __ufm_n{n})")
    takes += [f"{c_type(t, cplus=cplus)} *__ufm_r{n}" for n, t in enumerate(role.outputs)]
    takes += [f"__ufm_intp __ufm_d_{d}" for d in dims]
    if copy is None or copy.fails:
        takes.append("int *__ufm_fault")
    given += ["1"] if function.skip_dispatch else []
    given += ["__ufm_fault"] if copy and copy.fails else []
    call = f"{copy.name if copy else function.cname}({', '.join(given)})"
    returns = planned.function.returns
    head = f"static inline {returns} {name}({', '.join(takes)})"
    unused = "".join(f" (void)__ufm_d_{d};" for d in dims)
    lines = [*made, unused.strip()]
    result = ""
    if role.outputs:
        lines.append(f"{role.definition.returns if role.definition else ''} __ufm_t = {call};")
        lines += [f"*__ufm_r{n} = __ufm_t.f{n};" for n in range(len(role.outputs))]
    elif returns == "void":
        lines.append(f"{call};")
    else:
        # In the function's own type, in which its error value is.
        own = role.definition.returns if role.definition else returns
        lines.append(f"{own} __ufm_t = {call};")
        result = "return __ufm_t;"
    if copy is None:
        lines.append(_raised(function))
    body = "\n    ".join(filter(None, [*lines, result]))
    return f"{head}\n{{\n    {body}\n}}"


def _raised(function: CyFunction) -> str:
    """Has the call set an exception?  Only an error value, where there is one, asks Python."""
    if not function.raises:
        # A function that is "noexcept" and got an exception has printed and cleared it.
        return "*__ufm_fault = 0;"
    if _CONSTANT.fullmatch(function.value) and function.returns.kind == "number":
        return f"*__ufm_fault = __ufm_t == ({function.value}) && PyErr_Occurred();"
    return "*__ufm_fault = PyErr_Occurred() != NULL;"


#: A typed memoryview over memory that no Python object owns.  What it says to be its owner is counted and
#: never asked, and has a count that no function can bring to nothing.
SLICE = """
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
