"""The cache of compiled code: complete files, found by key.

The store takes machine code under a key, with a record that describes it, and returns an `Entry`: the record, the bytes
and the file to open.  `default` is the cache of this process; `key` computes a key from everything that can change the
code.  ``cache`` has the public class, ``atomic_file`` writes and reads complete files, ``paths`` checks which folders
are safe, ``project_folder`` writes folders that the user names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .cache import (
        Cache as Cache,
        CacheWarning as CacheWarning,
        Entry as Entry,
        default as default,
        key as key,
        read_size as read_size,
    )
    from .project_folder import replace_project as replace_project, write_project as write_project
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "cache": "Cache CacheWarning Entry default key read_size",
            "project_folder": "replace_project write_project",
        },
    )
