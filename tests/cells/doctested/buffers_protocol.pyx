from cpython cimport array
import array
cdef class Matrix:
    cdef Py_ssize_t[1] shape, strides
    cdef double[3] data
    def __cinit__(self):
        self.data = [1.0, 2.0, 3.0]
    def __getbuffer__(self, Py_buffer *b, int flags):
        self.shape[0], self.strides[0] = 3, sizeof(double)
        b.buf = <char *> self.data
        b.format = "d"
        b.internal = NULL
        b.itemsize = sizeof(double)
        b.len = 3 * sizeof(double)
        b.ndim = 1
        b.obj = self
        b.readonly = 0
        b.shape, b.strides, b.suboffsets = self.shape, self.strides, NULL
    def __releasebuffer__(self, Py_buffer *b):
        pass
def array_sum(array.array a):
    cdef int i, s = 0
    for i in range(len(a)):
        s += a.data.as_ints[i]
    return s
# >>> list(memoryview(Matrix())), array_sum(array.array("i", [1, 2]))
# ([1.0, 2.0, 3.0], 3)
