"""The IR as C again, every conversion written and every type checked by the compiler: what a lowerer understood."""

from __future__ import annotations

from collections.abc import Sequence

from ufunc_magic.ir import (
    AddressOf,
    Aggregate,
    Arm,
    Assert,
    Assignment,
    Binary,
    Block,
    Break,
    Comma,
    Conditional,
    Constant,
    Continue,
    Convert,
    CountedFor,
    CType,
    Current,
    Declare,
    DoWhile,
    Element,
    Evaluate,
    Expression,
    Field,
    For,
    FunctionCall,
    FunctionIR,
    If,
    Logical,
    Name,
    Program,
    Return,
    Statement,
    StringLiteral,
    Switch,
    Symbol,
    Unary,
    While,
    type_fault,
)

#: The type of an expression, of whatever name it is: size, kind, sign.
HEAD = """\
#include <math.h>
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <stdlib.h>
#define SAME(T, e) ({ __auto_type _e = e; _Static_assert(sizeof _e == sizeof(T), "size"); \\
    _Static_assert(__builtin_classify_type(_e) == __builtin_classify_type((T)0), "kind"); _e; })
#define SIGN(T, e) ({ __auto_type _s = SAME(T, e); \\
    _Static_assert(((__typeof__(_s))-1 < 0) == ((T)-1 < 0), "sign"); _s; })
"""
_INTEGERS = {8: "signed char", 16: "short", 32: "int", 64: "long long", 128: "__int128"}
_FLOATS = {16: "_Float16", 32: "float", 64: "double", 80: "long double"}


class Unprintable(Exception):
    """The IR has something that this printer does not know, or an Opaque."""


def spelled(t: CType, name: str = "") -> str:
    """A declaration of ``name`` with this type."""
    if t.kind == "a" and t.of is not None:
        if t.length is None:
            if t.of.kind in "v?" or (t.of.kind == "a" and t.of.length is None and t.of.name != "*"):
                raise Unprintable("an array of unknown size")
            return spelled(t.of, f"(*{name})")
        return spelled(t.of, f"{name}[{t.length}]")
    match t.kind:
        case "b":
            base = "_Bool"
        case "i":
            base = _INTEGERS[t.bits]
        case "u":
            base = f"unsigned {_INTEGERS[t.bits].removeprefix('signed ')}"
        case "f":
            base = _FLOATS[t.bits]
        case "c":
            base = f"{_FLOATS[t.bits]} _Complex"
        case "v":
            base = "void"
        case _:
            raise Unprintable(type_fault(t) or t.kind)
    return f"{base} {name}".strip()


class CPrinter:
    """Prints the functions of a program, each symbol under a name of its own."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.names: dict[Symbol, str] = {}
        self.globals: list[str] = []
        self.checks = True
        self.current: list[str] = []

    def text(self, names: Sequence[str], prefix: str = "ir_") -> str:
        """Some functions, and what they call."""
        functions: dict[str, FunctionIR] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in functions:
                functions[name] = self.program.functions[name][0]
                waiting += functions[name].calls
        self.prefix = prefix
        bodies = [self.function(f) for f in functions.values()]
        heads = [f"static {self.head(f)};" for f in functions.values()]
        return "\n".join([*self.globals, *heads, *bodies])

    def head(self, function: FunctionIR) -> str:
        parameters = ", ".join(spelled(decayed(p.type), self.symbol(p)) for p in function.parameters) or "void"
        if len(function.returns) > 1:
            raise Unprintable("several results")
        returns = function.returns[0] if function.returns else CType("v")
        return spelled(returns, f"{self.prefix}{function.name}({parameters})")

    def function(self, function: FunctionIR) -> str:
        if any(p.reference for p in function.parameters):
            raise Unprintable("references")
        return f"static {self.head(function)}\n{self.block(function.body)}"

    def symbol(self, symbol: Symbol) -> str:
        name = self.names.get(symbol)
        if name is None:
            name = self.names[symbol] = f"{symbol.name}_{len(self.names)}"
            if symbol.storage in ("global", "constant") or (symbol.storage == "static"):
                self.define(symbol, name)
        return name

    def define(self, symbol: Symbol, name: str) -> None:
        if symbol.initial is None:
            raise Unprintable(f"{symbol.name} without a value")
        checks, self.checks = self.checks, False
        self.globals.append(f"static {spelled(symbol.type, name)} = {self.initial(symbol.initial)};")
        self.checks = checks

    # -- statements -------------------------------------------------------------------------------

    def block(self, block: Block) -> str:
        return "{\n" + "\n".join(map(self.s, block.body)) + "\n}"

    def s(self, node: Statement) -> str:
        match node:
            case Block():
                return self.block(node)
            case Declare(symbol=symbol, value=value, sizes=sizes):
                return self.declare(symbol, value, sizes)
            case Evaluate(value=value):
                return f"(void){self.e(value)};"
            case If(test=test, then=then, otherwise=otherwise):
                tail = f" else {self.block(otherwise)}" if otherwise else ""
                return f"if ({self.e(test)}) {self.block(then)}{tail}"
            case CountedFor():
                return self.counted(node)
            case For(start=start, test=test, update=update, body=body):
                first = "\n".join(map(self.s, start))
                header = f"; {self.e(test) if test else ''}; {self.e(update) if update else ''}"
                return f"{{ {first} for ({header}) {self.block(body)} }}"
            case While(test=test, body=body):
                return f"while ({self.e(test)}) {self.block(body)}"
            case DoWhile(body=body, test=test):
                return f"do {self.block(body)} while ({self.e(test)});"
            case Switch(subject=subject, arms=arms):
                return f"switch ({self.e(subject)}) {{ {' '.join(map(self.arm, arms))} }}"
            case Return(values=values):
                return f"return {self.e(values[0])};" if values else "return;"
            case Break():
                return "break;"
            case Continue():
                return "continue;"
            case Assert(test=test):
                return f"if (!{self.e(test)}) abort();"
        raise Unprintable(getattr(node, "reason", type(node).__name__))

    def arm(self, arm: Arm) -> str:
        checks, self.checks = self.checks, False
        labels = " ".join(f"case {self.e(label)}:" if label is not None else "default:" for label in arm.labels)
        self.checks = checks
        return f"{labels} {{ {' '.join(map(self.s, arm.body))} }} {'' if arm.falls else 'break;'}"

    def declare(self, symbol: Symbol, value: Expression | None, sizes: Sequence[Expression | None]) -> str:
        if symbol.reference:
            raise Unprintable("references")
        if symbol.storage != "local":
            self.symbol(symbol)
            return ""
        name = self.symbol(symbol)
        if any(sizes):
            dimensions, t = "", symbol.type
            for size in sizes:
                dimensions += f"[{self.e(size) if size else t.length}]"
                t = t.of or t
            return f"{spelled(t, f'{name}{dimensions}')};"
        if value is None:
            return f"{spelled(symbol.type, name)};"
        # In its own initializer a name is another variable's.
        return f"{spelled(symbol.type, name)} = {self.initial(value)};"

    def initial(self, value: Expression) -> str:
        text = self.e(value)
        return text.partition(")")[2] if isinstance(value, Aggregate) and value.type.kind == "a" else text

    def counted(self, node: CountedFor) -> str:
        counter = self.symbol(node.counter)
        op = ("<" if node.step > 0 else ">") + ("=" if node.inclusive else "")
        compared = spelled(node.stop.type)
        start = f"{spelled(node.counter.type, counter)} =" if node.declared else f"{counter} ="
        # The limit is what it is when the loop begins.
        return (
            f"{{ {compared} _stop = {self.e(node.stop)}; for ({start} {self.e(node.start)}; "
            f"({compared}){counter} {op} _stop; {counter} += {node.step}) {self.block(node.body)} }}"
        )

    # -- expressions ------------------------------------------------------------------------------

    def e(self, node: Expression) -> str:
        if isinstance(node, Aggregate) and node.type.kind == "a":
            items = (
                self.e(i).partition(")")[2] if isinstance(i, Aggregate) and i.type.kind == "a" else self.e(i)
                for i in node.items
            )
            return f"({spelled(node.type)}){{{', '.join(items)}}}"
        text = f"({self.plain(node)})"
        if not self.checks or not node.type.arithmetic or isinstance(node, Current | Name):
            return text
        return f"{'SAME' if node.type.kind in 'cb' else 'SIGN'}({spelled(node.type)}, {text})"

    def place(self, node: Expression) -> str:
        match node:
            case Name(symbol=symbol):
                return self.symbol(symbol)
            case Element(base=base, index=index):
                return f"({self.place(base) if isinstance(base, Name | Element) else self.e(base)})[{self.e(index)}]"
            case Field(base=base, name=("real" | "imag") as name):
                return f"__{name}__({self.place(base)})"
        raise Unprintable(getattr(node, "reason", type(node).__name__))

    def plain(self, node: Expression) -> str:
        match node:
            case Constant(value=value, type=t, spelling=text):
                return text if t.kind == "f" and text[:1] in tuple("0123456789.") else constant(value, t)
            case StringLiteral():
                raise Unprintable("a string")
            case Name() | Element() | Field():
                # Reading loses the qualifiers and the width of a bit-field.
                return self.place(node)
            case AddressOf(place=place):
                return f"&{self.place(place)}"
            case Convert(value=value, type=t):
                if t.kind == "c" and value.type.kind != "c" and not self.checks:
                    return self.e(value)
                return f"({spelled(t)}){self.e(value)}"
            case Unary(op=op, operand=operand):
                return f"{op}{self.e(operand)}"
            case Binary(op=op, left=left, right=right):
                return f"{self.e(left)} {op} {self.e(right)}"
            case Logical(op=op, left=left, right=right):
                return f"{self.e(left)} {op} {self.e(right)}"
            case Conditional(test=test, yes=yes, no=no):
                return f"{self.e(test)} ? {self.e(yes)} : {self.e(no)}"
            case Comma(first=first, second=second):
                return f"{self.e(first)}, {self.e(second)}"
            case FunctionCall():
                return self.call(node)
            case Current():
                return f"*{self.current[-1]}"
            case Assignment():
                return self.assignment(node)
            case Aggregate(items=items, type=t):
                if t.kind == "c":
                    return f"CMPLX({', '.join(map(self.e, items))})"
        raise Unprintable(getattr(node, "reason", type(node).__name__))

    def call(self, node: FunctionCall) -> str:
        if node.through is not None or node.target == "unknown":
            raise Unprintable(f"calls {node.name}")
        name = f"{self.prefix}{node.name}" if node.target == "cell" else node.name
        return f"{name}({', '.join(map(self.e, node.arguments))})"

    def assignment(self, node: Assignment) -> str:
        pointer = f"_p{len(self.current)}"
        self.current.append(pointer)
        value = self.e(node.value)
        self.current.pop()
        t = node.type
        first = f"{spelled(CType('a', of=t), pointer)} = &{self.place(node.place)};"
        if node.postfix:
            return f"{{ {first} {spelled(t, '_old')} = *{pointer}; *{pointer} = {value}; _old; }}"
        return f"{{ {first} *{pointer} = {value}; *{pointer}; }}"


def decayed(t: CType) -> CType:
    """A parameter's type: an array is a pointer."""
    return CType("a", of=t.of) if t.kind == "a" else t


def constant(value: complex, t: CType) -> str:
    if isinstance(value, complex):
        return f"({_FLOATS[t.bits]} _Complex){value.imag!r}*_Complex_I" if value else "0"
    if t.kind == "f":
        text = {"inf": "__builtin_inf()", "nan": '__builtin_nan("")'}.get(repr(float(value)), repr(float(value)))
        suffix = {32: "f", 80: "L"}.get(t.bits, "") if text[0].isdigit() else ""
        return f"({spelled(t)}){text}{suffix}"
    if t.kind == "a":
        return f"({spelled(t)})0"
    return f"({spelled(t)}){value}{'u' if value > 2**63 - 1 else ''}"
