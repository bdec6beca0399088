from .cache import (
    Cache as Cache,
    CacheWarning as CacheWarning,
    Entry as Entry,
    make_key as make_key,
    open_default as open_default,
    read_size as read_size,
)
from .manifest import (
    MODULES as MODULES,
    NAMED as NAMED,
    Inputs as Inputs,
    find_creation_time as find_creation_time,
    find_working_folder as find_working_folder,
    import_path as import_path,
    stamp_files as stamp_files,
)
from .project_folder import replace_project as replace_project, write_project as write_project
