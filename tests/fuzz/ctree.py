"""C functions as trees that can be written as text and run by themselves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import cvalues
from .cvalues import INT, CType, binary, common, convert, promoted, real_of, result_type, truth

__all__ = [
    "Array", "Assign", "Binary", "Call", "Cast", "Choose", "Clamped", "Declare", "Expression", "Function", "If",
    "Index", "Leave", "Library", "Literal", "Loop", "Output", "Parameter", "Part", "Return", "Statement", "Step",
    "Switch", "Unary", "Variable", "contains",
]  # fmt: skip

Environment = dict[str, Any]

_PRECEDENCE = {
    "||": 2, "&&": 3, "|": 4, "^": 5, "&": 6, "==": 7, "!=": 7, "<": 8, ">": 8, "<=": 8, ">=": 8,
    "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "%": 11,
}  # fmt: skip


class Expression:
    """A value; ``level`` is its precedence, ``type`` its type in C."""

    level = 14
    type: CType

    def text(self) -> str:
        raise NotImplementedError

    def value(self, names: Environment) -> Any:
        raise NotImplementedError

    def at(self, level: int) -> str:
        """The text, in parentheses where a place of that precedence needs them."""
        return self.text() if self.level >= level else f"({self.text()})"


@dataclass(frozen=True)
class Literal(Expression):
    written: str
    number: Any
    type: CType

    def text(self) -> str:
        return self.written

    def value(self, names: Environment) -> Any:
        return self.number


@dataclass(frozen=True)
class Variable(Expression):
    name: str
    type: CType

    def text(self) -> str:
        return self.name

    def value(self, names: Environment) -> Any:
        return names[self.name]


@dataclass(frozen=True)
class Index(Expression):
    name: str
    type: CType
    index: Expression

    def text(self) -> str:
        return f"{self.name}[{self.index.text()}]"

    def value(self, names: Environment) -> Any:
        return names[self.name][self.index.value(names)]


@dataclass(frozen=True)
class Binary(Expression):
    op: str
    left: Expression
    right: Expression
    #: Parentheses beyond what C needs.
    loud: bool = True

    @property
    def type(self) -> CType:  # type: ignore[override]
        return result_type(self.op, self.left.type, self.right.type)

    @property
    def level(self) -> int:  # type: ignore[override]
        return 0 if self.loud else _PRECEDENCE[self.op]

    def text(self) -> str:
        own = _PRECEDENCE[self.op]
        return f"{self.left.at(own)} {self.op} {self.right.at(own + 1)}"

    def value(self, names: Environment) -> Any:
        return binary(self.op, self.left.value(names), self.left.type, self.right.value(names), self.right.type)


@dataclass(frozen=True)
class Unary(Expression):
    op: str
    of: Expression
    level = 13

    @property
    def type(self) -> CType:  # type: ignore[override]
        return INT if self.op == "!" else promoted(self.of.type)

    def text(self) -> str:
        inner = self.of.at(13)
        return f"{self.op}({inner})" if inner.startswith(("-", "+")) else f"{self.op}{inner}"

    def value(self, names: Environment) -> Any:
        value, t = self.of.value(names), self.type
        if self.op == "!":
            return int(not truth(value, self.of.type))
        if t.kind == "c":
            return (-value[0], -value[1])
        return convert(~value, t, t) if self.op == "~" else convert(-value, t, t) if t.integral else -value


@dataclass(frozen=True)
class Choose(Expression):
    test: Expression
    yes: Expression
    no: Expression
    level = 1

    @property
    def type(self) -> CType:  # type: ignore[override]
        return common(self.yes.type, self.no.type)

    def text(self) -> str:
        return f"{self.test.at(2)} ? {self.yes.text()} : {self.no.at(1)}"

    def value(self, names: Environment) -> Any:
        taken = self.yes if truth(self.test.value(names), self.test.type) else self.no
        return convert(taken.value(names), taken.type, self.type)


@dataclass(frozen=True)
class Cast(Expression):
    type: CType
    of: Expression
    level = 13

    def text(self) -> str:
        return f"({self.type.name}){self.of.at(13)}"

    def value(self, names: Environment) -> Any:
        return convert(self.of.value(names), self.of.type, self.type)


@dataclass(frozen=True)
class Clamped(Expression):
    """A floating variable as an integer, where it is in range."""

    type: CType
    of: Expression
    high: int
    level = 1

    def text(self) -> str:
        inner = self.of.at(13)
        least = -self.high if self.type.kind == "i" else -1
        return f"({inner} > {least} && {inner} < {self.high}) ? ({self.type.name}){inner} : ({self.type.name})7"

    def value(self, names: Environment) -> Any:
        value = self.of.value(names)
        least = -self.high if self.type.kind == "i" else -1
        return convert(int(value) if least < value < self.high else 7, self.type, promoted(self.type))


@dataclass(frozen=True)
class Part(Expression):
    """``creal`` and its kind; ``conj`` keeps the type."""

    name: str
    of: Expression

    @property
    def type(self) -> CType:  # type: ignore[override]
        return self.of.type if self.name == "conj" else real_of(self.of.type)

    def text(self) -> str:
        return f"{self.name}{cvalues.SUFFIX[self.of.type.rank]}({self.of.text()})"

    def value(self, names: Environment) -> Any:
        re, im = self.of.value(names)
        return {"creal": re, "cimag": im, "conj": (re, -im)}[self.name]


@dataclass(frozen=True)
class Library(Expression):
    """A function of libm of one floating type; where it takes two arguments, only the compiler knows its value."""

    name: str
    type: CType
    of: Expression
    second: Expression | None = None

    def text(self) -> str:
        more = f", {self.second.text()}" if self.second else ""
        return f"{self.name}{cvalues.SUFFIX[self.type.rank]}({self.of.text()}{more})"

    def value(self, names: Environment) -> Any:
        given = convert(self.of.value(names), self.of.type, self.type)
        return (cvalues.tail if self.name in cvalues.TAIL else cvalues.exact)(self.name, given, self.type)


@dataclass(frozen=True)
class Call(Expression):
    function: Function
    given: tuple[Expression, ...]

    @property
    def type(self) -> CType:  # type: ignore[override]
        assert self.function.returns
        return self.function.returns

    def text(self) -> str:
        return f"{self.function.name}({', '.join(g.text() for g in self.given)})"

    def value(self, names: Environment) -> Any:
        return self.function.run([convert(g.value(names), g.type, p.type) for g, p in
                                  zip(self.given, self.function.parameters, strict=True)])[0]  # fmt: skip


# -- statements


class Statement:
    def lines(self) -> Iterator[str]:
        raise NotImplementedError

    def run(self, names: Environment) -> Any:
        """None, "break", "continue", or a tuple with what is returned."""
        raise NotImplementedError


def _block(body: Sequence[Statement]) -> Iterator[str]:
    for statement in body:
        yield from (f"    {line}" for line in statement.lines())


def _run(body: Sequence[Statement], names: Environment) -> Any:
    for statement in body:
        done = statement.run(names)
        if done is not None:
            return done
    return None


@dataclass(frozen=True)
class Declare(Statement):
    name: str
    type: CType
    first: Expression

    def lines(self) -> Iterator[str]:
        yield f"{self.type.name} {self.name} = {self.first.text()};"

    def run(self, names: Environment) -> Any:
        names[self.name] = convert(self.first.value(names), self.first.type, self.type)


@dataclass(frozen=True)
class Array(Statement):
    name: str
    type: CType
    values: tuple[Literal, ...]
    static: bool = False

    def lines(self) -> Iterator[str]:
        start = "static const " if self.static else ""
        values = ", ".join(v.text() for v in self.values)
        yield f"{start}{self.type.name} {self.name}[{len(self.values)}] = {{{values}}};"

    def run(self, names: Environment) -> Any:
        names[self.name] = [convert(v.number, v.type, self.type) for v in self.values]


@dataclass(frozen=True)
class Assign(Statement):
    """``target op= value``; of an array's element where there is an index."""

    target: Variable | Index
    op: str
    of: Expression

    def lines(self) -> Iterator[str]:
        yield f"{self.target.text()} {self.op}= {self.of.text()};"

    def run(self, names: Environment) -> Any:
        value, t = self.of.value(names), self.of.type
        if self.op:
            old = self.target.value(names)
            value, t = binary(self.op, old, self.target.type, value, t), result_type(self.op, self.target.type, t)
        value = convert(value, t, self.target.type)
        if isinstance(self.target, Index):
            names[self.target.name][self.target.index.value(names)] = value
        else:
            names[self.target.name] = value


@dataclass(frozen=True)
class Step(Statement):
    target: Variable
    op: str
    before: bool

    def lines(self) -> Iterator[str]:
        yield f"{self.op}{self.target.name};" if self.before else f"{self.target.name}{self.op};"

    def run(self, names: Environment) -> Any:
        t = self.target.type
        value = binary(self.op[0], names[self.target.name], t, 1, INT)
        names[self.target.name] = convert(value, common(t, INT), t)


@dataclass(frozen=True)
class Output(Statement):
    """``*name = value``."""

    name: str
    type: CType
    of: Expression

    def lines(self) -> Iterator[str]:
        yield f"*{self.name} = {self.of.text()};"

    def run(self, names: Environment) -> Any:
        names[self.name] = convert(self.of.value(names), self.of.type, self.type)


@dataclass(frozen=True)
class If(Statement):
    test: Expression
    yes: tuple[Statement, ...]
    no: tuple[Statement, ...] = ()

    def lines(self) -> Iterator[str]:
        yield f"if ({self.test.text()}) {{"
        yield from _block(self.yes)
        if self.no:
            yield "} else {"
            yield from _block(self.no)
        yield "}"

    def run(self, names: Environment) -> Any:
        return _run(self.yes if truth(self.test.value(names), self.test.type) else self.no, names)


@dataclass(frozen=True)
class Loop(Statement):
    """A loop that ends: ``bound`` is evaluated once; ``kind`` is "up", "down", "by2", "while" or "do"."""

    kind: str
    name: str
    bound: Expression
    body: tuple[Statement, ...]

    def lines(self) -> Iterator[str]:
        i, bound = self.name, self.bound.at(9)
        match self.kind:
            case "up":
                yield f"for (int {i} = 0; {i} < {bound}; {i}++) {{"
            case "by2":
                yield f"for (int {i} = 0; {i} < {bound}; {i} += 2) {{"
            case "down":
                yield f"for (int {i} = {self.bound.text()} - 1; {i} >= 0; --{i}) {{"
            case "while":
                yield f"int {i} = {self.bound.text()};"
                yield f"while ({i} > 0) {{"
            case "do":
                yield f"int {i} = {self.bound.text()};"
                yield "do {"
        yield from _block(self.body)
        if self.kind in ("while", "do"):
            yield f"    {i}--;"
        yield f"}} while ({i} > 0);" if self.kind == "do" else "}"

    def run(self, names: Environment) -> Any:
        bound = int(self.bound.value(names))
        rounds = {
            "up": range(bound),
            "by2": range(0, bound, 2),
            "down": range(bound - 1, -1, -1),
            "while": range(bound, 0, -1),
            "do": range(bound, min(bound, 1) - 1, -1),
        }[self.kind]
        for names[self.name] in rounds:
            done = _run(self.body, names)
            if done == "break":
                break
            if isinstance(done, tuple):
                return done
        return None


@dataclass(frozen=True)
class Leave(Statement):
    """``if (test) break;`` or continue."""

    test: Expression
    word: str

    def lines(self) -> Iterator[str]:
        yield f"if ({self.test.text()}) {self.word};"

    def run(self, names: Environment) -> Any:
        return self.word if truth(self.test.value(names), self.test.type) else None


@dataclass(frozen=True)
class Switch(Statement):
    """Cases 0, 1, ...; one that does not ``end`` falls through to the next."""

    of: Expression
    cases: tuple[tuple[tuple[Statement, ...], bool], ...]
    default: tuple[Statement, ...]

    def lines(self) -> Iterator[str]:
        yield f"switch ({self.of.text()}) {{"
        for number, (body, ends) in enumerate(self.cases):
            # In braces, since a declaration may not follow a label.
            yield f"case {number}: {{"
            yield from _block(body)
            yield "    break;" if ends else "    /* falls through */"
            yield "}"
        yield "default: {"
        yield from _block(self.default)
        yield "}}"

    def run(self, names: Environment) -> Any:
        at = self.of.value(names)
        for number, (body, ends) in enumerate(self.cases):
            if number < at or at < 0:
                continue
            done = _run(body, names)
            if done is not None or ends:
                return done
        return _run(self.default, names)


@dataclass(frozen=True)
class Return(Statement):
    of: Expression | None
    type: CType | None = None

    def lines(self) -> Iterator[str]:
        yield f"return {self.of.text()};" if self.of else "return;"

    def run(self, names: Environment) -> Any:
        return (convert(self.of.value(names), self.of.type, self.type),) if self.of and self.type else ()


# -- functions


@dataclass(frozen=True)
class Parameter:
    """``role`` is "in", "out", "inout", "size"; ``declared`` how it stands in the list, ``{}`` for its type."""

    name: str
    type: CType
    role: str = "in"
    core: tuple[int | str, ...] = ()
    declared: str = ""

    def text(self) -> str:
        return self.declared.format(self.type.name) if self.declared else f"{self.type.name} {self.name}"


@dataclass(frozen=True)
class Function:
    """A definition: ``run`` takes the inputs in order and gives the outputs, arrays as lists."""

    name: str
    returns: CType | None
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...]
    signature: str = ""
    static: bool = False
    #: Static functions and tables that stand before it.
    before: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if p.role in ("in", "inout"))

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        own = tuple(p for p in self.parameters if p.role in ("out", "inout"))
        return (Parameter("", self.returns), *own) if self.returns else own

    @property
    def types(self) -> str:
        """As in ``ufunc.types``, where ``long long`` beside ``long`` is ``long`` if that is as wide."""
        chars = f"{''.join(p.type.char for p in self.inputs)}->{''.join(p.type.char for p in self.outputs)}"
        for wide, same in ("ql", "QL") if np.dtype("l") == np.dtype("q") else ():
            chars = chars.replace(wide, same) if same in chars else chars
        return chars

    def lines(self) -> Iterator[str]:
        for other in self.before:
            yield from other.lines()
        if self.signature:
            yield f"// ufunc: {self.signature}"
        start = "static " if self.static else ""
        kind = self.returns.name if self.returns else "void"
        yield f"{start}{kind} {self.name}({', '.join(p.text() for p in self.parameters)})"
        yield "{"
        yield from _block(self.body)
        yield "}"

    def text(self) -> str:
        return "\n".join(self.lines()) + "\n"

    def run(self, given: Sequence[Any], sizes: dict[str, int] | None = None) -> tuple[Any, ...]:
        """The outputs, in the types of C."""
        names: Environment = {}
        for table in self.before:
            if isinstance(table, Array):
                table.run(names)
        rest, sizes = list(given), sizes or {}
        for p in self.parameters:
            if p.role in ("in", "inout"):
                value = rest.pop(0)
                names[p.name] = list(value) if p.core else value
            elif p.role == "size":
                names[p.name] = sizes[p.core[0]]  # type: ignore[index]
            else:
                count = int(np.prod([sizes.get(d, d) for d in p.core], dtype=int))  # type: ignore[call-overload]
                zero = convert(0, INT, p.type)
                names[p.name] = [zero] * count if p.core else zero
        done = _run(self.body, names)
        out = [names[p.name] for p in self.parameters if p.role in ("out", "inout")]
        return (*(done or ()), *out)


def contains(tree: Any, kind: type, test: Callable[[Any], bool] = lambda node: True) -> bool:
    """Whether a node of that kind, which passes the test, stands anywhere below."""
    if isinstance(tree, kind) and test(tree):
        return True
    if isinstance(tree, tuple):
        return any(contains(part, kind, test) for part in tree)
    if isinstance(tree, CType):
        return False
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return any(contains(getattr(tree, f.name), kind, test) for f in dataclasses.fields(tree))
    return False
