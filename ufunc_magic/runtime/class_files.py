"""Files from which other processes of this machine import the modules of cells that have classes.

Pickle writes a class as the name of its module.  Any process finds the modules of cells without a name
(`serialize`), and those that joblib, multiprocessing and loky start later have this one's ``sys.path``.
"""

from __future__ import annotations

import base64
import contextlib
import os
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
    """Write the file of a cell that has classes.

    The file of a cell with ``-n NAME`` has a folder of its own, which processes that start from now on look into.
    """
    code, module = build.loaded.object_code, build.loaded.module
    kinds = [value for value in vars(module).values() if isinstance(value, type)] if module else []
    if not any(kind.__module__ == code.module for kind in kinds):
        return
    named = not code.module.startswith(UNNAMED)
    folder_name = f"{store.NAMED}{code.module}-{code.code_digest[:16]}" if named else store.MODULES
    with contextlib.suppress(CacheError):
        cache = store.open_default()
        folder = cache.open_storage(folder_name)
        name = f"{code.module.rpartition('.')[2]}.py"
        if not (folder / name).exists():
            text = _MODULE.format(code=base64.b64encode(dumps(build)).decode())
            with cache.open_scratch() as scratch:
                cache.move_to_storage(folder_name, [cache.write_scratch(scratch / name, text)], most=_MOST)
        if named:
            mark = f"{os.sep}{store.NAMED}{code.module}-"
            sys.path[:] = [path for path in sys.path if mark not in path] + [str(folder)]
