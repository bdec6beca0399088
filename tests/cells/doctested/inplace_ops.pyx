def ops(int a, int b):
    a += b
    a -= 1
    a *= 2
    a <<= 1
    a |= 1
    a &= 0xff
    a ^= 3
    return a
def floats(double x):
    x += 1
    x /= 2
    x **= 2
    return x
def floor_(double x, double y):
    return x // y
def mod(double x, double y):
    return x % y
# >>> int(ops(3, 4)), float(floats(2.0)), float(floor_(-7.0, 2.0)), float(mod(-7.0, 2.0))
# (26, 2.25, -4.0, 1.0)
