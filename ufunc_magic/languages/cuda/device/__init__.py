"""CUDA functions as Python objects: called on arrays of the GPU or of the host, launched as kernels.

In comes a `FunctionCode` of a CUDA cell and its `ObjectCode`; out goes a `CudaFunction`, which is called as a ufunc is,
or a `Kernel`.  What they compute on the GPU is the cell's source, compiled for that GPU with a kernel of ours below it.

``driver``         CuPy and the GPU behind it: memory, compiling, launching, streams, events.
``device_arrays``  arrays of any library, borrowed as CuPy's, and results in the same kind.
``kernel_source``  the text of the kernels that call a cell's function for every element, and of reductions.
``element_loops``  shapes and strides, and which of those kernels is launched on what.
``cuda_function``  NumPy's rules for types, ``out``, ``where``, ``reduce``.
``cuda_kernel``    ``k[grid, block](...)``: arguments checked against the declaration, the GPU or the emulation.
``cell_memory``    the cell's ``__device__`` and ``__constant__`` variables as arrays.
``device_timing``  how long the device takes, by its own clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....lazy import lazy_names

if TYPE_CHECKING:
    from .cell_memory import CellMemory as CellMemory
    from .cuda_function import CudaFunction as CudaFunction
    from .cuda_kernel import Kernel as Kernel, KernelFamily as KernelFamily, Launch as Launch
    from .device_timing import copy_bandwidth as copy_bandwidth, time_call as time_call, time_function as time_function
    from .driver import (
        arch as arch,
        available as available,
        compile_with as compile_with,
        cupy as cupy,
        missing as missing,
        name as name,
        on_gpu as on_gpu,
        to_device as to_device,
        to_host as to_host,
        wait as wait,
    )
    from .kernel_source import (
        C_LINKAGE as C_LINKAGE,
        c_symbol as c_symbol,
        cell as cell,
        unit as unit,
        usual as usual,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "cell_memory": "CellMemory",
            "cuda_function": "CudaFunction",
            "cuda_kernel": "Kernel KernelFamily Launch",
            "device_timing": "copy_bandwidth time_call time_function",
            "driver": "arch available compile_with cupy missing name on_gpu to_device to_host wait",
            "kernel_source": "C_LINKAGE c_symbol cell unit usual",
        },
    )
