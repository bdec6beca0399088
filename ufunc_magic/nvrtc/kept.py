"""What NVRTC has made, found again in the cache by any process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import cache
from .found import identity
from .headers import digests

__all__ = ["kept"]


def kept(kind: str, source: str, *, arch: str, options: Sequence[str], make: Callable[[], bytes]) -> bytes:
    """The bytes that ``make`` made of ``source`` once, or makes now.

    Parameters
    ----------
    kind : str
        What is made, with a version.
    source, arch, options
        All that ``make`` depends on, but for headers and the compiler.
    """
    included = digests(source, options)
    if included is None:
        return make()
    store = cache.default()
    entry_key = cache.key([kind, identity(), arch, repr(tuple(options)), *included, source])
    if entry := store.get(entry_key):
        return entry.code
    return store.publish(entry_key, record=b"", code=make()).code
