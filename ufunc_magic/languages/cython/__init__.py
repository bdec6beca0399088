"""Cython cells: Cython's own C with loops of ours appended, as one extension module.

In goes a cell's text; out comes a `CompiledCell` whose code is an extension module.  What Cython knows (names, types,
exception clauses) is read from its symbol table, not guessed from the text.

=====================  ================================================================================
`cython_language`      the language as other rooms see it
`cython_frontend`      the key of a cell; imports no Cython
`cython_settings`      comment lines and options to flags of the C compiler and the linker; LibTorch
`cython_search`        .pxd and .pxi files that Cython reads for a cell
`cython_unit`          the road of ``compile``
`python_headers`       the headers of every cell, compiled once
`translate`            Cython's pipeline in this process, and its symbol table
`cdef_variant`         each ``def`` of numbers once more as a ``cdef``, for its loop
`cython_rewrites`      conditions without jumps, powers by C's ``pow``: changes of Cython's tree
`cython_lowering`      Cython's analysed tree as the IR: functions and the module level
`cython_statements`    its statements
`cython_expressions`   its expressions
`cython_ctypes`        its types
`cython_function`      a function as values: its types, its parameters, the text around it
`signature_inference`  the ufunc that a function can be, or why it can be none
`nogil_clone`          clones of its C functions that need no Python
`cython_loops`         the C between the loops and the functions
`cython_errors`        Cython's messages, on the cell's lines
`cython_hints`         advice on these messages
`pgo`                  compiling with a profile
`annotate`             the view of ``--annotate``
`_private`             every private name of Cython's, with the versions tried
=====================  ================================================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
