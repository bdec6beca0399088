"""The cache of compiled code: whole files or none, found by key.

In goes machine code under a key, with a record of what it is; out comes the `Entry`: record, bytes, and the file to
open.  `default` is the cache of this process, `key` makes keys of everything that could change the code.  ``cache`` is
what others call, ``atomic_file`` how files are written whole, ``paths`` which folders are
safe.  ``project_folder`` writes folders that the user names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .cache import (
        Cache as Cache,
        CacheWarning as CacheWarning,
        default as default,
        key as key,
        read_size as read_size,
    )
    from .project_folder import replace_project as replace_project, write_project as write_project
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "cache": "Cache CacheWarning default key read_size",
            "project_folder": "replace_project write_project",
        },
    )
