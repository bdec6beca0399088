"""What the object code says of each function: its loops, its Python forms, and whether it may be tried out."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from .. import codegen, python_form
from ..model import MOST_TIMED, CellFunction, Function, LoopCode, Options, Signature, SignatureError, Unit, loop_order
from .native import narrow

__all__ = ["prototype", "python_forms", "representatives", "ufunc_entries"]

#: A function that calls one of these is not tried out: it prints, touches files, or ends the process.
_EFFECTS = frozenset(
    "printf fprintf vprintf vfprintf puts fputs putchar putc fputc putw fwrite write perror dprintf fopen open creat "
    "fclose remove unlink rename mkdir rmdir chdir system popen fork vfork execl execv execve exit _exit _Exit abort "
    "quick_exit raise kill signal sigaction longjmp siglongjmp setlocale sleep usleep nanosleep getchar scanf gets "
    "fgets read pthread_create thrd_create".split()
)


def representatives(signatures: Sequence[Signature]) -> tuple[Signature, ...]:
    """One signature for each name: of overloads, the one for double, or else the last."""
    chosen: dict[str, Signature] = {}
    for signature in signatures:
        held = chosen.get(signature.name)
        if held is None or not all(o.type == "double" for o in held.inputs):
            chosen[signature.name] = signature
    return tuple(chosen.values())


def python_forms(
    text: str, signatures: Sequence[Signature], unit: Unit, options: Options
) -> dict[str, tuple[Signature, Mapping[str, str]]]:
    """Python's and NumPy's words for each function, or the reason why there are none, by its name."""
    wide = codegen.types_wanted(options.types or "f4,f8")[-1].number
    forms: dict[str, tuple[Signature, Mapping[str, str]]] = {}
    for n, signature in enumerate(signatures):
        if n >= MOST_TIMED:  # a library has hundreds, and each takes its time
            forms[signature.name] = signature, {"python_reason": f"comes after {MOST_TIMED} others of its cell"}
            continue
        # A template or a cell in terms of T is written, and timed, for its widest type.
        types = dict.fromkeys(signature.function.template or ("T",), wide)
        written = python_form.write(text, signature=signature, unit=unit, types=types, cplus=options.cplus)
        if isinstance(written, python_form.NotPython):
            form = {"python_reason": written.reason}
        else:
            form = {
                "python": written.source,
                "checked": written.checked,
                "vector": written.vector,
                "python_name": written.name,
            }
        forms[signature.name] = signature, form
    return forms


def ufunc_entries(
    translation: codegen.Translation,
    types: Sequence[tuple[int, ...]],
    python: Mapping[str, tuple[Signature, Mapping[str, str]]],
    unit: Unit,
    *,
    without: Collection[str] = (),
    remedy: str | None = ", or --types",
) -> list[CellFunction]:
    """One entry for each name but those ``without``, with its loops narrow to wide.

    ``remedy`` is what else helps a ufunc without a loop for float64; None to say nothing about that.

    Raises
    ------
    SignatureError
        If the compiler found a type that NumPy has not.
    """
    loops: dict[str, dict[tuple[int, ...], LoopCode]] = {}
    timed: dict[str, tuple[int, ...]] = {}
    for index, (instance, numbers) in enumerate(zip(translation.instances, types, strict=True)):
        signature = instance.signature
        if signature.name in without:
            continue
        if 255 in numbers:
            operand = (*signature.inputs, *signature.outputs)[numbers.index(255)]
            raise SignatureError(
                f"{signature.name}, line {signature.function.line}: {operand.type!r} is not a number type of NumPy's.",
                remedy="Use an integer, floating-point or complex type of C, or make the function static.",
            )
        loops.setdefault(signature.name, {}).setdefault(numbers[: signature.nin], LoopCode(index, numbers))
        if signature is python[signature.name][0]:
            timed[signature.name] = numbers
    made = []
    for name, (signature, form) in python.items():
        if name in without:
            continue
        function = signature.function
        effects = sorted(codegen.reached(function, unit) & _EFFECTS)
        effects += ["std::cout"] * bool(re.search(r"\bstd::c(out|err|log)\b", function.text))
        seen = (f"{name} calls {effects[0]}, so it was not called to be timed.",) if effects else ()
        ordered = sorted(loops[name].values(), key=lambda loop: loop_order(loop.types))
        results = [o.name or ("out" if signature.nout == 1 else f"out{n}") for n, o in enumerate(signature.outputs, 1)]
        made.append(
            CellFunction(
                name=name,
                kind="ufunc",
                nin=signature.nin,
                nout=signature.nout,
                core=signature.core,
                identity=signature.identity,
                parameters=tuple(o.name or f"x{n}" for n, o in enumerate(signature.inputs, 1)),
                results=tuple(results),
                loops=tuple(ordered),
                doc=function.doc,
                source=function.text,
                line=function.line,
                notes=(
                    *signature.notes,
                    *(
                        ()
                        if remedy is None
                        else narrow(name, ordered, nin=signature.nin, core=signature.core, remedy=remedy)
                    ),
                    *seen,
                ),
                timed=() if effects else timed[name],
                effects=tuple(effects),
                cautious=_cautious(signature),
                python=form.get("python", ""),
                checked=form.get("checked", ""),
                vector=form.get("vector", ""),
                python_name=form.get("python_name", ""),
                python_reason=form.get("python_reason", ""),
            )
        )
    return made


def _cautious(signature: Signature) -> bool:
    """Calling it on just any value may take for ever, or read past a table."""
    function = signature.function
    table = "[" in function.text.partition("{")[2] and not signature.core
    return (function.loops and not signature.core) or function.recursive or not function.pure or table


def prototype(function: Function) -> str:
    """The function's type for cffi: ``double (*)(const double *, int)``."""
    parameters = []
    for p in function.parameters:
        if "(*)" in p.type:
            parameters.append(p.type)
            continue
        stars = "*" * (p.pointer + (1 if p.shape else 0))
        parameters.append(f"{'const ' if p.const else ''}{p.type} {stars}".strip())
    if function.variadic:
        parameters.append("...")
    return f"{function.returns} (*)({', '.join(parameters) or 'void'})"
