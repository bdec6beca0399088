cdef double first(double[:] a):
    cdef double *p = a
    return p[0]
