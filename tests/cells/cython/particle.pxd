cdef enum Spin:
    UP
    DOWN

cdef inline double half(double x) noexcept nogil:
    return 0.5 * x
