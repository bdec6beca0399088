# types: csum (n)->() l->l
# given: v = np.arange(1000)
# expect: cSum(v) == v.sum() exactly
# expect: csum(v) == v.sum() exactly
# expect: csum(v.reshape(10, 100)) == v.reshape(10, 100).sum(axis=1) exactly
# expect: csum(v[::-3]) == v[::-3].sum() exactly
# expect: raises(ValueError, lambda: cSum(v.astype('f4'))).startswith('Buffer dtype mismatch') == True exactly
# expect: isinstance(cSum, np.ufunc) == False exactly
cimport cython
cimport numpy as np


cpdef cSum(np.ndarray array):
    cdef np.ndarray[np.int64_t, ndim=1] v = array
    cdef np.int64_t total = 0
    cdef Py_ssize_t i
    for i in range(v.shape[0]):
        total += v[i]
    return total


# ufunc: (n)->()
@cython.boundscheck(False)
@cython.wraparound(False)
cdef long csum(long[:] v):
    cdef long total = 0
    cdef Py_ssize_t i
    for i in range(v.shape[0]):
        total += v[i]
    return total
