"""The values that all rooms share: frozen, made of text and numbers.  Imports no other room.

``options`` has the options of a cell, ``signature`` describes a function as NumPy sees it, ``object_code`` is compiled
code that can be sent, ``report_data`` is what only the report needs, ``files_read`` lists the files that a compilation
depends on, ``errors`` has diagnostics and exceptions, ``cell_place`` counts lines where a source is shown, and
``comfort`` turns exceptions of optional parts into notes.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
