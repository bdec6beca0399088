"""Finds, describes and runs compilers, and maps their messages to the lines of the cell.

The room takes a translation unit with options, and returns a library or raises a `CompileError` with diagnostics of the
cell.

``discovery`` finds compilers and the options that they need; ``description`` asks a compiler for its version and
features; ``toolchain`` compiles and links, through ``processes``, which starts all programs.  ``diagnostics`` parses
the messages of compilers and linkers, ``hints`` adds remedies, ``line_map`` maps messages about Cython's C code to the
lines of the cell; ``compiler_texts`` has the assembly and the remarks for ``--show``.  ``include_search`` lists the
files that compilers read, for the cache; ``doctor`` shows the state of this machine.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
