"""Object code to ufuncs and back to bytes: all that a worker needs; it reaches no compiler.

In goes ObjectCode, or its bytes; out come NumPy ufuncs and functions, as a `Build`. ``registry`` opens object code
once (`load`, `loaded`), with ``loader`` for libraries and modules; ``numpy_ufunc``, ``promotion`` (no number is
narrowed silently), ``def_function`` (a def that stays one), ``records`` (structures) and ``cffi_function`` are for the
functions; ``pickling`` is pickles, `dumps` and `loads`; ``cell_names`` is what
messages of running code call their cells; ``exception_codec`` and
``c_library`` are for code that runs. A ufunc carries its `UfuncLoops` (`loops_of`), which keep the `LoadedObject`;
`origin_of` says where any function of ours comes from.  ``locks`` has what keeps threads from doing a thing twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

if TYPE_CHECKING:
    from .c_library import flush_stdio as flush_stdio
    from .cell_names import current_place as current_place, set_place as set_place
    from .cffi_function import PlainFunction as PlainFunction
    from .def_function import DefFunction as DefFunction, ufunc_of as ufunc_of
    from .exception_codec import exception as exception
    from .loader import (
        Library as Library,
        check_handlers as check_handlers,
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
    from .records import dtype_of as dtype_of, operand_dtypes as operand_dtypes
    from .registry import (
        Build as Build,
        LoadedObject as LoadedObject,
        load as load,
        loaded as loaded,
        opening as opening,
        sandbox_with as sandbox_with,
        weight as weight,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "c_library": "flush_stdio",
            "cell_names": "current_place set_place",
            "cffi_function": "PlainFunction",
            "def_function": "DefFunction ufunc_of",
            "exception_codec": "exception",
            "loader": "Library check_handlers cpu_features here is_taken mappings memory_file",
            "locks": "lock_of",
            "numpy_ufunc": "letters loops_of make_ufunc",
            "pickling": "Origin adopt carried carry dumps function_of loads origin_of realize rebuild secret",
            "records": "dtype_of operand_dtypes",
            "registry": "Build LoadedObject load loaded opening sandbox_with weight",
        },
    )
