"""C expressions as Python's: literals, names, operators, casts, subscripts, calls, assignments, initializers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ..ir import BOOL, COMPLEX, DOUBLE, INT, VOID, CType, float_value, integer_value
from .arithmetic_expressions import Arithmetic, constant, header_constant
from .c_cell import CCell, CRoutine, python_name
from .c_tree import bare, brief, child, children, stop, text_of, walk
from .math_names import known
from .value import (
    Expr,
    Lines,
    Variable,
    assign,
    call,
    negation,
    number,
    operation,
    python,
    tuple_of,
    walk as walk_python,
    zero,
)

if TYPE_CHECKING:
    from tree_sitter import Node

#: Elements of a table that is still written out.
LARGEST = 4096

_OPERATOR_NAMES = {"and": "&&", "or": "||", "not": "!"}
_COMPLEX_NAMES = {"arg": "carg", "real": "creal", "imag": "cimag", "norm": "__norm"}


class Expressions(Arithmetic):
    """Translates every expression of one function.

    ``before`` collects statements that must stand before the one being written; it is None inside what C evaluates
    conditionally or repeatedly.
    """

    cell: CCell
    stop = staticmethod(stop)
    brief = staticmethod(brief)

    def __init__(self, cell: CCell, routine: CRoutine, *, checked: bool) -> None:
        super().__init__(cell, checked=checked)
        self.routine = routine
        self.scopes: list[dict[str, Variable]] = [{}]
        self.before: Lines | None = None

    def value(self, node: Node) -> Expr:
        node = bare(node)
        method: Callable[[Node], Expr] | None = getattr(self, f"_{node.type}", None)
        if method is None:
            raise stop(f"uses `{brief(node)}`, which has no Python form", node)
        return method(node)

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """What is not always evaluated: no statement may stand before it."""
        around, self.before = self.before, None
        try:
            yield
        finally:
            self.before = around

    # -- literals -------------------------------------------------------------------------------

    def _number_literal(self, node: Node) -> Expr:
        text = text_of(node)
        if text[0] in "+-":  # the C grammar counts a sign in `? -1 : 1` to the number
            return self.unary(text[0], self._number(text[1:].lstrip(), node), node)
        return self._number(text, node)

    def _number(self, text: str, node: Node) -> Expr:
        whole = integer_value(text)
        if whole is not None:
            value, t = whole
            return constant(value, t, text.rstrip("uUlLzZ").replace("'", "_") if text[1:2] in tuple("xXbB") else "")
        if text.startswith("3.14159265358979323846"):  # what the preprocessor leaves of M_PI
            return Expr(python("math.pi"), DOUBLE)
        real = float_value(text)
        if real is None:
            raise stop(f"cannot read the number `{text}`", node)
        return self.rounded(Expr(number(real[0]), real[1], value=real[0]))

    def _char_literal(self, node: Node) -> Expr:
        text = text_of(node)
        inner = text[1:-1].encode().decode("unicode_escape")
        if len(inner) != 1 or text[0] != "'":
            raise stop(f"uses the character {text}", node)
        return constant(ord(inner), INT)

    def _true(self, node: Node) -> Expr:
        value = node.type == "true"
        t = BOOL if self.cell.cplus else INT
        return Expr(ast.Constant(value), t, low=int(value), high=int(value), truth=True, value=int(value))

    _false = _true

    # -- names ----------------------------------------------------------------------------------

    def variable(self, name: str) -> Variable | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def _pointed(self, node: Node) -> Expr | None:
        """The one value that the pointer ``node`` points to, which Python holds under its name."""
        variable = self.variable(text_of(node)) if node.type == "identifier" else None
        return replace(variable.expression, truth=False) if variable is not None and variable.cell else None

    def _identifier(self, node: Node) -> Expr:
        name = text_of(node)
        variable = self.variable(name)
        if variable is None:
            return self.constant(name, node)
        if variable.cell:
            raise stop(f"uses the pointer `{name}` itself", node)
        return variable.expression

    def _parameter_declaration(self, node: Node) -> Expr:
        """An argument of a constructor that reads as a function."""
        return self._identifier(node)

    def _qualified_identifier(self, node: Node) -> Expr:
        return self.constant(text_of(node).rpartition("::")[2], node)

    def constant(self, name: str, node: Node) -> Expr:
        """The file-scope constant ``name``; its definition will stand above the functions."""
        cell = self.cell
        if name in cell.constants:
            return cell.constants[name][1]
        if name in cell.enumerators:
            value = cell.enumerators[name]
            return self.define(name, Expr(number(value), INT, value=value))
        if name in cell.variables:
            return self.table(name, *cell.variables[name])
        if macro := cell.macros.get(name):
            body = cell.expression(macro)
            if body is None:
                raise stop(f"uses the macro `{name}`, which is not an expression", node)
            return self.define(name, self.settled(body))
        if e := header_constant(name):
            return e
        if name in ("I", "_Complex_I"):
            return Expr(number(1j), COMPLEX)
        raise stop(f"uses `{name}`, which is not defined in the cell", node)

    def define(self, name: str, value: Expr) -> Expr:
        low, high = (value.value, value.value) if isinstance(value.value, int) else (value.low, value.high)
        spelled = ast.Name(python_name(name))
        self.cell.constants[name] = assign(spelled, value), replace(value, node=spelled, low=low, high=high)
        return self.cell.constants[name][1]

    def table(self, name: str, declaration: Node, declarator: Node, *, key: str = "") -> Expr:
        """A file-scope or static variable as a constant; refused where something changes it."""
        source = declarator.child_by_field_name("value")
        if name in self.cell.assigned and "const" not in text_of(declaration).split("=")[0].split():
            raise stop(f"keeps `{name}` between calls", declarator)
        if source is None:
            raise stop(f"uses the variable `{name}`, which has no value in the cell", declarator)
        declared = self.cell.declared(child(declarator, "declarator"), self.cell.type_named(child(declaration, "type")))
        if declared.pointer:
            raise stop(f"uses the pointer `{name}`", declarator)
        e = self.initial(source, declared.type, frozen=True)
        plain = e.type.arithmetic and source.type != "initializer_list"
        value = self.convert(self.value(source), e.type).value if plain else None
        return self.define(key or name, Expr(e.node, e.type, value=value))

    # -- operators ------------------------------------------------------------------------------

    def _binary_expression(self, node: Node) -> Expr:
        op, left, right = _operator(node), child(node, "left"), child(node, "right")
        if op in ("&&", "||"):
            return self._logical(op, left, right)
        left_value = self.value(left)
        return self.binary(op, left_value, self.value(right), node)

    def condition(self, node: Node) -> Expr:
        """An expression of which only truth matters."""
        e = self.value(node)
        if e.type.kind in "av":
            raise stop(f"asks whether `{brief(node)}` is null", node)
        return e if e.logical else self.tested(self.settle(e))

    def _logical(self, op: str, left_node: Node, right_node: Node) -> Expr:
        left = self.condition(left_node)
        with self._inside():
            right = self.condition(right_node)
        both = left.truth and right.truth
        node = operation("and" if op == "&&" else "or", left, right)
        return Expr(node, INT, low=0, high=1, truth=both, logical=not both)

    def _unary_expression(self, node: Node) -> Expr:
        op, argument = _operator(node), child(node, "argument")
        if op == "!":
            return Expr(negation(self.condition(argument)), INT, low=0, high=1, truth=True)
        return self.unary(op, self.value(argument), node)

    def _conditional_expression(self, node: Node) -> Expr:
        test = self.condition(child(node, "condition"))
        with self._inside():
            left, right = self.value(child(node, "consequence")), self.value(child(node, "alternative"))
        return self.chosen(test, left, right, node)

    def _cast_expression(self, node: Node) -> Expr:
        type_node = child(node, "type")
        if any(n.type == "abstract_pointer_declarator" for n in walk(type_node)):
            raise stop(f"casts a pointer: `{brief(node)}`", node)
        return self.cast(self.value(child(node, "value")), type_node, node)

    def cast(self, e: Expr, type_node: Node, node: Node) -> Expr:
        t = self.cell.type_named(type_node)
        return replace(e, type=VOID) if t == VOID else self.convert(e, t, node=node)

    def _sizeof_expression(self, node: Node) -> Expr:
        type_node = node.child_by_field_name("type")
        t = self.cell.type_named(type_node) if type_node is not None else self.value(child(node, "value")).type
        return self.sizeof(t, node)

    # -- places ---------------------------------------------------------------------------------

    def place(self, node: Node) -> Expr:
        """What can be assigned to: its Python spelling and type."""
        node = bare(node)
        match node.type:
            case "identifier":
                variable = self.variable(text_of(node))
                if variable is None:
                    raise stop(f"changes the global variable `{text_of(node)}`", node)
                if variable.cell or variable.type.kind == "a":
                    raise stop(f"moves the pointer `{variable.name}`", node)
                return variable.expression
            case "pointer_expression" | "subscript_expression" | "field_expression":
                return self.value(node)
        raise stop(f"assigns to `{brief(node)}`", node)

    def _pointer_expression(self, node: Node) -> Expr:
        if text_of(child(node, "operator")) == "&":
            raise stop(f"takes an address: `{brief(node)}`", node)
        return self._behind(child(node, "argument"), node)

    def _behind(self, pointer: Node, node: Node) -> Expr:
        """The first value to which a pointer points."""
        if (one := self._pointed(pointer)) is not None:
            return one
        e = self.value(pointer)
        if e.type.kind != "a" or e.type.of is None:
            raise stop(f"follows the pointer `{brief(pointer)}`", node)
        return Expr(python("{}[0]", e), e.type.of)

    def _subscript_expression(self, node: Node) -> Expr:
        base = child(node, "argument")
        # The C++ grammar wraps the subscript in an argument list.
        subscript = node.child_by_field_name("index") or children(child(node, "indices"))[0]
        if (one := self._pointed(base)) is not None:
            if text_of(subscript) != "0":
                raise stop(f"uses `{brief(node)}`, but `{text_of(base)}` is a single number", node)
            return one
        e = self.value(base)
        if e.type.kind != "a" or e.type.of is None:
            raise stop(f"subscripts `{brief(base)}`, which is not an array", node)
        index = self.value(subscript)
        if not index.type.integral:
            raise stop(f"uses `{brief(subscript)}` as a subscript", node)
        index = index if index.loose else self.settle(index)
        return Expr(python("{}[{}]", e, index), e.type.of, truth=e.type.of.kind == "b")

    def _field_expression(self, node: Node) -> Expr:
        name = text_of(child(node, "field"))
        e = self.value(child(node, "argument"))
        if e.type.kind != "c" or name not in ("real", "imag"):
            raise stop(f"uses `{brief(node)}`", node)
        return Expr(ast.Attribute(e.node, name), DOUBLE)

    # -- assignments ----------------------------------------------------------------------------

    def effect(self, node: Node) -> Lines:
        """An expression evaluated for what it does, as statements."""
        node = bare(node)
        match node.type:
            case "comma_expression":
                return self.effect(child(node, "left")) + self.effect(child(node, "right"))
            case "assignment_expression" | "update_expression":
                return [self.store(*self._change(node), node)]
            case "call_expression":
                return self._call_statement(node)
            case "cast_expression" if text_of(child(node, "type")) == "void":
                return [] if child(node, "value").type == "identifier" else self.effect(child(node, "value"))
            case "identifier" | "number_literal":
                return []
        return [ast.Expr(self.value(node).node)]

    def _comma_expression(self, node: Node) -> Expr:
        if self.before is None:
            raise stop("uses the comma operator inside a condition", node)
        self.before += self.effect(child(node, "left"))
        return self.value(child(node, "right"))

    def _change(self, node: Node) -> tuple[Expr, Expr]:
        """The place that an assignment, ``++`` or ``--`` changes, and what it becomes."""
        op, update = text_of(child(node, "operator")), node.type == "update_expression"
        target = self.place(child(node, "argument" if update else "left"))
        if op != "=" and any(isinstance(n, ast.NamedExpr) for n in walk_python(target.node)):
            raise stop(f"changes a subscript with a side effect: `{brief(node)}`", node)  # it would be written twice
        if update:
            value = self.binary(op[0], target, constant(1, target.type if target.type.integral else INT), node)
            if target.low is not None and not value.loose:  # a counter keeps its range
                value = replace(value, low=target.low, high=target.high)
            return target, value
        value = self.value(child(node, "right"))
        return target, value if op == "=" else self.binary(op[:-1], target, value, node)

    def _update_expression(self, node: Node) -> Expr:
        prefix = node.children[0].type in ("++", "--")
        target, value = self._change(node)
        after = self._walrus(target, value, node)
        back = "-" if text_of(child(node, "operator")) == "++" else "+"
        return after if prefix else self.binary(back, after, constant(1, INT), node)

    def _assignment_expression(self, node: Node) -> Expr:
        target, value = self._change(node)
        if self.before is None:
            return self._walrus(target, value, node)
        self.before.append(self.store(target, value, node))
        return target

    def _walrus(self, target: Expr, value: Expr, node: Node) -> Expr:
        if not isinstance(target.node, ast.Name):
            raise stop(f"assigns inside an expression: `{brief(node)}`", node)
        value = self.convert(value, target.type, node=node)
        return replace(value, node=ast.NamedExpr(target.node, value.node), value=None)

    # -- calls ----------------------------------------------------------------------------------

    def _call_expression(self, node: Node) -> Expr:
        e, targets = self._called(node)
        if not targets:
            return e
        if self.before is None:
            raise stop(f"calls `{brief(node)}`, which stores through a pointer, inside a condition", node)
        if e.type == VOID:
            raise stop("uses the value of a void function", node)
        name = ast.Name(self.cell.fresh("result"))
        self.before.append(assign(tuple_of([name, *targets]), e))
        return Expr(name, e.type)

    def _call_statement(self, node: Node) -> Lines:
        name, arguments = text_of(child(node, "function")), children(child(node, "arguments"))
        if name.removeprefix("__builtin_") in ("sincos", "sincosf") and len(arguments) == 3:
            calls = zip(("sin", "cos"), arguments[1:], strict=True)
            return [self.store(self.address(a), self._library_call(f, arguments[:1], node), node) for f, a in calls]
        if name == "assert" and len(arguments) == 1:
            return [self._assertion(bare(arguments[0]))]
        e, targets = self._called(node)
        if not targets:
            return [ast.Expr(e.node)]
        return [assign(tuple_of(["_", *targets] if e.type != VOID else targets), e)]

    def _assertion(self, node: Node) -> ast.stmt:
        """``assert(x > 0 && "why")`` and ``assert(!"here")`` have a message, which counts as true."""
        words = node.child_by_field_name("right") or node.child_by_field_name("argument")
        if words is None or bare(words).type != "string_literal" or _operator(node) not in ("&&", "!"):
            return ast.Assert(self.condition(node).node)
        left = node.child_by_field_name("left")
        return ast.Assert(
            self.condition(left).node if left else ast.Constant(False), ast.Constant(text_of(words).strip('"'))
        )

    def _called(self, node: Node) -> tuple[Expr, list[Expr]]:
        """A call, and the places that its further results go to."""
        function, arguments = child(node, "function"), children(child(node, "arguments"))
        name = _plain_name(function)
        if routine := self.cell.routine(name, len(arguments)):
            return self._own_call(routine, arguments, node)
        if name in ("frexp", "modf") and len(arguments) == 2:
            return Expr(call(f"math.{name}", self.settled(arguments[0])), DOUBLE), [self.address(arguments[1])]
        if function.type == "field_expression" and name.rpartition(".")[2] in ("real", "imag"):
            return self._field_expression(function), []
        if name == "static_cast":
            inner = next(n for n in walk(function) if n.type == "type_descriptor")
            return self.cast(self.value(arguments[0]), inner, node), []
        # What the grammar takes for a call may be a cast: (real)(x), and T(x) in C++.
        t = self.cell.type_of(text_of(function))
        if t is not None and t.kind == "c" and len(arguments) == 2:
            return Expr(call("complex", *map(self.settled, arguments)), t), []
        if t is not None and len(arguments) == 1:
            return self.convert(self.value(arguments[0]), t, node=node), []
        return self._library_call(name, arguments, node), []

    def _library_call(self, name: str, arguments: Sequence[Node], node: Node) -> Expr:
        short = name.removeprefix("__builtin_").removeprefix("std::")
        if short in ("inff", "inf", "huge_val", "huge_valf", "nan", "nanf"):
            return Expr(python("math.nan" if short.startswith("nan") else "math.inf"), DOUBLE)
        cplus = self.cell.cplus
        if cplus and short in ("min", "max") and len(arguments) == 2:
            return self.extreme(short, [self.settled(a) for a in arguments])
        if cplus and short == "clamp" and len(arguments) == 3:
            value, low, high = (self.settled(a) for a in arguments)
            return self.extreme("min", [self.extreme("max", [value, low]), high])
        entry_and_type = known(_COMPLEX_NAMES.get(short, name) if cplus else name)
        if entry_and_type is None:
            raise stop(f"calls `{short}`, which Python does not have", node)
        entry, t = entry_and_type
        values = [self.settled(a) for a in arguments]
        if any(not v.type.arithmetic for v in values) or not values:
            raise stop(f"contains `{brief(node)}`, which has no Python form", node)
        if cplus and t == DOUBLE and values[0].type.kind in "fc":  # overloads of <cmath>
            t = next((v.type for v in values if v.type.kind == "c"), values[0].type)
        elif not cplus and entry.python.startswith("math."):  # C has none: of a complex number the real part is taken
            values = [self.to_float(v, DOUBLE) if v.type.kind == "c" else v for v in values]
        return self.known_call(entry, t, values, node)

    def _own_call(self, routine: CRoutine, arguments: Sequence[Node], node: Node) -> tuple[Expr, list[Expr]]:
        """A call of one of the cell's functions."""
        if routine.main and not routine.plain:
            raise stop(f"calls itself (`{routine.name}`) with pointers", node)
        if len(arguments) != len(routine.parameters):
            raise stop(f"calls `{routine.name}` with {len(arguments)} arguments", node)
        inputs: list[Expr] = []
        targets: list[Expr] = []
        for parameter, argument in zip(routine.parameters, arguments, strict=True):
            if parameter.cell:
                place = self.place(argument) if parameter.reference else self.address(argument)
                if place.type != parameter.type:
                    raise stop(f"passes `{brief(argument)}` as another type", node)
                inputs += [place] if parameter.reads else []
                targets += [place] if parameter.writes else []
            else:
                e = self.value(argument)
                if parameter.type.kind == "a" and e.type.depth != parameter.type.depth:
                    raise stop(f"passes `{brief(argument)}` as an array", node)
                inputs.append(self.convert(e, parameter.type, node=node))
        return Expr(call(self.cell.request(routine), *inputs), routine.returns), targets

    def address(self, node: Node) -> Expr:
        """The place whose address an argument is."""
        node = bare(node)
        if node.type == "pointer_expression" and text_of(child(node, "operator")) == "&":
            return self.place(child(node, "argument"))
        return self._behind(node, node)

    # -- initializers ---------------------------------------------------------------------------

    def initial(self, source: Node, t: CType, *, frozen: bool = False) -> Expr:
        """An initializer for type ``t``, which is completed with an array's length."""
        if t.kind == "a" and t.of is not None:
            return self._initial_array(source, t, t.of, frozen=frozen)
        if source.type in ("initializer_list", "argument_list", "parameter_list"):
            items = children(source)
            if t.kind == "c" and len(items) == 2:
                return Expr(call("complex", *map(self.settled, items)), t)
            if len(items) > 1:
                raise stop(f"initializes a number with `{brief(source)}`", source)
            if not items:
                return Expr(zero(t), t)
            source = items[0]
        return Expr(self.convert(self.value(source), t, node=source).node, t)

    def _initial_array(self, source: Node, t: CType, of: CType, *, frozen: bool) -> Expr:
        if source.type != "initializer_list":
            raise stop(f"initializes an array with `{text_of(source)}`", source)
        items = children(source)
        if len(items) > LARGEST or source.end_byte - source.start_byte > 16 * LARGEST:
            raise stop("reads a large table", source)
        if of.kind == "a" and items and items[0].type != "initializer_list":
            raise stop("initializes a nested array without inner braces", source)
        parts = [self.initial(item, of, frozen=frozen) for item in items]
        of = parts[0].type if parts else of
        whole = CType("a", of=of, length=len(items) if t.length is None else t.length)
        rest = (whole.length or 0) - len(parts)
        blank = zero(of)
        if rest > 0 and not frozen and all(p.text == ast.unparse(blank) for p in parts):
            return Expr(zero(whole), whole)
        nodes = [*(p.node for p in parts), *[blank] * rest]
        return Expr(ast.Tuple(nodes) if frozen else ast.List(nodes), whole)


def evaluate(cell: CCell, node: Node) -> float | None:
    """The value of a constant expression of file scope."""
    nowhere = CRoutine("", node, VOID, ())
    return Expressions(cell, nowhere, checked=False).value(node).value


def _operator(node: Node) -> str:
    text = text_of(child(node, "operator"))
    return _OPERATOR_NAMES.get(text, text)


def _plain_name(function: Node) -> str:
    while function.type == "template_function":
        function = child(function, "name")
    text = text_of(function)
    return text.partition("<")[0] if function.type == "qualified_identifier" else text
