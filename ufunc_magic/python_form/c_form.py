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
from collections.abc import Callable, Mapping, Sequence

import tree_sitter
import tree_sitter_c
import tree_sitter_cuda
from tree_sitter import Node

from ..model import Operand, Signature, Unit
from .arithmetic_expressions import array, length, zero
from .c_arithmetic import VOID, CType
from .c_body import COUNTER, CBody
from .c_cell import CCell, CParameter, CRoutine, python_name
from .c_tree import CText, assigned_first, changed, child, declared_name, parameters_of, readable, stop, text_of, walk
from .c_values import evaluate
from .math_names import HELPERS
from .numpy_values import FunctionTypes
from .numpy_writer import numpy_text
from .value import Expr, NotPython, PythonForm, Stop, Variable, assign, define, number, python, result, text_of_module


def write(
    text: str | CText, *, signature: Signature, unit: Unit, types: Mapping[str, int] | None = None, cplus: bool = False
) -> PythonForm | NotPython:
    """Write the function of ``signature`` as Python.

    Parameters
    ----------
    text : str or CText
        The cell, parsed or not, or the preprocessor's output of it with its line markers.
    signature : Signature
    unit : Unit
        For typedefs that ``text`` itself does not show.
    types : mapping
        Type spelling of the cell -> NumPy type number, where known.
    cplus : bool
        The text is C++: its C-like part is understood.
    """
    typed = tuple(sorted((types or {}).items())), tuple(sorted(unit.typedefs.items()))
    try:
        read, lines = _read(text, *typed, cplus)
        cell = read.again()
        main = _find(cell, signature, lines)
        source = _module(cell, main, signature, checked=False)
        checked = _module(cell, main, signature, checked=True)
        for text_of_form in dict.fromkeys((source, checked)):
            compile(text_of_form, "<python>", "exec")
    except Stop as fault:
        line = lines[min(fault.row, len(lines) - 1)] if fault.row else signature.function.line
        return NotPython(fault.reason, line)
    except SyntaxError as error:
        return NotPython(f"could not be written as Python ({error.msg})", signature.function.line)
    except (RecursionError, MemoryError):  # the latter is what Python's own parser says of it
        return NotPython("is nested too deeply for Python", signature.function.line)
    return PythonForm(source, checked, _vector(cell, main, signature, checked), cell.main_name)


# -- text to tree -------------------------------------------------------------------------------


@functools.cache
def _parser(cplus: bool) -> tree_sitter.Parser:
    grammar = tree_sitter_cuda if cplus else tree_sitter_c
    return tree_sitter.Parser(tree_sitter.Language(grammar.language()))


# A library's text takes longer to read than one of its functions to write.
@functools.lru_cache(maxsize=2)
def _read(
    text: str | CText, types: tuple[tuple[str, int], ...], typedefs: tuple[tuple[str, str], ...], cplus: bool
) -> tuple[CCell, list[int]]:
    """The file scope of ``text``, and each row's line in the cell."""
    if isinstance(text, CText):
        lines = list(range(1, text.code.count(b"\n") + 2))
    else:
        code, lines = _prepared(text)
        text = CText(code, _parse(code, cplus), {})
    root = text.root
    if misread := _misread_casts(root, text.code):
        data = bytearray(text.code)
        for place in misread:
            data[place : place + 1] = b" "
        root = _parse(bytes(data), cplus)
    expression = functools.partial(_expression, cplus=cplus)
    known = dict(types), dict(typedefs)
    return CCell(root, *known, expression, evaluate, cplus=cplus, macros=dict(text.macros)), lines


def _parse(code: bytes, cplus: bool) -> Node:
    return _parser(cplus).parse(code).root_node


def _misread_casts(root: Node, text: bytes) -> list[int]:
    """Where the parentheses stand of ``(x) - (y)`` that the grammar takes for a cast, though ``x`` is a variable.

    Macros make such text.  What stands behind would be bound too tightly, so it is parsed again without them.
    """
    places: list[int] = []
    declared: dict[int, set[str]] = {}
    for match in re.finditer(rb"\((\w+)\)\s*[-+&*(]", text):
        token = root.descendant_for_byte_range(match.start(), match.start() + 1)
        function = cast = token.parent if token is not None else None
        if cast is None or cast.type != "cast_expression" or cast.start_byte != match.start():
            continue
        while function is not None and function.type != "function_definition":
            function = function.parent
        if function is None:
            continue
        if function.start_byte not in declared:
            declared[function.start_byte] = _declared_in(function)
        if match[1].decode() in declared[function.start_byte]:
            places += [match.start(), match.end(1)]
    return places


def _declared_in(function: Node) -> set[str]:
    """Names of a function's parameters and variables."""
    return {
        declared_name(declarator)
        for node in walk(function)
        if node.type in ("parameter_declaration", "declaration")
        for declarator in node.children_by_field_name("declarator")
    }


def _expression(text: str, *, cplus: bool) -> Node | None:
    """The expression that a macro's value is, or None."""
    root = _parse(f"int unused = ({text});".encode(), cplus)
    if root.has_error:
        return None
    declaration = root.named_children[0]
    return child(child(declaration, "declarator"), "value")


def _prepared(text: str) -> tuple[bytes, list[int]]:
    """The text with line markers and system headers blanked, and each row's line in the cell."""
    marker = re.compile(r'#\s*(?:line\s+)?(\d+)\s+"([^"]*)"([\d ]*)')
    rows = text.split("\n")
    markers = [marker.match(row) for row in rows]
    own = {m[2] for m in markers if m and "3" not in m[3].split()}
    numbers: list[int] = []
    line, system = 1, False
    for position, match in enumerate(markers):
        numbers.append(line)
        if match:
            line, system = int(match[1]), match[2] not in own
            rows[position] = ""
        else:
            rows[position] = "" if system else rows[position]
            line += 1
    clean = "\n".join(rows)
    if "omplex" in clean:
        clean = re.sub(r"\(__extension__ 1\.0iF\)", " I ", clean)
    return readable(clean.encode()), numbers


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
        raise stop("has other parameters than its signature", node)
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
    cell.main = CRoutine(name, node, cell.returned(node), tuple(parameters), main=True, plain=plain)
    return cell.main


# -- modules ------------------------------------------------------------------------------------


def _module(cell: CCell, main: CRoutine, signature: Signature, *, checked: bool) -> str:
    """The whole text: helpers, constants, called functions in the cell's order, the function itself."""
    cell.forget()
    last = _main(cell, main, signature, checked=checked)
    functions: dict[str, ast.FunctionDef] = {}
    while missing := [routine for key, routine in cell.requested.items() if key not in functions]:
        functions |= {routine.key: _called(cell, routine, checked=checked) for routine in missing}
    order = sorted(functions, key=lambda key: cell.requested[key].node.start_byte)
    helpers = [HELPERS[name] for name in HELPERS if name in cell.helpers]
    constants = [line for line, _ in cell.constants.values()]
    return text_of_module([*helpers, constants, *([functions[key]] for key in order), [last]])


def _vector(cell: CCell, main: CRoutine, signature: Signature, checked: str) -> str:
    """The NumPy text, of the checked one, which says what C does; ``cell`` has just written that."""
    types = {
        python_name(routine.key): FunctionTypes(
            tuple(p.type for p in routine.parameters if p.reads and not p.null), routine.returns
        )
        for routine in cell.requested.values()
    }
    inputs = [_element(main.parameters[o.index].type) for o in signature.inputs]
    types[cell.main_name] = FunctionTypes(tuple(inputs))
    outputs = [main.returns if o.index < 0 else _element(main.parameters[o.index].type) for o in signature.outputs]
    if signature.core and len({t.bits for t in (*inputs, *outputs) if t.kind in "fc"}) > 1:
        return ""  # NumPy would add floats up in float where C does in double
    dimensions = [len(o.core) for o in signature.inputs]
    tree = ast.parse(checked)
    return numpy_text(tree, cell.main_name, dimensions=dimensions, stacked=bool(signature.core), types=types)


# -- functions ----------------------------------------------------------------------------------


def _called(cell: CCell, routine: CRoutine, *, checked: bool) -> ast.FunctionDef:
    """One of the cell's other functions, with C's own parameters; what it stores through pointers is returned."""
    if routine.node.has_error:
        raise stop(f"calls `{routine.name}`, whose syntax could not be read", routine.node)
    stored: list[ast.expr] = []
    body = CBody(
        cell, routine, checked=checked, results=lambda value: [*([value.node] if value is not None else []), *stored]
    )
    names = []
    for p in routine.parameters:
        variable = body.declare(p.name, p.type, cell=p.cell and not p.reference, null=p.null)
        names += [variable.name] if p.reads and not p.null else []
        stored += [ast.Name(variable.name)] if p.writes and not p.null else []
    return _function(python_name(routine.key), names, body, [], ends=bool(stored) and routine.returns == VOID)


def _function(
    name: str, parameters: Sequence[str], body: CBody, head: Sequence[ast.stmt], *, ends: bool
) -> ast.FunctionDef:
    lines = [*head, *body.statements([n for n in body.body.named_children if n.type != "comment"])]
    if ends and not (lines and isinstance(lines[-1], ast.Return)):
        lines.append(result(body.results(None)))
    return define(name, parameters, lines)


def _main(cell: CCell, main: CRoutine, signature: Signature, *, checked: bool) -> ast.FunctionDef:
    """The function with the ufunc's inputs as parameters and its outputs as results."""
    if not signature.outputs:
        raise stop("gives nothing back", main.node)
    closings: dict[int, Callable[[], ast.expr]] = {}

    def results(value: Expr | None) -> list[ast.expr]:
        nodes = {o.index: closings[o.index]() for o in signature.outputs if o.index >= 0}
        if value is not None:
            if signature.status and value.text != "0":
                raise stop("may return another status than 0", main.node)
            nodes[-1] = value.node
        if any(o.index not in nodes for o in signature.outputs):
            raise stop("does not always return a value", main.node)
        return [nodes[o.index] for o in signature.outputs]

    body = CBody(cell, main, checked=checked, results=results)
    operands = {o.index: o for o in (*signature.inputs, *signature.outputs) if o.index >= 0}
    variables: dict[int, Variable] = {}
    for position, p in enumerate(main.parameters):
        if position in signature.sizes:
            variables[position] = body.declare(p.name, p.type, low=0, high=COUNTER)
        elif position in operands:
            variables[position] = body.declare(p.name, p.type, cell=p.cell and p.type.kind != "a")
        elif p.cell or p.type.kind == "a" or p.name in re.findall(r"\w+", text_of(body.body)):
            raise stop(f"takes `{p.name}`, which is no operand", main.node)
    sizes = _dimensions(signature, variables)
    head = [assign(variables[p].name, _measured(signature, variables, dim)) for p, dim in signature.sizes.items()]
    for position, operand in operands.items():
        parameter, name = main.parameters[position], variables[position].name
        head += _opening(operand, parameter, name, body, sizes)
        closings[position] = functools.partial(_closing, operand, parameter, name, sizes)
    names = [variables[o.index].name for o in signature.inputs]
    return _function(cell.main_name, names, body, head, ends=main.returns == VOID)


def _measured(signature: Signature, variables: Mapping[int, Variable], dim: str) -> ast.expr:
    """``len(...)`` of the first input that has the core dimension."""
    for operand in signature.inputs:
        if dim in operand.core:
            return length(variables[operand.index].name, operand.core.index(dim))
    raise stop(f"has the core dimension {dim}, which no input has")


def _dimensions(signature: Signature, variables: Mapping[int, Variable]) -> dict[int | str, ast.expr]:
    """Core dimension -> how the function's text says its size."""
    sizes: dict[int | str, ast.expr] = {
        dim: ast.Name(variables[p].name) for p, dim in reversed(signature.sizes.items())
    }
    for operand in (*signature.inputs, *signature.outputs):
        for dim in operand.core:
            if dim not in sizes:
                sizes[dim] = number(dim) if isinstance(dim, int) else _measured(signature, variables, dim)
    return sizes


def _flat(operand: Operand, parameter: CParameter) -> bool:
    """Whether C sees the core as one run of elements where Python sees nested lists."""
    dimensions = parameter.type.depth
    if dimensions == len(operand.core):
        return False
    if dimensions == 1 and len(operand.core) == 2:
        return True
    raise stop(f"lays out `{parameter.name}` in a way that was not understood")


def _element(t: CType) -> CType:
    return _element(t.of) if t.of is not None else t


def _opening(
    operand: Operand, parameter: CParameter, name: str, body: CBody, sizes: Mapping[int | str, ast.expr]
) -> list[ast.stmt]:
    """What the operand needs before the first statement."""
    if not operand.core:
        unset = operand.role == "output" and not assigned_first(body.body, parameter.name)
        return [assign(name, zero(parameter.type))] if unset else []
    flat = _flat(operand, parameter)
    if operand.role == "output":
        lengths = [sizes[dim] for dim in operand.core]
        lengths = [python("{} * {}", *lengths)] if flat else lengths
        return [assign(name, array(zero(_element(parameter.type)), lengths))]
    if flat:
        return [assign(name, python("[value for row in {} for value in row]", name))]
    if operand.role == "inout" or changed(body.body, parameter.name):
        return [assign(name, python("list({})" if len(operand.core) == 1 else "[list(row) for row in {}]", name))]
    return []


def _closing(operand: Operand, parameter: CParameter, name: str, sizes: Mapping[int | str, ast.expr]) -> ast.expr:
    """The operand after ``return``."""
    if operand.core and _flat(operand, parameter):
        rows, columns = (sizes[dim] for dim in operand.core)
        return python("[{0}[i * {1}:(i + 1) * {1}] for i in range({2})]", name, columns, rows)
    return ast.Name(name)
