cdef void check(int n) except -1:
    if n < 0:
        raise ValueError(n)
