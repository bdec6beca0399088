def absolute(int x):
    return abs(x)
def fabs_(double x):
    return abs(x)
def lowest(int a, int b, int c):
    return min(a, b, c)
def highest(double a, double b):
    return max(a, b)
def rounded(double x):
    return round(x)
def as_int(double x):
    return int(x)
def as_float(int x):
    return float(x)
def as_bool(double x):
    return bool(x)
def length(list x):
    return len(x)
def power(double x, double y):
    return pow(x, y)
# >>> int(absolute(-3)), float(fabs_(-2.5)), int(lowest(3, 1, 2)), float(highest(1.0, 2.0)), int(rounded(2.6)), int(as_int(2.7))
# (3, 2.5, 1, 2.0, 3, 2)
# >>> float(as_float(2)), bool(as_bool(0.0)), length([1]), float(power(2.0, 3.0))
# (2.0, False, 1, 8.0)
