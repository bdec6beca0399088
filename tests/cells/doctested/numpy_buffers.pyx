cimport numpy as cnp
import numpy as np
cnp.import_array()
def add_one(cnp.ndarray[cnp.float64_t, ndim=1] a):
    cdef Py_ssize_t i
    out = np.empty_like(a)
    cdef cnp.ndarray[cnp.float64_t, ndim=1] o = out
    for i in range(a.shape[0]):
        o[i] = a[i] + 1
    return out
def dtype_of(cnp.ndarray a):
    return a.dtype.name
cpdef cnp.int64_t shifted(cnp.int64_t x, cnp.uint8_t by):
    return x << by
def f32(cnp.float32_t x):
    return x * x
# >>> add_one(np.arange(3.0)).tolist(), dtype_of(np.zeros(1, "i2"))
# ([1.0, 2.0, 3.0], 'int16')
# >>> int(shifted(3, 2)), float(f32(1.5))
# (12, 2.25)
