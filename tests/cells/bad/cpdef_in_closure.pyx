def outer(double a):
    cpdef double inner(double x):
        return a*x
    return inner
