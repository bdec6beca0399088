"""Other libraries' functions and arrays, each library imported only where it is used.

Input: functions of cells, Numba's functions, memory of other libraries.  Output: object code (of Numba's
functions), arrays, capsules, addresses, headers, and calls of ours in other people's compiled code.

* `numba`: Numba's functions as our ufuncs, our ufuncs inside ``@njit``.
* `arrays`: pointers, capsules, DLPack and ``__cuda_array_interface__``, without a copy.
* `hosts`: C addresses, ``scipy.LowLevelCallable``, headers and libraries for C and C++ programs.
* `python_package`: cells as a module that pip installs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .arrays import asarray as asarray, ascapsule as ascapsule, pointer as pointer
    from .hosts import ctypes_function as ctypes_function, lowlevel as lowlevel, prototype as prototype
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "arrays": "asarray ascapsule pointer",
            "hosts": "ctypes_function lowlevel prototype",
        },
    )
