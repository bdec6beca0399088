cdef double f(double x) noexcept nogil:
    cdef list values = [x]
    return values[0]
