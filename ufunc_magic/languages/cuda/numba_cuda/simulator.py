"""Functions of CUDA cells inside Numba's CUDA simulator: kernels run unchanged, and call the cell's C++ natively.

While a simulated function runs, the names of its globals and closure that are functions of ours or ``cffi.FFI`` stand
for what simulated threads can call; the emulated C++ is lent each thread's place and its barrier.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import re
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .... import runtime
from ....model import FunctionCode, ObjectCode
from ....runtime import Library, PlainFunction
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
)

_Three = ctypes.c_uint * 3
_LANES = re.compile(r"\b__(?!syncthreads)\w+_sync\b|\b__activemask\b|\bcooperative_groups\b")


# ----------------------------------------------------------------------- what simulated threads call


@dataclass(frozen=True)
class Pointer:
    """The result of ``ffi.from_buffer(array)`` in a simulated kernel."""

    array: np.ndarray[Any, Any]


@dataclass(frozen=True)
class DeclaredFunction:
    """The result of ``cuda.declare_device(name, ...)`` in the simulator: in a kernel, the newest cell's function."""

    name: str

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.name} is declared for kernels: the host cannot call it.")


class SimulatedFFI:
    """A ``cffi.FFI`` whose ``from_buffer`` takes a kernel's arrays."""

    def __init__(self, ffi: Any) -> None:
        self._ffi = ffi

    def from_buffer(self, array: Any) -> Pointer:
        """As Numba compiles it: arrays in C's order only."""
        plain = _private.take_plain_array(array)
        if not isinstance(plain, np.ndarray):
            raise TypeError(f"from_buffer() takes an array, not {type(array).__name__}.")
        if not plain.flags.c_contiguous:
            raise TypeError("from_buffer() takes contiguous arrays only: a strided one has no pointer in C's sense.")
        return Pointer(plain)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ffi, name)


class SimulatedFunction:
    """A function of a CUDA cell as simulated threads call it."""

    def __init__(self, function: Any, code: FunctionCode, object_code: ObjectCode, simulation: Simulation) -> None:
        build = runtime.find_loaded(object_code)
        library = None if build is None else build.loaded.library
        self._library = library if isinstance(library, Library) else None
        self._simulation = simulation
        self._code = code
        self._forms = list_forms(code, object_code)
        lanes = "looks at the other lanes of a warp, which simulated threads do not have"
        self._reason = explain_numba_refusal(code, object_code) or lanes * bool(_LANES.search(code.source))
        self._chosen: dict[tuple[Any, ...], Form] = {}
        emulated = function if isinstance(function, np.ufunc) else getattr(function, "emulated", None)
        self._ufunc = emulated if isinstance(emulated, np.ufunc) else None

    def __call__(self, *args: Any) -> Any:
        # The types of the values decide: most calls are like an earlier one.
        kinds = tuple(value.array.dtype if isinstance(value, Pointer) else type(value) for value in args)
        form = self._chosen.get(kinds)
        if form is None:
            form = self._chosen[kinds] = self._choose(args)
        if self._library is not None:
            self._simulation.arrive(self._library)
        return self._call_plain(form, args) if self._ufunc is None else self._call_ufunc(self._ufunc, form, args)

    def _choose(self, args: tuple[Any, ...]) -> Form:
        if self._reason:
            raise TypeError(f"{self._code.name} {self._reason}.")
        types = [self._find_type(value) for value in args]
        form = choose(self._forms, types)
        if form is None:
            raise TypeError(describe_mismatch(self._code.name, self._forms, types))
        return form

    def _find_type(self, value: Any) -> ValueType:
        if isinstance(value, Pointer):
            return ValueType(value.array.dtype, pointer=True)
        if isinstance(value, bool | int | float | complex | np.generic):
            return ValueType(np.asarray(value).dtype)
        raise TypeError(describe_no_number(self._code.name, type(value).__name__))

    def _call_ufunc(self, ufunc: Any, form: Form, args: tuple[Any, ...]) -> Any:
        operands: list[Any] = [None] * (ufunc.nin + ufunc.nout)
        for slot, value, parameter in zip(form.slots, args, form.arguments, strict=False):
            operands[slot] = value if isinstance(value, Pointer) else _convert(value, parameter)
        for n, place in form.updates:
            operands[n] = operands[place].array.reshape(-1)[0]
        outputs = ufunc(*operands[: ufunc.nin])
        outputs = outputs if ufunc.nout > 1 else (outputs,)
        for place, output in zip(operands[ufunc.nin :], outputs, strict=True):
            if place is not None:
                place.array.reshape(-1)[0] = output
        returned = [outputs[s - ufunc.nin] for s in form.slots[len(form.arguments) :]]
        return None if not returned else returned[0] if len(returned) == 1 else tuple(returned)

    @functools.cached_property
    def _plain(self) -> Callable[..., Any]:
        """The C function, called through its address; pointers are given as addresses.

        Its thread keeps the GIL, so that what the emulation does for an atomic operation is one.
        """
        if self._library is None:
            raise TypeError(f"{self._code.name} has no emulation: no C++ compiler was found when its cell was run.")
        result, *kinds = map(_find_ctype, self._code.prototype)
        function: Callable[..., Any] = ctypes.PYFUNCTYPE(result, *kinds)(self._library.functions[self._code.index])
        return function

    def _call_plain(self, form: Form, args: tuple[Any, ...]) -> Any:
        pairs = zip(args, form.arguments, strict=True)
        result = self._plain(
            *(a.array.ctypes.data if isinstance(a, Pointer) else _convert(a, p).item() for a, p in pairs)
        )
        return form.results[0].dtype.type(result) if form.results else None


def _find_ctype(word: str) -> Any:
    if word == "void":
        return None
    return ctypes.c_void_p if "*" in word else np.ctypeslib.as_ctypes_type(np.dtype(word.removeprefix("const ")))


def _convert(value: Any, parameter: ValueType) -> Any:
    return value if type(value) is parameter.dtype.type else np.asarray(value).astype(parameter.dtype)[()]


# ---------------------------------------------------------------------------------- the simulation


class Simulation:
    """Numba's simulator of this process, with functions of CUDA cells in its kernels."""

    def __init__(self) -> None:
        self._functions: dict[Any, SimulatedFunction | None] = {}
        #: Simulated functions that run, on however many threads, and what puts back the names that they know.
        self._running = 0
        self._replaced: set[Any] = set()
        self._restore: list[Callable[[], object]] = []
        self._lock = threading.Lock()
        #: The callbacks that C has, by the library's id; the library with it, so that no other gets its id.
        self._barriers: dict[int, tuple[Any, Library]] = {}
        #: The libraries that know a thread's place.
        self._arrived: weakref.WeakKeyDictionary[threading.Thread, set[int]] = weakref.WeakKeyDictionary()

    @contextlib.contextmanager
    def substitute_around(self, function: Any) -> Iterator[None]:
        """Put the substitutes into the globals and closure of a simulated function until the last one ends."""
        with self._lock:
            self._running += 1
            if function not in self._replaced:
                self._replaced.add(function)
                self._replace(function)
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._replaced.clear()
                    while self._restore:
                        self._restore.pop()()
                    while self._barriers:  # emulations wait in their own way again
                        _, (_, library) = self._barriers.popitem()
                        if hook := _find_barrier_hook(library):
                            hook.value = None

    def _replace(self, function: Any) -> None:
        names = function.__globals__
        after = {name: other for name, v in list(names.items()) if (other := self.substitute(v)) is not None}
        self._restore.append(functools.partial(names.update, {name: names[name] for name in after}))
        names.update(after)
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # not bound yet
                content = cell.cell_contents
                if (other := self.substitute(content)) is not None:
                    cell.cell_contents = other
                    self._restore.append(functools.partial(setattr, cell, "cell_contents", content))

    def arrive(self, library: Library) -> None:
        """Give the C++ code this thread's place and its way to wait, at the first call."""
        thread: Any = threading.current_thread()
        if not hasattr(thread, "blockIdx"):
            return
        libraries = self._arrived.setdefault(thread, set())
        if id(library) in libraries:
            return
        libraries.add(id(library))
        with contextlib.suppress(AttributeError):  # a cell that asks for no place has no such function
            places = (thread.threadIdx, thread.blockIdx, *_private.find_simulated_dimensions(thread))
            library.handle["__ufm_set_geometry"](*(_Three(*(*place, 1, 1)[:3]) for place in places))
        hook = _find_barrier_hook(library)
        if hook is not None and id(library) not in self._barriers:
            callback = ctypes.CFUNCTYPE(None)(_wait)
            self._barriers[id(library)] = callback, library
            hook.value = ctypes.cast(callback, ctypes.c_void_p).value

    def substitute(self, value: Any) -> Any:
        """The substitute for a name's value in a simulated kernel, None for most."""
        if type(value).__name__ in ("FFI", "CompiledFFI") and hasattr(value, "from_buffer"):
            return SimulatedFFI(value)
        if isinstance(value, DeclaredFunction):
            function = runtime.find_function(value.name, language="cuda")
            if function is None:
                raise NameError(f"{value.name} is declared, and no cell of this process defines it.")
            return self._find_simulated(function)
        # Other objects are not asked for attributes: some answer to any.
        return (
            self._find_simulated(value) if isinstance(value, np.ufunc | PlainFunction | CudaFunction | Kernel) else None
        )

    def _find_simulated(self, function: Any) -> SimulatedFunction | None:
        if function not in self._functions:
            pair = find_code(function)
            self._functions[function] = None if pair is None else SimulatedFunction(function, *pair, self)
        return self._functions[function]


def _find_barrier_hook(library: Library) -> ctypes.c_void_p | None:
    try:
        return ctypes.c_void_p.in_dll(library.handle, "__ufm_barrier")
    except ValueError:
        return None


def _wait() -> None:
    thread: Any = threading.current_thread()
    if hasattr(thread, "syncthreads"):
        with contextlib.suppress(RuntimeError):  # another thread has failed: nothing can pass through C
            thread.syncthreads()
