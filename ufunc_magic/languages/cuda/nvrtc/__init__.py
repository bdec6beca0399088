"""NVIDIA's run-time compiler: CUDA C++ to PTX, LTO-IR or machine code, with no driver and no GPU.

The room takes a text with the cell's ``#line`` and returns code, and diagnostics on the cell's lines.

``nvrtc_discovery``  finds the compiler and its headers, and the architectures that it supports.
``device_headers``   the headers that a cell may include: CUDA's, and replacements for those that NVRTC lacks.
``entry_symbols``    kernels whose symbols are known.
``nvrtc_program``    runs one compilation, caches its result, and reads the types of the cell.
``nvrtc_log``        parses the log into diagnostics; ``nvrtc_hints`` adds remedies.
``kernel_resources`` the registers, shared memory and spills of the cell's kernels.
``linkable_code``    a cell as LTO-IR or PTX for other kernels, with shims in Numba's calling convention.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
