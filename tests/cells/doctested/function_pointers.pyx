from libc.math cimport sin, cos, exp
ctypedef double (*unary)(double) noexcept nogil
cdef unary chosen(int which) noexcept nogil:
    return sin if which == 0 else cos
cdef double derivative(unary f, double x) noexcept nogil:
    return (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
def slope(int which, double x):
    return derivative(chosen(which), x)
cdef double run(double (*f)(double) noexcept nogil, double x):
    return f(x)
def exponential(double x):
    return run(exp, x)
# >>> round(float(slope(0, 0.0)), 4), float(exponential(0.0))
# (1.0, 1.0)
