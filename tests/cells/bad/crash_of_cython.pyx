cdef class A(A):
    pass
