from libcpp.vector cimport vector

cdef int count(int n):
    cdef vector[int] v
    v.push_back(n)
    return v.size()
