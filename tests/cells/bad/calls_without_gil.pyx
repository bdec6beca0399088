cdef double length(double x):
    return x + len(str(x))

cdef double f(double x) nogil:
    return length(x)
