"""Names that pickles import; this module never moves.

Functions have their constructor here.  Classes of cells without a name are in modules below this one, which any process
of this machine that has this package finds in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import store
from .runtime import (
    load as load,
    load_function as load_function,
    loads as loads,
    realize as realize,
    rebuild as _after,  # noqa: F401 - its name in pickles
)


class _CacheFolder:
    """The folder in the cache that is in use when something is imported."""

    def __iter__(self) -> Iterator[str]:
        yield str(store.open_default().open_storage(store.MODULES))


__path__ = _CacheFolder()
