"""Signatures to loops: writes the one translation unit that a cell is compiled in.  Pure text.

The unit is: interface, ``#line 1 "In[3]"``, the cell exactly as it is, support, SIMD declarations, one
kernel per signature and type, and three tables.  What does not depend on the cell is the driver, a unit of
its own (:func:`driver`).  ``templates/`` holds the C; this module fills its ``$`` words.  Which NumPy types
a loop has is written by the compiler into a byte table behind a marker, and read back from the object's
bytes by :func:`read_types`, so that nothing need be run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from .errors import SignatureError
from .options import Options
from .signature import Function, NumberType, Operand, Signature, Unit, number_type

__all__ = [
    "PREFIX",
    "Instance",
    "Translation",
    "c_string",
    "driver",
    "in_terms_of_t",
    "reached",
    "read_types",
    "translate",
    "types_wanted",
]

PREFIX = "__ufm_"
_MARKER = b"\x7fufm-types:"
#: Below this many syntax nodes a function is inlined into its kernel, callees and all; above, three
#: clones of it would cost more compile time than they save.  Without a loop in it, it may become SIMD code.
_INLINE_NODES = 1500
_INLINE_STRAIGHT_NODES = 5000


@dataclass(frozen=True)
class Instance:
    """One loop to be written: a signature and, for cells written in terms of T, the type T stands for."""

    signature: Signature
    type: NumberType | None = None
    #: Prefix of the renamed copy of the cell that holds the function, and the names with that prefix.
    copy: str = ""
    renamed: tuple[str, ...] = ()
    #: Everything the function calls, directly or not.
    calls: frozenset[str] = frozenset()
    #: It holds a loop, or something that it calls does.
    loops: bool = False


@dataclass(frozen=True)
class Translation:
    """A translation unit and what it will export.

    ``instances`` are in the order of the ``__ufm_loops`` table, ``plain`` (C names) in that of
    ``__ufm_functions``; ``marker`` precedes the loops' type numbers in the object's bytes.
    """

    text: str
    instances: tuple[Instance, ...]
    plain: tuple[str, ...]
    marker: bytes
    parallel: bool


def types_wanted(words: str) -> tuple[NumberType, ...]:
    """The types that ``--types`` names, narrow to wide, without repeats.

    Raises
    ------
    SignatureError
        For a word that names no type NumPy and C share.
    """
    found: dict[int, NumberType] = {}
    for word in filter(None, re.split(r"[,\s]+", words)):
        kind = number_type(word)
        if kind is None:
            raise SignatureError(f"--types: {word!r} is not a number type.", remedy="Write them as in f4,f8,i4,c16.")
        found[kind.number] = kind
    return tuple(sorted(found.values(), key=lambda t: t.rank))


def translate(
    cell: str,
    *,
    unit: Unit,
    signatures: Sequence[Signature],
    plain: Sequence[str],
    options: Options,
    name: str,
    simd: Sequence[str] = (),
    judge: int = 1,
) -> Translation:
    """Write the translation unit of a cell.

    Parameters
    ----------
    cell : str
        The cell as typed.
    unit : Unit
        What cparse read in it.
    signatures : sequence of Signature
        The functions to make loops for; several of one name are overloads.
    plain : sequence of str
        C names of functions that are exported as they are.
    options : Options
    name : str
        What diagnostics call the cell (``"In[3]"``).
    simd : sequence of str
        libm functions to declare with SIMD clones (gcc's ``simd`` attribute).
    judge : {0, 1, 2}
        Which floating-point flags reach the caller: none, those that a result shows, all.
    """
    cplus = options.cplus
    types = types_wanted(options.types)
    instances = tuple(_instances(signatures, types, unit))
    marker = _MARKER + hashlib.sha256("\0".join([cell, name, repr(options.key())]).encode()).digest()[:16]
    # Before the cell, whose macros would rewrite it.
    parts = [_template("interface.h"), *_vector_math(simd)]
    copies = dict.fromkeys((i.copy, i.type) for i in instances if i.copy)
    if copies:
        parts += [_copy(cell, prefix=prefix, kind=kind, unit=unit, name=name) for prefix, kind in copies if kind]
    else:
        parts += [f"#line 1 {c_string(name)}", cell]
    parts += ["", _template("support.h"), _template("types.hpp" if cplus else "types.h")]
    parts += _simd_declarations(simd, cplus=cplus)
    for k, instance in enumerate(instances):
        inputs, outputs = _values(k, instance.signature)
        parts.append(_types(k, instance, inputs, outputs))
    parts.append(_type_table(instances, marker))
    offset = len(marker)
    for k, instance in enumerate(instances):
        parts.append(_loop(k, instance, offset=offset, options=options, simd=simd, judge=judge))
        offset += instance.signature.nin + instance.signature.nout
    parts.append(_export(instances, plain))
    return Translation("\n".join(parts) + "\n", instances, tuple(plain), marker, bool(options.parallel))


def in_terms_of_t(unit: Unit) -> bool:
    """The cell uses T without saying what it is."""
    return "T" in unit.identifiers and "T" not in unit.typedefs and "T" not in unit.macros


def driver() -> str:
    """The driver's translation unit, C; define UFM_PARALLEL for the threaded one."""
    return _template("driver.c").replace('#include "interface.h"', _template("interface.h") + '#line 1 "driver.c"')


def read_types(code: bytes, translation: Translation) -> tuple[tuple[int, ...], ...]:
    """NumPy type numbers of every loop's operands, read from the object's bytes.

    Raises
    ------
    SignatureError
        If the object holds no such table (its data was stripped).
    """
    at = code.find(translation.marker)
    if at < 0:
        raise SignatureError("The object holds no table of types.", remedy="Do not strip its data section.")
    at += len(translation.marker)
    loops = []
    for instance in translation.instances:
        count = instance.signature.nin + instance.signature.nout
        loops.append(tuple(code[at : at + count]))
        at += count
    return tuple(loops)


def _instances(signatures: Sequence[Signature], types: Sequence[NumberType], unit: Unit) -> list[Instance]:
    made: list[Instance] = []
    for signature in signatures:
        calls = reached(signature.function, unit)
        loops = signature.function.loops or any(f.loops for f in unit.functions if f.name in calls)
        if signature.function.template:
            made += [Instance(signature, t, calls=calls, loops=loops) for t in types or types_wanted("f4,f8")]
        elif types and in_terms_of_t(unit):
            made += [
                Instance(signature, t, f"{PREFIX}{t.names[0] if t.names else t.char}_", unit.names, calls, loops)
                for t in types
            ]
        else:
            made.append(Instance(signature, calls=calls, loops=loops))
    return made


def reached(function: Function, unit: Unit) -> frozenset[str]:
    """Everything ``function`` calls, through the cell's own functions too; with T, float's variants as well."""
    own = {f.name: f.calls for f in unit.functions}
    found: set[str] = set()
    pending = set(function.calls)
    while pending:
        name = pending.pop()
        found.add(name)
        pending |= own.get(name, frozenset()) - found
    return frozenset(found | {f"{name}f" for name in found} | {name.rpartition("::")[2] for name in found})


def _copy(cell: str, *, prefix: str, kind: NumberType, unit: Unit, name: str) -> str:
    """The cell once more with T defined and everything it declares at file scope renamed.

    tgmath.h makes ``exp(T)`` the function of that type; its complex.h would define ``I``, which
    belongs to the cell.
    """
    tgmath = "" if "<tgmath.h>" in unit.includes else "#include <tgmath.h>\n"
    if tgmath and "<complex.h>" not in unit.includes and kind.kind != "c":
        tgmath += "#undef I\n"
    on = "".join(f"#define {word} {prefix}{word}\n" for word in unit.names)
    off = "".join(f"#undef {word}\n" for word in (*unit.names, *unit.macros, "T"))
    return f"{tgmath}#define T {kind.c}\n{on}#line 1 {c_string(name)}\n{cell}\n{off}"


def _vector_math(names: Sequence[str]) -> list[str]:
    """Our own vector versions, for the functions where they beat libmvec's; the header says how they bind."""
    text = _template("simdmath.h")
    wanted = [f"#define __UFM_WANT_{name} 1" for name in names if f"__UFM_WANT_{name}\n" in text]
    return [*wanted, text] if wanted else []


def _simd_declarations(names: Sequence[str], *, cplus: bool) -> list[str]:
    """Prototypes that tell gcc of libmvec's variants.

    They stand after the cell, which must include <math.h> itself: gcc joins them with its declarations.
    "const" is what makes gcc vectorize: it is true where errno and the FP environment play no part,
    which the caller has checked.
    """
    lines = []
    for name in names:
        kind = "float" if name.endswith("f") and name != "erf" else "double"
        base = name[:-1] if kind == "float" else name
        arguments = ", ".join([kind] * (2 if base in ("pow", "atan2", "hypot") else 1))
        head, tail = ('extern "C" ', " noexcept(true)") if cplus else ("", "")
        attribute = '__attribute__((__simd__("notinbranch"), __nothrow__, __leaf__, __const__))'
        # The cell may have made a macro of the name.
        lines.append(f"#undef {name}\n{head}{attribute} {kind} {name}({arguments}){tail};")
    return lines


# --------------------------------------------------------------------------------------- one loop


@dataclass(frozen=True)
class _Value:
    """One operand in generated code: ``t`` its type's name, ``n`` its place in the ufunc's operands."""

    operand: Operand
    n: int
    t: str
    output: int = -1  # place among the outputs, for outputs


def _loop(k: int, instance: Instance, *, offset: int, options: Options, simd: Sequence[str], judge: int) -> str:
    signature = instance.signature
    inputs, outputs = _values(k, signature)
    most = _INLINE_NODES if instance.loops else _INLINE_STRAIGHT_NODES
    small = signature.function.size <= most and not signature.function.recursive
    words = {
        "k": str(k),
        "name": signature.name,
        "offset": str(offset),
        "nin": str(signature.nin),
        "nout": str(signature.nout),
        "judge": str(judge),
        "clones": "__UFM_CLONES" if small else "",
        "flatten": "__UFM_FLATTEN" if small else "",
        "flatten_body": "__UFM_FLATTEN_BODY" if small else "",
        "try": "try {" if options.cplus else "",
        "catch": _CATCH if options.cplus else "",
    }
    if signature.core:
        return _generalized(instance, inputs, outputs, words)
    return _elementwise(instance, inputs, outputs, words, simd)


def _values(k: int, signature: Signature) -> tuple[list[_Value], list[_Value]]:
    inputs = [_Value(o, n, f"__ufm_t{k}_{n}") for n, o in enumerate(signature.inputs)]
    first = len(inputs)
    outputs = [_Value(o, n, f"__ufm_t{k}_{n}", n - first) for n, o in enumerate(signature.outputs, start=first)]
    return inputs, outputs


_CATCH = (
    "} catch (const std::exception &__ufm_e) { __ufm_fail(__ufm_e.what()); }"
    ' catch (...) { __ufm_fail("the C++ function threw something that is not a std::exception"); }'
)


def _types(k: int, instance: Instance, inputs: list[_Value], outputs: list[_Value]) -> str:
    """A typedef for every operand, in the cell's own words; the compiler resolves them."""
    template = instance.signature.function.template
    lines = []
    scoped = bool(template and instance.type)
    if scoped and instance.type:
        kind = _cplus_type(instance.type)
        members = "".join(f"typedef {kind} {t}; " for t in template)
        for value in (*inputs, *outputs):
            members += f"typedef {value.operand.type} o{value.n}; " if value.operand.type != "auto" else ""
        lines.append(f"struct __ufm_s{k} {{ {members}}};")
    for value in (*inputs, *outputs):
        spelled = value.operand.type
        if spelled in ("auto", "decltype(auto)"):
            spelled = f"__typeof__({_callee(instance)}({', '.join(f'*({v.t} *)0' for v in inputs)}))"
        elif scoped:
            spelled = f"__ufm_s{k}::o{value.n}"
        elif instance.copy and instance.type:
            spelled = _in_copy(spelled, instance)
        lines.append(f"typedef {spelled} {value.t};")
    return "\n".join(lines) + "\n"


def _in_copy(spelled: str, instance: Instance) -> str:
    assert instance.type is not None
    words = {name: instance.copy + name for name in instance.renamed} | {"T": instance.type.c}
    return re.sub(r"\w+", lambda m: words.get(m[0], m[0]), spelled)


def _cplus_type(kind: NumberType) -> str:
    match kind.char:
        case "?":
            return "bool"
        case "F" | "D" | "G":
            return f"std::complex<{kind.c.replace(' _Complex', '')}>"
        case _:
            return kind.c


def _callee(instance: Instance) -> str:
    function = instance.signature.function
    name = "::".join([*function.scope, instance.copy + function.name])
    if function.template and instance.type:
        name += "<" + ", ".join([_cplus_type(instance.type)] * len(function.template)) + ">"
    return name


def _call(instance: Instance, arguments: dict[int, str]) -> str:
    """The call itself; ``arguments`` maps C parameter positions to expressions."""
    ordered = ", ".join(arguments[i] for i in range(len(instance.signature.function.parameters)))
    call = f"{_callee(instance)}({ordered})"
    returned = next((n for n, o in enumerate(instance.signature.outputs) if o.index < 0), None)
    return f"{call};" if returned is None else f"__ufm_r{returned} = {call};"


def _by_address(operand: Operand, expression: str) -> str:
    return f"&{expression}" if operand.pointer else expression


def _source(value: _Value, inputs: list[_Value]) -> _Value | None:
    """The input an "inout" output starts as."""
    if value.operand.role != "inout":
        return None
    return next(i for i in inputs if i.operand.index == value.operand.index)


def _elementwise(
    instance: Instance, inputs: list[_Value], outputs: list[_Value], words: dict[str, str], simd: Sequence[str]
) -> str:
    function = instance.signature.function
    both = (*inputs, *outputs)
    # SIMD math differs from scalar libm in the last bit.  A value must not depend on its place in the
    # array, so the tail goes through a whole vector, too - where computing a copy more has no effect.
    padded = function.pure and not function.loops and any(f in simd for f in instance.calls)
    # 16 elements of four bytes and more fill whole vectors of every width; narrow ones take 64.
    pad = "(" + " && ".join(f"sizeof({v.t}) >= 4" for v in both) + " ? 16 : 64)" if padded else "1"

    def locals_(element: str) -> str:
        """Copies of inputs whose address C takes, and the outputs; ``element`` formats an input."""
        lines = [
            f"{v.t} __ufm_c{v.n} = {element.format(n=v.n)};"
            for v in inputs
            if v.operand.pointer and v.operand.role == "input"
        ]
        for v in outputs:
            source = _source(v, inputs)
            lines.append(f"{v.t} __ufm_r{v.output} = {element.format(n=source.n) if source else f'__UFM_ZERO({v.t})'};")
        return " ".join(lines)

    def call(element: str) -> str:
        given = {v.operand.index: element.format(n=v.n) for v in inputs if not v.operand.pointer}
        given |= {v.operand.index: f"&__ufm_c{v.n}" for v in inputs if v.operand.pointer}
        given |= {v.operand.index: _by_address(v.operand, f"__ufm_r{v.output}") for v in outputs}
        return _call(instance, given)

    parameters = [f"const {v.t} *__restrict __ufm_i{v.n}" for v in inputs]
    parameters += [f"{v.t} *__restrict __ufm_o{v.n}" for v in outputs]
    place = "__ufm_p[{n}] + __ufm_j * __ufm_s[{n}]"
    loads = [f"__ufm_k{v.n}[__ufm_j] = *(const {v.t} *)({place.format(n=v.n)});" for v in inputs]
    stores = [f"*({v.t} *)({place.format(n=v.n)}) = __ufm_k{v.n}[__ufm_j] = __ufm_r{v.output};" for v in outputs]
    return _fill(
        "elementwise.c",
        **words,
        pad=pad,
        kernel_parameters="".join(", " + p for p in parameters),
        kernel_arguments="".join(f", ({v.t} *)__ufm_p[{v.n}]" for v in both),
        round_down=f"__ufm_m &= -(__ufm_intp){pad};" if padded else "",
        kernel_locals=locals_("__ufm_i{n}[__ufm_j]"),
        kernel_call=call("__ufm_i{n}[__ufm_j]"),
        kernel_stores=" ".join(f"__ufm_o{v.n}[__ufm_j] = __ufm_r{v.output};" for v in outputs),
        sequence_pointers=" ".join(f"{v.t} *__ufm_k{v.n} = ({v.t} *)__ufm_kept[{v.n}];" for v in both),
        sequence_loads=" ".join(loads),
        sequence_locals=locals_("__ufm_k{n}[__ufm_j]"),
        sequence_call=call("__ufm_k{n}[__ufm_j]"),
        sequence_stores=" ".join(stores),
        reduce=_reduce(instance, inputs, outputs, cplus=bool(words["try"])),
    )


def _reduce(instance: Instance, inputs: list[_Value], outputs: list[_Value], *, cplus: bool) -> str:
    """The inner loop of ``reduce``: the running value stays in a register, or every step would wait for
    its own store."""
    signature = instance.signature
    simple = (
        signature.nin == 2
        and signature.nout == 1
        and all(not o.pointer for o in (*signature.inputs, *signature.outputs))
    )
    if not simple or (cplus and inputs[0].operand.type != outputs[0].operand.type):
        # C++ may have no conversion between them, not even for the case that never happens.
        return ""
    a, x, o = inputs[0].t, inputs[1].t, outputs[0].t
    call = _call(instance, {inputs[0].operand.index: "__ufm_r0", inputs[1].operand.index: "__ufm_k1[__ufm_j]"})
    return (
        f"if (__ufm_p[0] == __ufm_p[2] && !__ufm_s[0] && !__ufm_s[2] && __UFM_TYPE({a}) == __UFM_TYPE({o})) {{\n"
        f"        {o} __ufm_r0 = *(const {o} *)__ufm_p[2];\n"
        "        for (__ufm_j = 0; __ufm_j < __ufm_m; __ufm_j++) {\n"
        "            __ufm_k0[__ufm_j] = __ufm_r0;\n"
        f"            __ufm_k1[__ufm_j] = *(const {x} *)(__ufm_p[1] + __ufm_j * __ufm_s[1]);\n"
        f"            {call}\n"
        "            __ufm_k2[__ufm_j] = __ufm_r0;\n"
        "        }\n"
        f"        *({o} *)__ufm_p[2] = __ufm_r0;\n"
        "    } else"
    )


# ---------------------------------------------------------------------------------- generalized


def _generalized(instance: Instance, inputs: list[_Value], outputs: list[_Value], words: dict[str, str]) -> str:
    signature = instance.signature
    both = (*inputs, *outputs)
    dims = list(dict.fromkeys(d for v in both for d in v.operand.core))  # NumPy numbers them in this order
    place = {d: n for n, d in enumerate(dims)}
    given, stores, locals_ = {}, [], []
    for v in both:
        operand, t = v.operand, v.t
        if operand.role == "inout" and v.output < 0:
            continue  # C sees the output, which starts as a copy of this
        if operand.core:
            given[operand.index] = _core_argument(instance, v, place)
        elif operand.index < 0:
            locals_.append(f"{t} __ufm_r{v.output} = __UFM_ZERO({t});")
            stores.append(f"*({t} *)__ufm_p[{v.n}] = __ufm_r{v.output};")
        elif operand.pointer:
            given[operand.index] = f"({t} *)__ufm_p[{v.n}]"
        else:
            given[operand.index] = f"*({t} *)__ufm_p[{v.n}]"
    for index, dim in signature.sizes.items():
        given[index] = f"__ufm_dims[{place[dim]}]"
    sources = [_source(v, inputs) for v in outputs]
    return _fill(
        "generalized.c",
        **words,
        core=signature.core,
        locals=" ".join(locals_),
        call=_call(instance, given),
        stores=" ".join(stores),
        cores=", ".join(str(n) for v in both for n in (*(place[d] for d in v.operand.core), -1)),
        copied=", ".join(_copied(v, signature) for v in both),
        **{"from": ", ".join(str(source.n) if source else "-1" for source in sources)},
    )


def _copied(v: _Value, signature: Signature) -> str:
    """Must C work on a copy?  Yes for an input whose elements the function may change."""
    if v.output >= 0 or v.operand.role == "inout" or not v.operand.pointer:
        return "0"
    parameter = signature.function.parameters[v.operand.index]
    return "0" if parameter.const or parameter.access in ("none", "read") else "1"


def _core_argument(instance: Instance, v: _Value, place: dict[int | str, int]) -> str:
    """The core as its parameter's type: ``double r[3][3]`` takes a pointer to rows."""
    shape = instance.signature.function.parameters[v.operand.index].shape
    rows = "".join(f"[{d}]" if isinstance(d, int) else f"[__ufm_dims[{place[d]}]]" for d in shape[1:])
    return f"({v.t} (*){rows})__ufm_p[{v.n}]" if rows else f"({v.t} *)__ufm_p[{v.n}]"


# -------------------------------------------------------------------------------------- tables


def _type_table(instances: Sequence[Instance], marker: bytes) -> str:
    """The loops' types, as the compiler knows them, behind a marker that is found in the object's bytes."""
    numbers = list(map(str, marker))
    for k, instance in enumerate(instances):
        inputs, outputs = _values(k, instance.signature)
        numbers += [f"__UFM_TYPE({v.t})" for v in (*inputs, *outputs)]
    return f"__attribute__((__used__)) static const __ufm_byte __ufm_types[] = {{{', '.join(numbers)}}};\n"


def _export(instances: Sequence[Instance], plain: Sequence[str]) -> str:
    loops = ", ".join(f"__ufm_loop_{k}" for k in range(len(instances))) or "0"
    functions = ", ".join(f"(void *){name}" for name in plain) or "0"
    kind = "void (*const __ufm_loops[])(__ufm_char **, const __ufm_intp *, const __ufm_intp *, void *)"
    return (
        f"__UFM_BEGIN_C\nextern __UFM_EXPORT {kind};\nextern __UFM_EXPORT void *const __ufm_functions[];\n__UFM_END_C\n"
        f"{kind} = {{{loops}}};\nvoid *const __ufm_functions[] = {{{functions}}};"
    )


def c_string(text: str) -> str:
    """``text`` as a C string literal."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


@cache
def _template(name: str) -> str:
    return files("ufunc_magic").joinpath("templates", name).read_text(encoding="utf-8")


def _fill(template: str, /, **words: str) -> str:
    """A template with its words filled in; lines left empty are dropped."""
    text = Template(_template(template)).substitute(words)
    return "\n".join(line for line in text.split("\n") if line.strip()) + "\n"
