"""C expressions as Python's: literals, names, operators, casts, subscripts, calls, assignments, initializers."""

from __future__ import annotations

import ast
import cmath
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from .arithmetic_expressions import Arithmetic, constant, header_constant, zero
from .c_arithmetic import BOOL, COMPLEX, DOUBLE, FLOAT, INT, VOID, CType, float_value, integer_value, promoted, usual
from .c_cell import CCell, CRoutine, python_name
from .c_tree import bare, brief, child, children, stop, text_of, walk
from .math_names import CONSTANTS, LITERALS, Known, known
from .value import (
    Expr,
    Lines,
    Stop,
    Variable,
    assign,
    call,
    negation,
    number,
    operation,
    python,
    tuple_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

#: Elements of a table that is still written out.
LARGEST = 4096

_OPERATOR_NAMES = {
    "and": "&&",
    "or": "||",
    "not": "!",
    "bitand": "&",
    "bitor": "|",
    "xor": "^",
    "compl": "~",
    "not_eq": "!=",
}
_COMPLEX_NAMES = {"arg": "carg", "real": "creal", "imag": "cimag"}


class Expressions(Arithmetic):
    """Translates every expression of one function.

    ``before`` and ``after`` collect statements that must stand around the one being written; they are
    None inside what C evaluates conditionally or repeatedly.
    """

    stop = staticmethod(stop)
    brief = staticmethod(brief)

    def __init__(self, cell: CCell, routine: CRoutine, *, checked: bool) -> None:
        super().__init__(cell, checked=checked)
        self.cell = cell
        self.routine = routine
        self.scopes: list[dict[str, Variable]] = [{}]
        self.before: Lines | None = None
        self.after: Lines | None = None
        self.statement: Node | None = None

    def value(self, node: Node) -> Expr:
        node = bare(node)
        method: Callable[[Node], Expr] | None = getattr(self, f"_{node.type}", None)
        if method is None:
            raise stop(f"uses `{brief(node)}`, which has no Python form", node)
        return method(node)

    def settled(self, node: Node) -> Expr:
        return self.settle(self.value(node))

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """What is not always evaluated: no statement may stand before it."""
        around = self.before, self.after
        self.before = self.after = None
        try:
            yield
        finally:
            self.before, self.after = around

    # -- literals -------------------------------------------------------------------------------

    def _number_literal(self, node: Node) -> Expr:
        text = text_of(node)
        if text[0] in "+-":  # the C grammar counts a sign in `? -1 : 1` to the number
            e = self._number(text[1:].lstrip(), node)
            return self.negative(e) if text[0] == "-" else e
        return self._number(text, node)

    def _number(self, text: str, node: Node) -> Expr:
        whole = integer_value(text)
        if whole is not None:
            value, t = whole
            return constant(value, t, text.rstrip("uUlLzZ").replace("'", "_") if text[1:2] in tuple("xXbB") else "")
        if text.rstrip("LfF") in LITERALS:
            return Expr(python(CONSTANTS[LITERALS[text.rstrip("LfF")]]), DOUBLE)
        real = float_value(text)
        if real is None:
            raise stop(f"cannot read the number `{text}`", node)
        value_of = float(real[0])
        return self.rounded(Expr(number(value_of), real[1], value=value_of))

    def _char_literal(self, node: Node) -> Expr:
        text = text_of(node)
        inner = text[1:-1].encode().decode("unicode_escape")
        if len(inner) != 1 or text[0] != "'":
            raise stop(f"uses the character {text}", node)
        return constant(ord(inner), INT)

    def _true(self, node: Node) -> Expr:
        return replace(_truth(True), type=BOOL if self.cell.cplus else INT)

    def _false(self, node: Node) -> Expr:
        return replace(_truth(False), type=BOOL if self.cell.cplus else INT)

    # -- names ----------------------------------------------------------------------------------

    def variable(self, name: str) -> Variable | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def _identifier(self, node: Node) -> Expr:
        name = text_of(node)
        variable = self.variable(name)
        if variable is None:
            return self.constant(name, node)
        if variable.cell and variable.type.kind != "s":
            raise stop(f"uses the pointer `{name}` itself", node)
        return variable.expression

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
        if name in cell.unset and name in cell.assigned:
            raise stop(f"keeps `{name}` from call to call", node)
        if name in cell.unset:
            raise stop(f"uses the variable `{name}`, which the cell gives no value", node)
        raise stop(f"uses `{name}`, which is not defined in the cell", node)

    def define(self, name: str, value: Expr) -> Expr:
        low, high = (value.value, value.value) if isinstance(value.value, int) else (value.low, value.high)
        spelled = ast.Name(python_name(name))
        self.cell.constants[name] = assign(spelled, value), replace(value, node=spelled, low=low, high=high)
        return self.cell.constants[name][1]

    def table(self, name: str, declaration: Node, declarator: Node, *, key: str = "") -> Expr:
        """A file-scope or static variable as a constant; refused where something changes it."""
        if name in self.cell.assigned and "const" not in text_of(declaration).split("=")[0].split():
            raise stop(f"keeps `{name}` from call to call", declarator)
        declared = self.cell.declared(child(declarator, "declarator"), self.cell.type_named(child(declaration, "type")))
        if declared.pointer:
            raise stop(f"uses the pointer `{name}`", declarator)
        source = child(declarator, "value")
        e = self.initial(source, declared.type, frozen=True)
        plain = e.type.arithmetic and source.type != "initializer_list"
        value = self.convert(self.value(source), e.type).value if plain else None
        return self.define(key or name, Expr(e.node, e.type, value=value))

    # -- operators ------------------------------------------------------------------------------

    def _binary_expression(self, node: Node) -> Expr:
        op = _operator(node)
        left_node, right_node = child(node, "left"), child(node, "right")
        if op in ("&&", "||"):
            return self.logical(op, left_node, right_node)
        meant = self._named_cast(node.child_by_field_name("left"))
        if meant is not None:
            return self._misread_cast(meant, op, right_node, node)
        if op in ("==", "!="):
            for pointer, other in ((left_node, right_node), (right_node, left_node)):
                there = self.points(pointer) if is_null(other) else None
                if there is not None:
                    return _truth(there == (op == "!="))
        left = self.value(left_node)
        return self.binary(op, left, self.value(right_node), node)

    def points(self, node: Node) -> bool | None:
        """Whether a pointer parameter points anywhere; None if ``node`` is no such name."""
        variable = self.variable(text_of(node)) if node.type == "identifier" else None
        if variable is None or not (variable.cell or variable.type.kind == "a"):
            return None
        return not variable.null

    def condition(self, node: Node) -> Expr:
        """An expression of which only truth matters."""
        there = self.points(bare(node))
        if there is not None:
            return _truth(there)
        e = self.value(node)
        if e.type.kind in "asv":
            raise stop(f"asks whether `{brief(node)}` is null", node)
        return e if e.logical else self.settle(e)

    def _named_cast(self, node: Node | None) -> CType | None:
        """The type in ``(real)``, which the grammar takes for a name in parentheses."""
        inner = bare(node) if node is not None and node.type == "parenthesized_expression" else None
        if inner is None or inner.type != "identifier" or self.variable(text_of(inner)) is not None:
            return None
        return self.cell.type_of(text_of(inner))

    def _misread_cast(self, t: CType, op: str, node: Node, whole: Node) -> Expr:
        """``(real)-x``, which the grammar takes for a difference."""
        e = self.value(node)
        tighter = whole.child_by_field_name("right")  # (real)-a/b is misread as (real) - (a/b)
        if op not in ("-", "+") or not e.type.arithmetic or tighter is None or tighter.type == "binary_expression":
            raise stop(f"cannot say `{brief(whole)}`", whole)
        return self.convert(self.negative(e) if op == "-" else e, t, node=whole)

    def logical(self, op: str, left_node: Node, right_node: Node) -> Expr:
        left = self.condition(left_node)
        if left.truth and left.value is not None:  # p != NULL && ...
            return left if bool(left.value) == (op == "||") else self.condition(right_node)
        with self._inside():
            right = self.condition(right_node)
        both = left.truth and right.truth
        node = operation("and" if op == "&&" else "or", left, right)
        return Expr(node, INT, low=0, high=1, truth=both, logical=not both)

    def _unary_expression(self, node: Node) -> Expr:
        op = _operator(node)
        if op == "!":
            e = self.condition(child(node, "argument"))
            if e.truth and e.value is not None:
                return _truth(not e.value)
            return Expr(negation(e), INT, low=0, high=1, truth=True)
        e = self.value(child(node, "argument"))
        if not e.type.arithmetic:
            raise stop(f"cannot say `{brief(node)}`", node)
        match op:
            case "+":
                return replace(self.settle(e), type=promoted(e.type))
            case "-":
                return self.negative(e)
            case "~" if e.type.integral:
                e = self.modular(e, promoted(e.type))
                # Not ~: what stands for a C int may be Python's own True, which that refuses from Python 3.16 on.
                if e.type.kind == "u":  # NumPy's unsigned numbers know no -1
                    return Expr(python("~int({})" if e.truth else "~{}", e), e.type, loose=True)
                low, high = e.range
                flipped = Expr(python("-1 - {}", e), e.type, loose=True)
                return flipped if e.loose else replace(flipped, loose=False, low=~high, high=~low)
            case "~":
                raise stop("applies `~` to a floating-point number", node)
        raise stop(f"cannot say `{brief(node)}`", node)

    def _conditional_expression(self, node: Node) -> Expr:
        test = self.condition(child(node, "condition"))
        if test.truth and test.value is not None:
            return self._known_choice(node, bool(test.value))
        with self._inside():
            left, right = self.value(child(node, "consequence")), self.value(child(node, "alternative"))
        if left.type == right.type and not left.type.arithmetic:
            t = left.type
        elif left.type.arithmetic and right.type.arithmetic:
            t = left.type if left.type == right.type else usual(left.type, right.type)
        else:
            raise stop(f"cannot say `{brief(node)}`", node)
        left, right = self.convert(left, t, node=node), self.convert(right, t, node=node)
        return self.chosen(test, left, right, t)

    def _known_choice(self, node: Node, yes: bool) -> Expr:
        """The side that is taken, in the type that both sides have in common."""
        taken, other = ("consequence", "alternative") if yes else ("alternative", "consequence")
        e = self.value(child(node, taken))
        try:
            with self._inside():
                t = self.value(child(node, other)).type
        except Stop:  # what a null pointer leads to, for one
            return e
        return self.convert(e, usual(e.type, t), node=node) if e.type.arithmetic and t.arithmetic and e.type != t else e

    def _cast_expression(self, node: Node) -> Expr:
        type_node = child(node, "type")
        if child(node, "value").type == "initializer_list":
            raise stop(f"cannot say `{brief(node)}`", node)
        if any(n.type == "abstract_pointer_declarator" for n in walk(type_node)):
            raise stop(f"casts a pointer: `{brief(node)}`", node)
        return self.cast(self.value(child(node, "value")), type_node, node)

    def cast(self, e: Expr, type_node: Node, node: Node) -> Expr:
        t = self.cell.type_named(type_node)
        return replace(e, type=VOID) if t == VOID else self.convert(e, t, node=node)

    def _compound_literal_expression(self, node: Node) -> Expr:
        return self.initial(child(node, "value"), self.cell.type_named(child(node, "type")))

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
                if variable.cell:
                    raise stop(f"moves the pointer `{variable.name}`", node)
                return variable.expression
            case "pointer_expression" | "subscript_expression" | "field_expression":
                return self.value(node)
        raise stop(f"assigns to `{brief(node)}`", node)

    def _pointed(self, variable: Variable, node: Node) -> Expr:
        if variable.null:
            raise stop(f"follows the null pointer `{variable.name}`", node)
        return replace(variable.expression, truth=False)

    def _pointer_expression(self, node: Node) -> Expr:
        inner = child(node, "argument")
        if text_of(child(node, "operator")) == "&":
            raise stop(f"takes an address: `{brief(node)}`", node)
        variable = self.variable(text_of(inner)) if inner.type == "identifier" else None
        if variable is not None and variable.cell:
            return self._pointed(variable, node)
        e = self.value(inner)
        if e.type.kind != "a" or e.type.of is None:
            raise stop(f"follows the pointer `{brief(inner)}`", node)
        return Expr(python("{}[0]", e), e.type.of)

    def _subscript_expression(self, node: Node) -> Expr:
        base = child(node, "argument")
        subscript = node.child_by_field_name("index")
        if subscript is None:  # the C++ grammar wraps it in an argument list
            subscript = next((c for c in node.named_children if c.type == "subscript_argument_list"), None)
            subscript = children(subscript)[0] if subscript is not None and children(subscript) else None
        if subscript is None:
            raise stop(f"cannot read {text_of(node)!r}", node)
        variable = self.variable(text_of(base)) if base.type == "identifier" else None
        if variable is not None and variable.cell:
            if text_of(subscript) != "0":
                raise stop(f"uses `{brief(node)}`, but `{variable.name}` is one number", node)
            return self._pointed(variable, node)
        e = self.value(base)
        if e.type.kind != "a" or e.type.of is None:
            raise stop(f"subscripts `{brief(base)}`, which is no array", node)
        index = self.value(subscript)
        if not index.type.integral:
            raise stop(f"uses `{brief(subscript)}` as a subscript", node)
        index = index if index.loose else self.settle(index)
        return Expr(python("{}[{}]", e, index), e.type.of, truth=e.type.of.kind == "b")

    def _field_expression(self, node: Node) -> Expr:
        name = text_of(child(node, "field"))
        e = self.value(child(node, "argument"))
        t = DOUBLE if e.type.kind == "c" and name in ("real", "imag") else dict(e.type.fields).get(name)
        if t is None:
            raise stop(f"uses `{brief(node)}`", node)
        return Expr(ast.Attribute(e.node, name), t)

    # -- assignments ----------------------------------------------------------------------------

    def effect(self, node: Node) -> Lines:
        """An expression evaluated for what it does, as statements."""
        node = bare(node)
        match node.type:
            case "comma_expression":
                return self.effect(child(node, "left")) + self.effect(child(node, "right"))
            case "assignment_expression":
                return self._assign(node)
            case "update_expression":
                target = self.place(child(node, "argument"))
                return [self.stored(target, self._stepped(target, node), node, augmented=True)]
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

    def _assign(self, node: Node) -> Lines:
        op, value_node = text_of(child(node, "operator")), child(node, "right")
        target = self.place(child(node, "left"))
        if op == "=" and value_node.type == "assignment_expression":  # a = b = 0
            inner = self._assign(value_node)
            return [*inner, self.stored(target, self.place(child(value_node, "left")), node)]
        if op == "=" and value_node.type == "initializer_list":
            raise stop(f"cannot say `{brief(node)}`", node)
        value = self.value(value_node)
        if op == "=":
            return [self.stored(target, value, node)]
        word = _OPERATOR_NAMES.get(op[:-1].removesuffix("_eq"), op[:-1])
        return [self.stored(target, self.binary(word, target, value, node), node, augmented=True)]

    def stored(self, target: Expr, value: Expr, node: Node, *, augmented: bool = False) -> ast.stmt:
        """The statement that stores ``value``; ``x += y`` where that is all it does."""
        if target.type.kind == "a":
            raise stop(f"moves the pointer `{target.text}`", node)
        e = self.convert(value, target.type, node=node)
        if target.type.kind == "s":
            e = self._copied(e)
        match e.node:
            case ast.BinOp(left=left, op=op, right=right) if augmented and left is target.node:
                return ast.AugAssign(target.node, op, right)  # type: ignore[arg-type]
        return assign(target, e)

    def _copied(self, e: Expr) -> Expr:
        """A structure's value; that of a variable as a copy."""
        return e if isinstance(e.node, ast.Call) else replace(e, node=python("SimpleNamespace(**vars({}))", e))

    def _stepped(self, target: Expr, node: Node) -> Expr:
        """The value after ``++`` or ``--``."""
        if not target.type.arithmetic:
            raise stop("does pointer arithmetic", node)
        value = self.binary(
            text_of(child(node, "operator"))[0],
            target,
            constant(1, target.type if target.type.integral else INT),
            node,
        )
        if target.low is not None and not value.loose:  # a counter keeps its range
            return replace(value, low=target.low, high=target.high)
        return value

    def _update_expression(self, node: Node) -> Expr:
        target = self.place(child(node, "argument"))
        prefix = node.children[0].type in ("++", "--")
        once = self.statement is not None and _times(self.statement, text_of(child(node, "argument"))) == 1
        steps = self.before if prefix else self.after
        if once and steps is not None:
            steps.append(self.stored(target, self._stepped(target, node), node, augmented=True))
            return target
        after = self._walrus(target, self._stepped(target, node), node)
        if prefix:
            return after
        back = {"+": "-", "-": "+"}[text_of(child(node, "operator"))[0]]
        return self.binary(back, after, constant(1, INT), node)

    def _assignment_expression(self, node: Node) -> Expr:
        target = self.place(child(node, "left"))
        if self.before is not None:
            self.before += self._assign(node)
            return target
        op = text_of(child(node, "operator"))
        value = self.value(child(node, "right"))
        return self._walrus(target, value if op == "=" else self.binary(op[:-1], target, value, node), node)

    def _walrus(self, target: Expr, value: Expr, node: Node) -> Expr:
        if not isinstance(target.node, ast.Name):
            raise stop(f"assigns inside an expression: `{brief(node)}`", node)
        value = self.convert(value, target.type, node=node)
        return replace(value, node=ast.NamedExpr(target.node, value.node), value=None)

    # -- calls ----------------------------------------------------------------------------------

    def _call_expression(self, node: Node) -> Expr:
        function, arguments = child(node, "function"), children(child(node, "arguments"))
        meant = self._named_cast(node.child_by_field_name("function"))
        if meant is not None and len(arguments) == 1:
            return self.convert(self.value(arguments[0]), meant, node=node)
        special = self._cplus_call(function, arguments, node) if self.cell.cplus else None
        if special is not None:
            return special
        name = _plain_name(function)
        routine = self.cell.routine(name, len(arguments))
        if routine is not None:
            e, targets = self.own_call(routine, arguments, node)
            return self._first(e, targets, node) if targets else e
        if name in ("frexp", "frexpf", "modf", "modff") and len(arguments) == 2:
            t = FLOAT if name in ("frexpf", "modff") else DOUBLE
            values = call(f"math.{'frexp' if name.startswith('frexp') else 'modf'}", self.settled(arguments[0]))
            return self._first(Expr(values, t), [self.address(arguments[1])], node)
        return self._library_call(name, arguments, node)

    def _cplus_call(self, function: Node, arguments: Sequence[Node], node: Node) -> Expr | None:
        """Casts and the few functions that only C++ has."""
        name = text_of(function).removeprefix("std::")
        cast_names = ("static_cast", "template_function")
        if function.type in cast_names and name.startswith("static_cast<"):
            inner = next(n for n in walk(function) if n.type == "type_descriptor")
            return self.cast(self.value(arguments[0]), inner, node)
        t = self.cell.type_of(name) if len(arguments) in (1, 2) else None
        if t is not None and t.arithmetic and len(arguments) == 1:
            return self.convert(self.value(arguments[0]), t, node=node)
        if t is not None and t.kind == "c" and len(arguments) == 2:
            return Expr(call("complex", *map(self.settled, arguments)), t)
        name = _plain_name(function).removeprefix("std::")
        if name in ("min", "max") and len(arguments) == 2 and self.cell.routine(name, 2) is None:
            return self.extreme(name, [self.settled(a) for a in arguments])
        if function.type == "field_expression" and name.rpartition(".")[2] in ("real", "imag") and not arguments:
            return self._field_expression(function)
        return None

    def _library_call(self, name: str, arguments: Sequence[Node], node: Node) -> Expr:
        short = name.removeprefix("__builtin_").removeprefix("std::")
        if short in ("inff", "inf", "huge_val", "huge_valf", "nan", "nanf"):
            return Expr(python("math.nan" if short.startswith("nan") else "math.inf"), DOUBLE)
        entry_and_type = known(_COMPLEX_NAMES.get(short, name) if self.cell.cplus else name)
        if entry_and_type is None:
            prototype = self.cell.has_prototype(name)
            where = "which is not defined in the cell" if prototype else "which Python does not have"
            raise stop(f"calls `{short}`, {where}", node)
        entry, t = entry_and_type
        values = [self.settled(a) for a in arguments]
        if any(not v.type.arithmetic for v in values) or not values:
            raise stop(f"cannot say `{brief(node)}`", node)
        if self.cell.cplus and t == DOUBLE and values[0].type.kind in "fc":  # overloads of <cmath>
            t = next((v.type for v in values if v.type.kind == "c"), values[0].type)
        return self.known_call(entry, t, values)

    def known_call(self, entry: Known, t: CType, values: list[Expr]) -> Expr:
        written = entry.checked if self.checked and entry.checked else entry.call
        if t.kind == "c" and written == "math.pow":
            return self.known_call(known("cpow")[0], t, values)  # type: ignore[index]
        if t.kind == "c" and written.startswith("math."):
            if not hasattr(cmath, written[5:]):
                raise stop(f"calls `{written[5:]}` with a complex number, which Python does not have")
            written = f"c{written}"
        if entry.call == "abs" and entry.result == "same" and values[0].type.integral:
            return self._absolute(values[0])
        if self.checked and t.kind == "f" and entry.result != "same":
            # The second argument of ldexp and its kind stays an integer.
            count = 1 if "ldexp" in entry.call else len(values)
            values = [*(self._argument(v, t) for v in values[:count]), *values[count:]]
        if entry.call in ("min", "max") and not self.checked:
            values = [self.convert(v, t) if v.type.integral or v.whole else v for v in values]
        return self.library(entry, t, values, written)

    def _argument(self, e: Expr, t: CType) -> Expr:
        """An argument as a parameter of type ``t`` holds it, where that changes its value."""
        narrows = e.type.kind == "f" and e.type.bits > t.bits
        return self.to_float(e, t) if narrows or self.inexact(e, t) else e

    def _absolute(self, e: Expr) -> Expr:
        t = promoted(e.type)
        low, high = e.range
        loose = max(high, -low) > t.high
        return Expr(call("abs", e), t, None if loose else 0, None if loose else max(high, -low), loose=loose)

    def own_call(self, routine: CRoutine, arguments: Sequence[Node], node: Node) -> tuple[Expr, list[Expr]]:
        """A call of one of the cell's functions, and the places that its further results go to."""
        if routine.main and not routine.plain:
            raise stop(f"calls itself (`{routine.name}`) with pointers", node)
        if len(arguments) != len(routine.parameters):
            raise stop(f"calls `{routine.name}` with {len(arguments)} arguments", node)
        absent = [p.cell and self._nowhere(a) for p, a in zip(routine.parameters, arguments, strict=True)]
        if any(absent):
            forms = zip(routine.parameters, absent, strict=True)
            routine = replace(routine, parameters=tuple(replace(p, null=null) for p, null in forms))
        inputs: list[Expr] = []
        targets: list[Expr] = []
        for parameter, argument in zip(routine.parameters, arguments, strict=True):
            if parameter.null:
                continue
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

    def _nowhere(self, node: Node) -> bool:
        """Whether an argument is a null pointer."""
        return is_null(bare(node)) or self.points(bare(node)) is False

    def address(self, node: Node) -> Expr:
        """The place whose address an argument is."""
        node = bare(node)
        if node.type == "pointer_expression" and text_of(child(node, "operator")) == "&":
            return self.place(child(node, "argument"))
        variable = self.variable(text_of(node)) if node.type == "identifier" else None
        if variable is not None and variable.cell:
            return self._pointed(variable, node)
        e = self.value(node)
        if e.type.kind == "a" and e.type.of is not None:
            return Expr(python("{}[0]", e), e.type.of)
        raise stop(f"passes the pointer `{brief(node)}`", node)

    def _first(self, e: Expr, targets: list[Expr], node: Node) -> Expr:
        """The value of a call that also stores through pointers, which must stand before the statement."""
        if self.before is None:
            raise stop(f"calls `{brief(node)}`, which stores through a pointer, inside a condition", node)
        if e.type == VOID:
            raise stop("uses the value of a void function", node)
        name = ast.Name(self.cell.fresh("result"))
        self.before.append(assign(tuple_of([name, *targets]), e))
        return Expr(name, e.type)

    def _call_statement(self, node: Node) -> Lines:
        function, arguments = child(node, "function"), children(child(node, "arguments"))
        name = _plain_name(function)
        routine = self.cell.routine(name, len(arguments))
        if routine is not None:
            e, targets = self.own_call(routine, arguments, node)
            if not targets:
                return [ast.Expr(e.node)]
            return [assign(tuple_of(["_", *targets] if e.type != VOID else targets), e)]
        if name in ("sincos", "sincosf", "__builtin_sincos") and len(arguments) == 3:
            angle = self.settled(arguments[0])
            pairs = zip(("sin", "cos"), arguments[1:], strict=True)
            return [self.stored(self.address(a), self.known_call(known(f)[0], DOUBLE, [angle]), node) for f, a in pairs]  # type: ignore[index]
        return [ast.Expr(self.value(node).node)]

    # -- initializers ---------------------------------------------------------------------------

    def initial(self, source: Node, t: CType, *, frozen: bool = False) -> Expr:
        """An initializer for type ``t``, which is completed with an array's length."""
        if t.kind == "a" and t.of is not None:
            return self._initial_array(source, t, t.of, frozen=frozen)
        if t.kind == "s":
            return self._record(source, t, frozen=frozen)
        if source.type == "initializer_list":
            items = children(source)
            if not items:
                return Expr(zero(t), t)
            source = items[0]
        return Expr(self.convert(self.value(source), t, node=source).node, t)

    def _initial_array(self, source: Node, t: CType, of: CType, *, frozen: bool) -> Expr:
        if source.type != "initializer_list":
            raise stop(f"initializes an array with `{text_of(source)}`", source)
        items = children(source)
        if len(items) > LARGEST or source.end_byte - source.start_byte > 16 * LARGEST:
            raise stop("looks into a large table", source)
        if any(i.type == "initializer_pair" for i in items):
            raise stop("uses designated array elements", source)
        if of.kind in "as" and items and items[0].type != "initializer_list":
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

    def _record(self, source: Node, t: CType, *, frozen: bool) -> Expr:
        if source.type == "compound_literal_expression":
            source = child(source, "value")
        if source.type != "initializer_list":
            e = self.value(source)
            if e.type != t:
                raise stop(f"initializes a structure with `{text_of(source)}`", source)
            return self._copied(e)
        sources: dict[str, Node] = {}
        names = iter(name for name, _ in t.fields)
        for item in children(source):
            if item.type == "initializer_pair":
                sources[text_of(child(item, "designator")).lstrip(".")] = child(item, "value")
            else:
                name = next(names, "")
                if not name:
                    raise stop("gives a structure more values than it has fields", source)
                sources[name] = item
        parts = {n: self.initial(sources[n], of, frozen=frozen) if n in sources else zero(of) for n, of in t.fields}
        return Expr(call("SimpleNamespace", **parts), t)


def evaluate(cell: CCell, node: Node) -> float | None:
    """The value of a constant expression of file scope."""
    nowhere = CRoutine("", node, VOID, ())
    return Expressions(cell, nowhere, checked=False).value(node).value


def is_null(node: Node) -> bool:
    """Whether an expression is C's null pointer."""
    text = text_of(node).replace(" ", "").strip("()")
    return text in ("NULL", "nullptr", "0", "void*)0", "void*)(0")


def _truth(value: bool) -> Expr:
    return Expr(ast.Constant(value), INT, low=int(value), high=int(value), truth=True, value=int(value))


def _operator(node: Node) -> str:
    text = text_of(child(node, "operator"))
    return _OPERATOR_NAMES.get(text, text)


def _plain_name(function: Node) -> str:
    while function.type == "template_function":
        function = child(function, "name")
    text = text_of(function)
    return text.partition("<")[0] if function.type == "qualified_identifier" else text


def _times(node: Node, name: str) -> int:
    return sum(1 for n in walk(node) if n.type == "identifier" and text_of(n) == name)
