cdef extern from *:
    double erfcinv(double) nogil

cdef double f(double x):
    return erfcinv(x)
