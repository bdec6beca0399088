cdef int counter = 0
cdef dict cache = {}
CONSTANT = 7
cdef double RATE = 0.5
DEF_LIST = [1, 2]
def tick(int by):
    global counter
    counter += by
    return counter
def remember(int k, v):
    cache[k] = v
    return len(cache)
def rated(double x):
    return x * RATE
def with_constant(int x):
    return x + CONSTANT
# >>> int(rated(2.0)), int(with_constant(1)), CONSTANT, DEF_LIST, remember(1, 2)
# (1, 8, 7, [1, 2], 1)
