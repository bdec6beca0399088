"""Cells as a Python package: a folder that ``pip install`` takes, with machine code, source, loader and type stubs.

In go functions of cells, or Builds; out comes a folder, `SavedModule`.  Machine code travels as in pickles
(`ufunc_magic.model.pack`), and its source for machines that it does not fit, with the files that the compilation needs.

* `saved_module`: the module's name, what travels of each cell, the folder.
* `exports`: which functions of which cells are meant.
* `carry_files`: headers and sources of the user's own: copied, or refused.
* `package_texts`: the loader, ``pyproject.toml``, the README.
* `type_stubs`: the ``.pyi`` file.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
