cdef double hyp(double x, double y):
    return sqrt(x*x + y*y)
