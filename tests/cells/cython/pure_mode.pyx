# types: logistic d->d, collatz l->l, clip ddd->d
# expect: logistic(np.array([0.0, 1.0])) == [0.5, 1/(1+np.exp(-1.0))] within 1e-15
# expect: collatz(np.array([1, 6, 27])) == [0, 8, 111] exactly
# expect: clip(np.array([-1.0, 0.5, 2.0]), 0.0, 1.0) == [0, 0.5, 1] exactly
# expect: mean(np.array([1.0, 2.0, 6.0])) == 3.0 exactly
import cython
from cython.cimports.libc.math import exp


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def logistic(x: cython.double) -> cython.double:
    return 1.0 / (1.0 + exp(-x))


@cython.ccall
def collatz(n: cython.long) -> cython.long:
    steps: cython.long = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@cython.cfunc
@cython.returns(cython.double)
@cython.locals(x=cython.double, low=cython.double, high=cython.double)
def clip(x, low, high):
    return low if x < low else high if x > high else x


def mean(values):
    total = cython.declare(cython.double, 0)
    for value in values:
        total += value
    return total / len(values)
