from libc.complex cimport cabs, cexp, creal
def mandel(double x, double y, int limit):
    cdef double complex c = x + 1j*y
    cdef double complex z = 0
    cdef int n
    for n in range(limit):
        if z.real*z.real + z.imag*z.imag > 4:
            return n
        z = z*z + c
    return limit
def modulus(double complex z):
    return cabs(z)
def turned(double complex z):
    return z * 1j
def parts(double complex z):
    return z.real, z.imag
# >>> int(mandel(0.0, 0.0, 10)), int(mandel(2.0, 2.0, 10)), float(modulus(3+4j)), complex(turned(1+0j)), parts(1+2j)
# (10, 1, 5.0, 1j, (1.0, 2.0))
