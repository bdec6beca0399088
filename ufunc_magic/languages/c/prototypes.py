"""Functions that are only declared, for a library to bind: what becomes of them, and the C that calls them where a
ufunc cannot.

Numbers that are written to structures are outputs, one for each member; an ``int`` that is returned with outputs is
a status, and the last output.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from ... import cells
from ...cells import resolve_type
from ...forms import NotPython
from ...model import Function, LinkError, Options, Parameter, Signature, SignatureError, Unit

#: Libraries that end the process where a caller of theirs gave a value outside of a function's domain, and the
#: function of theirs that stops that.  (In GSL the results are NaN then, and the status says why.)
_QUIET = {"gsl": "gsl_set_error_handler_off"}


#: Instead of a Python form.
ONLY_DECLARED = NotPython("is only declared; its body is in a library", 0)

_NOWHERE = "no library defines it (link with a library with -l NAME)"


@dataclass(frozen=True)
class LibraryFunctions:
    """Ufuncs of declared functions, the C text that their loops need, and why others are none, by name.

    ``faults`` are those of comments, as in `cells.OperandPlan`.
    """

    signatures: tuple[Signature, ...] = ()
    adapters: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    faults: dict[str, tuple[Function, SignatureError]] = field(default_factory=dict)

    def write(self, options: Options) -> str:
        """The text after the cell in its unit."""
        quiet = [_QUIET[library] for library in options.lib if library in _QUIET and self.signatures]
        beyond = [_BEYOND] if self.adapters else []
        return "\n".join(
            [*beyond, *map(_run_at_start, quiet), *(self.adapters.get(s.function.name, "") for s in self.signatures)]
        )

    def list_notes(self, options: Options) -> list[str]:
        """Why functions are not bound: of headers a line for each reason, of a cell only what the linker says."""
        names: dict[str, list[str]] = {}
        for name, reason in self.reasons.items():
            if options.wrap or reason == _NOWHERE:
                words = re.sub(r"^pointer '.*?'", "a pointer", reason)
                names.setdefault(re.sub(r"^(the size \w+ of )?'.*?'", r"\1a parameter", words), []).append(name)
        return [f"not bound, because {reason}: {', '.join(those)}" for reason, those in names.items()]

    @property
    def references(self) -> str:
        """C text that needs each function, for the linker to say what is missing."""
        names = ", ".join(f"(void *){read_called(s)}" for s in self.signatures)
        return f"void *const __ufm_references[] = {{{names}}};"


def read_called(signature: Signature) -> str:
    """The library's name of what a loop calls."""
    return signature.function.name.removeprefix("__ufm_wrap_")


def choose_sizes(functions: LibraryFunctions, simd: Collection[str]) -> LibraryFunctions:
    """With a size for each: clones of a loop that only calls are of no use but where it calls SIMD math."""
    signatures = tuple(
        replace(s, function=replace(s.function, body=replace(s.function.body, size=size)))
        for s in functions.signatures
        for size in [1 if s.function.name in simd else 1_000_000]
    )
    return replace(functions, signatures=signatures)


def find_missing(functions: LibraryFunctions, fault: LinkError) -> set[str]:
    """The functions that the linker misses."""
    return {s.name for s in functions.signatures if re.search(rf"\b_?{read_called(s)}\b", fault.output)}


def drop_unlinked(functions: LibraryFunctions, fault: LinkError) -> LibraryFunctions:
    """The functions without those that the linker misses."""
    missing = find_missing(functions, fault)
    rest = tuple(s for s in functions.signatures if s.name not in missing)
    return replace(functions, signatures=rest, reasons=functions.reasons | dict.fromkeys(missing, _NOWHERE))


def _run_at_start(function: str) -> str:
    # By another name: its header, if the cell includes it, declares it with its own types.
    return (
        f'extern void *__ufm_{function}(void) __asm__("{function}");\n'
        f"__attribute__((__constructor__)) static void __ufm_start_{function}(void) {{ __ufm_{function}(); }}"
    )


def plan_declared(unit: Unit, *, options: Options) -> LibraryFunctions:
    """Plan the functions that the unit only declares.

    Those that the cell itself calls are declared for that, and those of the cell that cannot be ufuncs are not spoken
    of; of a header each that is asked for is bound or has a reason.
    """

    def is_wrapped(name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in options.wrap)

    prototypes = [
        p for p in unit.prototypes if p.annotation or (is_wrapped(p.name) if p.file else p.name not in unit.calls)
    ]
    if not prototypes:
        return LibraryFunctions()
    adapted = {p.name: _adapt(p, unit) for p in prototypes}
    functions = tuple(function for function, _ in adapted.values())
    plan = cells.plan_operands(replace(unit, functions=functions), options=replace(options, signature=""))
    reasons = {p.name: p.reason for p in plan.plains}
    adapters = {f"__ufm_wrap_{name}": text for name, (_, text) in adapted.items() if text}
    result = []
    for signature in plan.signatures:
        name = f"__ufm_wrap_{signature.function.name}"
        function = replace(signature.function, name=name) if name in adapters else signature.function
        result.append(replace(signature, function=function))
    return LibraryFunctions(tuple(result), adapters, reasons, plan.faults)


def _adapt(function: Function, unit: Unit) -> tuple[Function, str]:
    """The function with a parameter for every output, and the C of it where that is not what is declared."""
    fields = {index: _list_members(p, unit) for index, p in enumerate(function.parameters)}
    fields = {index: members for index, members in fields.items() if members}
    outputs = {
        index
        for index, p in enumerate(function.parameters)
        if p.pointer == 1 and not (p.const or p.shape or p.indexed or function.annotation.partition("->")[1])
    }
    status = bool(function.file and outputs) and resolve_type(function.returns, unit.typedefs) == "int"
    if not outputs or function.variadic or any("(" in p.type for p in function.parameters):
        return function, ""
    parameters: list[Parameter] = []
    arguments, before, after = [], "", ""
    for index, p in enumerate(function.parameters):
        name, local = p.name or f"x{index + 1}", f"__ufm_s{index}"
        if index in fields:
            before += f"{p.type} {local} = {{0}}; "
            arguments.append(f"&{local}")
            for member, kind in fields[index]:
                output = member if len(fields) == 1 else f"{name}_{member}"
                parameters.append(Parameter(output, kind, pointer=1, line=p.line))
                after += f" *{output} = {local}.{member};"
            continue
        parameters.append(replace(p, name=name))
        arguments.append(local if index in outputs else name)
        if index in outputs:
            before += f"{p.type} {local}[1 + sizeof __ufm_beyond / sizeof({p.type})]; __UFM_BEGIN({local}); "
            after += f" __UFM_END({local}); *{name} = *{local};"
    call, returns = f"{function.name}({', '.join(arguments)});", function.returns
    if status:
        parameters.append(Parameter("status", "int", pointer=1, line=function.line))
        call, returns = f"*status = {call}", "void"
    elif returns != "void":
        call, after = f"{returns} __ufm_r = {call}", f"{after} return __ufm_r;"
    head = ", ".join(_write_declaration(p) for p in parameters)
    text = f"static {returns} __ufm_wrap_{function.name}({head}) {{ {before}{call}{after} }}"
    return replace(function, parameters=tuple(parameters), returns=returns), text


#: No type says that a pointer leads to one number.  What a function writes beyond one is seen here, and made a write to
#: memory that is nobody's, which the guard refuses to bind.
_BEYOND = """\
static const unsigned char __ufm_beyond[64] = {165, 90, 165, 90, 165, 90, 165, 90, 165, 90, 165, 90, 165, 90, 165, 90};
#define __UFM_BEGIN(v) \\
    __builtin_memset(v, 0, sizeof *v); __builtin_memcpy(v + 1, __ufm_beyond, sizeof v - sizeof *v)
#define __UFM_END(v) \\
    if (__builtin_memcmp(v + 1, __ufm_beyond, sizeof v - sizeof *v)) *(volatile unsigned char *)__ufm_beyond = 0
"""


def _list_members(parameter: Parameter, unit: Unit) -> Sequence[tuple[str, str]]:
    """The members of the structure of numbers that a function writes to."""
    if parameter.pointer != 1 or parameter.const or parameter.shape or parameter.indexed:
        return ()
    kind = resolve_type(parameter.type, unit.typedefs)
    record = unit.records.get(kind.removeprefix("struct "))
    if not kind.startswith("struct ") or not isinstance(record, tuple):
        return ()
    kinds = [resolve_type(m.type, unit.typedefs) for m in record]
    nested = any(m.shape or m.members for m in record) or any("struct" in k or {"*", "[", "("} & set(k) for k in kinds)
    return () if nested else [(m.name, m.type) for m in record]


def _write_declaration(p: Parameter) -> str:
    shape = "".join(f"[{dim}]" for dim in p.shape)
    return f"{'const ' if p.const else ''}{p.type} {'*' * p.pointer if not shape else ''}{p.name}{shape}"


def describe_nothing_declared(reasons: dict[str, str], name: str) -> SignatureError:
    """The error of a cell whose declarations cannot be ufuncs."""
    some = "; ".join(f"{function}: {reason}" for function, reason in [*reasons.items()][:5])
    return SignatureError(
        f"{name} declares {len(reasons)} functions, but none can be a ufunc: {some}.",
        remedy="Write a function that calls it, or declare it again with a // ufunc: comment.",
    )
