from .cache import (
    Cache as Cache,
    CacheWarning as CacheWarning,
    Entry as Entry,
    default as default,
    key as key,
    read_size as read_size,
)
from .project_folder import replace_project as replace_project, write_project as write_project
