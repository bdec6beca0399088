"""``__device__`` and ``__constant__`` variables of a CUDA cell as arrays, where its kernels see them.

On a GPU the kernels of a cell are one module.  Those that call a function for each element are modules of their own,
with variables of their own: what the last one left goes to the next.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ....model import CompileError, ObjectCode
from . import driver, kernel_source


class _Structures(np.ndarray[Any, Any]):
    """An array over structures, which takes records: NumPy's own takes none without their names."""

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, driver.make_structures(value, self.dtype))


class CellMemory(Mapping[str, Any]):
    """Name -> array over the variable: NumPy's in the emulation, CuPy's on the current GPU."""

    def __init__(self, object_code: ObjectCode, functions: tuple[int, ...] = (), *, emulated: bool = True) -> None:
        self._object_code = object_code
        self._variables = {row[0]: row[1:] for row in object_code.device.get("memory", ())}
        self._functions = functions
        self._emulated = emulated
        #: By the device's number, the cell's kernels.
        self._kernels: dict[int, dict[str, Any]] = {}
        #: By the device's number the function there that ran last: its module has the memory.
        self._last: dict[int, Any] = {}

    def __getitem__(self, name: str) -> Any:
        index, fixed, typestr, *shape = self._variables[name]
        dtype = np.dtype(typestr)
        if not self._emulated:
            return driver.view_variable(self._find_function(), name, tuple(shape), dtype)
        size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        raw = (ctypes.c_uint8 * size).from_address(self._functions[index])
        array = np.ndarray(tuple(shape), dtype, raw)
        array.flags.writeable = not fixed
        return array.view(_Structures) if dtype.kind == "V" else array

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __repr__(self) -> str:
        return f"<memory of {self._object_code.name}: {', '.join(self)}>"

    @property
    def changing(self) -> list[tuple[int, int, int]]:
        """For each variable of the emulation that is not const: its place in the table of functions, address, bytes."""
        arrays = {name: self[name] for name, row in self._variables.items() if self._emulated and not row[1]}
        return [(self._variables[name][0], array.ctypes.data, array.nbytes) for name, array in arrays.items()]

    def _find_function(self) -> Any:
        device = driver.find_current_device()
        if device not in self._last:
            empty = f'extern "C" __global__ void {kernel_source.ENTRY}() {{}}\n'
            self._last[device] = driver.load_functions(self._object_code, empty, [kernel_source.ENTRY])[
                kernel_source.ENTRY
            ]
        return self._last[device]

    def get_kernel(self, names: tuple[str, ...]) -> Any:
        """A kernel of the cell, which is about to run on the current GPU.

        Parameters
        ----------
        names : tuple of str
            As in `FunctionCode.calls`: the second serves where the first means several functions.

        Raises
        ------
        CompileError
            If it does not compile for that GPU.
        """
        device = driver.find_current_device()
        if device not in self._kernels:
            kernels = [f for f in self._object_code.functions if f.kind == "kernel"]
            entries = dict.fromkeys(f.calls[0] if f.calls else f.name for f in kernels)
            try:
                self._kernels[device] = driver.load_functions(self._object_code, "", [*entries])
            except CompileError:
                # One instance of a template that is refused there keeps no other from running.
                self._kernels[device] = {}
        compiled = self._kernels[device]
        entry = names[0]
        if entry not in compiled:
            compiled[entry] = self._is_alone(names)
        self.follow(compiled[entry])
        return compiled[entry]

    def _is_alone(self, names: tuple[str, ...]) -> Any:
        faults = []
        for entry in names:
            try:
                return driver.load_functions(self._object_code, "", [entry])[entry]
            except CompileError as fault:
                faults.append(fault)
        raise faults[0]

    def follow(self, function: Any) -> None:
        """Let a function of the GPU, which is about to run there, have what the last one left."""
        if not self._variables:
            return
        before = self._last.get(driver.find_current_device())
        if before is not None and before.module is not function.module:
            driver.wait(for_all=True)  # it may have been launched on another stream
            for name, (_, _, typestr, *shape) in self._variables.items():
                there = (driver.view_variable(f, name, tuple(shape), np.dtype(typestr)) for f in (function, before))
                driver.assign(*there)
        self._last[driver.find_current_device()] = function
