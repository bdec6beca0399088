# types: kinetic dd->d, spin i->i
# expect: kinetic(2.0, 3.0) == 9.0 exactly
# expect: spin([0, 1]) == [1, 0] exactly
# expect: doubled(4) == 8 exactly
from particle cimport half, Spin, UP, DOWN

include "doubled.pxi"


cdef double kinetic(double m, double v) noexcept nogil:
    return half(m * v * v)


cdef Spin turned(Spin s) noexcept nogil:
    return DOWN if s == UP else UP


cdef int spin(int s) noexcept nogil:
    return turned(<Spin>s)
