"""The IR's expressions as Python's: constants, names, operators, places, assignments, calls, initializers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import ClassVar

from .. import ir
from ..ir import (
    BOOL,
    COMPLEX,
    CONSTANTS,
    DOUBLE,
    INT,
    NOWHERE,
    VOID,
    CType,
    Expression,
    Node,
    Symbol,
    evaluate_integer,
    find_math_function,
    strip_conversions,
)
from .module_scope import ModuleScope, Routine
from .operators import Operators, round_result, write_constant, write_test
from .value import (
    COUNTER,
    Expr,
    Lines,
    Stop,
    Variable,
    assign,
    call,
    number,
    parse_template,
    walk as walk_python,
    write_length,
    write_negation,
    write_operation,
    write_tuple,
    zero,
)

_INFINITE = frozenset("inff inf infl huge_val huge_valf nan nanf".split())


class ExpressionWriter(Operators):
    """Writes the expressions of one function.

    ``before`` collects statements that must come before the one that is being written; it is None inside of what C
    evaluates conditionally or repeatedly.
    """

    def __init__(self, scope: ModuleScope, routine: Routine | None) -> None:
        self.scope = scope
        self.routine = routine
        self.variables: dict[Symbol, Variable] = {}
        self.before: Lines | None = None
        self._current: list[Expr] = []

    def write_value(self, node: Expression) -> Expr:
        write = self._EXPRESSIONS.get(type(node))
        if write is None:
            raise self.refuse(node)
        return write(self, node)

    def write_settled(self, node: Expression) -> Expr:
        return self.settle(self.write_value(node))

    def shorten(self, node: Node) -> str:
        """The cell's words at ``node``, shortened."""
        text = self.scope.program.quote(node)
        return text if len(text) <= 40 else text[:37] + "..."

    def refuse(self, node: Node) -> Stop:
        return self.stop(f"uses `{self.shorten(node)}`, which has no Python form", node)

    @contextmanager
    def _enter_expression(self) -> Iterator[None]:
        """What is not always evaluated: no statement may come before it."""
        around, self.before = self.before, None
        try:
            yield
        finally:
            self.before = around

    def _write_opaque(self, node: ir.OpaqueExpression) -> Expr:
        raise self.stop(node.reason, node)

    # -- constants and names ----------------------------------------------------------------------

    def _write_constant(self, node: ir.Constant) -> Expr:
        t, value, text = node.type, node.value, node.spelling
        if t.kind == "a":
            name = text or "NULL"
            known = name == "nullptr"
            raise self.stop(
                f"uses `{name}`, which {'has no Python form' if known else 'is not defined in the cell'}", node
            )
        if text in CONSTANTS:
            return Expr(parse_template(CONSTANTS[text]), t, value=value.real if value == value else None)
        if text.startswith("3.14159265358979323846"):  # what the preprocessor leaves of M_PI
            return round_result(Expr(parse_template("math.pi"), t, value=value.real))
        if text in ("true", "false"):
            whole = int(value.real)
            return Expr(ast.Constant(bool(whole)), t, low=whole, high=whole, truth=True, value=whole)
        if isinstance(value, int):
            spelled = text.rstrip("uUlLzZ").replace("'", "_") if text[1:2] in tuple("xXbB") and text[0] == "0" else ""
            return write_constant(value, t, spelled)
        if isinstance(value, complex):
            return Expr(number(value), COMPLEX if t.bits != 64 else t)
        return round_result(Expr(number(value), t, value=value))

    def _write_string(self, node: ir.StringLiteral) -> Expr:
        raise self.refuse(node)

    def _write_name(self, node: ir.Name) -> Expr:
        symbol = node.symbol
        variable = self.variables.get(symbol)
        if variable is None:
            return self._write_outside(symbol, node)
        if variable.cell:
            raise self.stop(f"uses the pointer `{symbol.name}` itself", node)
        return variable.expression

    def _write_outside(self, symbol: Symbol, node: Node) -> Expr:
        """A variable of file scope, or a static one: its value as a constant of the module."""
        if symbol in self.scope.constants:
            return self.scope.constants[symbol][1]
        if symbol.storage not in ("global", "static", "constant"):
            raise self.stop(f"uses `{symbol.name}`, which is not defined in the cell", node)
        if symbol.assigned and not symbol.const:
            raise self.stop(f"keeps `{symbol.name}` between calls", symbol)  # type: ignore[arg-type]
        if symbol.initial is None:
            raise self.stop(f"uses the variable `{symbol.name}`, which has no value in the cell", symbol)  # type: ignore[arg-type]
        if symbol.type.kind == "?":
            self.write_value(symbol.initial)  # why its type is not known
        self.scope.check_type(symbol.type, symbol)
        if symbol.type.kind == "a" and symbol.type.length is None:
            raise self.stop(f"uses the pointer `{symbol.name}`", symbol)  # type: ignore[arg-type]
        with self._enter_expression():
            e = self.settle(self.write_initial(symbol.initial, symbol.type, frozen=True))
        whole = evaluate_integer(symbol.initial) if symbol.type.integral else None
        name = ast.Name(self.scope.name_constant(symbol.name))
        known = e.value if isinstance(e.value, float) else whole
        low, high = (whole, whole) if whole is not None else (e.low, e.high)
        spelled = replace(e, node=name, value=known, low=low, high=high)
        self.scope.constants[symbol] = assign(name, e), spelled
        return spelled

    # -- operators --------------------------------------------------------------------------------

    def _convert(self, node: ir.Convert) -> Expr:
        t = node.type
        if t.kind == "v":
            return replace(self.write_value(node.value), type=VOID)
        if node.explicit and t.kind == "a":
            raise self.stop(f"casts a pointer: `{self.shorten(node)}`", node)
        if t.kind in "?V":
            self.scope.check_type(t, node)
        if t.kind == "c" and isinstance(node.value, ir.Aggregate):
            return self._write_braced(node.value)
        e = self.write_operand(node.value) if t.kind == "c" else self.write_value(node.value)
        if not node.explicit and t.kind in "iu" and e.type.integral:
            return replace(self.settle(e), type=t) if e.logical or e.truth else self.make_modular(e, t)
        return self.convert(e, t, node=node.value)

    def write_operand(self, node: Expression) -> Expr:
        """A value without its implicit conversion to a floating-point type: Python's operators do that themselves."""
        while (
            isinstance(node, ir.Convert) and not node.explicit and node.type.kind in "fc" and node.value.type.arithmetic
        ):
            node = node.value
        return self.write_value(node)

    def _write_binary(self, node: ir.Binary) -> Expr:
        for side in (node.left, node.right):
            if side.type.kind == "a":
                self.write_value(side)
                raise self.stop("does pointer arithmetic", node)
        if node.compares:
            return replace(
                self.compare(node.op, self.write_operand(node.left), self.write_operand(node.right)), type=node.type
            )
        return self.write_binary(node.op, self.write_operand(node.left), self.write_operand(node.right), node)

    def write_condition(self, node: Expression) -> Expr:
        """An expression of which only truth matters."""
        while isinstance(node, ir.Convert) and not node.explicit and node.type == BOOL:
            node = node.value
        e = self.write_value(node)
        if e.type.kind in "av":
            raise self.stop(f"asks whether `{self.shorten(node)}` is null", node)
        return e if e.logical else write_test(self.settle(e))

    def _write_logical(self, node: ir.Logical) -> Expr:
        left = self.write_condition(node.left)
        with self._enter_expression():
            right = self.write_condition(node.right)
        both = left.truth and right.truth
        written = write_operation("and" if node.op == "&&" else "or", left, right)
        return Expr(written, node.type, low=0, high=1, truth=both, logical=not both)

    def _write_unary(self, node: ir.Unary) -> Expr:
        if node.op == "!":
            return Expr(write_negation(self.write_condition(node.operand)), node.type, low=0, high=1, truth=True)
        e = self.write_value(node.operand)
        if not e.type.arithmetic or (node.op == "~" and not e.type.integral):
            raise self.stop(f"contains `{self.shorten(node)}`, which has no Python form", node)
        return self.negate(e) if node.op == "-" else self.flip_bits(e)

    def _write_conditional(self, node: ir.Conditional) -> Expr:
        test = self.write_condition(node.test)
        with self._enter_expression():
            left, right = self.write_value(node.yes), self.write_value(node.no)
        if not node.type.arithmetic:
            raise self.stop(f"contains `{self.shorten(node)}`, which has no Python form", node)
        return self.write_choice(test, left, right, node.type)

    # -- places -----------------------------------------------------------------------------------

    def place(self, node: Expression) -> Expr:
        """What can be assigned to: its Python spelling and type."""
        match node:
            case ir.Name(symbol=symbol):
                variable = self.variables.get(symbol)
                if variable is None:
                    raise self.stop(f"changes the global variable `{symbol.name}`", node)
                if variable.cell or variable.type.kind == "a":
                    raise self.stop(f"moves the pointer `{variable.name}`", node)
                return variable.expression
            case ir.Element() | ir.Field():
                return self.write_value(node)
            case ir.OpaqueExpression():
                raise self.stop(node.reason, node)
        raise self.stop(f"assigns to `{self.shorten(node)}`", node)

    def _find_pointed(self, node: Expression) -> Expr | None:
        """The one value that the pointer ``node`` points to, which Python holds under its name."""
        variable = self.variables.get(node.symbol) if isinstance(node, ir.Name) else None
        return replace(variable.expression, truth=False) if variable is not None and variable.cell else None

    def _write_element(self, node: ir.Element) -> Expr:
        base, subscript = node.base, node.index
        star = subscript.at == NOWHERE
        if (one := self._find_pointed(base)) is not None:
            if evaluate_integer(subscript) != 0:
                name = self.shorten(base)
                raise self.stop(f"uses `{self.shorten(node)}`, but `{name}` is a single number", node)
            return one
        e = self.write_value(base)
        if e.type.kind != "a" or e.type.of is None:
            what = f"follows the pointer `{self.shorten(base)}`"
            raise self.stop(what if star else f"subscripts `{self.shorten(base)}`, which is not an array", node)
        index = self.write_value(subscript)
        if not index.type.integral:
            raise self.stop(f"uses `{self.shorten(subscript)}` as a subscript", node)
        index = index if index.loose else self.settle(index)
        return Expr(parse_template("{}[{}]", e, index), e.type.of, truth=e.type.of.kind == "b")

    def _write_field(self, node: ir.Field) -> Expr:
        e = self.write_value(node.base)
        if e.type.kind != "c" or node.name not in ("real", "imag"):
            raise self.stop(f"uses `{self.shorten(node)}`", node)
        return Expr(ast.Attribute(e.node, node.name), replace(node.type, kind="f"))

    def _write_address(self, node: ir.AddressOf) -> Expr:
        raise self.stop(f"takes an address: `{self.shorten(node)}`", node)

    def write_address(self, node: Expression) -> Expr:
        """The place whose address an argument is."""
        if isinstance(node, ir.AddressOf):
            return self.place(node.place)
        if (one := self._find_pointed(node)) is not None:
            return one
        e = self.write_value(node)
        if e.type.kind != "a" or e.type.of is None:
            raise self.stop(f"follows the pointer `{self.shorten(node)}`", node)
        return Expr(parse_template("{}[0]", e), e.type.of)

    # -- assignments ------------------------------------------------------------------------------

    def write_effect(self, node: Expression) -> Lines:
        """An expression evaluated for what it does, as statements."""
        match node:
            case ir.Comma(first=first, second=second):
                return self.write_effect(first) + self.write_effect(second)
            case ir.Assignment():
                return [self.store(*self._write_change(node), node)]
            case ir.FunctionCall():
                return self._write_call_statement(node)
            case ir.Convert(explicit=True, type=t, value=inner) if t.kind == "v":
                return [] if isinstance(inner, ir.Name) else self.write_effect(inner)
            case ir.Name() | ir.Constant():
                return []
        return [ast.Expr(self.write_value(node).node)]

    def _write_comma(self, node: ir.Comma) -> Expr:
        if self.before is None:
            raise self.stop("uses the comma operator inside a condition", node)
        self.before += self.write_effect(node.first)
        return self.write_value(node.second)

    def _write_change(self, node: ir.Assignment) -> tuple[Expr, Expr]:
        """The place that an assignment changes, and what it becomes."""
        target = self.place(node.place)
        op, amount = _find_move(node.value)
        if op is not None and any(isinstance(n, ast.NamedExpr) for n in walk_python(target.node)):
            # It would be written twice.
            raise self.stop(f"changes a subscript with a side effect: `{self.shorten(node)}`", node)
        self._current.append(target)
        value = self.write_initial(node.value, target.type)
        self._current.pop()
        if amount == 1 and target.low is not None and not value.loose:
            value = replace(value, low=target.low, high=target.high)  # a counter keeps its range
        return target, value

    def _write_current_value(self, node: ir.Current) -> Expr:
        return self._current[-1]

    def _write_assignment(self, node: ir.Assignment) -> Expr:
        target, value = self._write_change(node)
        if _find_move(node.value)[1] != 1 and self.before is not None and not node.postfix:
            self.before.append(self.store(target, value, node))
            return target
        after = self._write_walrus(target, value, node)
        if not node.postfix:
            return after
        step = _find_move(node.value)[0]
        return self.write_binary("-" if step == "+" else "+", after, write_constant(1, INT), node)

    def _write_walrus(self, target: Expr, value: Expr, node: ir.Assignment) -> Expr:
        if not isinstance(target.node, ast.Name):
            raise self.stop(f"assigns inside an expression: `{self.shorten(node)}`", node)
        value = self.convert(value, target.type, node=node)
        return replace(value, node=ast.NamedExpr(target.node, value.node), value=None)

    # -- calls ------------------------------------------------------------------------------------

    def _write_call(self, node: ir.FunctionCall) -> Expr:
        e, targets = self._prepare_call(node)
        if not targets:
            return e
        if self.before is None:
            raise self.stop(f"calls `{self.shorten(node)}`, which stores through a pointer, inside a condition", node)
        if e.type == VOID:
            raise self.stop("uses the value of a void function", node)
        name = ast.Name(self.scope.make_fresh_name("result"))
        self.before.append(assign(write_tuple([name, *targets]), e))
        return Expr(name, e.type)

    def _write_call_statement(self, node: ir.FunctionCall) -> Lines:
        short = node.name.removeprefix("__builtin_").removeprefix("std::")
        if short in ("sincos", "sincosf") and len(node.arguments) == 3 and node.target != "cell":
            first = node.arguments[0]
            lines: Lines = []
            for word, argument in zip(("sin", "cos"), node.arguments[1:], strict=True):
                e = self._write_library(f"{word}{short[6:]}", (first,), node)
                lines.append(self.store(self.write_address(argument), e, node))
            return lines
        e, targets = self._prepare_call(node)
        if not targets:
            return [ast.Expr(e.node)]
        return [assign(write_tuple(["_", *targets] if e.type != VOID else targets), e)]

    def _prepare_call(self, node: ir.FunctionCall) -> tuple[Expr, list[Expr]]:
        """A call, and the places that its further results go to."""
        if node.target == "cell":
            return self._write_own_call(node)
        short = node.name.removeprefix("__builtin_").removeprefix("std::")
        if short in ("frexp", "modf") and len(node.arguments) == 2:
            e = Expr(call(f"math.{short}", self.settle(self.write_operand(node.arguments[0]))), DOUBLE)
            return e, [self.write_address(node.arguments[1])]
        return self._write_library(node.name, node.arguments, node), []

    def _write_library(self, name: str, arguments: Sequence[Expression], node: ir.FunctionCall) -> Expr:
        short = name.removeprefix("__builtin_").removeprefix("std::")
        if short in _INFINITE:
            return Expr(parse_template("math.nan" if short.startswith("nan") else "math.inf"), DOUBLE)
        if short in ("min", "max", "clamp") and node.target == "library" and node.type.arithmetic:
            values = [self.write_settled(a) for a in arguments]
            if short == "clamp":
                return self.write_extreme("min", [self.write_extreme("max", values[:2]), values[2]])
            return self.write_extreme(short, values)
        entry = find_math_function(name)
        if entry is None or not entry[0].python:
            raise self.stop(f"calls `{short}`, which Python does not have", node)
        values = [self.settle(self.write_operand(a)) for a in arguments]
        if any(not v.type.arithmetic for v in values) or not values:
            raise self.stop(f"contains `{self.shorten(node)}`, which has no Python form", node)
        if entry[0].python.startswith("math."):  # of a complex number the real part is taken
            values = [self.to_float(v, DOUBLE) if v.type.kind == "c" else v for v in values]
        return self.write_library_call(*entry, values, node)

    def _write_own_call(self, node: ir.FunctionCall) -> tuple[Expr, list[Expr]]:
        """A call of one of the cell's functions."""
        routine = self.scope.find_routine(node, len(node.arguments))
        if routine.main and not routine.plain:
            raise self.stop(f"calls itself (`{node.name}`) with pointers", node)
        if len(node.arguments) != len(routine.parameters):
            raise self.stop(f"calls `{node.name}` with {len(node.arguments)} arguments", node)
        inputs: list[Expr] = []
        targets: list[Expr] = []
        for parameter, argument in zip(routine.parameters, node.arguments, strict=True):
            if parameter.cell:
                place = self.place(argument) if parameter.reference else self.write_address(argument)
                if place.type != parameter.type:
                    raise self.stop(f"passes `{self.shorten(argument)}` as another type", node)
                inputs += [place] if parameter.reads else []
                targets += [place] if parameter.writes else []
            else:
                e = self.write_value(argument)
                if parameter.type.kind == "a" and e.type.depth != parameter.type.depth:
                    raise self.stop(f"passes `{self.shorten(argument)}` as an array", node)
                inputs.append(self.convert(e, parameter.type, node=node))
        return Expr(call(self.scope.request(routine), *inputs), routine.returns), targets

    # -- initializers -----------------------------------------------------------------------------

    def write_initial(self, node: Expression, t: CType, *, frozen: bool = False) -> Expr:
        """An initializer for type ``t``."""
        if isinstance(node, ir.Aggregate):
            return self._write_braced(node, frozen=frozen)
        if t.kind == "a" and not isinstance(node, ir.Name | ir.OpaqueExpression | ir.Element):
            raise self.stop(f"initializes an array with `{self.shorten(node)}`", node)
        return self.write_value(node)

    def _write_braced(self, node: ir.Aggregate, *, frozen: bool = False) -> Expr:
        t = node.type
        if t.kind == "c":
            return Expr(call("complex", *(self.settle(self.write_operand(item)) for item in node.items)), t)
        if t.kind != "a" or t.of is None:
            self.scope.check_type(t, node)
            raise self.refuse(node)
        parts = [self.convert(self.write_initial(item, t.of, frozen=frozen), t.of, node=item) for item in node.items]
        rest = (t.length or 0) - len(parts)
        blank = zero(t.of)
        if rest > 0 and not frozen and all(p.text == ast.unparse(blank) for p in parts):
            return Expr(zero(t), t)
        nodes = [*(p.node for p in parts), *[blank] * rest]
        return Expr(ast.Tuple(nodes) if frozen else ast.List(nodes), t)

    def _write_length(self, node: ir.Length) -> Expr:
        return Expr(write_length(self.write_value(node.base).text, node.axis), node.type, low=0, high=COUNTER)

    _EXPRESSIONS: ClassVar[dict[type[Node], Callable[..., Expr]]] = {
        ir.AddressOf: _write_address,
        ir.Aggregate: _write_braced,
        ir.Assignment: _write_assignment,
        ir.Binary: _write_binary,
        ir.Comma: _write_comma,
        ir.Conditional: _write_conditional,
        ir.Constant: _write_constant,
        ir.Convert: _convert,
        ir.Current: _write_current_value,
        ir.Element: _write_element,
        ir.Field: _write_field,
        ir.FunctionCall: _write_call,
        ir.Length: _write_length,
        ir.Logical: _write_logical,
        ir.Name: _write_name,
        ir.OpaqueExpression: _write_opaque,
        ir.StringLiteral: _write_string,
        ir.Unary: _write_unary,
    }


def _find_move(value: Expression) -> tuple[str | None, int | None]:
    """The operator of an assignment that changes what its place held, and by which constant it adds or subtracts."""
    value = strip_conversions(value)
    if not isinstance(value, ir.Binary) or not isinstance(strip_conversions(value.left), ir.Current):
        return None, None
    return value.op, evaluate_integer(value.right) if value.op in ("+", "-") else None
