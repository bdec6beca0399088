# distutils: language = c++
from libcpp.vector cimport vector
def last(int n):
    cdef vector[int] v
    cdef int i
    for i in range(n + 1):
        v.push_back(i * i)
    return v.back()
def at(int n):
    cdef vector[double] v
    v.push_back(1.5)
    v.push_back(n)
    return v[1]
def through(int n):
    cdef vector[long] v = vector[long](3, n)
    it = v.begin()
    from cython.operator cimport dereference as d, preincrement as inc
    inc(it)
    return d(it)
# >>> int(last(3)), float(at(7)), int(through(5))
# (9, 7.0, 5)
