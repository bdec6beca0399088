cdef double f(double x, double y=2, double z=3):
    return x + y + z
cpdef int g(int x, int y=5) except? -1:
    return x * y
def use(double x):
    return f(x) + f(x, 1) + f(x, 1, 1)
# >>> float(use(1.0)), g(2), g(2, 3), g(2, y=4)
# (14.0, 10, 6, 8)
