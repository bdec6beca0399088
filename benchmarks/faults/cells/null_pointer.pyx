# fault: null pointer in Cython
# magic: cython_ufunc -q
cdef double f(double x) noexcept nogil:
    cdef double *p = NULL
    return p[0] + x
