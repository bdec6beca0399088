cimport cython
ctypedef fused real:
    float
    double
    long
cdef real twice(real x) noexcept nogil:
    return 2 * x
cpdef real cube(real x):
    return x * x * x
def dispatch(cython.floating x):
    return x + 1
def call(double x, int n):
    return twice(x) + twice[float](n)
# >>> float(cube(2.0)), int(cube(3)), float(dispatch(1.5)), float(call(1.5, 2))
# (8.0, 27, 2.5, 7.0)
