# types: wanted d->d
# expect: shown() == 1 exactly
# expect: _named() == 2 exactly
# expect: missing('unwanted') == True exactly
__all__ = ["wanted", "shown", "_named"]


cpdef double wanted(double x):
    return x + 1


def shown():
    return 1


def _named():
    return 2


def unwanted():
    return 3
