cimport cython

@cython.boundcheck(False)
cdef double first(double[:] a):
    return a[0]
