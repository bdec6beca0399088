"""Functions of CUDA cells inside Numba's CUDA kernels: typed, called and linked as if Numba had compiled them.

`attach` makes it so from the moment when ``numba.cuda`` is imported, and imports nothing itself; `install` does it now.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from importlib.metadata import version
from typing import Any

import numpy as np

from ....model import ObjectCode, UfuncMagicError
from ....runtime import PlainFunction
from .. import nvrtc
from ..device import CudaFunction, Kernel
from . import _private
from .device_calls import (
    Form,
    ValueType,
    choose,
    describe_mismatch,
    describe_no_number,
    explain_numba_refusal,
    find_code,
    list_forms,
    type_of_word,
)
from .import_hooks import run_when_imported


def attach() -> None:
    """Let kernels call functions of CUDA cells, now or as soon as Numba's CUDA target is imported."""
    run_when_imported("numba.cuda", install)


@cache
def install() -> None:
    """Register with the ``numba.cuda`` of this process: its compiler, or its simulator.

    Where a version has not what that needs, it is a warning: kernels that do not call us must go on.
    """
    from numba import cuda
    from numba.core import config

    nvidia = getattr(cuda, "implementation", "") == "NVIDIA"
    try:
        if config.ENABLE_CUDASIM:
            from .simulator import DeclaredFunction, Simulation

            _private.wrap_runs(Simulation().substitute_around)
            _private.replace_declare_device(DeclaredFunction)
        elif nvidia:
            _register_with_compiler()
    except (ImportError, AttributeError) as fault:
        package = "numba-cuda" if nvidia and not config.ENABLE_CUDASIM else "numba"
        warnings.warn(
            f"Kernels cannot call functions of %%cuda_device cells: {package} {version(package)} lacks what that needs "
            f"({fault}). Install a version that this ufunc_magic knows: pip install 'ufunc_magic[cuda-numba]'.",
            stacklevel=2,
        )


def _register_with_compiler() -> None:
    from numba.cuda.extending import typeof_impl

    general = typeof_impl.dispatch(object)
    for kind in (np.ufunc, PlainFunction, CudaFunction, Kernel):
        typeof_impl.register(kind)(partial(_type_function, general))
    _private.link_replaced(
        lambda code, lto: code if lto or not isinstance(code, _find_cell_code()) else code.adapt_to_call()
    )
    _private.check_before_caching(_refuse_caching)


# ---------------------------------------------------------------------------------------- typing


def _type_function(general: Callable[[Any, Any], Any], value: Any, context: Any) -> Any:
    """Numba's type of a function of ours, and of what else is of its class."""
    pair = find_code(value)
    if pair is None:
        return general(value, context)
    code, object_code = pair
    if reason := explain_numba_refusal(code, object_code):
        raise _make_fault(f"{code.name} {reason}.")
    return _make_function_type(code.name, object_code)


@cache
def _make_function_type(name: str, object_code: ObjectCode) -> Any:
    """The type of a function, with its lowering: made when a kernel first names it."""
    from numba.cuda import types
    from numba.cuda.extending import lower_builtin
    from numba.cuda.typing.templates import AbstractTemplate

    offered = list_forms(next(code for code in object_code.functions if code.name == name), object_code)
    key = f"{name} of {object_code.name} ({object_code.digest[:12]})"

    def generic(self: Any, args: Sequence[Any], kws: Any) -> Any:
        if kws:
            raise _make_fault(f"{name}() takes no arguments by name in a kernel. Give them in their order.")
        values = [value for kind in args if (value := _find_value_type(kind)) is not None]
        if len(values) < len(args):
            raise _make_fault(describe_no_number(name, ", ".join(map(str, args))))
        form = choose(offered, values)
        if form is None:
            raise _make_fault(describe_mismatch(name, offered, values))
        return _make_signature(form, args)

    lower_builtin(key, types.VarArg(types.Any))(_make_lowering(offered, object_code))
    return types.Function(type(f"CudaCell_{name}", (AbstractTemplate,), {"key": key, "generic": generic}))


def _make_fault(text: str) -> Exception:
    """The error that type inference reports with the kernel's line."""
    from numba.cuda.core.errors import TypingError

    fault: Exception = TypingError(text)
    return fault


def _find_value_type(kind: Any) -> ValueType | None:
    """The argument of Numba's type ``kind`` as a value of ours; None for anything but numbers and pointers to them."""
    from numba.cuda import types
    from numba.cuda.np.numpy_support import as_dtype

    kind = types.unliteral(kind)
    pointer = isinstance(kind, types.CPointer)
    item = kind.dtype if pointer else kind
    return ValueType(np.dtype(as_dtype(item)), pointer) if isinstance(item, types.Boolean | types.Number) else None


def _find_numba_type(value: ValueType) -> Any:
    from numba.cuda import types
    from numba.cuda.np.numpy_support import from_dtype

    kind = from_dtype(value.dtype)
    return types.CPointer(kind) if value.pointer else kind


def _make_signature(form: Form, args: Sequence[Any]) -> Any:
    """The signature of a call of ``form`` with arguments of the types ``args``."""
    from numba.cuda import types
    from numba.cuda.typing.templates import signature

    results = [_find_numba_type(r) for r in form.results]
    returned = types.none if not results else results[0] if len(results) == 1 else types.Tuple(results)
    # Pointers to void take what they are given.
    return signature(
        returned,
        *(k if v.dtype.kind == "V" else _find_numba_type(v) for k, v in zip(args, form.arguments, strict=True)),
    )


# -------------------------------------------------------------------------------------- lowering


def _make_lowering(offered: tuple[Form, ...], object_code: ObjectCode) -> Any:
    """The writer of a call: of the shim, by value; then results go where the kernel has pointers for them."""

    def lowered(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
        form = choose(offered, [value for kind in sig.args if (value := _find_value_type(kind)) is not None])
        assert form is not None  # type inference has accepted it
        context.active_code_library.add_linking_file(_link_code(object_code))
        operands = dict(zip(form.slots, zip(sig.args, args, strict=True), strict=False))
        outputs = [_find_numba_type(type_of_word(word)) for word in form.shim.outputs]
        for n, place in form.updates:
            kind, pointer = operands[place]
            loaded = context.data_model_manager[kind.dtype].from_data(builder, builder.load(pointer))
            operands[n] = kind.dtype, loaded
        results = _write_call(context, builder, form.shim.symbol, [operands[n] for n in range(form.nin)], outputs)
        returned = []
        for n, (kind, value) in enumerate(zip(outputs, results, strict=True), start=form.nin):
            if n in operands:
                builder.store(context.data_model_manager[kind].as_data(builder, value), operands[n][1])
            else:
                returned.append(value)
        if not returned:
            return context.get_dummy_value()
        return returned[0] if len(returned) == 1 else context.make_tuple(builder, sig.return_type, returned)

    return lowered


def _write_call(
    context: Any, builder: Any, symbol: str, operands: Sequence[tuple[Any, Any]], outputs: Sequence[Any]
) -> Any:
    """Call a shim in Numba's convention, ``int shim(result *, arguments...)``; returns its results."""
    from llvmlite import ir
    from numba.cuda import cgutils

    models = context.data_model_manager
    kinds = [models[kind].get_data_type() for kind in outputs]
    # A function without a result is given the place of one too.
    whole = kinds[0] if len(kinds) == 1 else ir.LiteralStructType(kinds) if kinds else ir.IntType(8)
    place = cgutils.alloca_once(builder, whole)
    arguments = [place]
    for kind, value in operands:
        argument = models[kind].as_argument(builder, value)
        arguments += argument if isinstance(argument, tuple) else [argument]  # a complex number is two
    shape = ir.FunctionType(ir.IntType(32), [argument.type for argument in arguments])
    builder.call(cgutils.get_or_insert_function(builder.module, shape, symbol), arguments)
    places = [place] if len(kinds) == 1 else [cgutils.gep_inbounds(builder, place, 0, n) for n in range(len(kinds))]
    return [models[kind].from_data(builder, builder.load(p)) for kind, p in zip(outputs, places, strict=True)]


# --------------------------------------------------------------------------------------- linking


@cache
def _find_cell_code() -> Any:
    from numba import cuda

    class CellCode(cuda.LTOIR):  # type: ignore[misc, name-defined, unused-ignore]
        """A cell's code, inlined where the kernel is linked with ``lto``, called where it is not."""

        def __init__(self, object_code: ObjectCode) -> None:
            super().__init__(nvrtc.make_linkable(object_code), name=object_code.name)
            self.object_code = object_code

        def adapt_to_call(self) -> Any:
            return cuda.PTXSource(nvrtc.make_linkable(self.object_code, output="ptx"), name=self.name)

    return CellCode


@cache
def _link_code(object_code: ObjectCode) -> Any:
    """The addition to a kernel that calls functions of the cell: one object, so that it is linked once."""
    return _find_cell_code()(object_code)


def _refuse_caching(kernel: str, linked: Collection[Any]) -> None:
    if cells := sorted({code.name for code in linked if isinstance(code, _find_cell_code())}):
        raise UfuncMagicError(
            f"{kernel} calls functions of {', '.join(cells)}, and Numba's cache would not notice when a cell "
            "changes: the kernel cannot be cached.",
            remedy="Leave cache=True out; the cell's own code is in ufunc_magic's cache.",
        )
