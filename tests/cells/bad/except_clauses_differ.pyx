ctypedef double (*func)(double) noexcept

cdef double square(double x):
    return x*x

cdef double apply(func f, double x):
    return f(x)

def run(double x):
    return apply(square, x)
