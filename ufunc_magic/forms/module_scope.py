"""What a form needs beside its function: constants, other functions, and the names that they are given."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import ir
from ..ir import FUNCTION, CType, Expression, FunctionIR, Node, Program, Statement, Symbol, walk
from ..model import Parameter
from .math_names import HELPERS
from .value import Expr, Stop

_TAKEN = frozenset("abs bool cmath complex float int len list math max min np print range round".split()) | {*HELPERS}


def choose_python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) or name in _TAKEN else name


@dataclass(frozen=True)
class RoutineParameter:
    """One parameter of a function.

    ``cell``: a pointer to one value; ``reads``, ``writes``: what the body does with it; ``reference``: a C++ reference.
    """

    symbol: Symbol
    type: CType
    cell: bool = False
    reads: bool = True
    writes: bool = False
    reference: bool = False


@dataclass(frozen=True)
class Routine:
    """One function of the cell with its name in Python.

    ``main`` is the one that the form is of; ``plain``: called as in C, by value.  ``returns`` is void where it returns
    several values, whose types are ``parts``.
    """

    name: str
    function: FunctionIR
    returns: CType
    parameters: tuple[RoutineParameter, ...]
    main: bool = False
    plain: bool = True
    parts: tuple[CType, ...] = ()


@dataclass
class ModuleScope:
    """What a form needs beside its function.

    ``known`` are the parameters of each function of the cell, as far as the text says how pointers are used.
    """

    program: Program
    known: Mapping[str, tuple[Parameter, ...]] = field(default_factory=dict)
    constants: dict[Symbol, tuple[ast.stmt, Expr]] = field(default_factory=dict)
    routines: dict[FunctionIR, Routine] = field(default_factory=dict)
    main: Routine | None = None
    _serial: int = 0

    def __post_init__(self) -> None:
        self._words = set(re.findall(r"[A-Za-z_]\w*", self.program.text.decode(errors="replace")))
        self._names: set[str] = set()

    def make_fresh_name(self, stem: str) -> str:
        """A name that the cell does not use."""
        while True:
            self._serial += 1
            if f"{stem}{self._serial}" not in self._words:
                return f"{stem}{self._serial}"

    def name_constant(self, name: str) -> str:
        """The name of a constant at the top of the module."""
        spelled = choose_python_name(name)
        if spelled in self._names:
            spelled = self.make_fresh_name(f"{name}_")
        self._names.add(spelled)
        return spelled

    def hides_function(self, name: str) -> bool:
        """Whether a local variable has the name of a function that the form calls."""
        return any(routine.function.name == name for routine in self.routines.values())

    def request(self, routine: Routine) -> str:
        """Ask for a function to be written too; its name in Python."""
        self.routines.setdefault(routine.function, routine)
        return routine.name

    def find_routine(self, call: ir.FunctionCall, count: int) -> Routine:
        """The function of the cell that a call is of."""
        overloads = self.program.functions[call.name]
        if call.overload < 0:
            raise Stop(f"calls `{call.name}`, which is overloaded", call.at.line)
        function = overloads[call.overload]
        if self.main is not None and function is self.main.function:
            return self.main
        if function in self.routines:
            return self.routines[function]
        parameters = tuple(self._make_parameter(symbol, function) for symbol in function.parameters)
        if len(function.returns) > 1:
            raise Stop(f"calls `{call.name}`, which returns several values", call.at.line)
        returns = function.returns[0] if function.returns else CType("v")
        if returns.kind == "a":
            raise Stop("returns a pointer", function.at.line)
        self.check_type(returns, function)
        name = choose_python_name(call.name)
        others = {r.name for r in (*self.routines.values(), *([self.main] if self.main else []))}
        if name in others:
            name = self.make_fresh_name(f"{name}_")
        return Routine(name, function, returns, parameters)

    def _make_parameter(self, symbol: Symbol, function: FunctionIR) -> RoutineParameter:
        t = symbol.type
        self.check_type(t, symbol)
        pointer = t.kind == "a"
        if not pointer and (symbol.const or not symbol.reference):
            return RoutineParameter(symbol, t)
        if pointer and (t.length is not None or self._is_array(symbol.name, function)):
            return RoutineParameter(symbol, t)
        if pointer and t.of is not None:
            t = t.of
        if t.kind == "a":
            return RoutineParameter(symbol, t)
        reads = symbol.const or not is_assigned_first(function, symbol)
        return RoutineParameter(symbol, t, cell=True, reads=reads, writes=not symbol.const, reference=symbol.reference)

    def _is_array(self, name: str, function: FunctionIR) -> bool:
        """Whether a function uses more of its pointer ``name`` than its first element."""
        own = self.known.get(function.name, ())
        return any(p.name == name and (p.indexed or p.shape) for p in own)

    def check_type(self, t: CType, node: Node | FunctionIR | Symbol) -> None:
        """Refuse a type that Python's values cannot stand for."""
        line = node.at.line
        match t.kind:
            case "?" if t == FUNCTION:
                raise Stop("uses a pointer to a function", line)
            case "?" | "V":
                # C++ needs no `struct`, and C none with a typedef.
                words = self.program.text[node.at.start : node.at.end].decode(errors="replace")
                name = t.name if t.name in words else t.name.removeprefix("struct ")
                raise Stop(f"uses the type `{name}`" if name else "uses a type that is not known", line)
            case "a" if t.of is not None:
                if t.of.kind == "a" and t.of.name == "*":
                    raise Stop("uses a pointer to a pointer", line)
                self.check_type(t.of, node)


def find_root_symbol(place: Expression) -> Symbol | None:
    """The variable that a place is in, or that leads to it."""
    while True:
        match place:
            case ir.Name(symbol=symbol):
                return symbol
            case ir.Element(base=inner) | ir.Field(base=inner) | ir.AddressOf(place=inner) | ir.Convert(value=inner):
                place = inner
            case _:
                return None


def find_changes(function: FunctionIR) -> dict[Symbol, list[Node]]:
    """By variable, the nodes that assign to it, or to something in it, or take its address."""
    changes: dict[Symbol, list[Node]] = {}
    for node in walk(function.body):
        match node:
            case ir.Assignment(place=place) | ir.AddressOf(place=place):
                symbol = find_root_symbol(place)
                if symbol is not None:
                    changes.setdefault(symbol, []).append(node)
    return changes


def is_assigned_first(function: FunctionIR, symbol: Symbol) -> bool:
    """Whether what a pointer or a reference leads to is certainly assigned before it is read and before any return."""
    for statement in function.body.body:
        if _assigns(statement, symbol):
            return True
        if any(isinstance(n, ir.Return) or (isinstance(n, ir.Name) and n.symbol is symbol) for n in walk(statement)):
            return False
    return False


def _assigns(statement: Statement, symbol: Symbol) -> bool:
    nodes = list(walk(statement))
    match nodes:
        case [_, ir.Assignment(place=place), *_]:
            first = isinstance(place, ir.Name) or (
                isinstance(place, ir.Element)
                and isinstance(place.base, ir.Name)
                and getattr(place.index, "value", 1) == 0
            )
            uses = sum(1 for n in nodes if isinstance(n, ir.Name) and n.symbol is symbol)
            current = any(isinstance(n, ir.Current) for n in nodes)
            return first and find_root_symbol(place) is symbol and uses == 1 and not current
    return False
