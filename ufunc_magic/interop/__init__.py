"""Other libraries' functions and arrays, each library imported only where it is used.

Input: functions of cells, Numba's functions, memory of other libraries.  Output: object code (of Numba's
functions), arrays, capsules, addresses, headers, and calls of ours in other people's compiled code.

* `numba`: Numba's functions as our ufuncs, our ufuncs inside ``@njit``.
* `arrays`: pointers, capsules, DLPack and ``__cuda_array_interface__``, without a copy.
* `hosts`: C addresses, ``scipy.LowLevelCallable``, headers and libraries for C and C++ programs.
* `python_package`: cells as a module that pip installs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
