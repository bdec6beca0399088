from .device_headers import files_read as files_read, includes as includes, prelude as prelude
from .entry_symbols import C_LINKAGE as C_LINKAGE, c_symbol as c_symbol
from .kernel_resources import Resources as Resources, resources as resources
from .linkable_code import (
    Shim as Shim,
    carry_ltoir as carry_ltoir,
    linkable as linkable,
    ltoir as ltoir,
    prefix as prefix,
    shims as shims,
)
from .nvrtc_discovery import (
    Nvrtc as Nvrtc,
    architecture as architecture,
    find as find,
    identity as identity,
    installed_headers as installed_headers,
    reason as reason,
)
from .nvrtc_hints import advise as advise
from .nvrtc_program import compile as compile, cubin as cubin, flags as flags, is_host as is_host, types as types
