cdef double twice(double x)
    cdef double y = 2*x
    return y
