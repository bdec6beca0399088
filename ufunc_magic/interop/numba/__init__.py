"""Numba: our ufuncs inside its functions, its functions as our ufuncs.

Our ufuncs inside ``@njit``: `install` in `numba_extension` is what Numba's entry point names.

* `ufunc_typing`: a ufunc's type, the loop it takes, the symbols of its loops.
* `ufunc_calls`: a call as LLVM code.

Its functions as ours: `object_code` in `from_numba`, which links and describes them.

* `numba_functions`: what Numba has compiled.
* `numba_kernels`: its LLVM code to machine code over whole arrays.

`_private` has the names that Numba does not promise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .from_numba import object_code as object_code
    from .numba_extension import install as install
    from .ufunc_typing import restored_link as restored_link
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "from_numba": "object_code",
            "numba_extension": "install",
            "ufunc_typing": "restored_link",
        },
    )
