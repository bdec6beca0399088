cdef (int, double) pair(int a):
    return a, a / 2.0
cpdef (double, double) polar(double x, double y):
    return (x*x + y*y) ** 0.5, x
def both(int a):
    cdef (int, double) p = pair(a)
    return p
def first(int a):
    x, y = pair(a)
    return x
def swap(double a, double b):
    return b, a
# >>> both(3), int(first(4)), swap(1.0, 2.0)
# ((3, 1.5), 4, (2.0, 1.0))
