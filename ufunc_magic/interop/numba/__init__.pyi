from .from_numba import link_ufunc as link_ufunc, object_code as object_code
from .numba_extension import install as install
from .ufunc_typing import restored_link as restored_link
