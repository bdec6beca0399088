cdef double clip(double x):
    if x > 1:
        cdef double y = 1
        return y
    return x
