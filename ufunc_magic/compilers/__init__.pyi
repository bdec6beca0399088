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
    library_flags as library_flags,
)
from .doctor import Diagnosis as Diagnosis, Finding as Finding, diagnose as diagnose
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
from .precompiled import can_precompile as can_precompile, including as including, precompile as precompile
from .processes import (
    how_far as how_far,
    printed as printed,
    run_python as run_python,
    run_shown as run_shown,
    start_python as start_python,
    together as together,
)
from .standing_by import stand_by as stand_by, started_ahead as started_ahead
from .toolchain import (
    LargeUnit as LargeUnit,
    compile_in_parts as compile_in_parts,
    compile_object as compile_object,
    compile_shared as compile_shared,
    link_shared as link_shared,
    preprocess as preprocess,
)
