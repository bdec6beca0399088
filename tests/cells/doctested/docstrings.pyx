def documented(double x):
    """Twice x.

    >>> documented(2)
    """
    return 2*x
cpdef int also(int n):
    "One more."
    return n + 1
# >>> "Twice x." in documented.__doc__, float(documented(2.0)), int(also(1))
# (True, 4.0, 2)
