"""CuPy and the GPU behind it: the only module that asks the device for anything.

Everything else of this room works on shapes, strides and pointers, so that it can be tested on arrays
over the host's memory with these few functions replaced.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ...model import CellCrashed, CompileError, ObjectCode
from . import kernel_source

#: ``(source, *, name, cell, arch, options, entries) -> machine code of the device, symbols of the kernels ``entries```;
#: the options are the cell's own.
Compiler = Callable[..., tuple[bytes, tuple[str, ...]]]
#: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES of the driver's interface.
_MOST_SHARED = 8
#: Bytes of dynamic shared memory that a launch may have without asking for more.
SHARED = 48 * 1024
_compiler: Compiler | None = None


@cache
def cupy() -> Any:
    """CuPy, imported at the first use."""
    return importlib.import_module("cupy")


@cache
def missing() -> str:
    """Why no GPU can be used here, with what to do about it; ``""`` where one can."""
    try:
        module = cupy()
    except ImportError as fault:
        if isinstance(fault, ModuleNotFoundError) and fault.name == "cupy":
            return "CuPy is not installed: pip install cupy-cuda13x (or cupy-cuda12x)"
        return f"CuPy cannot be imported: {str(fault).strip().splitlines()[0]}"
    try:
        count = module.cuda.runtime.getDeviceCount()
    except module.cuda.runtime.CUDARuntimeError as fault:
        return f"there is no GPU, or no driver for it ({str(fault).partition(':')[0]})"
    return "" if count else "there is no GPU"


def available() -> bool:
    """Whether this process can run code on a GPU."""
    return not missing()


def on_gpu(object_code: ObjectCode) -> bool:
    """Whether functions of ``object_code`` are to run on the GPU here: as its option says, else where there is one."""
    if object_code.options.get("sandbox"):
        return False
    place = object_code.options.get("device", "auto")
    return available() if place == "auto" else bool(place == "gpu")


def compile_with(compiler: Compiler | None) -> None:
    """Have device code compiled by a `Compiler`.

    Without one it is CuPy that compiles.  This package's own compiler is not known here, since what is unpickled
    must not reach it.
    """
    global _compiler
    _compiler = compiler


def arch() -> str:
    """The current device's architecture, ``"sm_90"``."""
    return f"sm_{cupy().cuda.Device().compute_capability}"


def current() -> int:
    """Number of the current device."""
    return int(cupy().cuda.Device().id)


def name() -> str:
    """What its maker calls the current device; ``""`` where there is none."""
    if missing():
        return ""
    runtime = cupy().cuda.runtime
    text = runtime.getDeviceProperties(current())["name"]
    return text.decode() if isinstance(text, bytes) else str(text)


# ---------------------------------------------------------------------------------------- arrays


def of(array: Any) -> int:
    """Number of the device that a CuPy array is on."""
    return int(array.data.device_id)


@contextmanager
def on(device: int) -> Iterator[None]:
    """Make a device the current one."""
    if device == current():
        yield
        return
    with cupy().cuda.Device(device):
        yield


def allocate(shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
    """A C-contiguous CuPy array of the current device, not initialised."""
    return cupy().empty(tuple(shape), dtype)


def to_device(array: np.ndarray[Any, Any]) -> Any:
    """A copy on the current device."""
    return cupy().asarray(array)


def to_host(array: Any) -> np.ndarray[Any, Any]:
    """A copy in the host's memory, once everything before it on the current stream is done."""
    with _errors("copying from the device"):
        copied: np.ndarray[Any, Any] = array.get()
    return copied


def copy(array: Any, dtype: np.dtype[Any] | None = None) -> Any:
    """A contiguous copy on the device, of another type if asked for."""
    return array.astype(dtype or array.dtype, order="C", copy=True)


def may_share_memory(a: Any, b: Any) -> bool:
    """Whether the memory between the first and the last elements of two arrays overlaps."""
    return bool(cupy().may_share_memory(a, b))


def assign(array: Any, value: Any) -> None:
    """Write an array or a number into an array of the device."""
    array[...] = value


# ------------------------------------------------------------------------------------------ code


def functions(object_code: ObjectCode, generated: str, entries: Sequence[str]) -> dict[str, Any]:
    """Kernels of a cell with ``generated`` text below it, compiled and loaded as one module on the current device.

    Parameters
    ----------
    entries : sequence of str
        Their names in C++, or other expressions that are their addresses.

    Returns
    -------
    dict
        Entry -> CuPy's function, which owns the module.

    Raises
    ------
    CompileError
        On the lines of the cell.
    """
    unit = kernel_source.unit(kernel_source.cell(object_code), object_code.name, generated)
    name, cell, options = object_code.name, object_code.source, object_code.options
    compiler = _compiler or _compiled_by_cupy
    code, symbols = compiler(unit, name=name, cell=cell, arch=arch(), options=options, entries=entries)
    loaded = cupy().cuda.Module()
    with _errors("loading the compiled code"):
        loaded.load(code)
        return {entry: loaded.get_function(symbol) for entry, symbol in zip(entries, symbols, strict=True)}


def variable(function: Any, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """A CuPy array over a variable of the module that a function is in."""
    with _errors(f"looking for {name}"):
        return cupy().ndarray(shape, dtype, memptr=function.module.get_global_var(name))


def _compiled_by_cupy(
    source: str, *, name: str, cell: str, arch: str, options: Mapping[str, Any], entries: Sequence[str]
) -> tuple[bytes, tuple[str, ...]]:
    # The uncached function, since the cached ones add -ftz=true, and flush what NumPy keeps.
    compiler = cupy().cuda.compiler
    words = ["-std=c++17"] + ["--use_fast_math"] * bool(options.get("fast_math"))
    words += ["--fmad=false"] * bool(options.get("strict"))
    try:
        code, symbols = compiler.compile_using_nvrtc(
            source, tuple(words), arch.removeprefix("sm_"), f"{name}.cu", tuple(entries)
        )
    except compiler.CompileException as fault:
        log = str(fault)
        head = next((line for line in log.splitlines() if "error" in line), log)
        raise CompileError(f"{name} does not compile for {arch}: {head}", output=log) from fault
    return bytes(code), tuple(symbols[entry] for entry in entries)


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
        NumPy scalars, and structured arrays of no dimension for what C passes as a struct; pointers as ``uint64``.
    cooperative : bool
        All blocks run at once, so that they can wait for each other.

    Raises
    ------
    CellCrashed
        If the driver refuses it, or something that was launched before has failed.
    """
    module = cupy()
    if shared > SHARED:
        with _errors(f"asking for {shared} bytes of shared memory"):
            module.cuda.driver.funcSetAttribute(function.ptr, _MOST_SHARED, shared)
    with _errors("launching"):
        function(grid, block, tuple(arguments), shared_mem=shared, enable_cooperative_groups=cooperative)


def wait(*, for_all: bool = False) -> None:
    """Until everything on the current stream is done, or on all streams of the device.

    Raises
    ------
    CellCrashed
        If any of it failed.
    """
    with _errors("running"):
        (cupy().cuda.Device() if for_all else cupy().cuda.get_current_stream()).synchronize()


@dataclass(frozen=True)
class _Foreign:
    """A stream of anybody's, as CUDA's stream protocol has it."""

    pointer: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.pointer


@contextmanager
def using(stream: int | None) -> Iterator[None]:
    """Make a stream the current one, by its pointer: kernels and copies go there, and borrowed arrays wait for it.

    None leaves the one that is.
    """
    if stream is None:
        yield
        return
    with cupy().cuda.Stream.from_external(_Foreign(stream)):
        yield


def stream_pointer(stream: Any) -> int | None:
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


def elapsed(run: Callable[[], Any], *, repeat: int = 1) -> float:
    """Seconds that the device took for one of ``repeat`` runs, by its own events on the current stream."""
    module = cupy()
    start, stop = module.cuda.Event(), module.cuda.Event()
    start.record()
    for _ in range(repeat):
        run()
    stop.record()
    with _errors("running"):
        stop.synchronize()
    return float(module.cuda.get_elapsed_time(start, stop)) * 1e-3 / repeat


@contextmanager
def _errors(step: str) -> Iterator[None]:
    """Errors of the driver and of CUDA's runtime as this package's."""
    module = cupy()
    try:
        yield
    except (module.cuda.driver.CUDADriverError, module.cuda.runtime.CUDARuntimeError) as fault:
        raise CellCrashed(
            f"CUDA failed while {step}: {fault}.",
            remedy="Use a smaller grid, block or array. If a kernel wrote or read outside of its arrays, restart this "
            "process to use the GPU again; --device cpu runs the same code where a debugger can see it.",
        ) from fault
