from libc.math cimport exp

cdef double f(double x):
    return exp(x) + y

cdef int g(double x):
    cdef int n = x
    return n

cdef duoble h(double x):
    return x
