"""Changes of Cython's tree before it writes C: fewer jumps, fewer checks, and powers by C's own ``pow``.

The last stage but one of Cython's pipeline.  The results of the cell's functions are the same with them.
"""

from __future__ import annotations

import copy
from typing import Any

from ._private import ExprNodes, PyrexTypes, UtilityCode, VisitorTransform
from .cdef_variant import PREFIX, find_plain_name

#: C function of two doubles: their power, or an exception where it is a complex number.
POWER = "__ufm_power"
_POWER_CODE = UtilityCode(
    proto=f"static double {POWER}(double __ufm_b, double __ufm_e);",
    impl=f"""
static double {POWER}(double __ufm_b, double __ufm_e) {{
    double __ufm_r = pow(__ufm_b, __ufm_e);
    if (likely(__ufm_r == __ufm_r) || __ufm_b != __ufm_b || __ufm_e != __ufm_e) return __ufm_r;
    return __Pyx_SoftComplexToDouble(__Pyx_c_pow_double(
        __pyx_t_double_complex_from_parts(__ufm_b, 0), __pyx_t_double_complex_from_parts(__ufm_e, 0)), 1);
}}
""",
    requires=[UtilityCode.load_cached("SoftComplexToDouble", "Complex.c")],
)
#: C functions that cannot raise; Cython checks their result as if -1 were an exception.
_NEVER_RAISING = ("abs", "labs", "__Pyx_abs_longlong")


class Rewriting(VisitorTransform):  # type: ignore[misc, unused-ignore]
    """Rewrites the C functions of a module; those of Python stay as Cython writes them."""

    _scope: Any = None
    _is_variant = False

    def visit_Node(self, node: Any) -> Any:
        self.visitchildren(node)
        return node

    def visit_DefNode(self, node: Any) -> Any:
        return node

    def visit_CFuncDefNode(self, node: Any) -> Any:
        self._scope, self._is_variant = node.local_scope, find_plain_name(node.entry).startswith(PREFIX)
        self.visitchildren(node)
        self._scope = None
        return node

    def visit_SimpleCallNode(self, node: Any) -> Any:
        self.visitchildren(node)
        entry = getattr(node.function, "entry", None)
        name = str(getattr(node.function, "cname", "") or getattr(entry, "cname", ""))
        if name in _NEVER_RAISING and node.function.type.exception_value is not None:
            node.function.type = copy.copy(node.function.type)
            node.function.type.exception_value, node.function.type.exception_check = None, False
        elif name == "__Pyx_SoftComplexToDouble" and self._is_variant:
            _use_real_power(node)
        return node

    def visit_BoolBinopNode(self, node: Any) -> Any:
        """Join comparisons by C's operators: gcc vectorizes no loop with jumps past them."""
        self.visitchildren(node)
        if self._scope is None:
            return node
        operands = [_unwrap(operand) for operand in (node.operand1, node.operand2)]
        if all(_is_truth(operand) and _is_expression(operand, guarded=True) for operand in operands):
            return _Joined(node.pos, operator=node.operator, operand1=operands[0], operand2=operands[1])
        for name in ("operand1", "operand2"):
            if isinstance(operand := getattr(node, name), _Joined):
                setattr(node, name, ExprNodes.BoolBinopResultNode(operand, node.type, self._scope))
        return node


class _Joined(ExprNodes.ExprNode):  # type: ignore[misc, unused-ignore]
    """Two truths in one C expression.

    It is ``&`` where that is as good, because gcc vectorizes no more than two of ``&&``.
    """

    subexprs = ("operand1", "operand2")
    type = PyrexTypes.c_bint_type
    is_temp = False

    def generate_result_code(self, code: Any) -> None:
        pass

    def calculate_result_code(self) -> str:
        sign = "&" if self.operator == "and" else "|"
        one, other = self.operand1.result(), self.operand2.result()
        if _is_expression(self.operand2, guarded=False):
            return f"(({one} {sign} {other}) != 0)"
        return f"({one} {2 * sign} {other})"


def _use_real_power(node: Any) -> None:
    """Have C compute a power that must not be complex: Cython computes a complex number, slower and less exactly."""
    power = node.args[0]
    if isinstance(power, ExprNodes.PowNode):
        operands = [power.operand1, power.operand2]
        if all(isinstance(o, ExprNodes.CoerceToComplexNode) and not o.arg.type.is_complex for o in operands):
            double = PyrexTypes.c_double_type
            arguments = [PyrexTypes.CFuncTypeArg(name, double, None) for name in ("b", "e")]
            kind = copy.copy(node.function.type)
            kind.args = arguments
            node.function = ExprNodes.PythonCapiFunctionNode(node.pos, None, POWER, kind, utility_code=_POWER_CODE)
            node.args = [operand.arg for operand in operands]


def _unwrap(node: Any) -> Any:
    """An operand of ``and`` or ``or`` without the nodes around it."""
    while isinstance(node, ExprNodes.BoolBinopResultNode | ExprNodes.ProxyNode | ExprNodes.CoerceToTempNode):
        node = node.arg
    return node


def _is_truth(node: Any) -> bool:
    """Whether C's value of an expression is 0 or 1."""
    if isinstance(node, ExprNodes.NotNode):
        return not node.is_temp and bool(_is_truth(node.operand))
    truths = _Joined | ExprNodes.PrimaryCmpNode | ExprNodes.CoerceToBooleanNode
    return isinstance(node, truths) and not node.type.is_pyobject


def _is_expression(node: Any, *, guarded: bool) -> bool:
    """Whether Cython writes no statement to compute it.

    If not ``guarded``, it may also be computed whatever another operand is: no call, division, index or pointer.
    """
    if node.is_temp or not (node.type.is_numeric or node.type.is_ptr) or node.type.is_complex:
        return False
    parts = [part for name in getattr(node, "subexprs", ()) for part in [getattr(node, name)] if part is not None]
    match node:
        case ExprNodes.NameNode() | ExprNodes.ConstNode():
            return True
        case ExprNodes.PrimaryCmpNode():
            parts = [node.operand1, node.operand2]
            allowed = node.cascade is None and node.coerced_operand2 is None
        case ExprNodes.DivNode():  # a remainder too
            allowed = guarded and node.type.is_float and node.operator == "/" and not node.zerodivision_check
        case ExprNodes.SimpleCallNode():
            parts = list(node.args or ())
            allowed = guarded and node.function.type.is_cfunction and not node.has_optional_args
        case ExprNodes.PowNode():
            allowed = guarded
        case ExprNodes.IndexNode():
            allowed = guarded and (node.base.type.is_ptr or node.base.type.is_array)
            parts = [node.index]
        case _:
            plain = ExprNodes.NumBinopNode | ExprNodes.UnopNode | ExprNodes.TypecastNode | _Joined
            plain |= ExprNodes.CoerceToBooleanNode
            allowed = isinstance(node, plain) and not isinstance(node, ExprNodes.CUnopNode)
    return allowed and all(_is_expression(part, guarded=guarded) for part in parts)
