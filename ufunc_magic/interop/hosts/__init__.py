"""Programs in C and C++: addresses, headers, libraries.

* `c_address`: the scalar C function of a ufunc, for ctypes, cffi, SciPy and compiled callers.
* `c_header`: a header and a library of a build, for programs without Python; the folder of our own headers.
* `elf_names`: the library's tables under names of its own, so that one program links several.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
