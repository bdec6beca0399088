cimport cython
@cython.ufunc
cdef double add_one(double x):
    return x + 1
@cython.ufunc
cdef (cython.numeric, cython.numeric) two(cython.numeric x, cython.numeric y):
    return x + y, x - y
import numpy as np
# >>> add_one(np.arange(3.0)).tolist(), float(add_one(2.0))
# ([1.0, 2.0, 3.0], 3.0)
# >>> [float(v) for v in two(3.0, 1.0)]
# [4.0, 2.0]
