from .from_numba import compile_object_code as compile_object_code, link_ufunc as link_ufunc
from .numba_extension import install as install
from .ufunc_typing import restore_link as restore_link
