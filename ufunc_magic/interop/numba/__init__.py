"""Numba: our ufuncs inside its functions, its functions as our ufuncs.

Our ufuncs inside ``@njit``: `install` in `numba_extension` is what Numba's entry point names.

* `ufunc_typing`: a ufunc's type, the loop it takes, the symbols of its loops.
* `ufunc_calls`: a call as LLVM code.

Its functions as ours: `link_ufunc` in `from_numba`, which links and describes them.

* `numba_functions`: what Numba has compiled.
* `numba_kernels`: its LLVM code to machine code over whole arrays.

`_private` has the names that Numba does not promise.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
