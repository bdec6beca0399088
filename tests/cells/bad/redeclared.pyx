cdef double f(double x, double x):
    return x
