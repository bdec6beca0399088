"""Cython functions as plain Python: the cell with its types taken away, or with C's answers.

In come a cell's text and what is known of its functions (`FormRequest`), out comes a `PythonForm` of each.

* `cython_tree`, `cython_types`, `cython_cell`: Cython's own parser, its types as C's, a cell's module level.
* `cython_values`, `cython_calls`, `cython_body`: expressions, calls, statements.
* `cython_form`: whole modules, with a ufunc's core dimensions.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
