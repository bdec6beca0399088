ctypedef double real
ctypedef unsigned long long u64
ctypedef int (*binary)(int, int) noexcept
cdef int plus(int a, int b) noexcept:
    return a + b
cdef int apply(binary f, int a, int b) noexcept:
    return f(a, b)
def added(int a, int b):
    return apply(plus, a, b)
def halved(real x):
    return x / 2
def shifted(u64 x):
    return x << 1
ctypedef fused number:
    int
    double
cpdef number same(number x):
    return x
# >>> int(added(1, 2)), float(halved(3.0)), int(shifted(4)), same(2), float(same(2.5))
# (3, 1.5, 8, 2, 2.5)
