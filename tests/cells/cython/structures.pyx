# types: distance dddd->d, applied di->d, median3 ddd->d
# expect: distance(0.0, 0.0, 3.0, 4.0) == 5 exactly
# expect: applied(2.0, [0, 1]) == [4, 8] exactly
# expect: median3(3.0, 1.0, 2.0) == 2 exactly
# expect: centre([(0.0, 2.0), (2.0, 4.0)]) == {'x': 1.0, 'y': 3.0} exactly
# expect: (Colour.RED, Colour(1).name, AMBER) == (0, 'GREEN', 7) exactly
from libc.math cimport sqrt
from libc.stdlib cimport free, malloc, qsort

cdef struct point:
    double x
    double y

cpdef enum Colour:
    RED
    GREEN

cdef enum:
    LIGHT = 7

AMBER = LIGHT

ctypedef double (*unary)(double) noexcept nogil


cdef double _square(double x) noexcept nogil:
    return x * x


cdef double _cube(double x) noexcept nogil:
    return x * x * x


cdef double distance(double ax, double ay, double bx, double by) noexcept nogil:
    cdef point d = point(bx - ax, by - ay)
    return sqrt(d.x * d.x + d.y * d.y)


cdef double applied(double x, int which) noexcept nogil:
    cdef unary[2] functions
    functions[0] = _square
    functions[1] = _cube
    return functions[which](x)


cdef int compare(const void *a, const void *b) noexcept nogil:
    cdef double x = (<double *>a)[0], y = (<double *>b)[0]
    return (x > y) - (x < y)


cdef double median3(double a, double b, double c) except? -1:
    cdef double *values = <double *>malloc(3 * sizeof(double))
    if values == NULL:
        raise MemoryError
    try:
        values[0], values[1], values[2] = a, b, c
        qsort(values, 3, sizeof(double), compare)
        return values[1]
    finally:
        free(values)


def centre(points):
    cdef point c = point(0, 0)
    for x, y in points:
        c.x += x / len(points)
        c.y += y / len(points)
    return c
