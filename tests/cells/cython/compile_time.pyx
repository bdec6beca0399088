# types: circle d->d, f d->d
# expect: circle(1.0) == 3.14159 exactly
# expect: f(1.0) == 101 exactly
cimport cython

DEF PI = 3.14159


cdef double circle(double r):
    return PI * r * r


cdef extern from *:
    """
    #define BIG 100
    """
    const int BIG


@cython.cdivision(True)
cdef double f(double x):
    return x + BIG
