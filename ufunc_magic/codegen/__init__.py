"""Functions to C loops: pure text, out of ``ufunc_magic/templates``.

In come a cell's text and the `Signature` of each function; out comes one translation unit with its loops.

``unit`` writes the whole unit, and reads the loops' types back from what the compiler made of it; ``loops`` writes one
loop; ``loop_types`` spells the types of its operands, ``record_layout`` those of structures; ``plain_calls``
writes callers for functions that are no ufuncs.
``templates/driver.c`` does what is the same for all cells: strides, blocks, threads, floating-point flags, interrupts.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
