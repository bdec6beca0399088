"""Languages of cells, one room each: text of a cell to object code, and all that belongs to its language alone.

* `c`: C and C++.
* `cython`: Cython.
* `cuda`: CUDA C++, with its GPU: emulation headers, NVRTC, device arrays and launches, Numba's kernels.

What they share is `cells`.
"""
