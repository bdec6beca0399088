# types: shifted l->l
# expect: shifted([1, 2]) == [11, 12] exactly
# expect: ones(3) == [1, 1, 1] exactly
# expect: describe(np.zeros((2, 3), 'f')) == (2, (2, 3), True) exactly
# expect: squares(np.arange(4.0)) == [0, 1, 4, 9] exactly
# expect: scalar_kind(np.float32(3)) == True exactly
import numpy as np
cimport numpy as cnp

cnp.import_array()

OFFSET = 10


cdef cnp.int64_t shifted(cnp.int64_t x):
    return x + OFFSET


def ones(cnp.npy_intp n):
    cdef cnp.ndarray made = cnp.PyArray_SimpleNew(1, &n, cnp.NPY_DOUBLE)
    cnp.PyArray_FILLWBYTE(made, 0)
    made += 1
    return made


def describe(cnp.ndarray a not None):
    return a.ndim, (a.shape[0], a.shape[1]), cnp.PyArray_ISFLOAT(a)


def squares(cnp.ndarray[cnp.float64_t, ndim=1] a):
    cdef cnp.ndarray[cnp.float64_t, ndim=1] out = np.empty(a.shape[0])
    cdef Py_ssize_t i
    for i in range(a.shape[0]):
        out[i] = a[i] * a[i]
    return out


def scalar_kind(x):
    return cnp.PyArray_CheckScalar(x)
