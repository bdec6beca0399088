from libc.math cimport sqrt, ecp

cdef double f(double x):
    return sqrt(ecp(x))
