from .driver_programs import run_programs as run_programs
from .parts import LargeUnit as LargeUnit, compile_in_parts as compile_in_parts
from .precompiled import (
    can_precompile as can_precompile,
    include_precompiled as include_precompiled,
    precompile as precompile,
)
from .switch import is_plain as is_plain
from .this_cpu import (
    Portable as Portable,
    find_this_level as find_this_level,
    is_first as is_first,
    list_this_cpu_flags as list_this_cpu_flags,
    read_stored_cell as read_stored_cell,
)
from .waiting_compilers import start_waiting as start_waiting
