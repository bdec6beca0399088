# options: cplus=True
# types: sorted_middle ddd->d
# expect: word_counts([b"a", b"b", b"a"]) == {b"a": 2, b"b": 1} exactly
# expect: shout("grüße") == "grüße!" exactly
# expect: distinct([3, 1, 3]) == {1, 3} exactly
# expect: sorted_middle([3.0, 1.0], 2.0, [1.0, 5.0]) == [2, 2] exactly
# expect: Counter().add(2).add(5).total() == 7 exactly
# expect: pairs([3, 1, 2]) == [(1, 0), (2, 1), (3, 2)] exactly
from libcpp.algorithm cimport sort
from libcpp.map cimport map as cmap
from libcpp.pair cimport pair
from libcpp.set cimport set as cset
from libcpp.string cimport string
from libcpp.vector cimport vector
from libcpp.memory cimport unique_ptr, make_unique


def word_counts(words):
    cdef cmap[string, int] counts
    cdef string word
    for word in words:
        counts[word] += 1
    return counts


def shout(str text):
    cdef string s = text.encode("utf-8")
    s.append(b"!")
    return s.decode("utf-8")


def distinct(values):
    cdef cset[int] seen = values
    return seen


cdef double sorted_middle(double a, double b, double c):
    cdef vector[double] v
    v.push_back(a)
    v.push_back(b)
    v.push_back(c)
    sort(v.begin(), v.end())
    return v[1]


def pairs(values):
    cdef vector[int] v = values
    cdef vector[pair[int, int]] found
    cdef size_t i
    sort(v.begin(), v.end())
    for i in range(v.size()):
        found.push_back(pair[int, int](v[i], <int>i))
    return found


cdef class Counter:
    cdef unique_ptr[vector[int]] values

    def __cinit__(self):
        self.values = make_unique[vector[int]]()

    def add(self, int value):
        self.values.get().push_back(value)
        return self

    def total(self):
        cdef int value, total = 0
        for value in self.values.get()[0]:
            total += value
        return total
