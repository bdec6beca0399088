"""Functions of a CUDA cell on arrays: NumPy's rules for types, shapes and outputs, the GPU for the work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Signature
from typing import Any

import numpy as np

from ...model import TYPES, ArgumentError, FunctionCode, ObjectCode, SignatureError, ToolchainError
from . import device_arrays, driver
from .device_arrays import ArrayOperand
from .element_loops import Choice, Loops

#: Stands for an argument that was not given.
_NOTHING: Any = type("_Nothing", (), {"__repr__": lambda _: "<no value>"})()


class CudaFunction:
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

    def __init__(self, code: FunctionCode, object_code: ObjectCode, *, emulated: Any = None) -> None:
        self.code = code
        self.object_code = object_code
        self.emulated = emulated
        self.nin, self.nout, self.nargs = code.nin, code.nout, code.nin + code.nout
        self.types = ["->".join(letters(code, n)) for n in range(len(code.loops))]
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
        self._refusal = _refusal(code)
        self._loops = Loops(code, object_code)

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
        self._check()
        inputs, outs = self._split(args, out)
        self._needs_gpu()
        other = _dispatcher(inputs)
        if other is not None:
            return other.__array_ufunc__(self, "__call__", *inputs, **({} if out is None else {"out": out}))
        operands = [device_arrays.operand(value, name=self.__name__) for value in inputs]
        targets = [None if value is None else self._target(value) for value in outs]
        mask = None if where is True else device_arrays.operand(np.bool_(where) if isinstance(where, bool) else where)
        everything = [*operands, *(t for t in targets if t is not None), *([mask] if mask is not None else [])]
        side = device_arrays.place(everything, name=self.__name__)
        types = self._types(
            operands, targets, casting=casting, signature=_requested(dtype, signature, self.nin, self.nout)
        )
        if side == "host":
            return self._on_host(types, operands, targets, mask, order)
        results = self._loops.run(types, operands, targets, mask, order=order)
        like = next(o.original for o in everything if o.place == "device")
        return _plural([_answer(r, t, like) for r, t in zip(results, targets, strict=True)])

    def _on_host(
        self,
        types: Any,
        operands: Sequence[ArrayOperand],
        targets: Sequence[ArrayOperand | None],
        mask: ArrayOperand | None,
        order: str,
    ) -> Any:
        lent = [_sent(o) for o in operands]
        # Under a mask, what stays of an output must be there first.
        taken = [None if t is None or mask is None else _sent(t) for t in targets]
        shape = np.broadcast_shapes(*(o.shape for o in [*lent, *(t for t in targets if t is not None)]))
        results = self._loops.run(types, lent, taken, None if mask is None else _sent(mask), order=order, shape=shape)
        answers = []
        for result, target in zip(results, targets, strict=True):
            here = driver.to_host(result)
            if target is None:
                answers.append(here if here.ndim else here[()])
                continue
            np.copyto(target.original, here, casting="unsafe")  # the rule was checked with the loop's choice
            answers.append(target.original)
        return _plural(answers)

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
        source = device_arrays.operand(array, name=self.__name__)
        if source.place == "value":
            source = ArrayOperand("host", np.asarray(source.array), array)
        target = None if out is None else self._target(out[0] if isinstance(out, tuple) else out)
        side = device_arrays.place([source, *([target] if target else [])], name=self.__name__)
        known = None if dtype is None else np.dtype(dtype)
        started: OperandType = known if known is not None else (target.array.dtype if target else None)
        signature = None if known is None else (known, None, known)
        types = choose(
            self.code, self.emulated, (started, source.array.dtype, started), signature=signature, reduction=True
        )
        start = self.identity if initial is _NOTHING else initial
        work = source.array if side == "device" else driver.to_device(source.array)
        result = self._loops.reduce(types, work, axis=axis, keepdims=keepdims, start=start)
        if side == "host":
            here = driver.to_host(result)
            if target is not None:
                np.copyto(target.original, here, casting="same_kind")
                return target.original
            return here if here.ndim else here[()]
        if target is None:
            return device_arrays.give(result, source.original)
        driver.assign(target.array, result)
        device_arrays.ordered_after(target.array, target.original)
        return target.original

    def outer(self, a: Any, b: Any, **keywords: Any) -> Any:
        """The function of every pair of elements of two arrays."""
        if self.nin != 2:
            raise ValueError("outer product only supported for binary functions")
        first, second = (device_arrays.operand(value, name=self.__name__) for value in (a, b))
        left = first.array if first.place == "value" else first.array[(..., *(None,) * len(second.shape))]
        if first.place == "device":
            left = device_arrays.give(left, a)
        return self(left, b, **keywords)

    def _not_here(self, method: str) -> Any:
        raise SignatureError(
            f"{self.__name__}.{method} is not available on the GPU.",
            remedy=f"Use {self.__name__}.emulated.{method} on NumPy arrays, or write a __global__ kernel.",
        )

    def accumulate(self, *_: Any, **__: Any) -> Any:
        """Not on the GPU."""
        self._not_here("accumulate")

    def reduceat(self, *_: Any, **__: Any) -> Any:
        """Not on the GPU."""
        self._not_here("reduceat")

    def at(self, *_: Any, **__: Any) -> Any:
        """Not on the GPU."""
        self._not_here("at")

    def _check(self) -> None:
        if self._refusal:
            raise SignatureError(f"{self.__name__} {self._refusal[0]}", remedy=self._refusal[1])

    def _needs_gpu(self) -> None:
        if why := driver.missing():
            instead = "pip install ziglang, or install gcc or clang, and run the cell again: it is then emulated."
            raise ToolchainError(
                f"{self.__name__} cannot run here: {why}.",
                remedy=instead if self.emulated is None else f"{self.__name__}.emulated is the same for the CPU.",
            )

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

    def _target(self, value: Any) -> ArrayOperand:
        if isinstance(value, np.ndarray):
            if not value.flags.writeable:
                raise ValueError("output array is read-only")
            return ArrayOperand("host", value, value)
        target = device_arrays.operand(value, name=self.__name__)
        if target.place != "device":
            raise ArgumentError(f"{self.__name__}: out is {type(value).__name__}.", remedy="Give an array.")
        return target

    def _types(self, operands: Sequence[ArrayOperand], targets: Sequence[ArrayOperand | None], **rules: Any) -> Any:
        known: list[OperandType] = [o.dtype for o in operands]
        known += [None if t is None else t.array.dtype for t in targets]
        return choose(self.code, self.emulated, known, **rules)


def _refusal(code: FunctionCode) -> tuple[str, str] | None:
    """Why a function cannot be called from Python, and what can."""
    if code.kind != "ufunc":
        return (
            f"cannot be called on arrays by element: {code.reason or 'it has pointer parameters'}.",
            "Call it in a kernel; .emulated calls its form for the CPU.",
        )
    if code.core:
        return (
            f"works on whole rows {code.core}, which has no element-wise form on the GPU.",
            "Call it in a __global__ kernel, one thread for each row; .emulated is its ufunc for the CPU.",
        )
    if (
        len(code.calls) != len(code.loops)
        or not all(code.calls)
        or any("g" in "".join(letters(code, n)) for n in range(len(code.loops)))
    ):
        return ("has types that a GPU does not have.", "Use float or double; .emulated is its ufunc for the CPU.")
    return None


def _dispatcher(inputs: Sequence[Any]) -> Any:
    """An argument that wants to call the function itself on what it wraps: pandas, xarray, Dask."""
    for value in inputs:
        method: Callable[..., Any] | None = getattr(type(value), "__array_ufunc__", None)
        known = isinstance(value, np.ndarray | np.generic) or type(value).__module__.partition(".")[0] == "cupy"
        if method is not None and not known and not hasattr(value, "__cuda_array_interface__"):
            return value
    return None


def _requested(dtype: Any, signature: Any, nin: int, nout: int) -> Any:
    """``dtype=`` and ``signature=`` in the form that `numpy.ufunc.resolve_dtypes` takes."""
    if dtype is not None and signature is not None:
        raise TypeError("cannot specify both 'signature' and 'dtype'")
    if dtype is not None:
        return (*(None,) * nin, *(np.dtype(dtype),) * nout)
    if isinstance(signature, str):
        chars = signature.replace("->", "")
        return tuple(np.dtype(c) for c in chars) if len(chars) == nin + nout else (None,) * nin + (np.dtype(chars),)
    return signature


def _sent(value: ArrayOperand) -> ArrayOperand:
    if value.place == "value":
        return value
    native = value.array.astype(value.array.dtype.newbyteorder("="), copy=False)
    return ArrayOperand("device", driver.to_device(native), value.original)


def _answer(result: Any, target: ArrayOperand | None, like: Any) -> Any:
    if target is None:
        return device_arrays.give(result, like)
    device_arrays.ordered_after(result, target.original)
    return target.original


def _plural(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else tuple(values)


# -------------------------------------------------------------------------------- the loop's types

#: What is known of an operand before the loop is chosen: its type, one of Python's own number types, or nothing.
OperandType = np.dtype[Any] | type | None
_KINDS: dict[type, str] = {int: "iufc", float: "fc", complex: "c"}


def letters(code: FunctionCode, index: int) -> tuple[str, str]:
    """Types of a loop as NumPy's letters: inputs, outputs."""
    chars = "".join(TYPES[t].char for t in code.loops[index].types)
    return chars[: code.nin], chars[code.nin :]


def choose(
    code: FunctionCode,
    emulated: Any,
    types: Sequence[OperandType],
    *,
    casting: Any = "same_kind",
    signature: Any = None,
    reduction: bool = False,
) -> Choice:
    """The loop for operands of the types ``types``, inputs and outputs.

    Raises
    ------
    TypeError
        If there is none, or an output does not take its result: NumPy's own exceptions.
    """
    if isinstance(emulated, np.ufunc):
        request = {} if signature is None else {"signature": signature}
        resolved = emulated.resolve_dtypes(tuple(types), casting=casting, reduction=reduction, **request)
        return Choice(*_loop_of(code, resolved))
    return _first(code, types, casting=casting, signature=signature)


def _loop_of(code: FunctionCode, resolved: Sequence[np.dtype[Any]]) -> tuple[int, str, str]:
    numbers = tuple(dtype.num for dtype in resolved)
    for index, loop in enumerate(code.loops):
        if loop.types == numbers:
            return index, *letters(code, index)
    for index in range(len(code.loops)):  # long and long long of one width
        if all(np.dtype(c) == d for c, d in zip("".join(letters(code, index)), resolved, strict=True)):
            return index, *letters(code, index)
    raise TypeError(f"{code.name} has no loop for {', '.join(map(str, resolved))}")


def _first(code: FunctionCode, types: Sequence[OperandType], *, casting: Any, signature: Any) -> Choice:
    """NumPy's search in short, for where no compiler could make the ufunc: the first loop that takes all safely."""
    fixed_types = [None if s is None else np.dtype(s) for s in signature or (None,) * len(types)]
    for index in range(len(code.loops)):
        inputs, outputs = letters(code, index)
        loop = [np.dtype(c) for c in inputs + outputs]
        suits = all(w is None or w == have for w, have in zip(fixed_types, loop, strict=True))
        fixed = any(w is not None for w in fixed_types)
        rule = casting if fixed else "safe"
        taken = all(_takes(have, g, rule) for have, g in zip(loop, types[: code.nin], strict=False))
        if suits and taken:
            for have, out in zip(loop[code.nin :], types[code.nin :], strict=True):
                if isinstance(out, np.dtype) and not np.can_cast(have, out, casting):
                    raise TypeError(f"Cannot cast {code.name} output from {have!r} to {out!r} with rule {casting!r}")
            return Choice(index, inputs, outputs)
    shown = ", ".join(g.__name__ if isinstance(g, type) else str(g) for g in types[: code.nin])
    raise TypeError(f"{code.name} is not supported for the types ({shown}), and they cannot be cast safely to any")


def _takes(loop: np.dtype[Any], operand: OperandType, rule: Any) -> bool:
    if operand is None:
        return True
    if isinstance(operand, np.dtype):
        return bool(np.can_cast(operand, loop, rule))
    return loop.kind in _KINDS[operand]
