import cython
from cython.cimports.libc.math import sin, pi
from cython.cimports.libc.stdlib import abs as cabs
@cython.cfunc
def wave(t: cython.double) -> cython.double:
    return sin(2 * pi * t)
def sample(t: cython.double):
    return wave(t)
@cython.nogil
@cython.cfunc
@cython.inline
def fast(x: cython.int) -> cython.int:
    return x + 1
def slow(x: cython.int):
    with cython.nogil:
        y = fast(x)
    return y
point = cython.struct(x=cython.double, y=cython.double)
def norm(x: cython.double, y: cython.double):
    p: point = point(x, y)
    return p.x ** 2 + p.y ** 2
# >>> round(float(sample(0.25)), 9), int(slow(1)), float(norm(3.0, 4.0))
# (1.0, 2, 25.0)
