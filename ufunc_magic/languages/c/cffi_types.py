"""The type definitions of a cell, as cffi wants them: structs, unions, enums and typedefs, no functions."""

from __future__ import annotations

import re

from ...model import OWN_TYPES
from .c_text import blank_out_literals, evaluate_constant
from .c_tree import take_text, take_turns
from .declarations import CText

_TAGGED = ("struct_specifier", "union_specifier", "enum_specifier")


@take_turns
def type_definitions(tree: CText, *, cplus: bool = False) -> str:
    """Every struct, union, enum and typedef that a cell defines at file scope, or uses, one to a line.

    Sizes that are object-like macros with a number are written as that number, since cffi knows no
    preprocessor.  In C++ a structure's name alone is a type.
    """
    nodes = []
    for node in tree.root.named_children:
        kind = node.child_by_field_name("type")
        if node.type == "type_definition" or (node.type in _TAGGED and node.child_by_field_name("body")):
            nodes.append(node)
        elif kind is not None and kind.type in _TAGGED and kind.child_by_field_name("body"):
            nodes.append(kind)  # struct point { ... } origin;
    lines = [" ".join(take_text(node).split()).rstrip(";") + ";" for node in nodes]
    numbers = {
        n: value for n, body in tree.macros.items() if (value := evaluate_constant(body, tree.macros)) is not None
    }
    words = {**numbers, "_Atomic": "_Complex"}  # as `readable` has it
    lines = [re.sub(r"\b[A-Za-z_]\w*\b", lambda m: str(words.get(m[0], m[0])), line) for line in lines]
    tagged = [(node, node.child_by_field_name("name")) for node in nodes if cplus and node.type in _TAGGED]
    # C has no enum class.
    plain = [(node.children[0].type, take_text(name)) for node, name in tagged if name and node.children[1] == name]
    tags = [f"typedef {word} {name} {name};" for word, name in plain]
    # cffi warns of strings, which attributes have.
    outside = [blank_out_literals(tree.types.outside), OWN_TYPES] if tree.types.outside else []
    return "\n".join([*outside, *lines, *tags])
