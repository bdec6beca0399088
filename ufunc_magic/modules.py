"""The package of the modules of cells without a name.

Pickle writes a class as the name of its module.  Any process of this machine that has this package finds the module
under that name, in the cache.  The name is short, because Cython's messages have the first fifty characters of a
class's name with its module.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import store


class _CacheFolder:
    """The folder in the cache that is in use when something is imported."""

    def __iter__(self) -> Iterator[str]:
        yield str(store.open_default().open_storage(store.MODULES))


__path__ = _CacheFolder()
