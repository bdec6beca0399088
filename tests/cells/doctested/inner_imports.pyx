from libc.math cimport floor
def with_import(double x):
    import math
    return math.floor(x)
def with_cimport(double x):
    return floor(x)
from math import pi as PI, sqrt as psqrt
def area(double r):
    return PI * r * r
def diag(double r):
    return psqrt(2) * r
# >>> with_import(2.5), float(with_cimport(2.5)), round(float(area(1.0)), 5), round(float(diag(1.0)), 5)
# (2, 2.0, 3.14159, 1.41421)
