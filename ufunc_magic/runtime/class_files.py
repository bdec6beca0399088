"""Files from which other processes of this machine import the modules of cells that have classes.

Pickle writes a class as the name of a module, and joblib, multiprocessing and loky give their processes this one's
``sys.path``.
"""

from __future__ import annotations

import base64
import contextlib
import sys

from .. import store
from ..model import CacheError
from .pickling import dumps
from .registry import UNNAMED, Build

_MODULE = '''"""A cell of ufunc_magic, for processes that unpickle its classes."""

import base64
import sys

import ufunc_magic

sys.modules[__name__] = ufunc_magic.loads(base64.b64decode({code!r})).loaded.module
'''
#: Modules of more cells than a session has.
_MOST = 200


def share_classes(build: Build) -> None:
    """Write the file of a cell, if it has classes and a name that no other cell has."""
    name, module = build.loaded.object_code.module, build.loaded.module
    kinds = [value for value in vars(module).values() if isinstance(value, type)] if module else []
    if not name.startswith(UNNAMED) or not any(kind.__module__ == name for kind in kinds):
        return
    with contextlib.suppress(CacheError):
        cache = store.open_default()
        folder = cache.storage(store.MODULES)
        if not (folder / f"{name}.py").exists():
            text = _MODULE.format(code=base64.b64encode(dumps(build)).decode())
            with cache.scratch() as scratch:
                files = [cache.write_scratch(scratch / f"{name}.py", text)]
                cache.move_to_storage(store.MODULES, files, most=_MOST)
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
