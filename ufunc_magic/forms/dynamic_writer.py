"""What Cython has and C has not, as Python: objects, Python's division and power, loops over items, tuples.

Where an operand is a Python object, Cython itself uses Python's operators, and so does every text.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from .. import ir
from ..ir import (
    DOUBLE,
    INDEX,
    OBJECT,
    CType,
    Expression,
    Node,
    Statement,
    Symbol,
    find_math_function,
    strip_conversions,
    walk,
)
from .expression_writer import ExpressionWriter
from .integer_rules import write_mark
from .module_scope import ModuleScope, Routine, RoutineParameter, choose_python_name
from .operators import round_result, write_constant
from .python_writer import PythonWriter
from .value import Expr, Lines, assign, call, parse_template, write_length, write_operation, zero

#: No array has more elements.
_MOST = 1 << 48


@dataclass
class DynamicScope(ModuleScope):
    """What the text of a Cython function needs beside it.

    ``stored`` are the variables that the module level gives a value.  ``lists``: arrays are nested lists, those of a
    ufunc with core dimensions, and not NumPy's.  ``names`` are the variables of the module level that it uses,
    ``imported`` the modules.
    """

    stored: frozenset[Symbol] = frozenset()
    lists: bool = False
    names: set[Symbol] = field(default_factory=set)
    imported: dict[str, str] = field(default_factory=dict)

    def find_routine(self, call: ir.FunctionCall, count: int) -> Routine:
        function = self.program.functions[call.name][max(call.overload, 0)]
        if self.main is not None and function is self.main.function:
            return self.main
        if function in self.routines:
            return self.routines[function]
        parameters = []
        for symbol in function.parameters:
            self.check_type(symbol.type, symbol)
            parameters.append(RoutineParameter(symbol, symbol.type))
        returns = function.returns[0] if function.returns else CType("v")
        if len(function.returns) > 1:
            returns = CType("t", fields=tuple((f"f{n}", t) for n, t in enumerate(function.returns)))
        parts = function.returns if len(function.returns) > 1 else ()
        name = choose_python_name(call.name)
        if name in {r.name for r in self.routines.values() if r.function.name != call.name}:
            name = self.make_fresh_name(f"{name}_")
        return Routine(name, function, returns, tuple(parameters), parts=parts)


class DynamicWriter(PythonWriter):
    """Writes one function of a Cython cell."""

    scope: DynamicScope

    def __init__(self, scope: ModuleScope, routine: Routine, *, results: Callable[..., Sequence[ast.expr]]) -> None:
        super().__init__(scope, routine, results=results)
        self.globals: list[str] = []

    def prepare(self, nodes: Sequence[Statement]) -> None:
        """Declare every local variable: Python has one scope for a function."""
        symbols: dict[Symbol, None] = {}
        items: set[Symbol] = set()
        for statement in nodes:
            for node in walk(statement):
                match node:
                    case ir.Name(symbol=symbol) | ir.Declare(symbol=symbol) | ir.CountedFor(counter=symbol):
                        symbols[symbol] = None
                    case ir.ForEach(targets=targets) | ir.Unpack(targets=targets):
                        items |= {target.symbol for target in targets if isinstance(target, ir.Name)}
        for symbol in symbols:
            if symbol.storage == "local" and symbol not in self.variables:
                if symbol.type.integral and symbol not in items:
                    self._add_variable(symbol)
                else:
                    self.declare(symbol, symbol.type)

    # -- values -------------------------------------------------------------------------------------

    def convert(self, e: Expr, t: CType, *, node: Node | None = None, final: bool = False) -> Expr:
        if t.kind == "v" or e.type.kind == "v":
            raise self.stop("uses the value of a function that returns none", node)
        if t.kind == "o":
            return replace(self.settle(e), type=OBJECT, low=None, high=None)
        if e.type.kind == "o":
            return self._convert_object(e, t)
        if t.arithmetic and e.type.arithmetic:
            return super().convert(e, t, node=node, final=final)
        if t.arithmetic or e.type.arithmetic:
            raise self.stop("uses an array where a number is expected", node)
        return replace(e, type=t)

    def _convert_object(self, e: Expr, t: CType) -> Expr:
        match t.kind:
            case "b":
                return Expr(call("bool", e), t, truth=True)
            case "i" | "u":
                return Expr(write_mark("as_int", e, t.low, t.high), t)
            case "f":
                return round_result(Expr(write_mark("as_float", e), t))
            case "c":
                return Expr(write_mark("as_complex", e), t)
        return replace(e, type=t)

    def _write_constant(self, node: ir.Constant) -> Expr:
        if node.spelling in ("True", "False"):
            whole = int(node.value.real)
            return Expr(ast.Constant(bool(whole)), node.type, low=whole, high=whole, truth=True, value=whole)
        if node.type.kind == "o" and isinstance(node.value, int):
            return write_constant(node.value, OBJECT, node.spelling)
        return super()._write_constant(node)

    def _convert(self, node: ir.Convert) -> Expr:
        inner = self.write_value(node.value)
        if node.explicit and inner.type.kind == "o" and node.type.kind in "iu":
            return Expr(call("int", inner), node.type)
        if "o" in (inner.type.kind, node.type.kind) or not (inner.type.arithmetic and node.type.arithmetic):
            if "a" in (inner.type.kind, node.type.kind) and "o" not in (inner.type.kind, node.type.kind):
                raise self.stop("uses a pointer", node)
            return self.convert(inner, node.type, node=node)
        if not node.explicit and node.type == DOUBLE and inner.type.integral and inner.value is None:
            return Expr(write_mark("as_float", self.settle(inner)), DOUBLE)  # Python's operators do it by themselves
        return super()._convert(node)

    def write_initial(self, node: Expression, t: CType, *, frozen: bool = False) -> Expr:
        return self.write_value(node)

    def _write_braced(self, node: ir.Aggregate, *, frozen: bool = False) -> Expr:
        if node.type.kind != "t":
            return super()._write_braced(node, frozen=frozen)
        return Expr(ast.Tuple([self.write_settled(item).node for item in node.items]), node.type)

    def _write_outside(self, symbol: Symbol, node: Node) -> Expr:
        if symbol.name in self.scope.program.imports:
            return self._write_imported(symbol)
        if symbol.storage == "constant":
            return super()._write_outside(symbol, node)
        known = symbol in self.scope.stored or symbol.type.arithmetic or symbol.type.length is not None
        if symbol.storage != "global" or not known:
            raise self.stop(f"uses `{symbol.name}`, which is not a function or variable of the cell", node)
        self.scope.names.add(symbol)
        return Expr(ast.Name(symbol.name), symbol.type, truth=symbol.type.kind == "b")

    def _write_imported(self, symbol: Symbol) -> Expr:
        """What the cell imported from Python must stay Python's; ``math`` in the checked text is C's."""
        statement = self.scope.program.imports[symbol.name]
        self.scope.imported[symbol.name] = statement
        module = statement.removeprefix("import ").partition(" as ")[0]
        if statement.startswith("import ") and module in ("math", "cmath"):
            spelled = f"python_{module}"
            self.scope.imported[spelled] = f"import {module} as {spelled}"
            return Expr(write_mark("module", ast.Name(symbol.name), ast.Name(spelled)), OBJECT)
        return Expr(ast.Name(symbol.name), OBJECT)

    def _write_name(self, node: ir.Name) -> Expr:
        variable = self.variables.get(node.symbol)
        if variable is not None and variable.cell:
            raise self.stop(f"uses the pointer `{node.symbol.name}`", node)
        return super()._write_name(node)

    # -- operators ----------------------------------------------------------------------------------

    def _write_binary(self, node: ir.Binary) -> Expr:
        if node.op == "**":
            return self._write_power(node)
        if node.op == "//" or (node.python and node.op in ("/", "%")):
            return self._write_division(node)
        if node.op == "%" and node.type.kind == "f":
            row = find_math_function("fmod")
            assert row is not None
            return self.write_library_call(*row, [self.write_operand(node.left), self.write_operand(node.right)], node)
        e = super()._write_binary(node)
        if node.overflow_raises and e.loose:
            return Expr(write_mark("as_int", e, e.type.low, e.type.high), e.type)
        return e

    def _write_division(self, node: ir.Binary) -> Expr:
        t, op = node.type, node.op
        if t.integral:
            left, right = (self.to_integer(self.write_settled(side), t) for side in (node.left, node.right))
            e = Expr(write_operation(op, left, right), t)
            low, high = right.range
            return replace(e, low=min(low + 1, 0), high=max(high - 1, 0)) if op == "%" else e
        left, right = self.settle(self.write_operand(node.left)), self.settle(self.write_operand(node.right))
        if op == "/":
            return round_result(Expr(write_operation("/", left, right), t))
        word = "modulo" if op == "%" else "floor" if node.python else "floor_c"
        return round_result(Expr(write_mark(word, left, right), t))

    def _write_power(self, node: ir.Binary) -> Expr:
        t = node.type
        if t.integral:
            left, right = self.write_settled(node.left), self.write_settled(node.right)
            if not isinstance(right.value, int) or not 0 <= right.value <= 64:
                return Expr(write_mark("int_power", left, right), t, loose=True)
            ends = [end**right.value for end in left.range]
            return Expr(write_operation("**", left, right), t, loose=max(map(abs, ends)) > t.high)
        left, right = self.settle(self.write_operand(node.left)), self.settle(self.write_operand(node.right))
        if t.kind == "c":
            return round_result(Expr(write_mark("cpow", left, right), t))
        if left.type.integral and right.type.integral and right.value is None:
            left = Expr(call("float", left), DOUBLE)  # Python's integers would grow without end
        return round_result(Expr(write_mark("power" if node.python else "pow", left, right), t))

    def _write_logical(self, node: ir.Logical) -> Expr:
        """``a < b < c`` as it is written."""
        e = super()._write_logical(node)
        match node.left, node.right, e.node:
            case (
                ir.Binary() | ir.Logical() as left,
                ir.Binary(compares=True) as right,
                ast.BoolOp(op=ast.And(), values=[ast.Compare() as first, ast.Compare() as second]),
            ) if _find_end(left) is strip_conversions(right.left) and ast.dump(first.comparators[-1]) == ast.dump(
                second.left
            ):
                ops, items = [*first.ops, *second.ops], [*first.comparators, *second.comparators]
                return replace(e, node=ast.Compare(first.left, ops, items))
        return e

    def _write_conditional(self, node: ir.Conditional) -> Expr:
        if node.type.arithmetic:
            return super()._write_conditional(node)
        test = self.write_condition(node.test)
        left, right = (self.convert(self.write_value(side), node.type) for side in (node.yes, node.no))
        return Expr(ast.IfExp(test.node, left.node, right.node), node.type)

    def write_condition(self, node: Expression) -> Expr:
        e = self._find_truth(node)
        return e if e is not None else super().write_condition(node)

    def _find_truth(self, node: Expression) -> Expr | None:
        """The truth of an object or an array, which Python asks as Cython does."""
        while isinstance(node, ir.Convert) and not node.explicit and node.type.kind == "b":
            node = node.value
        return self.write_settled(node) if node.type.kind in "ot" else None

    def _write_dynamic(self, node: ir.Dynamic) -> Expr:
        values = [self.write_settled(operand) for operand in node.operands]
        for operand, value in zip(node.operands, values, strict=True):
            if value.type.kind in "?V":
                self.scope.check_type(value.type, operand)
        if any(self.is_in_lists(value.type) for value in values):
            return self._write_over_lists(node, values)
        name = node.template.partition("(")[0]
        if name in self.scope.program.functions:  # as a value, or with keywords
            self.scope.request(self.scope.find_routine(ir.FunctionCall(OBJECT, name, (), at=node.at), 0))
        return Expr(parse_template(node.template, *values), node.type, truth=node.type.kind == "b")

    def is_in_lists(self, t: CType) -> bool:
        """Whether an array is a list here: those of ufuncs with core dimensions, and C arrays."""
        return t.kind == "a" and (self.scope.lists or t.length is not None)

    def _write_over_lists(self, node: ir.Dynamic, values: Sequence[Expr]) -> Expr:
        """A part of a list, or what Python itself does to one."""
        text = node.template
        if not text.startswith("{}["):
            if "{}." in text:
                raise self.stop(f"uses `{self.shorten(node)}` of an array", node)
            return Expr(parse_template(text, *values), node.type, truth=node.type.kind == "b")
        base, *indices = values
        parts = text[3:-1].split(", ")
        while len(parts) > 1 and parts[-1] == ":":
            parts.pop()
        if len(parts) == 2 and ":" in parts[0] and parts[1] == "{}":
            rows = base.node if parts[0] == ":" else parse_template(f"{{}}[{parts[0]}]", base, *indices[:-1])
            return Expr(parse_template("[row[{}] for row in {}]", indices[-1], rows), node.type)
        if any(":" in part for part in parts[:-1]):
            raise self.stop(f"takes a slice that lists do not support: `{self.shorten(node)}`", node)
        return Expr(parse_template("{}" + "".join(f"[{part}]" for part in parts), base, *indices), node.type)

    def _write_length(self, node: ir.Length) -> Expr:
        base = self.write_value(node.base)
        if self.is_in_lists(base.type):
            return Expr(write_length(base.text, node.axis), INDEX, low=0, high=_MOST)
        return Expr(parse_template("{}.shape[{}]", base, node.axis), INDEX, low=0, high=_MOST)

    def _write_element(self, node: ir.Element) -> Expr:
        """``m[i, j]`` of an array of NumPy's, ``m[i][j]`` of a list."""
        indices, base = [node.index], node.base
        while isinstance(base, ir.Element) and base.type.kind == "a":
            indices.insert(0, base.index)
            base = base.base
        e = None if self._find_pointed(base) is not None else self.write_value(base)
        if len(indices) == 1 or e is None or self.is_in_lists(e.type) or e.type.kind != "a":
            return super()._write_element(node)
        parts = [index if index.loose else self.settle(index) for index in map(self.write_value, indices)]
        subscript = ast.Subscript(e.node, ast.Tuple([part.node for part in parts]))
        return Expr(subscript, node.type, truth=node.type.kind == "b")

    # -- places -------------------------------------------------------------------------------------

    def place(self, node: Expression) -> Expr:
        match node:
            case ir.Name(symbol=symbol) if symbol in self.variables and not self.variables[symbol].cell:
                return self.variables[symbol].expression
            case ir.Name(symbol=symbol) if symbol.storage == "global":
                self.globals.append(symbol.name)
                return self._write_outside(symbol, node)
            case ir.Dynamic():
                return self._write_dynamic(node)
        return super().place(node)

    # -- calls --------------------------------------------------------------------------------------

    def _write_own_call(self, node: ir.FunctionCall) -> tuple[Expr, list[Expr]]:
        routine = self.scope.find_routine(node, len(node.arguments))
        if routine.main and not routine.plain:
            raise self.stop(f"calls itself (`{node.name}`) with pointers", node)
        values = []
        for parameter, argument in zip(routine.parameters, node.arguments, strict=False):
            if parameter.type.kind == "a" and argument.type.kind == "a" and argument.type.length is None:
                self._check_pointer(argument)
            values.append(self.convert(self.write_value(argument), parameter.type, node=node, final=True))
        t = node.type if node.type.kind == "o" else routine.returns
        name = self.scope.request(routine) if not routine.main else routine.name
        return Expr(call(name, *values), t, truth=t.kind == "b"), []

    def _check_pointer(self, argument: Expression) -> None:
        self.write_value(argument)

    def _write_library(self, name: str, arguments: Sequence[Expression], node: ir.FunctionCall) -> Expr:
        if node.through is not None:
            raise self.stop(f"calls `.{node.name}`", node)
        if name in ("PyInt_AsLong", "import_array", "_import_array"):
            return Expr(ast.Constant(None), OBJECT)
        short = name.removeprefix("__builtin_").removeprefix("std::")
        if find_math_function(name) is None and short not in ("min", "max", "clamp", "nan", "nanf"):
            raise self.stop(f"calls `{short}`, which comes from C", node)
        return super()._write_library(name, arguments, node)

    # -- statements ---------------------------------------------------------------------------------

    def _write_local(self, node: ir.Declare) -> Lines:
        t = node.symbol.type
        variable = self.variables.get(node.symbol) or self._add_variable(node.symbol)
        if t.kind == "a" and t.length is not None:
            return [assign(variable.name, zero(t))]
        return []

    def _write_raise(self, node: ir.Raise) -> Lines:
        if node.message is None:
            return [ast.Raise(ast.Name(node.exception))]
        return [ast.Raise(call(node.exception, *([ast.Constant(node.message)] if node.message else [])))]

    def _write_parallel(self, node: ir.ParallelAssignment) -> Lines:
        places = [self.place(a.place) for a in node.assignments]
        pairs = zip(node.assignments, places, strict=True)
        values = [self.convert(self.write_value(a.value), p.type, node=a.value) for a, p in pairs]
        return [assign(ast.Tuple([p.node for p in places]), ast.Tuple([v.node for v in values]))]

    def _write_unpack(self, node: ir.Unpack) -> Lines:
        places = [self.place(target).node for target in node.targets]
        return [assign(ast.Tuple(places), self.write_settled(node.value))]

    def _write_dynamic_statement(self, node: ir.DynamicStatement) -> Lines:
        values = [self.write_settled(operand) for operand in node.operands]
        if values and self.is_in_lists(values[0].type) and node.template.endswith("= {}"):
            return self._fill(node, values)
        text = node.template.format(*(f"__{n}" for n in range(len(values)))) if values else node.template
        line = ast.parse(text).body[0]
        return [_Filled([v.node for v in values]).visit(line)]

    def _fill(self, node: ir.DynamicStatement, values: list[Expr]) -> Lines:
        """``a[:] = x``: one number into every element of a list."""
        target = node.template.removesuffix(" = {}")
        *parts, item = values
        if ", " in target or parts[0].type.of is None or not parts[0].type.of.arithmetic:
            raise self.stop(f"fills a part of an array: `{self.shorten(node)}`", node)
        part = parse_template(target, *parts)
        if item.type.arithmetic:
            item = self.convert(item, parts[0].type.of)
            return [assign(part, parse_template("[{}] * len({})", item, part))]
        return [assign(part, item)]

    def _write_for_each(self, node: ir.ForEach) -> Lines:
        iterable = self.write_settled(node.iterable)
        if node.iterable.type.kind in "?":
            self.scope.check_type(node.iterable.type, node.iterable)
        places = [self.place(target).node for target in node.targets]
        target = places[0] if len(places) == 1 else ast.Tuple(places)
        lines = self._write_in_loop([], lambda: self._write_suite(node.body))
        return [ast.For(target, iterable.node, lines, self._write_otherwise(node))]

    def _write_otherwise(self, node: ir.ForEach | ir.While | ir.CountedFor) -> Lines:
        return self._write_suite(node.otherwise) if node.otherwise is not None else []

    def _write_while(self, node: ir.While) -> Lines:
        *before, loop = super()._write_while(node)
        loop.orelse = self._write_otherwise(node)  # type: ignore[attr-defined]
        return [*before, loop]

    def _write_counted(self, node: ir.CountedFor) -> Lines:
        *before, loop = super()._write_counted(node)
        loop.orelse = self._write_otherwise(node)  # type: ignore[attr-defined]
        return [*before, loop]

    _EXPRESSIONS: ClassVar[dict[type[Node], Callable[..., Expr]]] = {
        **ExpressionWriter._EXPRESSIONS,
        ir.Aggregate: _write_braced,
        ir.Binary: _write_binary,
        ir.Conditional: _write_conditional,
        ir.Constant: _write_constant,
        ir.Convert: _convert,
        ir.Dynamic: _write_dynamic,
        ir.Element: _write_element,
        ir.Length: _write_length,
        ir.Logical: _write_logical,
        ir.Name: _write_name,
    }
    _STATEMENTS: ClassVar[dict[type[Node], Callable[..., Lines]]] = {
        **PythonWriter._STATEMENTS,
        ir.CountedFor: _write_counted,
        ir.DynamicStatement: _write_dynamic_statement,
        ir.ForEach: _write_for_each,
        ir.ParallelAssignment: _write_parallel,
        ir.Raise: _write_raise,
        ir.Unpack: _write_unpack,
        ir.While: _write_while,
    }


def _find_end(comparison: ir.Binary | ir.Logical) -> Expression | None:
    """The last operand of ``a < b``, or of ``a < b < c``."""
    while isinstance(comparison, ir.Logical):
        last = comparison.right
        if not isinstance(last, ir.Binary | ir.Logical):
            return None
        comparison = last
    return strip_conversions(comparison.right) if comparison.compares else None


class _Filled(ast.NodeTransformer):
    """Puts expressions in the places of ``__0``, ``__1``."""

    def __init__(self, parts: Sequence[ast.expr]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.parts[int(node.id[2:])] if node.id.startswith("__") and node.id[2:].isdigit() else node
