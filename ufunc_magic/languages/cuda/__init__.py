"""CUDA cells: device functions and kernels, emulated by the host's compiler or compiled by NVRTC.

In comes the cell and its options; out goes a `CompiledCell` with code for the CPU, for the GPU, or for both.

``cuda_frontend``      the key that a cell is cached under: all that a cell in the cache imports.
``cuda_unit``          the road: which compiler, the unit, NVRTC's check, what the object code says.
``cuda_reading``       functions and what becomes of each; which part is the host's.
``cuda_program``       compiles a cell with a ``main()`` whole, and runs it in another process.
``kernel_prototypes``  kernels and plain functions: pointers to them, and their types as a compiler knows them.
``cuda_diagnostics``   what is refused before compiling, and compilers' messages in CUDA's words.
``device``             arrays, functions and kernels on a GPU.
``nvrtc``              NVIDIA's run-time compiler.
``numba_cuda``         functions of cells inside Numba's kernels and its simulator.
``templates``          the emulation's headers, and those that NVRTC reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .cuda_frontend import key as key
    from .cuda_program import compile_program as compile_program, run_program as run_program
    from .cuda_unit import compile as compile
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "cuda_frontend": "key",
            "cuda_program": "compile_program run_program",
            "cuda_unit": "compile",
        },
    )
