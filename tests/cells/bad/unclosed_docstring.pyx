cdef double f(double x):
    """Twice x.
    return 2*x
