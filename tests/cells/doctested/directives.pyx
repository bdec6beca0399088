# cython: boundscheck=False, wraparound=False, cdivision=True, language_level=3
# cython: infer_types=True
cimport cython
def ratio(int a, int b):
    return a // b
@cython.cdivision(False)
def floored(int a, int b):
    return a // b
@cython.cpow(True)
def raised(int a, int b):
    return a ** b
@cython.overflowcheck(True)
def product(int a, int b):
    return a * b
def inferred(double x):
    y = x * 2
    z = y
    for i in range(3):
        z += i
    return z
# >>> int(ratio(-7, 2)), int(floored(-7, 2)), int(raised(2, 3)), float(inferred(1.0))
# (-3, -4, 8, 5.0)
# >>> product(2**30, 4)
# Traceback (most recent call last):
# OverflowError: value too large
