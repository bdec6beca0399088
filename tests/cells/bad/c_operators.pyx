cdef int inside(double x, double y):
    return x > 0 && y > 0
