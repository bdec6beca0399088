def adder(int n):
    def add(int x):
        return x + n
    return add
def counter(double start):
    cdef double value = start
    def step(double by):
        nonlocal value
        value += by
        return value
    return step
def with_inner(double x):
    def inner(double y):
        return y * x
    return inner(3)
def with_lambda(int x):
    f = lambda y: y + x
    return f(2)
# >>> adder(2)(3)
# 5
# >>> c = counter(1.0); _ = c(1); c(2)
# 4.0
# >>> float(with_inner(2.0)), int(with_lambda(1))
# (6.0, 3)
