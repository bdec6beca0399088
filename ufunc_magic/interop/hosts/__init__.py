"""Programs in C and C++: addresses, headers, libraries.

* `c_address`: the scalar C function of a ufunc, for ctypes, cffi, SciPy and compiled callers.
* `c_header`: a header and a library of a build, for programs without Python; the folder of our own headers.
* `elf_names`: the library's tables under names of its own, so that one program links several.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .c_address import (
        address as address,
        ctypes_function as ctypes_function,
        leaf_address as leaf_address,
        lowlevel as lowlevel,
        prototype as prototype,
    )
    from .c_header import get_include as get_include, write_header as write_header
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "c_address": "address ctypes_function leaf_address lowlevel prototype",
            "c_header": "get_include write_header",
        },
    )
