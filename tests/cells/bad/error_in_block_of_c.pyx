from libc.math cimport sqrt

cdef extern from *:
    """
    static double scaled(double x) {
        return x * factor;
    }
    """
    double scaled(double) nogil

cdef double f(double x):
    return scaled(sqrt(x))
