# types: matmul (m,k),(k,n)->(m,n) dd->d, norm (n)->() f->f d->d, convolve (n),(m)->(n) dd->d, extent (n)->(),() d->dd, scale (n),()->(n) dd->d
# given: a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
# expect: matmul(a, b) == a @ b within 1e-14
# expect: matmul(np.stack([a, 2*a]), b) == np.stack([a @ b, 2*a @ b]) within 1e-14
# expect: matmul(a[:, ::-1], b[::-1]) == a @ b within 1e-14
# expect: norm([3.0, 4.0]) == 5.0 exactly
# expect: norm(np.array([3, 4], 'f')).dtype.char == 'f' exactly
# expect: convolve([1.0, 0.0, 0.0, 2.0], [1.0, 0.5]) == [1, 0.5, 0, 2] exactly
# expect: extent([3.0, -1.0, 2.0]) == (-1, 3) exactly
# expect: scale(a, [10.0, 100.0]) == a * [[10], [100]] exactly
cimport cython
from libc.math cimport sqrt


# ufunc: (m,k),(k,n)->(m,n)
@cython.boundscheck(False)
cdef void matmul(double[:, :] a, double[:, :] b, double[:, :] out) noexcept nogil:
    cdef Py_ssize_t i, j, k
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            out[i, j] = 0
            for k in range(a.shape[1]):
                out[i, j] += a[i, k] * b[k, j]


# ufunc: (n)->()
cdef cython.floating norm(cython.floating[::1] v) noexcept nogil:
    cdef cython.floating total = 0
    cdef Py_ssize_t i
    for i in range(v.shape[0]):
        total += v[i] * v[i]
    return sqrt(total)


# ufunc: (n),(m)->(n)
cdef void convolve(const double[:] x, const double[:] kernel, double[:] out):
    cdef Py_ssize_t i, j
    for i in range(x.shape[0]):
        out[i] = 0
        for j in range(min(i + 1, kernel.shape[0])):
            out[i] += x[i - j] * kernel[j]


# ufunc: (n)->(),()
cdef (double, double) extent(double[:] x):
    cdef double low = x[0], high = x[0], value
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        value = x[i]
        low = min(low, value)
        high = max(high, value)
    return low, high


# ufunc: (n),()->(n)
cdef void scale(double[::1] x, double factor, double[::1] out) noexcept:
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        out[i] = factor * x[i]
