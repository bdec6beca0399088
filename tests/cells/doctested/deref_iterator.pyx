# distutils: language = c++
from libcpp.vector cimport vector
from cython.operator cimport dereference as deref, preincrement as inc
def iterate(int n):
    cdef vector[int] v
    for i in range(n):
        v.push_back(i)
    cdef vector[int].iterator it = v.begin()
    while deref(it) < n - 1:
        inc(it)
    return deref(it)
# >>> int(iterate(5))
# 4
