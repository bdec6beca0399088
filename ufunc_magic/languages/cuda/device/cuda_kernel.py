"""``__global__`` functions: launched on the GPU, or one thread after the other on the CPU."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import inspect
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import index
from typing import Any

import numpy as np

from ....model import ArgumentError, CellCrashed, CellPlace, FunctionCode, ObjectCode, ToolchainError
from ....runtime import BoundFunction, find_current_place, read_line_table
from . import device_arrays, driver
from .cell_memory import CellMemory
from .device_arrays import ArrayOperand
from .element_loops import find_one_device
from .guarded_copies import MOST_BYTES, GuardedCopies

#: More than these are not run one after the other.
MOST_THREADS = 2**22
#: An index this close to an array is reported with the name of the array.
_NEAR = 2**20
#: Words that wait for the whole grid.
_GRID = re.compile(r"\b(?:this_grid|grid_group)\b")
#: Launches, and layouts of arrays, that a kernel remembers.
_MOST_KNOWN = 256
_Triple = tuple[int, int, int]
#: Limits of every device since compute capability 5.0.
_MOST_BLOCKS, _MOST_THREADS, _OF_BLOCK = (2**31 - 1, 65535, 65535), (1024, 1024, 64), 1024


class Kernel(BoundFunction):
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
    memory : CellMemory
        The cell's ``__device__`` and ``__constant__`` variables, by name.
    """

    def __init__(
        self,
        code: FunctionCode,
        object_code: ObjectCode,
        *,
        address: int = 0,
        owner: Any = None,
        emulated: bool,
        memory: CellMemory | None = None,
        sandbox: Any = None,
    ) -> None:
        self.code = code
        self.object_code = object_code
        self.emulated = emulated
        self.memory = CellMemory(object_code) if memory is None else memory
        self.kinds = read_kinds(code.prototype)
        self._address = address
        self._owner = owner
        self._sandbox = sandbox
        self.__name__ = self.__qualname__ = code.name
        self.__module__ = "__main__"
        names = [n if n.isidentifier() else f"x{i}" for i, n in enumerate(code.parameters, 1)]
        self._names = tuple(names if len(names) == len(self.kinds) else [f"x{i}" for i, _ in enumerate(self.kinds, 1)])
        parameters = ", ".join(f"{k} {n}" for k, n in zip(self.kinds, self._names, strict=True))
        self._labels = tuple(f"{code.name}(): {name}" for name in self._names)
        self._is_cooperative = bool(_GRID.search(code.source))
        # Printed text belongs to the cell that launches the kernel.
        self._prints = "printf" in object_code.source
        #: Launches without a stream, by the value in the brackets; places, types and layouts of CuPy arrays that fit.
        self._launches: dict[Any, Launch] = {}
        self._fitting: set[Any] = set()
        #: Grids and sizes of arrays that a launch has stayed inside of.
        self._tried: set[Any] = set()
        self.__doc__ = "\n\n".join(filter(None, (f"{code.name}[grid, block, shared, stream]({parameters})", code.doc)))
        self.__source__ = code.source
        kind = inspect.Parameter
        if len(set(self._names)) == len(self._names):
            self.__signature__ = inspect.Signature([kind(n, kind.POSITIONAL_ONLY) for n in self._names])

    def __repr__(self) -> str:
        return f"<CUDA kernel {self.__name__}({', '.join(map(str, self.kinds))})>"

    @property
    def instances(self) -> tuple[Kernel, ...]:
        """All kernels of the name: of a template, or overloads."""
        return (self,)

    def _find_instance(self, words: str) -> Kernel:
        """The one for the template's arguments, ``"float, 8"``, or for the types of the parameters."""
        stem = self.code.instance.partition("<")[0].partition("(")[0]
        sought = re.sub(r"\s+", "", words)
        known = {kernel.code.instance[len(stem) + 1 : -1]: kernel for kernel in self.instances if kernel.code.instance}
        for instance, kernel in known.items():
            if re.sub(r"\s+", "", instance) == sought:
                return kernel
        raise ArgumentError(
            f"{self.__name__}[{words!r}] is not in the cell.",
            remedy=f"It has {' and '.join(map(repr, known)) or 'one kernel of that name'}. Of a template, write below "
            f"it what is missing: template __global__ void {stem or self.__name__}<{words}>(...);",
        )

    def __getitem__(self, launch: Any) -> Any:
        """``k[grid, block]``, ``k[grid, block, shared]`` or ``k[grid, block, shared, stream]``; ``k["float"]``."""
        if isinstance(launch, str):
            return self._find_instance(launch)
        with contextlib.suppress(TypeError, KeyError):  # lists cannot be looked up
            return self._launches[launch]
        entries = launch if isinstance(launch, tuple) else (launch,)
        if not 2 <= len(entries) <= 4:
            raise ArgumentError(
                f"{self.__name__}[...] has {len(entries)} {'entry' if len(entries) == 1 else 'entries'}.",
                remedy=f"Write {self.__name__}[grid, block] or {self.__name__}[grid, block, shared, stream].",
            )
        if not self.emulated and (why := driver.explain_missing()):
            instead = "um.dumps takes it to a machine with a GPU; --device cpu compiles the cell for the emulation."
            raise ToolchainError(f"{self.__name__} cannot run here: {why}.", remedy=instead)
        shared, stream = entries[2] if len(entries) > 2 else 0, entries[3] if len(entries) > 3 else None
        if not hasattr(shared, "__index__"):  # Numba's order: stream before shared memory
            shared, stream = stream or 0, shared
        grid = _make_triple(entries[0], f"{self.__name__}: grid", _MOST_BLOCKS)
        block = _make_triple(entries[1], f"{self.__name__}: block", _MOST_THREADS)
        if math.prod(block) > _OF_BLOCK:
            raise ArgumentError(
                f"{self.__name__}: a block of {' x '.join(map(str, block))} has {math.prod(block):,} threads.",
                remedy=f"At most {_OF_BLOCK:,} fit; make the grid larger.",
            )
        if shared < 0 or (self.emulated and shared > driver.MOST_SHARED):  # how much a GPU has, its driver knows
            raise ArgumentError(
                f"{self.__name__}: {shared:,} bytes of shared memory.",
                remedy=f"A block can have {driver.MOST_SHARED:,}.",
            )
        try:
            pointer = driver.find_stream_pointer(stream)
        except TypeError as fault:
            raise ArgumentError(f"{self.__name__}: {fault}.", remedy="Give a cupy.cuda.Stream.") from fault
        result = Launch(self, grid, block, int(shared), pointer)
        if stream is None:
            if len(self._launches) >= _MOST_KNOWN:
                self._launches.clear()
            with contextlib.suppress(TypeError):
                self._launches[launch] = result
        return result

    def __call__(self, *_: Any) -> Any:
        """Not without a grid."""
        raise ArgumentError(
            f"{self.__name__} is a kernel, and was called without a grid.",
            remedy=f"Write {self.__name__}[grid, block](...), or {self.__name__}.forall(n)(...) for n threads.",
        )

    def forall(self, count: int, block: int = 256, shared: int = 0, stream: Any = None) -> Any:
        """A launch of at least ``count`` threads in one dimension.

        The kernel must take no notice of those past the last: ``if (i < n)``.
        """
        return self[max(1, -(-count // block)), block, shared, stream]

    def run(self, launch: Launch, args: Sequence[Any]) -> None:
        """Launch it.

        Raises
        ------
        ArgumentError, OverflowError
            For arguments that it does not take.
        """
        stream = launch.stream
        if stream is None and not self.emulated:
            stream = device_arrays.find_tensor_stream(args)
        if self.emulated or stream is None:
            self._run(launch, args)
            return
        # Arrays of other libraries wait for the current stream, and it waits for them.
        with driver.use_stream(stream):
            self._run(launch, args)

    def _run(self, launch: Launch, args: Sequence[Any]) -> None:
        arguments = self.convert_arguments(args)
        operands = [a for a in arguments if isinstance(a, ArrayOperand)]
        side = device_arrays.place(operands, name=self.__name__)
        if self.emulated and side == "device":
            raise ArgumentError(
                f"{self.__name__} runs on the CPU here, and its arrays are on a GPU.",
                remedy="Give NumPy arrays (x.get()), or leave out --device cpu.",
            )
        if self.emulated:
            self._emulate(launch, arguments)
            return
        device = find_one_device([o.array for o in operands if o.place == "device"], name=self.__name__)
        if device is None or device == driver.find_current_device():
            self._launch(launch, arguments)
            return
        with driver.use_device(device):
            self._launch(launch, arguments)

    def takes(self, args: Sequence[Any], *, exactly: bool = False) -> bool:
        """Whether the arguments fit; exactly, if numbers are of the parameters' own types."""
        try:
            self.convert_arguments(args)
        except (ArgumentError, OverflowError):
            return False
        alike = {int: "iu", float: "f", complex: "c", bool: "b"}
        return not exactly or all(
            bool(kind.stars)
            or getattr(value, "dtype", None) == kind.dtype
            or kind.dtype.kind in alike.get(type(value), "")
            for kind, value in zip(self.kinds, args, strict=True)
        )

    def convert_arguments(self, args: Sequence[Any]) -> list[Any]:
        """The arguments as `convert` gives them."""
        if len(args) != len(self.kinds):
            raise ArgumentError(
                f"{self.__name__} takes {len(self.kinds)} arguments, {len(args)} were given.",
                remedy=f"Write {self.__doc__.partition(chr(10))[0] if self.__doc__ else self.__name__}.",
            )
        arguments: list[Any] = []
        for n, (kind, value) in enumerate(zip(self.kinds, args, strict=True)):
            layout = None
            if kind.stars and device_arrays.find_role(type(value)) == "array":
                layout = n, value.dtype, value.shape, value.strides
                if layout in self._fitting:
                    arguments.append(ArrayOperand("device", value, value))
                    continue
            arguments.append(convert(kind, value, name=self._labels[n]))
            if layout and len(self._fitting) < _MOST_KNOWN:
                self._fitting.add(layout)
        return arguments

    def _launch(self, launch: Launch, arguments: Sequence[Any]) -> None:
        on_host = [a.array for a in arguments if _is_on_host(a)]
        lent = _lend(on_host) if on_host else {}
        values: list[Any] = []
        for a in arguments:
            if _is_on_host(a):
                memory, offset = lent[a.array.ctypes.data]
                values.append(np.uint64(memory.data.ptr + offset))
            else:
                values.append(a.array.data if isinstance(a, ArrayOperand) else a)
        driver.launch(
            self.memory.get_kernel(self.code.calls or (self.code.name,)),
            launch.grid,
            launch.block,
            values,
            shared=launch.shared,
            cooperative=self._is_cooperative,
        )
        if lent or self._prints:
            driver.wait()
        back: dict[int, Any] = {}
        for kind, a in zip(self.kinds, arguments, strict=True):
            if kind.const or not isinstance(a, ArrayOperand):
                continue
            if a.place == "device":
                device_arrays.order_after(a.array, a.original)
            else:
                memory, offset = lent[a.array.ctypes.data]
                if id(memory) not in back:
                    back[id(memory)] = driver.to_host(memory)
                a.array[...] = np.ndarray(a.array.shape, a.array.dtype, back[id(memory)], offset)

    def _emulate(self, launch: Launch, arguments: Sequence[Any]) -> None:
        if not self._address:
            raise ToolchainError(
                f"{self.__name__} cannot run on the CPU: there was no compiler for it.",
                remedy="Install gcc or clang, or pip install ziglang, and run the cell again.",
            )
        threads = math.prod([*launch.grid, *launch.block])
        if threads > MOST_THREADS:
            raise ArgumentError(
                f"{self.__name__}[{launch.grid}, {launch.block}] has {threads:,} threads; on the CPU, where they run "
                f"one after the other, {MOST_THREADS:,} are the most.",
                remedy="Use a smaller grid, or a machine with a GPU.",
            )
        arrays = {n: a.array for n, a in enumerate(arguments) if _is_on_host(a)}
        values = [np.asarray(np.uint64(a.array.ctypes.data) if n in arrays else a) for n, a in enumerate(arguments)]
        if self._sandbox is None:
            fault, stray, places = self._launch_tried(launch, values, arrays)
        else:
            constant = [n for n in arrays if self.kinds[n].const]
            grid, block, shared = launch.grid, launch.block, launch.shared
            fault, stray, places = self._sandbox.launch(
                self.code, values, arrays, constant=constant, grid=grid, block=block, shared=shared
            )
        if not fault:
            return
        place = find_current_place(self.object_code)
        fault = place.rename(fault, old=self.object_code.name)
        named = [(self._names[n], at, array) for at, (n, array) in zip(places, arrays.items(), strict=True)]
        lines = self.object_code.device.get("lines", ())
        if stray[2] and not lines:
            lines = read_line_table(self.object_code.code, name=self.object_code.name)
        if where := _explain_place(stray, named, lines, place):
            fault = re.sub(r", at 0x[0-9a-f]+\.$", "", fault)
        raise CellCrashed(f"{self.__name__} failed on the CPU: {fault}{where}")

    def _launch_tried(
        self, launch: Launch, values: Sequence[np.ndarray[Any, Any]], arrays: Mapping[int, np.ndarray[Any, Any]]
    ) -> tuple[str, tuple[int, ...], list[int]]:
        """Launch it in this process, on copies if it is new on arrays of these sizes; see `_launch_here`.

        Also returns where the arrays were for the kernel.
        """
        lent = [*arrays.values()]
        tried = launch.grid, launch.block, launch.shared, *((array.dtype, array.shape) for array in lent)
        known = tried in self._tried or "lines" in self.object_code.device or "unguarded" in self.object_code.device
        if known or sys.platform == "win32" or sum(array.nbytes for array in lent) > MOST_BYTES:
            return *self._launch_here(launch, values, lent), [array.ctypes.data for array in lent]
        fault, places = "", list[int]()
        stray: tuple[int, ...] = (0, 0, 0, 0)
        for flush in ("", "end", "start"):
            try:
                copies = GuardedCopies(lent, flush=flush)
            except OSError:
                return *self._launch_here(launch, values, lent), [array.ctypes.data for array in lent]
            places = copies.addresses
            at = dict(zip(arrays, places, strict=True))
            moved = [np.asarray(np.uint64(at[n])) if n in at else value for n, value in enumerate(values)]
            try:
                fault, stray = self._launch_here(launch, moved, lent)
                damaged = copies.is_damaged()
                if not fault and not damaged:
                    copies.write_back([self.kinds[n].const for n in arrays], [row[1:] for row in self.memory.changing])
                    if len(self._tried) >= _MOST_KNOWN:
                        self._tried.clear()
                    self._tried.add(tried)
            finally:
                copies.unmap()
            # The bytes between an array and the end of its pages are no place for a fault: again without them.
            if fault or not damaged:
                break
            fault = "it wrote beside one of its arrays."
        return fault, stray, places

    def _launch_here(
        self, launch: Launch, values: Sequence[np.ndarray[Any, Any]], arrays: Sequence[np.ndarray[Any, Any]]
    ) -> tuple[str, tuple[int, ...]]:
        """Launch it in this process: why it failed, and what `_explain_place` tells of."""
        pointers = (ctypes.c_void_p * max(1, len(values)))(*(v.ctypes.data for v in values))
        grid, block = (np.array(sizes, np.uint32) for sizes in (launch.grid, launch.block))
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)(self._address)
        try:
            stray = (ctypes.c_size_t * 4).in_dll(self._owner.handle, "__ufm_stray")
        except ValueError:  # where faults have no place
            stray = (ctypes.c_size_t * 4)()
        stray[2] = stray[3] = 0
        if "lines" in self.object_code.device:  # --sanitize
            ctypes.c_size_t.in_dll(self._owner.handle, "__ufm_array_count").value = len(arrays)
            spans = (ctypes.c_size_t * 2 * 64).in_dll(self._owner.handle, "__ufm_arrays")
            for span, array in zip(spans, arrays, strict=False):
                span[:] = array.ctypes.data, array.ctypes.data + array.nbytes
        call(grid.ctypes.data, block.ctypes.data, launch.shared, ctypes.addressof(pointers))
        text = ctypes.CFUNCTYPE(ctypes.c_char_p)(self._owner.find_symbol("__ufm_launch_error"))()
        return (text or b"").decode(errors="replace"), tuple(stray)


class KernelFamily(Kernel):
    """The kernels of one name, instances of a template or overloads: the arguments of a launch choose one of them.

    ``k["float"]`` is the instance for that template argument, ``k["float *"]`` the overload for that parameter.
    """

    def __init__(self, instances: Sequence[Kernel]) -> None:
        first = instances[0]
        name = re.split(r"[<(]", first.code.instance)[0]
        code = replace(first.code, name=name)
        super().__init__(code, first.object_code, emulated=first.emulated, memory=first.memory)
        self._instances = tuple(instances)
        self.__doc__ = "\n".join(str(kernel.__doc__).partition("\n")[0] for kernel in instances)
        self.__source__ = "\n".join(dict.fromkeys(kernel.code.source for kernel in instances))
        del self.__signature__

    def __repr__(self) -> str:
        return f"<CUDA kernels {', '.join(kernel.code.instance for kernel in self.instances)}>"

    @property
    def instances(self) -> tuple[Kernel, ...]:
        return self._instances

    def run(self, launch: Launch, args: Sequence[Any]) -> None:
        """Launch the one that takes the arguments.

        Raises
        ------
        ArgumentError
            Where none does, or several.
        """
        fitting = [kernel for kernel in self.instances if kernel.takes(args)]
        exact = [kernel for kernel in fitting if kernel.takes(args, exactly=True)]
        if len(exact or fitting) == 1:
            (exact or fitting)[0].run(launch, args)
            return
        offered = [kernel.code.instance for kernel in fitting or self.instances]
        shown = ", ".join(f"{a.dtype}[]" if getattr(a, "ndim", 0) else type(a).__name__ for a in args)
        raise ArgumentError(
            f"{self.__name__}({shown}) fits {'several' if fitting else 'none'} of {', '.join(offered)}.",
            remedy=f"Choose one: {self.__name__}[{offered[0][len(self.__name__) + 1 : -1]!r}][grid, block](...), with "
            "arrays of exactly its types.",
        )


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


def _explain_place(
    stray: Sequence[int],
    arrays: Sequence[tuple[str, int, np.ndarray[Any, Any]]],
    lines: Sequence[Sequence[int]],
    place: CellPlace,
) -> str:
    """The end of a message on a launch: where it went astray; ``""`` where it did not.

    Parameters
    ----------
    stray : sequence of int
        ``__ufm_stray`` of ``templates/cuda_launch.h``: the place in the code, the address it touched, how many bytes,
        and the place of the other access of a race.
    arrays : sequence
        Names, addresses and arrays of the launch.
    """
    code, address, size, other = stray
    if not size:
        return ""
    line, other_line = (next((row[2] for row in lines if row[0] < at <= row[1]), 0) for at in (code, other))
    at = f" on line {place.line(line)}" if line else ""
    if other:
        return f"{at}; the other access is on line {place.line(other_line)}." if other_line else f"{at}."
    for name, start, array in arrays:
        index = (address - start) // array.itemsize
        if -_NEAR < index < array.size + _NEAR:
            return f"{at}, at {name}[{index}]; {name} has {array.size:,} elements."
    return f"{at}."


def _is_on_host(argument: Any) -> bool:
    return isinstance(argument, ArrayOperand) and argument.place == "host"


def _lend(arrays: Sequence[np.ndarray[Any, Any]]) -> dict[int, tuple[Any, int]]:
    """By the address of each array its memory on the device, and where in it the array starts.

    Arrays that share memory here share it there.
    """
    spans: list[tuple[int, int]] = []
    for low, high in sorted((a.ctypes.data, a.ctypes.data + a.nbytes) for a in arrays):
        if spans and low < spans[-1][1]:
            low, high = spans[-1][0], max(spans.pop()[1], high)
        spans.append((low, high))
    lent: dict[int, tuple[Any, int]] = {}
    for low, high in spans:
        memory = driver.to_device(np.ctypeslib.as_array((ctypes.c_uint8 * (high - low)).from_address(low)))
        lent |= {a.ctypes.data: (memory, a.ctypes.data - low) for a in arrays if low <= a.ctypes.data <= high}
    return lent


def _make_triple(value: Any, name: str, most: _Triple) -> _Triple:
    sizes = value if isinstance(value, tuple | list) else (value,)
    try:
        x, y, z = (*map(index, sizes), 1, 1, 1)[: max(3, len(sizes))]
    except (TypeError, ValueError) as fault:
        raise ArgumentError(f"{name} is {value!r}.", remedy="Give an integer, or a tuple of up to three.") from fault
    for axis, size, limit in zip("xyz", (x, y, z), most, strict=True):
        if not 1 <= size <= limit:
            raise ArgumentError(f"{name}.{axis} is {size}.", remedy=f"It must be 1 to {limit:,}.")
    return x, y, z


# ------------------------------------------------------------------------------------- arguments


_KIND = re.compile(r"(const )?([a-z]\d+|V\d+|void)(?:x(\d))?(\**)")


@dataclass(frozen=True)
class Kind:
    """The type of one parameter: ``f4`` of ``const float *`` with one level of pointers; ``members`` of them are CUDA's
    vectors, 4 of ``float4``, and 0 everything else."""

    element: str
    const: bool
    stars: int
    members: int = 0

    @functools.cached_property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of one element; ``V0`` for ``void``, ``V16`` for ``float4``."""
        if self.members:
            return np.dtype(f"V{self.members * np.dtype(self.element).itemsize}")
        return np.dtype("V" if self.element == "void" else self.element)

    def holds(self, dtype: np.dtype[Any]) -> bool:
        """Whether numbers of the type may be the members of this vector, or the bytes of a struct."""
        part = np.dtype(self.element) if self.members else dtype
        return dtype.kind == "V" or part in (dtype, np.empty(0, dtype).real.dtype)

    def __str__(self) -> str:
        base = f"{np.dtype(self.element).name} x {self.members}" if self.members else self.dtype.name
        if not self.members and self.dtype.kind == "V":
            base = f"struct of {self.dtype.itemsize} bytes" if self.dtype.itemsize else "void"
        return f"{'const ' * self.const}{base}{' ' + '*' * self.stars if self.stars else ''}"


def read_kinds(prototype: Sequence[str]) -> tuple[Kind, ...]:
    """The parameters of a prototype, whose first word is the result."""
    matches = (_KIND.fullmatch(word) for word in prototype[1:])
    return tuple(Kind(m[2], bool(m[1]), len(m[4]), int(m[3] or 0)) for m in matches if m)


def convert(kind: Kind, value: Any, *, name: str) -> Any:
    """Check one argument.

    Parameters
    ----------
    name : str
        Its name in messages: ``"axpy(): x"``.

    Returns
    -------
    ArrayOperand, numpy.generic or numpy.ndarray
        The array that a pointer goes to, on the host or on the device, or the value that the kernel gets.

    Raises
    ------
    ArgumentError
        For another type than the kernel's, or an array that no pointer can describe.
    OverflowError
        For a number that the parameter's type does not hold.
    """
    if kind.stars:
        return _make_pointer(kind, value, name)
    return _make_struct(kind, value, name) if kind.dtype.kind == "V" else _make_number(kind, value, name)


def _make_pointer(kind: Kind, value: Any, name: str) -> Any:
    # cffi's NULL; cffi need not be installed.
    if value is None or (type(value).__module__ == "_cffi_backend" and repr(value).endswith("' NULL>")):
        return np.uint64(0)
    if type(value).__module__.startswith("cupy.cuda.memory") and hasattr(value, "ptr"):
        return np.uint64(value.ptr)
    operand = device_arrays.read_operand(value, name=name)
    if operand.place != "device" and not isinstance(value, np.ndarray):
        raise ArgumentError(
            f"{name} is {value!r:.60}, which is no array; the kernel takes {kind}.",
            remedy=f"Give np.asarray(..., dtype={kind.dtype.name!r}); an address as a cupy.cuda.MemoryPointer.",
        )
    array = operand.array if operand.place == "device" else value
    dtype = kind.dtype
    # float4 over rows whose length it divides; complex numbers over their parts
    size = array.dtype.itemsize
    row = size * (array.shape[-1] if array.ndim else 1)
    several = (dtype.kind == "V" and kind.holds(array.dtype)) or (
        dtype.kind == "c" and array.dtype == np.dtype(f"f{dtype.itemsize // 2}")
    )
    is_record = several and dtype.itemsize in (0, size, row)
    if several and dtype.itemsize and array.ndim and array.dtype.kind != "V":
        is_record = is_record or (dtype.itemsize % size == 0 and row % dtype.itemsize == 0)
    if kind.stars > 1 or not (array.dtype == dtype or is_record):
        raise ArgumentError(
            f"{name} is an array of {array.dtype} of shape {array.shape}, the kernel takes {kind}.",
            remedy=f"Give rows of {kind.members}: x.astype({np.dtype(kind.element).name!r})."
            if kind.members > 1
            else "Give bfloat16 numbers (of ml_dtypes), or their bits as uint16."
            if kind.element == "u2" and kind.members
            else f"Give an array of {dtype.name}, or rows of {dtype.itemsize} bytes: x.astype({dtype.name!r}).",
        )
    if not array.flags.c_contiguous:
        raise ArgumentError(
            f"{name} is not contiguous (shape {array.shape}, strides {array.strides}); a pointer has no steps.",
            remedy="Give np.ascontiguousarray(x) or cupy.ascontiguousarray(x); for Fortran order, x.T.",
        )
    if isinstance(array, np.ndarray) and not array.flags.writeable and not kind.const:
        raise ArgumentError(f"{name} is read-only, and the kernel may write to it.", remedy="Give a copy.")
    return ArrayOperand("device" if operand.place == "device" else "host", array, value)


def _make_struct(kind: Kind, value: Any, name: str) -> np.ndarray[Any, Any]:
    size = kind.dtype.itemsize
    numbers = isinstance(value, np.generic | np.ndarray)
    raw = value.tobytes() if numbers and kind.holds(value.dtype) else value
    if not isinstance(raw, bytes | bytearray | memoryview) or len(raw) != size:
        raise ArgumentError(
            f"{name} is {value!r:.60}, the kernel takes a {kind}.",
            remedy="Give a NumPy record of its fields: np.array((1, 2), dtype=[('x', 'f4'), ('y', 'f4')]).",
        )
    # A structured type: so CuPy knows a struct that is passed by value.
    return np.frombuffer(bytes(raw), dtype=np.dtype([("bytes", "u1", (size,))])).reshape(())


def _make_number(kind: Kind, value: Any, name: str) -> Any:
    number = value.item() if isinstance(value, np.generic | np.ndarray) and not value.ndim else value
    if type(value).__module__ == "cupy.cuda.texture":
        number = value.ptr
    if not isinstance(number, bool | int | float | complex):
        raise ArgumentError(
            f"{name} is {type(value).__name__}, the kernel takes a number ({kind}).", remedy="Give x.item()."
        )
    rank = 0 if isinstance(number, bool) else 1 if isinstance(number, int) else 2 if isinstance(number, float) else 3
    if rank > {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}[kind.dtype.kind]:
        raise ArgumentError(f"{name} is {value!r}, the kernel takes {kind}.", remedy="Convert it.")
    try:
        with np.errstate(over="raise"):
            return kind.dtype.type(number)
    except (OverflowError, FloatingPointError) as fault:
        raise OverflowError(f"{name} is {number}, outside of {kind}") from fault
