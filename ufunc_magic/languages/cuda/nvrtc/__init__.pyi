from .device_headers import (
    find_device_files_read as find_device_files_read,
    may_include as may_include,
    write_prelude as write_prelude,
)
from .entry_symbols import C_LINKAGE as C_LINKAGE, read_c_symbol as read_c_symbol
from .kernel_resources import Resources as Resources, measure_resources as measure_resources
from .linkable_code import (
    Shim as Shim,
    carry_ltoir as carry_ltoir,
    make_linkable as make_linkable,
    make_ltoir as make_ltoir,
    make_prefix as make_prefix,
    make_shims as make_shims,
)
from .nvrtc_discovery import (
    Nvrtc as Nvrtc,
    choose_architecture as choose_architecture,
    explain_absence as explain_absence,
    find as find,
    find_cupy_headers as find_cupy_headers,
    find_installed_headers as find_installed_headers,
    identify_nvrtc as identify_nvrtc,
)
from .nvrtc_hints import advise as advise
from .nvrtc_program import (
    compile as compile,
    find_type_numbers as find_type_numbers,
    is_host as is_host,
    list_nvrtc_flags as list_nvrtc_flags,
    make_cubin as make_cubin,
    write_line_directive as write_line_directive,
)
