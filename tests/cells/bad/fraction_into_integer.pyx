cdef int half(int n):
    cdef int h = n / 2
    return h
