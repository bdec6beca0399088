"""CuPy and its GPU: the only module that asks the device for anything.

Everything else of this room works on shapes, strides and pointers, so that it can be tested on arrays
over the host's memory with these few functions replaced.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ....model import ArgumentError, CellCrashed, CompileError, ObjectCode
from .. import nvrtc
from . import kernel_source

#: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES of the driver's interface.
_MOST_SHARED = 8
#: Bytes of dynamic shared memory that a launch may have without asking for more, and those that an H100 has.
SHARED = 48 * 1024
MOST_SHARED = 227 * 1024


@cache
def import_cupy() -> Any:
    """CuPy, imported at the first use."""
    return importlib.import_module("cupy")


@cache
def explain_missing() -> str:
    """Why no GPU can be used here, with what to do about it; ``""`` where one can."""
    try:
        module = import_cupy()
    except ImportError as fault:
        if isinstance(fault, ModuleNotFoundError) and fault.name == "cupy":
            return "CuPy is not installed: pip install cupy-cuda13x (or cupy-cuda12x)"
        return f"CuPy cannot be imported: {str(fault).strip().splitlines()[0]}"
    try:
        count = module.cuda.runtime.getDeviceCount()
    except module.cuda.runtime.CUDARuntimeError as fault:
        return f"there is no GPU, or no driver for it ({str(fault).partition(':')[0]})"
    return "" if count else "there is no GPU"


def is_available() -> bool:
    """Whether this process can run code on a GPU."""
    return not explain_missing()


def runs_on_gpu(object_code: ObjectCode) -> bool:
    """Whether functions of ``object_code`` are to run on the GPU here: as its option says, else where there is one."""
    if object_code.options.get("sandbox"):
        return False
    place = object_code.options.get("device", "auto")
    return is_available() if place == "auto" else bool(place == "gpu")


def find_arch() -> str:
    """The current device's architecture, ``"sm_90"``."""
    return f"sm_{import_cupy().cuda.Device().compute_capability}"


def find_current_device() -> int:
    """Number of the current device."""
    return int(import_cupy().cuda.Device().id)


def name() -> str:
    """The product name of the current device; ``""`` where there is none."""
    if explain_missing():
        return ""
    runtime = import_cupy().cuda.runtime
    text = runtime.getDeviceProperties(find_current_device())["name"]
    return text.decode() if isinstance(text, bytes) else str(text)


def describe_versions() -> dict[str, str]:
    """The current device, its architecture, and the versions of its driver and of CuPy."""
    driver = str(import_cupy().cuda.runtime.driverGetVersion())
    return {"gpu": name(), "arch": find_arch(), "driver": driver, "cupy": import_cupy().__version__}


# ---------------------------------------------------------------------------------------- arrays


def find_device(array: Any) -> int:
    """Number of the device that a CuPy array is on."""
    return int(array.data.device_id)


@contextmanager
def use_device(device: int) -> Iterator[None]:
    """Make a device the current one."""
    if device == find_current_device():
        yield
        return
    with import_cupy().cuda.Device(device):
        yield


def allocate(shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
    """A C-contiguous CuPy array of the current device, not initialised."""
    with errors("allocating memory"):
        return import_cupy().ndarray(tuple(shape), dtype)


def to_device(array: np.ndarray[Any, Any]) -> Any:
    """A copy on the current device."""
    with errors("copying to the device"):
        return import_cupy().asarray(array)


def to_host(array: Any) -> np.ndarray[Any, Any]:
    """A copy in the host's memory, once everything before it on the current stream is done."""
    with errors("copying from the device"):
        copied: np.ndarray[Any, Any] = array.get()
    return copied


def borrow_array(
    pointer: int, shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...], *, owner: object
) -> Any:
    """A CuPy array over memory of the current device that ``owner`` keeps."""
    cuda = import_cupy().cuda
    reach = sum(max(0, n - 1) * step for n, step in zip(shape, strides, strict=True)) + dtype.itemsize
    memory = cuda.UnownedMemory(pointer, reach, owner, find_current_device())
    return import_cupy().ndarray(shape, dtype, memptr=cuda.MemoryPointer(memory, 0), strides=strides)


def find_other_stream(torch: Any, device: int) -> int | None:
    """The pointer of torch's current stream of a device; None where it is CuPy's current one."""
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # the public function takes 8 us
    theirs = torch.cuda.current_stream(device).cuda_stream if raw is None else raw(device)
    return None if theirs == import_cupy().cuda.get_current_stream().ptr else int(theirs)


def copy(array: Any, dtype: np.dtype[Any] | None = None) -> Any:
    """A contiguous copy on the device, of another type if asked for."""
    with errors("copying on the device"):
        return array.astype(dtype or array.dtype, order="C", copy=True)


def may_share_memory(a: Any, b: Any) -> bool:
    """Whether the memory between the first and the last elements of two arrays overlaps."""
    return bool(import_cupy().may_share_memory(a, b))


def assign(array: Any, value: Any) -> None:
    """Write an array or a number into an array of the device."""
    with errors("copying on the device"):
        array[...] = value


# ------------------------------------------------------------------------------------------ code


def load_functions(object_code: ObjectCode, generated: str, entries: Sequence[str]) -> dict[str, Any]:
    """Kernels of a cell with ``generated`` text below it, compiled and loaded as one module on the current device.

    Parameters
    ----------
    entries : sequence of str
        Their names in C++, other expressions that are their addresses, or ``extern "C" k``.

    Returns
    -------
    dict
        Entry -> CuPy's function, which owns the module.

    Raises
    ------
    CompileError
        On the lines of the cell.
    """
    unit = kernel_source.write_kernel_unit(kernel_source.write_cell(object_code), object_code.name, generated)
    name, cell, options = object_code.name, object_code.source, object_code.options
    compiler = nvrtc.make_cubin if nvrtc.find() else compile_by_cupy
    code, symbols = compiler(unit, name=name, cell=cell, arch=find_arch(), options=options, entries=entries)
    loaded = import_cupy().cuda.Module()
    with errors("loading the compiled code"):
        loaded.load(code)
        return {entry: loaded.get_function(symbol) for entry, symbol in zip(entries, symbols, strict=True)}


def view_variable(function: Any, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """A CuPy array over a variable of the module that a function is in."""
    module = import_cupy()
    size = dtype.itemsize * math.prod(shape)
    with errors(f"looking for {name}"):
        address = function.module.get_global_var(name)
    memory = module.cuda.UnownedMemory(int(address), size, function.module, find_current_device())
    return _make_variable_type()(shape, dtype, memptr=module.cuda.MemoryPointer(memory, 0))


@cache
def _make_variable_type() -> type:
    """CuPy's arrays, but with NumPy's arrays and lists assigned to as NumPy's are."""
    base: Any = import_cupy().ndarray

    class DeviceVariable(base):  # type: ignore[misc, unused-ignore]
        def __setitem__(self, index: Any, value: Any) -> None:
            if self.dtype.kind != "V":
                super().__setitem__(index, import_cupy().asarray(value, self.dtype))
                return
            part = self[index]  # structures, for which CuPy has no kernels
            if isinstance(value, base):
                part.data.copy_from_device_async(value.data, part.nbytes)
                return
            records = np.ascontiguousarray(np.broadcast_to(make_structures(value, self.dtype), part.shape))
            with errors("copying to the device"):
                part.data.copy_from_host_async(records.ctypes.data, records.nbytes)

    return DeviceVariable


def make_structures(value: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Records, or the bytes of some, as structures of C's, of which only the size is known.

    Raises
    ------
    ArgumentError
        If they have another size.
    """
    records = np.asarray(value)
    if records.dtype.itemsize != dtype.itemsize:
        raise ArgumentError(
            f"The variable is a structure of {dtype.itemsize} bytes; {records.dtype} has {records.dtype.itemsize}.",
            remedy="Give a record with all members of the structure: np.dtype([('x', 'f4'), ...], align=True).",
        )
    return np.ascontiguousarray(records).view(dtype).reshape(records.shape)


@cache
def _list_header_folders() -> tuple[str, ...]:
    """Where CUDA's own headers are (cuComplex.h, cuda_fp16.h)."""
    try:
        pathfinder = importlib.import_module("cuda.pathfinder")  # CuPy's, since 14
    except ImportError:
        return ()
    return tuple(filter(None, [pathfinder.find_nvidia_header_directory("cudart")]))


def compile_by_cupy(
    source: str, *, name: str, cell: str, arch: str, options: Mapping[str, Any], entries: Sequence[str]
) -> tuple[bytes, tuple[str, ...]]:
    # The uncached function, since the cached ones add -ftz=true, and flush what NumPy keeps.
    compiler = import_cupy().cuda.compiler
    words = ["-std=c++17", "-default-device"] + ["--use_fast_math"] * bool(options.get("fast_math"))
    words += ["--fmad=false"] * bool(options.get("strict"))
    words += [f"-I{folder}" for folder in _list_header_folders()]
    try:
        code, symbols = compiler.compile_using_nvrtc(
            source,
            tuple(words),
            arch.removeprefix("sm_"),
            f"{name}.cu",
            tuple(entry for entry in entries if not nvrtc.read_c_symbol(entry)),
        )
    except compiler.CompileException as fault:
        log = str(fault)
        head = next((line for line in log.splitlines() if "error" in line), log)
        raise CompileError(f"{name} does not compile for {arch}: {head}", output=log) from fault
    return bytes(code), tuple(nvrtc.read_c_symbol(entry) or symbols[entry] for entry in entries)


def launch(
    function: Any,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    arguments: Sequence[Any],
    *,
    shared: int = 0,
    cooperative: bool = False,
) -> None:
    """Put a kernel on the current stream.

    Parameters
    ----------
    arguments : sequence
        NumPy scalars, and structured arrays of no dimension for what C passes as a struct; pointers as CuPy's or as
        ``uint64``.
    cooperative : bool
        All blocks run at once, so that they can wait for each other.

    Raises
    ------
    CellCrashed
        If the driver refuses it, or something that was launched before has failed.
    """
    module = import_cupy()
    if shared > SHARED:
        most = module.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
        if shared > most:
            raise ArgumentError(
                f"{shared:,} bytes of shared memory for a block; this GPU has {most:,}.", remedy="Ask for less."
            )
        with errors(f"asking for {shared} bytes of shared memory"):
            module.cuda.driver.funcSetAttribute(function.ptr, _MOST_SHARED, shared)
    with errors("launching"):
        function(grid, block, tuple(arguments), shared_mem=shared, enable_cooperative_groups=cooperative)


def wait(*, for_all: bool = False) -> None:
    """Until everything on the current stream is done, or on all streams of the device.

    Raises
    ------
    CellCrashed
        If any of it failed.
    """
    with errors("running"):
        (import_cupy().cuda.Device() if for_all else import_cupy().cuda.get_current_stream()).synchronize()


@dataclass(frozen=True)
class ForeignStream:
    """A stream of anybody's, as CUDA's stream protocol has it."""

    pointer: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.pointer


@contextmanager
def use_stream(stream: int | None) -> Iterator[None]:
    """Make a stream the current one, by its pointer: kernels and copies go there, and borrowed arrays wait for it.

    None leaves the one that is.
    """
    if stream is None:
        yield
        return
    with import_cupy().cuda.Stream.from_external(ForeignStream(stream)):
        yield


def find_stream_pointer(stream: Any) -> int | None:
    """The pointer of any library's stream, or None for the current one.

    Raises
    ------
    TypeError
        If it is none.
    """
    if stream is None:
        return None
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for attribute in ("ptr", "cuda_stream", "handle"):  # CuPy, torch, Numba
        value = getattr(stream, attribute, None)
        if value is not None:
            return int(getattr(value, "value", value) or 0)
    if isinstance(stream, int | np.integer) and not isinstance(stream, bool):
        return int(stream)
    raise TypeError(f"{stream!r} is not a stream")


_WAIT = """extern "C" __global__ void __ufm_wait(unsigned long long nanoseconds)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); while (now - start < nanoseconds);
}
"""
#: Seconds of `_WAIT`: at first, and at most.
_SHORT_WAIT, _LONG_WAIT = 1e-3, 0.256


def time_runs(run: Callable[[], Any], *, repeat: int = 1, queued: bool = False) -> float:
    """Seconds that the device took for one of ``repeat`` runs, by its own events on the current stream.

    With ``queued``, all of them are on the stream before the first begins, so that what the host takes for a call
    does not count; they must not wait for the device.
    """
    cuda = import_cupy().cuda
    start, stop = cuda.Event(), cuda.Event()
    wait = _SHORT_WAIT if queued else 0.0
    while True:
        if wait:
            _make_waiter(find_current_device())((1,), (1,), (np.uint64(wait * 1e9),))
        start.record()
        for _ in range(repeat):
            run()
        stop.record()
        in_time = not start.done
        with errors("running"):
            stop.synchronize()
        if not queued or in_time or wait >= _LONG_WAIT:
            return float(cuda.get_elapsed_time(start, stop)) * 1e-3 / repeat
        wait *= 4


@cache
def _make_waiter(device: int) -> Any:
    """A kernel that keeps a device busy."""
    return import_cupy().RawKernel(_WAIT, "__ufm_wait")


class errors:
    """Errors of the driver and of CUDA's runtime in a block of code, as this package's."""

    # No generator: it would be a tenth of what a call takes.
    __slots__ = ("step",)

    def __init__(self, step: str) -> None:
        self.step = step

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, _: object) -> None:
        if kind is None:
            return
        cuda = import_cupy().cuda
        if issubclass(kind, cuda.driver.CUDADriverError | cuda.runtime.CUDARuntimeError):
            raise CellCrashed(f"CUDA failed while {self.step}: {fault}.", remedy=_find_remedy(str(fault))) from fault


def _find_remedy(fault: str) -> str:
    """The remedy for an error: some end the process's use of the GPU."""
    if "StreamCapture" in fault:
        return "Call it once before, and give out=: a graph records launches, and neither compiles nor allocates."
    runtime = import_cupy().cuda.runtime
    try:
        runtime.memGetInfo()
    except runtime.CUDARuntimeError:
        return (
            "A kernel wrote or read outside of its arrays, or stopped itself. Restart this process (in a notebook, the "
            "kernel) to use the GPU again; --device cpu runs the same code where a debugger can see it."
        )
    return "Use a smaller grid, block or array."
