cimport cython
import weakref
@cython.freelist(8)
@cython.final
cdef class Light:
    cdef object __weakref__
    cdef dict __dict__
    cdef int n
    def __cinit__(self, int n):
        self.n = n
@cython.total_ordering
cdef class Ordered:
    cdef int n
    def __init__(self, int n):
        self.n = n
    def __eq__(self, Ordered o):
        return self.n == o.n
    def __lt__(self, Ordered o):
        return self.n < o.n
@cython.auto_pickle(True)
cdef class Kept:
    cdef int n
    def __init__(self, int n):
        self.n = n
    def get(self):
        return self.n
# >>> l = Light(3); l.x = 1; weakref.ref(l)() is l, Ordered(1) <= Ordered(2), Kept(4).get()
# (True, True, 4)
