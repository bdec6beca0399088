cimport numpy as np

cdef np.ndarray[double, ndim=1] table
