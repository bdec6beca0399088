from .cell_settings import (
    CellBuild as CellBuild,
    read_preprocessed as read_preprocessed,
    read_types_in_comments as read_types_in_comments,
)
from .frontend import (
    list_compiler_flags as list_compiler_flags,
    list_flags as list_flags,
    list_linker_flags as list_linker_flags,
    make_c_key as make_c_key,
    make_cell_key as make_cell_key,
)
from .function_entries import (
    Form as Form,
    find_foreign_types as find_foreign_types,
    group_loops as group_loops,
    make_c_ufunc_entries as make_c_ufunc_entries,
    make_native_entry as make_native_entry,
    make_python_entry as make_python_entry,
    make_ufunc_entry as make_ufunc_entry,
    pick_representatives as pick_representatives,
    write_prototype as write_prototype,
    write_python_forms as write_python_forms,
)
from .language import DeviceTime as DeviceTime, Language as Language, TextView as TextView
from .native import (
    UnitPlan as UnitPlan,
    compile_def_functions as compile_def_functions,
    compile_driver as compile_driver,
    compile_exceptions as compile_exceptions,
    compile_process_calls as compile_process_calls,
    compile_vector_math as compile_vector_math,
    find_sound_copies as find_sound_copies,
    narrow as narrow,
    plan_unit as plan_unit,
    target as target,
)
from .operands import (
    OperandPlan as OperandPlan,
    Plain as Plain,
    list_result_types as list_result_types,
    plan_operands as plan_operands,
    split_template as split_template,
)
from .parameter_roles import place_of as place_of, resolve_type as resolve_type
