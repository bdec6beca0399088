cdef double f(int n):
    cdef double work[n]
    work[0] = 1
    return work[0]
