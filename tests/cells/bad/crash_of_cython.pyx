cdef double (double x):
    return x
