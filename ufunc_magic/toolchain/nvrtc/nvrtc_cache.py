"""What NVRTC has made, found again in the cache by any process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ... import store
from .device_headers import digests
from .nvrtc_discovery import identity

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
    cache = store.default()
    entry_key = store.key([kind, identity(), arch, repr(tuple(options)), *included, source])
    if entry := cache.get(entry_key):
        return entry.code
    return cache.publish(entry_key, record=b"", code=make()).code
