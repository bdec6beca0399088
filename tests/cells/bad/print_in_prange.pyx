from cython.parallel import prange

def show(double[:] a):
    cdef int i
    for i in prange(a.shape[0], nogil=True):
        print(a[i])
