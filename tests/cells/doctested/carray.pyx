def stats(list xs):
    cdef double[8] buf
    cdef int i, n = min(len(xs), 8)
    for i in range(n):
        buf[i] = xs[i]
    return sum([buf[i] for i in range(n)])
cdef int[4] table = [1, 2, 4, 8]
def looked(int i):
    return table[i]
cdef double[2][2] m = [[1, 2], [3, 4]]
def matrix(int i, int j):
    return m[i][j]
cdef double[3] weights
weights[:] = [0.25, 0.5, 0.25]
def weight(int i):
    return weights[i]
# >>> stats([1.0, 2.0]), int(looked(2)), float(matrix(1, 0)), float(weight(1))
# (3.0, 4, 3.0, 0.5)
