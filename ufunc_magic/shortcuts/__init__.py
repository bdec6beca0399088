"""Shortcuts: the same functions in less of the user's time than on the plain road.

On the plain road one command of the compiler's driver makes one library of one unit, for every CPU, and the library
is loaded.  ``UFUNC_MAGIC_PLAIN=1`` turns all shortcuts off (`switch`).  The two roads give the same results by other
machine code, so cells are cached apart.

A shortcut stays if it saves a tenth of the time to the functions (``-q``) or to the table in one of the cells below.
``benchmarks/first_second.py --shortcuts`` measures each with and without, in pairs.  The table has the time without it
as a multiple of the time with it, as medians (results/shortcuts.json):

=====================  =====  ==================  =======  =====
file                   lines  cell                 ``-q``  table
=====================  =====  ==================  =======  =====
`waiting_compilers`      112  C, one function        1.22   1.05
                              C++, one function      1.15   1.12
                              C++ with <vector>      1.11   1.31
`stand_ins`               98  C, one function        1.26   1.14
                              C++ with <vector>      1.03   1.05
`driver_programs`        127  C, one function        1.06   0.96
                              C++ with <vector>      1.02   1.02
these three                   C, one function        1.46   1.23
                              C++ with <vector>      1.19   1.19
`this_cpu`                69  C, one function        1.34   1.13
                              C++, one function      1.09   1.08
                              C, 30 functions        1.45   1.32
`parts`                   60  C, 30 functions        1.22   1.17
`precompiled`             43  Cython, a ``def``      1.11   1.08
                              Cython with vector     1.41   1.39
all of them                   C, one function        1.87   1.32
                              C++ with <vector>      1.33   1.30
                              C, 30 functions        2.16   1.77
                              Cython, a ``def``      1.15   1.12
                              Cython with vector     1.38   1.58
=====================  =====  ==================  =======  =====

Without `driver_programs` there are no commands of a linker and a compiler for `stand_ins` and `waiting_compilers`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
