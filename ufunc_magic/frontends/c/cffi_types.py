"""The type definitions of a cell, as cffi wants them: structs, unions, enums and typedefs, no functions."""

from __future__ import annotations

import re

from . import c_text, line_markers

_TAGGED = ("struct_specifier", "union_specifier", "enum_specifier")


def type_definitions(source: str, text: str, *, name: str) -> str:
    """Every struct, union, enum and typedef that a cell defines at file scope, one to a line.

    Sizes that are object-like macros with a number are written as that number, since cffi knows no
    preprocessor.

    Parameters
    ----------
    source, text : str
        The cell, and what its functions were read from: itself, or the preprocessor's output of it.
    name : str
        The cell's name in that output.
    """
    if text is not source:  # structs of local headers, too
        source = "\n".join(line.text for line in line_markers.own_lines(text, cell_name=name)[0])
    cell = c_text.read(source)
    nodes = []
    for node in c_text.tree(cell.code).named_children:
        kind = node.child_by_field_name("type")
        if node.type == "type_definition" or (node.type in _TAGGED and node.child_by_field_name("body")):
            nodes.append(node)
        elif kind is not None and kind.type in _TAGGED and kind.child_by_field_name("body"):
            nodes.append(kind)  # struct point { ... } origin;
    lines = [" ".join((node.text or b"").decode(errors="replace").split()).rstrip(";") + ";" for node in nodes]
    numbers = {n: value for n, body in cell.macros.items() if (value := c_text.constant(body, cell.macros)) is not None}
    return "\n".join(re.sub(r"\b[A-Za-z_]\w*\b", lambda m: str(numbers.get(m[0], m[0])), line) for line in lines)
