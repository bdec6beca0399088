"""The functions of a Cython cell as plain Python: those that are ufuncs, and those that stay Python's."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from .. import ir
from ..ir import CType, FunctionIR, Node, Program, Statement, Symbol, repeats, walk
from ..model import Comfort, Operand, Signature
from .dynamic_writer import DynamicScope, DynamicWriter
from .integer_rules import write_plain_text
from .marks import Texts, write_texts
from .math_names import HELPERS
from .module_scope import Routine, RoutineParameter, choose_python_name, find_changes, is_assigned_first
from .numpy_writer import write_numpy
from .operand_lists import OperandLists
from .purity import is_pure
from .value import COUNTER, Expr, Lines, NotPython, PythonForm, Stop, assign, define, write_return, zero

#: Functions that a checked text brings along, beside C's.
_HELPERS = {
    "_as_int": (
        "def _as_int(x, low, high):\n    x = x.__index__()\n    if not low <= x <= high:\n"
        '        raise OverflowError("value too large to convert")\n    return x\n'
    ),
    "_power": (
        "def _power(x, y):\n    if x < 0 and y == y and y != math.floor(y):\n"
        '        raise TypeError("the result is complex")\n    return math.pow(x, y)\n'
    ),
    "_int_power": "def _int_power(x, y):\n    return pow(x, y, 1 << 128) if y >= 0 else 0\n",
    "_modulo": (
        'def _modulo(x, y):\n    if y == 0:\n        raise ZeroDivisionError("float divmod()")\n'
        "    r = math.fmod(x, y)\n    return r + (r != 0 and (r < 0) != (y < 0))*y\n"
    ),
    **HELPERS,
}


@dataclass(frozen=True)
class FormRequest:
    """A function that is to be written as Python.

    Attributes
    ----------
    name : str
        As in the cell.
    line : int
        1-based line of its definition.
    signature : Signature, optional
        The ufunc's; None for a function that stays one of Python.
    inputs : tuple of int
        NumPy type numbers of its inputs.
    fused : mapping
        Fused type -> the C type that it stands for, ``{"floating": "double"}``.
    """

    name: str
    line: int = 0
    signature: Signature | None = None
    inputs: tuple[int, ...] = ()
    fused: Mapping[str, str] = field(default_factory=dict)


def write_forms(program: Program, requests: Sequence[FormRequest]) -> dict[str, PythonForm | NotPython]:
    """Write functions of a Cython cell as Python: name -> its forms, or why it has none."""
    return {one.name: _write_form(program, one) for one in requests}


def _write_form(program: Program, request: FormRequest) -> PythonForm | NotPython:
    notes: list[str] = []
    with Comfort(f"the Python form of {request.name}", notes):
        try:
            return _write_texts(program, request)
        except Stop as fault:
            return NotPython(fault.reason, fault.row or request.line)
        except (RecursionError, MemoryError):
            return NotPython("is nested too deeply to be written as Python", request.line)
    return NotPython("could not be written as Python", request.line, notes[0])


def _write_texts(program: Program, request: FormRequest) -> PythonForm:
    function = _find(program, request)
    signature = request.signature
    if signature is not None:
        signature = replace(signature, outputs=tuple(_place_output(o, function) for o in signature.outputs))
    stored = frozenset().union(*map(_find_written, program.statements))
    scope = DynamicScope(program, stored=stored, lists=signature is not None and bool(signature.core))
    main = scope.main = _make_main_routine(scope, function, signature)
    written = _write_module(scope, main, signature)
    source = (
        _drop_unused_imports(write_plain_text(written.marks, divides=not request.inputs))
        if written.marks
        else written.source
    )
    tree = ast.parse(source)
    compile(written.checked, "<python>", "exec")
    notes: list[str] = []
    vector = ""
    with Comfort(f"the NumPy expression of {request.name}", notes):
        vector = write_numpy(program, function, signature)
    watched = bool(request.inputs)
    return PythonForm(
        source,
        written.checked if watched else source,
        vector,
        main.name,
        is_pure(tree),
        repeats(program, function),
        written.marks if watched else "",
        "".join(notes),
    )


def _find(program: Program, request: FormRequest) -> FunctionIR:
    several = program.functions.get(request.name, ())
    if not several:
        raise Stop(f"cannot be found in the cell under the name `{request.name}`", request.line)
    chosen = [f for f in several if dict(f.chosen) == dict(request.fused)]
    return (
        min(chosen, key=lambda f: abs(f.at.line - request.line)) if chosen else max(several, key=_rank_specialization)
    )


def _rank_specialization(function: FunctionIR) -> list[tuple[bool, bool, int]]:
    """Which specialisation stands for a function where none is asked for: that of the widest real type."""
    types = [symbol.type.element for symbol in function.parameters]
    return [(t.kind == "f", t.kind == "c", t.bits) for t in types]


def _place_output(operand: Operand, function: FunctionIR) -> Operand:
    """An output of a ctuple, which a signature places behind the parameters, as C's results."""
    behind = operand.index - len(function.parameters)
    return operand if behind < 0 else replace(operand, index=-1 - behind)


def _make_main_routine(scope: DynamicScope, function: FunctionIR, signature: Signature | None) -> Routine:
    operands = {o.index: o for o in (*signature.inputs, *signature.outputs)} if signature is not None else {}
    parameters: list[RoutineParameter] = []
    for position, symbol in enumerate(function.parameters):
        scope.check_type(symbol.type, symbol)
        t, operand = symbol.type, operands.get(position)
        one = operand is not None and not operand.core and t.kind == "a" and t.of is not None
        reads = operand is None or operand.role != "output"
        writes = operand is not None and operand.role != "input"
        parameters.append(RoutineParameter(symbol, t.of if one and t.of else t, one, reads, writes))
    several = len(function.returns) > 1
    returns = CType("v") if several or not function.returns else function.returns[0]
    plain = not any(p.cell for p in parameters) and not scope.lists
    parts = function.returns if several else ()
    return Routine(
        choose_python_name(function.name), function, returns, tuple(parameters), main=True, plain=plain, parts=parts
    )


# -- modules ------------------------------------------------------------------------------------


def _write_module(scope: DynamicScope, main: Routine, signature: Signature | None) -> Texts:
    """The texts: imports, helpers, the module's variables, the functions it calls, itself."""
    functions = {main.function: _write_function(scope, main, signature)}
    statements: dict[int, Lines] = {}
    while True:
        missing = [routine for key, routine in scope.routines.items() if key not in functions]
        waiting = [
            at
            for at, node in enumerate(scope.program.statements)
            if at not in statements and _find_written(node) & scope.names
        ]
        if not missing and not waiting:
            break
        functions |= {routine.function: _write_function(scope, routine, None) for routine in missing}
        for at in waiting:
            body = DynamicWriter(scope, main, results=lambda *values: [v.node for v in values])
            body.variables = {}
            statements[at] = body.write_statements([scope.program.statements[at]])
    imports = [ast.parse(text).body[0] for text in sorted(set(scope.imported.values()))]
    constants = [line for line, _ in scope.constants.values()]
    head = [*_write_zeros(scope), *(line for at in sorted(statements) for line in statements[at])]
    order = sorted(functions, key=lambda function: function.at.start)
    blocks: list[Lines] = [[functions[function]] for function in order]
    names = {node.id for line in head for node in ast.walk(line) if isinstance(node, ast.Name)}
    late = bool(names & {function.name for function in functions.values()})
    body_blocks = [constants, *blocks, head] if late else [[*constants, *head], *blocks]
    return Texts(*map(_drop_unused_imports, write_texts([imports, *body_blocks], _HELPERS)))


def _write_zeros(scope: DynamicScope) -> Lines:
    """First values of the C variables of the module level that no statement gives one as a whole."""
    stored = {
        node.place.symbol
        for statement in scope.program.statements
        for node in walk(statement)
        if isinstance(node, ir.Assignment) and isinstance(node.place, ir.Name)
    }
    used = sorted(scope.names - stored, key=lambda symbol: symbol.at)
    return [assign(s.name, zero(s.type)) for s in used if s.type.arithmetic or s.type.length is not None]


def _drop_unused_imports(text: str) -> str:
    """A text without the imports of modules under names that it does not use."""
    for word in ("math", "cmath"):
        if f"python_{word}." not in text:
            text = text.replace(f"import {word} as python_{word}\n", "", 1)
    return text


def _find_written(node: Statement) -> set[Symbol]:
    """The variables of the module level that a statement gives a value or a part of one."""
    symbols: set[Symbol | None] = set()
    for inner in walk(node):
        match inner:
            case ir.Assignment(place=place):
                symbols.add(_find_first_symbol(place))
            case ir.Unpack(targets=targets):
                symbols |= {_find_first_symbol(target) for target in targets}
            case ir.DynamicStatement(writes=writes):
                symbols |= writes
    return {symbol for symbol in symbols if symbol is not None}


def _find_first_symbol(place: Node) -> Symbol | None:
    return next((node.symbol for node in walk(place) if isinstance(node, ir.Name)), None)


# -- functions ----------------------------------------------------------------------------------


def _write_function(scope: DynamicScope, routine: Routine, signature: Signature | None) -> ast.FunctionDef:
    function = routine.function
    operands = {o.index: o for o in (*signature.inputs, *signature.outputs) if o.index >= 0} if signature else {}
    outputs = [o for o in (signature.outputs if signature else ()) if o.index >= 0]
    closing: list[ast.expr] = []

    def results(*values: Expr) -> list[ast.expr]:
        nodes = [v.node for v in values if not (closing and isinstance(v.node, ast.Constant) and v.node.value is None)]
        return [*nodes, *closing]

    body = DynamicWriter(scope, routine, results=results)
    names: list[str] = []
    for position, p in enumerate(routine.parameters):
        sized = signature is not None and position in signature.sizes
        low, high = (0, COUNTER) if sized else (None, None)
        variable = body.declare(p.symbol, p.type, low=low, high=high, cell=p.cell)
        default = f"={body.write_settled(p.symbol.initial).text}" if p.symbol.initial is not None else ""
        names.append(variable.name + default)
    head: Lines = []
    if signature is not None and (outputs or signature.core):
        variables = {position: body.variables[p.symbol].name for position, p in enumerate(routine.parameters)}
        lists = OperandLists(signature, variables, {n: p.type for n, p in enumerate(routine.parameters)})
        names, head = lists.write_parameters(), lists.write_sizes()
        changes = find_changes(function)
        for operand in operands.values():
            symbol = routine.parameters[operand.index].symbol
            assigned = is_assigned_first(function, symbol)
            head += lists.write_opening(operand, assigned=assigned, changed=bool(operand.core and symbol in changes))
        closing += [lists.write_closing(o) for o in outputs]
    elif signature is not None:
        names = [n for position, n in enumerate(names) if position in operands]
    body.prepare(function.body.body)
    lines = [*head, *body.write_statements(function.body.body)]
    if closing and not (lines and isinstance(lines[-1], ast.Return)):
        lines.append(write_return(closing))
    if body.globals:
        lines.insert(0, ast.Global(list(dict.fromkeys(body.globals))))
    return define(routine.name, names, lines)
