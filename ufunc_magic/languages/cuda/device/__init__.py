"""CUDA functions as Python objects: called on arrays of the GPU or of the host, launched as kernels.

In comes a `FunctionCode` of a CUDA cell and its `ObjectCode`; out goes a `CudaFunction`, which is called as a ufunc is,
or a `Kernel`.  What they compute on the GPU is the cell's source, compiled for that GPU with a kernel of ours below it.

``driver``         CuPy and its GPU: memory, compiling, launching, streams, events.
``device_arrays``  arrays of any library, borrowed as CuPy's, and results in the same kind.
``kernel_source``  the text of the kernels that call a cell's function for every element, and of reductions.
``element_loops``  shapes and strides, and which of those kernels is launched on what.
``cuda_function``  NumPy's rules for types, ``out``, ``where``, ``reduce``.
``cuda_kernel``    ``k[grid, block](...)``: arguments checked against the declaration, the GPU or the emulation.
``guarded_copies``  what the first launch on the CPU runs on.
``cell_memory``    the cell's ``__device__`` and ``__constant__`` variables as arrays.
``device_timing``  how long the device takes, by its own clock.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
