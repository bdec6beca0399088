"""Expressions of Cython's analysed tree as the IR's.

Cython's nodes carry Cython's types; the C that it writes of them is calculated by C's rules.  So a leaf has Cython's
type, and an operation the type that C gives it: ``i + 1`` of an int is an int, though Cython calls the 1 a long.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ...ir import (
    BOOL,
    COMPLEX,
    DOUBLE,
    INDEX,
    INT,
    LONG,
    OBJECT,
    SIZE,
    AddressOf,
    Aggregate,
    Binary,
    Conditional,
    Constant,
    Convert,
    CType,
    Dynamic,
    Element,
    Expression,
    Field,
    FunctionCall,
    Length,
    Logical,
    Name,
    OpaqueExpression,
    Position,
    StringLiteral,
    Symbol,
    Unary,
    convert_usually,
    find_header_constant,
    promote,
    walk,
)
from ._private import PyrexTypes
from .cdef_variant import walk as walk_tree
from .cython_ctypes import find_ir_type

_COMPARISONS = {"<>": "!=", "is_not": "is not", "not_in": "not in"}
#: Cython's names of C's functions for numbers of some types.
_HELPERS = {"__Pyx_c_abs_double": "cabs", "__Pyx_c_abs_float": "cabsf", "__Pyx_abs_longlong": "llabs"}
#: Macros, which take a number of any type, whatever their declaration says.
_GENERIC = frozenset("isnan isinf isfinite isnormal signbit fpclassify".split())


class Unsaid(Exception):
    """Internal: the IR has no form for a node; ``reason`` completes "The function"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class LoweredCell:
    """The text of a cell, its module's scope, and its symbols by Cython's entries: its functions share them."""

    def __init__(self, source: str, desc: Any, scope: Any) -> None:
        self.lines = source.splitlines()
        self.desc = desc
        self.scope = scope
        self.symbols: dict[int, Symbol] = {}
        #: id of an entry -> name and place among the specialisations, of the cell's functions.
        self.functions: dict[int, tuple[str, int]] = {}
        self.names: set[str] = set()
        starts, at = [0], 0
        for line in source.split("\n"):
            at += len(line.encode()) + 1
            starts.append(at)
        self._starts = starts

    def find_position(self, node: Any) -> Position:
        """Where a node begins; its span is the line."""
        pos = getattr(node, "pos", None)
        if pos is None or not 0 < pos[1] <= len(self.lines):
            return Position()
        line = self.lines[pos[1] - 1]
        start = self._starts[pos[1] - 1]
        column = len(line[: pos[2]].encode())
        indent = len(line) - len(line.lstrip())
        return Position(pos[1], column, start + indent, start + len(line.encode()))

    def shorten_line(self, node: Any) -> str:
        """The line of a node, shortened."""
        pos = getattr(node, "pos", None)
        line = self.lines[pos[1] - 1].strip() if pos and 0 < pos[1] <= len(self.lines) else ""
        return line if len(line) <= 60 else line[:57] + "..."

    def read_whole_number(self, node: Any) -> tuple[int, str] | None:
        """Value and text of the integer that the cell has at a node, whatever Cython has made of it."""
        line = self.lines[node.pos[1] - 1] if 0 < node.pos[1] <= len(self.lines) else ""
        token = "".join(itertools.takewhile(lambda c: c.isalnum() or c in "._", line[node.pos[2] :]))
        return _read_whole_number(token)


class CythonExpressions:
    """Lowers expressions of one function or of the module level."""

    def __init__(self, cell: LoweredCell, directives: Mapping[str, Any], arguments: Sequence[Any] = ()) -> None:
        self.cell = cell
        self.directives = directives
        self.arguments = {id(entry) for entry in arguments}
        self.calls: dict[str, None] = {}
        #: id of a node that names a value computed before -> that value.
        self.known: dict[int, Expression] = {}

    # -- doors --------------------------------------------------------------------------------------

    def lower_value(self, node: Any) -> Expression:
        """A node as C calculates it, or an opaque expression."""
        try:
            return self.lower(node)
        except Unsaid as fault:
            return self.make_opaque(node, fault.reason)

    def lower(self, node: Any) -> Expression:
        if (known := self.known.get(id(node))) is not None:
            return known
        for base in type(node).__mro__:
            if method := getattr(self, f"_{base.__name__}", None):
                lowered: Expression = method(node)
                return lowered
        raise self.make_unsaid(node)

    def make_unsaid(self, node: Any) -> Unsaid:
        """The exception for a node that has no form."""
        return Unsaid(f"uses `{self.cell.shorten_line(node)}`, which has no Python form")

    def lower_typed(self, node: Any) -> Expression:
        """A node in the type that Cython gives it."""
        return self.convert(self.lower_value(node), find_ir_type(node.type))

    def convert(self, value: Expression, t: CType, *, explicit: bool = False) -> Expression:
        if value.type == t or t.kind == "?":
            return value
        if isinstance(value, Constant) and t.kind == "o" and value.type.integral:
            return Constant(t, value.value, value.spelling, at=value.at)
        return Convert(t, value, explicit, at=value.at)

    def test(self, node: Any) -> Expression:
        """A node whose truth alone counts."""
        while type(node).__name__ in ("CoerceToBooleanNode", "CoerceToTempNode", "ProxyNode", "BoolBinopResultNode"):
            node = node.arg
        return self.lower_value(node)

    def find_position(self, node: Any) -> Position:
        return self.cell.find_position(node)

    def make_opaque(self, node: Any, reason: str) -> OpaqueExpression:
        touched = frozenset(self.find_touched(node))
        t = find_ir_type(node.type) if getattr(node, "type", None) is not None else OBJECT
        text, at = self.cell.shorten_line(node), self.find_position(node)
        return OpaqueExpression(t, reason, text, reads=touched, writes=touched, acts=True, at=at)

    def find_touched(self, node: Any) -> Iterator[Symbol]:
        """Every variable named in or below a node."""
        for inner in walk_tree(node) if hasattr(node, "child_attrs") else ():
            entry = getattr(inner, "entry", None)
            if type(inner).__name__ == "NameNode" and entry is not None and not entry.is_cfunction:
                yield self.find_symbol(entry.defining_entry)  # of a variable that an inner function uses

    def find_symbol(self, entry: Any) -> Symbol:
        known = self.cell.symbols.get(id(entry))
        if known is None:
            module = entry.scope is self.cell.scope
            storage: Any = "parameter" if id(entry) in self.arguments else "global" if module else "local"
            kind = entry.type
            element = getattr(kind, "dtype", None) or getattr(kind, "base_type", None)
            const = bool(getattr(element, "is_const", False))
            known = Symbol(str(entry.name), find_ir_type(kind), storage, const=const, assigned=module)
            self.cell.symbols[id(entry)] = known
        return known

    # -- looked through -----------------------------------------------------------------------------

    def _CoerceToTempNode(self, node: Any) -> Expression:
        return self.convert(self.lower(node.arg), find_ir_type(node.type))

    def _ProxyNode(self, node: Any) -> Expression:
        return self.lower(node.arg)

    _CloneNode = _NoneCheckNode = _PyTypeTestNode = _ProxyNode

    def _ResultRefNode(self, node: Any) -> Expression:
        if node.expression is None:
            raise self.make_unsaid(node)
        return self.lower(node.expression)

    def _BoolBinopResultNode(self, node: Any) -> Expression:
        return self.lower(node.value)

    # -- conversions --------------------------------------------------------------------------------

    def _CoerceToPyTypeNode(self, node: Any) -> Expression:
        return self.convert(self.lower_typed(node.arg), OBJECT)

    def _CoerceFromPyTypeNode(self, node: Any) -> Expression:
        return self.convert(self.lower_value(node.arg), find_ir_type(node.type))

    _CoerceToComplexNode = _CoerceToMemViewSliceNode = _CoerceFromPyTypeNode

    def _CoerceToBooleanNode(self, node: Any) -> Expression:
        return self.convert(self.lower_value(node.arg), BOOL)

    def _TypecastNode(self, node: Any) -> Expression:
        return self.convert(self.lower_value(node.operand), find_ir_type(node.type), explicit=True)

    # -- literals -----------------------------------------------------------------------------------

    def _IntNode(self, node: Any) -> Expression:
        written = _read_whole_number(str(node.value))
        if written is None:
            raise Unsaid(f"uses `{node.value}`, which comes from C")
        value, spelling = written
        if node.type.is_pyobject:
            return Constant(OBJECT, value, spelling, at=self.find_position(node))
        t = INT if INT.low <= value <= INT.high and not node.longness else LONG
        if node.unsigned:
            t = CType("u", t.bits)
        elif not t.low <= value <= t.high:
            t = CType("u", 64)
        return Constant(t, value, spelling, at=self.find_position(node))

    def _FloatNode(self, node: Any) -> Expression:
        value, at = float(str(node.value).replace("_", "")), self.find_position(node)
        t = OBJECT if node.type.is_pyobject else DOUBLE  # Cython writes the constants of C's float as double
        written = self.cell.read_whole_number(node)
        if written is not None and written[0] == value:
            return Convert(t, Constant(INT if value <= INT.high else LONG, *written, at=at), at=at)
        return Constant(t, value, at=at)

    def _ImagNode(self, node: Any) -> Expression:
        return Constant(COMPLEX, complex(0, float(node.value)), at=self.find_position(node))

    def _BoolNode(self, node: Any) -> Expression:
        return Constant(OBJECT if node.type.is_pyobject else BOOL, int(bool(node.value)), str(bool(node.value)))

    def _CharNode(self, node: Any) -> Expression:
        return Constant(
            CType("i", 8), ord(node.value), repr(str(node.value.decode("latin1"))), at=self.find_position(node)
        )

    def _DefaultLiteralArgNode(self, node: Any) -> Expression:
        return self.lower(node.arg)

    def _NoneNode(self, node: Any) -> Expression:
        return Dynamic(OBJECT, "None", at=self.find_position(node))

    def _NullNode(self, node: Any) -> Expression:
        return Constant(find_ir_type(node.type), 0, "NULL", at=self.find_position(node))

    def _EllipsisNode(self, node: Any) -> Expression:
        return Dynamic(OBJECT, "...", at=self.find_position(node))

    def _UnicodeNode(self, node: Any) -> Expression:
        return Dynamic(OBJECT, repr(str(node.value)), at=self.find_position(node))

    _IdentifierStringNode = _UnicodeNode

    def _BytesNode(self, node: Any) -> Expression:
        if node.type.is_pyobject:
            return Dynamic(OBJECT, repr(bytes(node.value)), at=self.find_position(node))
        return StringLiteral(find_ir_type(node.type), bytes(node.value).decode("latin1"), at=self.find_position(node))

    _StringNode = _BytesNode

    def _JoinedStrNode(self, node: Any) -> Expression:
        text, operands = "", []
        for part in node.values:
            if type(part).__name__ == "FormattedValueNode":
                text += self._format_part(part)
                operands.append(self.lower_value(part.value))
            elif not hasattr(part, "value"):
                raise self.make_unsaid(node)
            else:
                inner = repr("'" + str(part.value))[2:-1].replace('"', '\\"')
                text += inner.replace("{", "{{{{").replace("}", "}}}}")
        return Dynamic(OBJECT, f'f"{text}"', tuple(operands), at=self.find_position(node))

    def _FormattedValueNode(self, node: Any) -> Expression:
        return Dynamic(
            OBJECT, f'f"{self._format_part(node)}"', (self.lower_value(node.value),), at=self.find_position(node)
        )

    def _format_part(self, node: Any) -> str:
        """``{x!r:.2f}`` of an f-string, as a part of a template."""
        spec = node.format_spec
        if spec is not None and not hasattr(spec, "value"):
            raise self.make_unsaid(node)
        mark = f"!{node.conversion_char}" if node.conversion_char else ""
        width = f":{spec.value}" if spec is not None and spec.value else ""
        return f"{{{{{{}}{mark}{width}}}}}"

    # -- names --------------------------------------------------------------------------------------

    def _NameNode(self, node: Any) -> Expression:
        entry, at = node.entry, self.find_position(node)
        name = str(node.name)
        if entry is None:
            raise Unsaid(f"uses `{name}`, which is not a function or variable of the cell")
        entry = entry.defining_entry
        of_c = entry.visibility == "extern" and (entry.type.is_numeric or entry.type.is_enum)
        if of_c and (known := find_header_constant(str(entry.cname))) is not None:
            return replace(known, at=at)
        if (constant := self._find_enumerator(entry)) is not None:
            return Name(INT, constant, at=at)
        if name in self.cell.names and entry.scope is self.cell.scope and entry.type.is_pyobject:
            self.calls[name] = None
            return Dynamic(OBJECT, name, at=at)
        builtin = getattr(entry.scope, "is_builtin_scope", False) or str(entry.cname).startswith("__pyx_builtin_")
        if builtin and entry.type.is_pyobject:
            return Dynamic(OBJECT, name, at=at)
        if entry.is_cfunction or entry.type.is_cfunction:
            raise Unsaid(f"uses `{name}`, which comes from C")
        if entry.is_type:
            raise Unsaid(f"uses `{name}`, which is not a function or variable of the cell")
        if entry.visibility == "extern" and not entry.type.is_pyobject:
            raise Unsaid(f"uses `{entry.cname}`, which comes from C")
        symbol = self.find_symbol(entry)
        return Name(symbol.type, symbol, at=at)

    def _find_enumerator(self, entry: Any) -> Symbol | None:
        """The symbol of a constant of a ``cdef enum``."""
        number = getattr(entry, "enum_int_value", None)
        if not entry.is_const or number is None or entry.type.is_pyobject:
            return None
        if id(entry) not in self.cell.symbols:
            self.cell.symbols[id(entry)] = Symbol(str(entry.name), INT, "constant", initial=Constant(INT, int(number)))
        return self.cell.symbols[id(entry)]

    def _AttributeNode(self, node: Any) -> Expression:
        name, kind = str(node.attribute), node.obj.type
        if kind is None:  # of a cimported module
            return self._NameNode(node)
        base, t = self.lower_value(node.obj), find_ir_type(node.type)
        if kind.is_ptr and kind.base_type.is_struct_or_union:
            base = Element(find_ir_type(kind.base_type), base, Constant(INT, 0), at=self.find_position(node.obj))
            return Field(t, base, name, at=base.at)
        if kind.is_struct_or_union or base.type.kind == "?":
            return Field(t, base, name, at=base.at)
        if kind.is_cpp_class or kind.is_ptr:
            raise Unsaid(f"uses `.{name}`: `{self.cell.shorten_line(node)}`")
        if base.type.kind == "a" and name not in ("shape", "size", "ndim", "T"):
            raise Unsaid(f"uses `.{name}`: `{self.cell.shorten_line(node)}`")
        return Dynamic(OBJECT if name == "shape" else t, f"{{}}.{name}", (base,), at=base.at)

    # -- operators ----------------------------------------------------------------------------------

    def _NumBinopNode(self, node: Any) -> Expression:
        left, right = self.lower_value(node.operand1), self.lower_value(node.operand2)
        return self.operate(str(node.operator), left, right, node)

    def operate(self, op: str, left: Expression, right: Expression, node: Any) -> Expression:
        """``left op right``; ``node`` is the operation with Cython's type."""
        at = left.at if left.at.line else self.find_position(node)
        kind = find_ir_type(node.type)
        if not (left.type.arithmetic and right.type.arithmetic and kind.arithmetic):
            if "a" in (left.type.kind, right.type.kind) and not {"o", "?"} & {left.type.kind, right.type.kind}:
                return Binary(kind, op, left, right, at=at)  # type: ignore[arg-type]
            return Dynamic(kind, f"{{}} {op} {{}}", (left, right), at=at)
        raises = bool(getattr(node, "overflow_check", False))
        if op in ("<<", ">>"):
            t, count = promote(left.type), self.convert(right, promote(right.type))
            return Binary(t, op, self.convert(left, t), count, overflow_raises=raises, at=at)  # type: ignore[arg-type]
        t, python = convert_usually(left.type, right.type), False
        if op in ("/", "//", "%"):
            python = self._divides_as_python(node)
            if kind.kind == "f" and t.integral:
                t = kind  # the true division of integers
            elif kind.integral:
                op = "/" if op == "//" and not python else "//" if op == "/" and python else op
                t = kind if python else t
        elif op == "**" and node.type is PyrexTypes.soft_complex_type:
            # A complex number that Cython takes for a double, or for TypeError.
            left, right, t, python = _find_real(left), _find_real(right), DOUBLE, True
        elif op == "**":
            t = kind
        sides = self.convert(left, t), self.convert(right, t)
        return Binary(t, op, *sides, python, raises and t.integral, at=at)  # type: ignore[arg-type]

    def _divides_as_python(self, node: Any) -> bool:
        own = getattr(node, "cdivision", None)
        return not (self.directives.get("cdivision") if own is None else own)

    def _UnaryMinusNode(self, node: Any) -> Expression:
        value = self.lower_value(node.operand)
        return self._lower_unary("-", value, node)

    def _TildeNode(self, node: Any) -> Expression:
        return self._lower_unary("~", self.lower_value(node.operand), node)

    def _UnaryPlusNode(self, node: Any) -> Expression:
        value = self.lower_value(node.operand)
        return value if value.type.arithmetic else Dynamic(OBJECT, "+{}", (value,), at=self.find_position(node))

    def _lower_unary(self, op: Any, value: Expression, node: Any) -> Expression:
        if not value.type.arithmetic:
            return Dynamic(find_ir_type(node.type), f"{op}{{}}", (value,), at=self.find_position(node))
        t = promote(value.type)
        return Unary(t, op, self.convert(value, t), at=self.find_position(node))

    def _NotNode(self, node: Any) -> Expression:
        return Unary(BOOL, "!", self.test(node.operand), at=self.find_position(node))

    def _PrimaryCmpNode(self, node: Any) -> Expression:
        t = find_ir_type(node.type)
        values, ops, item = [self.lower_value(node.operand1)], [], node
        while item is not None:
            values.append(self.lower_value(item.operand2))
            ops.append(_COMPARISONS.get(str(item.operator), str(item.operator)))
            item = item.cascade
        pairs = zip(values, ops, values[1:], strict=False)
        numbers = all(v.type.arithmetic or v.type.kind == "a" for v in values)
        repeated = all(_is_repeatable(v) for v in values[1:-1])
        if t.kind != "b" or not numbers or not repeated or {"in", "not in", "is", "is not"} & {*ops}:
            text = "{}" + "".join(f" {op} {{}}" for op in ops)
            return Dynamic(t, text, tuple(values), at=values[0].at)
        compared = [self._lower_comparison(op, left, right) for left, op, right in pairs]
        result: Expression = compared[0]
        for other in compared[1:]:
            result = Logical(BOOL, "&&", result, other, at=result.at)
        return result

    def _lower_comparison(self, op: Any, left: Expression, right: Expression) -> Expression:
        if left.type.arithmetic and right.type.arithmetic:
            t = convert_usually(left.type, right.type)
            left, right = self.convert(left, t), self.convert(right, t)
        return Binary(BOOL, op, left, right, at=left.at)

    def _BoolBinopNode(self, node: Any) -> Expression:
        word = str(node.operator)
        if find_ir_type(node.type).kind == "b":
            left, right = self.test(node.operand1), self.test(node.operand2)
            return Logical(BOOL, "&&" if word == "and" else "||", left, right, at=left.at)
        left, right = self.lower_value(node.operand1), self.lower_value(node.operand2)
        return Dynamic(find_ir_type(node.type), f"{{}} {word} {{}}", (left, right), at=left.at)

    def _CondExprNode(self, node: Any) -> Expression:
        t = find_ir_type(node.type)
        test = self.test(node.condition if hasattr(node, "condition") else node.test)  # Cython 3.1 calls it test
        yes, no = self.lower_value(node.true_val), self.lower_value(node.false_val)
        return Conditional(t, test, self.convert(yes, t), self.convert(no, t), at=yes.at)

    def _SizeofNode(self, node: Any) -> Expression:
        kind = getattr(node, "arg_type", None) or node.operand.type
        size = find_ir_type(kind).size
        if size is None:
            raise Unsaid(f"uses `{self.cell.shorten_line(node)}`")
        return Constant(SIZE, size, f"sizeof({kind})", at=self.find_position(node))

    def _DereferenceNode(self, node: Any) -> Expression:
        base = self.lower_value(node.operand)
        if base.type.kind != "a":
            raise self.make_unsaid(node)
        return Element(find_ir_type(node.type), base, Constant(INT, 0), at=base.at)

    def _AmpersandNode(self, node: Any) -> Expression:
        place: Any = self.lower_value(node.operand)
        return AddressOf(find_ir_type(node.type), place, at=self.find_position(node))

    def _EvalWithTempExprNode(self, node: Any) -> Expression:
        if (items := self._find_extreme(node)) is not None:
            word, nodes = items
            t, values = find_ir_type(node.type), [self.lower_value(n) for n in nodes]
            if t.arithmetic and all(v.type.arithmetic for v in values):
                arguments = tuple(self.convert(v, t) for v in values)
                return FunctionCall(t, f"std::{word}", arguments, "library", at=values[0].at)
            return Dynamic(t, f"{word}({', '.join(['{}'] * len(values))})", tuple(values), at=values[0].at)
        value = self.lower_value(node.temp_expression)
        if not _is_repeatable(value):
            raise self.make_unsaid(node)
        self.known[id(node.lazy_temp)] = value
        return self.lower(node.subexpression)

    def _find_extreme(
        self, node: Any, around: Mapping[int, Any] = MappingProxyType({})
    ) -> tuple[str, list[Any]] | None:
        """``min`` or ``max``, and its arguments: Cython has written the comparisons out already."""
        values = {**around}
        while type(node).__name__ == "EvalWithTempExprNode":
            values[id(node.lazy_temp)] = node.temp_expression
            node = node.subexpression
        if type(node).__name__ != "CondExprNode":
            return None
        test = node.condition if hasattr(node, "condition") else node.test
        while type(test).__name__ in ("CoerceToTempNode", "CoerceToBooleanNode"):
            test = test.arg
        yes, no = map(strip_coercions, (node.true_val, node.false_val))
        if type(test).__name__ != "PrimaryCmpNode" or not {id(yes), id(no)} <= values.keys():
            return None
        word = {"<": "min", ">": "max"}.get(str(test.operator))
        if word is None:
            return None
        first, second = values[id(no)], values[id(yes)]
        nested = self._find_extreme(first, values) if type(first).__name__ == "EvalWithTempExprNode" else None
        return word, [*(nested[1] if nested is not None and nested[0] == word else [first]), second]

    # -- sequences and subscripts -------------------------------------------------------------------

    def _TupleNode(self, node: Any) -> Expression:
        items = tuple(self.lower_value(item) for item in node.args)
        t = find_ir_type(node.type)
        if t.kind == "t":
            fields = [of for _, of in t.fields]
            return Aggregate(t, tuple(map(self.convert, items, fields)), at=self.find_position(node))
        text = ", ".join(["{}"] * len(items)) + ("," if len(items) == 1 else "")
        return Dynamic(OBJECT, f"({text})", items, at=self.find_position(node))

    def _ListNode(self, node: Any) -> Expression:
        items = tuple(self.lower_value(item) for item in node.args)
        t = find_ir_type(node.type)
        if t.kind == "a":
            return Aggregate(t, tuple(self.convert(i, t.of or OBJECT) for i in items), at=self.find_position(node))
        return Dynamic(OBJECT, f"[{', '.join(['{}'] * len(items))}]", items, at=self.find_position(node))

    _CArrayNode = _ListNode

    def _SetNode(self, node: Any) -> Expression:
        items = tuple(self.lower_value(item) for item in node.args)
        return Dynamic(OBJECT, f"{{{{{', '.join(['{}'] * len(items))}}}}}", items, at=self.find_position(node))

    def _DictNode(self, node: Any) -> Expression:
        t = find_ir_type(node.type)
        if t.kind == "V":
            values = {str(item.key.value): self.lower_value(item.value) for item in node.key_value_pairs}
            items = tuple(self.convert(values[name], of) for name, of in t.fields if name in values)
            return Aggregate(t, items, at=self.find_position(node))
        pairs = [self.lower_value(part) for item in node.key_value_pairs for part in (item.key, item.value)]
        text = ", ".join(["{}: {}"] * len(node.key_value_pairs))
        return Dynamic(OBJECT, f"{{{{{text}}}}}" if pairs else "{}", tuple(pairs), at=self.find_position(node))

    def _IndexNode(self, node: Any) -> Expression:
        base_node = node.base
        if type(base_node).__name__ == "AttributeNode" and base_node.attribute == "shape":
            axis = getattr(node.index, "constant_result", None)
            of = self.lower_value(base_node.obj)
            if of.type.kind == "a" and isinstance(axis, int):
                return Length(INDEX, of, axis % of.type.depth, at=of.at)
        base = self.lower_value(base_node)
        if base.type.kind == "a":
            return Element(find_ir_type(node.type), base, self.lower_value(node.index), at=base.at)
        if base.type.kind == "?":
            raise Unsaid(f"uses the type `{base.type.name}`")
        text, operands = self._lower_subscript([node.index])
        return Dynamic(find_ir_type(node.type), f"{{}}[{text}]", (base, *operands), at=base.at)

    def _BufferIndexNode(self, node: Any) -> Expression:
        element = self.lower_value(node.base)
        for index in node.indices:
            at = self.lower_value(index)
            if element.type.of is None:
                raise Unsaid(f"uses `{self.cell.shorten_line(node)}`")
            element = Element(
                element.type.of,
                element,
                at,
                bool(self.directives.get("wraparound", True)) and at.type.kind != "u",
                bool(self.directives.get("boundscheck", True)),
                at=element.at,
            )
        return element

    def _MemoryViewSliceNode(self, node: Any) -> Expression:
        base = self.lower_value(node.base)
        text, operands = self._lower_subscript(node.original_indices)
        return Dynamic(find_ir_type(node.type), f"{{}}[{text}]", (base, *operands), at=base.at)

    def _SliceIndexNode(self, node: Any) -> Expression:
        base = self.lower_value(node.base)
        text, operands = self._slice(node.start, node.stop, None)
        return Dynamic(find_ir_type(node.type), f"{{}}[{text}]", (base, *operands), at=base.at)

    def _SliceNode(self, node: Any) -> Expression:
        raise Unsaid(f"uses `{self.cell.shorten_line(node)}`")

    def _lower_subscript(self, indices: Sequence[Any]) -> tuple[str, tuple[Expression, ...]]:
        """A subscript's template and operands."""
        if len(indices) == 1 and type(indices[0]).__name__ == "TupleNode" and indices[0].type.is_pyobject:
            indices = indices[0].args
        texts: list[str] = []
        operands: list[Expression] = []
        for index in indices:
            if type(index).__name__ == "SliceNode":
                text, values = self._slice(index.start, index.stop, index.step)
                texts.append(text)
                operands += values
            else:
                texts.append("{}")
                operands.append(self.lower_value(index))
        return ", ".join(texts), tuple(operands)

    def _slice(self, *ends: Any) -> tuple[str, tuple[Expression, ...]]:
        values = [None if end is None or type(end).__name__ == "NoneNode" else self.lower_value(end) for end in ends]
        texts = ["" if end is None else "{}" for end in values]
        return ":".join(texts if texts[2] else texts[:2]), tuple(end for end in values if end is not None)

    # -- comprehensions -----------------------------------------------------------------------------

    def _GeneratorExpressionNode(self, node: Any) -> Expression:
        return self._lower_comprehension("({})", node.def_node.gbody.body, node)

    def _ComprehensionNode(self, node: Any) -> Expression:
        brackets = {"list": "[{}]", "set": "{{{{{}}}}}"}.get(node.type.name)
        if brackets is None:
            raise self.make_unsaid(node)
        return self._lower_comprehension(brackets, node.loop, node)

    def _lower_comprehension(self, brackets: str, inner: Any, node: Any) -> Expression:
        """A template with the item, and with the target, the iterable and the tests of each loop."""
        clauses, operands = "", list[Expression]()
        while (word := type(inner).__name__) not in ("ExprStatNode", "ComprehensionAppendNode"):
            if word == "StatListNode" and len(inner.stats) == 1:
                inner = inner.stats[0]
            elif word == "ForInStatNode" and inner.else_clause is None:
                clauses += " for {} in {}"
                operands += [self.lower(inner.target), self.lower_value(inner.iterator.sequence)]
                inner = inner.body
            elif word == "IfStatNode" and len(inner.if_clauses) == 1 and inner.else_clause is None:
                clauses += " if {}"
                operands.append(self.test(inner.if_clauses[0].condition))
                inner = inner.if_clauses[0].body
            else:
                raise self.make_unsaid(node)
        item = inner.expr.arg if type(inner.expr).__name__ == "YieldExprNode" else inner.expr
        values = (self.lower_value(item), *operands)
        if any(isinstance(each, OpaqueExpression) for value in values for each in walk(value)):
            raise self.make_unsaid(node)
        return Dynamic(OBJECT, brackets.format(f"{{}}{clauses}"), values, at=self.find_position(node))

    # -- calls --------------------------------------------------------------------------------------

    def _SimpleCallNode(self, node: Any) -> Expression:
        function = node.function
        if str(getattr(function, "cname", "")).endswith("SoftComplexToDouble"):
            return self.lower(node.args[0])
        kind = function.type
        if kind is not None and kind.is_ptr and kind.base_type.is_cfunction:
            kind = kind.base_type
        if kind is not None and kind.is_cfunction:
            return self._lower_c_call(node, function, kind)
        args = node.arg_tuple.args if node.args is None else node.args
        return self._lower_python_call(node, args, ())

    def _GeneralCallNode(self, node: Any) -> Expression:
        positional, keywords = node.positional_args, node.keyword_args
        if type(positional).__name__ != "TupleNode" or (keywords is not None and type(keywords).__name__ != "DictNode"):
            raise Unsaid(f"calls with unpacked arguments: `{self.cell.shorten_line(node)}`")
        pairs = keywords.key_value_pairs if keywords is not None else ()
        if not all(hasattr(p.key, "value") for p in pairs):
            raise Unsaid(f"calls with unpacked arguments: `{self.cell.shorten_line(node)}`")
        return self._lower_python_call(node, positional.args, [(str(p.key.value), p.value) for p in pairs])

    def _lower_python_call(self, node: Any, args: Sequence[Any], keywords: Sequence[tuple[str, Any]]) -> Expression:
        values = tuple(self.lower_value(arg) for arg in (*args, *(value for _, value in keywords)))
        name = str(getattr(node.function, "name", ""))
        entry = getattr(node.function, "entry", None)
        own = name in self.cell.names and entry is not None and entry.scope is self.cell.scope
        if own and not keywords:
            self.calls[name] = None
            return FunctionCall(OBJECT, name, values, "cell", at=self.find_position(node.function))
        texts = [*(["{}"] * len(args)), *(f"{word}={{}}" for word, _ in keywords)]
        callee = self.lower_value(node.function)
        if isinstance(callee, Dynamic):
            return Dynamic(OBJECT, f"{callee.template}({', '.join(texts)})", (*callee.operands, *values), at=callee.at)
        return Dynamic(OBJECT, f"{{}}({', '.join(texts)})", (callee, *values), at=callee.at)

    def _lower_c_call(self, node: Any, function: Any, kind: Any) -> Expression:
        entry, t = getattr(function, "entry", None), find_ir_type(node.type)
        at = self.find_position(function)
        values = [self.lower_value(arg) for arg in node.args]
        if entry is not None and str(entry.func_cname).endswith("__get__"):  # a property of an extension type
            return Dynamic(t, f"{{}}.{entry.scope.name}", tuple(values), at=at)
        if type(function).__name__ == "AttributeNode" and function.obj.type is not None:
            through = self.lower_value(function.obj)
            if through.type.kind == "c":
                return Dynamic(t, f"{{}}.{function.attribute}()", (through,), at=at)
            return FunctionCall(t, str(function.attribute), tuple(values), "unknown", -1, through, at=at)
        if entry is None:
            return FunctionCall(t, "", tuple(values), "unknown", -1, self.lower_value(function), at=at)
        if getattr(entry.scope, "is_builtin_scope", False) and not self._is_math(entry):
            return self._lower_builtin(str(function.name), values, t, at)
        cname = _HELPERS.get(str(entry.cname), str(entry.cname))
        parameters = [find_ir_type(arg.type) for arg in kind.args]
        if cname not in _GENERIC:
            values = [self.convert(v, p) for v, p in zip(values, parameters, strict=False)] + values[len(parameters) :]
        if id(entry) in self.cell.functions:
            name, place = self.cell.functions[id(entry)]
            self.calls[name] = None
            return FunctionCall(t, name, tuple(values), "cell", place, at=at)
        module = str(getattr(entry.scope, "qualified_name", ""))
        library = entry.visibility == "extern" and module.startswith(("libc.", "libcpp.", "__builtin__"))
        return FunctionCall(t, cname, tuple(values), "library" if library else "unknown", at=at)

    @staticmethod
    def _is_math(entry: Any) -> bool:
        """Whether a builtin is one of C's functions here: ``abs`` of a number."""
        return str(entry.name) == "abs" and not entry.type.return_type.is_pyobject

    def _lower_builtin(self, name: str, values: Sequence[Expression], t: CType, at: Position) -> Expression:
        if name == "len" and len(values) == 1:
            inner = values[0].value if isinstance(values[0], Convert) else values[0]
            if inner.type.kind == "a":
                return Length(INDEX, inner, at=at)
        return Dynamic(t, f"{name}({', '.join(['{}'] * len(values))})", tuple(values), at=at)


def _read_whole_number(text: str) -> tuple[int, str] | None:
    """The value of an integer literal, and its text where that is not plain."""
    digits = text.replace("_", "").rstrip("uUlL")
    try:
        return int(digits, 0), "" if digits.lstrip("-").isdecimal() else digits
    except ValueError:
        return None


def _find_real(value: Expression) -> Expression:
    """The number that was converted to a complex one."""
    while isinstance(value, Convert) and value.type.kind == "c":
        value = value.value
    return value


def strip_coercions(node: Any) -> Any:
    """The node below conversions and temporary variables."""
    while hasattr(node, "arg") and type(node).__name__.startswith(("Coerce", "Clone", "Proxy")):
        node = node.arg
    return node


def _is_repeatable(value: Expression) -> bool:
    """Whether a value may be written twice: it calls nothing and changes nothing."""
    repeatable = (Name, Constant, Convert, Element, Field, Length, Binary, Unary)
    return all(isinstance(node, repeatable) for node in walk(value))
