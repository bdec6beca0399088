"""Calls of our ufuncs in LLVM code: numbers by the C function, arrays by the ufunc's loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_new_ref

from . import _private
from .ufunc_typing import Link, choose_loop, list_loop_types

_INTP = ir.IntType(64)
_BYTES = ir.IntType(8).as_pointer()


def make_lowering(link: Link) -> Callable[..., Any]:
    """Return the function that writes a call of the ufunc, in the form of Numba's registries."""

    def lowered(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
        place = choose_loop(link, sig.args)
        assert place is not None  # typing has been here
        if context.environment is not None and not any(c is link for c in context.environment.consts):
            context.environment.consts.append(link)
        call = _Call(link, place, context, builder)
        if any(isinstance(a, types.ArrayCompatible) for a in sig.args):
            return _call_on_arrays(call, sig, args)
        kinds = call.types[: call.nin]
        results = call.call_once(
            [context.cast(builder, v, a, b) for v, a, b in zip(args, sig.args, kinds, strict=True)]
        )
        return results[0] if len(results) == 1 else context.make_tuple(builder, sig.return_type, results)

    return lowered


@dataclass(frozen=True)
class _Call:
    """A loop of a ufunc, to be called in ``builder``'s code."""

    link: Link
    place: int
    context: Any
    builder: Any

    @property
    def types(self) -> tuple[Any, ...]:
        return list_loop_types(self.link.code.loops[self.place])

    @property
    def nin(self) -> int:
        return self.link.code.nin

    def call_once(self, values: Sequence[Any]) -> list[Any]:
        """Results for one element: of the function where it can be called by itself, else of the loop."""
        if self.link.find_symbol("scalar", self.place):
            return self._call_function(values)
        models = [self.context.data_model_manager[kind] for kind in self.types]
        rooms = [cgutils.alloca_once(self.builder, model.get_data_type()) for model in models]
        for model, room, value in zip(models, rooms, values, strict=False):
            self.builder.store(model.as_data(self.builder, value), room)
        self.call_loop(rooms, ir.Constant(_INTP, 1), [ir.Constant(_INTP, 0)] * len(rooms))
        self.pass_exception_on()
        both = list(zip(models, rooms, strict=True))[self.nin :]
        return [model.load_from_data_pointer(self.builder, room) for model, room in both]

    def _call_function(self, values: Sequence[Any]) -> list[Any]:
        """Call ``double f(double, double)``, or with several outputs ``void f(double, double *, double *)``."""
        builder, models = self.builder, [self.context.data_model_manager[kind] for kind in self.types]
        inputs = [model.as_data(builder, value) for model, value in zip(models, values, strict=False)]
        outputs = models[self.nin :]
        rooms = [cgutils.alloca_once(builder, m.get_data_type()) for m in outputs] if len(outputs) > 1 else []
        returned = ir.VoidType() if rooms else outputs[0].get_data_type()
        shape = ir.FunctionType(returned, [value.type for value in (*inputs, *rooms)])
        leaf = self.link.find_symbol("leaf", self.place)
        function = cgutils.get_or_insert_function(
            builder.module, shape, leaf or self.link.find_symbol("scalar", self.place)
        )
        function.calling_convention = convention = "win64cc" if leaf else ""
        for kind, argument in zip(self.types, function.args[: self.nin], strict=False):
            _extend(kind, argument)
        if not rooms:
            _extend(self.types[-1], function.return_value)
        function.attributes.add("nounwind")
        result = builder.call(function, [*inputs, *rooms], cconv=convention)
        if not rooms:
            return [outputs[0].from_data(builder, result)]
        return [m.load_from_data_pointer(builder, room) for m, room in zip(outputs, rooms, strict=True)]

    def call_loop(self, operands: Sequence[Any], count: Any, steps: Sequence[Any]) -> None:
        """Call ``void loop(char **operands, const intp *count, const intp *steps, void *data)``."""
        builder = self.builder
        pointers = _store_on_stack(builder, _BYTES, [builder.bitcast(operand, _BYTES) for operand in operands])
        shape = ir.FunctionType(ir.VoidType(), [_BYTES.as_pointer(), _INTP.as_pointer(), _INTP.as_pointer(), _BYTES])
        function = cgutils.get_or_insert_function(builder.module, shape, self.link.find_symbol("loop", self.place))
        name = self.link.find_symbol("data", self.place)
        data = ir.Constant(_BYTES, None)
        if name:
            known = builder.module.globals.get(name) or ir.GlobalVariable(builder.module, ir.IntType(8), name)
            data = builder.bitcast(known, _BYTES)
        builder.call(
            function, [pointers, _store_on_stack(builder, _INTP, [count]), _store_on_stack(builder, _INTP, steps), data]
        )

    def pass_exception_on(self) -> None:
        """End the compiled function where an exception is set."""
        builder, api = self.builder, self.context.get_python_api(self.builder)
        state = api.gil_ensure()
        occurred = cgutils.is_not_null(builder, api.err_occurred())
        api.gil_release(state)
        with cgutils.if_unlikely(builder, occurred):
            self.context.call_conv.return_exc(builder)


def _extend(kind: Any, value: Any) -> None:
    """Say of a small integer that its register is filled, as C's callers and functions expect."""
    if isinstance(kind, types.Boolean) or (isinstance(kind, types.Integer) and kind.bitwidth < 32):
        value.add_attribute("signext" if getattr(kind, "signed", False) else "zeroext")


def _store_on_stack(builder: Any, kind: Any, values: Sequence[Any]) -> Any:
    """A pointer to ``values`` on the stack."""
    room = cgutils.alloca_once(builder, kind, size=len(values))
    for n, value in enumerate(values):
        builder.store(value, builder.gep(room, [ir.Constant(_INTP, n)]))
    return room


def _call_on_arrays(call: _Call, sig: Any, args: Sequence[Any]) -> Any:
    """A call with arrays: NumPy's broadcasting, new outputs where none are given."""
    context, builder = call.context, call.builder
    operands = [_private.make_operand(context, builder, v, t) for v, t in zip(args, sig.args, strict=True)]
    results = [sig.return_type] if call.link.code.nout == 1 else list(sig.return_type)
    for n, kind in enumerate(results, start=call.nin):
        if n >= len(operands):
            operands.append(_private.make_broadcast_output(context, builder, kind, sig.args, operands))
        elif context.enable_nrt:
            context.nrt.incref(builder, kind, args[n])
    _check_shapes(call, operands)
    exact = all(o.base_type == t for o, t in zip(operands, call.types, strict=True) if _private.is_array_operand(o))
    (_call_by_loop if exact else _call_one_by_one)(call, operands)
    call.pass_exception_on()
    returned = [o.return_val for o in operands[call.nin :]]
    whole = returned[0] if len(returned) == 1 else context.make_tuple(builder, sig.return_type, returned)
    return impl_ret_new_ref(context, builder, sig.return_type, whole)


def _check_shapes(call: _Call, operands: Sequence[Any]) -> None:
    """Every operand must fit the outputs, which are all of one shape."""
    builder, whole = call.builder, operands[call.nin].shape
    wrong = ir.Constant(ir.IntType(1), 0)
    for n, operand in enumerate(operands):
        if not _private.is_array_operand(operand):
            continue
        for size, full in zip(reversed(operand.shape), reversed(whole), strict=False):
            other = builder.icmp_signed("!=", size, full)
            if n < call.nin:
                other = builder.and_(other, builder.icmp_signed("!=", size, ir.Constant(_INTP, 1)))
            wrong = builder.or_(wrong, other)
        if len(operand.shape) != len(whole) and (n >= call.nin or len(operand.shape) > len(whole)):
            wrong = ir.Constant(ir.IntType(1), 1)
    with cgutils.if_unlikely(builder, wrong):
        message = f"{call.link.code.name}: the operands cannot be broadcast to the shape of the output"
        call.context.call_conv.return_user_exc(builder, ValueError, (message,))


def _call_by_loop(call: _Call, operands: Sequence[Any]) -> None:
    """Rows, or everything at once where it lies in one piece, through the ufunc's loop."""
    builder, whole = call.builder, operands[call.nin].shape
    arrays = [operand for operand in operands if _private.is_array_operand(operand)]
    layouts = {operand.layout for operand in arrays}
    strides = [_make_strides(call, n, operand, len(whole)) for n, operand in enumerate(operands)]
    starts = [_start(call, n, operand) for n, operand in enumerate(operands)]
    axis = 0 if layouts == {"F"} else len(whole) - 1

    def rows() -> None:
        outer = [size for n, size in enumerate(whole) if n != axis]
        with cgutils.loop_nest(builder, outer, _INTP, order="F" if axis == 0 else "C") as indices:
            at = []
            for start, steps in zip(starts, strides, strict=True):
                offset = ir.Constant(_INTP, 0)
                for index, step in zip(indices, [s for n, s in enumerate(steps) if n != axis], strict=True):
                    offset = builder.add(offset, builder.mul(index, step))
                at.append(builder.gep(start, [offset]))
            call.call_loop(at, whole[axis], [steps[axis] for steps in strides])

    one_piece = layouts in ({"C"}, {"F"}) and all(operand.ndim == len(whole) for operand in arrays)
    if len(whole) == 1:
        call.call_loop(starts, whole[0], [steps[0] for steps in strides])
    elif not one_piece:
        rows()
    else:
        same, count = ir.Constant(ir.IntType(1), 1), ir.Constant(_INTP, 1)
        for operand in arrays:
            for size, full in zip(operand.shape, whole, strict=True):
                same = builder.and_(same, builder.icmp_signed("==", size, full))
        for size in whole:
            count = builder.mul(count, size)
        with builder.if_else(same) as (at_once, by_rows):
            with at_once:
                call.call_loop(starts, count, [_measure_item(call, n, operand) for n, operand in enumerate(operands)])
            with by_rows:
                rows()


def _measure_item(call: _Call, n: int, operand: Any) -> Any:
    """Bytes from one element to the next where they lie in one piece."""
    kind = call.context.get_data_type(call.types[n])
    return ir.Constant(_INTP, call.context.get_abi_sizeof(kind) if _private.is_array_operand(operand) else 0)


def _make_strides(call: _Call, n: int, operand: Any, ndim: int) -> list[Any]:
    """Bytes per step along each axis of the whole: 0 where the operand is repeated."""
    zero = ir.Constant(_INTP, 0)
    if not _private.is_array_operand(operand):
        return [zero] * ndim
    single = [call.builder.icmp_signed("==", size, ir.Constant(_INTP, 1)) for size in operand.shape]
    own = [call.builder.select(one, zero, step) for one, step in zip(single, operand.strides, strict=True)]
    return [zero] * (ndim - operand.ndim) + own


def _start(call: _Call, n: int, operand: Any) -> Any:
    """Return the address of the operand's elements; a scalar goes onto the stack in the loop's type."""
    builder, context = call.builder, call.context
    if _private.is_array_operand(operand):
        return builder.bitcast(operand.data, _BYTES)
    model = context.data_model_manager[call.types[n]]
    room = cgutils.alloca_once(builder, model.get_data_type())
    value = context.cast(builder, operand.val, operand.base_type, call.types[n])
    builder.store(model.as_data(builder, value), room)
    return builder.bitcast(room, _BYTES)


def _call_one_by_one(call: _Call, operands: Sequence[Any]) -> None:
    """Elements whose types the loop does not have, each converted."""
    context, builder, inputs, outputs = call.context, call.builder, operands[: call.nin], operands[call.nin :]
    indices = [operand.create_iter_indices() for operand in inputs]
    with cgutils.loop_nest(builder, outputs[0].shape, intp=_INTP) as places:
        values = []
        for n, (index, operand) in enumerate(zip(indices, inputs, strict=True)):
            index.update_indices(places, n)
            value = operand.load_data(index.as_values())
            values.append(_private.cast(context, builder, value, operand.base_type, call.types[n]))
        for n, (value, operand) in enumerate(zip(call.call_once(values), outputs, strict=True), start=call.nin):
            operand.store_data(places, _private.cast(context, builder, value, call.types[n], operand.base_type))
