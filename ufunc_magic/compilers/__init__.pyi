from .compiler_texts import (
    CompilerTexts as CompilerTexts,
    read_compiler_texts as read_compiler_texts,
    read_loop_texts as read_loop_texts,
)
from .description import Description as Description, describe as describe, find_libmvec as find_libmvec
from .diagnostics import (
    GENERATED as GENERATED,
    OURS as OURS,
    count_errors as count_errors,
    list_undefined_symbols as list_undefined_symbols,
    read_linker as read_linker,
    shorten as shorten,
    show_source_line as show_source_line,
    take_name_in_symbol as take_name_in_symbol,
)
from .discovery import (
    FAST_MATH as FAST_MATH,
    Toolchain as Toolchain,
    find as find,
    find_all as find_all,
    is_launched as is_launched,
    list_base_flags as list_base_flags,
    list_base_link_options as list_base_link_options,
    list_language_flags as list_language_flags,
    list_library_flags as list_library_flags,
)
from .doctor import (
    Diagnosis as Diagnosis,
    Finding as Finding,
    diagnose as diagnose,
    find_installed_version as find_installed_version,
)
from .hints import (
    find_first_advice as find_first_advice,
    find_header as find_header,
    find_missing_file as find_missing_file,
    find_unknown_name as find_unknown_name,
    list_declared as list_declared,
)
from .include_search import (
    find_files_named as find_files_named,
    find_files_read as find_files_read,
    search_path as search_path,
)
from .line_map import find_places as find_places
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
    compile_assembly as compile_assembly,
    compile_object as compile_object,
    compile_shared as compile_shared,
    continue_lto as continue_lto,
    link_shared as link_shared,
    preprocess as preprocess,
    run_driver as run_driver,
)
