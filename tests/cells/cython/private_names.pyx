# types: f d->d
# expect: f(1.0) == 3 exactly
# expect: (missing('_helper'), missing('_g'), missing('__secret')) == (True, True, True) exactly
# expect: sqrt(9.0) == 3 exactly
# expect: answer == 42 exactly
from math import sqrt

answer = 42


def _helper(x):
    return x


cdef double _g(double x):
    return 2 * x


cdef double f(double x):
    return _g(x) + _helper(1)
