"""LLVM assembly of loops around a function that Numba compiled, by Numba's own data models and calling convention.

The function is ``i32 f(T *result, excinfo **, arguments...)`` (``numba/core/callconv.py``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from .numba_functions import Overload

__all__ = ["OFFERED", "kernels", "whole_loop"]

_FLAG, _BYTE = ir.IntType(32), ir.IntType(8).as_pointer()


def kernels(overload: Overload, k: int, levels: Sequence[str], *, allocates: bool, even: bool) -> str:
    """The kernels and the function of one element: ``__ufm_compiled_<k>_<level>`` and ``__ufm_one_<k>``.

    Parameters
    ----------
    levels : sequence of str
        CPU levels to make a kernel for; one for every CPU if there are none.
    allocates : bool
        Its exceptions have arguments of run time.
    even : bool
        Every element is to go through a vector of the same kind: counts are multiples of 16 or 64 then, and a
        loop that is not interleaved leaves no remainder.
    """
    context = overload.result.target_context
    module = context.create_module(f"ufunc_magic {k}")
    body = _body(overload, k, module, allocates=allocates)
    for n, _ in enumerate(levels or ("",)):
        _kernel(overload, f"__ufm_compiled_{k}_{n}", body, module)
    _one(overload, f"__ufm_one_{k}", module)
    text = str(module)
    for n, level in enumerate(levels):
        head = re.compile(rf'^(define i32 @"?__ufm_compiled_{k}_{n}"?\(.*\))', re.M)
        # LLVM keeps to 256 bits on AVX-512; libmvec's functions and ours gain from 512.
        width = ' "prefer-vector-width"="512"' if even and level == levels[-1] else ""
        text = head.sub(rf'\1 "target-cpu"="{level}"{width}', text)
    return _once(text) if even else text


def _once(text: str) -> str:
    """The loop of the body, the last to go back to its condition, not interleaved."""
    before, back, after = text.rpartition('br label %"for.cond"')
    note = '!90 = distinct !{!90, !91}\n!91 = !{!"llvm.loop.interleave.count", i32 1}\n'
    return f"{before}{back}, !llvm.loop !90{after}\n{note}"


def _operands(overload: Overload) -> list[Any]:
    """Pointer types of the operands."""
    context = overload.result.target_context
    return [context.get_data_type(t).as_pointer() for t in (*overload.inputs, *overload.outputs)]


def _call(overload: Overload, module: Any, builder: Any, pointers: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Call the function on what the input pointers point at: its status and results."""
    result = overload.result
    context, signature = result.target_context, result.signature
    callee = context.declare_function(module, result.fndesc)
    inputs = zip(overload.inputs, pointers, strict=False)
    arguments = [context.unpack_value(builder, kind, pointer) for kind, pointer in inputs]
    status, returned = context.call_conv.call_function(
        builder, callee, signature.return_type, signature.args, arguments, attrs=("alwaysinline",)
    )
    if isinstance(signature.return_type, types.BaseTuple):
        return status, cgutils.unpack_tuple(builder, returned, len(overload.outputs))
    return status, [returned]


def _store(overload: Overload, builder: Any, values: Sequence[Any], pointers: Sequence[Any]) -> None:
    context = overload.result.target_context
    for kind, value, pointer in zip(overload.outputs, values, pointers[len(overload.inputs) :], strict=True):
        context.pack_value(builder, kind, value, pointer)


def _body(overload: Overload, k: int, module: Any, *, allocates: bool) -> Any:
    """``int (intptr count, T *operand...)``: the loop, over operands that do not overlap."""
    count_type = overload.result.target_context.get_value_type(types.intp)
    body = ir.Function(module, ir.FunctionType(_FLAG, [count_type, *_operands(overload)]), f"__ufm_body_{k}")
    body.linkage = "internal"
    body.attributes.add("alwaysinline")
    for pointer in body.args[1:]:
        pointer.add_attribute("noalias")
    builder = ir.IRBuilder(body.append_basic_block())
    failed = cgutils.alloca_once_value(builder, _FLAG(0))
    with cgutils.for_range(builder, body.args[0], intp=count_type) as loop:
        pointers = [builder.gep(pointer, [loop.index]) for pointer in body.args[1:]]
        status, values = _call(overload, module, builder, pointers)
        if allocates:  # no loop to vectorize: leave it at once, and give back what describes the exception
            with builder.if_then(status.is_error, likely=False):
                _forget(module, builder, status)
                builder.ret(_FLAG(1))
        else:
            builder.store(builder.or_(builder.load(failed), builder.zext(status.is_error, _FLAG)), failed)
        _store(overload, builder, values, pointers)
    builder.ret(builder.load(failed))
    return body


def _forget(module: Any, builder: Any, status: Any) -> None:
    """Have the unit free what an exception with arguments of run time allocated."""
    forget = cgutils.get_or_insert_function(module, ir.FunctionType(ir.VoidType(), [_BYTE]), "__ufm_forget")
    builder.call(forget, [builder.bitcast(status.excinfoptr, _BYTE)])


def _kernel(overload: Overload, name: str, body: Any, module: Any) -> None:
    """``int name(intptr count, char **operands)`` around the body."""
    function = ir.Function(module, ir.FunctionType(_FLAG, [body.args[0].type, _BYTE.as_pointer()]), name)
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(builder.call(body, [function.args[0], *_pointers(overload, builder, function.args[1])]))


def _one(overload: Overload, name: str, module: Any) -> None:
    """``int name(char **operands, void **said)``: one element, and the exception's description where it raised."""
    function = ir.Function(module, ir.FunctionType(_FLAG, [_BYTE.as_pointer(), _BYTE.as_pointer()]), name)
    builder = ir.IRBuilder(function.append_basic_block())
    pointers = _pointers(overload, builder, function.args[0])
    status, values = _call(overload, module, builder, pointers)
    with builder.if_then(status.is_error, likely=False):
        builder.store(builder.bitcast(status.excinfoptr, _BYTE), function.args[1])
        builder.ret(status.code)
    _store(overload, builder, values, pointers)
    builder.ret(_FLAG(0))


def _pointers(overload: Overload, builder: Any, table: Any) -> list[Any]:
    """The operands' pointers out of a ``char **``, typed."""
    found = []
    for n, kind in enumerate(_operands(overload)):
        place = builder.gep(table, [_FLAG(n)])
        found.append(builder.bitcast(builder.load(place), kind))
    return found


# ------------------------------------------------------------------------------ without a C unit around it


def whole_loop(overload: Overload, k: int, *, allocates: bool) -> str:
    """NumPy's inner loop itself, ``__ufm_loop_<k>``, for where there is no linker.

    Contiguous arrays that do not overlap go through the kernel, all others and those with an element that failed
    through a loop that calls the function for one element after the other.
    """
    context = overload.result.target_context
    module = context.create_module(f"ufunc_magic {k}")
    body = _body(overload, k, module, allocates=allocates)
    count_type = body.args[0].type
    numbers = count_type.as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [_BYTE.as_pointer(), numbers, numbers, _BYTE])
    function = ir.Function(module, kind, f"__ufm_loop_{k}")
    builder = ir.IRBuilder(function.append_basic_block())
    args, dimensions, steps, _ = function.args
    count = builder.load(dimensions)
    operands = range(len(overload.types))
    starts = [builder.load(builder.gep(args, [_FLAG(n)])) for n in operands]
    strides = [builder.load(builder.gep(steps, [_FLAG(n)])) for n in operands]
    doomed = builder.call(_runtime(module, "__ufm_doomed", _FLAG, []), [])
    with builder.if_then(builder.icmp_signed("!=", doomed, _FLAG(0)), likely=False):
        builder.ret_void()
    with builder.if_then(_is_plain(overload, builder, count, starts, strides)):
        typed = [builder.bitcast(s, t) for s, t in zip(starts, _operands(overload), strict=True)]
        failed = builder.call(body, [count, *typed])
        with builder.if_then(builder.icmp_signed("==", failed, _FLAG(0))):
            builder.ret_void()
    with cgutils.for_range(builder, count, intp=count_type) as loop:
        places = [builder.gep(s, [builder.mul(t, loop.index)]) for s, t in zip(starts, strides, strict=True)]
        pointers = [builder.bitcast(p, t) for p, t in zip(places, _operands(overload), strict=True)]
        status, values = _call(overload, module, builder, pointers)
        with builder.if_then(status.is_error, likely=False):
            raise_ = _runtime(module, "__ufm_raise", ir.VoidType(), [_FLAG, _BYTE])
            builder.call(raise_, [status.code, builder.bitcast(status.excinfoptr, _BYTE)])
            builder.ret_void()
        _store(overload, builder, values, pointers)
    builder.ret_void()
    return str(module)


def _runtime(module: Any, name: str, result: Any, arguments: Sequence[Any]) -> Any:
    """A function of templates/numba.ll."""
    return cgutils.get_or_insert_function(module, ir.FunctionType(result, arguments), name)


def _is_plain(overload: Overload, builder: Any, count: Any, starts: Sequence[Any], strides: Sequence[Any]) -> Any:
    """Whether every operand is contiguous and no output meets an input or another output."""
    context = overload.result.target_context
    sizes = [context.get_abi_sizeof(context.get_data_type(t)) for t in (*overload.inputs, *overload.outputs)]
    lows = [builder.ptrtoint(s, count.type) for s in starts]
    highs = [builder.add(low, builder.mul(count, count.type(z))) for low, z in zip(lows, sizes, strict=True)]
    plain = ir.Constant(ir.IntType(1), 1)
    for stride, size in zip(strides, sizes, strict=True):
        plain = builder.and_(plain, builder.icmp_signed("==", stride, count.type(size)))
    for o in range(len(overload.inputs), len(sizes)):
        for n in range(o):
            before = builder.icmp_unsigned("<=", highs[o], lows[n])
            after = builder.icmp_unsigned("<=", highs[n], lows[o])
            plain = builder.and_(plain, builder.or_(before, after))
    return plain


#: Symbols that templates/numba.ll defines or uses itself, and boxes of numbers: the process has them.
OFFERED = frozenset(
    "PyGILState_Ensure PyGILState_Release PyErr_Occurred PyErr_SetObject PyErr_SetString PyImport_ImportModule "
    "PyObject_CallMethod PyObject_Type Py_DecRef PyExc_SystemError PyFloat_FromDouble PyLong_FromLongLong "
    "PyLong_FromUnsignedLongLong PyBool_FromLong PyComplex_FromDoubles PyTuple_Pack PyLong_FromLong "
    "PyLong_FromSsize_t".split()
)
