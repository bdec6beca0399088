from .compiler_texts import CompilerTexts as CompilerTexts, texts_of as texts_of
from .description import Description as Description, describe as describe, libmvec_path as libmvec_path
from .diagnostics import (
    GENERATED as GENERATED,
    OURS as OURS,
    counted as counted,
    read_linker as read_linker,
    shorten as shorten,
    source_line as source_line,
)
from .discovery import (
    FAST_MATH as FAST_MATH,
    Toolchain as Toolchain,
    base_flags as base_flags,
    base_link as base_link,
    find as find,
    find_all as find_all,
    is_launched as is_launched,
    language_flags as language_flags,
    library_flags as library_flags,
)
from .doctor import (
    Diagnosis as Diagnosis,
    Finding as Finding,
    diagnose as diagnose,
    installed_version as installed_version,
)
from .hints import (
    declared_by as declared_by,
    first_advice as first_advice,
    header_of as header_of,
    missing_file as missing_file,
    unknown_name as unknown_name,
)
from .include_search import (
    files_named as files_named,
    files_read as files_read,
    search_path as search_path,
)
from .line_map import places as places
from .processes import (
    Done as Done,
    Process as Process,
    count_functions as count_functions,
    describe_progress as describe_progress,
    end_on_error as end_on_error,
    end_process as end_process,
    read_output as read_output,
    run_and_show as run_and_show,
    run_command as run_command,
    run_jobs as run_jobs,
    run_python as run_python,
    start_process as start_process,
    start_python as start_python,
)
from .toolchain import (
    Runner as Runner,
    UnitOrigin as UnitOrigin,
    compile_object as compile_object,
    compile_shared as compile_shared,
    continue_lto as continue_lto,
    link_shared as link_shared,
    preprocess as preprocess,
    run_driver as run_driver,
)
