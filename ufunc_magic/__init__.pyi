import IPython.core.interactiveshell

import ufunc_magic.store

from . import interop as interop
from .api import (
    c_ufunc as c_ufunc,
    compile_c as compile_c,
    compile_cuda as compile_cuda,
    compile_cython as compile_cython,
    doctor as doctor,
    dtype_of as dtype_of,
    dumps as dumps,
    from_numba as from_numba,
    loads as loads,
    save_module as save_module,
    verify as verify,
    wrap_header as wrap_header,
)
from .bench import Verdict as Verdict, compare as compare
from .interop.hosts import address as address, get_include as get_include, write_header as write_header
from .model import (
    ArgumentError as ArgumentError,
    CacheError as CacheError,
    CellAssertionError as CellAssertionError,
    CellCrashed as CellCrashed,
    CellExited as CellExited,
    CellIndexError as CellIndexError,
    ComparisonError as ComparisonError,
    CompileError as CompileError,
    Diagnostic as Diagnostic,
    LinkError as LinkError,
    OptionError as OptionError,
    ParseError as ParseError,
    SaveError as SaveError,
    SignatureError as SignatureError,
    TargetError as TargetError,
    ToolchainError as ToolchainError,
    UfuncMagicError as UfuncMagicError,
)

__version__: str
cache: ufunc_magic.store.Cache

def load_ipython_extension(shell: IPython.core.interactiveshell.InteractiveShell) -> None: ...
def unload_ipython_extension(shell: IPython.core.interactiveshell.InteractiveShell) -> None: ...
