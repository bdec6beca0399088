cdef double f(double x):
    double y = x*x
    return y
