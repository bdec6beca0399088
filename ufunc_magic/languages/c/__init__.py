"""C and C++ cells: text to functions with their types and effects, and the road to object code.

In goes a cell's text; out comes a `Unit` with every function in it, and the tree that it was read from, which
`forms` reads on.  The text is parsed once: as typed, or as the preprocessor leaves it.  Nothing is run, and text
that is not C is no error: the compiler reports it.

===============  ======================================================================================
`c_language`     the key of a cell, and what other rooms ask of the language
`c_unit`         the road of ``compile``, readable from top to bottom
`parser`         functions of a text: their places and parameters, and from the IR the effects of their bodies
`prototypes`     functions that are only declared, in the cell or in headers that are wrapped: for a library to bind
`declarations`   specifiers and declarators to names, types and parameters; typedefs seen through
`lowering`       the tree to the IR, function by function; `statement_lowering`, `loop_lowering`, `call_lowering`,
                 `expression_lowering`, `type_lowering` lower their part, `lowering_context`, `lowering_values` hold it
`c_tree`         how a text becomes a syntax tree; `c_text`: comments, directives, constant expressions
`line_markers`   the preprocessor's output: which lines are the user's
`plain_functions`  functions that are no ufuncs: which are bound, and what points to them
`cffi_types`     type definitions for functions that are called through cffi
`intrinsics`     functions of compilers for devices that libm lacks
===============  ======================================================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
