cimport cython
import numpy as np
@cython.boundscheck(False)
@cython.wraparound(False)
def compute(double[:, ::1] a, double[:, ::1] b, double alpha=1.0):
    cdef Py_ssize_t i, j
    result = np.zeros((a.shape[0], a.shape[1]))
    cdef double[:, ::1] view = result
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            view[i, j] = alpha * a[i, j] + b[i, j]
    return result
def inplace(double[:] a, double by):
    cdef Py_ssize_t i
    for i in range(a.shape[0]):
        a[i] *= by
cdef double _sum(double[:] v) noexcept nogil:
    cdef double s = 0
    cdef Py_ssize_t i
    for i in range(v.shape[0]):
        s += v[i]
    return s
def row_sums(double[:, :] a):
    return [_sum(a[i]) for i in range(a.shape[0])]
def optional(int[:] a=None):
    return 0 if a is None else a.shape[0]
# >>> compute(np.ones((2, 2)), np.ones((2, 2))).tolist()
# [[2.0, 2.0], [2.0, 2.0]]
# >>> x = np.arange(3.0); inplace(x, 2.0); x.tolist()
# [0.0, 2.0, 4.0]
# >>> row_sums(np.eye(2)), optional(), optional(np.zeros(3, "i4"))
# ([1.0, 1.0], 0, 3)
