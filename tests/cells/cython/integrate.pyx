# types: f d->d, integrate_f ddl->d
# expect: f(3.0) == 6.0 exactly
# expect: integrate_f(0.0, 2.0, 100_000) == 2/3 within 1e-4
# expect: integrate_f(np.array([0.0, 1.0]), 2.0, 1000).shape == (2,) exactly
# expect: np.isscalar(integrate_f(0.0, 2.0, 10)) == True exactly
cdef double f(double x) except? -2:
    return x ** 2 - x


def integrate_f(double a, double b, long N):
    """The area below f from a to b."""
    cdef long i
    cdef double s = 0
    cdef double dx = (b - a) / N
    for i in range(N):
        s += f(a + i * dx)
    return s * dx
