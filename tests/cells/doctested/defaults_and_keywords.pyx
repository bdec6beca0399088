def power(double x, int n=2, *, double offset=0.0):
    return x**n + offset
cpdef double line(double x, double a=1, double b=0):
    return a*x + b
def many(*args, **kwargs):
    return len(args), sorted(kwargs)
def mixed(double x):
    return x if x > 0 else 0
def nothing(int x):
    pass
def early(int x):
    if x > 0:
        return x
# >>> power(3.0), power(2.0, n=3, offset=1.0), line(2.0), line(2.0, b=1.0), many(1, a=2)
# (9.0, 9.0, 2.0, 3.0, (1, ['a']))
# >>> float(mixed(2.0)), float(mixed(-1.0)), nothing(1), early(-1), early(2)
# (2.0, 0.0, None, None, 2)
