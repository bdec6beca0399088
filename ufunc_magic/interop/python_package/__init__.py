"""Cells as a Python package: a folder that ``pip install`` takes, with machine code, source, loader and type stubs.

In go functions of cells, or Builds; out comes a folder, `SavedModule`.  Machine code travels as in pickles
(`ufunc_magic.model.pack`), and its source for machines that it does not fit, with the files that the compilation needs.

* `saved_module`: the module's name, what travels of each cell, the folder.
* `exports`: which functions of which cells are meant.
* `carried_files`: headers and sources of the user's own: copied, or refused.
* `package_texts`: the loader, ``pyproject.toml``, the README.
* `type_stubs`: the ``.pyi`` file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_names

if TYPE_CHECKING:
    from .saved_module import SavedModule as SavedModule, save as save
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "saved_module": "SavedModule save",
        },
    )
