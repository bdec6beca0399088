# fault: index without bounds check in Cython
# magic: cython_ufunc -q
cimport cython
# ufunc: (n)->()
@cython.boundscheck(False)
cdef double f(double[:] a):
    return a[a.shape[0] + 100000]
