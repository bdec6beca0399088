"""``__global__`` functions: launched on the GPU, or one thread after the other on the CPU."""

from __future__ import annotations

import ctypes
import inspect
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...model import ArgumentError, CellCrashed, FunctionCode, ObjectCode, ToolchainError
from . import device_arrays, driver
from .device_arrays import ArrayOperand
from .driver import LaunchLimits
from .element_loops import one_device

#: More than these are not run one after the other.
MOST_THREADS = 2**22
_AXES = "xyz"
_Triple = tuple[int, int, int]


class Kernel:
    """A ``__global__`` function of a CUDA cell: ``k[grid, block](arguments)``.

    Parameters of pointer type take contiguous arrays of exactly that type, on the GPU; NumPy arrays are copied
    there, and back where the pointer is not const.  Where there is no GPU the kernel runs on the CPU, on NumPy
    arrays in place, with the same threads and barriers, for small grids.

    Examples
    --------
    ``axpy[(n + 255) // 256, 256](n, 2.0, x, y)``; ``axpy.forall(n)(n, 2.0, x, y)`` chooses the grid;
    ``k[grid, block, shared, stream]`` with bytes of dynamic shared memory and a stream.

    Attributes
    ----------
    object_code : ObjectCode
    emulated : bool
        It runs on the CPU.
    """

    def __init__(
        self, code: FunctionCode, object_code: ObjectCode, *, address: int, owner: object, emulated: bool
    ) -> None:
        self.code = code
        self.object_code = object_code
        self.emulated = emulated
        self.kinds = kinds(code.prototype)
        self._address = address
        self._owner = owner
        #: By the device's number.
        self._functions: dict[int, Any] = {}
        self.__name__ = self.__qualname__ = code.name
        self.__module__ = "__main__"
        names = [n if n.isidentifier() else f"x{i}" for i, n in enumerate(code.parameters, 1)]
        self._names = tuple(names if len(names) == len(self.kinds) else [f"x{i}" for i, _ in enumerate(self.kinds, 1)])
        parameters = ", ".join(f"{k.spelled} {n}" for k, n in zip(self.kinds, self._names, strict=True))
        self.__doc__ = "\n\n".join(filter(None, (f"{code.name}[grid, block, shared, stream]({parameters})", code.doc)))
        self.__source__ = code.source
        kind = inspect.Parameter
        if len(set(self._names)) == len(self._names):
            self.__signature__ = inspect.Signature([kind(n, kind.POSITIONAL_ONLY) for n in self._names])

    def __repr__(self) -> str:
        return f"<CUDA kernel {self.__name__}({', '.join(k.spelled for k in self.kinds)})>"

    def __getitem__(self, launch: Any) -> Launch:
        """``k[grid, block]``, ``k[grid, block, shared]`` or ``k[grid, block, shared, stream]``."""
        entries = launch if isinstance(launch, tuple) else (launch,)
        if not 2 <= len(entries) <= 4:
            raise ArgumentError(
                f"{self.__name__}[...] has {len(entries)} {'entry' if len(entries) == 1 else 'entries'}.",
                remedy=f"Write {self.__name__}[grid, block] or {self.__name__}[grid, block, shared, stream].",
            )
        if not self.emulated and (why := driver.missing()):
            raise ToolchainError(f"{self.__name__} cannot run here: {why}.", remedy="With device='cpu' it is emulated.")
        shared, stream = entries[2] if len(entries) > 2 else 0, entries[3] if len(entries) > 3 else None
        if not _is_count(shared):  # Numba's order: stream before shared memory
            shared, stream = stream or 0, shared
        limits = LaunchLimits() if self.emulated else driver.limits()
        grid = _triple(entries[0], f"{self.__name__}: grid")
        block = _triple(entries[1], f"{self.__name__}: block")
        _check_limits(self.__name__, grid, block, shared, limits)
        try:
            pointer = driver.stream_pointer(stream)
        except TypeError as fault:
            raise ArgumentError(f"{self.__name__}: {fault}.", remedy="Give a cupy.cuda.Stream.") from fault
        return Launch(self, grid, block, int(shared), pointer)

    def __call__(self, *_: Any) -> Any:
        """Not without a grid."""
        raise ArgumentError(
            f"{self.__name__} is a kernel, and was called without a grid.",
            remedy=f"Write {self.__name__}[grid, block](...), or {self.__name__}.forall(n)(...) for n threads.",
        )

    def forall(self, count: int, block: int = 256, shared: int = 0, stream: Any = None) -> Launch:
        """A launch of at least ``count`` threads in one dimension.

        The kernel must take no notice of those past the last: ``if (i < n)``.
        """
        return self[max(1, -(-count // block)), block, shared, stream]

    def convert(self, args: Sequence[Any]) -> list[Argument]:
        """Check the arguments of a launch.

        Raises
        ------
        ArgumentError, OverflowError
        """
        if len(args) != len(self.kinds):
            raise ArgumentError(
                f"{self.__name__} takes {len(self.kinds)} arguments, {len(args)} were given.",
                remedy=f"Write {self.__doc__.partition(chr(10))[0] if self.__doc__ else self.__name__}.",
            )
        named = zip(self.kinds, args, self._names, strict=True)
        return [convert(kind, value, name=f"{self.__name__}(): {name}") for kind, value, name in named]

    def run(self, launch: Launch, args: Sequence[Any]) -> None:
        """Launch it."""
        arguments = self.convert(args)
        operands = [a.operand for a in arguments if a.operand is not None]
        side = device_arrays.place(operands, name=self.__name__)
        if self.emulated and side == "device":
            raise ArgumentError(
                f"{self.__name__} runs on the CPU here, and its arrays are on a GPU.",
                remedy="Give NumPy arrays (x.get()), or leave out --device cpu.",
            )
        if self.emulated:
            self._emulate(launch, arguments)
            return
        device = one_device([o.array for o in operands if o.place == "device"], name=self.__name__)
        with driver.on(driver.current() if device is None else device):
            self._launch(launch, arguments)

    def _launch(self, launch: Launch, arguments: Sequence[Argument]) -> None:
        lent = {n: driver.to_device(a.operand.array) for n, a in enumerate(arguments) if _on_host(a)}  # type: ignore[union-attr]
        values = [_value(a, lent.get(n)) for n, a in enumerate(arguments)]
        entry = self.code.calls[0] if self.code.calls else self.code.name
        device = driver.current()
        if device not in self._functions:
            self._functions[device] = driver.function_of(self.object_code, "", entry)
        driver.launch(
            self._functions[device], launch.grid, launch.block, values, shared=launch.shared, stream=launch.stream
        )
        if lent:
            driver.wait(launch.stream)
        for n, array in lent.items():
            operand = arguments[n].operand
            if operand is not None and not arguments[n].kind.const:
                operand.array[...] = driver.to_host(array)

    def _emulate(self, launch: Launch, arguments: Sequence[Argument]) -> None:
        if not self._address:
            raise ToolchainError(
                f"{self.__name__} cannot run on the CPU: there was no compiler for it.",
                remedy="Install gcc or clang, or pip install ziglang, and run the cell again.",
            )
        threads = int(np.prod([*launch.grid, *launch.block], dtype=np.int64))
        if threads > MOST_THREADS:
            raise ArgumentError(
                f"{self.__name__}[{launch.grid}, {launch.block}] has {threads:,} threads; on the CPU, where they run "
                f"one after the other, {MOST_THREADS:,} are the most.",
                remedy="Use a smaller grid, or a machine with a GPU.",
            )
        values = [np.asarray(_address(a) if a.operand is not None else a.value) for a in arguments]
        pointers = (ctypes.c_void_p * max(1, len(values)))(*(v.ctypes.data for v in values))
        grid, block = (np.array(sizes, np.uint32) for sizes in (launch.grid, launch.block))
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)(self._address)
        call(grid.ctypes.data, block.ctypes.data, launch.shared, ctypes.addressof(pointers))
        if fault := _launch_error(self._owner):
            raise CellCrashed(f"{self.__name__} failed on the CPU: {fault}")


@dataclass(frozen=True)
class Launch:
    """A kernel with its grid: call it with the kernel's arguments.

    Attributes
    ----------
    kernel : Kernel
    grid, block : tuple of int
        Blocks, and threads of each, in x, y and z.
    shared : int
        Bytes of dynamic shared memory.
    stream : int or None
        Pointer of a stream; None for CuPy's current one.
    """

    kernel: Kernel
    grid: _Triple
    block: _Triple
    shared: int = 0
    stream: int | None = None

    def __call__(self, *args: Any) -> None:
        self.kernel.run(self, args)


def _launch_error(library: object) -> str:
    """Why this thread's last launch of an emulated kernel of ``library`` failed; ``""`` if it has not."""
    try:
        address: int = library.symbol("__ufm_launch_error")  # type: ignore[attr-defined]
    except AttributeError:
        return ""
    text: bytes | None = ctypes.CFUNCTYPE(ctypes.c_char_p)(address)()
    return (text or b"").decode(errors="replace")


def _on_host(argument: Argument) -> bool:
    return argument.operand is not None and argument.operand.place == "host"


def _value(argument: Argument, lent: Any) -> Any:
    """What the launch takes: a number, a struct, or an address."""
    if argument.operand is None:
        return argument.value
    return np.uint64((argument.operand.array if lent is None else lent).data.ptr)


def _address(argument: Argument) -> np.uint64:
    assert argument.operand is not None
    return np.uint64(argument.operand.array.ctypes.data)


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _triple(value: Any, name: str) -> _Triple:
    sizes = value if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(sizes) <= 3 or not all(_is_count(s) for s in sizes):
        raise ArgumentError(f"{name} is {value!r}.", remedy="Give an integer, or a tuple of up to three.")
    x, y, z = (*(int(s) for s in sizes), 1, 1)[:3]
    return x, y, z


def _check_limits(name: str, grid: _Triple, block: _Triple, shared: int, limits: LaunchLimits) -> None:
    for what, sizes, most in (("grid", grid, limits.grid), ("block", block, limits.block)):
        for axis, size, limit in zip(_AXES, sizes, most, strict=True):
            if not 1 <= size <= limit:
                raise ArgumentError(f"{name}: {what}.{axis} is {size}.", remedy=f"It must be 1 to {limit:,}.")
    threads = block[0] * block[1] * block[2]
    if threads > limits.threads:
        raise ArgumentError(
            f"{name}: a block of {' x '.join(map(str, block))} has {threads:,} threads.",
            remedy=f"At most {limits.threads:,} fit; make the grid larger.",
        )
    if not 0 <= shared <= limits.shared:
        raise ArgumentError(
            f"{name}: {shared:,} bytes of shared memory.", remedy=f"A block can have 0 to {limits.shared:,}."
        )


# ------------------------------------------------------------------------------------- arguments


_KIND = re.compile(r"(const )?([a-z]\d+|V\d+|void)(\**)")


@dataclass(frozen=True)
class Kind:
    """The type of one parameter: ``f4`` of ``const float *`` with one level of pointers."""

    text: str
    element: str
    const: bool
    stars: int

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """NumPy's type of one element; None for ``void``."""
        return None if self.element == "void" else np.dtype(self.element)

    @property
    def spelled(self) -> str:
        """In words for a message."""
        if self.element == "void":
            base = "void"
        elif self.element[0] == "V":
            base = f"struct of {self.element[1:]} bytes"
        else:
            base = np.dtype(self.element).name
        return f"{'const ' * self.const}{base}{' ' + '*' * self.stars if self.stars else ''}"


@dataclass(frozen=True, eq=False)
class Argument:
    """One argument: the array it is, or the value that the kernel gets."""

    kind: Kind
    operand: ArrayOperand | None = None
    value: Any = None


def kinds(prototype: Sequence[str]) -> tuple[Kind, ...]:
    """The parameters of a prototype, whose first word is the result."""
    result = []
    for word in prototype[1:]:
        match = _KIND.fullmatch(word)
        assert match, word
        result.append(Kind(word, match[2], bool(match[1]), len(match[3])))
    return tuple(result)


def convert(kind: Kind, value: Any, *, name: str) -> Argument:
    """Check one argument.

    Parameters
    ----------
    name : str
        What messages call it: ``"axpy(): x"``.

    Raises
    ------
    ArgumentError
        For another type than the kernel's, or an array that a pointer cannot stand for.
    OverflowError
        For a number that the parameter's type does not hold.
    """
    if kind.stars:
        return _pointer(kind, value, name)
    if kind.element.startswith("V"):
        return Argument(kind, value=_struct(kind, value, name))
    return Argument(kind, value=_number(kind, value, name))


def _pointer(kind: Kind, value: Any, name: str) -> Argument:
    if value is None:
        return Argument(kind, value=np.uint64(0))
    if type(value).__module__.startswith("cupy.cuda.memory") and hasattr(value, "ptr"):
        return Argument(kind, value=np.uint64(value.ptr))
    if isinstance(value, bool | int | float | complex | np.generic | str | bytes):
        raise ArgumentError(
            f"{name} is {value!r}, the kernel takes {kind.spelled}.",
            remedy="Give an array; for an address, cupy.cuda.MemoryPointer says what memory it is in.",
        )
    operand = device_arrays.operand(value, name=name)
    array = operand.original if isinstance(operand.original, np.ndarray) else operand.array
    if not hasattr(array, "strides"):
        raise ArgumentError(
            f"{name} is {type(value).__name__}, the kernel takes {kind.spelled}.", remedy="Give an array."
        )
    if not isinstance(value, np.ndarray) and operand.place != "device":
        raise ArgumentError(
            f"{name} is a {type(value).__name__}, which has no memory that a kernel could use.",
            remedy=f"Give np.asarray(..., dtype={(kind.dtype or np.dtype('f8')).name!r}).",
        )
    _check_type(kind, array, name)
    if not array.flags.c_contiguous:
        raise ArgumentError(
            f"{name} is not contiguous (shape {array.shape}, strides {array.strides}); a pointer has no steps.",
            remedy="Give np.ascontiguousarray(x) or cupy.ascontiguousarray(x); for Fortran order, x.T.",
        )
    if isinstance(array, np.ndarray) and not array.flags.writeable and not kind.const:
        raise ArgumentError(f"{name} is read-only, and the kernel may write to it.", remedy="Give a copy.")
    return Argument(kind, operand=ArrayOperand("device" if operand.place == "device" else "host", array, value))


def _check_type(kind: Kind, array: Any, name: str) -> None:
    dtype, have = kind.dtype, array.dtype
    if kind.stars > 1:
        raise ArgumentError(
            f"{name} is a pointer to pointers ({kind.spelled}), which no array is.",
            remedy="Give one array, and let the kernel find its rows.",
        )
    if dtype is None or have == dtype:
        return
    if dtype.kind == "V":
        # float4 over rows of four floats
        if dtype.itemsize in (have.itemsize, have.itemsize * (array.shape[-1] if array.ndim else 1)):
            return
        raise ArgumentError(
            f"{name} is an array of {have} of shape {array.shape}, the kernel takes {kind.spelled}.",
            remedy=f"Give rows of {dtype.itemsize} bytes.",
        )
    same = have.newbyteorder("=") == dtype
    why = "in another byte order" if same else f"an array of {have}"
    raise ArgumentError(
        f"{name} is {why}, the kernel takes {kind.spelled}.",
        remedy=f"Convert it: {name.rpartition(' ')[2]}.astype({dtype.name!r}).",
    )


def _struct(kind: Kind, value: Any, name: str) -> np.ndarray[Any, Any]:
    size = np.dtype(kind.element).itemsize
    raw = value.tobytes() if isinstance(value, np.generic | np.ndarray) else value
    if not isinstance(raw, bytes | bytearray | memoryview) or len(raw) != size:
        have = f"{len(raw)} bytes" if isinstance(raw, bytes | bytearray | memoryview) else type(value).__name__
        raise ArgumentError(
            f"{name} is {have}, the kernel takes a {kind.spelled}.",
            remedy="Give a NumPy record of its fields: np.array((1, 2), dtype=[('x', 'f4'), ('y', 'f4')]).",
        )
    # Of a structured type, which is how CuPy knows a struct that is passed by value.
    return np.frombuffer(bytes(raw), dtype=np.dtype([("bytes", "u1", (size,))])).reshape(())


def _number(kind: Kind, value: Any, name: str) -> Any:
    dtype = kind.dtype
    assert dtype is not None
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    if not isinstance(value, bool | int | float | complex | np.number | np.bool_):
        place = "x.item()" if hasattr(value, "shape") else f"{dtype.name}(...)"
        raise ArgumentError(
            f"{name} is {type(value).__name__}, the kernel takes a number ({kind.spelled}).", remedy=f"Give {place}."
        )
    number: Any = value.item() if isinstance(value, np.generic) else value
    fits = {"b": "b", "u": "bui", "i": "bui", "f": "buif", "c": "buifc"}[dtype.kind]
    kind_of_number = np.asarray(number).dtype.kind if not isinstance(number, int) or isinstance(number, bool) else "i"
    if kind_of_number not in fits:
        raise ArgumentError(
            f"{name} is {value!r}, the kernel takes {kind.spelled}.", remedy=f"Convert it: {_word(dtype)}({value!r})."
        )
    if dtype.kind in "ui":
        info = np.iinfo(dtype)
        if not info.min <= number <= info.max:
            raise OverflowError(f"{name} is {number}, outside of {kind.spelled}: {info.min} to {info.max}")
        return dtype.type(number)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            result = dtype.type(number)
        if math.isinf(result) and not math.isinf(number):
            raise OverflowError(f"{name} is {number}, outside of {kind.spelled}")
        return result
    return dtype.type(number)


def _word(dtype: np.dtype[Any]) -> str:
    return {"b": "bool", "u": "int", "i": "int", "f": "float", "c": "complex"}[dtype.kind]
