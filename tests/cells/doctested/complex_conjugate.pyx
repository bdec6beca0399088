def conj(double complex z):
    return z.conjugate()
def modulus(double complex z):
    return z.real*z.real + z.imag*z.imag
def fabs_(float complex z):
    return z * 2
# >>> complex(conj(1 + 2j))
# (1-2j)
# >>> float(modulus(3 + 4j))
# 25.0
# >>> complex(fabs_(1 + 2j))
# (2+4j)
