from .cell_settings import CellBuild as CellBuild, preprocessed as preprocessed, types_in_comments as types_in_comments
from .frontend import (
    c_key as c_key,
    cell_key as cell_key,
    compiler_flags as compiler_flags,
    flags_of as flags_of,
    linker_flags as linker_flags,
)
from .function_entries import (
    Form as Form,
    c_ufunc_entries as c_ufunc_entries,
    foreign_types as foreign_types,
    loops_by_name as loops_by_name,
    native_entry as native_entry,
    prototype as prototype,
    python_entry as python_entry,
    python_forms as python_forms,
    representatives as representatives,
    ufunc_entry as ufunc_entry,
)
from .language import DeviceTime as DeviceTime, Language as Language, TextView as TextView
from .native import (
    UnitPlan as UnitPlan,
    def_functions as def_functions,
    driver as driver,
    exceptions as exceptions,
    narrow as narrow,
    plan_unit as plan_unit,
    sound_copies as sound_copies,
    target as target,
    vector_math as vector_math,
)
from .operands import (
    OperandPlan as OperandPlan,
    Plain as Plain,
    plan_operands as plan_operands,
    several as several,
    template_arguments as template_arguments,
)
from .parameter_roles import place_of as place_of, resolved as resolved
