"""Initial values: C initializers and zeroed variables as Python expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .c_arithmetic import CType
from .c_expressions import Readings
from .value import Stop, child, children, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["initial", "zero"]

#: Elements of a table that is still written out.
LARGEST = 4096


def zero(t: CType) -> str:
    """A variable of type ``t``, zeroed."""
    match t.kind:
        case "f":
            return "0.0"
        case "c":
            return "0j"
        case "b":
            return "False"
        case "a" if t.of is not None and t.length is not None:
            inner = zero(t.of)
            return f"[{inner} for _ in range({t.length})]" if t.of.kind in "as" else f"[{inner}]*{t.length}"
        case "s":
            return f"SimpleNamespace({', '.join(f'{name}={zero(of)}' for name, of in t.fields)})"
    return "0"


def initial(asking: Readings, source: Node, t: CType, *, frozen: bool = False) -> tuple[str, CType]:
    """The text of an initializer for type ``t``, and the type completed with an array's length."""
    if t.kind == "a" and t.of is not None:
        if source.type != "initializer_list":
            raise Stop(f"initializes an array with `{text_of(source)}`", source)
        items = children(source)
        if len(items) > LARGEST or source.end_byte - source.start_byte > 16 * LARGEST:
            raise Stop("looks into a large table", source)
        if any(i.type == "initializer_pair" for i in items):
            raise Stop("uses designated array elements", source)
        if t.of.kind in "as" and items and items[0].type != "initializer_list":
            raise Stop("initializes a nested array without inner braces", source)
        made = [initial(asking, item, t.of, frozen=frozen) for item in items]
        length = len(items) if t.length is None else t.length
        element = made[0][1] if made else t.of
        rest = length - len(made)
        if rest and len({text for text, _ in made} | {zero(element)}) == 1 and not frozen:
            return zero(CType("a", of=element, length=length)), CType("a", of=element, length=length)
        texts = [text for text, _ in made] + [zero(element)] * rest
        inside = ", ".join(texts) + ("," if frozen and len(texts) == 1 else "")
        return (f"({inside})" if frozen else f"[{inside}]"), CType("a", of=element, length=length)
    if t.kind == "s":
        return _record(asking, source, t, frozen), t
    if source.type == "initializer_list":
        items = children(source)
        if not items:
            return zero(t), t
        source = items[0]
    return asking.convert(asking.value(source), t, node=source).at(1), t


def _record(asking: Readings, source: Node, t: CType, frozen: bool) -> str:
    if source.type == "compound_literal_expression":
        source = child(source, "value")
    if source.type != "initializer_list":
        e = asking.value(source)
        if e.type != t:
            raise Stop(f"initializes a structure with `{text_of(source)}`", source)
        return e.text if e.text.endswith(")") else f"SimpleNamespace(**vars({e.text}))"
    given: dict[str, Node] = {}
    names = iter(name for name, _ in t.fields)
    for item in children(source):
        if item.type == "initializer_pair":
            given[text_of(child(item, "designator")).lstrip(".")] = child(item, "value")
        else:
            name = next(names, "")
            if not name:
                raise Stop("gives a structure more values than it has fields", source)
            given[name] = item
    parts = [f"{n}={initial(asking, given[n], of, frozen=frozen)[0] if n in given else zero(of)}" for n, of in t.fields]
    return f"SimpleNamespace({', '.join(parts)})"
