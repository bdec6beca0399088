"""The functions of a Cython module as ufuncs: which can be, what their parameters are, and the C around them.

For each loop two C functions are written.  ``__ufm_call_<k>`` calls the copy that needs no Python; ``__ufm_real_<k>``
calls the function itself, holding the GIL, and says whether it has raised.  Arrays come as pointers with
their sizes and are made typed memoryviews of.  Pure text and values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ... import operands
from ...codegen import Instance
from ...errors import SignatureError
from ...options import Options
from ...signature import Function, Parameter, Signature, Unit
from .cell import Text
from .copies import Copy, Definition
from .symbols import CType, CyFunction

__all__ = ["Kernels", "Rest", "kernels"]

_CONSTANT = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?[uUlLfF]*")


@dataclass(frozen=True)
class Rest:
    """A function that stays what it is to Python, and why: ``reason`` completes "The function ..."."""

    function: CyFunction
    reason: str


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
        role = _Role(function, text, defined.get(function.cname), cplus=options.cplus)
        planned = _planned(role, options, defined)
        if isinstance(planned, Rest):
            rest.setdefault(function.name, planned)
            continue
        k = len(instances)
        copy = copied.get(function.cname)
        signature, sizes = _with_sizes(planned, role, k, copy)
        instances.append(
            Instance(
                signature,
                calls=copy.calls | {f"{name}f" for name in copy.calls} if copy else frozenset(),
                loops=copy.loops if copy else True,
                fails=bool(copy and copy.fails),
                checked="" if copy and not copy.fails else f"__ufm_real_{k}",
                python=copy is None,
            )
        )
        called.append(function)
        if copy:
            parts.append(_wrapper(f"__ufm_call_{k}", role, planned, sizes, copy=copy))
        if not copy or copy.fails:
            real.append(_wrapper(f"__ufm_real_{k}", role, planned, sizes, copy=None))
    bound = {instance.signature.name for instance in instances}
    arrays = any(p.type.kind == "array" for f in called for p in f.parameters)
    code = "\n".join([*_texts(copied), *parts])
    apart = not (whole or options.cplus or arrays) and _stands_alone(code, copied.values(), instances)
    if apart:
        heads = [part.partition("\n{")[0] + ";" for part in real]
        code = "\n".join([_PRELUDE, *(h.replace("static inline", _HIDDEN) for h in heads), code])
        real = [part.replace("static inline", _HIDDEN, 1) for part in real]
    else:
        code = "\n".join([*([_SLICE] if arrays else []), *real, code])
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


# ----------------------------------------------------------------------------- what a function is


@dataclass(frozen=True)
class _Role:
    """A function with what the cell's text and its C say of it."""

    function: CyFunction
    text: Text
    definition: Definition | None
    cplus: bool
    #: Outputs that a ctuple holds stand behind the parameters, as pointers.
    outputs: tuple[CType, ...] = field(init=False)

    def __post_init__(self) -> None:
        returned = self.function.returns
        object.__setattr__(self, "outputs", returned.fields if returned.kind == "tuple" else ())

    @property
    def place(self) -> str:
        return f"{self.function.name} (line {self.function.line})"


def _planned(role: _Role, options: Options, defined: Mapping[str, Definition]) -> Signature | Rest:
    function = role.function
    annotation = role.text.annotation(function.line)
    reason = _reason(function)
    if reason:
        if annotation:
            raise SignatureError(
                f"{role.place}: '# ufunc: {annotation}' asks for a ufunc, but the function {reason}.",
                remedy="Give it typed parameters and a typed result, or take the comment away.",
            )
        return Rest(function, reason)
    described = Function(
        name=function.name,
        returns="void" if role.outputs or function.returns.kind == "void" else _c(function.returns, cplus=role.cplus),
        parameters=(
            *(_parameter(p.name, p.type, role, line=function.line) for p in function.parameters),
            *(
                Parameter(f"out{n}", _c(t, cplus=role.cplus), pointer=1, access="write")
                for n, t in enumerate(role.outputs, 1)
            ),
        ),
        line=function.line,
        text=role.text.definition(function.line),
        doc=function.doc or role.text.comment(function.line),
        annotation=annotation or _evident(function),
    )
    taken = [p.name for p in function.parameters if p.type.kind == "array"]
    if taken and _wants_owner(function.cname, defined):
        return Rest(function, f"uses the array '{taken[0]}' as a Python object")
    if taken and not (annotation or _evident(function)):
        return Rest(
            function, f"takes the array '{taken[0]}', and no # ufunc: (n)->() above it says its core dimensions"
        )
    try:
        signatures, plains = operands.plan(
            Unit(functions=(described,)), options=replace(options, signature="", types="")
        )
    except SignatureError as fault:
        raise SignatureError(_cython(fault.message), remedy=_cython(fault.remedy)) from None
    if plains:
        why = plains[0]
        speaks_of_it = why.reason.split(" ", 1)[0] in ("gives", "takes", "has", "returns")
        reason = why.reason if speaks_of_it else f"has a parameter that cannot be an operand: {why.reason}"
        return Rest(function, _cython(f"{reason}{f' ({why.remedy})' if why.remedy else ''}"))
    _check_ranks(signatures[0], role)
    # A memoryview knows its size.
    pointers = any(p.type.kind == "pointer" for p in function.parameters)
    notes = tuple(n for n in signatures[0].notes if pointers or not n.startswith("No integer parameter"))
    return replace(signatures[0], notes=notes)


def _wants_owner(cname: str, defined: Mapping[str, Definition], seen: frozenset[str] = frozenset()) -> bool:
    """Whether C asks for the object behind a memoryview, which the loops' memoryviews do not have."""
    if cname not in defined or cname in seen:
        return False
    body = defined[cname].body
    if re.search(r"__pyx_memoryview_(?!slice_memviewslice)|__pyx_memview_slice|\.memview\)? ?->", body):
        return True
    called = set(re.findall(r"\b(__pyx_(?:f|fuse)_\w+)\(", body)) & defined.keys()
    return any(_wants_owner(name, defined, seen | {cname}) for name in called)


def _cython(message: str) -> str:
    return message.replace("// ufunc:", "# ufunc:")


def _reason(function: CyFunction) -> str:
    """Why it can be no ufunc, whatever its comment says; ``""`` if it can."""
    if function.varargs:
        return "takes *args, **kwargs or keywords"
    for parameter in function.parameters:
        if parameter.default:
            return f"has a default value, for '{parameter.name}'"
        if parameter.type.kind == "object":
            return f"takes a Python object, '{parameter.name}'"
        if parameter.type.kind not in ("number", "array", "pointer"):
            return f"takes a {parameter.type.shown}, '{parameter.name}'"
    if not function.parameters:
        return "takes no input"
    if function.returns.kind == "object" or not function.cname:
        return "returns a Python object"
    if function.returns.kind not in ("number", "tuple", "void"):
        return f"returns a {function.returns.shown}"
    return ""


def _evident(function: CyFunction) -> str:
    """The signature of a ``cdef`` function of one array that returns a number: nothing else could be meant."""
    arrays = [p for p in function.parameters if p.type.kind == "array"]
    others = [p for p in function.parameters if p.type.kind == "pointer"]
    if function.kind != "cdef" or len(arrays) != 1 or others or function.returns.kind != "number":
        return ""
    dims = ",".join(("k", "l", "m", "n")[-arrays[0].type.ndim :])
    if any(p.name in dims.split(",") for p in function.parameters):
        return ""
    groups = [f"({dims})" if p.type.kind == "array" else "()" for p in function.parameters]
    return f"{','.join(groups)}->()"


def _c(kind: CType, *, cplus: bool) -> str:
    if kind.c == "bint":
        return "bool" if cplus else "_Bool"
    return kind.c


def _parameter(name: str, kind: CType, role: _Role, *, line: int) -> Parameter:
    c = _c(kind, cplus=role.cplus)
    if kind.kind == "number":
        return Parameter(name, c, line=line)
    access, indexed = _access(name, role.definition.body if role.definition else "")
    array = kind.kind == "array"
    return Parameter(name, c, const=kind.const, pointer=1, access=access, indexed=indexed or array, line=line)


_Access = Literal["none", "read", "write", "update"]


def _access(name: str, body: str) -> tuple[_Access, bool]:
    """What C does to the elements behind a parameter, and whether to others than the first."""
    word = rf"__pyx_v_{re.escape(name)}"
    reads = writes = updates = indexed = False
    for statement in re.split(r"[;{}]", body):
        if not re.search(rf"\b{word}\b", statement):
            continue
        indexed |= bool(re.search(rf"\b{word}\[(?!0\])|\b{word} [-+]", statement))
        stored = re.match(r"\s*(?P<to>\(*\*?\(*.*?)\s*(?P<with>[-+*/|&^%]|<<|>>)?=(?!=)(?P<value>.*)", statement, re.S)
        to = stored["to"] if stored else ""
        target = bool(re.search(rf"\b{word}(?:\.data\b|\[|\))", to)) and not re.match(r"\s*__pyx_[tv]_\w+$", to)
        if target and stored:
            writes, updates = True, updates or bool(stored["with"])
            value = stored["value"]
        else:
            value = statement
        if re.search(rf"\b{word}\.data\b|\b{word}\[|\(\*{word}\)", value):
            reads = True
        if re.search(rf"[(,]\s*{word}\s*[,)]", value):
            writes = True  # handed on, to be written to for all that is known
    if writes:
        return ("update" if reads or updates else "write"), indexed
    return ("read" if reads else "none"), indexed


def _check_ranks(signature: Signature, role: _Role) -> None:
    """A typed memoryview has the number of dimensions that it is declared with."""
    for operand in (*signature.inputs, *signature.outputs):
        if not 0 <= operand.index < len(role.function.parameters):
            continue
        kind = role.function.parameters[operand.index].type
        if kind.kind == "array" and len(operand.core) != kind.ndim:
            raise SignatureError(
                f"{role.place}: '# ufunc: {role.text.annotation(role.function.line)}' gives '{operand.name}' "
                f"{len(operand.core)} dimensions, and {kind.shown} has {kind.ndim}.",
                remedy=f"Write ({','.join('klmn'[-kind.ndim :])}) for it.",
            )


# ------------------------------------------------------------------------------------ C around it


def _with_sizes(planned: Signature, role: _Role, k: int, copy: Copy | None) -> tuple[Signature, tuple[str, ...]]:
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


def _wrapper(name: str, role: _Role, planned: Signature, dims: Sequence[str], *, copy: Copy | None) -> str:
    """One of the two functions that a loop calls."""
    function, cplus = role.function, role.cplus
    cores = {o.index: o.core for o in (*planned.inputs, *planned.outputs)}
    takes, given, made = [], [], []
    for n, parameter in enumerate(function.parameters):
        kind = parameter.type
        takes.append(f"{_c(kind, cplus=cplus)} {'*' if kind.kind != 'number' else ''}__ufm_a{n}")
        if kind.kind != "array":
            given.append(f"__ufm_a{n}")
            continue
        shape = ", ".join(str(d) if isinstance(d, int) else f"__ufm_d_{d}" for d in cores[n])
        made.append(f"const __ufm_intp __ufm_n{n}[] = {{{shape}}};")
        given.append(f"__ufm_slice((char *)__ufm_a{n}, sizeof(*__ufm_a{n}), {kind.ndim}, __ufm_n{n})")
    takes += [f"{_c(t, cplus=cplus)} *__ufm_r{n}" for n, t in enumerate(role.outputs)]
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
