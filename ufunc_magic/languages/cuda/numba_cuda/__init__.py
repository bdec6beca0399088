"""Numba's CUDA kernels: functions of CUDA cells inside them, and inside its simulator.

In comes a function that a CUDA cell has bound (a ufunc, a `PlainFunction`, a `CudaFunction`) and that a kernel
names; out goes, for numba-cuda, its type and a call of the function's shim, whose LTO-IR is linked into the kernel; and
for the simulator a Python callable that runs the cell's code for the CPU with the thread's place and barrier.

``device_calls``           how a kernel may call a function: overloads, pointers, what is refused.  Pure.
``numba_cuda_extension``   typing, lowering and linking for numba-cuda; `attach` waits for it, `install` does it now.
``simulator``              the same for ``NUMBA_ENABLE_CUDASIM=1``.
``import_hooks``           what is done as soon as somebody imports a module.
``_private``               what is used of Numba that is not its public interface.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
