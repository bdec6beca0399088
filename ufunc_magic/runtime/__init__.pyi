from .bound_function import BoundFunction as BoundFunction
from .c_library import flush_stdio as flush_stdio
from .cell_names import find_current_place as find_current_place, set_place as set_place
from .cffi_function import PlainFunction as PlainFunction
from .class_files import share_classes as share_classes
from .def_function import DefFunction as DefFunction, find_ufunc as find_ufunc
from .exception_codec import make_exception as make_exception
from .faults import describe_index as describe_index, show_value as show_value
from .interrupts import defer_interrupts as defer_interrupts
from .line_table import read_line_table as read_line_table
from .loader import (
    Library as Library,
    check_handlers as check_handlers,
    count_mappings as count_mappings,
    count_processors as count_processors,
    cpu_features as cpu_features,
    describe_target as describe_target,
    is_taken as is_taken,
    open_memory_file as open_memory_file,
)
from .locks import lock_of as lock_of
from .numpy_ufunc import find_loops as find_loops, make_ufunc as make_ufunc, spell_letters as spell_letters
from .pickling import (
    Origin as Origin,
    adopt as adopt,
    carry as carry,
    choose_secret as choose_secret,
    dumps as dumps,
    find_carried as find_carried,
    find_origin as find_origin,
    load_function as load_function,
    loads as loads,
    realize as realize,
    rebuild as rebuild,
)
from .promotion import is_better as is_better, rank_conversion as rank_conversion
from .records import dtype_of as dtype_of, find_operand_dtypes as find_operand_dtypes
from .registry import (
    UNNAMED as UNNAMED,
    Build as Build,
    LoadedObject as LoadedObject,
    find_function as find_function,
    find_loaded as find_loaded,
    load as load,
    lock_code as lock_code,
    measure_weight as measure_weight,
    publish_module as publish_module,
)
