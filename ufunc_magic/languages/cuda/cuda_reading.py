"""A CUDA cell as it is read: its functions, what becomes of each, what of it is the host's, what is exported."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ... import cells, codegen, compilers
from ...cells import Plain
from ...model import (
    TYPES,
    BodyFacts,
    CompileError,
    ConstReferenceParameter,
    Diagnostic,
    Function,
    Options,
    ParseError,
    ReferenceParameter,
    Signature,
    Unit,
)
from .. import c
from . import cuda_names, cuda_text
from .cuda_passes import (
    blank_libraries,
    find_called_host,
    find_instances,
    inline_headers,
    list_host_functions,
    spell_qualifiers,
)
from .kernel_prototypes import CellVariable, Export

#: Qualifiers that the emulation's header makes nothing of, and that tell a cell's functions apart.
_QUALIFIERS = "__device__ __global__ __host__ __forceinline__ __noinline__ __constant__ __managed__".split()
_MEMORY = frozenset(("__constant__", "__device__", "__managed__"))

#: C's types as parts of names.
_SHORT = {t.c: t.names[0] if t.names else t.char for t in TYPES.values()}
#: CUDA's vectors as NumPy knows their numbers: ``float4`` is ``f4x4``.
_VECTORS = {name: f"{_SHORT[kind]}x{len(members)}" for name, (kind, members) in cuda_names.VECTORS.items()}
_VECTORS |= dict.fromkeys(("half2", "__half2"), "f2x2")
# NumPy has no bfloat16: its bits.
_VECTORS |= {f"{front}nv_bfloat16{back}": f"u2x{back or 1}" for front in ("", "__") for back in ("", "2")}
#: Names that a result's pointer has in Numba's documentation, and in what people write after it.
_RESULT = re.compile(r"return_?val(?:ue)?|ret(?:_?val|_?ptr)?|res(?:ult)?", re.IGNORECASE)


@dataclass(frozen=True)
class Roles:
    """The functions of a cell by what they become, and what to say of the others."""

    signatures: tuple[Signature, ...]
    plain: tuple[Plain, ...]
    kernels: tuple[Function, ...]
    #: Those of ``plain`` that return a status.
    statuses: tuple[Plain, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Reading:
    """A cell before anything is compiled.

    Attributes
    ----------
    source, name : str
    tree : c.CText
        The tree of ``source``, or of the preprocessor's output.
    options : Options
        The user's, with the types that the cell's comments ask for.
    unit : Unit
    roles : Roles
    exports : tuple of Export
        Plain functions and kernels, in the order of the object's table.
    variables : tuple of CellVariable
        The variables that follow them there.
    """

    source: str = field(repr=False)
    name: str
    tree: c.CText = field(repr=False)
    options: Options
    unit: Unit = field(repr=False)
    roles: Roles
    exports: tuple[Export, ...]
    variables: tuple[CellVariable, ...] = ()

    @property
    def empty(self) -> bool:
        """There is nothing to bind."""
        return not (self.roles.signatures or self.exports)


def read(
    source: str,
    *,
    options: Options,
    name: str,
    tool: compilers.Toolchain | None,
    flags: Sequence[str] = (),
    shim: str = "",
    unbound: Collection[str] = (),
) -> Reading:
    """Read a cell.

    Parameters
    ----------
    tool : Toolchain
        A compiler whose preprocessor may help where the text as typed does not show all; None for none.
    flags, shim : sequence of str, str
        The compiler's options, and the text before the cell.
    unbound : collection of str
        Templates that no function is made of.

    Raises
    ------
    SignatureError
        If a comment or an option asks for what a function cannot be.
    CompileError
        Of the preprocessor.
    """
    # The words by which functions are known go through, although the shim's headers make nothing of them.
    before = shim + "".join(f"#undef {word}\n" for word in _QUALIFIERS)

    def preprocess(text: str) -> str:
        assert tool is not None
        return cells.read_preprocessed(tool, text, name=name, flags=flags, before=before)

    # Without a compiler for the CPU the cell is for the GPU alone.
    predefined = cuda_names.PREDEFINED if tool else {**cuda_names.PREDEFINED, "__CUDA_ARCH__": "900"}
    whole = inline_headers(source, name=name, folders=options.include)[0]
    unit, tree = c.parse_cell(
        blank_libraries(source if tool else spell_qualifiers(source, macros_of=whole)),
        name=name,
        cplus=True,
        preprocess=preprocess if tool else None,
        known=cuda_names.TYPES,
        predefined=predefined,
    )
    unit = _prepare(unit)
    options = replace(options, types=options.types or cells.read_types_in_comments(unit))
    roles = _assign(unit, options=options, unbound=unbound)
    _refuse(unit, source=source, name=name)
    arguments = find_instances(source)
    closed = [k.name for k in roles.kernels if k.template and _needs_numbers(k) and k.name not in arguments]
    if closed:
        example = f"template __global__ void {closed[0]}<256>(float *x);"
        note = (
            f"{', '.join(closed)} is a template of numbers, and the cell does not say which. Write below it: {example}"
        )
        roles = replace(roles, notes=(*roles.notes, note))
    exports = _list_exports(roles, unit, options, arguments)
    # Cells in terms of T have variables of other names, one for each type.
    variables = () if options.types and codegen.uses_t(unit) else _list_variables(tree)
    return Reading(source, name, tree, options, unit, roles, tuple(exports), tuple(variables))


def _list_exports(roles: Roles, unit: Unit, options: Options, arguments: Mapping[str, Sequence[str]]) -> list[Export]:
    names = [f.name for f in unit.functions]
    per_type = bool(options.types) and codegen.uses_t(unit)
    exports = []
    # Their C names exist once per type.
    for p in () if per_type else roles.plain:
        callee = "::".join([*p.function.scope, p.function.name])
        overloaded = names.count(p.function.name) > 1 or _has_known_types(p.function, unit)
        exports.append(Export(p.name, p.function, callee, overloaded, status=p in roles.statuses))
    kernels: dict[str, list[Export]] = {}
    for kernel in roles.kernels:
        # <math.h> and <stdlib.h> have overloads of their own: div, abs, log.
        overloaded = not kernel.template and (names.count(kernel.name) > 1 or _has_known_types(kernel, unit))
        for instance, callee in _list_instances(kernel, options, arguments.get(kernel.name, ()), per_type=per_type):
            one = Export(kernel.name, kernel, callee, overloaded, kernel=True, instance=instance)
            kernels.setdefault(kernel.name, []).append(one)
    for name, ones in kernels.items():
        if len(ones) > 1:
            exports += [replace(one, name=f"{name}_{_shorten(one.instance[len(name) :])}") for one in ones]
        else:
            exports += ones
    return list({export.name: export for export in reversed(exports)}.values())[::-1]


def _shorten(instance: str) -> str:
    """``<float, 8>`` or ``(const float *, int)`` as part of a name: ``f4_8``, ``f4_i4``."""
    words = re.sub(r"\bconst\b|[*&<>()]", " ", instance).split(",")
    return "_".join(_SHORT.get(" ".join(word.split()), re.sub(r"\W+", "", word)) for word in words)


def _refuse(unit: Unit, *, source: str, name: str) -> None:
    """An error for functions of the host's that device code calls, which NVIDIA's compilers refuse."""
    called = find_called_host(unit)
    lines = source.split("\n")
    diagnostics = [
        Diagnostic(
            "error",
            f"{f.name} is a function of the host, and {called[f.name]}, which is for the GPU, calls it",
            name,
            f.line,
            text=lines[f.line - 1],
            hint="Write __device__ in front of it, or __host__ __device__.",
        )
        for f in list_host_functions(unit)
        if f.name in called and not f.file
    ]
    if diagnostics:
        raise CompileError(f"{name} does not compile: {compilers.count_errors(diagnostics)}.", diagnostics=diagnostics)


def _has_known_types(kernel: Function, unit: Unit) -> bool:
    """Whether its parameters' types mean the same at the end of the cell, so that a cast can spell them."""
    words = {word for p in kernel.parameters for word in p.type.split()}
    # A parameter has no mark for volatile, nor for const between two stars.
    plain = (
        kernel.text and "volatile" not in kernel.text and all(p.pointer + bool(p.shape) < 2 for p in kernel.parameters)
    )
    words |= {*kernel.returns.replace("*", " ").split()} - {"const"}
    return bool(plain) and words <= c.BUILTIN | cuda_names.VECTORS.keys() | set(unit.names) and not kernel.template


def _list_instances(
    kernel: Function, options: Options, arguments: Sequence[str], *, per_type: bool
) -> list[tuple[str, str]]:
    """The instances of a kernel: its types or arguments, and how each is called in C++.

    A template has one instance for each use in the cell, else one per type, like cells of T.
    """
    scope = "".join(f"{word}::" for word in kernel.scope)
    if not kernel.template and not per_type:
        return [(f"{kernel.name}({', '.join(p.spelled for p in kernel.parameters)})", f"{scope}{kernel.name}")]
    kinds = codegen.choose_types(options.types or "f4,f8")
    if not kernel.template:
        words = [(codegen.cplus_type(kind), codegen.make_prefix(kind)) for kind in kinds]
        return [(f"{kernel.name}<{word}>", f"{scope}{prefix}{kernel.name}") for word, prefix in words]
    if not arguments and not _needs_numbers(kernel):
        count = sum(not parameter.has_default for parameter in _list_template_parameters(kernel)) or len(
            kernel.template
        )
        arguments = [", ".join([codegen.cplus_type(kind)] * count) for kind in kinds]
    return [(f"{kernel.name}<{inner}>", f"{scope}{kernel.name}<{inner}>") for inner in arguments]


def _list_template_parameters(function: Function) -> list[c.TemplateParameter]:
    if not function.template:
        return []
    nodes = c.parse_tree(function.text.encode(), cplus=True).named_children
    return c.read_template_parameters(nodes[0]) if nodes and nodes[0].type == "template_declaration" else []


def _needs_numbers(function: Function) -> bool:
    """Whether it is a template with a parameter that is no type and has no default."""
    return any(not (p.is_type or p.has_default) for p in _list_template_parameters(function))


def _list_variables(tree: c.CText) -> list[CellVariable]:
    """The variables that all kernels of a cell share and that a GPU's driver knows by their names: no static ones."""
    result: dict[str, int] = {}
    nodes = list(tree.root.named_children)
    for node in nodes:
        if node.type == "linkage_specification" and (body := node.child_by_field_name("body")) is not None:
            nodes += [body] if body.type == "declaration" else body.named_children
        words = {c.take_text(child) for child in node.children}
        if node.type != "declaration" or node.has_error or not _MEMORY & words:
            continue
        for declared, _ in c.read_declarations(node):
            kinds = [mark.kind for mark in declared.marks]
            if declared.name and "(" not in kinds and not declared.storage & {"extern", "static"}:
                result[declared.name] = kinds.count("[")
    return [CellVariable(name, rank) for name, rank in result.items()]


def describe_nothing_to_bind(reading: Reading) -> ParseError:
    """The error of a cell that has nothing for a GPU."""
    name = reading.name
    if any("__global__" in f.qualifiers for f in reading.unit.functions):
        return ParseError(f"{name} has no kernel that is complete.", remedy=reading.roles.notes[-1])
    names = [f.name for f in reading.unit.functions]
    if names == ["main"]:
        return ParseError(f"{name} has a main(), and nothing to bind.", remedy="--run-main runs it.")
    if hidden := [name for name in names if not name.startswith("__ufm_")]:
        return ParseError(
            f"{name} has no function for the GPU that is not static: {', '.join(hidden)}.",
            remedy="Write __device__ in front of the one to be bound, or __global__ for a kernel.",
        )
    return ParseError(
        f"{name} defines no CUDA function.", remedy="Write one, such as: __device__ float f(float x) { return 2*x; }"
    )


# ----------------------------------------------------------------------------- what becomes of each


def _prepare(unit: Unit) -> Unit:
    """``unit`` with what CUDA's own functions call, so that SIMD math is found through them.

    Lengths are not inferred: a thread's own loop over an array is for kernels to call.
    """
    functions = tuple(
        replace(f, body=_add_libm(f.body), parameters=tuple(replace(p, length="") for p in f.parameters))
        for f in unit.functions
    )
    return replace(unit, functions=functions, calls=unit.calls | c.find_stand_ins(unit.calls))


def _add_libm(body: BodyFacts) -> BodyFacts:
    return replace(body, calls=body.calls | c.find_stand_ins(body.calls))


def uses_numbas_form(function: Function, *, abi: str) -> bool:
    """Whether the result goes through the first pointer, and what is returned is a status.

    Numba's device functions are ``extern "C" __device__ int f(T *return_value, ...)``; ``abi`` is the user's word on
    it where a function that looks so is not one, or the other way round.
    """
    first = function.parameters[0] if function.parameters else None
    fits = function.returns == "int" and first is not None and not first.const and bool(first.pointer or first.shape)
    if abi != "auto" or not fits or first is None:
        return fits and abi == "numba"  # void *: there is no result, and Numba passes a pointer all the same
    one = not first.indexed or bool(function.annotation)  # an array that is filled is no result to Numba
    return one and 'extern "C"' in function.qualifiers and bool(_RESULT.fullmatch(first.name))


def _assign(unit: Unit, *, options: Options, unbound: Collection[str] = ()) -> Roles:
    """Decide what becomes of each function.

    Raises
    ------
    SignatureError
        If a comment asks for what a function cannot be.
    """
    on_device: list[Function] = []
    kernels: list[Function] = []
    host: list[str] = []
    notes: list[str] = []
    statuses: set[tuple[int, str]] = set()
    packed: list[Plain] = []
    of_cell = any(not function.file for function in unit.functions)
    for function in unit.functions:
        # Headers are read where macros decide what the cell says; their functions are the cell's only if it has none.
        hidden = function.static or function.name == "main" or function.name in unbound or (of_cell and function.file)
        if "__global__" in function.qualifiers:
            kernels += [] if function.name in unbound else [function]
        elif "__device__" not in function.qualifiers:
            host += [] if hidden else [function.name]
        elif hidden or _needs_values(function):
            on_device.append(replace(function, static=True))
        elif word := _find_packed(function):
            what = "returns a" if word == function.returns else "has an operand of the type"
            packed.append(Plain(function.name, function, f"{what} {word}, which is no number", "Pass its members."))
        elif uses_numbas_form(function, abi=options.abi):
            on_device.append(replace(function, returns="void"))
            statuses.add((function.line, function.name))
        else:
            on_device.append(function)
    plan = cells.plan_operands(replace(unit, functions=tuple(on_device)), options=options)
    signatures, plain, faults = plan if plan.signatures or plan.plains or kernels else plan.leave_out_faults()
    notes += [f"not bound: {fault.marked.rstrip('.')} ({fault.remedy})" for _, fault in faults.values()]
    own = {(f.line, f.name): f for f in unit.functions}
    signatures = tuple(
        replace(s, status=True, function=own[place]) if (place := (s.function.line, s.function.name)) in statuses else s
        for s in signatures
    )
    plain = (*(replace(p, function=own[p.function.line, p.function.name]) for p in plain), *packed)
    # A grid of elements needs inputs.
    nullary = "takes no input, and a ufunc of the GPU needs one", "Give it a parameter."
    plain += tuple(Plain(s.name, s.function, *nullary) for s in signatures if not s.inputs)
    signatures = tuple(s for s in signatures if s.inputs)
    templates = [p for p in plain if p.function.template]
    notes += [
        f"{p.name} is a template that cannot be a ufunc ({p.reason}): nothing is made of it alone" for p in templates
    ]
    for signature in signatures:
        if options.abi == "auto" and not signature.status and uses_numbas_form(signature.function, abi="numba"):
            first, name = signature.function.parameters[0].name, signature.name
            if first in [operand.name for operand in signature.outputs]:
                notes.append(
                    f"{name} is read as C has it: it returns an int, and '{first}' is a second result. With --abi "
                    f"numba the int is a status, 0 for success, and '{first}' the result"
                )
    if unbound:
        notes.append(
            f"nothing is made of {', '.join(unbound)} for float and double: say for which types, as --types i4"
        )
    if host:
        notes.append(f"not bound, because neither __device__ nor __global__: {', '.join(host)}")
    plain = tuple(p for p in plain if p not in templates)
    failing = tuple(p for p in plain if (p.function.line, p.function.name) in statuses)
    return Roles(signatures, plain, tuple(kernels), failing, tuple(notes))


def _find_packed(function: Function) -> str:
    """The first type of a function's interface that is several numbers in one, or ``""``."""
    words = (*(p.type for p in function.parameters), function.returns)
    return next((word for word in words if word in cuda_names.VECTORS or word in cuda_names.PACKED), "")


def _needs_values(function: Function) -> bool:
    """A template of more than types, which only a call in the cell can complete."""
    return bool(function.template) and len(_list_template_parameters(function)) not in (0, len(function.template))


def write_device_call(callee: str, signature: Signature) -> str:
    """How the function is called in device code, a statement with ``{in0}``, ``{out0}``, ... for operands.

    ``""`` for a function with core dimensions, which has no operands of one element.
    """
    if signature.core:
        return ""
    operands_of: dict[int, str] = {}
    first: list[str] = []
    places = {operand.index: n for n, operand in enumerate(signature.inputs)}
    for n, operand in enumerate(signature.inputs):
        operands_of[operand.index] = f"{'&' * operand.pointer}{{in{n}}}"
    for n, operand in enumerate(signature.outputs):
        operands_of[operand.index] = f"{'&' * operand.pointer}{{out{n}}}"
        if operand.role == "inout":
            first.append(f"{{out{n}}} = {{in{places[operand.index]}}}; ")
    arguments = ", ".join(operands_of[n] for n in range(len(signature.function.parameters)))
    result = f"{operands_of[-1]} = " if -1 in operands_of else ""
    return f"{''.join(first)}{result}{callee}({arguments})"


def name_vectors(prototype: Sequence[str], function: Function) -> tuple[str, ...]:
    """A kernel's prototype, in which the compiler's word for a vector is a number of bytes."""
    types = ["", *(_VECTORS.get(p.type, "") for p in function.parameters)]
    pairs = zip(prototype, types, strict=True)
    return tuple(re.sub(r"V\d+", of, word) if of else word for word, of in pairs)


def write_plain_call(callee: str, function: Function, prototype: Sequence[str], *, status: bool) -> str:
    """How a function that is no ufunc is called in device code: its parameters are ``{in0}``, ``{in1}``, ...

    With ``status``, the first is ``&{out0}`` and none of them; of a function without a result, a null pointer.
    """
    parameters = function.parameters[1:] if status else function.parameters
    references = ConstReferenceParameter, ReferenceParameter
    arguments = [f"{'*' * isinstance(p, references)}{{in{n}}}" for n, p in enumerate(parameters)]
    if status:
        first = "(void *)0" if function.parameters[0].type == "void" else "&{out0}"
        return f"{callee}({', '.join([first, *arguments])})"
    return f"{'{out0} = ' * (prototype[0] != 'void')}{callee}({', '.join(arguments)})"


def find_unasked(source: str, errors: Sequence[Diagnostic], *, options: Options) -> frozenset[str]:
    """Names of templates that all ``errors`` are in, themselves or what they call, and that nobody has asked for."""
    if options.types:
        return frozenset()
    known = find_instances(source)
    templates = [f for f in cuda_text.parse(source).functions if f.template and f.name not in known]
    hit = [[f.name for f in templates if f.line <= error.line <= f.end_line] for error in errors]
    unbound = {name for names in hit for name in names} if all(hit) else set()
    if errors and not unbound and all(error.file == compilers.GENERATED for error in errors):
        # A condition of enable_if has no line in the cell.
        limited = {f.name for f in templates if any(p.has_default for p in _list_template_parameters(f))}
        unbound = {name for name in limited if any(f"'{name}'" in error.message for error in errors)} or limited
    while callers := {f.name for f in templates if f.body.calls & unbound} - unbound:
        unbound |= callers
    return frozenset(unbound)
