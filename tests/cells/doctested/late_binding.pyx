def uses_later(double x):
    return later(x) + 1
cdef double later(double x):
    return x * 10
def decorated_by(f):
    def inner(*a):
        return f(*a) * 2
    return inner
@decorated_by
def doubled(int x):
    return x + 1
def redefined(int x):
    return 1
def redefined(int x, int y):
    return 2
if CONDITION := True:
    def conditional(int x):
        return x + 5
try:
    import nothing_of_that_name
except ImportError:
    def fallback(int x):
        return x - 5
# >>> float(uses_later(1.0)), doubled(1), int(redefined(1, 2)), int(conditional(1)), int(fallback(1))
# (11.0, 4, 2, 6, -4)
