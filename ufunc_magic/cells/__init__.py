"""Shared by languages on the road from the text of a cell to compiled functions; each is a room of `languages`.

In goes the text of a cell with its `Options`; out comes a `CompiledCell`: object code, and what a report shows of it.
Each language is a `Language`, of which two functions are most: ``key`` (everything that could change the machine code,
digested, in a millisecond and without a process) and ``compile``.  The road of ``compile`` is the same in all three:
parse, decide what each parameter is, write the unit, compile it (its functions are written as Python meanwhile), and
say what the object code holds.

===================  ==================================================================================
`language`           a language as a value: what the rooms above ask of it
`frontend`           keys, and the flags of the compiler and the linker that options mean
`cell_settings`      a cell that a compiler of C reads: preprocessed, compiled, and what to say where that fails
`ufunc_comment`      the words of a ``// ufunc:`` comment
`parameter_roles`    which parameter is an input, an output or a size: by the comment, or by what the body does
`operands`           functions to ufunc signatures, and why a function stays plain
`native`             flags by what a text uses, SIMD math, the driver's object
`function_entries`   the one place that makes `CellFunction` of signatures, loops and Python forms
===================  ==================================================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
