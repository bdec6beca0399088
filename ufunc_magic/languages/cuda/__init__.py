"""CUDA cells: device functions and kernels, emulated by the host's compiler or compiled by NVRTC.

In comes the cell and its options; out goes a `CompiledCell` with code for the CPU, for the GPU, or for both.

``cuda_language``      what other rooms ask of the language.
``cuda_frontend``      the key that a cell is cached under: all that a cell in the cache imports.
``cuda_unit``          the road: which compiler, the unit, NVRTC's check, what the object code says.
``cuda_reading``       functions and what becomes of each.
``cuda_edits``         the cell's text without the host's part or refused functions.
``thread_loops``       kernels as loops over the threads of a block.
``cuda_program``       compiles a cell with a ``main()`` whole, and runs it in another process.
``cuda_names``         CUDA's own types and macros.
``kernel_prototypes``  kernels and plain functions: pointers to them, and their types as a compiler knows them.
``cuda_diagnostics``   what is refused before compiling, and compilers' messages in CUDA's words.
``device``             arrays, functions and kernels on a GPU.
``nvrtc``              NVIDIA's run-time compiler.
``numba_cuda``         functions of cells inside Numba's kernels and its simulator.
``templates``          the emulation's headers, and those that NVRTC reads.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
