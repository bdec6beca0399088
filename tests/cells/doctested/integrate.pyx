cdef double f(double x) except? -2:
    return x ** 2 - x
def integrate_f(double a, double b, int N):
    cdef int i
    cdef double s, dx
    s = 0
    dx = (b - a) / N
    for i in range(N):
        s += f(a + i * dx)
    return s * dx
# >>> round(float(integrate_f(0.0, 1.0, 100)), 4)
# -0.1666
