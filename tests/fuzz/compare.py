"""Batches of random functions through the compiler, and their results beside the second opinion's."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ufunc_magic as um
from ufunc_magic import cells, forms as python_form
from ufunc_magic.bench import expectation as verify
from ufunc_magic.bench.expectation import to_lists
from ufunc_magic.languages.c import lower, parser as cparse
from ufunc_magic.model import FAULTS, Options
from ufunc_magic.render import Agreement

from . import cvalues, grow
from .ctree import Call, Expression, Function, Library, Literal, Statement, contains
from .cvalues import TYPES, CType

__all__ = [
    "BATCHES",
    "Batch",
    "Fault",
    "Sample",
    "calls",
    "compiled",
    "compiled_faults",
    "core_shape",
    "faults",
    "reduced",
]

Arrays = list[NDArray[Any]]


@dataclass(frozen=True)
class Batch:
    """What kind of functions, compiled how; ``share`` of all batches."""

    style: grow.Style
    options: Mapping[str, Any]
    share: float


_QUICK = {"strict": True, "compile_args": ["-O1"]}
_NARROW = "?bBhHiIlLqQfd"
#: Most batches are compiled quickly; what ``-O3`` and the clones for each CPU level do is seen in the others.  Python
#: forms, which calculate in double, are looked at where there is no long double.
BATCHES = (
    Batch(grow.Style(_NARROW), {**_QUICK, "arch": "native"}, 0.44),
    Batch(grow.Style(), _QUICK, 0.12),
    Batch(grow.Style(_NARROW, complex=True), {**_QUICK, "arch": "native"}, 0.22),
    Batch(grow.Style(complex=True), _QUICK, 0.1),
    Batch(grow.Style(calm=True), {"strict": True}, 0.06),
    Batch(grow.Style(_NARROW, near=True, calm=True), {}, 0.06),
)


@dataclass(frozen=True)
class Fault:
    """A function whose results differ: in which call, for which inputs."""

    function: Function
    where: str
    inputs: str
    got: str
    expected: str

    def __str__(self) -> str:
        return (
            f"{self.function.name}, {self.where}: {self.inputs} gives {self.got}, and by C's rules {self.expected}\n\n"
            f"{self.function.text()}"
        )


def compiled(made: Sequence[Function], batch: Batch) -> um.Build:
    """The functions as one cell."""
    return um.compile_c(grow.cell_of(made, batch.style), **batch.options)


def faults(made: Sequence[Function], batch: Batch, built: um.Build, *, seed: int) -> tuple[list[Fault], int]:
    """Every function's first difference, and how many Python forms were looked at."""
    found, looked = [], 0
    forms = _python_forms(made, batch)
    with np.errstate(all="ignore"):
        for function in made:
            sample = _sample(function, random.Random(f"{seed} {function.name}"))
            tried = (function, built[function.name], sample, batch)
            fault = next(compiled_faults(*tried), None) or next(_python_faults(function, forms, sample), None)
            looked += isinstance(forms.get(function.name), python_form.PythonForm) and not _letters(function) & set(
                "gG"
            )
            if fault:
                found.append(fault)
    return found, looked


# -- inputs and what is expected of them

#: Elements of each function's inputs, and of those that are reduced.
ROWS, REDUCED = 21, 5


@dataclass(frozen=True)
class Sample:
    """Inputs of a function and what it must give for them."""

    sizes: dict[str, int]
    inputs: Arrays
    expected: Arrays

    def rows(self, at: slice) -> Sample:
        return Sample(self.sizes, [a[at] for a in self.inputs], [a[at] for a in self.expected])


def _sample(function: Function, rng: random.Random) -> Sample:
    sizes = {"n": rng.choice((0, 1, 2, 3, 5)), "m": rng.choice((1, 2, 4)), "len": 3, "count": rng.choice((1, 4))}
    count = ROWS if not any(p.core for p in function.parameters) else 7
    inputs = []
    for p in function.inputs:
        shape = core_shape(p.core, sizes)
        values = grow.rows(rng, p.type, count * int(np.prod(shape, dtype=int)))
        inputs.append(values.reshape(count, *shape))
    return Sample(sizes, inputs, _expected(function, inputs, sizes))


def core_shape(core: Sequence[int | str], sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(sizes[d] if isinstance(d, str) else d for d in core)


def _scalar(value: Any, t: CType) -> Any:
    """An element of an array as the second opinion's value."""
    if t.kind == "c":
        return value.real, value.imag
    return int(value) if t.integral else value


def _expected(function: Function, inputs: Arrays, sizes: dict[str, int]) -> Arrays:
    rows = []
    for position in range(len(inputs[0])):
        given = [
            [_scalar(v, p.type) for v in a[position].ravel()] if p.core else _scalar(a[position], p.type)
            for a, p in zip(inputs, function.inputs, strict=True)
        ]
        rows.append(function.run(given, sizes))
    made = []
    for n, p in enumerate(function.outputs):
        flat = [v for row in rows for v in (row[n] if p.core else [row[n]])]
        made.append(_array(flat, p.type).reshape(len(rows), *core_shape(p.core, sizes)))
    return made


def _array(values: Sequence[Any], t: CType) -> NDArray[Any]:
    made = np.zeros(len(values), t.char)
    if t.kind != "c":
        made[:] = values
    elif values:
        made.real, made.imag = (np.array(part, cvalues.real_of(t).char) for part in zip(*values, strict=True))
    return made


# -- the ufunc


def compiled_faults(
    function: Function, ufunc: Any, sample: Sample, batch: Batch, *, folds: bool = True
) -> Iterator[Fault]:
    """Differences of every way of calling it; ``folds`` computes what ``reduce`` must give, with the second opinion."""
    if ufunc.types != [function.types]:
        yield Fault(function, "types", "", str(ufunc.types), function.types)
        return
    for where, expected, call in calls(function, ufunc, sample, folds=folds):
        results = call()
        results = results if isinstance(results, tuple) else (results,)
        for got, wanted in zip(results, expected, strict=True):
            got = np.asarray(got)
            if got.dtype != wanted.dtype or got.shape != wanted.shape:
                yield Fault(function, where, "", f"{got.dtype}{got.shape}", f"{wanted.dtype}{wanted.shape}")
                continue
            wrong = np.argwhere(~_same(got, wanted, near=batch.style.near and contains(function, Library)))
            if wrong.size:
                at = tuple(wrong[0])
                row = at[0] if at and where != "reduced" else slice(None)
                shown = (
                    ", ".join(str(a[row if len(a) > 1 else ...]) for a in sample.inputs) if where != "length 1" else ""
                )
                yield Fault(function, where, f"({shown}) at {at}", repr(got[at]), repr(wanted[at]))


_Call = tuple[str, Arrays, Callable[[], Any]]


def calls(function: Function, ufunc: Any, sample: Sample, *, folds: bool) -> Iterator[_Call]:
    """Every way of calling it, with what must come out."""
    inputs, expected = sample.inputs, sample.expected
    yield "contiguous", expected, lambda: ufunc(*inputs)
    spread = [np.repeat(a, 3, axis=0)[1::3] for a in inputs]
    yield "strided", expected, lambda: ufunc(*spread)
    back = [a[::-1].copy()[::-1] for a in inputs]
    yield "reversed", expected, lambda: ufunc(*back)
    for position in (0, 1):
        one = [a[position : position + 1] for a in inputs]
        yield "length 1", [e[position : position + 1] for e in expected], lambda one=one: ufunc(*one)
    yield "0-d", [e[2] for e in expected], lambda: ufunc(*(a[2] for a in inputs))
    swapped = [a.astype(a.dtype.newbyteorder()) for a in inputs]
    yield "byte-swapped", expected, lambda: ufunc(*swapped)
    yield "unaligned", expected, lambda: ufunc(*(_unaligned(a) for a in inputs))
    first = [p for p in function.inputs if p.type.char == function.outputs[0].type.char]
    if first and not any(p.core for p in function.parameters):
        position = function.inputs.index(first[0])
        yield "in place", expected, lambda: _in_place(ufunc, inputs, position)
    if not folds:
        return
    if function.types == f"{first[0].type.char * 2}->{first[0].type.char}" if first and not ufunc.signature else False:
        folded = _folded(function, inputs[0][:REDUCED])
        yield "reduced", [folded[-1]], lambda: ufunc.reduce(inputs[0][:REDUCED])
        yield "accumulated", [folded], lambda: ufunc.accumulate(inputs[0][:REDUCED])


def _unaligned(array: NDArray[Any]) -> NDArray[Any]:
    buffer = np.zeros(array.nbytes + 1, np.uint8)
    view: NDArray[Any] = buffer[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def _in_place(ufunc: Any, inputs: Arrays, position: int) -> Any:
    given = [a.copy() if n == position else a for n, a in enumerate(inputs)]
    return ufunc(*given, out=(given[position], *[None] * (ufunc.nout - 1)))


def _folded(function: Function, values: NDArray[Any]) -> NDArray[Any]:
    t = function.inputs[0].type
    found = [_scalar(values[0], t)]
    for value in values[1:]:
        found.append(function.run([found[-1], _scalar(value, t)])[0])
    return _array(found, t)


#: Units in the last place that SIMD math may be off.
_ULP = 4


def _same(got: NDArray[Any], wanted: NDArray[Any], *, near: bool) -> NDArray[np.bool_]:
    """Equal bit for bit, or with ``near`` in almost all of them; all NaN are one."""
    if got.dtype.kind == "c":
        return _same(got.real, wanted.real, near=near) & _same(got.imag, wanted.imag, near=near)
    same = got == wanted
    if got.dtype.kind != "f":
        return np.asarray(same)
    same = (same & (np.signbit(got) == np.signbit(wanted))) | (np.isnan(got) & np.isnan(wanted))
    if near:
        tiny = np.finfo(got.dtype).tiny
        same |= np.abs(got - wanted) <= _ULP * np.spacing(np.maximum(np.abs(wanted), tiny))
    return np.asarray(same)


# -- the Python form


def _python_forms(made: Sequence[Function], batch: Batch) -> dict[str, python_form.PythonForm | python_form.NotPython]:
    text = grow.cell_of(made, batch.style)
    unit, tree = cparse.parse_cell(text)
    signatures, _, _ = cells.plan_operands(unit, options=Options())
    program = lower(tree)
    return {s.name: python_form.write(program, signature=s, unit=unit) for s in signatures}


def _python_faults(function: Function, forms: Mapping[str, Any], sample: Sample) -> Iterator[Fault]:
    """Results of the form that verifies: the same bits where it promises them, agreement elsewhere."""
    form = forms[function.name]
    if not isinstance(form, python_form.PythonForm) or _letters(function) & set("gG"):
        return  # Python has nothing wider than double
    names = python_form.make_namespace("verify")
    exec(form.checked, names)
    python: Any = names[form.name]
    if not _exact(function):
        verdict = _verdict(python, function, sample)
        if verdict is not None and not verdict.ok:
            yield Fault(function, "its Python form", f"judged: {verdict}", form.checked, "")
        return
    for position, row in enumerate(zip(*to_lists(sample.inputs), strict=True)):
        wanted = [e[position] for e in sample.expected]
        try:
            results = python(*row)
        except FAULTS as error:
            yield Fault(function, "its Python form", str(row), f"{error!r}\n{form.checked}", str(wanted))
            return
        results = results if isinstance(results, tuple) and len(wanted) > 1 else (results,)
        for got, e in zip(results, wanted, strict=True):
            try:
                same = _same(_typed(got, e.dtype), e, near=False).all()
            except FAULTS:
                same = False
            if not same:
                yield Fault(function, "its Python form", str(row), f"{got!r}\n{form.checked}", repr(e))
                return


def _exact(function: Function) -> bool:
    """Whether its Python form, which calculates in double, must give the same bits."""
    return not contains(function, Library, lambda call: call.name in cvalues.TAIL) and not _letters(function) & set(
        "FD"
    )


_letters_of: dict[int, tuple[Function, set[str]]] = {}


def _letters(function: Function) -> set[str]:
    """NumPy's letters of every type in it."""
    known = _letters_of.get(id(function))
    if known is None or known[0] is not function:
        _letters_of.clear()
        known = _letters_of[id(function)] = function, {n.char for n in _nodes(function) if isinstance(n, CType)}
    return known[1]


def _nodes(tree: Any) -> Iterator[Any]:
    """Everything that a tree is made of."""
    yield tree
    if isinstance(tree, CType):
        return
    if isinstance(tree, tuple):
        for part in tree:
            yield from _nodes(part)
    elif dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        for part in dataclasses.fields(tree):
            yield from _nodes(getattr(tree, part.name))


def _verdict(python: Any, function: Function, sample: Sample) -> Agreement | None:
    """What a report would say, of the rows that double can hold."""
    with np.errstate(all="ignore"):
        held = [a.astype({"g": "d", "G": "D"}.get(a.dtype.char, a.dtype)).astype(a.dtype) for a in sample.inputs]
        same = [(a == h) | (a != a) for a, h in zip(sample.inputs, held, strict=True)]
    # Infinities and NaN of complex numbers come out of different formulas.
    same += [np.isfinite(a) for a in (*sample.inputs, *sample.expected) if _letters(function) & set("FD")]
    kept = np.logical_and.reduce([s.reshape(len(s), -1).all(axis=1) for s in same])
    if not kept.any():
        return None
    inputs, expected = ([a[kept] for a in arrays] for arrays in (sample.inputs, sample.expected))
    part = verify.expect_at(python, tuple(inputs), np.arange(len(inputs[0])), nout=len(expected))
    return verify.check_points([part], tuple(expected) if len(expected) > 1 else expected[0]) if part else None


def _typed(got: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """A Python form's result as an array; an integer must be one, and in the range of its type.

    Raises
    ------
    TypeError, OverflowError
    """
    made = np.array(got, object)
    if dtype.kind in "iub" and not all(isinstance(v, int) for v in made.ravel()):
        raise TypeError(f"{got!r} is no integer")
    return np.array(got, dtype)


# -- making a failing function small


def reduced(fault: Fault, batch: Batch, *, seed: int, tries: int = 150) -> Fault:
    """The same fault, or another, of a smaller function; the function alone in its cell."""

    def failing(function: Function) -> Fault | None:
        try:
            found, _ = faults([function], batch, compiled([function], batch), seed=seed)
        except (um.UfuncMagicError, LookupError, TypeError, ValueError, ArithmeticError):
            return None  # it is no function any more
        return found[0] if found else None

    best = failing(fault.function)
    if best is None:
        return replace(fault, where=f"{fault.where} (only among the others of its batch)")
    while tries > 0:
        for smaller in _smaller(best.function):
            tries -= 1
            found = failing(smaller)
            if found is not None or tries <= 0:
                break
        else:
            break
        best = found or best
    return best


def _smaller(function: Function) -> Iterator[Function]:
    """Functions with one part left out, large parts first."""
    for n in range(len(function.before)):
        yield replace(function, before=function.before[:n] + function.before[n + 1 :])
    for body in _cut(function.body):
        yield replace(function, body=body)
    for n, other in enumerate(function.before):
        if isinstance(other, Function):
            for smaller in _smaller(other):
                before = (*function.before[:n], smaller, *function.before[n + 1 :])
                yield _calling(replace(function, before=before), smaller)


def _calling(tree: Any, helper: Function) -> Any:
    """The tree with calls of ``helper`` as it is now."""
    if isinstance(tree, Call) and tree.function.name == helper.name:
        return replace(tree, function=helper, given=_calling(tree.given, helper))
    if isinstance(tree, tuple):
        return tuple(_calling(part, helper) for part in tree)
    if isinstance(tree, Expression | Statement) or (isinstance(tree, Function) and tree.name != helper.name):
        parts = {f.name: _calling(getattr(tree, f.name), helper) for f in dataclasses.fields(tree)}
        return replace(tree, **parts)
    return tree


#: An expression takes the place of one that is as wide, or a conversion could be undefined.
_RANK = {"b": 0, "i": 0, "u": 0, "f": 1, "c": 2}


def _cut(tree: Any) -> Iterator[Any]:
    """The tree with one thing less: a statement of a block, an expression instead of what it is part of."""
    if isinstance(tree, tuple):
        for n, part in enumerate(tree):
            if isinstance(part, Statement):
                yield tree[:n] + tree[n + 1 :]
                for block in (getattr(part, name, ()) for name in ("yes", "no", "body")):
                    if block and isinstance(block, tuple):
                        yield tree[:n] + block + tree[n + 1 :]
        for n, part in enumerate(tree):
            yield from ((*tree[:n], other, *tree[n + 1 :]) for other in _cut(part))
        return
    if not isinstance(tree, Expression | Statement):
        return
    parts = [getattr(tree, f.name) for f in dataclasses.fields(tree)]
    if isinstance(tree, Expression):
        yield from (
            part for part in parts if isinstance(part, Expression) and _RANK[part.type.kind] <= _RANK[tree.type.kind]
        )
        if not isinstance(tree, Literal) and tree.type.integral:
            yield Literal("1", 1, TYPES["i"])
    for field in dataclasses.fields(tree):
        if isinstance(value := getattr(tree, field.name), Expression | tuple) and not isinstance(tree, Call):
            yield from (replace(tree, **{field.name: other}) for other in _cut(value))
