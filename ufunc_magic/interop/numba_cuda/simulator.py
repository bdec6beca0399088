"""Functions of CUDA cells inside Numba's CUDA simulator: kernels run unchanged, and call the cell's C natively."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import runtime
from ...model import FunctionCode, ObjectCode
from ...runtime import Library
from . import borrowed_threads, simulated_declare
from .device_calls import Form, Given, choose, code_of, forms, refusal, words
from .swapped_names import exchanged, is_exchanged

__all__ = ["install"]


@dataclass(frozen=True)
class Pointer:
    """What ``ffi.from_buffer(array)`` is in a simulated kernel."""

    array: np.ndarray[Any, Any]

    @property
    def first(self) -> np.ndarray[Any, Any]:
        """The elements in a row."""
        return self.array.reshape(-1)


class SimulatedFFI:
    """A ``cffi.FFI`` whose ``from_buffer`` takes a kernel's arrays."""

    def __init__(self, ffi: Any) -> None:
        self._ffi = ffi

    def from_buffer(self, array: Any) -> Pointer:
        """As Numba compiles it: arrays in C's order only."""
        plain = _plain(array)
        if not isinstance(plain, np.ndarray):
            raise TypeError(f"from_buffer() takes an array, not {type(array).__name__}.")
        if not plain.flags.c_contiguous:
            raise TypeError("from_buffer() takes contiguous arrays only: a strided one has no pointer in C's sense.")
        return Pointer(plain)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ffi, name)


class SimulatedFunction:
    """A function of a CUDA cell as simulated threads call it."""

    def __init__(self, function: Any, code: FunctionCode, object_code: ObjectCode) -> None:
        build = runtime.loaded(object_code)
        library = None if build is None else build.loaded.library
        self._library = library if isinstance(library, Library) else None
        self._code = code
        self._name = code.name
        self._forms = forms(code, object_code)
        self._chosen: dict[tuple[Any, ...], Form] = {}
        self._reason = refusal(code, object_code)
        emulated = function if isinstance(function, np.ufunc) else getattr(function, "emulated", None)
        self._ufunc = emulated if isinstance(emulated, np.ufunc) else None

    def __call__(self, *args: Any) -> Any:
        # What a value's type does not say does not matter: most calls are like an earlier one.
        kinds = tuple(value.array.dtype if isinstance(value, Pointer) else type(value) for value in args)
        form = self._chosen.get(kinds) or self._choose(kinds, args)
        self._arrive()
        return self._call_plain(form, args) if self._ufunc is None else self._call_ufunc(self._ufunc, form, args)

    def _choose(self, kinds: tuple[Any, ...], args: tuple[Any, ...]) -> Form:
        if self._reason:
            raise TypeError(f"{self._name} {self._reason}.")
        given = [self._given(value) for value in args]
        form = choose(self._forms, given)
        if form is None:
            raise TypeError(words(self._name, self._forms, given))
        self._chosen[kinds] = form
        return form

    def _given(self, value: Any) -> Given:
        if isinstance(value, Pointer):
            return Given(value.array.dtype, pointer=True)
        if isinstance(value, bool | int | float | complex | np.generic):
            return Given(np.asarray(value).dtype)
        if isinstance(_plain(value), np.ndarray):
            raise TypeError(
                f"{self._name}() is given an array. Call it with elements, {self._name}(x[i], ...), "
                "or with ffi.from_buffer(x) where C takes a pointer."
            )
        raise TypeError(f"{self._name}() is given a {type(value).__name__}, which is no number.")

    def _call_ufunc(self, ufunc: Any, form: Form, args: tuple[Any, ...]) -> Any:
        operands: list[Any] = [None] * len(form.slots)
        for slot, value, wanted in zip(form.slots, args, form.takes, strict=False):
            operands[slot] = value if isinstance(value, Pointer) else _as(value, wanted)
        results = ufunc(*operands[: ufunc.nin])
        for place, result in zip(operands[ufunc.nin :], results if ufunc.nout > 1 else (results,), strict=True):
            if place is not None:
                place.first[0] = result
        left = [results[s - ufunc.nin] if ufunc.nout > 1 else results for s in form.slots[len(form.takes) :]]
        return None if not left else left[0] if len(left) == 1 else tuple(left)

    @functools.cached_property
    def _plain(self) -> Callable[..., Any]:
        """The C function, called through its address."""
        if self._library is None:
            raise TypeError(f"{self._name} has no emulation: no C++ compiler was found when its cell was run.")
        try:
            return borrowed_threads.call_holding_gil(self._library.functions[self._code.index], self._code.prototype)
        except NotImplementedError as fault:
            raise TypeError(
                f"{self._name} takes or returns numbers that the simulator cannot pass: {fault}."
            ) from fault

    def _call_plain(self, form: Form, args: tuple[Any, ...]) -> Any:
        numbers = zip(args, form.takes, strict=True)
        result = self._plain(*(a.array.ctypes.data if isinstance(a, Pointer) else _as(a, w).item() for a, w in numbers))
        return form.gives[0].dtype.type(result) if form.gives else None

    def _arrive(self) -> None:
        """Tell the C code where this thread stands, when it first comes there."""
        thread: Any = threading.current_thread()
        if self._library is None or not hasattr(thread, "blockIdx"):
            return
        told = thread.__dict__.setdefault("_ufunc_magic_told", set())
        if id(self._library) in told:
            return
        told.add(id(self._library))
        dimensions = (thread._manager._block_dim, thread._manager._grid_dim)
        borrowed_threads.lend_geometry(self._library, thread.threadIdx, thread.blockIdx, *map(_three, dimensions))
        borrowed_threads.lend_barrier(self._library, _wait)


def install(compile_cuda: Callable[..., Any] | None = None) -> None:
    """Let simulated kernels call functions of CUDA cells.

    Parameters
    ----------
    compile_cuda : callable
        What compiles the code that ``cuda.declare_device`` is given to link; without it, that is left to Numba.
    """
    from numba.cuda.simulator import kernel

    swapped = kernel.swapped_cuda_module

    @contextlib.contextmanager
    def swapped_with_ours(function: Any, fake: Any) -> Iterator[None]:
        try:
            with swapped(function, fake), exchanged(function, _simulated):
                yield
        finally:
            if not is_exchanged():
                borrowed_threads.take_back_barriers()

    kernel.swapped_cuda_module = swapped_with_ours
    if compile_cuda is not None:
        simulated_declare.install(compile_cuda)


def _simulated(value: Any) -> Any:
    """What a simulated kernel sees in the place of a name's value, None for most."""
    if type(value).__name__ in ("FFI", "CompiledFFI") and hasattr(value, "from_buffer"):
        return SimulatedFFI(value)
    if isinstance(value, simulated_declare.Declared):
        return _of_ours(value.function) if value.is_linked else None
    # Other objects are not asked for attributes: some answer to any.
    # Reports and Builds, which a notebook keeps in its names too, are no functions.
    is_ours = isinstance(value, np.ufunc) or str(type(value).__module__).startswith(_FUNCTIONS)
    return _of_ours(value) if is_ours else None


_FUNCTIONS = tuple(f"{__name__.partition('.')[0]}.{name}" for name in ("device.", "foreign"))


@functools.cache
def _of_ours(function: Any) -> SimulatedFunction | None:
    found = code_of(function)
    return None if found is None else SimulatedFunction(function, *found)


def _plain(array: Any) -> Any:
    """The NumPy array behind one of the simulator's."""
    item = getattr(array, "_item", array) if not isinstance(array, np.ndarray) else array
    return getattr(item, "_ary", item) if not isinstance(item, np.ndarray) else item


def _as(value: Any, wanted: Given) -> Any:
    return value if type(value) is wanted.dtype.type else np.asarray(value).astype(wanted.dtype)[()]


def _three(dimensions: Any) -> tuple[int, int, int]:
    made = (*dimensions, 1, 1, 1)
    return made[0], made[1], made[2]


def _wait() -> None:
    thread: Any = threading.current_thread()
    if hasattr(thread, "syncthreads"):
        with contextlib.suppress(RuntimeError):  # another thread has failed: nothing can pass through C
            thread.syncthreads()
