"""The typed function: statements and expressions of one function, each with its C type and its place in the cell.

A language's lowerer makes these values once for each function; every other room reads them.  C's rules are properties
of operations, not spellings: an integer operation wraps in its type, a conversion from floating point truncates, an
operation of ``float`` rounds to ``float``.  Every implicit conversion of C17 6.3.1 is a `Convert` node, so both
operands of a `Binary` have the type in which the operation is done.

Nodes are immutable.  `Symbol` is compared by identity: two variables of one name in nested scopes are two symbols.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, NamedTuple, TypeAlias

from .types import BOOL, CType


class Position(NamedTuple):
    """A place in the cell: 1-based line, 0-based column in UTF-8 bytes.  Line 0: written by a macro, or generated.

    ``start`` and ``end`` are the bytes of the `Program`'s text that a node was read from; `Program.quote` has them.
    """

    line: int = 0
    column: int = 0
    start: int = 0
    end: int = 0


NOWHERE = Position()

Storage: TypeAlias = Literal["parameter", "local", "static", "global", "constant"]


@dataclass(eq=False, slots=True)
class Symbol:
    """A variable.

    Attributes
    ----------
    name : str
        As in the cell.
    type : CType
        Of a parameter that is a pointer or an array: kind ``"a"``.
    storage : {"parameter", "local", "static", "global", "constant"}
        ``"static"``: a local variable that keeps its value between calls.  ``"constant"``: nothing changes it after its
        initial value, whatever its scope: a ``const`` variable, an enumerator, a macro that is a constant, a table.
    reference : bool
        A C++ reference: the symbol is another name of what it is bound to.
    const : bool
        Of a pointer or an array: its elements are const.
    assigned : bool
        Of a static or global variable: something in the cell changes it.  Without that its initial value is its value.
    initial : Expression or None
        Of a constant, a static or a global variable, and of a local one that is const.
    """

    name: str
    type: CType
    storage: Storage = "local"
    reference: bool = False
    const: bool = False
    assigned: bool = False
    initial: Expression | None = None
    at: Position = NOWHERE

    def __repr__(self) -> str:
        return f"Symbol({self.name!r}, {self.type.kind}{self.type.bits or ''}, {self.storage})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A part of a function.  ``at`` is where it begins in the cell."""

    at: Position = NOWHERE


@dataclass(frozen=True, slots=True)
class Expression(Node):
    """A value, with its C type."""

    type: CType


# ------------------------------------------------------------------------------------------- values


@dataclass(frozen=True, slots=True)
class Constant(Expression):
    """A number.  ``spelling`` is how the cell writes it where that is not plain (``0xFF``, ``M_PI``, ``'a'``).

    The value of a floating constant is that of its digits; C rounds it to its type (`constants.evaluate` does).
    """

    value: int | float | complex
    spelling: str = ""


@dataclass(frozen=True, slots=True)
class StringLiteral(Expression):
    """A string literal, without its quotes."""

    value: str


@dataclass(frozen=True, slots=True)
class Name(Expression):
    """The value of a variable, or the variable as a place to store to."""

    symbol: Symbol


@dataclass(frozen=True, slots=True)
class Element(Expression):
    """``base[index]``, and ``*base`` with the index 0: an element of an array or behind a pointer; a place.

    An element of an array of several dimensions is an element of an element.

    Attributes
    ----------
    from_end : bool
        A negative index counts from the end: Cython's ``wraparound``.
    checked : bool
        An index that is outside raises IndexError: Cython's ``boundscheck``.
    """

    base: Expression
    index: Expression
    from_end: bool = False
    checked: bool = False


@dataclass(frozen=True, slots=True)
class Length(Expression):
    """``base.shape[axis]`` of a typed memoryview: how many elements an array has along one dimension."""

    base: Expression
    axis: int = 0


@dataclass(frozen=True, slots=True)
class Field(Expression):
    """``base.name``; ``base->name`` is the member of an `Element`.  A place."""

    base: Expression
    name: str


@dataclass(frozen=True, slots=True)
class AddressOf(Expression):
    """``&place``."""

    place: Place


@dataclass(frozen=True, slots=True)
class Convert(Expression):
    """``value`` converted to ``type`` (C17 6.3.1); ``explicit``: the cell has a cast there."""

    value: Expression
    explicit: bool = False


@dataclass(frozen=True, slots=True)
class Unary(Expression):
    """``-x``, ``~x`` in the type of ``x``, promoted before; ``!x`` gives 0 or 1."""

    op: Literal["-", "~", "!"]
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Expression):
    """An arithmetic operation, or a comparison, which gives 0 or 1.

    Both operands have the same type, that of the operation; of a shift each has its own promoted one, and beside a
    complex number a real one stays real (C17 6.3.1.8).  Pointer arithmetic (``p + i``, ``p - q``) has a pointer (kind
    ``"a"``) on one side or on both.

    Cython alone has ``//`` and ``**``.  ``//`` of integers with C's rules is a ``/``; of floating-point numbers it is
    ``floor(x / y)``.  ``**`` of floating-point numbers is C's ``pow``; of integers it wraps, and is 0 where the
    exponent is negative and the power is no integer.

    Attributes
    ----------
    python : bool
        Python's rules, which Cython has without ``cdivision`` and ``cpow``: ``//`` and ``%`` round down, a division by
        0 raises ZeroDivisionError, and ``**`` raises TypeError where the power is complex.
    overflow_raises : bool
        An integer result that does not fit raises OverflowError: Cython's ``overflowcheck``.
    """

    op: Literal["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "<", ">", "<=", ">=", "==", "!="]
    left: Expression
    right: Expression
    python: bool = False
    overflow_raises: bool = False

    @property
    def compares(self) -> bool:
        return self.op in ("<", ">", "<=", ">=", "==", "!=")


@dataclass(frozen=True, slots=True)
class Logical(Expression):
    """``left && right`` or ``left || right``; the right side is evaluated only where it decides."""

    op: Literal["&&", "||"]
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Conditional(Expression):
    """``test ? yes : no``; both have the type of the whole."""

    test: Expression
    yes: Expression
    no: Expression


@dataclass(frozen=True, slots=True)
class FunctionCall(Expression):
    """A call of a function.

    Attributes
    ----------
    name : str
        The resolved name: of a function of the cell, or of a library as C spells it (``expf``, ``std::max``).
    arguments : tuple of Expression
        Converted to the types of the parameters where those are known.
    target : {"cell", "library", "method", "unknown"}
        ``"library"``: a row of `math_functions` or another function whose effects are known.
    overload : int
        Which of the cell's functions of this name; -1: the argument types do not say.
    through : Expression or None
        The object of a method, or the value that is called: a lambda, a pointer.
    spelling : str
        As the cell writes the name, where that is not the resolved one.
    """

    name: str
    arguments: tuple[Expression, ...]
    target: Literal["cell", "library", "method", "unknown"] = "unknown"
    overload: int = 0
    through: Expression | None = None
    spelling: str = ""

    @property
    def written(self) -> str:
        """The name as the cell writes it."""
        return self.spelling or self.name


@dataclass(frozen=True, slots=True)
class Current(Expression):
    """In the ``value`` of an `Assignment`: what the place held before.  ``x += y`` is ``x = Current + y``."""


@dataclass(frozen=True, slots=True)
class Assignment(Expression):
    """Store ``value``, which has the place's type, in ``place``.  The place is evaluated once.

    The value of the expression is what was stored, or with ``postfix`` (``x++``) what was there before.
    """

    place: Place
    value: Expression
    postfix: bool = False


@dataclass(frozen=True, slots=True)
class Comma(Expression):
    """``first, second``: the value of ``second``."""

    first: Expression
    second: Expression


@dataclass(frozen=True, slots=True)
class Aggregate(Expression):
    """``{a, b, c}`` of an array, a structure or a complex number, converted; what is missing at the end is zero."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class OpaqueExpression(Expression):
    """A value that the IR cannot say.

    ``reason`` completes "The function ..."; ``reads`` and ``writes`` are the symbols that it may touch, beside those
    in ``operands``: what could be lowered inside, the body of a lambda among it.  ``acts``: it does more than
    calculate and store: assembly, allocation.  ``measured`` is the type of which ``sizeof`` is the size.
    """

    reason: str
    text: str
    operands: tuple[Node, ...] = ()
    reads: frozenset[Symbol] = frozenset()
    writes: frozenset[Symbol] = frozenset()
    acts: bool = False
    measured: CType | None = None


@dataclass(frozen=True, slots=True)
class Dynamic(Expression):
    """An expression of Python's own: what Cython leaves to Python, or does as Python does.

    ``template`` is its text with ``{}`` for each of the operands: ``"{}.sin({})"``.  A name in it is a builtin.
    The result is a Python object (kind ``"o"``), or a number where Cython knows that it is one.
    """

    template: str
    operands: tuple[Expression, ...] = ()


Place: TypeAlias = Name | Element | Field | Dynamic | OpaqueExpression


# --------------------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Statement(Node):
    pass


@dataclass(frozen=True, slots=True)
class Block(Statement):
    """Statements in a scope of their own."""

    body: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Declare(Statement):
    """A local variable; ``sizes`` are the lengths of an array that are no constants, outermost first."""

    symbol: Symbol
    value: Expression | None = None
    sizes: tuple[Expression | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluate(Statement):
    """An expression for what it does."""

    value: Expression


@dataclass(frozen=True, slots=True)
class ParallelAssignment(Statement):
    """``a, b = b, a``: all values are computed before the first is stored."""

    assignments: tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class Unpack(Statement):
    """``a, b = value``: the items of an object, or of a tuple of C's, each converted to the type of its place."""

    targets: tuple[Place, ...]
    value: Expression


@dataclass(frozen=True, slots=True)
class DynamicStatement(Statement):
    """A statement of Python's own, as text with ``{}`` for each of the operands; see `Dynamic`.

    ``writes`` are the symbols whose elements it changes.
    """

    template: str
    operands: tuple[Expression, ...] = ()
    writes: frozenset[Symbol] = frozenset()


@dataclass(frozen=True, slots=True)
class If(Statement):
    test: Expression
    then: Block
    otherwise: Block | None = None


@dataclass(frozen=True, slots=True)
class CountedFor(Statement):
    """A loop whose trip count is known when it begins.

    The counter goes from ``start`` by ``step`` while ``counter < stop`` (``<=`` with ``inclusive``; ``>`` and ``>=``
    for a negative step).  The body changes neither the counter nor anything that ``stop`` depends on.

    Attributes
    ----------
    counter : Symbol
    declared : bool
        The counter belongs to the loop.  Otherwise nothing reads it after the loop before it is set again.
    start, stop : Expression
        In the type of the counter, and in that of the comparison.
    step : int
        Not 0.
    otherwise : Block, optional
        Done where no ``break`` has left the loop: Python's ``else``.  A counter of Cython's that is not the loop's own
        keeps its last value.
    """

    counter: Symbol
    start: Expression
    stop: Expression
    step: int
    body: Block
    inclusive: bool = False
    declared: bool = True
    otherwise: Block | None = None


@dataclass(frozen=True, slots=True)
class For(Statement):
    """Any other ``for``: ``continue`` goes to ``update``."""

    start: tuple[Statement, ...]
    test: Expression | None
    update: Expression | None
    body: Block


@dataclass(frozen=True, slots=True)
class While(Statement):
    """``otherwise`` is done where no ``break`` has left the loop: Python's ``else``."""

    test: Expression
    body: Block
    otherwise: Block | None = None


@dataclass(frozen=True, slots=True)
class ForEach(Statement):
    """Python's loop over the items of an object, an array or a range; several ``targets`` unpack each item."""

    targets: tuple[Place, ...]
    iterable: Expression
    body: Block
    otherwise: Block | None = None


@dataclass(frozen=True, slots=True)
class DoWhile(Statement):
    body: Block
    test: Expression


@dataclass(frozen=True, slots=True)
class Arm(Statement):
    """The statements behind the labels of a ``switch``; a None among the labels is ``default``.

    ``falls``: control goes on into the next arm.  A ``break`` at the end is left out.
    """

    labels: tuple[Expression | None, ...]
    body: tuple[Statement, ...]
    falls: bool = False


@dataclass(frozen=True, slots=True)
class Switch(Statement):
    subject: Expression
    arms: tuple[Arm, ...]


@dataclass(frozen=True, slots=True)
class Return(Statement):
    """The values, converted to the function's result types; none for void."""

    values: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Break(Statement):
    pass


@dataclass(frozen=True, slots=True)
class Continue(Statement):
    pass


@dataclass(frozen=True, slots=True)
class Raise(Statement):
    """``throw`` and ``raise``: the name of the exception's class, and its message where it is a constant text."""

    exception: str
    message: str | None = None
    operands: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Assert(Statement):
    test: Expression
    message: str | None = None


@dataclass(frozen=True, slots=True)
class OpaqueStatement(Statement):
    """A statement that the IR cannot say; see `OpaqueExpression`.

    ``parts`` are what could be lowered inside; ``repeats``: they may run more than once.  ``acts``: it does more than
    calculate and store.
    """

    reason: str
    text: str
    parts: tuple[Node, ...] = ()
    reads: frozenset[Symbol] = frozenset()
    writes: frozenset[Symbol] = frozenset()
    repeats: bool = False
    acts: bool = False


# ---------------------------------------------------------------------------------------- functions


@dataclass(frozen=True, eq=False)
class FunctionIR:
    """A function of a cell.

    Attributes
    ----------
    name : str
    parameters : tuple of Symbol
    returns : tuple of CType
        None for void, several for ``std::pair`` and its like.
    body : Block
    language : str
        As in object code: "c", "c++", "cython".
    calls : tuple of str
        Functions of the cell that it calls, in the order of the text.
    chosen : tuple of (str, str)
        Of one specialisation of a function with fused types: each of those, and the type that it is here.
    """

    name: str
    parameters: tuple[Symbol, ...]
    returns: tuple[CType, ...]
    body: Block
    language: str = "c"
    at: Position = NOWHERE
    calls: tuple[str, ...] = ()
    chosen: tuple[tuple[str, str], ...] = ()

    def find_opaque(self) -> Iterator[OpaqueExpression | OpaqueStatement]:
        """What the IR cannot say of the function."""
        for node in walk(self.body):
            if isinstance(node, OpaqueExpression | OpaqueStatement):
                yield node


@dataclass(frozen=True, eq=False)
class Program:
    """A cell.

    Attributes
    ----------
    functions : mapping
        By name; overloads and specialisations in the order of the text.  A lowerer may make them when they are asked
        for.
    symbols : mapping
        The variables of file scope by name.
    statements : tuple of Statement
        Of Cython's module level: what gives the variables their values.
    imports : dict
        Name -> the statement of Python that imports it.
    text : bytes
        What was read.
    """

    functions: Mapping[str, tuple[FunctionIR, ...]] = field(default_factory=dict)
    symbols: Mapping[str, Symbol] = field(default_factory=dict)
    statements: tuple[Statement, ...] = ()
    imports: dict[str, str] = field(default_factory=dict)
    text: bytes = field(default=b"", repr=False)

    def quote(self, node: Node) -> str:
        """What the cell has at ``node``, on one line."""
        return " ".join(self.text[node.at.start : node.at.end].decode(errors="replace").split())


# -------------------------------------------------------------------------------------------- walks


#: Fields that hold no nodes, or a symbol.
_LEAVES = frozenset(
    "type at op name spelling reason text template reads writes symbol counter target overload postfix explicit "
    "measured".split()
)
#: Kind of a node -> its other fields.
_child_fields: dict[type[Node], tuple[str, ...]] = {}


def list_children(node: Node) -> Iterator[Node]:
    """The nodes directly below, in the order of evaluation as far as C fixes one."""
    kind = type(node)
    if kind not in _child_fields:
        _child_fields[kind] = tuple(f.name for f in fields(kind) if f.name not in _LEAVES)
    for name in _child_fields[kind]:
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, Node):
                    yield item


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, parents first, in the order of the text."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(tuple(list_children(node)))


def strip_conversions(e: Expression) -> Expression:
    """An expression without conversions around it."""
    while isinstance(e, Convert):
        e = e.value
    return e


def is_truth(value: Expression) -> bool:
    """Whether an expression is 0 or 1: a comparison, a logical operation, or of type ``bool``."""
    match value:
        case Logical() | Unary(op="!"):
            return True
        case Binary():
            return value.compares
    return value.type == BOOL
