# options: include=["."]
# types: area dd->d, clamp d->d
# expect: area(2.0, 3.0) == 6.0 exactly
# expect: clamp([-1.0, 0.5, 7.0]) == [0, 0.5, 1] exactly
# expect: SIDES == 4 exactly
cdef extern from "shape.h":
    ctypedef struct shape:
        double width
        double height
    double shape_area(const shape *s) nogil
    int SHAPE_SIDES

cdef extern from *:
    """
    static double clamp01(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
    #define CLAMP(x) clamp01(x)
    """
    double CLAMP(double x) nogil

SIDES = SHAPE_SIDES


cdef double area(double width, double height) noexcept nogil:
    cdef shape s
    s.width, s.height = width, height
    return shape_area(&s)


cdef double clamp(double x) noexcept nogil:
    return CLAMP(x)
