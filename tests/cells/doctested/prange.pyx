# distutils: extra_compile_args = -fopenmp
# distutils: extra_link_args = -fopenmp
from cython.parallel cimport prange, parallel
cimport cython
import numpy as np
@cython.boundscheck(False)
def psum(double[:] a):
    cdef Py_ssize_t i
    cdef double s = 0
    for i in prange(a.shape[0], nogil=True):
        s += a[i]
    return s
def pcount(int n):
    cdef int i
    cdef long s = 0
    for i in prange(n, nogil=True, schedule="static", num_threads=2):
        s += i
    return s
# >>> psum(np.ones(100)), int(pcount(10))
# (100.0, 45)
