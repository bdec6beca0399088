"""Languages of cells, one room each: text of a cell to object code, and all that belongs to its language alone.

* `c`: C and C++.
* `cython`: Cython.
* `cuda`: CUDA C++, with its GPU: emulation headers, NVRTC, device arrays and launches, Numba's kernels.

What they share is `cells`.  Other rooms ask a language by `get_language`, whose rows are `ufunc_magic.model.LANGUAGES`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
