def mixed(int a, double b, float c, long d):
    return a + b * c - d
def conditional(double x):
    return 1 if x > 0 else -1
def mixed_returns(double x):
    if x > 0:
        return x
    return 0
def int_or_float(int n):
    if n > 2:
        return n
    return 0.5
def complex_or_real(double x):
    if x < 0:
        return 1j
    return x
def big(int n):
    return 2**n
def negative_power(int n):
    return 2**-n
def root(double x):
    return x ** 0.5
# >>> float(mixed(1, 2.0, 3.0, 4)), int(conditional(-2.0)), float(mixed_returns(-1.0)), complex_or_real(-1.0)
# (3.0, -1, 0.0, 1j)
# >>> big(100), float(negative_power(1)), float(root(4.0))
# (1.2676506002282294e+30, 0.5, 2.0)
