# distutils: language = c++
from libcpp.vector cimport vector
from libcpp.map cimport map as cmap
from libcpp.unordered_map cimport unordered_map
from libcpp.string cimport string
from libcpp.set cimport set as cset
from libcpp.pair cimport pair
from libcpp.utility cimport move
from libcpp.algorithm cimport sort
from libcpp cimport bool as cbool
from libcpp.memory cimport unique_ptr, shared_ptr, make_shared
def sorted_(list xs):
    cdef vector[int] v = xs
    sort(v.begin(), v.end())
    return v
def counts(list words):
    cdef unordered_map[string, int] m
    for w in words:
        m[w] += 1
    return dict(m)
def distinct(int n):
    cdef cset[int] s
    for i in range(n):
        s.insert(i % 3)
    return s.size()
def get(int k):
    cdef cmap[int, double] m
    m[1] = 1.5
    m[2] = 2.5
    return m[k]
def paired(int a, double b):
    cdef pair[int, double] p = pair[int, double](a, b)
    return p.second
def shared(int n):
    cdef shared_ptr[int] p = make_shared[int](n)
    from cython.operator cimport dereference
    return dereference(p)
def yes(cbool b):
    return b
# >>> sorted_([3, 1, 2]), counts([b"a", b"b", b"a"]) == {b"a": 2, b"b": 1}
# ([1, 2, 3], True)
# >>> int(distinct(10)), float(get(2)), float(paired(1, 2.5)), int(shared(4)), bool(yes(True))
# (3, 2.5, 2.5, 4, True)
