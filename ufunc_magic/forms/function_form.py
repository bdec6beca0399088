"""A function of the IR written as plain Python: the baseline that is timed, and what results are checked against.

Three texts are made of one tree (`marks`).  ``source`` is what a person would write and what is timed.  ``checked`` is
the same with C's answers where Python's operators and functions raise instead (division by zero, ``fmin`` of NaN,
``(int)`` of infinity, rounding to float): it is slower and only for comparing results.  ``vector`` is one NumPy
expression.  All calculate in double: float in ``source`` is not rounded, and long double is not wider; who compares
allows for that.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ..ir import VOID, FunctionIR, Name, OpaqueStatement, Program, walk
from ..model import Comfort, Signature, Unit
from .marks import Texts, write_texts
from .math_names import HELPERS
from .module_scope import ModuleScope, Routine, RoutineParameter, choose_python_name, is_assigned_first
from .numpy_writer import write_numpy
from .operand_lists import OperandLists
from .python_writer import PythonWriter
from .value import COUNTER, Expr, Lines, NotPython, PythonForm, Stop, Variable, assign, define, write_return


def write(program: Program, *, signature: Signature, unit: Unit) -> PythonForm | NotPython:
    """Write the function of ``signature`` as Python.

    Parameters
    ----------
    program : Program
        The cell.
    signature : Signature
    unit : Unit
        For how the cell's functions use their pointers.
    """
    notes: list[str] = []
    with Comfort(f"the Python form of {signature.name}", notes):
        return _write(program, signature, unit)
    return NotPython("could not be written as Python", signature.function.line, notes[0])


def _write(program: Program, signature: Signature, unit: Unit) -> PythonForm | NotPython:
    try:
        scope = ModuleScope(program, {f.name: f.parameters for f in unit.functions})
        main = scope.main = _make_main_routine(scope, signature)
        written = _write_module(scope, main, signature)
        compile(written.source, "<python>", "exec")
        compile(written.checked, "<python>", "exec")
    except Stop as fault:
        return NotPython(fault.reason, fault.row or signature.function.line)
    except SyntaxError as error:
        return NotPython(f"could not be written as Python ({error.msg})", signature.function.line)
    except (RecursionError, MemoryError):  # the latter is what Python's own parser says of it
        return NotPython("is nested too deeply for Python", signature.function.line)
    notes: list[str] = []
    vector = ""
    if not any(o.index < 0 and o.core for o in signature.outputs):
        with Comfort(f"the NumPy expression of {signature.name}", notes):
            vector = write_numpy(program, main.function, signature)
    return PythonForm(written.source, written.checked, vector, main.name, marks=written.marks, note="".join(notes))


def _find(program: Program, signature: Signature) -> FunctionIR:
    """The function to write, by name and, among overloads, by line."""
    name = signature.function.name
    if name not in program.functions:
        raise Stop(f"cannot find `{name}` in the text")
    functions = program.functions[name]
    function = next((f for f in functions if f.at.line == signature.function.line), functions[0])
    _check_syntax(function, "has syntax that could not be read")
    return function


def _check_syntax(function: FunctionIR, reason: str) -> None:
    match function.body.body:
        case [OpaqueStatement(reason="has syntax that could not be read"), *_]:
            raise Stop(reason, function.at.line)


def _make_main_routine(scope: ModuleScope, signature: Signature) -> Routine:
    """The function of ``signature`` with the ufunc's view of its parameters."""
    function = _find(scope.program, signature)
    operands = {o.index: o for o in (*signature.inputs, *signature.outputs)}
    if any(index >= len(function.parameters) for index in (*operands, *signature.sizes)):
        raise Stop("has parameters that do not match its signature", function.at.line)
    parameters: list[RoutineParameter] = []
    for position, symbol in enumerate(function.parameters):
        scope.check_type(symbol.type, symbol)
        if not symbol.name:
            raise Stop("takes a parameter without a name", function.at.line)
        operand = operands.get(position)
        reference = symbol.reference and operand is not None and operand.role != "input"
        t, pointer = symbol.type, symbol.type.kind == "a"
        if operand is not None and not operand.core and t.kind == "a" and t.of is not None:
            t = t.of
        writes = operand is not None and operand.role != "input"
        reads = operand is None or operand.role != "output"
        one = (pointer or reference) and t.kind != "a"
        parameters.append(RoutineParameter(symbol, t, one and not reference, reads, writes, reference))
    plain = not any(p.cell or p.reference or p.type.kind == "a" for p in parameters)
    returned = [o for o in signature.outputs if o.index < 0]
    several = len(returned) > 1 or any(o.core for o in returned)
    parts = function.returns if several else ()
    for t in function.returns:
        if t.kind == "a":
            raise Stop("returns a pointer", function.at.line)
        scope.check_type(t, function)
    if not several and len(function.returns) > 1:
        raise Stop("returns several values", function.at.line)
    returns = VOID if parts or not function.returns else function.returns[0]
    return Routine(
        choose_python_name(signature.name), function, returns, tuple(parameters), main=True, plain=plain, parts=parts
    )


# -- modules ------------------------------------------------------------------------------------


def _write_module(scope: ModuleScope, main: Routine, signature: Signature) -> Texts:
    """The whole text: helpers, constants, called functions in the cell's order, the function itself."""
    last = _write_main(scope, main, signature)
    functions: dict[FunctionIR, ast.FunctionDef] = {}
    while missing := [routine for key, routine in scope.routines.items() if key not in functions and not routine.main]:
        functions |= {routine.function: _write_called(scope, routine) for routine in missing}
    order = sorted(functions, key=lambda function: function.at.start)
    constants = [line for line, _ in scope.constants.values()]
    return write_texts([[], constants, *([functions[key]] for key in order), [last]], HELPERS)


# -- functions ----------------------------------------------------------------------------------


def _write_called(scope: ModuleScope, routine: Routine) -> ast.FunctionDef:
    """One of the cell's other functions, with C's own parameters; what it stores through pointers is returned."""
    _check_syntax(routine.function, f"calls `{routine.function.name}`, whose syntax could not be read")
    stored: list[ast.expr] = []
    body = PythonWriter(scope, routine, results=lambda *values: [*(value.node for value in values), *stored])
    names = []
    for p in routine.parameters:
        variable = body.declare(p.symbol, p.type, cell=p.cell and not p.reference)
        names += [variable.name] if p.reads else []
        stored += [ast.Name(variable.name)] if p.writes else []
    return _write_function(routine.name, names, body, [], ends=bool(stored) and routine.returns == VOID)


def _write_function(
    name: str, parameters: Sequence[str], body: PythonWriter, head: Sequence[ast.stmt], *, ends: bool
) -> ast.FunctionDef:
    lines = [*head, *body.write_statements(body.function.body.body)]
    if ends and not (lines and isinstance(lines[-1], ast.Return)):
        lines.append(write_return(body.results()))
    return define(name, parameters, lines)


def _write_main(scope: ModuleScope, main: Routine, signature: Signature) -> ast.FunctionDef:
    """The function with the ufunc's inputs as parameters and its outputs as results."""
    line = main.function.at.line
    if not signature.outputs:
        raise Stop("has no output", line)
    operands = {o.index: o for o in (*signature.inputs, *signature.outputs) if o.index >= 0}
    variables: dict[int, Variable] = {}

    def results(*values: Expr) -> list[ast.expr]:
        nodes = {o.index: lists.write_closing(o) for o in signature.outputs if o.index >= 0}
        if signature.status and any(value.text != "0" for value in values):
            raise Stop("may return a status other than 0", line)
        if any(o.index == -1 and o.core for o in signature.outputs):
            nodes[-1] = ast.List([value.node for value in values])
        else:
            nodes |= {-1 - place: value.node for place, value in enumerate(values)}
        if any(o.index not in nodes for o in signature.outputs):
            raise Stop("does not always return a value", line)
        return [nodes[o.index] for o in signature.outputs]

    body = PythonWriter(scope, main, results=results)
    defaults: Lines = []
    used = {node.symbol for node in walk(main.function.body) if isinstance(node, Name)}
    for position, p in enumerate(main.parameters):
        if position in signature.sizes:
            variables[position] = body.declare(p.symbol, p.type, low=0, high=COUNTER)
        elif position in operands:
            variables[position] = body.declare(p.symbol, p.type, cell=p.cell and p.type.kind != "a")
        elif p.symbol.initial is not None and p.symbol in used and not (p.cell or p.type.kind == "a"):
            value = body.write_settled(p.symbol.initial)
            defaults.append(assign(body.declare(p.symbol, p.type).name, value))
        elif p.cell or p.type.kind == "a" or p.symbol in used:
            raise Stop(f"takes `{p.symbol.name}`, which is not an operand", line)
    names = {position: variable.name for position, variable in variables.items()}
    lists = OperandLists(signature, names, {position: p.type for position, p in enumerate(main.parameters)})
    head = [*lists.write_sizes(), *defaults]
    for position, operand in operands.items():
        symbol = main.parameters[position].symbol
        head += lists.write_opening(
            operand,
            assigned=is_assigned_first(main.function, symbol),
            changed=bool(operand.core and symbol in body.changes),
        )
    return _write_function(
        main.name, lists.write_parameters(), body, head, ends=main.returns == VOID and not main.parts
    )
