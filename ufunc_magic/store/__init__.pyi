from .cache import (
    Cache as Cache,
    CacheWarning as CacheWarning,
    Entry as Entry,
    default as default,
    key as key,
    read_size as read_size,
)
from .manifest import (
    MODULES as MODULES,
    Inputs as Inputs,
    creation_time as creation_time,
    import_path as import_path,
    stamp as stamp,
    working_folder as working_folder,
)
from .project_folder import replace_project as replace_project, write_project as write_project
