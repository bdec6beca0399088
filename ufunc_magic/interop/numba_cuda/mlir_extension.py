"""Functions of CUDA cells inside kernels of numba-cuda-mlir, the successor of numba-cuda."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from ...model import ObjectCode
from .device_calls import Form, operand
from .device_link import linked_code
from .device_typing import Vocabulary, register

__all__ = ["install"]

_MLIR = Vocabulary("numba_cuda_mlir.numba_cuda")


def install() -> None:
    """Register with the ``numba_cuda_mlir`` of this process."""
    register(_MLIR, _lower)


def _lower(key: str, offered: tuple[Form, ...], object_code: ObjectCode) -> None:
    from numba_cuda_mlir._mlir.dialects import llvm
    from numba_cuda_mlir.descriptor import mlir_target

    def lowered(lowering: Any, target: Any, args: Sequence[Any], kws: Any) -> None:
        kinds = [lowering.get_numba_type(argument.name) for argument in args]
        form = _MLIR.form(offered, kinds)
        taken = _MLIR.signature(form, kinds).args
        values = [
            lowering._coerce_value_to_numba_type(k, lowering.load_var(a)) for k, a in zip(taken, args, strict=True)
        ]
        operands = dict(zip(form.slots, zip(taken, values, strict=True), strict=False))
        lowering.link_external_item(_linkable(object_code))
        outputs = [_MLIR.type_of(operand(word)) for word in form.shim.outputs]
        results = _call(lowering, form.shim.symbol, [operands[n] for n in range(form.nin)], outputs)
        left = []
        for n, (kind, value) in enumerate(zip(outputs, results, strict=True), start=form.nin):
            if n in operands:
                llvm.store(value=lowering.as_storage(kind, value), addr=operands[n][1])
            else:
                left.append(value)
        if left:
            lowering.store_var(target, left[0] if len(left) == 1 else tuple(left))

    mlir_target.ensure_initialized()
    anything = (_MLIR.types.VarArg(_MLIR.types.Any),)
    mlir_target.target_context.insert_func_defn([(lowered, key, anything)])


def _call(lowering: Any, symbol: str, operands: Sequence[tuple[Any, Any]], outputs: Sequence[Any]) -> list[Any]:
    """Call a shim in Numba's convention, ``int shim(result *, arguments...)``; returns its results."""
    from numba_cuda_mlir._mlir import ir
    from numba_cuda_mlir._mlir.dialects import arith, func, llvm
    from numba_cuda_mlir._mlir.extras import types
    from numba_cuda_mlir.lowering_utilities import get_or_insert_function

    kinds = [lowering.get_storage_type(kind) for kind in outputs]
    # A function without a result is given the place of one too.
    whole = kinds[0] if len(kinds) == 1 else ir.Type.parse(f"!llvm.struct<({', '.join(map(str, kinds)) or 'i8'})>")
    with lowering.alloca_insertion_point():
        one = arith.constant(result=types.i32(), value=1)
        place = llvm.alloca(res=llvm.PointerType.get(), array_size=one, elem_type=whole)
    arguments = [place]
    for kind, value in operands:
        arguments += lowering._flatten_abi_value(lowering.as_argument(kind, value))
    shape = ir.FunctionType.get(inputs=[argument.type for argument in arguments], results=[types.i32()])
    callee = get_or_insert_function(symbol, shape, lowering.mlir_gpu_module)
    func.call(result=[types.i32()], callee=callee.name.value, operands_=arguments)
    if not kinds:
        return []
    stored = llvm.load(res=whole, addr=place)
    parts = [stored] if len(kinds) == 1 else [llvm.extractvalue(kind, stored, [n]) for n, kind in enumerate(kinds)]
    return [lowering.from_storage(kind, part) for kind, part in zip(outputs, parts, strict=True)]


@cache
def _linkable(object_code: ObjectCode) -> Any:
    """One object for all calls, so that it is linked once."""
    from numba_cuda_mlir import cuda

    return cuda.LTOIR(linked_code(object_code, output="ltoir"), name=object_code.name)
