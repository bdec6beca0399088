import cython
import numpy as np
@cython.boundscheck(False)
def scaled(a: cython.double[:], by: cython.double):
    i: cython.Py_ssize_t
    for i in range(a.shape[0]):
        a[i] *= by
    return np.asarray(a)
@cython.cfunc
@cython.exceptval(-1, check=True)
def helper(n: cython.int) -> cython.int:
    if n < 0:
        raise ValueError("n")
    return n
@cython.cclass
class Box:
    side: cython.double
    def __init__(self, side: cython.double):
        self.side = side
    @cython.ccall
    def area(self) -> cython.double:
        return self.side ** 2
def use(n: cython.int):
    return helper(n)
# >>> scaled(np.ones(2), 3.0).tolist(), Box(2.0).area(), int(use(2))
# ([3.0, 3.0], 4.0, 2)
# >>> use(-2)
# Traceback (most recent call last):
# ValueError: n
