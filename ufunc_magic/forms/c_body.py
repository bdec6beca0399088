"""C statements as Python statements, as a person would write them: declarations, branches, loops, switches."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..ir import VOID, CType
from .c_cell import CCell, CDeclaration, CRoutine, python_name
from .c_tree import bare, brief, changed, child, children, declared_name, stop, text_of, walk
from .c_values import Expressions
from .value import Expr, Lines, Variable, array, assign, branches, call, negation, number, operation, result, zero

if TYPE_CHECKING:
    from tree_sitter import Node

#: A counter moves by small literal steps: it would take 2**30 of them to leave this range.
COUNTER = 1 << 30

#: Calls that make a pair or a tuple of their arguments.
_MAKERS = r"(?:::)?(?:std::)?(?:make_)?(?:pair|tuple)\b"

#: What a limit may be made of to stay the same while its names do.
_STILL = frozenset(
    (
        "identifier number_literal binary_expression unary_expression parenthesized_expression subscript_expression "
        "sizeof_expression cast_expression type_descriptor primitive_type sized_type_specifier type_identifier"
    ).split()
)


class CBody(Expressions):
    """Writes one function's statements.

    ``results`` says what ``return`` gives back for the C values (none for void).  Each enclosing loop or switch has
    an entry in ``around``: the statements that ``continue`` needs before it, or None for a switch.
    """

    def __init__(
        self, cell: CCell, routine: CRoutine, *, checked: bool, results: Callable[..., Sequence[ast.expr]]
    ) -> None:
        super().__init__(cell, routine, checked=checked)
        self.body = child(routine.node, "body")
        self.results = results
        self.around: list[Lines | None] = []

    # -- statements -----------------------------------------------------------------------------

    def statements(self, nodes: Sequence[Node]) -> Lines:
        return [line for node in nodes for line in self.write(node)]

    def _scoped(self, nodes: Sequence[Node]) -> Lines:
        self.scopes.append({})
        lines = self.statements(nodes)
        self.scopes.pop()
        return lines

    def _suite(self, node: Node) -> Lines:
        """A statement as the body of another."""
        return self._scoped(children(node) if node.type == "compound_statement" else [node]) or [ast.Pass()]

    def _looped(self, update: Lines | None, write: Callable[[], Lines]) -> Lines:
        """What is written inside a loop or a switch."""
        self.around.append(update)
        lines = write()
        self.around.pop()
        return lines

    def write(self, node: Node) -> Lines:
        name = f"_write_{node.type.removesuffix('_statement')}"
        method: Callable[[Node], Lines] | None = getattr(self, name, None)
        if method is None:
            raise stop(f"uses `{brief(node)}`, which has no Python form", node)
        return method(node)

    def _write_compound(self, node: Node) -> Lines:
        return self._scoped(children(node))

    def _write_expression(self, node: Node) -> Lines:
        inner = children(node)
        return self._prepared(lambda: self.effect(inner[0])) if inner else []

    def _write_break(self, node: Node) -> Lines:
        if not self.around or self.around[-1] is None:
            raise stop("leaves a switch from inside a case", node)
        return [ast.Break()]

    def _write_continue(self, node: Node) -> Lines:
        update = next((lines for lines in reversed(self.around) if lines is not None), [])
        return [*update, ast.Continue()]

    def _write_throw(self, node: Node) -> Lines:
        """Whatever is thrown arrives as a RuntimeError."""
        words = [text_of(n).strip('"') for n in walk(node) if n.type == "string_literal"]
        return [ast.Raise(call("RuntimeError", *(map(ast.Constant, words) if len(words) == 1 else ())))]

    def _write_goto(self, node: Node) -> Lines:
        raise stop("uses `goto`", node)

    def _write_type_definition(self, node: Node) -> Lines:
        self.cell.read([node])
        return []

    _write_enum_specifier = _write_alias_declaration = _write_preproc_def = _write_type_definition

    def _prepared(self, write: Callable[[], Lines]) -> Lines:
        """A statement behind what its expression needs before it."""
        self.before = []
        middle = write()
        lines, self.before = [*self.before, *middle], None
        return lines

    def _tested(self, test: Callable[[], Expr]) -> tuple[Lines, Expr]:
        """The condition of a statement, and what must stand before it."""
        self.before = []
        e = test()
        lines, self.before = self.before, None
        return lines, e

    def _write_return(self, node: Node) -> Lines:
        nodes: Sequence[Node] = children(node)
        types = self.routine.parts or (self.routine.returns,)
        if nodes and self.routine.parts:
            nodes = _parts_of(nodes[0])
            if len(nodes) != len(types):
                raise stop("returns fewer values than its type has", node)

        def line() -> Lines:
            pairs = zip(nodes, types, strict=False)
            return [result(self.results(*(self.convert(self.value(n), t, node=node, final=True) for n, t in pairs)))]

        return self._prepared(line)

    def _write_if(self, node: Node) -> Lines:
        lines, test = self._tested(lambda: self.condition(child(node, "condition")))
        yes, no = child(node, "consequence"), node.child_by_field_name("alternative")
        no = children(no)[0] if no is not None and no.type == "else_clause" else no
        suite = self._suite(yes)
        other = [] if no is None else (self.write(no) if no.type == "if_statement" else []) or self._suite(no)
        return [*lines, ast.If(test.node, suite, other)]

    def _write_while(self, node: Node) -> Lines:
        return self._while(node, child(node, "condition"), [], child(node, "body"))

    def _while(self, node: Node, test: Node | None, update: Lines, body: Node) -> Lines:
        first: Lines = []
        condition: ast.expr = ast.Constant(True)
        if test is not None:
            first, e = self._tested(lambda: self.condition(test))
            if first:
                first.append(ast.If(negation(e), [ast.Break()], []))
            elif not e.value:
                condition = e.node
        lines = self._looped(update, lambda: self._suite(body))
        if isinstance(lines[0], ast.Pass) and (first or update):
            lines = []
        return [ast.While(condition, [*first, *lines, *update], [])]

    def _write_do(self, node: Node) -> Lines:
        test, body = child(node, "condition"), child(node, "body")
        leaves = any(n.type in ("break_statement", "continue_statement") for n in walk(body))
        if text_of(test) in ("0", "false") and not leaves:
            return self.write(body)
        first, e = self._tested(lambda: self.condition(test))
        endless = isinstance(e.value, int) and e.value != 0
        last = [] if endless else [*first, ast.If(_negated(e), [ast.Break()], [])]
        lines = self._looped(last, lambda: self._suite(body))
        return [ast.While(ast.Constant(True), [*lines, *last], [])]

    # -- for ------------------------------------------------------------------------------------

    def _write_for(self, node: Node) -> Lines:
        self.scopes.append({})
        lines = self._counted(node) or self._general_for(node)
        self.scopes.pop()
        return lines

    def _general_for(self, node: Node) -> Lines:
        start, test, step = (node.child_by_field_name(f) for f in ("initializer", "condition", "update"))
        lines: Lines = []
        if start is not None and start.type == "declaration":
            lines = self._write_declaration(start)
        elif start is not None:
            lines = self._prepared(lambda: self.effect(start))
        # The update is written in the scope of the loop's header, before the body declares its own names.
        update = self._prepared(lambda: self.effect(step)) if step is not None else []
        return lines + self._while(node, bare(test) if test is not None else None, update, child(node, "body"))

    def _counted(self, node: Node) -> Lines | None:
        """``for i in range(...)`` where that is what the loop says, else None."""
        start, test, step = (node.child_by_field_name(f) for f in ("initializer", "condition", "update"))
        if start is None or test is None or step is None or bare(test).type != "binary_expression":
            return None
        test = bare(test)
        name, first = _loop_start(start)
        if not name or first is None or text_of(child(test, "left")) != name:
            return None
        stride = _stride(bare(step), name)
        op, limit = text_of(child(test, "operator")), child(test, "right")
        body = child(node, "body")
        fits = op in (("<", "<=") if stride > 0 else (">", ">="))
        if not stride or not fits or changed(body, name) or not _constant_in(limit, body):
            return None
        known = None
        if start.type == "declaration":
            t = self.cell.type_named(child(start, "type"))
        else:
            known = self.variable(name)
            if known is None or known.cell or not self._dead_after(name, node):
                return None
            t = known.type
        if not t.integral or (t.kind == "u" and op == ">="):
            return None
        begin, end = self.settle(self.convert(self.value(first), t)), self.value(limit)
        # n - 1 of an unsigned 0 would be a loop over all memory: not what a program that works does.
        end = replace(end, loose=False) if end.loose and end.type.bits == 64 else self.settle(end)
        mixed = "u" in (end.type.kind, t.kind) and end.type.bits >= t.bits
        if not end.type.integral or (mixed and begin.low is None and begin.range[0] < 0):
            return None
        if stride > 0:
            low, high = begin.range[0], end.range[1] - (op != "<=")
        else:
            low, high = end.range[0] + (op != ">="), begin.range[1]
        low, high = max(low, t.low), min(high, t.high)
        if known is None:
            known = self.declare(name, t, low=low, high=high)
        else:
            known = self.scopes[-1][name] = replace(known, low=low, high=high)
        ends = [_plus(end, {"<=": 1, ">=": -1}.get(op, 0))]
        if stride != 1 or begin.value != 0:
            ends = [begin.node, *ends, *([number(stride)] if stride != 1 else [])]
        lines = self._looped([], lambda: self._suite(body))
        return [ast.For(ast.Name(known.name), call("range", *ends), lines, [])]

    def _dead_after(self, name: str, loop: Node) -> bool:
        """Whether a counter declared outside its loop is used only in loops that set it first."""
        for node in walk(self.body):
            if node.type not in ("identifier", "type_identifier") or text_of(node) != name:
                continue
            above: Node | None = node
            while above is not None and above != self.body:
                start = above.child_by_field_name("initializer") or above
                if above.type == "declaration" or (above.type == "for_statement" and _loop_start(start)[0] == name):
                    break
                above = above.parent
            else:
                return False
        return True

    # -- switch ---------------------------------------------------------------------------------

    def _write_switch(self, node: Node) -> Lines:
        lines, subject = self._tested(lambda: self.settled(child(node, "condition")))
        if not isinstance(subject.node, ast.Name):
            name = ast.Name(self.cell.fresh("key"))
            lines.append(assign(name, subject))
            subject = replace(subject, node=name)
        cases: list[tuple[ast.expr, Lines]] = []
        default: Lines = []
        for labels, body in self._arms(node):
            suite = self._looped(None, lambda body=body: self._scoped(body))  # type: ignore[misc]
            values = [label for label in labels if label is not None]
            if len(values) < len(labels):
                default = suite
            elif len(values) == 1:
                cases.append((operation("==", subject, values[0]), suite or [ast.Pass()]))
            else:
                cases.append((operation("in", subject, ast.Tuple(values)), suite or [ast.Pass()]))
        return [*lines, *branches(cases, default)]

    def _arms(self, node: Node) -> list[tuple[list[ast.expr | None], list[Node]]]:
        """Labels (None: default) and statements of each arm, the final ``break`` removed."""
        arms: list[tuple[list[ast.expr | None], list[Node]]] = []
        labels: list[ast.expr | None] = []
        cases = children(child(node, "body"))
        for position, case in enumerate(cases):
            if case.type != "case_statement":
                raise stop("has statements before the first case", case)
            value = case.child_by_field_name("value")
            labels.append(self.settled(value).node if value is not None else None)
            body = [c for c in children(case) if value is None or c.id != value.id]
            if len(body) == 1 and body[0].type == "compound_statement":
                body = children(body[0])
            if not body and position < len(cases) - 1:
                continue
            if body and body[-1].type == "break_statement":
                body = body[:-1]
            elif position < len(cases) - 1 and not _leaves(body):
                raise stop("falls through from one case to the next", case)
            arms.append((labels, body))
            labels = []
        return arms

    # -- local variables ------------------------------------------------------------------------

    def declare(
        self, name: str, t: CType, *, low: int | None = None, high: int | None = None, cell: bool = False
    ) -> Variable:
        """Bring a C name into the innermost scope, renamed where it would hide one still in use."""
        spelled = python_name(name)
        if name in self.cell.functions and name in self.cell.requested:
            spelled = f"{spelled}_"
        taken = {v.name for scope in self.scopes for v in scope.values()}
        while spelled in taken:
            spelled += "_"
        self.scopes[-1][name] = Variable(spelled, t, low, high, cell)
        return self.scopes[-1][name]

    def _write_declaration(self, node: Node) -> Lines:
        base = child(node, "type")
        words = text_of(node).split("=")[0].replace("(", " ").split()
        lines: Lines = []
        for declarator in node.children_by_field_name("declarator"):
            start = declarator.child_by_field_name("value") or self._constructed(declarator)
            plain = declarator if start is None else child(declarator, "declarator")
            constant = "const" in words and start is not None and start.type == "initializer_list"
            if "static" in words or "extern" in words or constant:
                self._static(declared_name(plain), node, declarator)
                continue
            if base.type != "placeholder_type_specifier":
                declared = self.cell.declared(plain, self.cell.type_named(base))
            elif start is not None:
                start = children(start)[0] if start.type.endswith("_list") and len(children(start)) == 1 else start
                declared = CDeclaration(declared_name(plain), self.value(start).type)
            else:
                raise stop(f"cannot read `{text_of(node)}`", node)
            lines += self._prepared(lambda d=declared, s=start: self._local(d, s, node))  # type: ignore[misc]
        return lines

    def _constructed(self, declarator: Node) -> Node | None:
        """The arguments of ``complex<double> z(x, y)``, which reads as a function of types ``x`` and ``y``; or None."""
        if declarator.type != "function_declarator":
            return None
        items = children(child(declarator, "parameters"))
        names = [text_of(item) for item in items]
        return child(declarator, "parameters") if items and all(map(self.variable, names)) else None

    def _static(self, name: str, declaration: Node, declarator: Node) -> None:
        if declarator.child_by_field_name("value") is None:
            raise stop(f"keeps `{name}` between calls", declaration)
        known = name in self.cell.constants or name in self.cell.variables
        e = self.table(name, declaration, declarator, key=self.cell.fresh(f"{name}_") if known else name)
        self.scopes[-1][name] = Variable(e.name, e.type, e.low, e.high)

    def _local(self, declared: CDeclaration, start: Node | None, node: Node) -> Lines:
        name, t = declared.name, declared.type
        if declared.reference:
            raise stop(f"uses the reference `{name}`", node)
        if declared.pointer:
            moves = changed(self.body, name)
            if any(c.type != "assignment_expression" or child(c, "left").type == "identifier" for c in moves):
                raise stop(f"moves the pointer `{name}`", node)
            value = self.value(start) if start is not None else None
            if value is None or value.type.kind != "a":
                raise stop(f"uses the pointer variable `{name}`", node)
            return [assign(self.declare(name, value.type).name, value)]
        if start is not None:
            e = self.initial(start, t)
            return [assign(self._declare_local(name, e.type).name, e)]
        variable = self._declare_local(name, t)
        if t.kind == "a":
            return [assign(variable.name, self._empty(t, declared.sizes))]
        return []

    def _declare_local(self, name: str, t: CType) -> Variable:
        if t.integral and t.bits >= 32 and self._counts(name):
            down = any("-" in text_of(child(c, "operator")) for c in changed(self.body, name))
            if t.kind == "i" or not down:
                return self.declare(name, t, low=-COUNTER if t.kind == "i" else 0, high=COUNTER)
        return self.declare(name, t)

    def _counts(self, name: str) -> bool:
        """Whether an int starts from literals and moves by small literals only."""
        starts = [n for n in walk(self.body) if n.type == "init_declarator" and declared_name(n) == name]
        moves = changed(self.body, name)
        values = [child(n, "value") for n in starts]
        for move in moves:
            if move.type == "pointer_expression":
                return False
            if move.type == "assignment_expression":
                values.append(child(move, "right"))
                if text_of(child(move, "operator")) not in ("=", "+=", "-="):
                    return False
        return bool(moves) and all(v.type == "number_literal" and len(text_of(v)) < 5 for v in values)

    def _empty(self, t: CType, sizes: tuple[Node | None, ...]) -> ast.expr:
        """A zeroed local array, whose lengths may be expressions."""
        if not any(sizes):
            return zero(t)
        if t.of is None:
            raise stop("declares an array of size 0")
        inner = self._empty(t.of, sizes[1:])
        size = self.settled(sizes[0]).node if sizes[0] is not None else number(t.length or 0)
        return array(inner, [size], copied=t.of.kind == "a")


class _Returned(Exception):
    """The type of the first value returned: the others have it too, and only after it may the function call itself."""

    def __init__(self, t: CType) -> None:
        super().__init__()
        self.type = t


class _Deduction(CBody):
    def _write_return(self, node: Node) -> Lines:
        raise _Returned(self._tested(lambda: self.value(children(node)[0]))[1].type if children(node) else VOID)


def deduce(cell: CCell, routine: CRoutine) -> CType:
    """The type of what a function returns whose result is ``auto``."""
    body = _Deduction(cell, routine, checked=False, results=list)
    for p in routine.parameters:
        body.declare(p.name, p.type, cell=p.cell and not p.reference)
    try:
        body.statements(children(body.body))
    except _Returned as returned:
        if returned.type.kind == "a":
            raise stop("returns a pointer", routine.node) from None
        return returned.type
    return VOID


def _loop_start(start: Node) -> tuple[str, Node | None]:
    """The counter that a loop's header sets, and to what."""
    if start.type == "declaration":
        declarators = start.children_by_field_name("declarator")
        if len(declarators) != 1 or declarators[0].type != "init_declarator":
            return "", None
        if child(declarators[0], "declarator").type != "identifier":
            return "", None
        return declared_name(declarators[0]), child(declarators[0], "value")
    start = bare(start)
    if start.type != "assignment_expression" or text_of(child(start, "operator")) != "=":
        return "", None
    left = child(start, "left")
    return (text_of(left), child(start, "right")) if left.type == "identifier" else ("", None)


def _stride(step: Node, name: str) -> int:
    """The literal by which the update moves ``name``, 0 where it does anything else."""
    target = step.child_by_field_name("left") or step.child_by_field_name("argument")
    if target is None or text_of(target) != name or step.type not in ("update_expression", "assignment_expression"):
        return 0
    op = text_of(child(step, "operator"))
    if step.type == "update_expression":
        return 1 if op == "++" else -1
    amount = child(step, "right")
    if op == "=" and amount.type == "binary_expression" and text_of(child(amount, "left")) == name:
        op, amount = text_of(child(amount, "operator")) + "=", child(amount, "right")
    if op not in ("+=", "-=") or not text_of(amount).isdigit():
        return 0
    return int(text_of(amount)) * (1 if op == "+=" else -1)


def _constant_in(limit: Node, body: Node) -> bool:
    """Whether a loop's limit stays what it is while the body runs."""
    nodes = list(walk(limit))
    names = {text_of(n) for n in nodes if n.type == "identifier"}
    if any(n.type == "subscript_expression" for n in nodes):
        stores = (child(n, "left") for n in walk(body) if n.type == "assignment_expression")
        if any(store.type == "subscript_expression" for store in stores):
            return False
    return all(n.type in _STILL for n in nodes) and not any(changed(body, name) for name in names)


def _plus(e: Expr, amount: int) -> ast.expr:
    """``e + 1`` or ``e - 1`` for a range's end, folded where it can be."""
    match e.node:
        case _ if not amount:
            return e.node
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return number(value + amount)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=1)):
            if isinstance(op, ast.Sub) == (amount > 0):
                return left
    return operation("+" if amount > 0 else "-", e, 1)


def _leaves(body: Sequence[Node]) -> bool:
    """Whether control never runs off the end of these statements."""
    if not body:
        return False
    last = body[-1]
    if last.type in ("return_statement", "continue_statement", "throw_statement"):
        return True
    if last.type == "compound_statement":
        return _leaves(children(last))
    return False


def _negated(e: Expr) -> ast.expr:
    """The condition that is true where ``e`` is not."""
    match e.node:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return inner
    return negation(e)


def _parts_of(node: Node) -> Sequence[Node]:
    """The values that a pair, a tuple or an array is written of."""
    if node.type == "compound_literal_expression":
        node = child(node, "value")
    if node.type == "call_expression" and re.match(_MAKERS, text_of(child(node, "function"))):
        return children(child(node, "arguments"))
    if node.type != "initializer_list":
        raise stop("returns several values that are not written one by one", node)
    parts = children(node)
    return _parts_of(parts[0]) if len(parts) == 1 else parts
