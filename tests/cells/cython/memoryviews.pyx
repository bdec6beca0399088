# types: smooth_weight d->d
# given: grid = np.zeros((5, 5)); grid[2, 2] = 16.0; step(grid)
# expect: grid[2] == [0, 4, 0, 4, 0] exactly
# expect: grid[1, 2] == 4 exactly
# expect: transposed(np.arange(6.0).reshape(2, 3)) == np.arange(6.0).reshape(2, 3).T exactly
# expect: np.asarray(zeros(3)) == [0, 0, 0] exactly
# expect: count_above(np.arange(10, dtype='f'), 6.5) == 3 exactly
# expect: count_above(np.arange(10, dtype='d'), 6.5) == 3 exactly
# expect: raises(ValueError, lambda: step(np.zeros(3))) == 'Buffer has wrong number of dimensions (expected 2, got 1)' exactly
# cython: boundscheck=False, wraparound=False
import numpy as np
cimport cython
from cython.view cimport array as cvarray

ctypedef fused real:
    float
    double


cdef double smooth_weight(double x):
    return x / 4


def step(double[:, ::1] u):
    """One step of the heat equation, in place."""
    cdef Py_ssize_t i, j
    cdef double[:, ::1] old = u.copy()
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            u[i, j] = smooth_weight(old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1])


def transposed(double[:, :] x):
    return np.asarray(x.T)


def zeros(int n):
    cdef double[:] view = cvarray(shape=(n,), itemsize=sizeof(double), format="d")
    view[:] = 0
    return view


def count_above(real[:] values, double threshold):
    cdef Py_ssize_t i, n = 0
    for i in range(values.shape[0]):
        n += values[i] > threshold
    return n
