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
from dataclasses import dataclass

import tree_sitter
import tree_sitter_c
import tree_sitter_cuda
from tree_sitter import Node

from ..frontends import c
from ..model import Signature, Unit
from .c_arithmetic import CType
from .c_cell import Cell, Given, Routine, python_name
from .c_function import called_text, main_text
from .c_uses import declared_name, parameters_of
from .math_names import HELPERS
from .numpy_writer import FunctionTypes, numpy_text
from .runtime_names import namespace
from .value import Stop, child, walk

__all__ = ["NotPython", "PyLoop", "namespace", "write"]


@dataclass(frozen=True)
class PyLoop:
    """A function in Python's words.

    Attributes
    ----------
    source : str
        Module text: the helpers, constants and other functions it needs, then ``def name(...)``.  It
        runs in ``namespace("timing")``.  The function takes the ufunc's inputs in order, scalars as
        Python numbers and cores as nested lists, and returns the output or a tuple of outputs.
    name : str
        The function's name in all three texts.
    vector : str
        The function over arrays, for ``namespace("vector")``; ``""`` where its control flow or NumPy
        forbids one.
    checked : str
        For ``namespace("verify")``: never raises where C returns a number.
    """

    source: str
    name: str
    vector: str
    checked: str


@dataclass(frozen=True)
class NotPython:
    """Why a function has no Python form: ``reason`` completes "The function ..."; ``line`` is the cell's."""

    reason: str
    line: int


def write(
    text: str, *, signature: Signature, unit: Unit, types: Mapping[str, int] | None = None, cplus: bool = False
) -> PyLoop | NotPython:
    """Write the function of ``signature`` as Python.

    Parameters
    ----------
    text : str
        The cell, or the preprocessor's output of it with its line markers.
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
        name = cell.main_name
        for text_of_module in (source, checked):
            compile(text_of_module, "<python>", "exec")
    except Stop as stop:
        return NotPython(stop.reason, lines[min(stop.row, len(lines) - 1)] if stop.row else signature.function.line)
    except SyntaxError as error:
        return NotPython(f"could not be written as Python ({error.msg})", signature.function.line)
    except (RecursionError, MemoryError):  # the latter is what Python's own parser says of it
        return NotPython("is nested too deeply for Python", signature.function.line)
    vector = _vector(cell, main, signature, checked)
    return PyLoop(source=source, name=name, vector=vector, checked=checked)


# -- text to tree -------------------------------------------------------------------------------


@functools.cache
def _parser(cplus: bool) -> tree_sitter.Parser:
    grammar = tree_sitter_cuda if cplus else tree_sitter_c
    return tree_sitter.Parser(tree_sitter.Language(grammar.language()))


# A library's text takes longer to read than one of its functions to write.
@functools.lru_cache(maxsize=2)
def _read(
    text: str, types: tuple[tuple[str, int], ...], typedefs: tuple[tuple[str, str], ...], cplus: bool
) -> tuple[Cell, list[int]]:
    """The file scope of ``text``, and each row's line in the cell."""
    clean, lines = _prepared(text)
    root = _parse(clean, cplus)
    data = bytearray(clean.encode())
    if misread := _misread_casts(root, bytes(data)):
        for place in misread:
            data[place : place + 1] = b" "
        root = _parse(data.decode(), cplus)
    return Cell(root, dict(types), dict(typedefs), functools.partial(_expression, cplus=cplus), cplus=cplus), lines


def _parse(text: str, cplus: bool) -> Node:
    return _parser(cplus).parse(text.encode()).root_node


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
    root = _parse(f"int unused = ({text});", cplus)
    if root.has_error:
        return None
    declaration = root.named_children[0]
    return child(child(declaration, "declarator"), "value")


def _prepared(text: str) -> tuple[str, list[int]]:
    """The text with line markers and system headers blanked, and each row's line in the cell.

    The grammars do not know ``double _Complex``: it becomes one word.
    """
    marker = re.compile(r'#\s*(?:line\s+)?(\d+)\s+"([^"]*)"([\d ]*)')
    rows = c.with_letters(text).split("\n")
    found = [marker.match(row) for row in rows]
    own = {m[2] for m in found if m and "3" not in m[3].split()}
    numbers: list[int] = []
    line, system = 1, False
    for position, match in enumerate(found):
        numbers.append(line)
        if match:
            line, system = int(match[1]), match[2] not in own
            rows[position] = ""
        else:
            rows[position] = "" if system else rows[position]
            line += 1
    clean = "\n".join(rows)
    if "omplex" not in clean:
        return clean, numbers
    for words, bits in (("float", 32), (r"long\s+double", 80), ("double", 64)):
        for pattern in (rf"\b{words}\s+(?:_Complex|complex|__complex__)\b", rf"\b(?:_Complex|complex)\s+{words}\b"):
            clean = re.sub(pattern, lambda m, bits=bits: f"__cplx{bits}" + "\n" * m[0].count("\n"), clean)  # type: ignore[misc]
    clean = re.sub(r"\(__extension__ 1\.0iF\)", " I ", clean)
    return clean, numbers


def _find(cell: Cell, signature: Signature, lines: Sequence[int]) -> Routine:
    """The function to write, by name and, among overloads, by line."""
    name = signature.function.name
    nodes = cell.functions.get(name, [])
    if len(nodes) > 1:
        nodes = [n for n in nodes if lines[n.start_point[0]] == signature.function.line] or nodes
        cell.functions[name] = nodes[:1]
    if not nodes:
        raise Stop(f"cannot find `{name}` in the text")
    node = nodes[0]
    if node.has_error:
        raise Stop("has syntax that could not be read", node)
    roles = {o.index: o for o in (*signature.inputs, *signature.outputs)}
    given: list[Given] = []
    if any(index >= len(parameters_of(node)) for index in (*roles, *signature.sizes)):
        raise Stop("has other parameters than its signature", node)
    for position, parameter in enumerate(parameters_of(node)):
        found = cell.declared(child(parameter, "declarator"), cell.type_named(child(parameter, "type")))
        operand = roles.get(position)
        reference = found.reference and operand is not None and operand.role != "input"
        t, indirect = found.type, found.pointer or reference
        if operand is not None and not operand.core and t.kind == "a" and t.of is not None:
            t = t.of
        writes = operand is not None and operand.role != "input"
        reads = operand is None or operand.role != "output"
        cell_like = (indirect and t.kind != "a") or (found.type.kind == "a" and t.kind != "a")
        given.append(Given(found.name, t, cell_like and not reference, reads, writes, reference))
    plain = not any(g.cell or g.reference or g.type.kind == "a" for g in given)
    cell.main_name = python_name(signature.name)
    cell.main = Routine(name, node, cell.returned(node), tuple(given), main=True, plain=plain)
    return cell.main


# -- modules ------------------------------------------------------------------------------------


def _module(cell: Cell, main: Routine, signature: Signature, *, checked: bool) -> str:
    """The whole text: helpers, constants, called functions in the cell's order, the function itself."""
    _forget(cell)
    last = main_text(cell, main, signature, checked=checked)
    written: dict[str, list[str]] = {}
    while missing := [r for name, r in cell.requested.items() if name not in written]:
        for routine in missing:
            written[routine.key] = called_text(cell, routine, checked=checked)
    order = sorted(written, key=lambda name: cell.requested[name].node.start_byte)
    parts = [HELPERS[name].splitlines() for name in HELPERS if name in cell.helpers]
    parts += [[text for text, _ in cell.constants.values()]] if cell.constants else []
    return _joined([*parts, *(written[name] for name in order), last])


def _joined(parts: Sequence[Sequence[str]]) -> str:
    return "\n\n\n".join("\n".join(part) for part in parts) + "\n"


def _forget(cell: Cell) -> None:
    cell.helpers, cell.constants, cell.requested, cell.serial = set(), {}, {}, 0


def _vector(cell: Cell, main: Routine, signature: Signature, checked: str) -> str:
    """The NumPy text, of the checked one, which says what C does; ``cell`` has just written that."""
    types = {
        python_name(routine.key): FunctionTypes(
            tuple(g.type for g in routine.parameters if g.reads and not g.null), routine.returns
        )
        for routine in cell.requested.values()
    }
    inputs = [_element(main.parameters[o.index].type) for o in signature.inputs]
    types[cell.main_name] = FunctionTypes(tuple(inputs))
    outputs = [main.returns if o.index < 0 else _element(main.parameters[o.index].type) for o in signature.outputs]
    if signature.core and len({t.bits for t in (*inputs, *outputs) if t.kind in "fc"}) > 1:
        return ""  # NumPy would add floats up in float where C does in double
    dimensions = [len(o.core) for o in signature.inputs]
    return numpy_text(
        ast.parse(checked), cell.main_name, dimensions=dimensions, stacked=bool(signature.core), types=types
    )


def _element(t: CType) -> CType:
    return t if t.of is None else _element(t.of)
