"""The entry of each function in the object code: the only file of languages that knows the fields of CellFunction."""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .. import codegen, forms
from ..ir import ALLOCATE, Program
from ..model import (
    MOST_TIMED,
    RECORD,
    TYPES,
    CellFunction,
    Comfort,
    Diagnostic,
    Function,
    LoopCode,
    Options,
    Signature,
    SignatureError,
    Unit,
    mark_line,
    rank_loop,
)
from .native import narrow
from .operand_uses import find_operand_uses

#: A function's Python form, the reason why there is none, or None: it comes after too many others.
Form: TypeAlias = forms.PythonForm | forms.NotPython | None

#: A function that calls one of these is not called to be timed: it prints, touches files, or ends the process.
_EFFECTS = frozenset(
    "printf fprintf vprintf vfprintf puts fputs putchar putc fputc putw fwrite write perror dprintf fopen open creat "
    "fclose remove unlink rename mkdir rmdir chdir system popen fork vfork execl execv execve raise kill signal "
    "sigaction longjmp siglongjmp setlocale sleep usleep nanosleep getchar scanf gets fgets read pthread_create "
    "thrd_create".split()
)
if sys.platform == "win32":  # elsewhere they end the call only
    _EFFECTS |= frozenset("exit _exit _Exit abort quick_exit".split())


def pick_representatives(signatures: Sequence[Signature]) -> tuple[Signature, ...]:
    """One signature for each name: of overloads, the one for double, or else the last."""
    chosen: dict[str, Signature] = {}
    for signature in signatures:
        other = chosen.get(signature.name)
        if other is None or not all(o.type == "double" for o in other.inputs):
            chosen[signature.name] = signature
    return tuple(chosen.values())


# ------------------------------------------------------------------------------- of every language


_INT64 = np.dtype(np.int64).num

#: Remedy for a function with a type that NumPy lacks.
NUMBERS = "Use an integer, floating-point or complex C type, or declare the function `static`."


def find_foreign_types(
    instances: Sequence[codegen.Instance], types: Sequence[tuple[int, ...]], *, name: str, source: str
) -> dict[str, Diagnostic]:
    """By name, why functions are not bound for which the compiler found a type that NumPy has not.

    Parameters
    ----------
    instances, types
        The loops and their operands' numbers.
    name, source : str
        The cell's.
    """
    lines = source.split("\n")
    refused: dict[str, Diagnostic] = {}
    for instance, numbers in zip(instances, types, strict=True):
        signature = instance.signature
        if 255 in numbers:
            operand = (*signature.inputs, *signature.outputs)[numbers.index(255)]
            line = signature.function.line
            text = lines[line - 1] if 0 < line <= len(lines) else ""
            what = f"{signature.name} is not bound: {operand.type!r} is not a NumPy number type"
            refused.setdefault(signature.name, Diagnostic("error", what, name, line, text=text, hint=NUMBERS))
    return refused


def group_loops(
    instances: Sequence[codegen.Instance],
    types: Sequence[tuple[int, ...]],
    *,
    without: Collection[str] = (),
    remedy: str,
) -> dict[str, tuple[LoopCode, ...]]:
    """The loops of each name but those ``without``, narrow to wide.

    Raises
    ------
    SignatureError
        With the ``remedy``, if the compiler found a type that NumPy has not.
    """
    loops: dict[str, dict[tuple[int, ...], LoopCode]] = {}
    for index, (instance, numbers) in enumerate(zip(instances, types, strict=True)):
        signature = instance.signature
        if signature.name in without:
            continue
        if 255 in numbers:
            operand = (*signature.inputs, *signature.outputs)[numbers.index(255)]
            line = mark_line(signature.function.line)
            raise SignatureError(
                f"{signature.name}, line {line}: {operand.type!r} is not a NumPy number type.",
                remedy=remedy,
            )
        known = loops.setdefault(signature.name, {})
        before = known.get(numbers[: signature.nin])
        # As C++ chooses: what is no template comes before an instance of one.
        better = before and instances[before.index].signature.function.template and not signature.function.template
        if before is None or better:
            known[numbers[: signature.nin]] = LoopCode(index, numbers)
    return {name: tuple(sorted(ls.values(), key=lambda loop: rank_loop(loop.types))) for name, ls in loops.items()}


def make_ufunc_entry(
    signature: Signature,
    loops: tuple[LoopCode, ...],
    *,
    form: Form,
    timed: tuple[int, ...],
    cautious: bool,
    notes: Sequence[str] = (),
    effects: Sequence[str] = (),
) -> CellFunction:
    """A ufunc; ``notes`` follow those of the signature, and the rest is as in `CellFunction`."""
    function = signature.function
    results = [o.name or ("out" if signature.nout == 1 else f"out{n}") for n, o in enumerate(signature.outputs, 1)]
    return CellFunction(
        name=signature.name,
        kind="ufunc",
        nin=signature.nin,
        nout=signature.nout,
        core=signature.core,
        identity=signature.identity,
        parameters=tuple(o.name or f"x{n}" for n, o in enumerate(signature.inputs, 1)),
        results=tuple(results),
        loops=loops,
        doc=function.doc,
        source=function.text,
        line=function.line,
        notes=(*signature.notes, *notes, *_list_form_notes(form)),
        timed=timed if signature.inputs else (),
        cautious=cautious,
        effects=tuple(effects),
        traceless=function.body.traceless,
        local_arrays=function.body.local_arrays,
        uses=find_operand_uses(signature),
        allocates=not ALLOCATE.isdisjoint(function.body.calls),
        **_write_texts(form),
    )


def make_native_entry(
    function: Function,
    *,
    name: str,
    index: int,
    parameters: Sequence[str],
    declaration: str = "",
    reason: tuple[str, str] = ("", ""),
) -> CellFunction:
    """A function that is called as it is, the one at ``index`` of the object's table: through cffi where it has a
    ``declaration`` and a ``reason`` (with what to do about it) to be no ufunc, else a kernel."""
    why, remedy = reason
    return CellFunction(
        name=name,
        kind="plain" if declaration else "kernel",
        index=index,
        parameters=tuple(parameters),
        declaration=declaration,
        doc=function.doc,
        source=function.text,
        line=function.line,
        traceless=function.body.traceless,
        local_arrays=function.body.local_arrays,
        reason=f"{why} ({remedy})" if remedy else why,
    )


def make_python_entry(function: Function, *, reason: str, samples: tuple[str, ...], form: Form) -> CellFunction:
    """A function that stays what it is to Python."""
    return CellFunction(
        name=function.name,
        kind="python",
        parameters=tuple(p.name for p in function.parameters),
        doc=function.doc,
        source=function.text,
        line=function.line,
        reason=reason,
        samples=samples,
        notes=_list_form_notes(form),
        **_write_texts(form),
    )


def _list_form_notes(form: Form) -> tuple[str, ...]:
    return (form.note,) if form is not None and form.note else ()


def _write_texts(form: Form) -> dict[str, Any]:
    if form is None:
        return {"python_reason": f"comes after {MOST_TIMED} other functions in its cell"}
    if isinstance(form, forms.NotPython):
        return {"python_reason": form.reason}
    texts = {"python": form.source, "checked": form.checked, "vector": form.vector, "marks": form.marks}
    return {**texts, "python_name": form.name}


# ------------------------------------------------------------------------------------- of C


def write_python_forms(
    lowered: Callable[[Mapping[str, int]], Program], signatures: Sequence[Signature], unit: Unit, options: Options
) -> dict[str, tuple[Signature, Form]]:
    """Each name's signature with its Python form.

    ``lowered`` gives the cell as a program, for the NumPy type numbers of its type parameters.
    """
    by_name: dict[str, tuple[Signature, Form]] = {}
    programs: dict[tuple[tuple[str, ...], str], Program] = {}
    left = MOST_TIMED
    for signature in signatures:
        form: Form = None
        # A library has hundreds, and each takes its time; what has effects is not called to be timed.
        if left and not _find_effects(signature.function, unit):
            left -= 1
            # A template or a cell in terms of T is written, and timed, for its widest type.
            names, types = signature.function.template or ("T",), options.types or signature.function.body.instances
            notes: list[str] = []
            with Comfort(f"the Python form of {signature.name}", notes):
                if (names, types) not in programs:
                    wide = codegen.choose_types(types)[-1].number
                    programs[names, types] = lowered(dict.fromkeys(names, wide))
                form = forms.write(programs[names, types], signature=signature, unit=unit)
            if notes:
                form = forms.NotPython("could not be written as Python", signature.function.line, notes[0])
        by_name[signature.name] = signature, form
    return by_name


def _find_effects(function: Function, unit: Unit) -> list[str]:
    """The calls that keep a function from being timed."""
    effects = sorted(codegen.find_reached(function, unit) & _EFFECTS)
    return effects + ["std::cout"] * bool(re.search(r"\bstd::c(out|err|log)\b", function.text))


def _note_overloads(name: str, loops: Sequence[LoopCode], nin: int) -> str:
    """The note on overloads among which C++ finds none for NumPy's int64, its ``long``."""
    types = [[TYPES[number] for number in loop.types[:nin] if number != RECORD] for loop in loops]
    exact = [[t.char in "lq" and t.rank == TYPES[_INT64].rank for t in row] for row in types]
    is_clear = any(all(all(map(operator.ge, row, other)) for other in exact if other is not row) for row in exact)
    if len(loops) == 1 or (is_clear and any(map(any, exact))):
        return ""
    way = "the first loop that holds all their values, as in NumPy"
    if any({t.kind for t in column} & {"i", "u"} for column in zip(*types, strict=True)):
        way = "a loop of integers, and a value that does not fit it raises"
    return f"{name}(long) is ambiguous in C++. Here, integers of 64 bits take {way}."


def make_c_ufunc_entries(
    translation: codegen.Translation,
    types: Sequence[tuple[int, ...]],
    forms: Mapping[str, tuple[Signature, Form]],
    unit: Unit,
    *,
    without: Collection[str] = (),
    remedy: str | None = ", or --types",
    ranked: bool = True,
) -> list[CellFunction]:
    """One ufunc for each name but those ``without``.

    ``remedy`` is what else helps a ufunc without a loop for float64; None to say nothing about that.  ``ranked``: loops
    of integers come before those of floating-point numbers, as among C++'s overloads.

    Raises
    ------
    SignatureError
        If the compiler found a type that NumPy has not.
    """
    loops = group_loops(translation.instances, types, without=without, remedy=NUMBERS)
    numbers = {id(i.signature): n for i, n in zip(translation.instances, types, strict=True)}
    entries = []
    for name, (signature, form) in forms.items():
        if name in without:
            continue
        function = signature.function
        effects = _find_effects(function, unit)
        notes: list[str] = []
        if remedy is not None and signature.inputs and not signature.has_records:
            notes += narrow(name, loops[name], remedy=remedy)
        if ranked and not signature.function.template and (note := _note_overloads(name, loops[name], signature.nin)):
            notes.append(note)
        if effects:
            notes.append(f"{name} calls {effects[0]}, so the report does not call or time it.")
        if by_out := [size for size in signature.open_sizes if size not in signature.size_operands]:
            notes.append(f"{name} is not timed: only out= gives the size {by_out[0]}.")
        body = function.body
        # On just any value it may take for ever, or read past a table.
        table = "[" in function.text.partition("{")[2] and not signature.core
        entries.append(
            make_ufunc_entry(
                signature,
                loops[name],
                form=form,
                timed=() if effects or by_out else numbers[id(signature)],
                cautious=(body.loops and not signature.core) or body.recursive or not body.pure or table,
                notes=notes,
                effects=effects,
            )
        )
    return entries


def write_prototype(function: Function) -> str:
    """The function's type for cffi: ``double (*)(const double *, int)``."""
    parameters = [*(p.spelled for p in function.parameters), *(["..."] if function.variadic else [])]
    text = f"{function.returns} (*)({', '.join(parameters) or 'void'})"
    return re.sub(r"\bstd::(?=\w+_t\b)", "", text)  # it knows them by their names in C
