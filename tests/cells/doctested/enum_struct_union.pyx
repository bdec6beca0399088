cdef enum Color:
    RED, GREEN = 5, BLUE
cpdef enum Level:
    LOW = 1
    HIGH = 10
cdef struct Point:
    double x
    double y
cdef union Bits:
    float f
    unsigned int i
ctypedef struct Pair:
    int a, b
cdef double norm2(Point p) noexcept:
    return p.x*p.x + p.y*p.y
def distance(double x, double y):
    cdef Point p
    p.x, p.y = x, y
    return norm2(p)
def bits(float x):
    cdef Bits b
    b.f = x
    return b.i
def as_dict(int a, int b):
    cdef Pair p = Pair(a, b)
    return p
cpdef Point make(double x):
    return Point(x=x, y=2*x)
def blue(int n):
    return n + BLUE
cpdef int levelled(Level l):
    return l
# >>> float(distance(3.0, 4.0)), int(bits(1.0)), as_dict(1, 2), make(1.0)
# (25.0, 1065353216, {'a': 1, 'b': 2}, {'x': 1.0, 'y': 2.0})
# >>> int(blue(1)), Level.LOW == 1, Level.HIGH == 10, int(levelled(Level.HIGH))
# (7, True, True, 10)
