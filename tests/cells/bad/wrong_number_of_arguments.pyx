cdef double power(double x, double y):
    return x ** y

cdef double f(double x):
    return power(x)
