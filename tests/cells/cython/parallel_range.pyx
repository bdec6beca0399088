# types: wave d->d
# given: x = np.linspace(0, 1, 1001)
# expect: total(x) == x.sum() within 1e-12
# expect: apply(x) == wave(x) within 1e-15
# expect: threads_seen() == 2 exactly
# cython: boundscheck=False
import numpy as np
cimport openmp
from cython.parallel cimport parallel, prange
from libc.math cimport sin


cdef double wave(double x) noexcept nogil:
    return sin(x) + 1


def total(double[::1] x):
    cdef double s = 0
    cdef Py_ssize_t i
    for i in prange(x.shape[0], nogil=True, schedule="static", num_threads=2):
        s += x[i]
    return s


def apply(double[::1] x):
    out = np.empty(x.shape[0])
    cdef double[::1] result = out
    cdef Py_ssize_t i
    for i in prange(x.shape[0], nogil=True):
        result[i] = wave(x[i])
    return out


def threads_seen():
    cdef int[1] n  # every thread writes the same
    with nogil, parallel(num_threads=2):
        n[0] = openmp.omp_get_num_threads()
    return n[0]
