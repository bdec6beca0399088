"""A CUDA cell as it is read: its functions, what becomes of each, what of it is the host's, what is exported."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ... import codegen, toolchain
from ...model import CompileError, Diagnostic, Function, Options, ParseError, Signature, Unit
from ...python_form import CText
from .. import c, cell_settings, operands
from ..c import ReferenceParameter
from ..operands import Plain
from .kernel_prototypes import Export

#: Qualifiers that the emulation's header makes nothing of, and that tell a cell's functions apart.
_QUALIFIERS = "__device__ __global__ __host__ __forceinline__ __noinline__".split()


#: Words of types that no cell gives another meaning.
_BUILTIN = frozenset("void bool char signed unsigned short int long float double".split())
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
    tree : CText
        Of ``source``, or of what the preprocessor makes of it.
    options : Options
        The user's, with the types that the cell's comments ask for.
    unit : Unit
    roles : Roles
    exports : tuple of Export
        Plain functions and kernels, in the order of the object's table.
    """

    source: str = field(repr=False)
    name: str
    tree: CText = field(repr=False)
    options: Options
    unit: Unit = field(repr=False)
    roles: Roles
    exports: tuple[Export, ...]

    @property
    def empty(self) -> bool:
        """There is nothing to bind."""
        return not (self.roles.signatures or self.exports)


def read(
    source: str,
    *,
    options: Options,
    name: str,
    tool: toolchain.Toolchain | None,
    flags: Sequence[str] = (),
    shim: str = "",
) -> Reading:
    """Read a cell.

    Parameters
    ----------
    tool : Toolchain
        A compiler whose preprocessor may help where the text as typed does not show all; None for none.
    flags, shim : sequence of str, str
        The compiler's options, and what stands before the cell.

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
        return cell_settings.preprocessed(tool, text, name=name, flags=flags, before=before)

    unit, tree = c.parse_cell(source, name=name, cplus=True, preprocess=preprocess if tool else None, known=c.TYPES)
    unit = _prepared(unit)
    options = replace(options, types=options.types or cell_settings.types_in_comments(unit))
    roles = _assign(unit, options=options)
    _refuse(unit, source=source, name=name)
    return Reading(source, name, tree, options, unit, roles, tuple(_exports(roles, unit, options)))


def _exports(roles: Roles, unit: Unit, options: Options) -> list[Export]:
    names = [f.name for f in unit.functions]
    per_type = bool(options.types) and codegen.in_terms_of_t(unit)
    exports = []
    # Their C names exist once per type.
    for p in () if per_type else roles.plain:
        callee = "::".join([*p.function.scope, p.function.name])
        overloaded = names.count(p.function.name) > 1
        exports.append(Export(p.name, p.function, callee, overloaded, status=p in roles.statuses))
    for kernel in roles.kernels:
        # <math.h> and <stdlib.h> have overloads of their own: div, abs, log.
        overloaded = names.count(kernel.name) > 1 or _of_builtin_types(kernel)
        for suffix, callee in _instances(kernel, options, per_type=per_type):
            exports.append(Export(f"{kernel.name}{suffix}", kernel, callee, overloaded, kernel=True))
    return list({export.name: export for export in reversed(exports)}.values())[::-1]


def _refuse(unit: Unit, *, source: str, name: str) -> None:
    """An error for functions of the host's that device code calls, which NVIDIA's compilers refuse."""
    called = _called_host(unit)
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
        for f in _host_functions(unit)
        if f.name in called and not f.file
    ]
    if diagnostics:
        raise CompileError(f"{name} does not compile: {toolchain.counted(diagnostics)}.", diagnostics=diagnostics)


def _of_builtin_types(kernel: Function) -> bool:
    """Whether its parameters' types mean the same everywhere in the cell, so that a cast can spell them."""
    words = {word for p in kernel.parameters for word in p.type.split()}
    # What a parameter reads as says nothing of volatile, nor of const between two stars.
    plain = (
        kernel.text and "volatile" not in kernel.text and all(p.pointer + bool(p.shape) < 2 for p in kernel.parameters)
    )
    return bool(plain) and words <= _BUILTIN and not kernel.template and kernel.returns == "void"


def _instances(kernel: Function, options: Options, *, per_type: bool) -> list[tuple[str, str]]:
    """What a kernel's names end with, and how each is called in C++: templates and cells of T have one per type."""
    name = "::".join([*kernel.scope, kernel.name])
    if not kernel.template and not per_type:
        return [("", name)]
    kinds = codegen.types_wanted(options.types or "f4,f8")
    instances = []
    for kind in kinds:
        suffix = f"_{kind.names[0] if kind.names else kind.char}" if len(kinds) > 1 else ""
        inner = ", ".join([codegen.cplus_type(kind)] * len(kernel.template))
        copied = "::".join([*kernel.scope, f"{codegen.prefix_of(kind)}{kernel.name}"])
        instances.append((suffix, f"{name}<{inner}>" if kernel.template else copied))
    return instances


def nothing_to_bind(unit: Unit, name: str) -> ParseError:
    """The error of a cell that has nothing for a GPU."""
    hidden = [f.name for f in unit.functions]
    if hidden:
        return ParseError(
            f"{name} has no function for the GPU that is not static: {', '.join(hidden[:5])}.",
            remedy="Write __device__ in front of the one to be bound, or __global__ for a kernel.",
        )
    return ParseError(
        f"{name} defines no CUDA function.", remedy="Write one, such as: __device__ float f(float x) { return 2*x; }"
    )


# ----------------------------------------------------------------------------- what becomes of each


def _prepared(unit: Unit) -> Unit:
    """``unit`` with what CUDA's own functions call, so that SIMD math is found through them.

    Lengths are not inferred: a thread's own loop over an array is for kernels to call.
    """
    functions = tuple(
        replace(f, calls=f.calls | c.stand_for(f.calls), parameters=tuple(replace(p, length="") for p in f.parameters))
        for f in unit.functions
    )
    return replace(unit, functions=functions, calls=unit.calls | c.stand_for(unit.calls))


def in_numbas_form(function: Function, *, abi: str) -> bool:
    """Whether the result goes through the first pointer, and what is returned is a status.

    Numba's device functions are ``extern "C" __device__ int f(T *return_value, ...)``; ``abi`` is the user's word on
    it where a function that looks so is not one, or the other way round.
    """
    first = function.parameters[0] if function.parameters else None
    fits = function.returns == "int" and first is not None and not first.const and bool(first.pointer or first.shape)
    if abi != "auto" or not fits or first is None:
        return fits and abi == "numba"
    one = not first.indexed or bool(function.annotation)  # an array that is filled is no result to Numba
    return one and 'extern "C"' in function.qualifiers and bool(_RESULT.fullmatch(first.name))


def _assign(unit: Unit, *, options: Options) -> Roles:
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
    for function in unit.functions:
        hidden = function.static or function.name == "main"
        if "__global__" in function.qualifiers:
            kernels += [] if hidden else [function]
        elif "__device__" not in function.qualifiers:
            host += [] if hidden else [function.name]
        elif hidden:
            on_device.append(function)
        elif _takes_values(function):
            on_device.append(replace(function, static=True))
        elif word := _packed(function):
            what = "returns a" if word == function.returns else "has an operand of the type"
            packed.append(Plain(function.name, function, f"{what} {word}, which is no number", "Pass its members."))
        elif in_numbas_form(function, abi=options.abi):
            on_device.append(replace(function, returns="void"))
            statuses.add((function.line, function.name))
        else:
            on_device.append(function)
    signatures, plain = operands.plan(replace(unit, functions=tuple(on_device)), options=options)
    own = {(f.line, f.name): f for f in unit.functions}
    signatures = tuple(
        replace(s, status=True, function=own[place]) if (place := (s.function.line, s.function.name)) in statuses else s
        for s in signatures
    )
    plain = (*(replace(p, function=own[p.function.line, p.function.name]) for p in plain), *packed)
    # What a grid of elements is made of has inputs.
    nullary = "takes no input, and a ufunc of the GPU needs one", "Give it a parameter."
    plain += tuple(Plain(s.name, s.function, *nullary) for s in signatures if not s.inputs)
    signatures = tuple(s for s in signatures if s.inputs)
    templates = [p for p in plain if p.function.template]
    notes += [
        f"{p.name} is a template that cannot be a ufunc, so nothing is made of it alone: it {p.reason}"
        for p in templates
    ]
    if host:
        notes.append(f"not bound, because neither __device__ nor __global__: {', '.join(host)}")
    plain = tuple(p for p in plain if p not in templates)
    failing = tuple(p for p in plain if (p.function.line, p.function.name) in statuses)
    return Roles(signatures, plain, tuple(kernels), failing, tuple(notes))


def _packed(function: Function) -> str:
    """The first type of a function's interface that is several numbers in one, or ``""``."""
    words = (*(p.type for p in function.parameters), function.returns)
    return next((word for word in words if word in c.VECTORS or word in c.PACKED), "")


def _takes_values(function: Function) -> bool:
    """A template of more than types, which only a call in the cell can complete."""
    match = re.match(r"template\s*<([^<>]*)>", function.text)
    return bool(function.template and match and match[1].count(",") + 1 != len(function.template))


def device_call(callee: str, signature: Signature) -> str:
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


def plain_call(callee: str, function: Function, prototype: Sequence[str], *, status: bool) -> str:
    """How a function that is no ufunc is called in device code: its parameters are ``{in0}``, ``{in1}``, ...

    With ``status``, the first is ``&{out0}`` and none of them.
    """
    parameters = function.parameters[1:] if status else function.parameters
    arguments = [f"{'*' * isinstance(p, ReferenceParameter)}{{in{n}}}" for n, p in enumerate(parameters)]
    if status:
        return f"{callee}({', '.join(['&{out0}', *arguments])})"
    return f"{'{out0} = ' * (prototype[0] != 'void')}{callee}({', '.join(arguments)})"


# ---------------------------------------------------------------------------------- the host's part


def without_host(source: str, *, unit: Unit | None = None) -> str:
    """The cell with spaces for the functions that are neither ``__device__`` nor ``__global__``.

    Those that device code calls stay, for the compiler to speak of.  Lines and columns stay as they are.
    """
    unit = unit or c.parse(source, cplus=True)
    called = _called_host(unit)
    for function in _host_functions(unit):
        if function.name not in called and function.text and source.count(function.text) == 1:
            source = source.replace(function.text, re.sub(r"[^\n]", " ", function.text))
    return source


def _host_functions(unit: Unit) -> list[Function]:
    return [f for f in unit.functions if not f.qualifiers & {"__device__", "__global__"}]


def _called_host(unit: Unit) -> dict[str, str]:
    """Names that only functions of the host have and that device code calls, each with one that calls it."""
    device = [f for f in unit.functions if f.qualifiers & {"__device__", "__global__"}]
    names = {f.name for f in _host_functions(unit)} - {f.name for f in device}
    return {called: f.name for f in device for called in sorted(f.calls & names)}
