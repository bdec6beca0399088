# distutils: language = c++
cdef extern from *:
    """
    struct Circle { double r; Circle(double r) : r(r) {} };
    """
    cppclass Circle:
        Circle() except +
        double radius

cdef double f(double x):
    cdef Circle c
    return c.radius
