"""PyCUDA's ``_driver`` over this package: memory of this process, modules compiled as cells, launches of kernels.

Put into ``sys.modules`` as ``pycuda._driver``, it lets PyCUDA's Python files run without a GPU and without PyCUDA's
own extension module.  What it lacks raises `Lacking`.
"""

from __future__ import annotations

import ctypes
import sys
import types
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import ufunc_magic as um
from ufunc_magic.model import UfuncMagicError

#: Kernels by module and name -> what became of their launches.
LAUNCHES: dict[tuple[str, str], str] = {}


class Error(Exception):
    """PyCUDA's."""


class Lacking(Error):
    """What a driver has and this one has not."""


class LogicError(Error):
    """PyCUDA's."""


class LaunchError(Error):
    """PyCUDA's."""


class Words:
    """An enumeration whose members are their names."""

    def __init__(self, **known: Any) -> None:
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return name


class PointerHolderBase:
    """What holds an address."""

    def __int__(self) -> int:
        return int(self.get_pointer())

    __index__ = __int__
    as_buffer: Any = None

    def get_pointer(self) -> int:
        raise NotImplementedError


class DeviceAllocation(PointerHolderBase):
    """Memory of this process under the name of the device's."""

    living: ClassVar[dict[int, int]] = {}

    def __init__(self, size: int) -> None:
        self.memory = np.zeros(size + 256, np.uint8)
        start = -self.memory.ctypes.data % 256
        self.bytes = self.memory[start : start + size]
        self.living[int(self)] = size

    def get_pointer(self) -> int:
        return int(self.bytes.ctypes.data)

    def free(self) -> None:
        self.living.pop(int(self), None)

    def __del__(self) -> None:
        self.free()

    def as_buffer(self, size: int, offset: int = 0) -> Any:
        return memoryview(self.bytes[offset : offset + size])


class PooledDeviceAllocation(DeviceAllocation):
    """The same, from a pool."""


class ManagedAllocation(DeviceAllocation):
    """The same."""


class Pool:
    """A pool that keeps nothing."""

    held_blocks = active_blocks = managed_bytes = active_bytes = 0

    def allocate(self, size: int) -> DeviceAllocation:
        return PooledDeviceAllocation(int(size))

    def free_held(self) -> None: ...
    def stop_holding(self) -> None: ...


def _at(address: Any, size: int) -> Any:
    if isinstance(address, np.ndarray):
        return address.reshape(-1).view(np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(int(address)))


def _host(array: Any) -> np.ndarray[Any, Any]:
    view = array if isinstance(array, np.ndarray) else np.frombuffer(array, np.uint8)
    if not (view.flags.c_contiguous or view.flags.f_contiguous):
        raise ValueError("ndarray is not contiguous")
    return view.ravel(order="K").view(np.uint8) if view.size else np.empty(0, np.uint8)


def memcpy_htod(target: Any, source: Any, stream: Any = None) -> None:
    raw = _host(source)
    if raw.size:
        _at(target, raw.size)[: raw.size] = raw


def memcpy_dtoh(target: Any, source: Any, stream: Any = None) -> None:
    raw = _host(target)
    if raw.size:
        assert raw.base is not None
        raw[...] = _at(source, raw.size)[: raw.size]


def memcpy_dtod(target: Any, source: Any, size: int, stream: Any = None) -> None:
    ctypes.memmove(int(target), int(source), size)


def _memset(kind: Any) -> Any:
    def fill(target: Any, value: int, count: int, stream: Any = None) -> None:
        _at(target, count * np.dtype(kind).itemsize).view(kind)[:count] = value

    return fill


def to_device(array: Any) -> DeviceAllocation:
    memory = DeviceAllocation(array.nbytes)
    memcpy_htod(memory, array)
    return memory


def from_device(source: Any, shape: Any, dtype: Any, order: str = "C") -> Any:
    array = np.empty(shape, dtype, order)
    memcpy_dtoh(array, source)
    return array


def pagelocked_empty(shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0, alignment: int = 0) -> Any:
    array = np.zeros(shape, dtype, order)
    return array


class Memcpy2D:
    """Rows of bytes from one place to another."""

    src_x_in_bytes = src_y = dst_x_in_bytes = dst_y = src_pitch = dst_pitch = width_in_bytes = height = 0
    src = dst = 0

    def _set(self, name: str) -> Any:
        return lambda where: setattr(self, name, where.ctypes.data if isinstance(where, np.ndarray) else int(where))

    def __getattr__(self, name: str) -> Any:
        if name.endswith("_array"):
            raise Lacking("textures")
        if name.startswith(("set_src_", "set_dst_")):
            return self._set(name[4:7])
        raise AttributeError(name)

    def __call__(self, *_: Any, **__: Any) -> None:
        width = self.width_in_bytes
        for row in range(self.height):
            source = self.src + (self.src_y + row) * (self.src_pitch or width) + self.src_x_in_bytes
            ctypes.memmove(
                self.dst + (self.dst_y + row) * (self.dst_pitch or width) + self.dst_x_in_bytes, source, width
            )


class Device:
    """One that says what PyCUDA asks of it."""

    def __init__(self, number: int = 0) -> None:
        self.number = number

    @staticmethod
    def count() -> int:
        return 1

    def name(self) -> str:
        return "emulation"

    def compute_capability(self) -> tuple[int, int]:
        return (8, 0)

    def pci_bus_id(self) -> str:
        return "0000:00:00.0"

    def total_memory(self) -> int:
        return 1 << 30

    def get_attribute(self, word: str) -> int:
        known = {"MAX_THREADS_PER_BLOCK": 1024, "WARP_SIZE": 32, "MAX_REGISTERS_PER_BLOCK": 65536}
        known |= {"MAX_SHARED_MEMORY_PER_BLOCK": 49152, "MULTIPROCESSOR_COUNT": 2, "MAX_GRID_DIM_X": 65535}
        known |= {"MAX_BLOCK_DIM_X": 1024, "MAX_BLOCK_DIM_Y": 1024, "MAX_BLOCK_DIM_Z": 64}
        return known.get(word, 1)

    def make_context(self, *_: Any) -> Context:
        return Context()

    retain_primary_context = make_context


class Context:
    """One of them."""

    @staticmethod
    def get_device() -> Device:
        return Device()

    @staticmethod
    def get_current() -> str:
        return "emulation"

    @staticmethod
    def synchronize() -> None: ...
    @staticmethod
    def pop() -> None: ...
    @staticmethod
    def attach() -> None: ...
    def push(self) -> None: ...
    def detach(self) -> None: ...

    limits: ClassVar[dict[str, int]] = {"STACK_SIZE": 1024}

    @classmethod
    def get_limit(cls, word: str) -> int:
        return cls.limits.get(word, 0)

    @classmethod
    def set_limit(cls, word: str, value: int) -> None:
        cls.limits[word] = value


class Stream:
    """Everything is done when the call returns."""

    handle = 0

    def __init__(self, *_: Any) -> None: ...
    def synchronize(self) -> None: ...
    def is_done(self) -> bool:
        return True

    def wait_for_event(self, event: Any) -> None: ...


class Event:
    """No clock."""

    def __init__(self, *_: Any) -> None: ...
    def record(self, *_: Any) -> Event:
        return self

    def synchronize(self) -> Event:
        return self

    def query(self) -> bool:
        return True

    def time_since(self, other: Any) -> float:
        return 1.0

    def time_till(self, other: Any) -> float:
        return 1.0


class Function:
    """A kernel of a module."""

    def __init__(self, module: Module, name: str, kernel: Any) -> None:
        self.module, self.name, self.kernel = module, name, kernel

    def _set_block_shape(self, *_: Any) -> None: ...
    def set_cache_config(self, *_: Any) -> None: ...
    def get_attribute(self, word: str) -> int:
        return {"NUM_REGS": 16, "MAX_THREADS_PER_BLOCK": 1024}.get(word, 0)

    def param_set_texref(self, _: Any) -> None:
        raise Lacking("textures")

    def _launch_kernel(self, grid: Any, block: Any, arguments: list[bytes], shared: int, stream: Any) -> None:
        place = self.module.text, self.name
        try:
            sides = [int(n) for n in grid], [int(n) for n in block]
            self.kernel[(*sides[0],), (*sides[1],), int(shared)](*map(_argument, self.kernel.kinds, arguments))
        except UfuncMagicError as fault:
            LAUNCHES[place] = f"{type(fault).__name__}: {fault}"
            raise
        LAUNCHES.setdefault(place, "ran")


def _argument(kind: Any, raw: bytes) -> Any:
    if not kind.stars:
        return raw[: kind.dtype.itemsize] if kind.dtype.kind == "V" else np.frombuffer(raw, kind.dtype)[0]
    address = int.from_bytes(raw, "little")
    if not address:
        return None
    start = next((a for a, size in DeviceAllocation.living.items() if a <= address <= a + size), None)
    if start is None:
        raise Lacking("an address of no allocation")
    size, item = start + DeviceAllocation.living[start] - address, kind.dtype.itemsize or 1
    if kind.stars > 1:
        raise Lacking("pointers to pointers")
    dtype = kind.dtype if kind.dtype.itemsize else np.dtype("V1")
    return np.frombuffer((ctypes.c_uint8 * (size // item * item)).from_address(address), dtype)


class Module:
    """One text, compiled when its first kernel is asked for."""

    device: ClassVar[Any] = "cpu"

    def __init__(self, text: str, include: list[str], arguments: list[str]) -> None:
        self.text = text
        compile_args = [a for a in arguments if a.startswith(("-D", "-U"))]
        try:
            self.build = um.compile_cuda(text, device=self.device, include=include, compile_args=tuple(compile_args))
        except UfuncMagicError as fault:
            LAUNCHES[text, ""] = f"{type(fault).__name__}: {fault}"
            raise

    def get_function(self, name: str) -> Function:
        try:
            return Function(self, name, self.build[name])
        except (KeyError, UfuncMagicError) as fault:
            LAUNCHES[self.text, name] = f"{type(fault).__name__}: {fault}"
            raise

    def get_global(self, name: str) -> Any:
        raise Lacking("the memory of variables")

    def get_texref(self, name: str) -> Any:
        raise Lacking("textures")

    get_surfref = get_texref


_CHARS = {"P": "u8", "F": "c8", "D": "c16"}


def pack(format: str, *values: Any) -> list[bytes]:
    """The arguments one by one."""
    result, count = [], ""
    chars = iter(values)
    for char in format:
        if char.isdigit():
            count += char
            continue
        value = next(chars)
        if char == "s":
            result.append(bytes(value)[: int(count or 1)].ljust(int(count or 1), b"\0"))
        else:
            result.append(np.dtype(_CHARS.get(char, char)).type(value).tobytes())
        count = ""
    return result


def install(root: Path, device: str = "cpu") -> None:
    """Make ``import pycuda`` find the files of an sdist, on this driver; cells are compiled for ``device``.

    On a GPU launches copy what an argument points to there and back; pointers inside of that are this process's.
    """
    Module.device = device
    sys.path.insert(0, str(root))
    module = types.ModuleType("pycuda._driver")
    names = {k: v for k, v in globals().items() if not k.startswith("_") and k not in ("annotations", "um", "np")}
    module.__dict__.update(names)
    words = "device_attribute function_attribute limit compute_mode ctx_flags event_flags memcpy_kind func_cache"
    words += (
        " array_format address_mode filter_mode host_alloc_flags mem_attach_flags mem_host_register_flags jit_option"
    )
    words += " array3d_flags mem_peer_register_flags stream_flags shared_config pointer_attribute"
    module.__dict__.update({word: Words() for word in words.split()})
    memory = {f"memcpy_{d}_async": globals()[f"memcpy_{d}"] for d in ("htod", "dtoh", "dtod")}
    memory |= {f"memset_d{8 * n}": _memset(f"u{n}") for n in (1, 2, 4)}
    memory |= {f"memset_d{8 * n}_async": _memset(f"u{n}") for n in (1, 2, 4)}
    module.__dict__.update(
        memory,
        __all__=[],
        mem_alloc=DeviceAllocation,
        mem_get_info=lambda: (1 << 30, 1 << 30),
        init=lambda *_: None,
        get_version=lambda: (13, 0, 0),
        get_driver_version=lambda: 13000,
        get_curand_version=lambda: (2, 0, 0),  # the random numbers of its own, without cuRAND's library
        bitlog2=lambda n: int(n).bit_length() - 1,
        from_device_like=lambda source, like: from_device(source, like.shape, like.dtype),
        aligned_empty=pagelocked_empty,
        DeviceMemoryPool=Pool,
        PageLockedMemoryPool=Pool,
        PageLockedAllocator=Pool,
        MemoryError=MemoryError,
        module_from_buffer=lambda packed: packed(),
        TRSF_READ_AS_INTEGER=1,
        TRSF_NORMALIZED_COORDINATES=2,
    )
    for name in "Array ArrayDescriptor ArrayDescriptor3D Memcpy3D Linker TextureReference".split():
        module.__dict__[name] = type(name, (), {"__init__": _lacking(name)})
    del module.__dict__["__all__"]
    struct = types.ModuleType("pycuda._pvt_struct")
    struct.__dict__.update(pack=pack)
    sys.modules |= {"pycuda._driver": module, "pycuda._pvt_struct": struct}
    import pycuda.compiler  # type: ignore[import-not-found]

    def compile(source: str, nvcc: Any = None, options: Any = None, *_: Any, **keywords: Any) -> Any:
        places = ("keep", "no_extern_c", "arch", "code", "cache_dir", "include_dirs", "target")
        known = dict(zip(places, _, strict=False)) | keywords
        text = source if known.get("no_extern_c") else f'extern "C" {{\n{source}\n}}\n'
        folders = [*(known.get("include_dirs") or ()), str(root / "pycuda" / "cuda")]
        return lambda: Module(text, folders, list(options or ()))

    pycuda.compiler.compile = compile


def _lacking(name: str) -> Any:
    def refuse(self: Any, *_: Any, **__: Any) -> None:
        raise Lacking(name)

    return refuse
