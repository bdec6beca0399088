cimport cython
import numpy as np
ctypedef fused number:
    int
    float
    double
def total(number[:] a):
    cdef number s = 0
    for i in range(a.shape[0]):
        s += a[i]
    return s
cpdef double mean(number[:, ::1] a):
    cdef double s = 0
    cdef Py_ssize_t i, j
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j]
    return s / (a.shape[0] * a.shape[1])
# >>> total(np.arange(4.0)), total(np.arange(4, dtype="i4"))
# (6.0, 6)
# >>> float(mean(np.ones((2, 3)))), float(mean(np.ones((2, 3), "f4")))
# (1.0, 1.0)
