import numpy as np
def transposed(double[:, :] a):
    return np.asarray(a.T).copy()
def copied(double[:, :] a):
    cdef double[:, ::1] c = a.copy()
    c[0, 0] = 9
    return np.asarray(c)
def reversed_(int[:] a):
    return list(a[::-1])
def setall(double[:] a, double x):
    a[:] = x
    return np.asarray(a)
def indexed(double[:] a, int i):
    return a[i]
# >>> transposed(np.arange(4.0).reshape(2, 2)).tolist()
# [[0.0, 2.0], [1.0, 3.0]]
# >>> copied(np.zeros((1, 2))).tolist(), reversed_(np.arange(3, dtype="i4"))
# ([[9.0, 0.0]], [2, 1, 0])
# >>> setall(np.zeros(2), 3.0).tolist()
# [3.0, 3.0]
# >>> indexed(np.arange(3.0), -1)
# 2.0
# >>> indexed(np.arange(3.0), 5)
# Traceback (most recent call last):
# IndexError: Out of bounds on buffer access (axis 0)
