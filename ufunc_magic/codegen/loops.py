"""One loop of a cell: types, kernel, sequence and plan of a signature, out of ``templates/*.c``.  Pure text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from importlib.resources import files
from string import Template

from ..model import (
    ContainerParameter,
    Options,
    ReferenceParameter,
    Signature,
    SignatureError,
    find_core_names,
    number_type,
    write_core_size,
)
from . import containers, record_layout
from .loop_types import Instance, Value, VectorMath, callee, values

#: Up to here a function costs less than copying its operands: strided arrays are computed where they are.
_DIRECT_NODES = 40

#: ``MAX_CORE`` of ``templates/driver.c``.
_MOST_CORE_DIMENSIONS = 64

#: Up to here a call takes about as long as what is called.
_LEAF_NODES = 100

#: Below this many syntax nodes a function is inlined into its kernel, callees and all; above, three
#: clones of it would cost more compile time than they save.  Without a loop in it, it may become SIMD code.
_INLINE_NODES, _INLINE_STRAIGHT_NODES = 1500, 5000


def loop_text(k: int, instance: Instance, *, offset: int, options: Options, math: VectorMath) -> str:
    """Loop ``k`` of the unit.

    Parameters
    ----------
    k : int
    instance : Instance
    offset : int
        Index of its type numbers in ``__ufm_types``.
    options : Options
    math : VectorMath
    """
    signature = instance.signature
    inputs, outputs = values(k, signature)
    words = {
        "k": str(k),
        "name": signature.name,
        "offset": str(offset),
        "nin": str(signature.nin),
        "nout": str(signature.nout),
        "judge": str(math.judge),
        **_choose_clones(instance, math),
        "conversions": _write_attribute(instance),
        "try": "try {" if options.cplus else "",
        "catch": _CATCH if options.cplus else "",
    }
    if signature.core:
        return _write_generalized(instance, inputs, outputs, words)
    return _write_elementwise(instance, inputs, outputs, words, math)


def _write_attribute(instance: Instance) -> str:
    return instance.conversions and f"{instance.conversions} "


def _choose_clones(instance: Instance, math: VectorMath) -> dict[str, str]:
    """The attributes by which a kernel is compiled once for each level of the CPU (AVX2, SVE), callees and all.

    Which levels there are says ``__UFM_CLONES`` in ``templates/support.h``; the system's loader picks one by the CPU it
    runs on.  Units that are compiled with ``__UFM_ONE_TARGET`` have one target and no clones.
    """
    function = instance.signature.function
    small = (
        function.body.size <= (_INLINE_NODES if instance.loops else _INLINE_STRAIGHT_NODES)
        and not function.body.recursive
    )
    unsigned = instance.conversions == "__UFM_UNSIGNED"
    clones = "__UFM_CLONES" if instance.calls.isdisjoint(math.names) else "__UFM_CLONES_MATH"
    words = {
        "clones": "__UFM_CLONES_UNSIGNED" if unsigned else clones,
        "clones_fma": "__UFM_CLONES_UNSIGNED" if unsigned else "__UFM_CLONES_FMA",
        "flatten": "__UFM_FLATTEN",
        "flatten_body": "__UFM_FLATTEN_BODY",
    }
    return words if small else dict.fromkeys(words, "")


_CATCH = "} catch (...) { __ufm_fail_thrown(); } return 1;"


def _call(instance: Instance, arguments: dict[int, str], *, checked: bool = False, pointer: str = "") -> str:
    """The call itself, through a ``pointer`` if given; ``arguments`` maps C parameter positions to expressions."""
    ordered = [arguments[i] for i in range(len(instance.signature.function.parameters))]
    if (checked and instance.checked) or instance.fails:
        ordered.append("&__ufm_fault")
    call = f"{pointer or (checked and instance.checked) or callee(instance)}({', '.join(ordered)})"
    name = instance.signature.function.name
    if instance.signature.status:  # the result is no operand but says, if it is not 0, that the function failed
        failed = f'if (int __ufm_status = {call}) {{ __ufm_fail_with("{name}", __ufm_status); return 1; }}'
        return failed if checked else f"__ufm_fault = {call} != 0;"
    returned = [n for n, o in enumerate(instance.signature.outputs) if o.index < 0]
    if len(returned) > 1:  # std::pair, std::tuple, std::array
        parts = " ".join(f"__ufm_r{n} = std::get<{place}>(__ufm_all);" for place, n in enumerate(returned))
        call = f"{{ const auto __ufm_all = {call}; {parts} }}"
    else:
        call = _return_text(instance, returned[0], call) if returned else f"{call};"
    return f"{call} if (__ufm_fault) return 1;" if checked else call


def _return_text(instance: Instance, place: int, call: str) -> str:
    """The call of a function that returns one value, or one array."""
    signature = instance.signature
    if not signature.outputs[place].core:
        return f"__ufm_r{place} = {call};"
    fault = f"{signature.name} has returned an array of another size than its output"
    return f'if (__ufm_take({call}, __ufm_a{place}, __ufm_s{place})) {{ __ufm_fail("{fault}"); return 1; }}'


def _find_source(value: Value, inputs: list[Value]) -> Value | None:
    """The input an "inout" output starts as."""
    if value.operand.role != "inout":
        return None
    return next(i for i in inputs if i.operand.index == value.operand.index)


def _is_copied(instance: Instance, v: Value) -> bool:
    """Whether C takes the address of an input, or C++ a reference to it that is not to const."""
    parameter = instance.signature.function.parameters[v.operand.index]
    return v.operand.role == "input" and (v.operand.pointer or isinstance(parameter, ReferenceParameter))


def _declare_locals(instance: Instance, inputs: list[Value], outputs: list[Value], element: str) -> str:
    """Copies of inputs, where the call needs one, and the outputs; ``element`` formats an input."""
    lines = [f"{v.t} __ufm_c{v.n} = {element.format(n=v.n)};" for v in inputs if _is_copied(instance, v)]
    for v in outputs:
        source = _find_source(v, inputs)
        lines.append(f"{v.t} __ufm_r{v.output} = {element.format(n=source.n) if source else _write_zero(v)};")
    return " ".join(lines)


def _write_element_call(
    instance: Instance,
    inputs: list[Value],
    outputs: list[Value],
    element: str,
    *,
    checked: bool = False,
    pointer: str = "",
) -> str:
    """The call on one element, after `_declare_locals`."""
    arguments = {
        v.operand.index: "&" * v.operand.pointer + f"__ufm_c{v.n}" if _is_copied(instance, v) else element.format(n=v.n)
        for v in inputs
    }
    arguments |= {v.operand.index: "&" * v.operand.pointer + f"__ufm_r{v.output}" for v in outputs}
    return _call(instance, arguments, checked=checked, pointer=pointer)


def _write_elementwise(
    instance: Instance, inputs: list[Value], outputs: list[Value], words: dict[str, str], math: VectorMath
) -> str:
    function = instance.signature.function
    both = (*inputs, *outputs)
    # SIMD math differs from scalar libm in the last bit.  A value must not depend on its place in the array, so the
    # tail goes through a whole vector too, if computing a copy more has no effect.
    records = instance.signature.has_records
    padded = (
        function.body.pure and not records and not function.body.loops and not instance.calls.isdisjoint(math.names)
    )
    # 16 elements of four bytes and more fill whole vectors of every width; narrow ones take 64.
    pad = "(" + " && ".join(f"sizeof({v.t}) >= 4" for v in both) + " ? 16 : 64)" if padded else "1"
    locals_ = partial(_declare_locals, instance, inputs, outputs)
    call = partial(_write_element_call, instance, inputs, outputs)

    parameters = [f"const {v.t} *__restrict __ufm_i{v.n}" for v in inputs]
    parameters += [f"{v.t} *__restrict __ufm_o{v.n}" for v in outputs]
    # In variables: what is stored might, for all C knows, be one of the pointers.
    place = "__ufm_q{n} + __ufm_j * __ufm_d{n}"
    checked = _is_checked(instance)
    direct = (
        pad == "1"
        and not checked
        and not instance.signature.has_records
        and not instance.loops
        and function.body.size <= _DIRECT_NODES
    )
    loads = [f"const {v.t} __ufm_v{v.n} = *(const {v.t} *)({place.format(n=v.n)});" for v in inputs]
    stores = [f"*({v.t} *)({place.format(n=v.n)}) = __ufm_r{v.output};" for v in outputs]
    place_of = "__ufm_char *__ufm_q{n} = __ufm_p[{n}]; const __ufm_intp __ufm_d{n} = __ufm_s[{n}];"
    shared = {
        "places": " ".join(place_of.format(n=v.n) for v in both),
        "loads": " ".join(loads),
        "stores": " ".join(stores),
        "sequence_locals": locals_("__ufm_v{n}"),
        "sequence_call": call("__ufm_v{n}", checked=checked),
    }
    # Elements of one array may go through either, so it must round as the kernel does.
    strided = fill("strided.c", **words, **shared) if direct else ""
    kernel = fill(
        "kernel.c",
        **words,
        **(_ONE_BY_ONE if records else _write_faults(instance)),
        kernel_parameters="".join(", " + p for p in parameters),
        kernel_arguments="".join(f", ({v.t} *)__ufm_p[{v.n}]" for v in both),
        round_down=f"__ufm_m &= -(__ufm_intp){pad};" if padded else "",
        kernel_locals=locals_("__ufm_i{n}[__ufm_j]"),
        kernel_call=call("__ufm_i{n}[__ufm_j]"),
        kernel_stores=" ".join(f"__ufm_o{v.n}[__ufm_j] = __ufm_r{v.output};" for v in outputs),
    )
    if records:
        layout, entry = _record_texts(both, k=words["k"], run="__ufm_run_records")
        return fill("record_loop.c", **words, kernel_text=kernel, layout_text=layout, record_text=entry)
    k, cplus = words["k"], bool(words["try"])
    folds = _folds(inputs, outputs, cplus=cplus)
    # A loop of its own takes gcc ten times as long as a function for one element, so few have it.
    own = checked or not has_scalar(instance) or (direct and folds)
    reduction = _reduce(instance, inputs, outputs, loads, folds=folds, cplus=cplus)
    return fill(
        "elementwise.c",
        **words,
        kernel_text="" if instance.python else kernel,
        kernel="0" if instance.python else f"__ufm_kernel_{k}",
        strided_text=strided,
        strided=f"__ufm_strided_{k}" if strided else "0",
        sequence_text=_write_sequence(inputs, outputs, {**words, **shared, **reduction}, checked=checked)
        if own
        else "",
        sequence=f"__ufm_sequence_{k}" if own else "0",
        one_text="" if own else _write_one(inputs, outputs, words),
        one="0" if own else f"__ufm_one_{k}",
        python="1" if checked else "0",
        pad=pad,
        scalar_text=_write_scalar(instance, inputs, outputs, locals_("__ufm_v{n}"), k=k, cplus=cplus),
    )


def _write_sequence(inputs: list[Value], outputs: list[Value], words: dict[str, str], *, checked: bool) -> str:
    """Write the loop that computes one element after the other, at any stride."""
    pointers = [f"{v.t} *__ufm_k{v.n} = ({v.t} *)__ufm_kept[{v.n}];" for v in (*inputs, *outputs)]
    return fill(
        "sequence.c",
        **words,
        sequence_pointers=" ".join(pointers) + " int __ufm_fault = 0;" * checked,
        keep_inputs=" ".join(f"__ufm_k{v.n}[__ufm_j] = __ufm_v{v.n};" for v in inputs),
        keep_outputs=" ".join(f"__ufm_k{v.n}[__ufm_j] = __ufm_r{v.output};" for v in outputs),
    )


def _write_one(inputs: list[Value], outputs: list[Value], words: dict[str, str]) -> str:
    """Write the function that computes one element, by the function for callers in C."""
    k, one = words["k"], len(outputs) == 1
    passes = [f"*(const {v.t} *)__ufm_p[{v.n}]" for v in inputs]
    passes += [] if one else [f"({v.t} *)__ufm_p[{v.n}]" for v in outputs]
    result = f"*({outputs[0].t} *)__ufm_p[{outputs[0].n}] = " if one else ""
    body = f"{result}__ufm_scalar_{k}({', '.join(passes)});"
    return f"static int __ufm_one_{k}(__ufm_char **__ufm_p) {{ {words['try']} {body} return 0; {words['catch']} }}"


def _record_texts(both: Sequence[Value], *, k: str, run: str) -> tuple[str, str]:
    """The layout of a loop's structures, and the function that NumPy calls for them, which calls ``run``."""
    leaves = [leaf for v in both for leaf in record_layout.write_leaves(v.n, v.t, v.operand.record)]
    items = ", ".join(f"{{sizeof({v.t}), __alignof__({v.t})}}" for v in both)
    layout = fill("record_layout.c", k=k, items=items, leaves=", ".join(leaves))
    return layout, fill("record_entry.c", k=k, run=run)


def _write_zero(v: Value) -> str:
    return f"__UFM_ZERO_RECORD({v.t})" if v.operand.record else f"__UFM_ZERO({v.t})"


def has_scalar(instance: Instance) -> bool:
    """Whether the function has a form for callers in C: one element, no Python, nothing that it could raise."""
    signature = instance.signature
    return not (signature.core or signature.has_records or instance.python or instance.fails)


def is_leaf(instance: Instance) -> bool:
    """Whether that form is worth another one for compiled callers, in which it leaves most of their registers alone.

    One that calls something would have to save them all itself.  One with a state is called where the ufunc has it: the
    object that is made first has no such forms.
    """
    small = instance.signature.function.body.size <= _LEAF_NODES and not instance.loops
    return instance.leaf and small and instance.signature.nout == 1 and has_scalar(instance)


def _write_scalar(
    instance: Instance, inputs: list[Value], outputs: list[Value], locals_: str, *, k: str, cplus: bool
) -> str:
    """The function for callers in C: inputs by value, one output returned, several through pointers.

    The cell's function may be ``inline``, a template or overloaded, so this one calls it.
    """
    if not has_scalar(instance):
        return ""
    takes = [f"{v.t} __ufm_v{v.n}" for v in inputs]
    one = len(outputs) == 1
    takes += [] if one else [f"{v.t} *__ufm_o{v.output}" for v in outputs]
    stores = "return __ufm_r0;" if one else " ".join(f"*__ufm_o{v.output} = __ufm_r{v.output};" for v in outputs)
    head = f"static {outputs[0].t if one else 'void'} __ufm_{{}}_{k}({', '.join(takes)})"
    fault = "int __ufm_fault; " if instance.signature.status else ""
    unused = "(void)__ufm_fault; " if fault else ""
    name = callee(instance)
    # gcc would write the function out once more here.  C++ has no one address of a name that is overloaded.
    small = cplus or (instance.signature.function.body.size <= _DIRECT_NODES and not instance.loops)
    pointer = "" if small else "__ufm_function"
    hidden = "" if small else f'__typeof__({name}) *{pointer} = {name}; __asm__("" : "+r"({pointer})); '
    call = _write_element_call(instance, inputs, outputs, "__ufm_v{n}", pointer=pointer)
    body = f"\n{{\n    {hidden}{fault}{locals_} {call} {unused}{stores}\n}}"
    return f"{_write_attribute(instance)}__UFM_SMALL {head.format('scalar')}{body}"


def leaf_text(k: int, instance: Instance) -> str:
    """Write the leaf of loop ``k``.  All leaves are adjacent: gcc takes 15 ms to change the calling convention."""
    inputs, outputs = values(k, instance.signature)
    takes = ", ".join(f"{v.t} __ufm_v{v.n}" for v in inputs)
    passes = ", ".join(f"__ufm_v{v.n}" for v in inputs)
    head = f"__UFM_LEAF __attribute__((__flatten__)) static {outputs[0].t} __ufm_leaf_{k}({takes})"
    return f"{_write_attribute(instance)}{head} {{ return __ufm_scalar_{k}({passes}); }}"


def _is_checked(instance: Instance) -> bool:
    """Whether the loop has a second form, which holds the GIL and raises what failed."""
    return bool(instance.checked) or instance.signature.status


def _write_faults(instance: Instance) -> dict[str, str]:
    """A variable of its own for each element keeps the loop one that can be vectorized."""
    if not (instance.fails or instance.signature.status):
        return {"fault": "", "kernel_fault": ""}
    return {"fault": "int __ufm_fault = 0;", "kernel_fault": "__ufm_failed |= __ufm_fault;"}


#: Vectors of a loop over structures may round unlike its last elements (a*b - c*d with FMA): an element is computed the
#: same way at every index.
_ONE_BY_ONE = {"fault": '__asm__ volatile("");', "kernel_fault": ""}


def _folds(inputs: list[Value], outputs: list[Value], *, cplus: bool) -> bool:
    """Whether NumPy may ``reduce`` and ``accumulate`` with it."""
    operands = [v.operand for v in (*inputs, *outputs)]
    return (
        (len(inputs), len(outputs)) == (2, 1)
        and not any(o.pointer for o in operands)
        and _may_be_one_type(operands[0].type, operands[2].type, cplus=cplus)
    )


def _reduce(
    instance: Instance, inputs: list[Value], outputs: list[Value], loads: list[str], *, folds: bool, cplus: bool
) -> dict[str, str]:
    """Write the sequence's part for ``reduce``: the running value stays in a register, or each step would wait for its
    own store.

    One loop for both: a second one takes gcc a sixth of all its time for a small function.  The assembly keeps it from
    making two of the one.
    """
    signature = instance.signature
    if _is_checked(instance) or not folds:
        return {"sequence_loads": " ".join(loads), "reduce_begin": "", "reduce_step": "", "reduce_end": ""}
    t, o = inputs[0].t, outputs[0].t
    same, step, end = "", "__ufm_r0", "__ufm_running"
    if signature.inputs[0].type != signature.outputs[0].type:
        same = f"__UFM_TYPE({t}) == __UFM_TYPE({o}) && "
        if not cplus:  # types of vectors have no conversions
            step, end = (
                f"__builtin_choose_expr(__builtin_types_compatible_p({t}, {o}), {value}, {other})"
                for value, other in ((step, end), (end, f"*({o} *)__ufm_p[2]"))
            )
    running = f"__ufm_char __ufm_reduces = {same}__ufm_p[0] == __ufm_p[2] && !__ufm_s[0] && !__ufm_s[2];"
    value = f"__ufm_reduces ? __ufm_running : *(const {t} *)(__ufm_q0 + __ufm_j * __ufm_d0)"
    return {
        "sequence_loads": f'__asm__ volatile("" : "+r"(__ufm_reduces)); const {t} __ufm_v0 = {value}; {loads[1]}',
        "reduce_begin": f"{running} {t} __ufm_running = __ufm_reduces ? *(const {t} *)__ufm_p[2] : __UFM_ZERO({t});",
        "reduce_step": f"__ufm_running = {step}; if (!__ufm_reduces)",
        "reduce_end": f"if (__ufm_reduces) *({o} *)__ufm_p[2] = {end};",
    }


def _may_be_one_type(first: str, second: str, *, cplus: bool) -> bool:
    """Whether two spellings may be of one type; C++ may have no conversion between them if they are not."""
    known = number_type(first), number_type(second)
    return first == second or (not cplus and (None in known or known[0] is known[1]))


# ---------------------------------------------------------------------------------- generalized


def _write_generalized(instance: Instance, inputs: list[Value], outputs: list[Value], words: dict[str, str]) -> str:
    signature = instance.signature
    both = (*inputs, *outputs)
    for v in both:
        if len(v.operand.core) > _MOST_CORE_DIMENSIONS:
            fault = f"{signature.name}: {v.operand.name} has {len(v.operand.core)} core dimensions"
            raise SignatureError(
                f"{fault}, and NumPy's limit is {_MOST_CORE_DIMENSIONS}.", remedy="Pass some of them as one dimension."
            )
    dims = list(dict.fromkeys(d for v in both for d in v.operand.core))  # NumPy numbers them in this order
    place = {d: n for n, d in enumerate(dims)}
    arguments, stores, locals_ = {}, [], []
    for v in both:
        operand, t = v.operand, v.t
        if operand.role == "inout" and v.output < 0:
            continue  # C sees the output, which starts as a copy of this
        parameter = signature.function.parameters[operand.index] if operand.index >= 0 else None
        if isinstance(parameter, ContainerParameter):
            pointer, count = f"__ufm_p[{v.n}]", _count_items(parameter, v, place)
            container = containers.write_container_argument(parameter, t, pointer=pointer, count=count)
            if containers.is_copied_back(parameter):
                locals_.append(f"auto __ufm_c{v.n} = {container};")
                stores.append(containers.copy_back(parameter, t, f"__ufm_c{v.n}", pointer=pointer, count=count))
                container = f"__ufm_c{v.n}"
            arguments[operand.index] = container
        elif operand.index < 0:
            if operand.core:
                count = " * ".join(f"__ufm_dims[{place[d]}]" for d in operand.core)
                locals_.append(f"{t} *const __ufm_a{v.output} = ({t} *)__ufm_p[{v.n}];")
                locals_.append(f"const __ufm_intp __ufm_s{v.output} = {count};")
                continue
            locals_.append(f"{t} __ufm_r{v.output} = {_write_zero(v)};")
            stores.append(f"*({t} *)__ufm_p[{v.n}] = __ufm_r{v.output};")
        elif operand.core:
            arguments[operand.index] = _write_core_argument(instance, v, place)
        elif operand.pointer:
            arguments[operand.index] = f"({t} *)__ufm_p[{v.n}]"
        else:
            arguments[operand.index] = f"*({t} *)__ufm_p[{v.n}]"
    for index, dim in signature.sizes.items():
        arguments[index] = f"__ufm_dims[{place[dim]}]"
    for dim, operand in signature.size_operands.items():
        if dim in place:
            arguments[operand.index] = f"__ufm_dims[{place[dim]}]"
    sources = [_find_source(v, inputs) for v in outputs]
    local, stored = " ".join(locals_), " ".join(stores)
    call, checked_call = (_call(instance, arguments, checked=checked) for checked in (False, True))
    item = fill("item.c", **words, **_write_faults(instance), locals=local, call=call, stores=stored)
    checked = fill("checked.c", **words, locals=local, call=checked_call, stores=stored)
    has_item, has_checked = not instance.python, _is_checked(instance)
    layout, entry, records = "", "", "0, 0, 0"
    if signature.has_records:
        k = words["k"]
        layout, entry = _record_texts(both, k=k, run="__ufm_generalized")
        records = f"__ufm_items_{k}, __ufm_leaves_{k}, (int)(sizeof __ufm_leaves_{k} / sizeof *__ufm_leaves_{k})"
    return fill(
        "generalized.c",
        **words,
        records_text=layout,
        record_text=entry,
        records=records,
        core=signature.core,
        item_text=item if has_item else "",
        checked_text=checked if has_checked else "",
        sizes_text=_write_sizes(signature, dims, k=words["k"]),
        kernel=f"__ufm_item_{words['k']}" if has_item else "0",
        checked=f"__ufm_checked_{words['k']}" if has_checked else "0",
        cores=", ".join(str(n) for v in both for n in (*(place[d] for d in v.operand.core), -1)),
        copied=", ".join(_choose_copied(v, signature) for v in both),
        **{"from": ", ".join(str(source.n) if source else "-1" for source in sources)},
    )


def has_sizes(instance: Instance) -> bool:
    """Whether an output has a core dimension that no input has: one that is computed of others, as in
    ``(n),(m)->(n+m-1)``, or that a number or ``out=`` gives."""
    return bool(instance.signature.own_output_dims)


def _write_sizes(signature: Signature, dims: Sequence[int | str], *, k: str) -> str:
    """Write the function that computes the sizes of core dimensions for NumPy (``PyUFunc_ProcessCoreDimsFunc``)."""
    computed = signature.own_output_dims
    numbers = {name: f"__ufm_wished({n})" for n, name in enumerate(signature.size_operands)}
    sizes = {d: f"__ufm_d[{n}]" for n, d in enumerate(dims) if isinstance(d, str) and d not in computed} | numbers
    lines = []
    for d in computed:
        size, name = f"&__ufm_d[{dims.index(d)}]", f'"{signature.name}: {d}"'
        known = find_core_names(d) <= sizes.keys()
        call = (
            f"__ufm_set_size({size}, {write_core_size(d, sizes)}, {name})"
            if known
            else f"__ufm_need_size({size}, {name})"
        )
        lines.append(f"if ({call}) return -1;")
    if not lines:
        return ""
    # Every call gives them again.
    lines += [f"__ufm_wish({n}, -1);" for n, _ in enumerate(numbers)]
    head = f"static int __ufm_sizes_{k}(void *__ufm_u, __ufm_intp *__ufm_d)"
    return f"{head} {{ (void)__ufm_u; {' '.join(lines)} return 0; }}"


def _choose_copied(v: Value, signature: Signature) -> str:
    """Must C work on a copy?  Yes (1) for an input whose elements the function may change; elsewhere the alignment from
    which on it need not, 0 for any."""
    parameter = signature.function.parameters[v.operand.index] if v.operand.index >= 0 else None
    if parameter is None or not v.operand.pointer:
        return "0"
    changed = v.operand.role == "input" and not parameter.const and parameter.access in ("write", "update")
    return "1" if changed else "64" if parameter.aligned else "0"


def _write_core_argument(instance: Instance, v: Value, place: dict[int | str, int]) -> str:
    """The core as its parameter's type: ``double r[3][3]`` takes a pointer to rows."""
    shape = instance.signature.function.parameters[v.operand.index].shape
    rows = "".join(f"[{d}]" if isinstance(d, int) else f"[__ufm_dims[{place[d]}]]" for d in shape[1:])
    return f"({v.t} (*){rows})__ufm_p[{v.n}]" if rows else f"({v.t} *)__ufm_p[{v.n}]"


def _count_items(parameter: ContainerParameter, v: Value, place: dict[int | str, int]) -> str:
    """How many items a container has: the core dimensions but those of the items."""
    core = v.operand.core
    return " * ".join(f"__ufm_dims[{place[d]}]" for d in core[: len(core) - len(parameter.shape)])


@cache
def template(name: str) -> str:
    """The text of a template."""
    return files("ufunc_magic").joinpath("templates", name).read_text(encoding="utf-8")


def fill(file: str, /, **words: str) -> str:
    """A template with its words filled in; lines left empty are dropped."""
    text = Template(template(file)).substitute(words)
    return "\n".join(line for line in text.split("\n") if line.strip()) + "\n"
