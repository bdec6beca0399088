"""Where a fault of ``reduce``, ``accumulate``, ``outer`` and ``at`` is in the caller's arrays.

NumPy calls the loops of a method without the ufunc's own entry, so that the driver never sees the operands.  The
statement of the caller names them.  They are evaluated once more, if all that is evaluated has no effect, and the
values of the element that failed are found in them.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Positional parameters of the methods.
_PARAMETERS = {
    "reduce": ("array", "axis", "dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("array", "axis", "dtype", "out"),
    "outer": ("A", "B"),
    "at": ("a", "indices", "b"),
}
_OPERANDS = {"reduce": ("array", "array"), "accumulate": ("array", "array"), "outer": ("A", "B"), "at": ("a", "b")}

_PLAIN = (ast.Constant, ast.Name, ast.Attribute, ast.Slice, ast.Tuple, ast.List)
_PARTS = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.keyword)
#: Expressions that call methods of their operands.
_OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript)
#: Types whose operators have no effect.
_NUMBERS = (np.generic, int, float, complex, list, tuple)
#: Functions of NumPy and methods of arrays that a second call does no harm.
_HARMLESS = {
    *("arange", "array", "asarray", "ascontiguousarray", "asfortranarray", "astype", "broadcast_to", "concatenate"),
    *("copy", "flatten", "full", "full_like", "linspace", "moveaxis", "ones", "ones_like", "ravel", "repeat"),
    *("reshape", "swapaxes", "tile", "transpose", "view", "where", "zeros", "zeros_like"),
    *("bool_", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
}

#: Places of equal values that are tried.
_TRIED = 10_000


def find_method_index(frame: FrameType | None, name: str, inputs: Sequence[Any]) -> str:
    """Where in the arrays of the method call under way in ``frame`` an element is that has these inputs.

    Parameters
    ----------
    frame : frame
        The caller's.
    name : str
        The ufunc.
    inputs : sequence
        Values of the operands, of the loop's types.

    Returns
    -------
    str
        ``"(2, 3)"``, or ``""`` if it is not certain.
    """
    node = _find_call(frame) if frame is not None else None
    if frame is None or node is None or any(k.arg is None for k in node.keywords):
        return ""
    evaluate = _Evaluation(frame)
    method = evaluate(node.func)
    ufunc, kind = getattr(method, "__self__", None), getattr(method, "__name__", "")
    if not isinstance(ufunc, np.ufunc) or ufunc.__name__ != name or ufunc.signature or kind not in _PARAMETERS:
        return ""
    arguments = dict(zip(_PARAMETERS[kind], map(evaluate, node.args), strict=False))
    arguments |= {str(k.arg): evaluate(k.value) for k in node.keywords if k.arg != "out"}
    arrays = [np.asarray(arguments[p]) for p in _OPERANDS[kind] if p in arguments]
    if len(arrays) > len(inputs) or any(value is None or isinstance(value, dict) for value in inputs):
        return ""
    cast = [array.astype(value.dtype, copy=False) for array, value in zip(arrays, inputs, strict=False)]
    if kind == "outer":
        alike = np.logical_and.outer(_equals(cast[0], inputs[0]), _equals(cast[1], inputs[1]))
        return _write_first(alike & arguments.get("where", True))
    if kind == "at":
        picked = np.asarray(cast[0][arguments["indices"]])
        alike = _equals(picked, inputs[0])
        if len(cast) > 1:
            alike = alike & _equals(np.broadcast_to(cast[1], picked.shape), inputs[1])
        # An element that an earlier index has changed had another value then: the first place need not be the one.
        return _write_first(alike) if np.count_nonzero(alike) == 1 or _is_single(cast[0], arguments["indices"]) else ""
    return _find_in_lanes(ufunc, kind, cast[0], arguments, inputs)


class _Evaluation:
    """Evaluates expressions of a frame that have no effect.

    Raises
    ------
    ValueError
        For others.
    """

    def __init__(self, frame: FrameType) -> None:
        self._names: Mapping[str, Any] = {**frame.f_builtins, **frame.f_globals, **frame.f_locals}

    def __call__(self, node: ast.expr) -> Any:
        self._check(node)
        expression = ast.fix_missing_locations(ast.Expression(node))
        return eval(compile(expression, "<operand>", "eval"), {"__builtins__": {}}, self._names)

    def _check(self, node: ast.AST) -> None:
        """Every part must be known; operands of operators and of subscripts must be numbers or arrays."""
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Attribute) or node.func.attr not in _HARMLESS:
                raise ValueError(ast.dump(node))
            owner = self(node.func.value)
            if owner is not np and type(owner) is not np.ndarray:
                raise ValueError(ast.dump(node))
            for part in (*node.args, *node.keywords):
                self._check(part)
            return
        if not isinstance(node, (*_PLAIN, *_PARTS, *_OPERATIONS)):
            raise ValueError(ast.dump(node))
        for part in ast.iter_child_nodes(node):
            self._check(part)
            if isinstance(node, _OPERATIONS) and isinstance(part, ast.expr) and not isinstance(part, ast.Slice):
                value = self(part)
                if not isinstance(value, _NUMBERS) and type(value) is not np.ndarray:
                    raise ValueError(ast.dump(node))


def _find_call(frame: FrameType) -> ast.Call | None:
    """The call that a frame is in, as its source has it."""
    positions = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    if None in positions or not lines:
        return None
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, ast.Call):
            place = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
            if place == positions:
                return node
    return None


def _equals(array: NDArray[Any], value: Any) -> NDArray[Any]:
    return np.asarray((array == value) | ((array != array) & (value != value)))


def _write_first(alike: Any) -> str:
    """The first index where ``alike`` is true."""
    places = np.argwhere(alike)
    return _write(places[0]) if len(places) and alike.ndim else ""


def _write(place: Sequence[int]) -> str:
    index = tuple(map(int, place))
    return str(index[0] if len(index) == 1 else index)


def _is_single(array: NDArray[Any], indices: Any) -> bool:
    """No element is picked twice."""
    numbers = np.arange(array.size).reshape(array.shape)[indices]
    return np.unique(numbers).size == np.size(numbers)


def _find_in_lanes(
    ufunc: np.ufunc, kind: str, array: NDArray[Any], arguments: Mapping[str, Any], inputs: Sequence[Any]
) -> str:
    """The element of a reduction: its value is that of the second operand.

    If several have that value, it is the one before which the running result is the first operand: elements before it
    are reduced once more.
    """
    axis = arguments.get("axis", 0)
    axes = range(array.ndim) if axis is None else [axis] if np.ndim(axis) == 0 else axis
    axes = [one % array.ndim for one in axes]
    where = np.broadcast_to(arguments.get("where", True), array.shape)
    places = np.argwhere(_equals(array, inputs[1]) & where)
    if len(places) == 1:
        return _write(places[0])
    start = arguments.get("initial", ufunc.identity if kind == "reduce" else None)
    reached: dict[tuple[int, ...], Any] = {}
    for place in places[:_TRIED]:
        lane = tuple(slice(None) if d in axes else int(i) for d, i in enumerate(place))
        inner = np.ravel_multi_index([place[d] for d in sorted(axes)], [array.shape[d] for d in sorted(axes)])
        values, chosen = array[lane].reshape(-1), where[lane].reshape(-1)
        key = tuple(int(i) for d, i in enumerate(place) if d not in axes)
        done, running = reached.get(key, (0, start))
        before = values[done:inner][chosen[done:inner]]
        if before.size:
            running = ufunc.reduce(before, **({} if running is None else {"initial": running}))
        reached[key] = int(inner), running
        if running is not None and _equals(np.asarray(running, values.dtype), inputs[0]):
            return _write(place)
    return ""


def find_caller() -> FrameType | None:
    """The innermost frame outside of this package."""
    frame: FrameType | None = sys._getframe(1)
    package = __name__.partition(".")[0] + "."
    while frame is not None and frame.f_globals.get("__name__", "").startswith(package):
        frame = frame.f_back
    return frame
