from mylib.fast cimport quick

cdef double f(double x):
    return quick(x)
