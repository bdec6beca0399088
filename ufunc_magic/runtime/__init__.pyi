from .bound_function import BoundFunction as BoundFunction
from .c_library import flush_stdio as flush_stdio
from .cell_names import current_place as current_place, set_place as set_place
from .cffi_function import PlainFunction as PlainFunction
from .class_files import share_classes as share_classes
from .def_function import DefFunction as DefFunction, ufunc_of as ufunc_of
from .exception_codec import make_exception as make_exception
from .loader import (
    Library as Library,
    check_handlers as check_handlers,
    count_processors as count_processors,
    cpu_features as cpu_features,
    here as here,
    is_taken as is_taken,
    mappings as mappings,
    memory_file as memory_file,
)
from .locks import lock_of as lock_of
from .numpy_ufunc import letters as letters, loops_of as loops_of, make_ufunc as make_ufunc
from .pickling import (
    Origin as Origin,
    adopt as adopt,
    carried as carried,
    carry as carry,
    dumps as dumps,
    function_of as function_of,
    loads as loads,
    origin_of as origin_of,
    realize as realize,
    rebuild as rebuild,
    secret as secret,
)
from .promotion import is_better as is_better, rank_conversion as rank_conversion
from .records import dtype_of as dtype_of, operand_dtypes as operand_dtypes
from .registry import (
    UNNAMED as UNNAMED,
    Build as Build,
    LoadedObject as LoadedObject,
    load as load,
    loaded as loaded,
    lock_code as lock_code,
    publish_module as publish_module,
    weight as weight,
)
