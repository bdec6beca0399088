cdef double square(double x):
    return x*x

cdef double area(double radius):
    return 3.14159 * sqaure(raduis)
