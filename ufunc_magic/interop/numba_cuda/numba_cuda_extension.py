"""Functions of CUDA cells inside Numba's CUDA kernels: typed, called and linked as if Numba had compiled them.

`attach` makes it so from the moment when ``numba.cuda`` is imported, and imports nothing itself; `install` does it now.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from ...model import ObjectCode
from ..import_hooks import when_imported
from .device_calls import Form, code_of, operand
from .device_link import install_linking, linked_library
from .device_typing import Vocabulary, register

__all__ = ["attach", "install"]


_NUMBA_CUDA = Vocabulary("numba.cuda")
#: What compiles the source that ``cuda.declare_device`` is given in the simulator.
_compile: Callable[..., Any] | None = None


def attach(compile_cuda: Callable[..., Any] | None = None) -> None:
    """Let kernels call functions of CUDA cells, now or as soon as Numba's CUDA target is imported.

    Parameters
    ----------
    compile_cuda : callable
        `ufunc_magic.compile_cuda`, for code that ``cuda.declare_device`` is given to link in the simulator.
    """
    global _compile
    _compile = compile_cuda or _compile
    for name, register_with in _TARGETS.items():
        when_imported(name, register_with)


@cache
def install() -> None:
    """Register with the ``numba.cuda`` of this process: its compiler, or its simulator."""
    from numba import cuda
    from numba.core import config

    if config.ENABLE_CUDASIM:
        _safely("numba", _install_in_simulator)
    elif getattr(cuda, "implementation", "") == "NVIDIA":
        _safely("numba-cuda", _install)
    else:
        _safely("numba", _refuse_built_in)


def _install_in_simulator() -> None:
    from . import simulator

    simulator.install(_compile)


def _install() -> None:
    _import_arrays()
    register(_NUMBA_CUDA, _lower)
    install_linking()


@cache
def _install_mlir() -> None:
    from . import mlir_extension

    _safely("numba-cuda-mlir", mlir_extension.install)


#: Modules to wait for, and what registers with each.
_TARGETS: dict[str, Callable[[], None]] = {"numba.cuda": install, "numba_cuda_mlir.cuda": _install_mlir}


def _safely(package: str, register_with: Callable[[], None]) -> None:
    """Register; where a version has not what that needs, kernels that do not call us must go on."""
    try:
        register_with()
    except (ImportError, AttributeError) as fault:
        warnings.warn(
            f"Kernels cannot call functions of %%cuda_device cells: {package} {version(package)} lacks what that needs "
            f"({fault}). Install a version that this ufunc_magic knows: pip install 'ufunc_magic[cuda-numba]'.",
            stacklevel=2,
        )


def _lower(key: str, offered: tuple[Form, ...], object_code: ObjectCode) -> None:
    from numba.cuda.descriptor import cuda_target

    anything = (_NUMBA_CUDA.types.VarArg(_NUMBA_CUDA.types.Any),)
    cuda_target.target_context.insert_func_defn([(_lowering(offered, object_code), key, anything)])


def _import_arrays() -> None:
    """Import what numba-cuda 0.30 cannot import with NumPy 2.5, which has no ``row_stack`` any more."""
    if hasattr(np, "row_stack"):
        return
    np.row_stack = np.vstack
    try:
        importlib.import_module("numba.cuda.np.arrayobj")
    finally:
        del np.row_stack


def _lowering(offered: tuple[Form, ...], object_code: ObjectCode) -> Any:
    """What writes a call: of the shim, by value; then results go where the kernel has pointers for them."""

    def lowered(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
        form = _NUMBA_CUDA.form(offered, sig.args)
        context.active_code_library.add_linking_library(linked_library(object_code))
        operands = dict(zip(form.slots, zip(sig.args, args, strict=True), strict=False))
        outputs = [_NUMBA_CUDA.type_of(operand(word)) for word in form.shim.outputs]
        results = _call(context, builder, form.shim.symbol, [operands[n] for n in range(form.nin)], outputs)
        left = []
        for n, (kind, value) in enumerate(zip(outputs, results, strict=True), start=form.nin):
            if n in operands:
                builder.store(context.data_model_manager[kind].as_data(builder, value), operands[n][1])
            else:
                left.append(value)
        if not left:
            return context.get_dummy_value()
        return left[0] if len(left) == 1 else context.make_tuple(builder, sig.return_type, left)

    return lowered


def _call(context: Any, builder: Any, symbol: str, operands: Sequence[tuple[Any, Any]], outputs: Sequence[Any]) -> Any:
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
        given = models[kind].as_argument(builder, value)
        arguments += given if isinstance(given, tuple) else [given]  # a complex number is two
    shape = ir.FunctionType(ir.IntType(32), [argument.type for argument in arguments])
    builder.call(cgutils.get_or_insert_function(builder.module, shape, symbol), arguments)
    places = [place] if len(kinds) == 1 else [cgutils.gep_inbounds(builder, place, 0, n) for n in range(len(kinds))]
    return [models[kind].from_data(builder, builder.load(p)) for kind, p in zip(outputs, places, strict=True)]


def _refuse_built_in() -> None:
    """Numba's own CUDA target links no code in memory: say what does."""
    from numba.cuda.target import CUDATypingContext

    resolve = CUDATypingContext.resolve_value_type

    def resolve_value_type(self: Any, value: Any) -> Any:
        found = code_of(value)
        if found is None:
            return resolve(self, value)
        raise ValueError(
            f"{found[0].name} is CUDA C++, and the CUDA target inside of numba {version('numba')} cannot link it. "
            "Install NVIDIA's: pip install 'numba-cuda[cu13]', and restart the kernel."
        )

    CUDATypingContext.resolve_value_type = resolve_value_type
