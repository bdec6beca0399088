"""A C function written as plain Python: the honest baseline that is timed, and what results are checked against.

Three texts are made from one reading of the cell.  ``source`` is what a person would write and what is
timed.  ``checked`` is the same with C's answers where Python's operators and functions raise instead (division
by zero, ``fmin`` of NaN, ``(int)`` of infinity, rounding to float): it is slower and only for comparing results.
``vector`` is one NumPy expression.  All calculate in double: float in ``source`` is not rounded, and long
double is not wider; who compares allows for that.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Mapping, Sequence

from tree_sitter import Node

from ..ir import VOID, CType
from ..model import Comfort, Signature, Unit
from .c_body import COUNTER, CBody, deduce
from .c_cell import CCell, CParameter, CRoutine, python_name
from .c_tree import CText, assigned_first, changed, child, one_at_a_time, parameters_of, stop, text_of, tree
from .c_values import evaluate
from .integer_rules import module_texts
from .math_names import HELPERS
from .numpy_values import FunctionTypes
from .numpy_writer import numpy_text
from .operand_lists import OperandLists
from .value import Expr, NotPython, PythonForm, Stop, Variable, define, result


@one_at_a_time
def write(
    text: CText, *, signature: Signature, unit: Unit, types: Mapping[str, int] | None = None, cplus: bool = False
) -> PythonForm | NotPython:
    """Write the function of ``signature`` as Python.

    Parameters
    ----------
    text : CText
        The cell, parsed.
    signature : Signature
    unit : Unit
        For typedefs that ``text`` itself does not show.
    types : mapping
        Type spelling of the cell -> NumPy type number, where known.
    cplus : bool
        The text is C++: its C-like part is understood.
    """
    notes: list[str] = []
    with Comfort(f"the Python form of {signature.name}", notes):
        return _write(text, signature=signature, unit=unit, types=types, cplus=cplus)
    return NotPython("could not be written as Python", signature.function.line, notes[0])


def _write(
    text: CText, *, signature: Signature, unit: Unit, types: Mapping[str, int] | None, cplus: bool
) -> PythonForm | NotPython:
    typed = tuple(sorted((types or {}).items())), tuple(sorted(unit.typedefs.items()))
    try:
        cell = _read(text, *typed, cplus).again()
        cell.parameters = {f.name: f.parameters for f in unit.functions}
        main = _find(cell, signature, text.lines)
        source, marks = _module(cell, main, signature, checked=False)
        checked, _ = _module(cell, main, signature, checked=True)
        compile(source, "<python>", "exec")
        parsed = ast.parse(checked)
    except Stop as fault:
        line = text.lines[min(fault.row, len(text.lines) - 1)] if fault.row else signature.function.line
        return NotPython(fault.reason, line)
    except SyntaxError as error:
        return NotPython(f"could not be written as Python ({error.msg})", signature.function.line)
    except (RecursionError, MemoryError):  # the latter is what Python's own parser says of it
        return NotPython("is nested too deeply for Python", signature.function.line)
    notes: list[str] = []
    vector = ""
    with Comfort(f"the NumPy expression of {signature.name}", notes):
        vector = _vector(cell, main, signature, parsed)
    return PythonForm(source, checked, vector, cell.main_name, marks=marks, note="".join(notes))


# -- text to tree -------------------------------------------------------------------------------


# A library's text takes longer to read than one of its functions to write.
@functools.lru_cache(maxsize=2)
def _read(text: CText, types: tuple[tuple[str, int], ...], typedefs: tuple[tuple[str, str], ...], cplus: bool) -> CCell:
    """The file scope of ``text``."""
    expression = functools.partial(_expression, cplus=cplus)
    macros = dict(text.macros)
    return CCell(text.root, dict(types), dict(typedefs), expression, evaluate, deduce, cplus=cplus, macros=macros)


def _expression(text: str, *, cplus: bool) -> Node | None:
    """The expression that a macro's value is, or None."""
    root = tree(f"int unused = ({text});".encode(), cplus=cplus)
    if root.has_error:
        return None
    declaration = root.named_children[0]
    return child(child(declaration, "declarator"), "value")


def _find(cell: CCell, signature: Signature, lines: Sequence[int]) -> CRoutine:
    """The function to write, by name and, among overloads, by line."""
    name = signature.function.name
    nodes = cell.functions.get(name, [])
    if len(nodes) > 1:
        nodes = [n for n in nodes if lines[n.start_point[0]] == signature.function.line] or nodes
        cell.functions[name] = nodes[:1]
    if not nodes:
        raise stop(f"cannot find `{name}` in the text")
    node = nodes[0]
    if node.has_error:
        raise stop("has syntax that could not be read", node)
    operands = {o.index: o for o in (*signature.inputs, *signature.outputs)}
    declarations = parameters_of(node)
    if any(index >= len(declarations) for index in (*operands, *signature.sizes)):
        raise stop("has parameters that do not match its signature", node)
    parameters: list[CParameter] = []
    for position, declaration in enumerate(declarations):
        declared = cell.declared(child(declaration, "declarator"), cell.type_named(child(declaration, "type")))
        operand = operands.get(position)
        reference = declared.reference and operand is not None and operand.role != "input"
        t, indirect = declared.type, declared.pointer or reference
        if operand is not None and not operand.core and t.kind == "a" and t.of is not None:
            t = t.of
        writes = operand is not None and operand.role != "input"
        reads = operand is None or operand.role != "output"
        one = (indirect or declared.type.kind == "a") and t.kind != "a"
        parameters.append(CParameter(declared.name, t, one and not reference, reads, writes, reference))
    plain = not any(p.cell or p.reference or p.type.kind == "a" for p in parameters)
    cell.main_name = python_name(signature.name)
    parts = _parts(cell, signature, node)
    returned = VOID if parts else cell.returned(node, tuple(parameters))
    cell.main = CRoutine(name, node, returned, tuple(parameters), main=True, plain=plain, parts=parts)
    return cell.main


def _parts(cell: CCell, signature: Signature, node: Node) -> tuple[CType, ...]:
    """The types in a result of several values, ``std::pair`` or its like."""
    results = [o for o in signature.outputs if o.index < 0]
    if len(results) < 2:
        return ()
    types = [cell.type_of(o.type) for o in results]
    if None in types:
        raise stop(f"returns `{', '.join(o.type for o in results)}`", node)
    return tuple(t for t in types if t is not None)


# -- modules ------------------------------------------------------------------------------------


def _module(cell: CCell, main: CRoutine, signature: Signature, *, checked: bool) -> tuple[str, str]:
    """The whole text: helpers, constants, called functions in the cell's order, the function itself; and with marks."""
    cell.forget()
    last = _main(cell, main, signature, checked=checked)
    functions: dict[str, ast.FunctionDef] = {}
    while missing := [routine for key, routine in cell.requested.items() if key not in functions]:
        functions |= {routine.name: _called(cell, routine, checked=checked) for routine in missing}
    order = sorted(functions, key=lambda key: cell.requested[key].node.start_byte)
    constants = [line for line, _ in cell.constants.values()]
    return module_texts([[], constants, *([functions[key]] for key in order), [last]], HELPERS)


def _vector(cell: CCell, main: CRoutine, signature: Signature, module: ast.Module) -> str:
    """The NumPy text, of the checked one, which says what C does; ``cell`` has just written that."""
    types = {
        python_name(routine.name): FunctionTypes(tuple(p.type for p in routine.parameters if p.reads), routine.returns)
        for routine in cell.requested.values()
    }
    inputs = [main.parameters[o.index].type.element for o in signature.inputs]
    types[cell.main_name] = FunctionTypes(tuple(inputs))
    returned = main.parts or (main.returns,)
    outputs = [
        returned[-1 - o.index] if o.index < 0 else main.parameters[o.index].type.element for o in signature.outputs
    ]
    if signature.core and len({t.bits for t in (*inputs, *outputs) if t.kind in "fc"}) > 1:
        return ""  # NumPy would add floats up in float where C does in double
    dimensions = [len(o.core) for o in signature.inputs]
    return numpy_text(
        module,
        cell.main_name,
        dimensions=dimensions,
        stacked=bool(signature.core),
        types=types,
        rounded=outputs if cell.widens else (),
    )


# -- functions ----------------------------------------------------------------------------------


def _called(cell: CCell, routine: CRoutine, *, checked: bool) -> ast.FunctionDef:
    """One of the cell's other functions, with C's own parameters; what it stores through pointers is returned."""
    if routine.node.has_error:
        raise stop(f"calls `{routine.name}`, whose syntax could not be read", routine.node)
    stored: list[ast.expr] = []
    body = CBody(cell, routine, checked=checked, results=lambda *values: [*(value.node for value in values), *stored])
    names = []
    for p in routine.parameters:
        variable = body.declare(p.name, p.type, cell=p.cell and not p.reference)
        names += [variable.name] if p.reads else []
        stored += [ast.Name(variable.name)] if p.writes else []
    return _function(python_name(routine.name), names, body, [], ends=bool(stored) and routine.returns == VOID)


def _function(
    name: str, parameters: Sequence[str], body: CBody, head: Sequence[ast.stmt], *, ends: bool
) -> ast.FunctionDef:
    lines = [*head, *body.statements([n for n in body.body.named_children if n.type != "comment"])]
    if ends and not (lines and isinstance(lines[-1], ast.Return)):
        lines.append(result(body.results()))
    return define(name, parameters, lines)


def _main(cell: CCell, main: CRoutine, signature: Signature, *, checked: bool) -> ast.FunctionDef:
    """The function with the ufunc's inputs as parameters and its outputs as results."""
    if not signature.outputs:
        raise stop("has no output", main.node)
    operands = {o.index: o for o in (*signature.inputs, *signature.outputs) if o.index >= 0}
    variables: dict[int, Variable] = {}

    def results(*values: Expr) -> list[ast.expr]:
        nodes = {o.index: lists.closing(o) for o in signature.outputs if o.index >= 0}
        if signature.status and any(value.text != "0" for value in values):
            raise stop("may return a status other than 0", main.node)
        nodes |= {-1 - place: value.node for place, value in enumerate(values)}
        if any(o.index not in nodes for o in signature.outputs):
            raise stop("does not always return a value", main.node)
        return [nodes[o.index] for o in signature.outputs]

    body = CBody(cell, main, checked=checked, results=results)
    for position, p in enumerate(main.parameters):
        if position in signature.sizes:
            variables[position] = body.declare(p.name, p.type, low=0, high=COUNTER)
        elif position in operands:
            variables[position] = body.declare(p.name, p.type, cell=p.cell and p.type.kind != "a")
        elif p.cell or p.type.kind == "a" or p.name in re.findall(r"\w+", text_of(body.body)):
            raise stop(f"takes `{p.name}`, which is not an operand", main.node)
    names = {position: variable.name for position, variable in variables.items()}
    lists = OperandLists(signature, names, {position: p.type for position, p in enumerate(main.parameters)})
    head = lists.sizes()
    for position, operand in operands.items():
        name = main.parameters[position].name
        changes = bool(operand.core and changed(body.body, name))
        head += lists.opening(operand, assigned=assigned_first(body.body, name), changed=changes)
    return _function(cell.main_name, lists.parameters(), body, head, ends=main.returns == VOID and not main.parts)
