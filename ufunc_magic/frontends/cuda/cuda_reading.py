"""A CUDA cell as it was read: its functions, what becomes of each, what is exported as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ... import codegen, toolchain
from ...model import CompileError, Diagnostic, Function, Options, ParseError, Unit
from .. import c, cell_settings
from . import cuda_roles
from .kernel_prototypes import Export

__all__ = ["Reading", "nothing_to_bind", "read"]

#: Qualifiers that the emulation's header makes nothing of, and that tell a cell's functions apart.
_QUALIFIERS = "__device__ __global__ __host__ __forceinline__ __noinline__".split()


#: Words of types that no cell gives another meaning.
_BUILTIN = frozenset("void bool char signed unsigned short int long float double".split())


@dataclass(frozen=True)
class Reading:
    """A cell before anything is compiled.

    Attributes
    ----------
    source, name : str
    text : str
        What the functions were read from: ``source``, or the preprocessor's output of it.
    options : Options
        The user's, with the types that the cell's comments ask for.
    unit : Unit
    roles : Roles
    exports : tuple of Export
        Plain functions and kernels, in the order of the object's table.
    """

    source: str = field(repr=False)
    name: str
    text: str = field(repr=False)
    options: Options
    unit: Unit = field(repr=False)
    roles: cuda_roles.Roles
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

    def preprocess() -> str:
        assert tool is not None
        return cell_settings.preprocessed(tool, source, name=name, flags=flags, before=before)

    unit, text = cell_settings.read(
        source, name=name, cplus=True, preprocess=preprocess if tool else None, known=c.TYPES
    )
    unit = cuda_roles.prepared(unit)
    options = replace(options, types=options.types or cell_settings.types_in_comments(unit))
    cast = cuda_roles.assign(unit, options=options)
    _refuse_results(cast.kernels, source=source, name=name)
    return Reading(source, name, text, options, unit, cast, tuple(_exports(cast, unit, options)))


def _exports(cast: cuda_roles.Roles, unit: Unit, options: Options) -> list[Export]:
    names = [f.name for f in unit.functions]
    per_type = bool(options.types) and codegen.in_terms_of_t(unit)
    made = []
    # Their C names exist once per type.
    for p in () if per_type else cast.plain:
        callee = "::".join([*p.function.scope, p.function.name])
        overloaded = names.count(p.function.name) > 1
        made.append(Export(p.name, p.function, callee, overloaded, status=p in cast.statuses))
    for kernel in cast.kernels:
        # <math.h> and <stdlib.h> have overloads of their own: div, abs, log.
        overloaded = names.count(kernel.name) > 1 or _of_builtin_types(kernel)
        for suffix, callee in _instances(kernel, options, per_type=per_type):
            made.append(Export(f"{kernel.name}{suffix}", kernel, callee, overloaded, kernel=True))
    return list({export.name: export for export in reversed(made)}.values())[::-1]


def _refuse_results(kernels: Sequence[Function], *, source: str, name: str) -> None:
    """An error for kernels that return something, which the compilers would place in our own lines."""
    lines = source.split("\n")
    wrong = [k for k in kernels if k.returns != "void" and set(k.returns.split()) <= _BUILTIN and not k.file]
    if wrong:
        hint = "Return void, and write results through a pointer."
        raise CompileError(
            f"{name} does not compile: {'1 error' if len(wrong) == 1 else f'{len(wrong)} errors'}.",
            diagnostics=tuple(
                Diagnostic(
                    "error",
                    f"{k.name} is a __global__ function, and returns {k.returns}",
                    name,
                    k.line,
                    text=lines[k.line - 1] if 0 < k.line <= len(lines) else "",
                    hint=hint,
                )
                for k in wrong
            ),
        )


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
    made = []
    for kind in kinds:
        suffix = f"_{kind.names[0] if kind.names else kind.char}" if len(kinds) > 1 else ""
        inner = ", ".join([codegen.cplus_type(kind)] * len(kernel.template))
        copied = "::".join([*kernel.scope, f"{codegen.prefix_of(kind)}{kernel.name}"])
        made.append((suffix, f"{name}<{inner}>" if kernel.template else copied))
    return made


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
