"""C's calls -> the IR's (C17 6.5.2.2): functions of the cell with overloads, the library, casts that read as calls."""

from __future__ import annotations

from collections.abc import Sequence

from tree_sitter import Node

from ...ir import (
    CONTAINER,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    SIZE,
    VOID,
    AddressOf,
    Binary,
    Constant,
    Convert,
    CType,
    Expression,
    Field,
    FunctionCall,
    Length,
    MathFunction,
    Name,
    Symbol,
    convert_usually,
    find_header_constant,
    find_math_function,
    is_pure,
    promote,
    spell_c_name,
)
from .c_tree import take_text, walk
from .expression_lowering import ExpressionLowerer
from .lowering_context import find_root_symbol, list_parts, part
from .lowering_values import Head
from .type_lowering import UNKNOWN

#: Members of ``std::numeric_limits`` -> the macro of <float.h> or <math.h> for double.
_NUMERIC_LIMITS = {
    "max": "DBL_MAX",
    "min": "DBL_MIN",
    "epsilon": "DBL_EPSILON",
    "infinity": "INFINITY",
    "quiet_NaN": "NAN",
}
_CASTS = frozenset(("static_cast", "const_cast", "reinterpret_cast", "bit_cast", "dynamic_cast"))
#: Methods that change the length of no container.
_KEEPING = frozenset("begin end rbegin rend cbegin cend crbegin crend data fill sum min max".split())
_NAMED = frozenset(
    "identifier type_identifier primitive_type sized_type_specifier template_function template_type "
    "qualified_identifier".split()
)
#: C++'s functions of complex numbers that have another name in C.
_COMPLEX_NAMES = {"arg": "carg", "real": "creal", "imag": "cimag", "norm": "__norm", "abs": "cabs", "proj": "cproj"}


class CallLowerer(ExpressionLowerer):
    """Lowers what looks like a call."""

    def _lower_call(self, node: Node) -> Expression:
        function, listed = part(node, "function"), node.child_by_field_name("arguments")
        if function is None or listed is None:
            return self.make_opaque(node)
        nodes = list_parts(listed)
        if function.type == "field_expression":
            return self._lower_method(function, nodes, node)
        name = _find_plain_name(function)
        local = self.find_variable(name)
        if function.type not in _NAMED or local is not None:
            through = self.lower_value(function)
            values = self._lower_values(nodes)
            self._touch(values)
            return self._make_call(node, UNKNOWN, name, values, through=through)
        short = name.rpartition("::")[2]
        if not name.startswith("std::") and self.scope.find_definitions(short):
            return self._lower_own_call(short, nodes, node)
        if name.endswith(f"numeric_limits::{short}") and (limit := self._read_numeric_limit(function, short, node)):
            return limit
        if short in _CASTS:
            described = next((n for n in walk(function) if n.type == "type_descriptor"), None)
            if described is not None and len(nodes) == 1:
                return self.cast(self.lower_value(nodes[0]), described, node)
        t = self.types.find_type(" ".join(take_text(function).split()))
        if t.kind == "c" and len(nodes) == 2:
            return self.lower_initial(listed, t)[0]
        if t.kind not in "?V" and len(nodes) == 1:
            return Convert(at=self.find_position(node), type=t, value=self.lower_value(nodes[0]), explicit=True)
        if t.arithmetic and not nodes:
            return self.lower_initial(listed, t)[0]
        if self.scope.is_class(name):
            return self.make_opaque(node, f"calls `{name}`, which Python does not have", t)
        return self._lower_library_call(name, self._lower_values(nodes), node)

    def _read_numeric_limit(self, function: Node, member: str, node: Node) -> Expression | None:
        """``std::numeric_limits<T>::max()`` as a constant."""
        described = next((n for n in walk(function) if n.type == "type_descriptor"), None)
        t = self.read_described_type(described) if described is not None else UNKNOWN
        if t.integral and member in ("max", "min", "lowest"):
            return Constant(at=self.find_position(node), type=t, value=t.high if member == "max" else t.low)
        macro = _NUMERIC_LIMITS.get(member, "")
        limit = find_header_constant(macro.replace("DBL", "FLT") if t == FLOAT else macro)
        if limit is None or t not in (FLOAT, DOUBLE):
            return None
        return Constant(at=self.find_position(node), type=t, value=limit.value, spelling=limit.spelling)

    def _lower_values(self, nodes: Sequence[Node]) -> list[Expression]:
        return [self.lower_value(n) for n in nodes]

    def _make_call(
        self,
        node: Node,
        t: CType,
        name: str,
        arguments: Sequence[Expression],
        target: str = "unknown",
        through: Expression | None = None,
        spelling: str = "",
    ) -> FunctionCall:
        return FunctionCall(
            spelling=spelling if spelling != name else "",
            at=self.find_position(node),
            type=t,
            name=name,
            arguments=tuple(arguments),
            target=target,  # type: ignore[arg-type]
            through=through,
        )

    def _touch(self, arguments: Sequence[Expression]) -> None:
        """Remember what a call may change that is not known: what pointers lead to, and in C++ any variable."""
        self.stores += 1
        if self.cplus:
            for argument in arguments:
                if isinstance(argument, Name):
                    self.resized.add(argument.symbol)
                    self.change(argument)

    def _lower_method(self, function: Node, nodes: Sequence[Node], node: Node) -> Expression:
        owner, field = part(function, "argument"), function.child_by_field_name("field")
        if owner is None or field is None:
            return self.make_opaque(node)
        base, name = self.lower_value(owner), take_text(field)
        if base.type.kind == "c" and name in ("real", "imag") and not nodes:
            return Field(at=self.find_position(node), type=CType("f", base.type.bits), base=base, name=name)
        values = self._lower_values(nodes)
        if base.type.kind == "a" and (read := self._read_container(base, name, values, node)) is not None:
            return read
        self.change(base)
        self.resized |= {find_root_symbol(base)} if name not in _KEEPING else set()
        self._touch(values)
        return self._make_call(node, UNKNOWN, take_text(function), values, "method", through=base)

    def _read_container(
        self, base: Expression, name: str, values: Sequence[Expression], node: Node
    ) -> Expression | None:
        """A method of a container that the IR can say, None for others."""
        at, t = self.find_position(node), base.type
        size = Length(at=at, type=SIZE, base=base) if t.length is None else Constant(at=at, type=SIZE, value=t.length)
        zero, one = (Constant(type=SIZE, value=number) for number in (0, 1))
        match name, len(values):
            case (("size" | "length"), 0):
                return size
            case "empty", 0:
                return Binary(at=at, type=self.truth, op="==", left=size, right=zero)
            case (("at" | "front"), (0 | 1)):
                return self.lower_element(base, values[0] if values else zero, node)
            case "back", 0:
                return self.lower_element(base, Binary(at=at, type=SIZE, op="-", left=size, right=one), node)
        return None

    # -- functions of the cell --------------------------------------------------------------------

    def _lower_own_call(self, name: str, nodes: Sequence[Node], node: Node) -> Expression:
        self.calls[name] = None
        values = self._lower_values(nodes)
        heads = self.scope.find_heads(name)
        chosen = self._choose_overload(heads, [v.type for v in values])
        if chosen is None:
            self._touch(values)
            return FunctionCall(
                at=self.find_position(node),
                type=UNKNOWN,
                name=name,
                arguments=tuple(values),
                target="cell",
                overload=-1,
            )
        head = heads[chosen]
        for missing in head.defaults[len(values) :]:
            if missing is not None:
                values.append(self.scope.lower_constant(missing))
        arguments = []
        for position, e in enumerate(values):
            symbol = head.parameters[position] if position < len(head.parameters) else None
            if symbol is not None and symbol.type.name == CONTAINER:
                self.resized |= {find_root_symbol(e)} if not symbol.const else set()
                if self.scope.changes(symbol.name) and not symbol.const:
                    e = self.make_opaque(nodes[position], "passes a container that a function changes")
            elif symbol is not None and symbol.reference and not symbol.const:
                self.change(e)
            elif symbol is not None:
                e = self.convert(e, symbol.type)
            if e.type.kind == "a":
                self.stores += 1
            arguments.append(e)
        returns = self.scope.returns(name, chosen)
        several = CType("t", fields=tuple((str(k), t) for k, t in enumerate(returns)))
        t = VOID if not returns else returns[0] if len(returns) == 1 else several
        return FunctionCall(
            at=self.find_position(node), type=t, name=name, arguments=tuple(arguments), target="cell", overload=chosen
        )

    def _choose_overload(self, heads: Sequence[Head], types: Sequence[CType]) -> int | None:
        """The overload that a call of these arguments is of (C++17 16.3); None where that is not clear."""
        if len(heads) == 1:
            return 0
        viable = []
        for index, head in enumerate(heads):
            required = len(head.parameters) - sum(1 for d in head.defaults if d is not None)
            if required <= len(types) <= len(head.parameters):
                ranks = [_rank(t, p) for t, p in zip(types, head.parameters, strict=False)]
                if max(ranks, default=0) < 9:
                    viable.append((index, ranks))
        best = [
            index
            for index, ranks in viable
            if all(
                all(a <= b for a, b in zip(ranks, others, strict=True)) and (ranks != others or index == other)
                for other, others in viable
            )
        ]
        return best[0] if len(best) == 1 else None

    # -- the library ------------------------------------------------------------------------------

    def _lower_library_call(self, name: str, values: list[Expression], node: Node) -> Expression:
        short = name.removeprefix("__builtin_").removeprefix("std::")
        if self.cplus and values and all(v.type.arithmetic for v in values) and short in ("min", "max", "clamp"):
            t = values[0].type
            for v in values[1:]:
                t = t if t == v.type else convert_usually(t, v.type)
            return self._make_call(node, t, name, [self.convert(v, t) for v in values], "library")
        resolved = self._resolve_name(name, short, values)
        entry = find_math_function(resolved)
        if entry is None:
            if not is_pure(short):
                self._touch(values)
            for v in values:
                if isinstance(v, AddressOf):
                    self.stores += 1
            return self._make_call(node, UNKNOWN, name, values, "library" if is_pure(short) else "unknown")
        row, t = entry
        if any(not v.type.arithmetic and v.type.kind != "a" for v in values):
            return self._make_call(
                node, self._find_result_type(row.result, t, values), resolved, values, "library", spelling=name
            )
        if row.integer is not None or row.result in ("float", "long", "complex", "real") or row.name == "ilogb":
            values = [self._convert_argument(v, position, row, t) for position, v in enumerate(values)]
        return self._make_call(
            node, self._find_result_type(row.result, t, values), resolved, values, "library", spelling=name
        )

    def _convert_argument(self, e: Expression, position: int, row: MathFunction, t: CType) -> Expression:
        """An argument of a function of <math.h>, converted to its parameter's type."""
        if not e.type.arithmetic:
            return e
        if row.integer is not None and row.integer[0] == position:
            return self.convert(e, row.integer[1])
        complex_parts = row.name in ("CMPLX", "complex")
        if (row.result in ("complex", "real") and not complex_parts) and (not self.cplus or e.type.kind == "c"):
            return self.convert(e, CType("c", t.bits))
        return self.convert(e, t)

    def _resolve_name(self, name: str, short: str, values: Sequence[Expression]) -> str:
        """C's name of the function that C++ (C++17 29.9.1, 29.5) or <tgmath.h> (C17 7.25) takes for these arguments."""
        if not values or not all(v.type.arithmetic for v in values[:1]):
            return name
        numbers = [v.type for v in values if v.type.arithmetic]
        if not self.cplus and (not self.scope.generic_math or short == "abs" or any(t.kind == "c" for t in numbers)):
            return name
        if any(t.kind == "c" for t in numbers):
            row = find_math_function(_COMPLEX_NAMES.get(short, short if short.startswith("c") else f"c{short}"))
            if row is None or row[0].result not in ("complex", "real"):
                row = find_math_function(_COMPLEX_NAMES.get(short, f"c{short}")) or find_math_function(short)
            if row is None:
                return name
            bits = max(t.bits for t in numbers if t.kind in "fc")
            return spell_c_name(row[0], CType("f", bits)) if row[0].name != "__norm" else "__norm"
        if short in ("real", "imag", "arg", "norm"):
            return name
        if short == "popcount" and name.startswith("std::"):
            return "popcountll" if numbers[0].bits == 64 else short
        three = short == "hypot" and len(values) == 3
        row = find_math_function("__hypot3" if three else short)
        if row is None or not (three or (row[0].name == short and not short.startswith("__"))) or not row[0].suffixes:
            if short == "abs" and numbers[0].kind == "f":
                return spell_c_name(find_math_function("fabs")[0], numbers[0])  # type: ignore[index]
            if short == "abs" and numbers[0].integral:
                return "llabs" if promote(numbers[0]).bits == 64 and LONG.bits == 32 else _choose_abs(numbers[0])
            return name
        if name.startswith("__builtin_") or row[0].result in ("complex", "real"):
            return name
        count = row[0].integer[0] if row[0].integer is not None else -1
        floating = [t for position, t in enumerate(numbers) if position != count]
        if floating and all(t == FLOAT for t in floating):
            return spell_c_name(row[0], FLOAT)
        wide = CType("f", 80)
        return spell_c_name(row[0], wide) if wide in floating else row[0].name

    def _find_result_type(self, result: str, t: CType, values: Sequence[Expression]) -> CType:
        match result:
            case "int":
                return INT
            case "long":
                return LONG
            case "bool":
                return self.truth
            case "complex":
                return CType("c", t.bits)
            case "same":
                return values[0].type if values else DOUBLE
        return t


def _choose_abs(t: CType) -> str:
    return "abs" if promote(t).bits == 32 else "labs"


def _rank(t: CType, parameter: Symbol) -> int:
    """How well an argument fits a parameter: 0 exact, 1 promoted, 2 converted, 9 not at all."""
    to = parameter.type
    if t == to or "?" in (t.kind, to.kind):
        return 0
    if t.kind == to.kind == "a":
        return 0 if t.depth == to.depth and t.element == to.element else 9
    if not (t.arithmetic and to.arithmetic):
        return 9
    if parameter.reference and not parameter.const:
        return 9
    if (t.integral and promote(t) == to) or (t == FLOAT and to == DOUBLE):
        return 1
    return 2


def _find_plain_name(function: Node) -> str:
    """The name that is called, without template arguments."""
    words: list[str] = []
    while True:
        while function.type in ("template_function", "template_type", "dependent_name") and (
            inner := part(function, "name")
        ):
            function = inner
        scope, name = function.child_by_field_name("scope"), part(function, "name")
        if function.type != "qualified_identifier" or name is None:
            return "::".join([*words, take_text(function)])
        words += [_find_plain_name(scope)] if scope is not None else []
        function = name
