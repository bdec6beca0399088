"""Functions of a CUDA cell on arrays: NumPy's rules for types, shapes and outputs, the GPU for the work."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from inspect import Signature
from typing import Any

import numpy as np

from ....model import ArgumentError, CellPlace, FunctionCode, ObjectCode, SignatureError, ToolchainError
from ....runtime import BoundFunction, find_current_place, make_ufunc, spell_letters
from . import device_arrays, driver
from .cell_memory import CellMemory
from .device_arrays import ArrayOperand
from .element_loops import Choice, Loops

#: Stands for an argument that was not given.
_NOTHING: Any = type("_Nothing", (), {"__repr__": lambda _: "<no value>"})()


class CudaFunction(BoundFunction):
    """A device function of a CUDA cell, called on arrays element by element as a NumPy ufunc is.

    CuPy arrays, Numba's device arrays, torch's CUDA tensors and whatever else exports its device memory give
    results of their kind, without a copy; NumPy arrays go to the GPU and back.  Numbers go with either.

    Attributes
    ----------
    emulated : numpy.ufunc, PlainFunction or None
        The same source compiled for the CPU; None where there was no compiler for it.
    object_code : ObjectCode
    nin, nout, nargs, ntypes, types, identity, signature
        As a ufunc's.

    Raises
    ------
    TypeError
        As NumPy: no loop for the types, or a result that ``out`` does not take.
    SignatureError
        For arrays partly on the GPU and partly not, and for functions that cannot be called by element.
    """

    def __init__(
        self, code: FunctionCode, object_code: ObjectCode, *, emulated: Any = None, memory: CellMemory | None = None
    ) -> None:
        self.code = code
        self.object_code = object_code
        self.emulated = emulated
        self.nin, self.nout, self.nargs = code.nin, code.nout, code.nin + code.nout
        self.types = [spell_letters(loop.types, code.nin) for loop in code.loops]
        self.ntypes = len(self.types)
        self.identity = None if code.identity == "reorderable" else code.identity
        self.signature = code.core or None
        self.__name__ = self.__qualname__ = code.name
        self.__module__ = "__main__"
        self.__doc__ = getattr(emulated, "__doc__", None) or code.doc
        self.__source__ = code.source
        signature = getattr(emulated, "__signature__", None)
        if isinstance(signature, Signature):
            self.__signature__ = signature
        self._refusal = _explain_refusal(code, self.types, find_current_place(object_code))
        self._loops = Loops(code, object_code, CellMemory(object_code) if memory is None else memory)

    def __repr__(self) -> str:
        return f"<CUDA function {self.__name__!r} {' '.join(self.types)}>".replace(" >", ">")

    def __call__(
        self,
        *args: Any,
        out: Any = None,
        where: Any = True,
        casting: Any = "same_kind",
        order: str = "K",
        dtype: Any = None,
        signature: Any = None,
        subok: bool = True,
    ) -> Any:
        usual = where is True and dtype is None and signature is None and order == "K" and casting == "same_kind"
        if usual:
            arguments = args if out is None else (*args, *out) if isinstance(out, tuple) else (*args, out)
            results = self._loops.run_again([device_arrays.lend_tensor(value) for value in arguments], arguments)
            if results is not None:
                return results[0] if self.nout == 1 else tuple(results)
        self._check()
        inputs, outs = self._split(args, out)
        self._require_gpu()
        stream = device_arrays.find_tensor_stream((*inputs, *outs, where))
        if stream is not None:
            rules = {"where": where, "casting": casting, "order": order, "dtype": dtype, "signature": signature}
            with driver.use_stream(stream):
                return self(*args, out=out, subok=subok, **rules)
        other = _find_dispatcher(inputs)
        if other is not None:
            return other.__array_ufunc__(self, "__call__", *inputs, **({} if out is None else {"out": out}))
        operands = [device_arrays.read_operand(value, name=self.__name__) for value in inputs]
        targets = [None if value is None else self._make_target(value) for value in outs]
        mask = None if where is True else device_arrays.read_operand(where, name=self.__name__)
        everything = [o for o in (*operands, *targets, mask) if o is not None]
        on_host = device_arrays.place(everything, name=self.__name__) == "host"
        shape = None
        targets_there = targets
        if on_host:
            if any(targets):
                shape = np.broadcast_shapes(*(o.shape for o in everything))
            operands = [_send(o) for o in operands]
            # Under a mask, what stays of an output must be there first.
            targets_there = [None if t is None or mask is None else _send(t) for t in targets]
            mask = None if mask is None else _send(mask)
        results = None
        if usual and shape is None:
            arrays = [None if t is None else t.array for t in targets] if any(targets) else []
            results = self._loops.run_again([*(o.array for o in operands), *arrays])
        if results is None:
            types = [*(o.dtype for o in operands), *(None if t is None else t.array.dtype for t in targets)]
            choice = self._choose(
                types, casting=casting, signature=_read_requested(dtype, signature, self.nin, self.nout)
            )
            results = self._loops.run(choice, operands, targets_there, mask, order=order, shape=shape)
        like = next((o.original for o in everything if o.place == "device"), None)
        answers = [_deliver(r, t, like) for r, t in zip(results, targets, strict=True)]
        return answers[0] if self.nout == 1 else tuple(answers)

    def reduce(
        self,
        array: Any,
        axis: int | tuple[int, ...] | None = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = _NOTHING,
    ) -> Any:
        """Reduce an array along axes by a function of two inputs, as ``np.add.reduce`` does.

        The order of the elements is the device's: the function must be associative and commutative, which is
        what its identity (``// ufunc: identity=0``) says.

        Parameters
        ----------
        array : array
            On the GPU, or NumPy's.
        axis : int, tuple of int or None
            None for all.
        dtype : dtype
            Of the result and of what is computed.
        out : array
        keepdims : bool
        initial : number or None
            In place of the identity; None to start from the first element.

        Raises
        ------
        SignatureError
            If the function has no identity, or not two inputs and one output.
        ValueError
            For an empty array without a value to start from.
        """
        self._check()
        if self.nin != 2 or self.nout != 1 or self.code.identity is None:
            raise SignatureError(
                f"{self.__name__}.reduce needs a function of two inputs and one output with an identity.",
                remedy="Write // ufunc: identity=0 (or 1, or reorderable) above the function.",
            )
        stream = device_arrays.find_tensor_stream((array, *(out if isinstance(out, tuple) else (out,))))
        if stream is not None:
            with driver.use_stream(stream):
                return self.reduce(array, axis, dtype, out, keepdims, initial)
        source = device_arrays.read_operand(array, name=self.__name__)
        if source.place == "value":
            source = ArrayOperand("host", np.asarray(source.array), array)
        target = None if out is None else self._make_target(out[0] if isinstance(out, tuple) else out)
        side = device_arrays.place([source, *([target] if target else [])], name=self.__name__)
        known = None if dtype is None else np.dtype(dtype)
        types = (None if target is None else target.array.dtype, source.array.dtype, None)
        signature = None if known is None else (known, None, None)
        choice = self._choose(types, signature=signature, reduction=True)
        start = self.identity if initial is _NOTHING else initial
        work = source.array if side == "device" else driver.to_device(source.array)
        result = self._loops.reduce(choice, work, axis=axis, keepdims=keepdims, start=start)
        return _deliver(result, target, source.original if side == "device" else None)

    def outer(self, a: Any, b: Any, **keywords: Any) -> Any:
        """The function of every pair of elements of two arrays."""
        if self.nin != 2:
            raise ValueError("outer product only supported for binary functions")
        first, second = (device_arrays.read_operand(value, name=self.__name__) for value in (a, b))
        left = first.array if first.place == "value" else first.array[(..., *(None,) * len(second.shape))]
        if first.place == "device":
            left = device_arrays.give(left, a)
        return self(left, b, **keywords)

    def _check(self) -> None:
        if self._refusal:
            raise SignatureError(f"{self.__name__} {self._refusal[0]}", remedy=self._refusal[1])

    def _require_gpu(self) -> None:
        if why := driver.explain_missing():
            instead = "pip install ziglang, or install gcc or clang, and run the cell again: it is then emulated."
            if self.object_code.options.get("device") == "gpu":
                instead = "um.dumps takes it to a machine with a GPU. Without --device gpu it is emulated here."
            elif self.emulated is not None:
                instead = f"{self.__name__}.emulated is the same for the CPU."
            raise ToolchainError(f"{self.__name__} cannot run here: {why}.", remedy=instead)

    def _split(self, args: tuple[Any, ...], out: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Inputs and outputs, which may come by position or by name."""
        if not self.nin <= len(args) <= self.nargs:
            raise TypeError(
                f"{self.__name__}() takes from {self.nin} to {self.nargs} positional arguments, {len(args)} were given"
            )
        outs = args[self.nin :]
        if out is not None:
            if outs:
                raise TypeError("cannot specify 'out' as both a positional and keyword argument")
            outs = out if isinstance(out, tuple) else (out,)
            if len(outs) != self.nout:
                raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
        return args[: self.nin], (*outs, *(None,) * (self.nout - len(outs)))

    def _make_target(self, value: Any) -> ArrayOperand:
        if isinstance(value, np.ndarray):
            if not value.flags.writeable:
                raise ValueError("output array is read-only")
            return ArrayOperand("host", value, value)
        target = device_arrays.read_operand(value, name=self.__name__)
        if target.place != "device":
            raise ArgumentError(f"{self.__name__}: out is {type(value).__name__}.", remedy="Give an array.")
        return target

    @functools.cached_property
    def _resolver(self) -> np.ufunc:
        """A ufunc of the same loops, which is never called: it has NumPy's own rules for types."""
        if isinstance(self.emulated, np.ufunc):
            return self.emulated
        loops = dict.fromkeys((loop.index for loop in self.code.loops), 0)
        return make_ufunc(self.code, loops, module=self.__module__, owner=None)

    def _choose(self, types: Sequence[Any], *, signature: Any, **rules: Any) -> Choice:
        """The loop for operands of these types, or NumPy's TypeError."""
        request = {} if signature is None else {"signature": signature}
        resolved = self._resolver.resolve_dtypes(tuple(types), **request, **rules)
        numbers = tuple(dtype.num for dtype in resolved)
        index = next((n for n, loop in enumerate(self.code.loops) if loop.types == numbers), None)
        if index is None:
            raise TypeError(f"{self.__name__} has no loop for {', '.join(map(str, resolved))}")
        return Choice(index, *self.types[index].split("->"))


def _explain_refusal(code: FunctionCode, types: Sequence[str], place: CellPlace) -> tuple[str, str] | None:
    """Why a function cannot be called from Python, and what can."""
    if code.kind != "ufunc":
        reason = place.replace_marks(code.reason) or "it has pointer parameters"
        return (
            f"cannot be called on arrays by element: {reason}.",
            "Call it in a kernel; .emulated calls its form for the CPU.",
        )
    if code.core:
        return (
            f"works on whole rows {code.core}, which has no element-wise form on the GPU.",
            "Call it in a __global__ kernel, one thread for each row; .emulated is its ufunc for the CPU.",
        )
    if len(code.calls) != len(code.loops) or not all(code.calls) or "g" in "".join(types).lower():
        return ("has types that a GPU does not have.", "Use float or double; .emulated is its ufunc for the CPU.")
    return None


def _find_dispatcher(inputs: Sequence[Any]) -> Any:
    """An argument that wants to call the function itself on what it wraps: pandas, xarray, Dask."""
    for value in inputs:
        method: Callable[..., Any] | None = getattr(type(value), "__array_ufunc__", None)
        known = isinstance(value, np.ndarray | np.generic) or type(value).__module__.partition(".")[0] == "cupy"
        if method is not None and not known and not hasattr(value, "__cuda_array_interface__"):
            return value
    return None


def _read_requested(dtype: Any, signature: Any, nin: int, nout: int) -> Any:
    """``dtype=`` and ``signature=`` in the form that `numpy.ufunc.resolve_dtypes` takes."""
    if dtype is not None and signature is not None:
        raise TypeError("cannot specify both 'signature' and 'dtype'")
    if dtype is not None:
        return (*(None,) * nin, *(np.dtype(dtype),) * nout)
    if isinstance(signature, str):
        chars = signature.replace("->", "")
        return tuple(np.dtype(c) for c in chars) if len(chars) == nin + nout else (None,) * nin + (np.dtype(chars),)
    return signature


def _send(value: ArrayOperand) -> ArrayOperand:
    if value.place == "value":
        return value
    native = value.array.astype(value.array.dtype.newbyteorder("="), copy=False)
    return ArrayOperand("device", driver.to_device(native), value.original)


def _deliver(result: Any, target: ArrayOperand | None, like: Any) -> Any:
    """The result: ``target`` with the values in it, else an array of the kind of ``like``; None is NumPy."""
    if target is None:
        return driver.to_host(result)[()] if like is None else device_arrays.give(result, like)
    if target.place == "host":
        np.copyto(target.original, driver.to_host(result), casting="unsafe")  # the rule was checked with the choice
        return target.original
    if result is not target.array:
        driver.assign(target.array, result)
    device_arrays.order_after(target.array, target.original)
    return target.original
