"""The notebook: takes option lines and cells, binds names and shows a report.  The only room that imports IPython.

``magics`` has the magics, their help and the options that ``%ufunc_config`` remembers; ``option_line`` parses, explains
and completes options; ``compare_line`` runs ``%ufunc_compare``; ``completion`` answers Tab.
``bound_names`` records which cell bound which name; ``captured_output`` shows C's output in the cell, in order;
``waiting`` shows that a cell is compiling; ``first_use`` compiles in the background what the first cell needs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
