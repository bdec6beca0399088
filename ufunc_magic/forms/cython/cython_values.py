"""Cython's expressions as Python's: plain in the text that is timed, with C's answers in the checked one.

Where an operand is a Python object, Cython itself uses Python's operators, and so does every text.  The rules
are those of Cython's directives ``cdivision``, ``cpow`` and ``language_level``; conversions and wrapping of C
integers are those of C.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ...ir import BOOL, COMPLEX, DOUBLE, FLOAT, INT, LONG, CType, promoted, usual
from ..arithmetic_expressions import COMPARISONS, Arithmetic, constant, header_constant
from ..math_names import HELPERS
from ..value import Expr, Variable, call, length, negation, number, operation, python
from .cython_cell import CythonCell, CythonRoutine
from .cython_tree import dotted, kind, stop
from .cython_types import INDEX, OBJECT

#: Constants from here on are taken for those of a hash or a random number generator.
_MIXING = 1 << 14
#: No array has more elements.
_MOST = 1 << 48

#: Functions that a checked text brings along, beside C's.
OWN_HELPERS = {
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


class Unknown(Exception):
    """Internal: the type of an untyped variable is not known yet."""


class Values(Arithmetic):
    """Translates what can be read, but calls.  ``directives`` are the function's.

    ``wraps`` without ``checked``: integers have marks where C's rules may matter, and all else is plain.
    """

    cell: CythonCell
    stop = staticmethod(stop)

    def __init__(self, cell: CythonCell, *, checked: bool, wraps: bool, directives: Mapping[str, Any]) -> None:
        super().__init__(cell, checked=checked)
        self.wraps = wraps
        self.cdivision = bool(directives.get("cdivision"))
        self.cpow: bool | None = directives.get("cpow")
        self.floor_division = str(directives.get("language_level", 3)) == "2"
        self.variables: dict[str, Variable] = {}
        self.untyped: dict[str, CType | None] = {}
        self.routine: CythonRoutine | None = None

    def value(self, node: Any) -> Expr:
        e: Expr = self._method_for(node)(node)
        return e

    def _method_for(self, node: Any) -> Callable[[Any], Any]:
        """The method that bears the name of the node's class, or of one that it derives from."""
        for name in (base.__name__ for base in type(node).__mro__):
            if method := getattr(self, f"_{name}", None):
                return method  # type: ignore[no-any-return]
        raise stop(f"uses `{self.brief(node)}`, which has no Python form", node)

    def value_for(self, node: Any, t: CType) -> Expr:
        """The value of ``node`` where it is put into a ``t`` at once: Cython reads ``**`` differently there."""
        if kind(node) == "PowNode" and t.arithmetic:
            e = self._direct_power(self.value(node.operand1), self.value(node.operand2), t)
            if e is not None:
                return e
        return self.value(node)

    def brief(self, node: Any) -> str:
        """The line of the cell in which a node stands, shortened."""
        line = self.cell.lines[node.pos[1] - 1].strip() if node.pos and node.pos[1] <= len(self.cell.lines) else ""
        return line if len(line) <= 60 else line[:57] + "..."

    # -- conversions ------------------------------------------------------------------------------

    def convert(self, e: Expr, t: CType, *, node: Any = None, final: bool = False) -> Expr:
        if t.kind == "v" or e.type.kind == "v":
            raise stop("uses the value of a function that returns none", node)
        if "p" in (t.kind, e.type.kind):
            raise stop("uses a pointer", node)
        if t.kind == "o":
            return replace(self.settle(e), type=OBJECT, low=None, high=None)
        if not t.arithmetic:
            if e.type.kind != t.kind and not {e.type.kind, t.kind} <= set("oat"):
                raise stop("mixes numbers and arrays", node)
            return replace(e, type=t)
        if e.type.kind == "o":
            return self._from_object(e, t)
        if not e.type.arithmetic:
            raise stop("uses an array where a number is expected", node)
        if not self.checked:
            if self.wraps and e.type.kind in "iu" and t.kind in "iu":
                return self.to_integer(e, t)
            e = self.settle(e)
            return e if e.type == t else replace(e, type=t, low=None, high=None)
        return super().convert(e, t, node=None, final=final)

    def _from_object(self, e: Expr, t: CType) -> Expr:
        if not self.checked:
            return replace(e, type=t)
        match t.kind:
            case "b":
                return Expr(call("bool", e), BOOL, truth=True)
            case "i" | "u":
                return Expr(call("_as_int", e, t.low, t.high), t)
            case "f":
                return self.rounded(Expr(call("float", e), t))
        return Expr(call("complex", e), t)

    def cast(self, e: Expr, t: CType, node: Any) -> Expr:
        """``<t>e``."""
        if self.checked or e.type.kind not in "biufco" or not t.arithmetic:
            return self.convert(e, t, node=node)
        e = self.settle(e)
        if e.type.kind == "o":
            word = {"b": "bool", "f": "float", "c": "complex"}.get(t.kind, "int")
            return Expr(call(word, e), t, truth=t.kind == "b")
        if t.kind == "i" and e.type.integral and not self.wraps:
            return replace(e, type=t, low=None, high=None)
        return super().convert(e, t, node=node)

    def common(self, left: CType, right: CType, node: Any) -> CType:
        numbers = left.arithmetic and right.arithmetic
        return super().common(left, right, node) if numbers or left == right else OBJECT

    # -- operators --------------------------------------------------------------------------------

    def operate(self, op: str, left: Expr, right: Expr, node: Any) -> Expr:
        """``left op right`` for every operator but ``and``, ``or``."""
        if op in COMPARISONS:
            return self._comparison(op, left, right)
        for e in (left, right):
            if e.type.kind in "pv":
                raise stop("calculates with a pointer", node)
        if not (left.type.arithmetic and right.type.arithmetic):
            return self._plain(op, left, right, OBJECT)
        both = left.type.integral and right.type.integral
        if op == "/" and both and (self.floor_division or self.cdivision):  # cdivision is C's division of integers too
            op = "//"
        match op:
            case "/":
                return self._quotient(left, right)
            case "//" | "%":
                return self._divided(op, left, right, both=both)
            case "**":
                return self._raised(left, right)
            case "@":
                raise stop("multiplies numbers as matrices", node)
        if op not in ("+", "-", "*") and not both:
            raise stop(f"applies `{op}` to a number that is not an integer", node)
        if both:
            return self.integer(op, left, right) if self.wraps else self._unchecked(op, left, right)
        return self.rounded(self._plain(op, left, right, _float_type(left, right)))

    def _plain(self, op: str, left: Expr, right: Expr, t: CType) -> Expr:
        return Expr(operation(op, self.settle(left), self.settle(right)), t)

    def _comparison(self, op: str, left: Expr, right: Expr) -> Expr:
        objects = not (left.type.arithmetic and right.type.arithmetic)
        if (self.checked or (self.wraps and left.type.integral and right.type.integral)) and not objects:
            return replace(self.compare(op, left, right), type=BOOL)
        return replace(self._plain(op, left, right, OBJECT if objects else BOOL), truth=True)

    def _unchecked(self, op: str, left: Expr, right: Expr) -> Expr:
        """C integers in the text that is timed: masked only where hashes and random numbers live on it."""
        t = promoted(left.type) if op in ("<<", ">>") else usual(left.type, right.type)
        loose = left.loose or right.loose
        if op in ("&", "^", "|", ">>"):
            if op == ">>" or (op != "&" and loose):
                return self._plain(op, left, right, t)
            return Expr(operation(op, left, right), t, loose=loose)
        largest = max((abs(x.value) for x in (left, right) if isinstance(x.value, int)), default=0)
        least = {"*": _MIXING, "+": _MIXING**2}.get(op, t.high)
        mixing = (op == "<<" and left.value is None) or largest >= least
        return Expr(operation(op, left, right), t, loose=t.kind == "u" and (loose or mixing))

    def _quotient(self, left: Expr, right: Expr) -> Expr:
        t = _float_type(left, right)
        t = DOUBLE if t.integral else t
        if self.checked and self.cdivision and not right.value:
            name = "_cdiv" if t.kind == "c" else "_fdiv"
            return self.rounded(Expr(call(name, self.settle(left), self.settle(right)), t))
        return self.rounded(self._plain("/", left, right, t))

    def _divided(self, op: str, left: Expr, right: Expr, *, both: bool) -> Expr:
        t = usual(left.type, right.type)
        if both and self.cdivision:
            self.cell.truncates = self.cell.truncates or t.kind == "i"
        if not (self.checked or (self.wraps if both else self.cdivision and op == "%")):
            # A function of arrays is not watched (`integer_rules`): its one text divides as C does.
            if self.cdivision and both and not self.cell.watched and min(left.range[0], right.range[0]) < 0:
                return Expr(python("int({} / {})" if op == "//" else "int(math.fmod({}, {}))", left, right), t)
            return self._plain(op, left, right, t)
        if both:
            left, right = self.to_integer(left, t), self.to_integer(right, t)
            if self.cdivision:
                return self.divide("/" if op == "//" else op, left, right, t)
            e = self._plain(op, left, right, t)
            low, high = right.range
            return replace(e, low=min(low + 1, 0), high=max(high - 1, 0)) if op == "%" else e
        if op == "%":
            name = "math.fmod" if self.cdivision else "_modulo"
            return self.rounded(Expr(call(name, self.settle(left), self.settle(right)), t))
        return self.rounded(Expr(call("_floor", self._quotient(left, right)), t))

    def _raised(self, left: Expr, right: Expr, *, cpow: bool | None = None) -> Expr:
        """``left ** right``; without ``cpow`` the result may be a fraction or complex, as in Python."""
        cpow = self.cpow if cpow is None else cpow
        left, right = self.settle(left), self.settle(right)
        t = usual(left.type, right.type)
        if t.integral and (isinstance(right.value, int) or isinstance(left.value, int)):
            t = usual(t, LONG)  # Cython's literals are long
        if t.integral and not cpow and (right.type.kind == "i" if right.value is None else right.value < 0):
            t = DOUBLE
        if t.integral:
            return self._integer_power(left, right, t)
        if not self.checked:
            # Python's integers would grow without end where Cython calculates in double.
            endless = left.type.integral and right.type.integral and right.value is None
            return self._plain("**", Expr(call("float", left), DOUBLE) if endless else left, right, t)
        if t.kind == "c":
            return Expr(call("_cpow", left, right), t)
        whole = right.type.integral or (isinstance(right.value, int | float) and float(right.value).is_integer())
        positive = left.type.kind == "u" or (left.value is not None and left.value >= 0)
        name = "math.pow" if whole or positive or cpow else "_power"
        return self.rounded(Expr(call(name, left, right), t))

    def _integer_power(self, left: Expr, right: Expr, t: CType) -> Expr:
        if not isinstance(right.value, int) or not 0 <= right.value <= 64:
            return Expr(call("_int_power", left, right), t, loose=True)
        ends = [end**right.value for end in left.range]
        return replace(self._plain("**", left, right, t), loose=self.wraps and max(map(abs, ends)) > t.high)

    def _direct_power(self, left: Expr, right: Expr, t: CType) -> Expr | None:
        """``left ** right`` where it goes straight into a C number: C's own power, if ``cpow`` is not given."""
        both = left.type.integral and right.type.integral
        if self.cpow is not None or t.kind not in "fiu" or not {left.type.kind, right.type.kind} <= set("fiub"):
            return None
        return self._raised(left, right, cpow=True) if both == (t.kind != "f") else None

    def _BinopNode(self, node: Any) -> Expr:
        left, right = self.value(node.operand1), self.value(node.operand2)
        return self.operate(str(node.operator), left, right, node)

    def _BoolBinopNode(self, node: Any) -> Expr:
        left, right = self.settled(node.operand1), self.settled(node.operand2)
        both = left.truth and right.truth
        return Expr(operation(str(node.operator), left, right), self.common(left.type, right.type, node), truth=both)

    def _PrimaryCmpNode(self, node: Any) -> Expr:
        left = self.value(node.operand1)
        parts, item = [], node
        while item is not None:
            right = self.value(item.operand2)
            parts.append(self._compared(str(item.operator), left, right))
            left, item = right, item.cascade
        if len(parts) == 1:
            return parts[0]
        nodes: list[Any] = [p.node for p in parts]
        if all(p.type.kind in "bo" and not self.checked for p in parts):
            chain = ast.Compare(nodes[0].left, [n.ops[0] for n in nodes], [n.comparators[0] for n in nodes])
            return Expr(chain, parts[0].type, truth=True)
        return Expr(ast.BoolOp(ast.And(), nodes), BOOL, truth=True)

    def _compared(self, op: str, left: Expr, right: Expr) -> Expr:
        op = {"not_in": "not in", "is_not": "is not", "<>": "!="}.get(op, op)
        if op in ("in", "not in", "is", "is not"):
            return replace(self._plain(op, left, right, BOOL), truth=True)
        return self._comparison(op, left, right)

    def _NotNode(self, node: Any) -> Expr:
        e = self.settled(node.operand)
        return Expr(negation(e), BOOL, low=0, high=1, truth=True)

    def _UnopNode(self, node: Any) -> Expr:
        op, e = str(node.operator), self.value(node.operand)
        return self.unary(op, e, node) if e.type.arithmetic else Expr(python(f"{op}{{}}", e), OBJECT)

    def _AmpersandNode(self, node: Any) -> Expr:
        raise stop(f"takes the address of {dotted(node.operand) or 'a value'}", node)

    def _CondExprNode(self, node: Any) -> Expr:
        test = self.settled(node.condition if hasattr(node, "condition") else node.test)  # Cython 3.1 calls it test
        return self.chosen(test, self.value(node.true_val), self.value(node.false_val), node)

    def _TypecastNode(self, node: Any) -> Expr:
        t = self.cell.types.declared(node.base_type, node.declarator)
        return self.cast(self.value_for(node.operand, t), t, node)

    def _SizeofTypeNode(self, node: Any) -> Expr:
        return self.sizeof(self.cell.types.declared(node.base_type, node.declarator), node)

    def _SizeofVarNode(self, node: Any) -> Expr:
        name = dotted(node.operand)
        if name and name not in self.variables:
            return self.sizeof(self.cell.types.by_path(name.split("."), node), node)
        return self.sizeof(self.value(node.operand).type, node)

    # -- literals ---------------------------------------------------------------------------------

    def _IntNode(self, node: Any) -> Expr:
        text = str(node.value)
        text = text if text.lower().startswith("0x") else text.rstrip("uUlL")
        try:
            value = int(text.replace("_", ""), 0)
        except ValueError:
            value, text = int(text, 8), ""
        t = INT if -(1 << 31) <= value < 1 << 31 and not node.longness else LONG
        if node.unsigned:
            t = replace(t, kind="u")
        elif not t.low <= value <= t.high:
            t = CType("u", 64) if 0 <= value < 1 << 64 else OBJECT
        return constant(value, t, text if value >= 0 and not text.isdigit() else "")

    def _FloatNode(self, node: Any) -> Expr:
        value = float(str(node.value).replace("_", ""))
        return Expr(number(value), DOUBLE, value=value)

    def _ImagNode(self, node: Any) -> Expr:
        return Expr(python(f"{node.value}j"), COMPLEX)

    def _BoolNode(self, node: Any) -> Expr:
        value = bool(node.value)
        return Expr(ast.Constant(value), BOOL, low=int(value), high=int(value), truth=True, value=value)

    def _NoneNode(self, node: Any) -> Expr:
        return Expr(ast.Constant(None), OBJECT)

    def _EllipsisNode(self, node: Any) -> Expr:
        return Expr(ast.Constant(...), OBJECT)

    def _UnicodeNode(self, node: Any) -> Expr:
        return Expr(ast.Constant(str(node.value)), OBJECT)

    _IdentifierStringNode = _UnicodeNode
    _StringNode = _UnicodeNode

    def _JoinedStrNode(self, node: Any) -> Expr:
        parts: list[ast.expr] = []
        for part in node.values:
            if kind(part) == "FormattedValueNode":
                spec = part.format_spec
                written = ast.JoinedStr([ast.Constant(str(spec.value))]) if hasattr(spec, "value") else None
                conversion = ord(part.conversion_char) if part.conversion_char else -1
                parts.append(ast.FormattedValue(self.settled(part.value).node, conversion, written))
            else:
                parts.append(ast.Constant(str(part.value)))
        return Expr(ast.JoinedStr(parts), OBJECT)

    # -- names ------------------------------------------------------------------------------------

    def _NameNode(self, node: Any) -> Expr:
        name = str(node.name)
        if name in self.variables:
            return self.variables[name].expression
        if name in self.untyped:
            t = self.untyped[name]
            if t is None:
                raise Unknown
            return Variable(name, t).expression
        return self.outer(name, node)

    def outer(self, name: str, node: Any) -> Expr:
        """A name of the module level."""
        cell = self.cell
        if name in cell.enumerators:
            cell.names_used.add(name)
            return Expr(ast.Name(name), INT)
        if name in cell.constants:
            cell.names_used.add(name)
            return Variable(name, cell.constant_type(name)).expression
        if name in cell.imports:
            return Expr(python(self._imported(name)), OBJECT)
        if name in cell.types.cimports:
            return self._c_constant(cell.types.cimports[name].rpartition(".")[2], node)
        if name in cell.externs:
            return self._c_constant(cell.externs[name], node)
        if name in cell.functions:
            cell.routines[name] = cell.functions[name][0]
            return Expr(ast.Name(name), OBJECT)
        if hasattr(builtins, name):
            return Expr(ast.Name(name), OBJECT)
        raise stop(f"uses `{name}`, which is not a function or variable of the cell", node)

    def _imported(self, name: str) -> str:
        """The Python spelling of an imported name, and its import asked for.

        In the checked text ``math`` is C's; what the cell imported from Python must stay Python's.
        """
        statement, full = self.cell.imports[name]
        spelled = f"python_{full}" if self.checked and full in ("math", "cmath") else name
        self.cell.imported[name] = statement if spelled == name else f"import {full} as {spelled}"
        return spelled

    def _c_constant(self, name: str, node: Any) -> Expr:
        """A constant of C's headers."""
        e = header_constant({"pi": "M_PI", "e": "M_E"}.get(name, name))
        if e is None:
            raise stop(f"uses `{name}`, which comes from C", node)
        if e.type.integral:
            return e
        return Expr(e.node, FLOAT if name in ("INFINITY", "NAN") else DOUBLE)

    def _AttributeNode(self, node: Any) -> Expr:
        path = dotted(node).split(".")
        root, name = path[0], str(node.attribute)
        local = root in self.variables or root in self.untyped
        if root and not local and root not in self.cell.constants:
            if root in self.cell.types.enums and len(path) == 2:
                return self.outer(name, node)
            if root in self.cell.imports:
                return Expr(python(".".join([self._imported(root), *path[1:]])), OBJECT)
            if root in self.cell.types.cimports:
                if self.cell.types.cimports[root] == "cython" and name == "compiled":
                    return Expr(ast.Constant(False), BOOL, truth=True)
                return self._c_constant(name, node)
        return self._attribute(self.settled(node.obj), name, node)

    def _attribute(self, e: Expr, name: str, node: Any) -> Expr:
        plain = ast.Attribute(e.node, name)
        match e.type.kind:
            case "c" if name in ("real", "imag"):
                return Expr(plain, CType("f", e.type.bits))
            case "a" if self.in_lists(e.type):
                raise stop(f"uses `.{name}` of an array", node)
            case "a" | "o" if name in ("size", "ndim", "shape"):
                return Expr(plain, OBJECT if name == "shape" else INDEX, low=0, high=_MOST)
            case "a" | "o":
                return Expr(plain, e.type if name == "T" else OBJECT)
        raise stop(f"uses `.{name}`: `{self.brief(node)}`", node)

    def in_lists(self, t: CType) -> bool:
        """Whether an array is a list here: those of ufuncs with core dimensions, and C arrays."""
        return t.kind == "a" and (self.cell.lists or t.length is not None)

    # -- sequences and subscripts -----------------------------------------------------------------

    def _TupleNode(self, node: Any) -> Expr:
        values = [self.settled(item) for item in node.args]
        fields = tuple((f"f{i}", v.type) for i, v in enumerate(values))
        typed = bool(values) and all(v.type.arithmetic for v in values)
        return Expr(ast.Tuple([v.node for v in values]), CType("t", fields=fields) if typed else OBJECT)

    def _ListNode(self, node: Any) -> Expr:
        return Expr(ast.List([self.settled(item).node for item in node.args]), OBJECT)

    def _IndexNode(self, node: Any) -> Expr:
        if kind(node.base) == "AttributeNode" and node.base.attribute == "shape":
            e = self._size_along(node)
            if e is not None:
                return e
        base = self.settled(node.base)
        indices = node.index.args if kind(node.index) == "TupleNode" else [node.index]
        if base.type.kind == "a":
            return self._element(base, indices, node)
        if base.type.kind == "p":
            raise stop(f"uses the pointer `{base.text}`", node)
        return Expr(_subscripted(base.node, [self.subscript(index) for index in indices]), OBJECT)

    def _size_along(self, node: Any) -> Expr | None:
        """``a.shape[k]``."""
        base = self.settled(node.base.obj)
        axis = getattr(node.index, "constant_result", None)
        if base.type.kind not in "ao" or not isinstance(axis, int):
            return None
        if self.in_lists(base.type):
            return Expr(length(base.text, axis % base.type.depth), INDEX, low=0, high=_MOST)
        return Expr(python("{}.shape[{}]", base, axis), INDEX, low=0, high=_MOST)

    def subscript(self, node: Any) -> ast.expr:
        if kind(node) == "SliceNode":
            return self._slice(node.start, node.stop, node.step)
        e = self.value(node)
        return (e if e.loose and self.wraps else self.settle(e)).node

    def _slice(self, *ends: Any) -> ast.Slice:
        return ast.Slice(*(None if p is None or kind(p) == "NoneNode" else self.settled(p).node for p in ends))

    def _element(self, base: Expr, indices: list[Any], node: Any) -> Expr:
        t = base.type
        plain = [kind(index) != "SliceNode" and kind(index) != "EllipsisNode" for index in indices]
        if len(indices) > t.depth or "EllipsisNode" in map(kind, indices):
            raise stop(f"uses `{self.brief(node)}`", node)
        parts = [self.subscript(index) for index in indices]
        of = t
        for one in plain:
            if one and of.of is not None:
                of = of.of
        if not self.in_lists(t):
            return Expr(_subscripted(base.node, parts), of, truth=of.kind == "b")
        while parts and _everything(parts[-1]) and any(plain):
            parts.pop()
        if len(parts) == 2 and not plain[0] and plain[1]:
            rows = base.node if _everything(parts[0]) else ast.Subscript(base.node, parts[0])
            return Expr(python("[row[{}] for row in {}]", parts[1], rows), of)
        if any(not one for one in plain[: len(parts) - 1]):
            raise stop(f"takes a slice that lists do not support: `{self.brief(node)}`", node)
        e = base.node
        for part in parts:
            e = ast.Subscript(e, part)
        return Expr(e, of, truth=of.kind == "b")

    def _SliceIndexNode(self, node: Any) -> Expr:
        base = self.settled(node.base)
        part = self._slice(node.start, node.stop)
        if base.type.kind == "p":
            raise stop(f"uses the pointer `{base.text}`", node)
        return Expr(ast.Subscript(base.node, part), base.type if base.type.kind == "a" else OBJECT)

    def place(self, node: Any) -> Expr:
        """What can be assigned to."""
        match kind(node):
            case "NameNode":
                name = str(node.name)
                if name in self.variables:
                    return Expr(ast.Name(name), self.variables[name].type)
                if name in self.untyped:
                    return Expr(ast.Name(name), self.untyped[name] or OBJECT)
                if name in self.cell.constants:
                    self.cell.names_used.add(name)
                    return Expr(ast.Name(name), self.cell.constant_type(name))
                return Expr(ast.Name(name), OBJECT)
            case "IndexNode" | "SliceIndexNode" | "AttributeNode":
                return self.value(node)
            case "TupleNode" | "ListNode":
                return Expr(ast.Tuple([self.place(inner).node for inner in node.args]), OBJECT)
        raise stop(f"assigns to `{self.brief(node)}`", node)


def _subscripted(base: ast.expr, parts: list[ast.expr]) -> ast.expr:
    return ast.Subscript(base, parts[0] if len(parts) == 1 else ast.Tuple(parts))


def _everything(part: ast.expr) -> bool:
    return isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None


def _float_type(left: Expr, right: Expr) -> CType:
    """The type of an operation; a whole number beside a float is written as C's double constant."""
    t = usual(left.type, right.type)
    literal = any(e.type.integral and e.value is not None for e in (left, right))
    return DOUBLE if literal and t == FLOAT else t
