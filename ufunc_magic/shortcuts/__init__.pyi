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
    is_first as is_first,
    stored_cell as stored_cell,
    this_cpu_flags as this_cpu_flags,
    this_level as this_level,
)
from .waiting_compilers import start_waiting as start_waiting
