cdef double f(double x):
    cdef double y = (x + 1
    return 2*y
